"""What else says what a deleted record said: pure.

A note rests on messages, and they on nothing: whoever forgets the note alone still has the message,
the answer to it, the episode of its turn, and may have a lesson drawn from that and a document that
says the same. All of these are recalled. So they are named, and taken along if that is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from langgraph_memory.notes import compared_words, same_words
from langgraph_memory.records import (
    Also,
    Document,
    Episode,
    Extraction,
    Message,
    Note,
    Owner,
    Record,
    Source,
    Tie,
    normalise,
)
from langgraph_memory.retrieval import doomed
from langgraph_memory.text import tokens

Named = tuple[str | None, str | None, str | None]
"""An id, a text or the name of a source."""

_SENTENCE = re.compile(r"(?<=[.!?。！？…])\s+|(?<=[。！？])|\n+")
_FEWEST = 3
"""Words of a text that is found within a sentence whatever follows: of fewer, a word more makes
another statement."""
_BEFORE = frozenset("i you we user and also but that 我 你 您 户 且 也 还".split())
"""Words before which a statement about the user begins within a sentence; behind "my sister" it is
about somebody else."""
_AFTER = frozenset("and but or so because since which that 和 但 而 所".split())
"""Words behind which another statement begins."""
_COPULAS = frozenset(("am", "is", "are"))
_ANSWERED = 0.5  # of the terms of a note, in an answer to what the note comes from


def retold(gone: Sequence[Record], left: Iterable[Record]) -> list[Also]:
    """Return the records that still say what was said by those that are gone, sources first.

    Args:
        gone: What is deleted.
        left: What is not, of the same owner, and of the user whose note it is.
    """
    left = [each for each in left if not isinstance(each, (Source, Extraction))]
    sources = _sources(gone, left)
    said = [m for m in (*gone, *left) if isinstance(m, Message) and m.id in sources]
    said += [m for m in gone if isinstance(m, Message) and m not in said]
    turns = {Episode.id_of(message.thread_id, message.message_id) for message in said}
    texts = _texts(gone)
    ties: dict[int, Tie] = {}
    for each in left:
        if each.id in sources or (isinstance(each, Episode) and each.id in turns):
            ties[id(each)] = "source"
        elif _says_any(each, texts) or _quotes(each, gone) or _answers(each, said, left, gone):
            ties[id(each)] = "same"
    origins = {each.id for each in (*gone, *(e for e in left if ties.get(id(e)) == "source"))}
    for each in left:
        if id(each) not in ties and isinstance(each, Note) and _is_drawn(each, gone, origins):
            ties[id(each)] = "drawn"
    found = [Also(each, ties[id(each)]) for each in left if id(each) in ties]
    return sorted(found, key=lambda also: _ORDER.index(also.tie))


_ORDER: Sequence[Tie] = ("source", "same", "drawn")


def with_retellings(
    owner: Owner, records: Sequence[Record], named: Named, sources: bool
) -> tuple[list[Record], list[Also]]:
    """Return what is deleted, and what is not and says it still.

    Args:
        owner: Whose record is meant.
        records: Those of the owner, and of the user who asks.
        named: By which id, text or source it is meant: one of them.
        sources: Whether what else says it goes too.
    """
    gone = doomed([each for each in records if each.owner == owner], *named)
    if gone and sources:
        gone = [*gone, *taken_along(gone, _without(gone, records))]
    texts = [each for each in gone if not isinstance(each, (Source, Document))]
    return gone, retold(texts, _without(gone, records)) if texts else []


def _without(gone: Sequence[Record], records: Iterable[Record]) -> list[Record]:
    known = {(each.owner, each.type, each.id) for each in gone}
    return [each for each in records if (each.owner, each.type, each.id) not in known]


def taken_along(gone: Sequence[Record], left: Sequence[Record]) -> list[Record]:
    """Return what goes too, if what else says it is to go.

    What was drawn from it goes if it rests on nothing else: a lesson of several episodes stays.
    """
    also = retold(gone, left)
    taken = [each.record for each in also if each.tie != "drawn"]
    resting = {each.id for each in (*gone, *taken)}
    drawn = [each.record for each in also if each.tie == "drawn"]
    return taken + [
        note for note in drawn if isinstance(note, Note) and set(note.sources) <= resting
    ]


# -- parts of the above --


def _texts(gone: Iterable[Record]) -> list[str]:
    texts = [each.text for each in gone if isinstance(each, (Note, Message))]
    texts += [each.task for each in gone if isinstance(each, Episode)]
    return list(dict.fromkeys(text for text in texts if text.strip()))


def _says_any(record: Record, texts: Sequence[str]) -> bool:
    """Whether a record says one of some texts, by itself or among other things."""
    return any(_says(part, text) for part in _parts(record) for text in texts)


def _quotes(record: Record, gone: Iterable[Record]) -> bool:
    """Whether the words that a note rests on stand in a record, letter by letter."""
    quotes = {normalise(each.quote) for each in gone if isinstance(each, Note)}
    long = [quote for quote in quotes if len(compared_words(quote)) >= _FEWEST]
    return any(quote in normalise(part) for part in _parts(record) for quote in long)


def _sources(gone: Iterable[Record], left: Iterable[Record]) -> set[str]:
    """Return the ids of the records that deleted notes come from.

    A note may name a message by the message's own id, if no other thread has one of that id.
    """
    named = {id for each in gone if isinstance(each, Note) for id in each.sources}
    by_own_id: dict[str, set[str]] = {}
    for each in left:
        if isinstance(each, Message) and each.message_id in named:
            by_own_id.setdefault(each.message_id, set()).add(each.id)
    return named.union(*(ids for ids in by_own_id.values() if len(ids) == 1))


def _is_drawn(note: Note, gone: Sequence[Record], origins: set[str]) -> bool:
    """Whether a note comes from what is deleted, or a lesson from an episode that says it."""
    own = origins if note.kind == "lesson" else {each.id for each in gone}
    return not own.isdisjoint(note.sources)


def _answers(
    record: Record, said: Sequence[Message], left: Sequence[Record], gone: Sequence[Record]
) -> bool:
    """Whether a message is the answer to one that a note comes from, and repeats the note."""
    if not isinstance(record, Message) or record.role != "assistant":
        return False
    asked = [each for each in said if each.thread_id == record.thread_id]
    if not any(_is_next(record, each, (*left, *gone)) for each in asked):
        return False
    known = set(tokens(record.text))
    notes = [set(tokens(each.text)) for each in gone if isinstance(each, Note)]
    return any(note and len(note & known) >= _ANSWERED * len(note) for note in notes)


def _is_next(answer: Message, asked: Message, records: Iterable[Record]) -> bool:
    """Whether nothing was said by the user between a message and an answer."""
    begin, end = _moment(asked), _moment(answer)
    if end <= begin:
        return False
    return not any(
        isinstance(each, Message)
        and each.role == "user"
        and each.thread_id == asked.thread_id
        and begin < _moment(each) < end
        for each in records
    )


def _moment(message: Message) -> tuple[object, int]:
    return message.created_at, message.position


def _parts(record: Record) -> Iterator[str]:
    """Yield the sentences of a record, and what it says as a whole."""
    match record:
        case Episode():
            texts = [record.task, record.approach, record.notes, record.error or ""]
        case Note():
            texts = [record.text, *record.aliases]
        case _:
            texts = [record.text]
    for text in texts:
        yield text
        yield from (part for part in _SENTENCE.split(text) if part.strip())


def _says(part: str, text: str) -> bool:
    if not part.strip():
        return False
    if same_words(part, text):
        return True
    looked_for, words = _stated(text), _stated(part)
    size = len(looked_for)
    return size > 1 and any(
        words[at : at + size] == looked_for
        and (at == 0 or words[at - 1] in _BEFORE)
        and (size >= _FEWEST or at + size == len(words) or words[at + size] in _AFTER)
        for at in range(len(words) - size + 1)
    )


def _stated(text: str) -> list[str]:
    """Return the words of a text without those that change with who says it: "I'm", "is"."""
    words = (word.removesuffix("'m") for word in compared_words(text))
    return [word for word in words if word not in _COPULAS]
