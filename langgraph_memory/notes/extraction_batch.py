"""From what was said to notes: what a batch asks of the store, and what becomes of the answers.

No I/O of its own. A batch is looked through by a model (`extraction`); its candidates are compared
with each other and with the notes that are there (`reconciliation`), the model is asked about those
that their words do not settle (`pair_comparison`), and all that follows is one batch of writes. Its
last is the record that says which messages are done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar

from langgraph.store.base import PutOp

from langgraph_memory.errors import ModelError
from langgraph_memory.messages import retire_ops
from langgraph_memory.models import ModelAnswer
from langgraph_memory.notes.extraction import Accept, Candidate, admitted, candidates
from langgraph_memory.notes.extraction_queue import MessageBatch, queue
from langgraph_memory.notes.pair_comparison import NotePair, pairs
from langgraph_memory.notes.reconciliation import (
    Neighbour,
    Verdicts,
    candidate_ids,
    collapse,
    plan_batch,
)
from langgraph_memory.notes.similarity import SimilarityThreshold
from langgraph_memory.notes.storage import change_ops, neighbour_ops
from langgraph_memory.records import Change, Extraction, Kind, Message, Note, Owner, Status
from langgraph_memory.redaction import Redact
from langgraph_memory.store import (
    ALL,
    HybridOp,
    Match,
    NewestOp,
    Scores,
    Searched,
    put_op,
    read_record,
)

NEIGHBOURS = 5
"""Notes that a candidate is compared with, the most alike."""


@dataclass(frozen=True, slots=True)
class Processed:
    """What looking through some messages came to."""

    changes: tuple[Change, ...] = ()
    usage: Mapping[str, int] | None = None
    """`calls` of models and their tokens; `None` if none was asked."""
    error: ModelError | None = None
    """Why the messages are still to be done."""


@dataclass(frozen=True, slots=True)
class ExtractionSettings:
    """How a memory extracts notes; `Memory` has what each means."""

    every_n_turns: int
    retries: int
    accept: Accept | None
    review: bool
    min_importance: float
    time_zone: str

    def candidates(
        self, batch: MessageBatch, answer: object, redact: Redact
    ) -> tuple[list[Candidate], list[str]]:
        """Return the candidates of a model's answer, and what was wrong with it."""
        return candidates(answer, batch.messages, self.time_zone, redact)

    def draft(
        self, batch: MessageBatch, asked: ModelAnswer[tuple[list[Candidate], list[str]]]
    ) -> ExtractionBatch:
        """Return the draft of what a model proposed and the caller's rules let through."""
        proposed, problems = asked.value
        kept, refused = admitted(proposed, self.accept, self.min_importance)
        return ExtractionBatch.of(batch, kept, asked.usage, [*problems, *refused], self.review)

    def proposals(
        self,
        texts: Sequence[str],
        owner: Owner,
        sources: Sequence[str],
        now: datetime,
        *,
        kind: Kind,
        slot: str | None,
        author: str,
    ) -> ExtractionBatch:
        """Return the draft of what an agent proposes and the caller's rules let through.

        Args:
            texts: The notes.
            owner: Whose they are.
            sources: Ids of the messages that they come from.
            now: When they were said.
            kind: Their kind.
            slot: What they say the one value of.
            author: The user who said them.
        """
        proposed = [
            Candidate(text, kind, slot, 0.5, "", "user", now, None, tuple(sources))
            for text in texts
        ]
        draft = self._drafted(proposed, owner, now)
        return replace(draft, notes=tuple(replace(note, author=author) for note in draft.notes))

    def lessons(
        self, owner: Owner, asked: ModelAnswer[tuple[list[Candidate], list[str]]], now: datetime
    ) -> ExtractionBatch:
        """Return the draft of the lessons that a model drew and the caller's rules let through.

        They are compared with lessons alone: what an agent made of its tasks takes no place of what
        a person said.
        """
        proposed, problems = asked.value
        draft = self._drafted(proposed, owner, now)
        problems = [*problems, *draft.problems]
        return replace(draft, usage=asked.usage, problems=tuple(problems), among={"kind": "lesson"})

    def _drafted(
        self, proposed: Sequence[Candidate], owner: Owner, now: datetime
    ) -> ExtractionBatch:
        kept, refused = admitted(proposed, self.accept, self.min_importance)
        status: Status = "proposed" if self.review else "active"
        notes = tuple(collapse(_note(owner, candidate, now, status) for candidate in kept))
        return ExtractionBatch(MessageBatch(owner, "", ()), notes, {}, tuple(refused), self.review)


