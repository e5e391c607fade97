"""The peers of the benchmark find what was filled, and delete what was put."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks import latency_peers
from benchmarks.latency_data import embedded_text, records_of
from benchmarks.latency_peers import InMemory, LangChainChroma, Peer, RawChroma, open_chroma
from langgraph_memory.testing import HashingEmbeddings

EMBEDDINGS = HashingEmbeddings(dims=512)


@pytest.fixture
def chroma(tmp_path: Path) -> Iterator[RawChroma]:
    with closing(RawChroma(open_chroma(tmp_path), "peer", EMBEDDINGS)) as chroma:
        yield chroma


@pytest.mark.parametrize(
    "opened",
    [lambda chroma: chroma, LangChainChroma, lambda chroma: InMemory(EMBEDDINGS)],
    ids=["chromadb", "langchain-chroma", "langgraph"],
)
def test_a_peer_finds_a_user_s_texts_until_they_are_deleted(
    chroma: RawChroma, opened: Callable[[RawChroma], Peer]
) -> None:
    peer = opened(chroma)
    (tea, _) = peer.put("ana", ["likes tea", "lives in Lima"])
    peer.put("bruno", ["likes tea with milk"])
    assert "likes tea" in str(peer.search("tea", "ana"))
    assert "milk" not in str(peer.search("tea", "ana"))
    peer.delete("ana", tea)
    assert "likes tea" not in str(peer.search("tea", "ana"))


@pytest.mark.parametrize(
    "make",
    [lambda chroma: chroma, lambda chroma: InMemory(EMBEDDINGS)],
    ids=["chromadb", "langgraph"],
)
def test_what_is_filled_is_found(chroma: RawChroma, make: Callable[[RawChroma], Peer]) -> None:
    peer, records = make(chroma), list(records_of("ana", 20))
    peer.fill(records)
    wanted = embedded_text(records[7])
    assert wanted in str(peer.search(wanted, "ana"))


@pytest.mark.parametrize("page", [4, 5, 100])
def test_all_rows_of_a_user_are_read_by_pages(
    chroma: RawChroma, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latency_peers, "PAGE", page)
    chroma.fill(list(records_of("ana", 10)))
    chroma.fill(list(records_of("bruno", 3)))
    assert len({id for rows in chroma.get("ana") for id in rows["ids"]}) == 10
