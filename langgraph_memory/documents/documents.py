"""Texts that somebody gave to know: their chunks, and one edition giving way to another.

Chunks carry the edition they belong to, and a `Source` says which edition holds. The new chunks are
written first, in any number of batches, while nobody sees them; then one write of the source makes
them hold instead of the old ones, which are deleted after it. What is interrupted leaves chunks of
an edition that does not hold; a later call for that source uses or deletes them, and `consolidate`
deletes them.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp

from langgraph_memory.documents.splitting import VERSION, split
from langgraph_memory.errors import ConfigurationError, StoreError
from langgraph_memory.records import Document, Owner, Record, Source, record_id
from langgraph_memory.store import ALL, Namespace, NewestOp, get_op, lying_in, put_op, read_record

GIVEN_UP = timedelta(hours=1)
"""After so long nobody is writing an edition any more. Another process may be at it until then: to
embed ten thousand chunks takes minutes, with a slow service."""

_MOST_STEPS = 10  # three are needed, one more for what was left over


def decoded(content: bytes, path: Path) -> str:
    """Return the text of a file, without a byte order mark; its line ends stay as they are.

    Raises:
        ConfigurationError: If it is not text in UTF-8.
    """
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path} is not text in UTF-8 ({error}): convert it, or pass its text with source="
        ) from error
    if "\x00" in text:
        raise ConfigurationError(
            f"{path} has NUL bytes, as binary files and UTF-16 have: convert it to UTF-8, or pass "
            "its text with source="
        )
    return text


def edition_of(
    owner: Owner, source: str, text: str, language: str, metadata: Mapping[str, Any]
) -> str:
    """Return by what an edition is known; of all owners, no other has the same."""
    kept = json.dumps(metadata, sort_keys=True)
    return record_id("document", VERSION, owner.kind, owner.id, source, text, language, kept)


def chunks_of(
    text: str,
    *,
    owner: Owner,
    source: str,
    language: str,
    author: str,
    metadata: Mapping[str, Any],
    now: datetime,
) -> tuple[Source, list[Document]]:
    """Return a text as records: what is kept of it as a whole, and its chunks."""
    edition = edition_of(owner, source, text, language, metadata)
    documents = [
        Document(
            id=Document.id_of(source, edition, position),
            owner=owner,
            created_at=now,
            text=chunk.text,
            source=source,
            edition=edition,
            position=position,
            start=chunk.start,
            heading=chunk.heading,
            author=author,
            metadata=metadata,
        )
        for position, chunk in enumerate(split(text, language))
    ]
    row = Source(
        id=Source.id_of(source),
        owner=owner,
        created_at=now,
        source=source,
        edition=edition,
        chunks=len(documents),
        author=author,
        metadata=metadata,
    )
    return row, documents


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store holds of one source."""

    row: Source | None
    chunks: Mapping[str, Mapping[str, Any]]
    """The values of its chunks by their ids, of whatever edition."""

    @classmethod
    def of(cls, owner: Owner, source: str, found: Mapping[str, Any]) -> Stored:
        """Read what `stored_ops` found."""
        row = None if found["row"] is None else read_record(found["row"])
        assert row is None or isinstance(row, Source)
        namespace = owner.namespace("document")
        lying = lying_in(namespace, found["chunks"])
        return cls(row, {i.key: i.value for i in lying if i.value["source"] == source})

    @property
    def edition(self) -> str | None:
        """The edition that holds."""
        return None if self.row is None else self.row.edition

    def given_up(self, now: datetime) -> set[str]:
        """Return the editions that do not hold, and that nobody is writing any more."""
        begun = (now - GIVEN_UP).isoformat()
        every = {each["edition"] for each in self.chunks.values()}
        new = {each["edition"] for each in self.chunks.values() if each["created_at"] >= begun}
        return every - new - {self.edition}

    def deletions(self, owner: Owner, editions: Collection[str | None]) -> list[PutOp]:
        """Return the operations that delete the chunks of some editions."""
        namespace = owner.namespace("document")
        keys = [key for key, value in self.chunks.items() if value["edition"] in editions]
        return [PutOp(namespace, key, None) for key in sorted(keys)]


