"""What writes, beside Chroma's own calls with as many rows in the same collection, and peers."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import PutOp

from benchmarks.latency_bench import Bench
from benchmarks.latency_data import sentence
from benchmarks.latency_peers import Peer
from benchmarks.latency_timing import OURS, Call, Contender, Timing, never
from langgraph_memory import Memory, MemoryState, messages_with_memory, recall_node, remember_node

NAMESPACE = ("bench", "preferences")
TURNS_OF_A_THREAD = 3

_dice = random.Random(3)


def measure_writes(bench: Bench) -> None:
    """Measure each way of writing."""
    bench.warm(bench.hot)
    measure_log_turn(bench)
    bench.embeddings.live = True
    measure_log_turn(bench)
    bench.embeddings.live = False
    measure_remember(bench)
    bench.store.search(NAMESPACE, query="green")  # now it is in memory
    measure_put(bench, "put", 1)
    measure_put(bench, "put_100", 100)
    measure_delete(bench)
    measure_graph(bench)


def measure_log_turn(bench: Bench) -> None:
    """Measure logging two messages, of owners in memory and of others."""
    hot = bench.hot

    def ours(users: Sequence[str]) -> Callable[[int], Call]:
        def prepare(number: int) -> Call:
            user, (said, answer) = users[number % len(users)], _sentences(2)
            turn = [
                HumanMessage(said, id=uuid.uuid4().hex),
                AIMessage(answer, id=uuid.uuid4().hex),
            ]
            thread = f"{user}/bench"
            return lambda: bench.memory.log_turn(turn, user=user, thread_id=thread)

        return prepare

    contenders = [
        Contender(OURS, "Memory.log_turn, two messages", ours(hot)),
        _upsert_of_two(bench),
    ]
    if others := bench.owners.ordinary[len(hot) : -1]:
        contenders.append(Contender(OURS, "Memory.log_turn, owner not in memory", ours(others)))
    bench.measure("log_turn", contenders)


def _upsert_of_two(bench: Bench) -> Contender:
    def prepare(number: int) -> Call:
        user, texts = bench.hot[number % len(bench.hot)], _sentences(2)
        return lambda: bench.raw.put(user, texts)

    return Contender("chromadb", "upsert of two rows", prepare)


def measure_remember(bench: Bench) -> None:
    """Measure keeping a note, of owners with few notes and with many."""
    for size in sorted(bench.owners.by_size):
        users = bench.writers(size)
        bench.warm(users)

        def ours(number: int, users: list[str] = users) -> Call:
            user, (text,) = users[number % len(users)], _sentences(1)
            return lambda: bench.memory.remember(text, user=user)

        def raw(number: int, users: list[str] = users) -> Call:
            user, texts = users[number % len(users)], _sentences(1)
            return lambda: bench.raw.put(user, texts)

        contenders = [
            Contender(OURS, "Memory.remember", ours),
            Contender("chromadb", "upsert of one row", raw),
        ]
        bench.measure("remember", contenders, owner_records=size)


def measure_put(bench: Bench, name: str, count: int) -> None:
    """Measure the store alone, as LangGraph uses it, in a namespace that is in memory."""

    def ours(number: int) -> Call:
        ops = [_new_put() for _ in range(count)]
        return lambda: bench.store.batch(ops)

    def theirs(peer: Peer) -> Contender:
        def prepare(number: int) -> Call:
            texts = _sentences(count)
            return lambda: peer.put("bench", texts)

        return Contender(peer.library, peer.calls["put"], prepare)

    contenders = [Contender(OURS, "ChromaStore.batch", ours), *map(theirs, bench.written_peers)]
    bench.measure(name, contenders)


def measure_delete(bench: Bench) -> None:
    """Measure deleting one item."""

    def ours(number: int) -> Call:
        op = _new_put()
        bench.store.batch([op])
        return lambda: bench.store.delete(NAMESPACE, op.key)

    def theirs(peer: Peer) -> Contender:
        def prepare(number: int) -> Call:
            (id,) = peer.put("bench", _sentences(1))
            return lambda: peer.delete("bench", id)

        return Contender(peer.library, peer.calls["delete"], prepare)

    contenders = [Contender(OURS, "ChromaStore.delete", ours), *map(theirs, bench.written_peers)]
    bench.measure("delete", contenders)


def _sentences(count: int) -> list[str]:
    return [sentence(_dice) for _ in range(count)]


def _new_put() -> PutOp:
    return PutOp(NAMESPACE, uuid.uuid4().hex, {"text": sentence(_dice)})


# -- a turn of a graph --


def measure_graph(bench: Bench) -> None:
    """Measure a turn of a graph with memory and of the same graph without, and an upsert."""
    size = bench.usual_size
    user = bench.writers(size)[0]
    bench.warm([user])
    contenders = [
        Contender(
            OURS, "graph with recall_node and remember_node", _turns(_graph(bench.memory), user)
        ),
        Contender("langgraph", "the same graph without", _turns(_graph(None), user)),
        _upsert_of_two(bench),
    ]
    with_memory, without, upsert = bench.measure("graph_turn", contenders, owner_records=size)
    pairs = zip(with_memory.seconds, without.seconds, strict=True)
    added = Timing([one - other for one, other in pairs])
    bench.report.add(
        "graph_turn.added",
        [Contender(OURS, "what memory adds to a turn", never), contenders[-1]],
        [added, upsert],
        owner_records=size,
        threads=1,
        embedding=False,
    )


def _turns(graph: Any, user: str) -> Callable[[int], Call]:
    run = uuid.uuid4().hex

    def prepare(number: int) -> Call:
        ids = {"thread_id": f"{run}/{number // TURNS_OF_A_THREAD}", "user_id": user}
        said = {"messages": [HumanMessage(sentence(_dice))]}
        return lambda: graph.invoke(said, {"configurable": ids})

    return prepare


def _graph(memory: Memory | None) -> Any:
    def chat(state: MemoryState) -> dict[str, Any]:
        messages = messages_with_memory(state) if memory is not None else state["messages"]
        return {"messages": [AIMessage(f"{len(messages)} messages: {sentence(_dice)}")]}

    builder = StateGraph(MemoryState)
    builder.add_node("chat", chat)
    if memory is None:
        path = [START, "chat", END]
    else:
        builder.add_node("recall", recall_node(memory))
        builder.add_node("remember", remember_node(memory))
        path = [START, "recall", "chat", "remember", END]
    for start, end in pairwise(path):
        builder.add_edge(start, end)
    return builder.compile(checkpointer=InMemorySaver())
