"""The sync and the async methods do the same, also from several threads, tasks, and cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from langgraph.store.base import GetOp, PutOp, SearchOp

from langgraph_store_conformance.capabilities import Capability, Form
from langgraph_store_conformance.checks import check, close, same, same_set
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject

NS = ("a",)
N = 24


async def _scenario(store: Subject) -> None:
    await store.put(("a", "b"), "x", {"text": "green apple", "n": 2})
    await store.put(("a", "c"), "y", {"text": "my old bicycle", "n": 5})
    await store.batch([PutOp(("d",), "z", {"n": 1}), GetOp(("a", "b"), "x")])
    same(await store.value(("a", "b"), "x"), {"text": "green apple", "n": 2})
    same(await store.keys(NS, filter={"n": {"$gt": 2}}), ["y"])
    same(len(await store.search(NS, limit=1, offset=1)), 1)
    same(await store.list_namespaces(prefix=NS, max_depth=2), [("a", "b"), ("a", "c")])
    same(await store.list_namespaces(suffix=("d",)), [("d",)])
    await store.delete(("a", "b"), "x")
    same(await store.get(("a", "b"), "x"), None)
    same(await store.keys(()), await store.keys(()))


async def _meaning(store: Subject) -> None:
    await store.put(NS, "x", {"text": "my old bicycle"})
    await store.put(NS, "y", {"text": "green apple"})
    await store.put(NS, "z", {"text": "green apple"}, index=False)
    found = await store.search(NS, query="green apple", limit=1)
    same([item.key for item in found], ["y"])
    close(found[0].score, 1.0)


@rule(Capability.SYNC)
async def the_sync_methods_work(store: Subject) -> None:
    """`put`, `get`, `search`, `delete`, `list_namespaces` and `batch` do what they say."""
    await _scenario(store.through("sync"))


@rule(Capability.ASYNC)
async def the_async_methods_work(store: Subject) -> None:
    """`aput`, `aget`, `asearch`, `adelete`, `alist_namespaces` and `abatch` do the same."""
    await _scenario(store.through("async"))


@rule(Capability.SYNC, fields=["text"])
async def the_sync_methods_search_by_meaning(store: Subject) -> None:
    """`put` embeds, and `search` ranks."""
    await _meaning(store.through("sync"))


@rule(Capability.ASYNC, fields=["text"])
async def the_async_methods_search_by_meaning(store: Subject) -> None:
    """`aput` embeds, and `asearch` ranks."""
    await _meaning(store.through("async"))


@rule(Capability.ASYNC, cases={"sync-async": ("sync", "async"), "async-sync": ("async", "sync")})
async def each_form_sees_what_the_other_wrote(store: Subject, case: tuple[Form, Form]) -> None:
    """What one form has written, the other reads."""
    writer, reader = store.through(case[0]), store.through(case[1])
    await writer.put(NS, "k", {"n": 1})
    same(await reader.value(NS, "k"), {"n": 1})
    same(await reader.keys(NS), ["k"])
    await writer.delete(NS, "k")
    same(await reader.get(NS, "k"), None)


@rule(Capability.SYNC)
async def threads_may_write_at_once(store: Subject) -> None:
    """Puts from several threads all arrive; each item is whole."""
    sync = store.through("sync").store
    store.example.called(f"from 4 threads: store.put(('a',), f'k{{i}}', {{'n': i}}) for {N} i")
    await _in_threads(lambda i: sync.put(NS, f"k{i}", {"n": i}), N)
    found = {item.key: item.value for item in await store.search(NS, limit=N + 1)}
    same(found, {f"k{i}": {"n": i} for i in range(N)})


@rule(Capability.SYNC)
async def threads_that_write_one_key_leave_one_value(store: Subject) -> None:
    """Of puts to one key from several threads, one wins; nothing is mixed or doubled."""
    sync = store.through("sync").store
    store.example.called(f"from 4 threads: store.put(('a',), 'k', {{'n': i, 'm': i}}) for {N} i")
    await _in_threads(lambda i: sync.put(NS, "k", {"n": i, "m": i}), N)
    found = await store.search(NS)
    same([item.key for item in found], ["k"])
    check(found[0].value["n"] == found[0].value["m"], found[0].value, "a value that was put")


@rule(Capability.SYNC)
async def a_batch_from_a_thread_is_seen_whole(store: Subject) -> None:
    """A reader sees all puts of a batch or none of them, while others write."""
    sync = store.through("sync").store
    store.example.called("from 2 threads: batch of two puts with the same n; batch of two gets")

    def write_and_read(i: int) -> tuple[int, int]:
        sync.batch([PutOp(NS, "x", {"n": i}), PutOp(NS, "y", {"n": i})])
        pair: list[Any] = sync.batch([GetOp(NS, "x"), GetOp(NS, "y")])
        return pair[0].value["n"], pair[1].value["n"]

    for x, y in await _in_threads(write_and_read, N, threads=2):
        same(x, y)


async def _in_threads(call: Callable[[int], Any], count: int, threads: int = 4) -> list[Any]:
    def run() -> list[Any]:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(call, range(count)))

    return await asyncio.to_thread(run)


@rule(Capability.ASYNC)
async def tasks_may_write_at_once(store: Subject) -> None:
    """Puts from many tasks all arrive."""
    tasks = store.through("async")
    await asyncio.gather(*(tasks.put(NS, f"k{i}", {"n": i}) for i in range(N)))
    found = {item.key: item.value for item in await tasks.search(NS, limit=N + 1)}
    same(found, {f"k{i}": {"n": i} for i in range(N)})


@rule(Capability.ASYNC)
async def tasks_may_read_while_others_write(store: Subject) -> None:
    """Reads among writes give each caller its own answer."""
    tasks = store.through("async")
    await tasks.batch([PutOp(NS, f"k{i}", {"n": i}) for i in range(N)])
    calls: list[Any] = []
    for i in range(N):
        calls += [tasks.value(NS, f"k{i}"), tasks.put(("b",), f"k{i}", {"n": i})]
    answers = await asyncio.gather(*calls)
    same(answers[::2], [{"n": i} for i in range(N)])
    same_set(await tasks.keys(("b",), limit=N + 1), [f"k{i}" for i in range(N)])


@rule(Capability.ASYNC)
async def tasks_that_write_one_key_leave_one_value(store: Subject) -> None:
    """Of puts to one key from many tasks, one wins; nothing is mixed or doubled."""
    tasks = store.through("async")
    await asyncio.gather(*(tasks.put(NS, "k", {"n": i, "m": i}) for i in range(N)))
    found = await tasks.search(NS)
    same([item.key for item in found], ["k"])
    check(found[0].value["n"] == found[0].value["m"], found[0].value, "a value that was put")


@rule(Capability.ASYNC)
async def a_failed_call_fails_alone(store: Subject) -> None:
    """A call that is refused does not disturb those that run beside it."""
    tasks = store.through("async")
    answers = await asyncio.gather(
        tasks.put(NS, "k", {"n": 1}),
        tasks.search(NS, filter={"n": {"$nonsense": 1}}),
        tasks.list_namespaces(prefix=("a.b",)),
        return_exceptions=True,
    )
    same(answers[0], None)
    same(await tasks.value(NS, "k"), {"n": 1})


@rule(Capability.ASYNC, cases={"at-once": 0, "when-started": 1, "a-little-later": 3})
async def a_cancelled_write_is_whole_or_not_there(store: Subject, turns: int) -> None:
    """A cancelled batch has written all or nothing, and the store goes on to work."""
    tasks = store.through("async")
    await tasks.put(NS, "x", {"n": 0})
    for round_ in range(1, 6):
        write = [PutOp(NS, "x", {"n": round_}), PutOp(NS, "y", {"n": round_})]
        await _cancelled(tasks.batch(write), turns)
        await asyncio.sleep(0.01)  # a write in a thread may still be on its way
        pair: list[Any] = await tasks.batch([GetOp(NS, "x"), GetOp(NS, "y"), SearchOp(NS)])
        x, y = (item and item.value["n"] for item in pair[:2])
        check(x == y or (x == 0 and y is None), (x, y), "both of a batch, or none")
    await tasks.put(NS, "x", {"n": 99})
    same(await tasks.value(NS, "x"), {"n": 99})


@rule(Capability.ASYNC, cases={"at-once": 0, "when-started": 1, "a-little-later": 3})
async def a_cancelled_read_disturbs_nobody(store: Subject, turns: int) -> None:
    """A cancelled read leaves the calls beside it, and those after it, as they were."""
    tasks = store.through("async")
    await tasks.put(NS, "k", {"n": 1})
    beside = asyncio.create_task(tasks.value(NS, "k"))
    await _cancelled(tasks.search(NS), turns)
    same(await beside, {"n": 1})
    same(await tasks.keys(NS), ["k"])


async def _cancelled(call: Any, turns: int) -> None:
    task = asyncio.ensure_future(call)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
