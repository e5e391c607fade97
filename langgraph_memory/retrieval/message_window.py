"""The messages of one memory as arrays: each with its window, speaker, day and form.

A message is often found by its neighbours: the answer to "Where did you buy it?" names neither the
thing nor the purchase. So a question is compared with a window: a message and a few before and
after it in its session, whose words and meaning count less than its own.

Everything is derived from the stored values, one row for each row of a partition. Rows are appended
in the order in which they were written, and never change: an edited message is a new row in the
place of the old one, and rows that are not alive are skipped.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.messages import forms
from langgraph_memory.models import Vectors
from langgraph_memory.records import GLOBAL_ID, in_zone
from langgraph_memory.retrieval.standing import Repetitions, Standing, standing
from langgraph_memory.store import Flags, Scores
from langgraph_memory.text import (
    CJK,
    K1,
    B,
    LexicalIndex,
    ends_asking,
    grown,
    has_number,
    has_question,
    has_time,
    idf,
    query_tokens,
    summed,
    wording,
)

BEFORE = (0.6, 0.36, 0.22)
"""What a word counts that was said one, two, three messages before, and not in the message itself.

These and the next two were chosen on LoCoMo's development conversations, each measured with weights
fitted to the others; geometric series of .5 to .7 differ by less than .003 in recall@10."""

AFTER = (0.5, 0.25)
"""What a word of the next message counts, and one of the message after that."""

_WEIGHTS = np.array([(1, *BEFORE, *AFTER)], np.float32).T  # of a message in its own window, too

NEIGHBOUR = 0.5
"""What the likeness of the message before counts beside a message's own, and that of the next."""

PAUSE_HOURS = 6
"""After so long a silence, a thread's next message begins a session, and looks back at none."""

_COUNTS = 1 << 18  # of terms in windows that are held at once: a megabyte, however much is asked

_FEW = 64  # rows that are put into their places faster than all rows are sorted

_ATTACHMENT = re.compile(r"\n\[(?:image|file|audio|video): ", re.ASCII)

Rows = NDArray[np.intp]

_FIELDS = np.dtype(
    [
        ("thread", np.int32),
        ("said", np.float64),  # seconds since 1970
        ("logged", np.float64),
        ("position", np.int32),
        ("speaker", np.int32),
        ("day", np.int32),
        ("asks", np.bool_),
        ("ends_asking", np.bool_),
        ("has_time", np.bool_),
        ("has_number", np.bool_),
        ("by_user", np.bool_),
        ("anywhere", np.bool_),
        ("wording", np.int64),
        ("statement", np.bool_),
        ("question", np.bool_),
        ("request", np.bool_),
        ("small_talk", np.bool_),
        ("denial", np.bool_),
        ("salience", np.float32),
    ]
)

_NO_FORM = (False, False, False, False, False, 0.0)  # until `forms` has told it


