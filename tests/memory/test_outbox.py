"""The file that keeps what cannot be saved, and what decides to keep it, without a server."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from langgraph_memory import ChromaStore, Memory, Outbox, deliver_outbox
from langgraph_memory.errors import ConfigurationError, StoreAwayError, StoreError
from langgraph_memory.memory.delivery import Delivery, Letter
from langgraph_memory.memory.outbox import Content, Entry
from langgraph_memory.testing import HashingEmbeddings
from langgraph_memory.twins import blocking

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = "http://127.0.0.1:8000 default_tenant/default_database"
ODD = ["ana", "a.b", "%", "小明", "🙂", "\ud800", "x" * 10_000, "'; DROP TABLE entry; --", "*"]


class Shop:
    """A server that is there or not, and whoever saves there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.there = True
        self.saved: list[tuple[str, str, int]] = []
        self.delivery = Delivery(Outbox(path))

    def save(self, user: str, thread_id: str, number: int) -> bool:
        def entry(waiting: Sequence[Content]) -> Entry:
            return Entry(user, thread_id, NOW, {"number": number})

        letter = Letter(PLACE, user, thread_id, entry, self.deliver)
        return self.delivery.save(letter, lambda: blocking(self._write, user, thread_id, number))

    def deliver(self, entry: Entry) -> None:
        self._write(entry.user, entry.thread_id, entry.content["number"])

    def _write(self, *said: Any) -> None:
        if not self.there:
            raise StoreAwayError("away")
        if said not in self.saved:  # to save is to save once, as with a record's id
            self.saved.append(said)

    def reopen(self) -> None:
        """What the next process begins with."""
        self.delivery.close()
        self.delivery = Delivery(Outbox(self.path))
        self.delivery.open(PLACE, self.deliver)

    def finish(self) -> None:
        self.there = True
        self.delivery.deliver(PLACE, self.deliver)
        self.delivery.close()


# -- keeping and delivering -----------------------------------------------------------------------


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["ana", "bo"]), st.sampled_from(["t", "u"])),
            st.sampled_from(["goes", "comes", "reopen", "deliver"]),
        ),
        max_size=30,
    )
)
@example([("ana", "t"), "goes", ("ana", "t"), "reopen", ("ana", "t"), "comes", ("ana", "t")])
def test_all_is_saved_once_and_each_thread_in_its_order(steps: list[Any]) -> None:
    with TemporaryDirectory() as directory:
        shop = Shop(Path(directory) / "outbox.db")
        asked = []
        for number, step in enumerate(steps):
            if isinstance(step, tuple):
                asked.append((*step, number))
                shop.save(*asked[-1])
            elif step == "reopen":
                shop.reopen()
            elif step == "deliver":
                if shop.there:
                    shop.delivery.deliver(PLACE, shop.deliver)
            else:
                shop.there = step == "comes"
        shop.finish()
        assert shop.delivery.outbox.count() == 0
        assert sorted(shop.saved) == sorted(asked)
        for thread in {said[:2] for said in asked}:
            assert [s for s in shop.saved if s[:2] == thread] == [
                s for s in asked if s[:2] == thread
            ]


def test_the_order_holds_also_if_the_server_is_back_before_what_waits_is_delivered(
    tmp_path: Path,
) -> None:
    shop = Shop(tmp_path / "outbox.db")
    with shop.delivery.outbox.turn():  # so that nothing is delivered meanwhile
        shop.there = False
        assert not shop.save("ana", "t", 1)
        shop.there = True
        shop.delivery._away.clear()  # as another process sees it
        assert not shop.save("ana", "t", 2)
        assert shop.save("bo", "t", 3)
    shop.finish()
    assert shop.saved == [("bo", "t", 3), ("ana", "t", 1), ("ana", "t", 2)]