def stored_ops(owner: Owner, source: str) -> dict[str, Any]:
    """Return the operations that bring what a store holds of a source, by what it is."""
    return {
        "row": get_op(owner.namespace("source"), Source.id_of(source)),
        "chunks": NewestOp(owner.namespace("document"), {"source": source}, ALL),
    }


class Replacement:
    """A source's text giving way to another, step by step, whatever was there before.

    Args:
        row: The source as it is to be.
        documents: Its chunks.
    """

    def __init__(self, row: Source, documents: Sequence[Document]) -> None:
        self.row = row
        """The source as it is; the one that was there already if nothing of it was changed."""
        self.lock = (row.owner, row.source)
        """What names the lock of the source."""
        self._documents = documents
        self._ids = frozenset(document.id for document in documents)
        self._now = row.created_at
        self._replaced: set[str | None] = set()
        self._steps = 0

    @property
    def read_ops(self) -> dict[str, Any]:
        """What has to be read before each step."""
        return stored_ops(self.row.owner, self.row.source)

    def next_ops(self, found: Mapping[str, Any]) -> list[PutOp]:
        """Return the next step's operations; none when there is nothing left to do.

        Another process may replace the same source meanwhile: so no edition is deleted but the one
        that this one replaces, and what nobody is writing any more. Somebody may also delete the
        source: what is missing then is written again.

        Raises:
            StoreError: If the store does not give back what was written, or deleted.
        """
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise StoreError(
                f"the store does not hold what it was told to of {self.row.source!r}: it reads "
                f"otherwise than it was written, or others keep deleting it"
            )
        stored = Stored.of(self.row.owner, self.row.source, found)
        holds = stored.edition == self.row.edition
        if self._replaced and not holds:
            return []  # another one came after it
        if holds and not self._replaced:  # unchanged; chunks that miss were forgotten
            assert stored.row is not None
            self.row = stored.row
            return stored.deletions(self.row.owner, stored.given_up(self._now))
        missing = [each for each in self._documents if each.id not in stored.chunks]
        if missing:
            return [put_op(document) for document in missing]
        gone = stored.given_up(self._now) - {self.row.edition}
        if holds:
            return stored.deletions(self.row.owner, gone | self._replaced)
        self._replaced.add(stored.edition)
        return [put_op(self.row), *stored.deletions(self.row.owner, gone | self._replaced)]

    def written(self, ops: Sequence[PutOp]) -> int:
        """Return how many chunks some operations write."""
        return sum(op.value is not None and op.key in self._ids for op in ops)


def leftovers(owner: Owner, source: str, found: Mapping[str, Any], now: datetime) -> list[PutOp]:
    """Return the operations that delete what interrupted calls have left of a source."""
    stored = Stored.of(owner, source, found)
    return stored.deletions(owner, stored.given_up(now))


# -- which chunks hold --


def with_sources(namespaces: Sequence[Namespace]) -> list[Namespace]:
    """Return namespaces with those that say which of their documents hold."""
    sources = [(*ns[:-1], "source") for ns in namespaces if ns[-1] == "document"]
    return list(dict.fromkeys([*namespaces, *sources]))


def holding(records: Iterable[Record], namespaces: Collection[Namespace]) -> list[Record]:
    """Return the records of some namespaces, without the chunks whose edition does not hold.

    Args:
        records: Those of the namespaces, and of their sources.
        namespaces: What is asked for.
    """
    records, types = list(records), {namespace[-1] for namespace in namespaces}
    unheld = {each.id for each in _unheld(records)}
    return [each for each in records if each.id not in unheld and each.type in types]


def sources_with_leftovers(records: Iterable[Record]) -> list[str]:
    """Return the names of the sources of which there are chunks that do not hold."""
    return sorted({document.source for document in _unheld(list(records))})


def _unheld(records: Sequence[Record]) -> list[Document]:
    editions = {record.edition for record in records if isinstance(record, Source)}
    chunks = [record for record in records if isinstance(record, Document)]
    return [chunk for chunk in chunks if chunk.edition not in editions]
