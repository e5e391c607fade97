"""Erasing users: what is theirs is gone from every verb, and from every byte of every file."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from langgraph_memory import (
    ChromaStore,
    ConfigurationError,
    Memory,
    Sessions,
    doctor,
    open_sessions,
)
from langgraph_memory.chroma.calls import COLLECTION, opened_client
from langgraph_memory.chroma.erasing import pending_users, search
from langgraph_memory.chroma.held_files import HOLDINGS, held_files, unknown_files
from langgraph_memory.errors import StoreLockedError
from langgraph_memory.store.erasing import Sought, forms_of, pieces_of_text
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from tests.erasing import ERASED, OTHER, files_with, graph_of, live, opened, state_of, words
from tests.servers import ChromaServer

INDEXED = 1_100
"""Rows from which on Chroma has written its index."""


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which two people have something of every type."""
    directory = tmp_path_factory.mktemp("lived") / "memory"
    with opened(directory) as (memory, sessions):
        live(memory, sessions, ERASED)
        live(memory, sessions, OTHER)
    return directory


@pytest.fixture
def directory(lived_in: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lived_in, tmp_path / "memory"))


def assert_gone(directory: Path) -> None:
    """No file has the id, but where the other's begins with it, nor a text of the user."""
    with_other = set(files_with(directory, OTHER.encode()))
    for file in sorted(directory.rglob("*")):
        if file.is_file():
            content = file.read_bytes()
            assert content.count(ERASED.encode()) == content.count(OTHER.encode()), file
            assert ERASED[::-1].encode() not in content.replace(OTHER[::-1].encode(), b""), file
    assert with_other <= {"chroma.sqlite3", "sessions.sqlite"}
    assert not unknown_files(directory)


@pytest.mark.slow
def test_a_row_that_others_wrote_goes_too_where_it_names_the_user(directory: Path) -> None:
    with opened_client(directory) as client:
        collection = client.get_collection(COLLECTION)
        dims = len(collection.get(limit=1, include=["embeddings"])["embeddings"][0])
        for id, user in (("theirs", ERASED), ("another's", OTHER)):
            collection.add(
                ids=[id],
                documents=["put here by a script"],
                embeddings=[[0.5] * dims],
                metadatas=[{"user": user, "type": "note"}],
            )
    with opened(directory) as (memory, sessions):
        for _ in range(2):
            erased = memory.erase(user=ERASED, sessions=sessions).erased
            assert erased is not None
            assert erased.verified
    with opened_client(directory) as client:
        collection = client.get_collection(COLLECTION)
        assert collection.get(ids=["theirs", "another's"])["ids"] == ["another's"]


@pytest.mark.parametrize("notes", [pytest.param(20, marks=pytest.mark.slow), INDEXED])
def test_no_file_has_a_byte_of_an_erased_user_and_others_have_all_of_theirs(
    tmp_path: Path, notes: int
) -> None:
    with opened(tmp_path) as (memory, sessions):
        live(memory, sessions, ERASED, notes)
        live(memory, sessions, OTHER, notes)
        kept = state_of(memory, OTHER)
        receipt = memory.erase(user=ERASED, sessions=sessions)
        assert receipt.counts["note"] == notes + 3
        others = ("message", "episode", "document", "source", "session", "mark")
        assert [receipt.counts[name] for name in others] == [7, 4, 1, 1, 2, 1]
        erased = receipt.erased
        assert erased is not None
        assert erased.verified
        assert not erased.found
        assert erased.others[0] == erased.others[1] > 0
        assert erased.closed > 0
        assert not state_of(memory, ERASED)
        assert not sessions.list(ERASED)
        assert not any(ERASED in ns for ns in memory.store.list_namespaces())
        # It goes on as before: for the other, and for whoever comes with the id anew.
        assert state_of(memory, OTHER) == kept
        assert memory.recall(words(OTHER, 3), user=OTHER).hits
        memory.remember("Drinks tea", user=OTHER)
    assert_gone(tmp_path)
    assert not doctor(tmp_path, HashingEmbeddings(64)).found