@dataclass(frozen=True, slots=True)
class PairVerdicts:
    """What a model said of pairs of notes, if it was asked."""

    verdicts: Verdicts = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, asked: ModelAnswer[tuple[Verdicts, list[str]]]) -> PairVerdicts:
        """Return what an answer says."""
        verdicts, problems = asked.value
        return cls(verdicts, tuple(problems), asked.usage)

    @classmethod
    def failed(cls, error: ModelError) -> PairVerdicts:
        """Return that no answer was had."""
        return cls({}, ("the notes could not be compared: the model failed",), error.usage)


@dataclass(frozen=True, slots=True)
class ExtractionBatch:
    """The notes that a batch would add, before they are compared with those that are there."""

    batch: MessageBatch
    notes: tuple[Note, ...]
    usage: Mapping[str, int]
    problems: tuple[str, ...]
    review: bool
    """Whether notes wait for a person's approval."""
    among: Mapping[str, Any] = field(default_factory=dict)
    """A filter on the notes that they are compared with by meaning."""

    @classmethod
    def of(
        cls,
        batch: MessageBatch,
        candidates: Sequence[Candidate],
        usage: Mapping[str, int],
        problems: Sequence[str],
        review: bool,
    ) -> ExtractionBatch:
        """Return the draft of the candidates that were let through, without duplicates."""
        place = {id: i for i, id in enumerate(batch.ids)}
        said = sorted(candidates, key=lambda each: max(place[id] for id in each.sources))
        status: Status = "proposed" if review else "active"
        at = {message.id: message.created_at for message in batch.messages}
        proposed = (
            _note(batch.owner, each, max(at[id] for id in each.sources), status) for each in said
        )
        notes = tuple(collapse(proposed))
        return cls(batch, notes, usage, tuple(problems), review)

    # -- what is there already --

    @property
    def ops(self) -> dict[Any, Any]:
        """What has to be read before the notes can be placed among those that are there."""
        return {
            (place, name): op
            for place, note in enumerate(self.notes)
            for name, op in self._ops(note).items()
        }

    def _ops(self, note: Note) -> dict[str, Any]:
        namespace = note.owner.namespace("note")
        query = str(note.to_value()["search_text"])
        ops = neighbour_ops(note)
        for status in self._statuses:
            filter = {**self.among, "status": status}
            ops[f"near {status}"] = HybridOp((namespace,), query, _ByMeaning(), filter, NEIGHBOURS)
        if self.review:
            ops["proposed"] = NewestOp(namespace, {**self.among, "status": "proposed"}, ALL)
        return ops

    @property
    def _statuses(self) -> tuple[Status, ...]:
        return ("active", "proposed") if self.review else ("active",)

    def neighbours(self, found: Mapping[Any, Any]) -> tuple[list[list[Neighbour]], set[str]]:
        """Return, of what `ops` found, the notes near each note, and the ids that are taken."""
        near: list[list[Neighbour]] = []
        taken: set[str] = set()
        for place, note in enumerate(self.notes):
            ids = candidate_ids(note)
            taken |= {id for id in ids if found[place, id] is not None}
            lists = [found[place, name] for name in self._ops(note) if name not in ids]
            near.append(self._near(note, [item for items in lists for item in items]))
        return near, taken

    def _near(self, note: Note, items: Sequence[Any]) -> list[Neighbour]:
        namespace = note.owner.namespace("note")
        found: dict[str, Neighbour] = {}
        for each in items:
            item, cosine = each, 0.0
            if isinstance(each, Match):
                item, cosine = each.item, each.scores["relevance"]
            if tuple(item.namespace) != namespace:
                continue
            record = read_record(item)
            if isinstance(record, Note) and record.status in self._statuses:
                known = found.get(record.id)
                found[record.id] = Neighbour(record, max(cosine, known.cosine if known else 0.0))
        return list(found.values())

    def pairs(self, found: Mapping[Any, Any], threshold: SimilarityThreshold) -> list[NotePair]:
        """Return the pairs of notes about which a model has to be asked."""
        return pairs(self.notes, self.neighbours(found)[0], threshold)

    # -- the end --

    def changes(self, found: Mapping[Any, Any]) -> list[Change]:
        """Decide what becomes of the notes without asking a model, from what `ops` found."""
        return plan_batch(self.notes, *self.neighbours(found))

    def settle(
        self,
        found: Mapping[Any, Any],
        compared: PairVerdicts,
        now: datetime,
        keep_messages: bool = True,
    ) -> Settled:
        """Decide what the batch does to the memory.

        Args:
            found: What `queue_ops` of its thread, and `ops`, found.
            compared: What a model said of `pairs`.
            now: The present moment.
            keep_messages: Whether the messages stay when this is done.
        """
        near, taken = self.neighbours(found)
        waiting = {m.id: m for t in queue(self.batch.owner, found) for m in t.messages}
        # Somebody else did the others meanwhile, or they were forgotten, or edited.
        processed = [m for m in self.batch.messages if _is_as_read(m, waiting.get(m.id))]
        ids = tuple(message.id for message in processed)
        left = [i for i, note in enumerate(self.notes) if set(note.sources) <= set(ids)]
        changes = plan_batch(self.notes, near, taken, compared.verdicts, left)
        gone = [] if keep_messages else retire_ops(processed)
        return self.settled(changes, ids, compared, now, between=gone)

    def settled(
        self,
        changes: Sequence[Change],
        ids: tuple[str, ...],
        compared: PairVerdicts,
        now: datetime,
        *,
        between: Iterable[PutOp] = (),
        last: Iterable[PutOp] = (),
    ) -> Settled:
        """Return what is written: the notes, then the record that says what is done.

        Args:
            changes: Of the notes.
            ids: Of the messages, or episodes, that are done.
            compared: What a model said of pairs of notes.
            now: The present moment.
            between: What is written between the notes and the record.
            last: What is written after it.
        """
        usage = _total(self.usage, compared.usage)
        if not ids and not changes:
            return Settled((), [], usage)
        done = Extraction(
            id=Extraction.id_of(self.batch.thread_id, ids),
            owner=self.batch.owner,
            created_at=now,
            thread_id=self.batch.thread_id,
            messages=ids,
            notes=tuple(dict.fromkeys(change.record.id for change in changes)),
            usage=usage,
            problems=(*self.problems, *compared.problems),
        )
        written = last_of_each([*change_ops(changes), *between, put_op(done), *last])
        return Settled(tuple(changes), written, usage)


