"""What other processes do to a directory; each function reports through a pipe."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import chromadb
from langgraph.store.base import Item, PutOp

from langgraph_memory import Memory
from tests.chroma.support import EMBED, open_store, rows_refused

Pipe = Any  # multiprocessing's Connection, which takes no parameters when it runs


def outcome(call: Callable[[], object]) -> str:
    """Return what a call came to, in one line."""
    try:
        return f"returned {call()}"
    except Exception as error:  # noqa: BLE001  # whatever it is, it is reported
        return f"{type(error).__name__}: {error}"


def hold(pipe: Pipe, directory: str) -> None:
    """Keep a directory open until the parent hangs up."""
    with open_store(directory):
        pipe.send(os.getpid())
        with suppress(EOFError):
            pipe.recv()


def fail_and_go_on(pipe: Pipe, directory: str) -> None:
    """Let Chroma's log take a write that its rows refuse; go on when the parent says so."""
    with open_store(directory) as store:
        store.put(("n",), "before", {"text": "a tea pot"})
        with rows_refused(directory):
            pipe.send(outcome(lambda: store.put(("n",), "failed", {"text": "a moka pot"})))
            pipe.recv()
        store.put(("n",), "after", {"text": "a coffee grinder"})
        pipe.send(None)
        with suppress(EOFError):
            pipe.recv()


def read_and_add(pipe: Pipe, directory: str) -> None:
    """Report the values that are there, and add one."""
    with open_store(directory) as store:
        found = [item.value for item in store.search(("n",), query="moka")]
        store.put(("n",), "theirs", {"text": "a tea pot"})
    pipe.send(found)


def try_to_open(pipe: Pipe, directory: str) -> None:
    """Report how opening the directory went."""

    def attempt() -> str:
        with open_store(directory):
            return "opened"

    pipe.send(outcome(attempt))


def use_after_fork(pipe: Pipe, directory: str) -> None:
    """Report what a forked child can do with its parent's store, and the parent afterwards."""
    store = open_store(directory)
    store.put(("n",), "k", {"text": "moka"})
    reading, writing = os.pipe()
    if os.fork() == 0:
        outcomes = []
        try:
            outcomes = [
                outcome(lambda: store.get(("n",), "k")),
                outcome(lambda: store.search(("n",), query="moka")),
                outcome(lambda: store.list_namespaces()),
                outcome(lambda: store.put(("n",), "k", {"text": "tea"})),
                outcome(lambda: open_store(directory)),
                outcome(store.close),
            ]
        except BaseException:  # noqa: BLE001  # the parent has to see it
            outcomes.append(traceback.format_exc())
        finally:
            os.write(writing, json.dumps(outcomes).encode())
            os._exit(0)  # without the parent's own clean-up
    os.close(writing)
    with os.fdopen(reading) as file:
        outcomes = json.loads(file.read())
    os.wait()
    store.put(("n",), "l", {"text": "tea"})
    texts = [item.value["text"] for item in store.search(("n",))]
    store.close()
    pipe.send((outcomes, texts))


def find_with_plain_chroma(pipe: Pipe, directory: str, where: dict[str, Any]) -> None:
    """Report the documents that Chroma alone finds."""
    client: Any = chromadb.PersistentClient(directory)
    rows = client.get_collection("langgraph_memory", embedding_function=None)
    found = sorted(rows.get(where=where)["documents"] or [])
    client.close()
    pipe.send(found)


def count_states(pipe: Pipe, directory: str) -> None:
    """Report how many rows of each state there are."""
    client: Any = chromadb.PersistentClient(directory)
    rows = client.get_collection("langgraph_memory", embedding_function=None)
    states = [(row or {}).get("state") for row in rows.get()["metadatas"] or []]
    client.close()
    pipe.send({state: states.count(state) for state in states})


def leave_a_tombstone(pipe: Pipe, directory: str, key: str) -> None:
    """Put a tombstone over an item, as a process does that is killed before it removes it."""
    client: Any = chromadb.PersistentClient(directory)
    rows = client.get_collection("langgraph_memory", embedding_function=None)
    found = rows.get(where={"key": key}, include=["metadatas", "embeddings"])
    metadata = {**dict.fromkeys(found["metadatas"][0]), "state": "tombstone"}
    metadata["part"] = found["metadatas"][0]["part"]
    rows.upsert(found["ids"], found["embeddings"], [metadata], [""])
    client.close()
    pipe.send(found["ids"])


def use_a_store(pipe: Pipe, path: str) -> None:
    """Call the methods of a store that the parent names, until it hangs up."""
    with open_store(path) as store:
        _obey(pipe, store)


def use_a_memory(pipe: Pipe, path: str) -> None:
    """Call the methods of a memory that the parent names, until it hangs up."""
    with Memory(open_store(path)) as memory:
        _obey(pipe, memory)


def _obey(pipe: Pipe, server: object) -> None:
    pipe.send("ready")
    with suppress(EOFError):
        while True:
            method, args, kwargs = pipe.recv()
            found = getattr(server, method)(*args, **kwargs)
            if isinstance(found, list) and all(isinstance(each, Item) for each in found):
                found = [(item.key, item.value) for item in found]
            pipe.send(found)


def write_some(pipe: Pipe, path: str, name: str, count: int) -> None:
    """Add items to one namespace when told to, and later report all that are there."""
    with open_store(path) as store:
        store.search(("w",))
        pipe.send("ready")
        pipe.recv()
        for i in range(count):
            store.batch(
                [
                    PutOp(("w",), f"{name}{i}", {"n": i, "t": "moka"}),
                    PutOp(("w",), "last", {"n": i, "by": name}),
                    PutOp(("w",), f"{name}{i - 2}", None),
                ]
            )
            store.search(("w",), query="moka")
        pipe.send("done")
        pipe.recv()
        pipe.send(sorted(item.key for item in store.search(("w",), query="moka", limit=1_000)))


def keep_writing(pipe: Pipe, directory: str) -> None:
    """Put, replace and delete items, and say how many are put, until the parent hangs up."""
    with open_store(directory, index={"embed": EMBED, "fields": ["t"]}, embed=None) as store:
        filling = [PutOp(("filled",), f"k{i}", {"t": f"word{i}"}) for i in range(900)]
        store.batch(filling)
        number = 0
        with suppress(EOFError, BrokenPipeError):
            while not pipe.poll() or pipe.recv() is not None:
                store.put(("live",), f"k{number}", {"t": f"term{number}"})
                store.put(("changing",), "k", {"t": f"term{number}"})
                if number:
                    store.delete(("live",), f"k{number - 1}")
                number += 1
                pipe.send(number)
        pipe.send(sorted((item.key, item.value["t"]) for item in store.search((), limit=5_000)))


def die_in_a_transaction(pipe: Pipe, database: str) -> None:
    """Change rows of Chroma's in a transaction that is not committed, and be killed."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")  # so that changes get into the file
    connection.execute("BEGIN")
    connection.execute("UPDATE embedding_metadata SET string_value = '[]' WHERE key = 'part'")
    pipe.send(None)
    os.kill(os.getpid(), signal.SIGKILL)