def test_what_is_left_in_files_is_found(directory: Path) -> None:
    with opened(directory) as (memory, sessions):
        memory.forget(user=ERASED, everything=True)
        for session in sessions.list(ERASED):
            sessions.delete(ERASED, session.thread_id)
    texts = Sought(shared=frozenset(pieces_of_text(words(ERASED, 3))))
    assert search(directory, (), forms_of([ERASED])).keys() == {str(directory / "chroma.sqlite3")}
    assert search(directory, (), texts).keys() == {str(directory / "chroma.sqlite3")}
    others = Sought(shared=frozenset(pieces_of_text(words(OTHER, 3))))
    assert not search(directory, (), others)  # which its records have


def test_a_file_that_is_not_in_the_table_is_seen(directory: Path) -> None:
    assert {holding.name for _, holding in held_files(directory) if holding} >= {
        "records",
        "vector index",
        "sessions",
        "lock",
    }
    assert not unknown_files(directory)
    (directory / "outbox.sqlite").touch()
    assert unknown_files(directory) == ["outbox.sqlite"]
    assert "outbox.sqlite" in doctor(directory, HashingEmbeddings(64)).found[0]


@pytest.mark.slow
def test_quarantined_files_are_erased_too(directory: Path) -> None:
    place = directory / "quarantine" / "20260503T000000.000000Z-x"
    place.mkdir(parents=True)
    (place / "data_level0.bin").write_bytes(words(ERASED, 3).encode())
    with opened(directory) as (memory, sessions):
        assert memory.erase(user=ERASED, sessions=sessions).erased.found == {}  # type: ignore[union-attr]
    assert_gone(directory)


def test_what_was_given_to_others_is_listed_and_stays(directory: Path) -> None:
    with opened(directory) as (memory, sessions):
        theirs: Any = {"project": "shop"}
        memory.remember("Deploy on Fridays", user=ERASED, **theirs)
        memory.remember("Ship on Mondays", user=OTHER, **theirs)
        changed = memory.remember("Open at nine", user=OTHER, **theirs).record
        memory.edit(changed.id, user=ERASED, importance=0.9, **theirs)
        memory.add_document("Returns within a month.", source="returns", user=ERASED, **theirs)
        receipt = memory.erase(user=ERASED, sessions=sessions)
        assert sorted(record.text for record in receipt.given) == [
            "Deploy on Fridays",
            "Open at nine",
            "returns",
        ]
        assert {record.owner.id for record in receipt.given} == {"shop"}
        assert memory.count(user=OTHER, **theirs)["note"] == 3
        assert receipt.erased is not None
        assert not receipt.erased.found


@pytest.mark.parametrize(
    "id",
    [
        "1",
        'Ünïcode 用户 "7"',
        "\udc80",
        *(pytest.param(id, marks=pytest.mark.slow) for id in ("bo", "a.b@c/d", "user", "x" * 300)),
    ],
)
def test_any_id_is_erased_and_searched_for(tmp_path: Path, id: str) -> None:
    with opened(tmp_path) as (memory, sessions):
        live(memory, sessions, id, 3)
        live(memory, sessions, "someone", 3)
        erased = memory.erase(user=id, sessions=sessions).erased
        assert erased is not None
        assert erased.verified
        assert not erased.found
        assert not state_of(memory, id)
        assert len(state_of(memory, "someone")) > 10


@pytest.mark.slow
def test_several_users_share_one_compaction_also_async(directory: Path) -> None:
    async def erase() -> None:
        with opened(directory) as (memory, sessions):
            receipt = await memory.aerase(user=[ERASED, OTHER, ERASED], sessions=sessions)
            assert receipt.counts["session"] == 4
            assert receipt.counts["episode"] == 8
            assert receipt.erased is not None
            assert receipt.erased.verified
            assert not receipt.erased.found
            assert receipt.erased.others == (0, 0)

    asyncio.run(erase())
    for user in (ERASED, OTHER):
        assert not files_with(directory, user.encode())
        assert not files_with(directory, user[::-1].encode())


