"""Which notes a model is asked to merge, and what it may answer. Pure.

It sees groups of numbered notes that are alike by meaning, no ids. Of each group it says which
notes say the same, and in which text they become one; a merge that cannot be right is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any

import numpy as np
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.store.base import GetOp, PutOp
from pydantic import BaseModel, Field

from langgraph_memory.models import MERGING, Vectors, escaped, items_of
from langgraph_memory.notes.similarity import may_be_one
from langgraph_memory.records import (
    Extraction,
    Note,
    Owner,
    is_kept_anyway,
    long_date,
    normalise,
    record_id,
)
from langgraph_memory.store import get_op, put_op, read_record
from langgraph_memory.text import clean, query_tokens, tokens

MAX_ASKED = 40
"""In one question to a model."""
MAX_GROUP = 8
"""Notes that are compared with each other."""
MERGE_NEIGHBOURS = 5
"""Notes that a note may come beside, the most alike."""

_BLOCK = 512  # rows whose similarities to all others are in memory together: 2 MB for 1,000 notes
_DIGITS = re.compile(r"\d+")


class MergedNotes(BaseModel):
    """Notes of one group that say the same."""

    notes: list[int] = Field(description="The numbers of the notes")
    text: str = Field(description="One sentence with all that they say")


class MergeAnswer(BaseModel):
    """The merges in all groups; none where nothing says the same."""

    merges: list[MergedNotes]


@dataclass(frozen=True, slots=True)
class Merge:
    """Notes that say the same, and one text for all of them, as a model has it."""

    notes: tuple[Note, ...]
    """As the model saw them."""
    text: str


_RECORD = Extraction.id_of("", ("consolidation",))

Group = Sequence[Note]
MergeQuestion = Sequence[Group]
"""Groups about which a model is asked together."""


class Comparison:
    """What a model says of an owner's notes, and what it need not be asked again.

    A group is asked about once. What it says holds until one of its notes has another text, or the
    group another note.

    Args:
        owner: Whose notes.
        groups: Notes that are alike, as `alike` returns them.
        found: What `read_op` found.
    """

    def __init__(self, owner: Owner, groups: Sequence[Group], found: Any) -> None:
        record = None if found is None else read_record(found)
        self._owner = owner
        self._before = frozenset(record.messages if isinstance(record, Extraction) else ())
        self._settled = [group for group in groups if _name(group) in self._before]
        self._new = [group for group in groups if _name(group) not in self._before]
        self.merges: list[Merge] = []

    @staticmethod
    def read_op(owner: Owner) -> GetOp:
        """Return the operation that brings which groups were asked about."""
        return get_op(owner.namespace("extraction"), _RECORD)

    def questions(self) -> Iterator[MergeQuestion]:
        """Yield the groups to ask about, as many together as one question takes."""
        question: list[Group] = []
        for group in self._new:
            if question and sum(map(len, question)) + len(group) > MAX_ASKED:
                yield question
                question = []
            question.append(group)
        if question:
            yield question

    def answered(
        self, question: MergeQuestion, merges: Iterable[Merge], problems: Collection[str]
    ) -> None:
        """Take an answer in; one with anything wrong in it is asked for again another time."""
        self.merges += merges
        if not problems:
            self._settled += question

    def ops(self, notes: Iterable[Note], now: datetime) -> list[PutOp]:
        """Return the operations that keep which groups were asked about, if that changed.

        Args:
            notes: The owner's notes by now; of those that are gone nothing is kept.
            now: The present moment.
        """
        held = set(map(_text_of, notes))
        settled = {_name(group) for group in self._settled if held.issuperset(map(_text_of, group))}
        if settled == self._before:
            return []
        if not settled:
            return [PutOp(self._owner.namespace("extraction"), _RECORD, None)]
        names = tuple(sorted(settled))
        record = Extraction(
            id=_RECORD, owner=self._owner, created_at=now, thread_id="", messages=names
        )
        return [put_op(record)]


def _name(group: Group) -> str:
    """Return by what a question about a group is known."""
    return record_id("note", MERGING, *sorted(map(_text_of, group)))


def _text_of(note: Note) -> str:
    return f"{note.id}@{note.version}"


def alike(notes: Sequence[Note], vectors: Vectors, least: float) -> list[Group]:
    """Return notes in groups of two and more, each note beside those that are most like it.

    Each note is in one group at most, so that a question costs no more than its notes. Not all of a
    group need be alike, nor say the same: that is what is asked.

    Args:
        notes: Active notes of one owner.
        vectors: The unit vectors of their texts, of shape `(notes, dimensions)`.
        least: The cosine similarity from which on two are alike.
    """
    near = dict(_near(notes, vectors, least))
    group_of = {place: [place] for place in range(len(notes))}
    for one, other in sorted(near, key=lambda pair: (-near[pair], pair)):
        group, joining = group_of[one], group_of[other]
        if group is not joining and len(group) + len(joining) <= MAX_GROUP:
            group += joining
            group_of |= dict.fromkeys(joining, group)
    groups = {id(group): sorted(group) for group in group_of.values()}
    return [[notes[place] for place in group] for group in groups.values() if group[1:]]


def _near(
    notes: Sequence[Note], vectors: Vectors, least: float
) -> Iterator[tuple[tuple[int, int], float]]:
    """Yield pairs of places, the lower first, with their similarity."""
    for start in range(0, len(notes), _BLOCK):
        block = vectors[start : start + _BLOCK] @ vectors.T
        block[np.arange(len(block)), np.arange(start, start + len(block))] = -np.inf
        count = min(MERGE_NEIGHBOURS, len(notes))
        nearest = np.argpartition(-block, count - 1, axis=1)[:, :count]
        for row, places in enumerate(nearest.tolist()):
            for other in places:
                one, cosine = start + row, float(block[row, other])
                if cosine >= least and may_say_the_same(notes[one], notes[other]):
                    yield (min(one, other), max(one, other)), cosine


def may_say_the_same(note: Note, other: Note) -> bool:
    """Whether a model is worth asking.

    Notes of which each has a number of its own differ, and of two that are pinned or critical
    neither gives way.
    """
    if not may_be_one(note, other) or (is_kept_anyway(note) and is_kept_anyway(other)):
        return False
    one, two = _numbers(note.text), _numbers(other.text)
    return one <= two or two <= one


def _numbers(text: str) -> set[int]:
    return {int(digits) for digits in _DIGITS.findall(normalise(text)[:1_000])}


# -- the question, and its answer ----------------------------------------------------------------


def merge_request(question: MergeQuestion) -> list[BaseMessage]:
    """Return what to ask a model about groups."""
    lines: list[str] = []
    number = 0
    for place, group in enumerate(question, 1):
        lines.append(f"group {place}")
        for note in group:
            number += 1
            date = long_date(note.updated_at)
            keep = ' keep="yes"' if is_kept_anyway(note) else ""
            lines.append(f'<note n="{number}" date="{date}"{keep}>{escaped(note.text)}</note>')
    return [SystemMessage(MERGING), HumanMessage("\n".join(lines))]


def merges(
    answer: object, question: MergeQuestion, redact: Callable[[str], str]
) -> tuple[list[Merge], list[str]]:
    """Return the merges in a model's answer, and what was wrong with others.

    Raises:
        UnreadableAnswer: If nothing of it can be read.
    """
    items, problems = items_of(answer, "notes")
    shown = dict(enumerate(((note, group) for group in question for note in group), 1))
    found: list[Merge] = []
    for item in items:
        if not isinstance(item, Mapping):
            continue
        numbers = _handles(item)
        known = [shown[number] for number in numbers if number in shown]
        notes = tuple(note for note, _ in known)
        text = redact(clean(str(item.get("text") or "")))
        if len(numbers) < 2 or len(known) < len(numbers) or len({id(g) for _, g in known}) > 1:
            problems.append(f"a merge of the notes {numbers}, which are not two of one group")
        elif why := _why_not(text, notes):
            problems.append(f"a merge of the notes {numbers} {why}")
        else:
            found.append(Merge(notes, text))
            for number in numbers:
                del shown[number]  # a note is merged once
    return found, problems


def _handles(item: Mapping[str, Any]) -> list[int]:
    """Return the numbers that an answer names, each once."""
    numbers = item.get("notes")
    if not isinstance(numbers, list):
        return []
    whole = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool)]
    return list(dict.fromkeys(whole)) if len(whole) == len(numbers) else []


def _why_not(text: str, notes: Sequence[Note]) -> str | None:
    """Return what is wrong with a text for several notes."""
    said = [note.text for note in notes]
    if not text.strip():
        return "without a text"
    if len(text) > len("".join(said)):
        return "into a text longer than all of them"
    if not _numbers(text) <= set[int]().union(*map(_numbers, said)):
        return "into a text with a number that none of them has"
    if set(query_tokens(text)).isdisjoint(token for each in said for token in tokens(each)):
        return "into a text with no word of theirs"  # "yes", or another language
    if not all(may_be_one(one, other) for one, other in combinations(notes, 2)):
        return "of two slots"
    return None
