"""mem0 as a peer of the benchmark: without a network, and filled as mem0 itself writes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.latency_data import embedded_text, records_of
from benchmarks.latency_mem0 import Mem0
from langgraph_memory.testing import HashingEmbeddings

# Not `importorskip`: mem0 reads, when it is imported, whether it may call home.
pytestmark = pytest.mark.skipif(
    find_spec("mem0") is None, reason="not installed: pip install --group bench"
)


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mem0]:
    # `Mem0` sets them for good: afterwards they are again what they were.
    monkeypatch.setenv("MEM0_TELEMETRY", "")
    monkeypatch.setenv("MEM0_DIR", "")
    peer = Mem0(tmp_path, HashingEmbeddings(dims=512))
    yield peer
    peer.close()


def test_records_filled_in_bulk_are_found_by_their_user_alone(peer: Mem0) -> None:
    records = list(records_of("ana", 30))
    peer.fill(records)
    wanted = embedded_text(records[7])
    assert peer.search(wanted, "ana")["results"][0]["memory"] == wanted
    assert peer.search(wanted, "bruno")["results"] == []


def test_bulk_and_single_rows_have_the_same_keys(peer: Mem0) -> None:
    peer.fill(list(records_of("ana", 1)))
    peer.put("bruno", ["likes tea"])
    rows = peer.rows()
    assert {row["user_id"] for row in rows} == {"ana", "bruno"}
    assert rows[0].keys() == rows[1].keys()


def test_what_was_put_is_deleted_by_its_id(peer: Mem0) -> None:
    first, second = peer.put("ana", ["likes tea", "lives in Lima"])
    peer.delete("ana", first)
    assert [found["id"] for found in peer.search("tea", "ana")["results"]] == [second]


def test_mem0_does_not_call_home(peer: Mem0) -> None:
    from mem0.memory import telemetry

    assert not telemetry.MEM0_TELEMETRY