@pytest.mark.slow
def test_an_old_thread_does_not_bring_back_what_was_erased_without_sessions(
    directory: Path,
) -> None:
    with opened(directory) as (memory, sessions):
        receipt = memory.erase(user=ERASED, sessions=None)
        erased = receipt.erased
        assert erased is not None
        assert not erased.found
        assert erased.marks == 8
        assert not erased.verified
        assert "threads are as they were" in erased.unverified[0]
        assert not any(ERASED in ns for ns in memory.store.list_namespaces())
        assert files_with(directory, ERASED.encode() + b'"') == ["sessions.sqlite"]

        config = sessions.config(user=ERASED, thread_id=f"{ERASED[::-1]}-0")
        new = HumanMessage("Please book something else", id="n" * 20)
        state = graph_of(memory, sessions).invoke({"messages": [new]}, config)
        assert len(state["messages"]) == 6
        texts = [record.text for record in memory.list(user=ERASED, types=("message", "episode"))]
        assert len(texts) == 3
        assert not any(ERASED[::-1] in text for text in texts)

        again = memory.erase(user=ERASED, sessions=sessions)
        assert again.counts["session"] == 2
        assert again.erased is not None
        assert again.erased.marks == 0
        assert again.erased.verified
        assert not again.erased.found
        left = [ns for ns in memory.store.list_namespaces() if ns[:2] == ("memory", "erased")]
        assert left == [("memory", "erased")]  # the salt alone
    assert_gone(directory)


def test_what_is_left_for_later_is_done_at_the_next_opening(directory: Path) -> None:
    with opened(directory) as (memory, sessions):
        receipt = memory.erase(user=ERASED, sessions=sessions, later=True)
        assert receipt.erased is not None
        assert receipt.erased.pending
        assert not receipt.erased.verified
        assert receipt.erased.closed == 0
        assert not state_of(memory, ERASED)
    assert pending_users(directory) == (ERASED,)
    copy = Path(shutil.copytree(directory, directory.with_name("copy")))
    with opened(directory) as (memory, _):
        assert state_of(memory, OTHER)
    assert_gone(directory)
    report = doctor(copy, HashingEmbeddings(64))
    assert "1 erased users" in report.found[0]
    assert "overwrote" in report.done[0]
    assert_gone(copy)


@pytest.mark.slow
def test_others_read_and_write_while_the_files_are_written_anew(directory: Path) -> None:
    with opened(directory) as (memory, sessions):
        done, failed = threading.Event(), []

        def go_on() -> None:
            number = 0
            while not done.is_set():
                try:
                    memory.remember(f"Note number {number} of many", user=OTHER)
                    assert memory.recall(words(OTHER, 3), user=OTHER).hits
                except Exception as error:  # noqa: BLE001  # whatever it is, it is reported
                    failed.append(error)
                number += 1

        threads = [threading.Thread(target=go_on) for _ in range(3)]
        for thread in threads:
            thread.start()
        receipt = memory.erase(user=ERASED, sessions=sessions)
        done.set()
        for thread in threads:
            thread.join()
        assert not failed
        assert receipt.erased is not None
        assert not receipt.erased.found
    assert_gone(directory)


def test_work_in_the_background_does_not_bring_a_user_back(tmp_path: Path) -> None:
    asked = threading.Event()

    def slow(messages: object) -> str:
        asked.set()
        time.sleep(0.3)
        return '[{"text": "Likes quokkas", "sources": [1]}]'

    store = ChromaStore(tmp_path, embed=HashingEmbeddings(64))
    with Memory(store, model=ScriptedChatModel([slow] * 9), debounce=0) as memory:
        memory.log_turn(HumanMessage("I like quokkas", id="m" * 20), user=ERASED, thread_id="t")
        memory.process_later(ERASED, "t")
        assert asked.wait(30)
        memory.erase(user=ERASED, sessions=None)
        memory.flush()
        assert not any(ERASED in ns for ns in memory.store.list_namespaces())


