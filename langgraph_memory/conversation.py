"""The messages of one memory as arrays: what was said around each, by whom, when, and its form.

A message is often found by its neighbours: the answer to "Where did you buy it?" names neither what
was bought nor that it was. So what is compared with a question is a window: a message with some
before and after it in its session, whose words and meaning count less than its own.

All is derived from the stored values, a row for each row of a partition. Rows are appended, in
whatever order they were written, and never change: an edited message is a new row in the old one's
place, and a row that is not alive is passed over.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.lexical import K1, B, LexicalIndex, idf
from langgraph_memory.speakers import Speakers
from langgraph_memory.times import has_number, has_time

BEFORE = (0.6, 0.36, 0.22)
"""What a word counts that was said one, two, three messages before, and not in the message itself.

These and the next two were chosen on LoCoMo's development conversations, each measured with weights
fitted to the others; geometric series of .5 to .7 differ by less than .003 in recall@10."""

AFTER = (0.5, 0.25)
"""What a word of the next message counts, and one of the message after that."""

NEIGHBOUR = 0.5
"""What the likeness of the message before counts beside a message's own, and that of the next."""

PAUSE_HOURS = 6
"""After so long a silence, a thread's next message begins a session, and looks back at none."""

_QUESTION = re.compile("[?？؟]")
_ENDS_ASKING = re.compile(r"[?？؟][\"'”’)\]*_\s]*\Z")
_ATTACHMENT = re.compile(r"\s*\n\[(?:image|file|audio|video): ", re.ASCII)

Scores = NDArray[np.float32]
Rows = NDArray[np.intp]
Flags = NDArray[np.bool_]

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
    ]
)


class Conversation(NamedTuple):
    """What is known about each row of a partition of messages at one moment.

    All arrays have the shape `(rows,)`. Rows that point at others hold `rows` where there is none.
    """

    speakers: Speakers
    speaker: NDArray[np.int32]
    day: NDArray[np.int32]
    """The day it was said, as `date.toordinal` counts."""
    asks: Flags
    """Whether it has a question mark."""
    ends_asking: Flags
    """Whether its own words, without what is attached, end with one."""
    has_time: Flags
    has_number: Flags
    alive: Flags
    before: tuple[Rows, Rows, Rows]
    """One, two and three messages before it in its session."""
    after: tuple[Rows, Rows, Rows]

    def lengths(self, own: Scores) -> Scores:
        """Return the lengths of the windows, given those of the messages, both in terms."""
        padded = np.append(own, np.float32(0))
        total = own.copy()
        for weight, rows in self._window:
            total += weight * padded[rows]
        return total

    def likeness(self, cosine: Scores) -> Scores:
        """Return the mean of each message's cosine similarity and those of its neighbours."""
        padded = np.append(cosine, np.float32(0))
        there = np.append(np.full(len(cosine), NEIGHBOUR, np.float32), np.float32(0))
        rows = (self.before[0], self.after[0])
        total = cosine + NEIGHBOUR * (padded[rows[0]] + padded[rows[1]])
        likeness: Scores = total / (1 + there[rows[0]] + there[rows[1]])
        return likeness

    def words(self, terms: Sequence[str], lexical: LexicalIndex) -> tuple[Scores, Scores]:
        """Score windows against the terms of a question.

        Of a word that stands in several messages of a window, the one counts for which it counts
        most. Each map from a message to a neighbour is one to one, so that a posting is spread by
        plain assignments.

        Args:
            terms: What is looked for, each once.
            lexical: The index of the partition.

        Returns:
            BM25 (0 and up) and coverage (0 to 1), each of shape `(rows,)`.
        """
        rows, living = len(self.alive), int(np.count_nonzero(self.alive))
        bm25, coverage = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
        if not (terms and living):
            return bm25, coverage
        lengths = self.lengths(lexical.lengths(rows))
        average = max(float(lengths[self.alive].mean()), 1.0)
        norm = K1 * (1 - B) + K1 * B / average * lengths
        counted, total = np.zeros(rows + 1, np.float32), 0.0  # the last is the one that is not
        for term in terms:
            where, found = self._spread(*lexical.postings(term, self.alive), counted)
            weight = idf(living, len(where))
            bm25[where] += weight * (K1 + 1) * found / (found + norm[where])
            coverage[where] += weight * np.minimum(found, 1)
            total += weight
        return bm25, coverage / total

    def answers(self) -> Scores:
        """Return 1 for what follows a question, less 1 for what is one itself."""
        answered = np.append(self.asks, False)[self.before[0]]
        return answered.astype(np.float32) - self.ends_asking

    def said_by(self, numbers: set[int]) -> Scores:
        """Return 1 for what some speakers said, else 0."""
        if not numbers:
            return np.zeros(len(self.speaker), np.float32)
        wanted = np.zeros(len(self.speakers), np.float32)
        wanted[list(numbers)] = 1
        return wanted[self.speaker]

    @property
    def _window(self) -> list[tuple[float, Rows]]:
        return [*zip(BEFORE, self.before, strict=True), *zip(AFTER, self.after, strict=False)]

    def _spread(
        self, rows: NDArray[np.int32], counts: Scores, counted: Scores
    ) -> tuple[Rows, Scores]:
        """Return the windows that hold a term, and how often; `counted` is zero before and after."""
        counted[rows] = counts
        # What was said before a message is what it comes after.
        near = (*zip(BEFORE, self.after, strict=True), *zip(AFTER, self.before, strict=False))
        for weight, to in near:
            there = to[rows]
            counted[there] = np.maximum(counted[there], weight * counts)
        counted[-1] = 0
        where = np.flatnonzero(counted)
        found = counted[where]
        counted[where] = 0
        return where, found


