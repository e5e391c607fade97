"""The verb that keeps a memory small: for one owner, or for all."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from langgraph_memory.errors import ConfigurationError, ModelError
from langgraph_memory.memory import arguments
from langgraph_memory.memory.base import Progress
from langgraph_memory.memory.documents import Documents
from langgraph_memory.memory.locks import OWNER_LOCKS
from langgraph_memory.memory.read_only import check_writable
from langgraph_memory.models import Embedder
from langgraph_memory.notes import (
    Comparison,
    Merge,
    MergeAnswer,
    MergeQuestion,
    alike,
    change_ops,
    consolidation_batches,
    left,
    merge_request,
    merge_writes,
    merges,
    remaining,
)
from langgraph_memory.records import Change, Owner, check_progress
from langgraph_memory.store import OWNERS, owners_of
from langgraph_memory.twins import Either, twins

logger = logging.getLogger(__name__)


class Upkeep(Documents):
    """`consolidate`."""

    async def _consolidate(
        self,
        *,
        user: str | None = None,
        project: str | None = None,
        agent: str | None = None,
        max_notes: int = 1_000,
        dry_run: bool = False,
        on_progress: Progress | None = None,
    ) -> list[Change]:
        """Keep what notes say in fewer notes: none is deleted, and `undo` takes a change back.

        Notes that are over are archived, those that say the same merged, those that have faded
        archived, and then the least useful above `max_notes`. Pinned and critical notes (importance
        .8 and more) neither fade nor give way. `docs/consolidation.md` has the rules. What calls of
        `add_document` left that were interrupted an hour ago and more, is deleted.

        What one owner's notes raise is logged, and does not keep others from their turn: the first
        such error is raised at the end. What was done by then stays, and the next call does the
        rest, as it does after a crash.

        Args:
            user: Whose notes; without user, project and agent those of every owner in the store,
                one after the other.
            project: A project whose notes, instead of the user's.
            agent: An agent whose notes, instead of the user's.
            max_notes: How many active notes an owner may have.
            dry_run: Whether to return what would be done, and write nothing. The model is asked.
            on_progress: Called with the owners done and all owners.

        Returns:
            What was done: first to the note that is kept (`update`, or `supersede` with a text
            by the model), then to those that say the same (`retire`); and `archive`.

        Raises:
            ConfigurationError: If there is no model of the name that was given.
        """
        if not dry_run:
            check_writable(self, "consolidate")
        owner = arguments.consolidated(user, project, agent, max_notes)
        check_progress(on_progress)
        owners = [owner] if owner else owners_of((await self._batch([OWNERS]))[0])
        changes: list[Change] = []
        failures = _Failures()
        for done, each in enumerate(owners, 1):
            with failures.of(each):
                changes += await self._consolidate_owner(each, max_notes, dry_run)
            if on_progress is not None:
                on_progress(done, len(owners))
        failures.raise_first()
        return changes

    consolidate, aconsolidate = twins(_consolidate)

    async def _consolidate_owner(self, owner: Owner, max_notes: int, dry_run: bool) -> list[Change]:
        if not dry_run:
            await self._remove_leftovers(owner)
        comparison = await self._compared(owner)
        found = [] if comparison is None else comparison.merges
        async with OWNER_LOCKS.hold(owner):  # not held while a model is asked
            notes = await self._notes(owner)
            batches = consolidation_batches(notes, self.clock(), max_notes, found)
            if not dry_run:
                for write in merge_writes(batches):
                    await self._write(change_ops(write))
                if comparison is not None:
                    await self._write(comparison.ops(notes, self.clock()))
        _warn_of_many(owner, left(notes, batches), max_notes)
        return [change for batch in batches for change in batch]

    async def _compared(self, owner: Owner) -> Comparison | None:
        """Ask the model which notes say the same; where it fails, nothing is merged."""
        embeddings = getattr(self.store, "embeddings", None)
        if self._asker is None or embeddings is None:
            return None
        notes = remaining(await self._notes(owner), self.clock())
        embedder, texts = Embedder(embeddings), [note.text for note in notes]
        vectors, _ = await Either(embedder.embed, embedder.aembed, texts, [])
        groups = alike(notes, vectors, self._threshold.ask_from)
        found = await self._batch([Comparison.read_op(owner)])
        comparison = Comparison(owner, groups, found[0])
        for question in comparison.questions():
            read = partial(merges, question=question, redact=self.redact)
            request, retries = merge_request(question), self.extracting.retries
            try:
                asked = await self._asker.ask(request, MergeAnswer, read, retries)
            except ModelError as error:
                said = self.redact(str(error))
                logger.warning("%d groups of notes stay as they are: %s", len(question), said)
            else:
                _take_in(comparison, question, asked.value)
        return comparison


def _take_in(
    comparison: Comparison, question: MergeQuestion, answer: tuple[list[Merge], list[str]]
) -> None:
    """Keep the merges of an answer that can be right; what was wrong with others is logged."""
    for problem in answer[1]:
        logger.warning("passed over: %s", problem)
    comparison.answered(question, *answer)


def _warn_of_many(owner: Owner, notes: int, max_notes: int) -> None:
    if notes > max_notes:
        logger.warning(
            "%s %r keeps %d notes, more than max_notes=%d: so many are pinned or critical",
            owner.kind,
            owner.id,
            notes,
            max_notes,
        )


class _Failures:
    """What went wrong with some owners while others had their turn."""

    def __init__(self) -> None:
        self._errors: list[Exception] = []

    @contextmanager
    def of(self, owner: Owner) -> Iterator[None]:
        """Keep what a block raises for later, but for what is wrong with the wiring of all."""
        try:
            yield
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a store, or a record in it, raises
            logger.error("the notes of %s %r were left: %r", owner.kind, owner.id, error)
            self._errors.append(error)

    def raise_first(self) -> None:
        """Raise the first that was kept."""
        if self._errors:
            error = self._errors[0]
            if len(self._errors) > 1:
                error.add_note(f"{len(self._errors)} owners' notes were left: see the log")
            raise error