class Conversation(NamedTuple):
    """What is known about each row of a partition of messages at one moment.

    All arrays have the shape `(rows,)`. Rows that point at others hold `rows` where there is none.
    """

    speakers: Speakers
    speaker: NDArray[np.int32]
    speaking: frozenset[int]
    """The speakers of those that are alive."""
    day: NDArray[np.int32]
    """The day it was said, as `date.toordinal` counts, in the time zone of the columns."""
    days: tuple[int, int]
    """The first and the last day of those that are alive."""
    has_time: Flags
    has_number: Flags
    answers: Scores
    """1 for what follows a question, less 1 for what ends with a question mark itself."""
    alive: Flags
    living: int
    windows: Rows
    """In whose window each is, shape `(6, rows)`: its own, and of those it is before, and after."""
    before: Rows
    """The message right before it in its session."""
    after: Rows
    """The message right after it."""
    neighbours: Scores
    """What those right before and after it count together, and the message itself."""
    norm: Scores
    """What BM25 adds to the count of a word, by the length of the window."""
    standing: Standing
    """What each is worth as evidence, by what it is."""
    repetitions: Repetitions
    """Which say the same as others."""
    once: tuple[Scores, Flags]
    """How often each of those that are alive was said, and whether that was the last time."""
    rows_of: Mapping[str, Sequence[int]]
    """Where the messages with an id are."""
    anywhere: Flags
    """Whether a message's own id is one in all threads."""
    thread: NDArray[np.int32]
    threads: Mapping[str, int]
    """The numbers of the threads."""

    def likeness(self, cosine: Scores) -> Scores:
        """Return the mean of each message's cosine similarity and those of its neighbours."""
        padded = np.zeros(len(cosine) + 1, np.float32)
        padded[:-1] = cosine
        beside: Scores = padded[self.before] + padded[self.after]
        mean = (cosine + np.float32(NEIGHBOUR) * beside) / self.neighbours
        return mean.astype(np.float32, copy=False)

    def words(self, terms: Sequence[str], lexical: LexicalIndex) -> tuple[Scores, Scores]:
        """Score windows against the terms of a question.

        Of a word that stands in several messages of a window, the one counts for which it counts
        most.

        Args:
            terms: What is looked for, each once.
            lexical: The index of the partition.

        Returns:
            BM25 (0 and up) and coverage (0 to 1), each of shape `(rows,)`.
        """
        rows = len(self.alive)
        bm25, coverage, total = np.zeros(rows, np.float32), np.zeros(rows, np.float32), 0.0
        at_once = max(1, _COUNTS // (rows + 1))
        for start in range(0, len(terms), at_once):
            some = terms[start : start + at_once]
            term, where, found = self._counted(some, lexical)
            frequency = np.bincount(term, minlength=len(some)).tolist()
            weights = np.array([idf(self.living, n) for n in frequency], np.float32)
            weight = weights[term]
            points = weight * (K1 + 1) * found / (found + self.norm[where])
            bm25 += summed(where, points, rows)
            coverage += summed(where, weight * np.minimum(found, 1), rows)
            total += float(weights.sum())
        return bm25, coverage / np.float32(total or 1)

    def _counted(self, terms: Sequence[str], lexical: LexicalIndex) -> tuple[Rows, Rows, Scores]:
        """Return which terms stand in which windows, and what they count there."""
        term, said, counts = lexical.postings(terms, self.alive)
        # A line for each term; in its last place is what stands for no window.
        counted = np.zeros((len(terms), len(self.alive) + 1), np.float32)
        windows = self.windows[:, said] + term * counted.shape[1]
        np.maximum.at(counted.reshape(-1), windows.ravel(), (_WEIGHTS * counts).ravel())
        counted[:, -1] = 0
        term, where = np.nonzero(counted)
        return term, where, counted[term, where]

    def seen(self, ids: Collection[str], thread_id: str | None) -> Rows:
        """Return the rows of messages that the asker has before them.

        Args:
            ids: Theirs. A short one is of the asker's thread alone: others count anew.
            thread_id: The asker's thread.
        """
        here = self.threads.get(thread_id or "", -1)
        found = chain.from_iterable(map(self.rows_of.get, ids, repeat(())))
        rows = np.fromiter(found, np.intp)
        rows = rows[rows < len(self.alive)]  # there may be newer ones
        seen: Rows = rows[self.anywhere[rows] | (self.thread[rows] == here)]
        return seen

    def said_once(self, chosen: Flags) -> tuple[Scores, Flags]:
        """Return how often each message was said in the same words, and whether it is the newest.

        What a filter leaves out is compared by itself: nothing that is chosen gives way to it.

        Args:
            chosen: Which rows are looked for, of shape `(rows,)`.
        """
        if chosen is self.alive:
            return self.once
        often, newest = self.repetitions.among(chosen)
        others, last = self.repetitions.among(self.alive & ~chosen)
        return np.maximum(often, others), newest | last

    def said_by(self, numbers: set[int]) -> Scores:
        """Return 1 for what some speakers said, else 0."""
        if not numbers:
            return np.zeros(len(self.speaker), np.float32)
        wanted = np.zeros(len(self.speakers), np.float32)
        wanted[list(numbers)] = 1
        return wanted[self.speaker]


@dataclass(frozen=True, slots=True)
class ColumnsOf:
    """Makes the columns of messages; equal to another that makes the same."""

    zone: tzinfo
    """Whose days count."""
    embedder: str
    """By which the vectors were made, as its `Fingerprint` says."""

    def __call__(self) -> MessageColumns:
        """Return columns without rows."""
        return MessageColumns(self.zone, self.embedder)


class MessageColumns:
    """The columns of one partition of messages, appended to as it is.

    One writer at a time appends and makes views; a view is never changed.

    Args:
        zone: The time zone of the days.
        embedder: By which the vectors were made, as its `Fingerprint` says.
    """

    def __init__(self, zone: tzinfo = UTC, embedder: str = "") -> None:
        self._zone = zone
        self._embedder = embedder
        self._rows = 0
        self._fields = np.zeros(64, _FIELDS)
        self._order: NDArray[np.int32] = np.zeros(0, np.int32)  # by thread, then as it was said
        self._threads: dict[str, int] = {}
        self._rows_of: dict[str, list[int]] = {}
        self._speakers = Speakers()
        self._view: Conversation | None = None

    def __len__(self) -> int:
        return self._rows

    def append(self, items: Sequence[Any], vectors: Vectors | None) -> None:
        """Append a row for each item: one of a LangGraph store, with a message's value.

        Args:
            items: Those of the next rows.
            vectors: The vector of each, of shape `(items, dimensions)`; `None` where there are
                none.
        """
        if not items:
            return
        end = self._rows + len(items)
        if end > len(self._fields):
            self._fields = grown(self._fields, end)
        new = self._fields[self._rows : end]
        new[:] = list(map(self._row, items))
        texts = [str(item.value.get("text", "")) for item in items]
        found = forms(texts, vectors, self._embedder)
        for name in found._fields:
            new[name] = getattr(found, name)
        for row, item in enumerate(items, self._rows):
            self._rows_of.setdefault(str(item.value.get("message_id")), []).append(row)
        self._place(np.arange(self._rows, end, dtype=np.int32))
        self._rows = end

    def view(self, alive: Flags, lexical: LexicalIndex) -> Conversation:
        """Return the columns of the first rows.

        Args:
            alive: Whether each row is the newest of its item, shape `(rows,)`.
            lexical: The words of the rows.
        """
        if self._view is None or self._view.alive is not alive:
            self._view = self._new_view(alive, lexical)
        return self._view

    def _new_view(self, alive: Flags, lexical: LexicalIndex) -> Conversation:
        fields = self._fields[: len(alive)].copy()
        before, after = self._neighbours(alive)
        there = np.append(np.ones(len(alive), np.float32), np.float32(0))
        answered = np.append(fields["asks"], False)[before[0]]
        speaker, day = (np.ascontiguousarray(fields[name]) for name in ("speaker", "day"))
        repetitions = Repetitions.of(fields)
        living = day[alive] if alive.any() else day
        return Conversation(
            speakers=self._speakers,
            speaker=speaker,
            speaking=frozenset(np.flatnonzero(np.bincount(speaker[alive])).tolist()),
            day=day,
            days=(int(living.min()), int(living.max())),
            has_time=np.ascontiguousarray(fields["has_time"]),
            has_number=np.ascontiguousarray(fields["has_number"]),
            answers=answered.astype(np.float32) - fields["ends_asking"],
            alive=alive,
            living=int(np.count_nonzero(alive)),
            windows=_window(after, before),  # what is before a message is what that comes after
            before=before[0],
            after=after[0],
            neighbours=1 + np.float32(NEIGHBOUR) * (there[before[0]] + there[after[0]]),
            norm=_norm(lexical.lengths(len(alive)), alive, _window(before, after)),
            standing=standing(fields, alive),
            repetitions=repetitions,
            once=repetitions.among(alive),
            rows_of=self._rows_of,
            anywhere=np.ascontiguousarray(fields["anywhere"]),
            thread=np.ascontiguousarray(fields["thread"]),
            threads=self._threads,
        )

    def _row(self, item: Any) -> tuple[Any, ...]:
        value: Mapping[str, Any] = item.value
        said = item.created_at
        if "created_at" in value:
            said = datetime.fromisoformat(str(value["created_at"]))
        text = str(value.get("text", ""))
        speaker = self._speakers.number(str(value.get("speaker")))
        own = _ATTACHMENT.split(text, maxsplit=1)[0]
        return (
            self._threads.setdefault(str(value.get("thread_id")), len(self._threads)),
            said.timestamp(),
            item.created_at.timestamp(),
            value.get("position") or 0,
            speaker,
            in_zone(said, self._zone).toordinal(),
            has_question(text),
            ends_asking(own),
            has_time(text),
            has_number(text),
            value.get("role") == "user",
            len(str(value.get("message_id"))) >= GLOBAL_ID,
            wording(text),
            *_NO_FORM,
        )

    def _place(self, new: NDArray[np.int32]) -> None:
        """Put new rows into the order of what was said."""
        if len(new) > _FEW:
            rows = np.concatenate([self._order, new])
            keys = [self._fields[name][rows] for name in ("position", "logged", "said", "thread")]
            self._order = rows[np.lexsort(keys)]
            return
        fields = self._fields
        for row in new.tolist():
            place = bisect_right(
                self._order,
                _key(fields[row]),
                key=lambda other: _key(fields[other]),
            )
            self._order = np.insert(self._order, place, row)

    def _neighbours(self, alive: Flags) -> tuple[tuple[Rows, Rows, Rows], tuple[Rows, Rows, Rows]]:
        rows = len(alive)
        chain = self._order[self._order < rows] if rows < self._rows else self._order
        chain = chain[alive[chain]]
        thread, said = self._fields["thread"][chain], self._fields["said"][chain]
        together = (np.diff(thread) == 0) & (np.diff(said) <= PAUSE_HOURS * 3_600)
        earlier, later = chain[:-1][together], chain[1:][together]
        return _three_steps(later, earlier, rows), _three_steps(earlier, later, rows)


def _key(row: Any) -> tuple[Any, ...]:
    return row["thread"], row["said"], row["logged"], row["position"]


def _three_steps(start: Rows, to: Rows, rows: int) -> tuple[Rows, Rows, Rows]:
    """Return where one, two and three steps lead from each row; `rows` is nowhere."""
    one = np.full(rows + 1, rows)
    one[start] = to
    two = one[one]
    return one[:rows], two[:rows], one[two][:rows]


def _window(before: Sequence[Rows], after: Sequence[Rows]) -> Rows:
    """Return each row with those before and after it, in the order of `_WEIGHTS`."""
    return np.stack([np.arange(len(before[0])), *before, *after[: len(AFTER)]])


def _norm(lengths: Scores, alive: Flags, window: Rows) -> Scores:
    """Return what BM25 adds to counts, given how many terms each message has."""
    windows = (_WEIGHTS * np.append(lengths, np.float32(0))[window]).sum(axis=0)
    living = windows[alive]
    average = max(float(living.mean()), 1.0) if len(living) else 1.0
    norm: Scores = np.float32(K1 * (1 - B)) + np.float32(K1 * B / average) * windows
    return norm


_WORD = re.compile(r"\w+")


class Speakers:
    """The speakers of a conversation, each with a number, and which of them a question names.

    Any whole word of a name finds it: "Zoë" finds "Zoë Marin". A Chinese, Japanese or Korean name,
    which has no spaces around it, is found anywhere in the question.

    Example:
        >>> speakers = Speakers()
        >>> speakers.number("Zoë Marin"), speakers.number("user"), speakers.number("Zoë Marin")
        (0, 1, 0)
        >>> speakers.named_in("What did Zoë's sister say?", {0, 1})
        ({0}, "What did  's sister say?")
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._by_word: dict[str, tuple[int, ...]] = {}
        self._unspaced: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, name: str) -> int:
        """Return the number of a speaker, a new one for a new name."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._numbers)
            self._add(_folded(name), number)  # last: whoever finds the number counts it as well
        return number

    def named_in(self, question: str, among: Collection[int]) -> tuple[set[int], str]:
        """Return the numbers of the speakers that a question names, and the rest of the question.

        Args:
            question: In any language.
            among: The speakers who can be meant: all messages of others may be deleted.
        """
        rest = unicodedata.normalize("NFKC", question)
        folded = rest.casefold()
        found: set[int] = set()
        for name, number in self._unspaced.items():
            if number in among and name in folded:
                found.add(number)
                rest = re.sub(re.escape(name), " ", rest, flags=re.IGNORECASE)
                folded = rest.casefold()

        def without(match: re.Match[str]) -> str:
            numbers = [n for n in self._by_word.get(_folded(match[0]), ()) if n in among]
            if not numbers:
                return match[0]
            found.update(numbers)
            return " "

        return found, _WORD.sub(without, rest)

    def _add(self, name: str, number: int) -> None:
        if CJK.search(name):
            if len(name) > 1:  # one sign is a part of many words
                self._unspaced = {**self._unspaced, name: number}
            return
        for word in set(_WORD.findall(name)):
            if len(word) > 1 and query_tokens(word):  # "de" may be one, "the" is none
                self._by_word[word] = (*self._by_word.get(word, ()), number)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