def test_what_cannot_be_delivered_is_set_aside_for_the_next_opening(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop(tmp_path / "outbox.db")
    for number in (1, 2):
        shop.delivery.outbox.keep(PLACE, Entry("ana", "t", NOW, {"number": number}))
    refused = [1]

    def deliver(entry: Entry) -> None:
        if entry.content["number"] in refused:
            raise StoreError("this one is refused")
        shop.deliver(entry)

    shop.delivery.deliver(PLACE, deliver)
    assert [number for _, _, number in shop.saved] == [2]
    assert shop.delivery.outbox.count(user="ana") == 1
    assert "set aside" in caplog.text
    refused.clear()
    shop.reopen()
    while shop.delivery.outbox.count():
        threading.Event().wait(0.01)
    assert [number for _, _, number in shop.saved] == [2, 1]


def test_several_deliver_from_one_file_and_nothing_is_delivered_twice(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    keeping = Outbox(path)
    for number in range(40):
        keeping.keep(PLACE, Entry("ana", str(number % 3), NOW, {"number": number}))
    delivered: list[int] = []

    def deliver(_: int) -> int:
        each = Delivery(Outbox(path))
        return each.deliver(PLACE, lambda entry: delivered.append(entry.content["number"]))

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(deliver, range(4))) == 40
    assert delivered == list(range(40))


def test_what_waits_for_another_server_is_told_and_left_alone_until_it_is_moved(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop(tmp_path / "outbox.db")
    outbox = shop.delivery.outbox
    outbox.keep("http://old", Entry("ana", "t", NOW, {"number": 1}))
    shop.delivery._open(PLACE)
    assert "http://old" in caplog.text
    assert shop.delivery.deliver(PLACE, shop.deliver) == 0
    assert outbox.places() == {"http://old": 1}
    assert outbox.move("http://old", PLACE) == 1
    shop.finish()
    assert shop.saved == [("ana", "t", 1)]


# -- the file -------------------------------------------------------------------------------------


@given(user=st.text(min_size=1) | st.sampled_from(ODD), thread=st.text() | st.sampled_from(ODD))
def test_any_user_thread_and_text_comes_back_as_it_was(user: str, thread: str) -> None:
    with TemporaryDirectory() as directory:
        outbox = Outbox(Path(directory) / "outbox.db")
        kept = Entry(user, thread, NOW, {"text": user + thread})
        outbox.keep(PLACE, kept)
        outbox.keep(PLACE, Entry(user + "!", thread, NOW, {}))
        [found] = outbox.of_thread(PLACE, user, thread)
        assert (found.user, found.thread_id, found.at, found.content) == (
            user,
            thread,
            NOW,
            kept.content,
        )
        assert outbox.waits(PLACE, user, thread)
        assert outbox.count(user) == 1
        assert outbox.erase(user) == 1
        assert (outbox.count(user), outbox.count()) == (0, 1)


@pytest.mark.parametrize("limits", [{"max_entries": 2}, {"max_bytes": 60}], ids=str)
def test_a_full_outbox_refuses_and_drops_nothing(tmp_path: Path, limits: Any) -> None:
    outbox = Outbox(tmp_path / "outbox.db", **limits)
    for number in range(2):
        outbox.keep(PLACE, Entry("ana", "t", NOW, {"number": number}))
    with pytest.raises(StoreError, match=r"full.*this is not kept.*max_bytes"):
        outbox.keep(PLACE, Entry("ana", "t", NOW, {"text": "x" * 40}))
    found = outbox.of_thread(PLACE, "ana", "t")
    assert [entry.content for entry in found] == [{"number": 0}, {"number": 1}]
    outbox.remove(found[0])
    outbox.keep(PLACE, Entry("ana", "t", NOW, {"number": 2}))


def test_what_is_set_aside_holds_no_other_entry_of_its_thread_up(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox")
    outbox.keep("here", Entry("ana", "t", datetime(2026, 5, 1, tzinfo=UTC), {"number": 1}))
    entry = outbox.first("here")
    assert entry is not None
    assert outbox.waits("here", "ana", "t")
    outbox.set_aside(entry, ValueError("no"))
    assert not outbox.waits("here", "ana", "t")
    assert outbox.count("ana") == 1


def test_what_is_delivered_or_erased_is_not_in_the_file(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox.db")
    for user in ("ana-4711", "bo-4712"):
        for number in range(50):
            text = f"{user} likes Colombia {number} " * 50
            outbox.keep(PLACE, Entry(user, f"thread of {user}", NOW, {"text": text}))
    assert outbox.erase("ana-4711") == 50
    assert outbox.count() == outbox.count("bo-4712") == 50
    assert not any(b"ana-4711" in file.read_bytes() for file in tmp_path.iterdir())
    while (entry := outbox.first(PLACE)) is not None:
        outbox.remove(entry)
    assert not any(b"Colombia" in file.read_bytes() for file in tmp_path.iterdir())


def test_on_a_full_disk_nothing_that_waits_is_lost(tmp_path: Path) -> None:
    mounting = ["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(tmp_path)]
    if shutil.which("mount") is None or subprocess.run(mounting, capture_output=True).returncode:
        pytest.skip("this system does not let the tests mount a small file system")
    try:
        filler = tmp_path / "filler"
        filler.write_bytes(bytes(100_000))
        outbox = Outbox(tmp_path / "outbox.db")
        kept = 0
        with pytest.raises(StoreError, match=r"outbox\.db.*full"):  # noqa: PT012
            for kept in count():
                content = {"number": kept, "text": "Colombia " * 500}
                outbox.keep(PLACE, Entry("ana", "t", NOW, content))
        filler.unlink()
        found = outbox.of_thread(PLACE, "ana", "t")
        assert [entry.content["number"] for entry in found] == list(range(kept))
        outbox.keep(PLACE, Entry("bo", "t", NOW, {}))
        assert outbox.erase("ana") == kept
        assert outbox.count() == 1
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "new" / "outbox.db")
    outbox.erase("ana")
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in outbox.path.parent.iterdir()}
    assert modes == {"outbox.db": 0o600, "outbox.db.lock": 0o600}


def test_another_file_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as file:
        file.execute("CREATE TABLE theirs (x)")
    file.close()
    text = tmp_path / "notes.txt"
    text.write_text("these are my notes, and they are long enough to be no SQLite header\n" * 20)
    for path in (other, text):
        before = path.read_bytes()
        with pytest.raises((ConfigurationError, StoreError), match="outbox"):
            Outbox(path)
        assert path.read_bytes() == before
    with pytest.raises(StoreError, match="outbox"):
        Outbox(tmp_path)


# -- a memory with one ----------------------------------------------------------------------------


def test_an_outbox_is_for_a_store_on_a_server(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    with ChromaStore.in_memory(embed=HashingEmbeddings()) as store:
        for other in (store, InMemoryStore()):
            with pytest.raises(ConfigurationError, match="on a Chroma server"):
                Memory(other, outbox=path)
            with pytest.raises(ConfigurationError, match="on a Chroma server"):
                Memory(outbox=path).using(other)
        with pytest.raises(ConfigurationError, match="no outbox"):
            deliver_outbox(Memory(store))
    for given_path in ("", 7):
        with pytest.raises(ConfigurationError, match="outbox="):
            Memory(outbox=given_path)  # type: ignore[arg-type]
    for limit in (0, -1, True, "1"):
        with pytest.raises(ConfigurationError, match="max_bytes="):
            Outbox(path, max_bytes=limit)  # type: ignore[arg-type]