@dataclass(frozen=True, slots=True)
class Settled:
    """What a batch does to the memory."""

    changes: tuple[Change, ...]
    ops: list[PutOp]
    """One batch: the notes, and at last that the messages are done."""
    usage: Mapping[str, int]

    @property
    def processed(self) -> Processed:
        """What to tell of it."""
        return Processed(self.changes, self.usage)


def last_of_each(ops: Sequence[PutOp]) -> list[PutOp]:
    """Return operations without those that a later one replaces: a note may change twice."""
    return list({(op.namespace, op.key): op for op in ops}.values())


def _total(*usages: Mapping[str, int]) -> dict[str, int]:
    """Return the sum of what several calls of models cost."""
    names = dict.fromkeys(name for usage in usages for name in usage)
    return {name: sum(usage.get(name, 0) for usage in usages) for name in names}


def _note(owner: Owner, candidate: Candidate, said: datetime, status: Status) -> Note:
    return Note(
        id="",
        owner=owner,
        text=candidate.text,
        kind=candidate.kind,
        slot=candidate.slot,
        importance=candidate.importance,
        aliases=candidate.aliases,
        status=status,
        author=owner.id,
        created_at=said,
        updated_at=said,
        valid_from=candidate.valid_from,
        valid_until=candidate.valid_until,
        sources=candidate.sources,
        quote=candidate.quote,
        said_by=candidate.said_by,
    )


def _is_as_read(message: Message, now: Message | None) -> bool:
    return now is not None and now.text == message.text


class _ByMeaning:
    """Ranks notes by their cosine similarity alone."""

    columns: ClassVar[None] = None

    def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
        return [{"relevance": each.cosine} for each in searched]