class MessageColumns:
    """The columns of one partition of messages, appended to as it is.

    One writer at a time appends and makes views; a view is never changed.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._fields = np.zeros(64, _FIELDS)
        self._order: NDArray[np.int32] = np.zeros(0, np.int32)  # by thread, then as it was said
        self._threads: dict[str, int] = {}
        self._speakers = Speakers()
        self._view: Conversation | None = None

    def __len__(self) -> int:
        return self._rows

    def append(self, items: Sequence[Any]) -> None:
        """Append a row for each item: one of a LangGraph store, with a message's value."""
        if not items:
            return
        end = self._rows + len(items)
        if end > len(self._fields):
            grown = np.zeros(max(end, 2 * len(self._fields)), _FIELDS)
            grown[: self._rows] = self._fields[: self._rows]
            self._fields = grown
        self._fields[self._rows : end] = list(map(self._row, items))
        self._place(np.arange(self._rows, end, dtype=np.int32))
        self._rows = end

    def view(self, alive: Flags) -> Conversation:
        """Return the columns of the first rows.

        Args:
            alive: Whether each row is the newest of its item, shape `(rows,)`.
        """
        if self._view is None or self._view.alive is not alive:
            fields = self._fields[: len(alive)]
            columns = {
                name: np.ascontiguousarray(fields[name])
                for name in _FIELDS.names or ()
                if name in Conversation._fields
            }
            before, after = self._neighbours(alive)
            self._view = Conversation(
                speakers=self._speakers, alive=alive, before=before, after=after, **columns
            )
        return self._view

    def _row(self, item: Any) -> tuple[Any, ...]:
        value: Mapping[str, Any] = item.value
        said = datetime.fromisoformat(str(value["created_at"]))
        text = str(value.get("text", ""))
        own = _ATTACHMENT.split(text, maxsplit=1)[0]
        return (
            self._threads.setdefault(str(value.get("thread_id")), len(self._threads)),
            said.timestamp(),
            item.created_at.timestamp(),
            value.get("position") or 0,
            self._speakers.number(str(value.get("speaker"))),
            said.toordinal(),
            _QUESTION.search(text) is not None,
            _ENDS_ASKING.search(own) is not None,
            has_time(text),
            has_number(text),
        )

    def _place(self, new: NDArray[np.int32]) -> None:
        """Put new rows into the order of what was said."""
        if len(new) * 16 > len(self._order):
            rows = np.concatenate([self._order, new])
            keys = [self._fields[name][rows] for name in ("position", "logged", "said", "thread")]
            self._order = rows[np.lexsort(keys)]
            return
        fields = self._fields
        for row in new.tolist():
            place = bisect_right(
                self._order,  # type: ignore[arg-type]  # a sequence to all that bisect asks
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
