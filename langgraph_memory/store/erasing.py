"""What a store offers for the erasure of users, and what is searched for afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.files import SHORTEST
from langgraph_memory.models import Vectors
from langgraph_memory.records import ROOT, Owner
from langgraph_memory.store.operations import Namespace, part_of
from langgraph_memory.text import replace_surrogates


@dataclass(frozen=True, slots=True)
class Overwritten:
    """What became of the files of a store."""

    found: Mapping[str, int] = field(default_factory=dict)
    """How often something of the users was found still, by file."""
    closed: float = 0.0
    """For how many seconds reads and writes had to wait."""
    pending: bool = False
    """Whether it is done at the next opening."""
    elsewhere: str = ""
    """Where files lie that could neither be overwritten nor searched, in words."""


class ErasingStore(Protocol):
    """What a store offers to whom erases users; `ChromaStore` does."""

    def vectors(self, namespaces: Sequence[Namespace]) -> Iterable[Vectors]: ...

    def count_beside(self, namespaces: Sequence[Namespace]) -> int: ...

    def wipe(self, namespaces: Sequence[Namespace], user: str) -> None: ...

    def overwrite(
        self, users: Sequence[str], sought: Sought, files: Sequence[Path], *, later: bool
    ) -> Overwritten: ...


def forms_of(users: Sequence[str]) -> Sought:
    """Return what is searched for of users of whom no more than the ids is known."""
    own = frozenset(form for user in users for form in own_forms(user))
    shared = frozenset(form for user in users for form in shared_forms(user))
    return Sought(own, shared - own)


@dataclass(frozen=True, slots=True)
class Sought:
    """What is searched for."""

    own: frozenset[bytes] = frozenset()
    """What nobody else's record can hold: it is to be nowhere."""
    shared: frozenset[bytes] = frozenset()
    """What others may have said too: it is to be nowhere if no remaining record holds it."""


_PIECE = 32  # bytes: few enough to lie whole in one page of a database
_PIECES = 200  # of one text: a document's are far apart
_VECTOR_PIECES = 12
_DISTINCT = 8  # different bytes that a piece of a vector has, or it is like any other


def own_forms(user: str) -> Iterator[bytes]:
    """Yield the bytes by which files name a user, and that nobody else's record can hold.

    That is the id with what delimits it: in the name of a namespace, in the index of Chroma's
    metadata, in the metadata of a checkpoint.
    """
    label = Owner("user", user).namespace("note")[2]
    yield part_of((ROOT, "user", label))[1:-1].encode()
    yield f'"user_id": {json.dumps(user)}'.encode()
    id = _utf8(user)
    header = b"\x15" + _varint(13 + 2 * len(id))  # SQLite's types of "user" and of the id
    yield from (header + bytes([row]) + b"user" + id for row in (1, 2, 3, 4, 5, 6, 8, 9))


def shared_forms(user: str) -> Iterator[bytes]:
    """Yield the bytes by which files name a user, but that others may have said too."""
    id = _utf8(user)
    yield b"user" + id
    yield from {
        json.dumps(user).encode(),
        json.dumps(user, ensure_ascii=False).encode("utf-8", "replace"),
    }
    if len(id) < 32:
        yield bytes([0xA0 | len(id)]) + id  # in MessagePack, as checkpoints are
    elif len(id) < 256:
        yield bytes([0xD9, len(id)]) + id
    if len(id) >= SHORTEST:
        yield id


def texts_of(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_of(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from texts_of(inner)


def pieces_of_text(text: str) -> Iterator[bytes]:
    """Yield parts of a text as files hold it: as it is, and within JSON. Short ones are none."""
    plain = replace_surrogates(text)
    for form in {plain, json.dumps(plain, ensure_ascii=False)[1:-1], json.dumps(plain)[1:-1]}:
        content = form.encode()
        if len(content) < SHORTEST:
            continue
        ends = range(min(_PIECE, len(content)), len(content) + 1, _PIECE)
        step = max(1, len(ends) // _PIECES)
        yield from (content[max(0, end - _PIECE) : end] for end in ends[::step])
        yield content[-_PIECE:]


def pieces_of_vectors(vectors: Iterable[NDArray[np.float32]]) -> Iterator[bytes]:
    """Yield parts of vectors as files hold them.

    Chroma rounds a vector where it makes its length 1, so that most of its numbers, and not all,
    are the same in all files.

    Args:
        vectors: Arrays of shape `(rows, dimensions)`.
    """
    for rows in vectors:
        for row in rows:
            content = row.astype("<f4").tobytes()
            starts = range(0, len(content) - _PIECE + 1, _PIECE)
            step = max(1, len(starts) // _VECTOR_PIECES)
            pieces = (content[start : start + _PIECE] for start in starts[::step])
            yield from (piece for piece in pieces if len(set(piece)) >= _DISTINCT)


def _utf8(text: str) -> bytes:
    return replace_surrogates(text).encode()


def _varint(number: int) -> bytes:
    """Return a number as SQLite writes it."""
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append((number & 0x7F) | 0x80)
    return bytes(reversed(digits))
