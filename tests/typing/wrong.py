"""What mypy has to refuse in the code of a user: each line with the error that it gives.

Nothing runs this. `make check` fails where one of these lines passes, since its comment is then
one that nothing needs (`warn_unused_ignores`), and where it gives another error.
"""

from __future__ import annotations

from langgraph_memory import (
    ChromaStore,
    Memory,
    MemoryEvent,
    MemoryMiddleware,
    Recalled,
    Sessions,
    memory_tools,
    recall_node,
    remember_node,
    with_memory,
)


def forgotten_users(memory: Memory, sessions: Sessions) -> None:
    memory.remember("Drinks decaf")  # type: ignore[call-arg]  # no user
    memory.recall("decaf")  # type: ignore[call-arg]  # no user
    memory.recall("decaf", "c-2291")  # type: ignore[call-arg]  # the user by position
    memory.forget("id")  # type: ignore[call-arg]  # no user
    sessions.config(thread_id="monday")  # type: ignore[call-arg]  # no user


def wrong_values(memory: Memory) -> None:
    memory.remember("Drinks decaf", user="c-2291", kind="opinion")  # type: ignore[arg-type]  # no such kind
    memory.recall("decaf", user="c-2291", types=("notes",))  # type: ignore[arg-type]  # no such type
    memory.recall("decaf", user="c-2291", limit="10")  # type: ignore[arg-type]  # no number
    memory.remember("Drinks decaf", user="c-2291", sort="fact")  # type: ignore[call-arg]  # no such keyword
    memory.list(user="c-2291", types=("notes",))  # type: ignore[arg-type]  # no such type
    memory.list(user="c-2291", kind="fact")  # type: ignore[call-overload]  # kinds=
    recall_node(memory, user=lambda state: "c-2291")  # type: ignore[arg-type]  # and config
    recall_node(memory, on_error="ignore")  # type: ignore[arg-type]  # "log" or "raise"
    MemoryMiddleware(memory, inject="tool")  # type: ignore[arg-type]  # "user" or "system"
    memory_tools(memory, owner="team")  # type: ignore[arg-type]  # no such owner


def wrong_places() -> None:
    recall_node(ChromaStore.in_memory())  # type: ignore[arg-type]  # a store is no memory
    remember_node(Memory(), project="shop")  # type: ignore[call-arg]  # what a run says is its user's
    with_memory("chat", Memory())  # type: ignore[type-var]  # the name of a node
    Memory("./memory")  # type: ignore[arg-type]  # a path


def wrong_results(memory: Memory, recalled: Recalled, event: MemoryEvent) -> None:
    _ = recalled.notes  # type: ignore[attr-defined]  # they are in `profile` and `hits`
    recalled.hits[0].score = 1.0  # type: ignore[misc]  # frozen
    _ = event["text"]  # type: ignore[typeddict-item]  # the items have one each
    event["type"] = "memory.gone"  # type: ignore[typeddict-item]  # no such event


async def forgotten_await(memory: Memory) -> Recalled:
    return memory.arecall("decaf", user="c-2291")  # type: ignore[return-value]  # a coroutine


async def wrong_async_forms(memory: Memory) -> None:
    memory.aremember("Drinks decaf", user="c-2291")  # type: ignore[unused-coroutine]  # not awaited
    await memory.aremember("Drinks decaf", user="c-2291", sort="fact")  # type: ignore[call-arg]  # no such keyword
    await memory.aremember("Drinks decaf", user="c-2291", kind="opinion")  # type: ignore[arg-type]  # no such kind