_ERASE = """
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from tests.erasing import ERASED, opened
with opened(Path(sys.argv[1])) as (memory, sessions):
    print("ready", flush=True)
    memory.erase(user=ERASED, sessions=sessions)
    print("done", flush=True)
"""


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
def test_an_erasure_that_is_killed_at_any_moment_is_ended_by_the_next(
    directory: Path, seed: int
) -> None:
    with opened(directory) as (memory, _):
        kept = state_of(memory, OTHER)
    process = subprocess.Popen(
        [sys.executable, "-c", _ERASE, str(directory)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(random.Random(seed).uniform(0, 1.2) * (1 + seed))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with _opened_when_free(directory) as (memory, sessions):
        assert state_of(memory, OTHER) == kept
        erased = memory.erase(user=ERASED, sessions=sessions).erased
        assert erased is not None
        assert erased.verified
        assert not erased.found
        assert state_of(memory, OTHER) == kept
    assert_gone(directory)


def _opened_when_free(directory: Path) -> AbstractContextManager[tuple[Memory, Sessions]]:
    """Open a directory as soon as the child of a killed process has let go of it."""
    until = time.monotonic() + 60
    while True:
        try:
            ChromaStore(directory, embed=HashingEmbeddings(64)).close()
        except StoreLockedError:
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return opened(directory)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ChromaServer]:
    server = ChromaServer(tmp_path / "server")
    server.start()
    yield server
    server.kill()


def test_on_a_server_no_row_names_the_user_and_files_are_said_not_to_be_verified(
    server: ChromaServer, tmp_path: Path
) -> None:
    def store() -> ChromaStore:
        return ChromaStore(server.url, embed=HashingEmbeddings(64))

    with (
        Memory(store()) as memory,
        open_sessions(tmp_path / "sessions") as sessions,
    ):
        live(memory, sessions, ERASED)
        live(memory, sessions, OTHER)
        kept = state_of(memory, OTHER)
        receipt = memory.erase(user=ERASED, sessions=sessions)
        assert receipt.erased is not None
        assert not receipt.erased.verified
        assert "a Chroma server" in receipt.erased.unverified[0]
        assert not receipt.erased.found
        assert receipt.erased.others[0] == receipt.erased.others[1]
        assert state_of(memory, OTHER) == kept
        assert not state_of(memory, ERASED)
        with server.client() as client:
            rows = client.get_collection("langgraph_memory", embedding_function=None).get()
            assert ERASED not in str(rows).replace(OTHER, "")
        memory.remember("Is back", user=ERASED)
        assert ("memory", "user", ERASED, "note") in memory.store.list_namespaces()


def test_any_store_forgets_and_says_what_was_not_verified() -> None:
    with Memory(InMemoryStore()) as memory, open_sessions(":memory:") as sessions:
        live(memory, sessions, ERASED, 3)
        live(memory, sessions, OTHER, 3)
        kept = state_of(memory, OTHER)
        receipt = memory.erase(user=ERASED, sessions=sessions)
        assert receipt.erased is not None
        assert receipt.erased.others[0] == receipt.erased.others[1]
        assert receipt.erased.unverified == (
            "the files of a InMemoryStore were neither overwritten nor searched",
        )
        assert not state_of(memory, ERASED)
        assert state_of(memory, OTHER) == kept


def test_sessions_have_to_be_named() -> None:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings(64))) as memory:
        with pytest.raises(TypeError):
            memory.erase(user="ana")  # type: ignore[call-arg]
        with pytest.raises(ConfigurationError, match="open_sessions"):
            memory.erase(user="ana", sessions="./memory")  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match="nobody"):
            memory.erase(user=[], sessions=None)
        memory.remember("Drinks decaf", user=97)  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match="user="):
            memory.erase(user=b"a", sessions=None)  # type: ignore[arg-type]  # whose item is 97
        assert memory.count(user=97)["note"] == 1  # type: ignore[arg-type]
        erased = memory.erase(user="ana", sessions=None).erased
        assert erased is not None
        assert len(erased.unverified) == 1
    assert all(holding.of_users for holding in HOLDINGS if holding.erase)
