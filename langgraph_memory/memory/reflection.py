"""Lessons out of finished tasks: drawn by hand, or in the background."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
from datetime import datetime
from functools import partial

from langgraph_memory.episodes import (
    PER_CALL,
    Reflected,
    Reflection,
    is_due,
    lessons,
    reflection_batches,
    reflection_request,
    unreflected,
    unreflected_op,
)
from langgraph_memory.errors import ModelError
from langgraph_memory.memory import arguments
from langgraph_memory.memory.background import Key, Work
from langgraph_memory.memory.base import Verbs
from langgraph_memory.memory.locks import OWNER_LOCKS, THREAD_LOCKS
from langgraph_memory.memory.read_only import writes
from langgraph_memory.records import Change, Episode, Owner
from langgraph_memory.store import read_records
from langgraph_memory.twins import Either, drive, twins

logger = logging.getLogger(__name__)


class Reflecting(Verbs):
    """`reflect`, and what is called after each episode."""

    @writes
    async def _reflect(self, *, user: str, since: datetime | None = None) -> list[Change]:
        """Draw lessons from all episodes that were not looked at yet.

        A lesson is a note of kind `lesson` whose sources are the episodes that it comes from; it is
        shown with them when a task like theirs comes up. With a model, this is also done in the
        background: after `reflect_every` new episodes, and at once after a failure.

        Args:
            user: Whose memory it is.
            since: Leaves out episodes of before this moment, aware.

        Returns:
            What was done to notes.

        Raises:
            ModelError: If the model failed; the episodes wait for the next time, and what was
                learnt from others before stays.
            ConfigurationError: If there is no model, or none of its name.
        """
        _ = self._chat
        owner, moment = arguments.reflect_arguments(user, since)
        changes: list[Change] = []
        async with THREAD_LOCKS.hold(_lock(owner)):
            for episodes in reflection_batches(await self._unreflected(owner, moment)):
                changes += await self._reflect_on(owner, episodes)
        return changes

    reflect, areflect = twins(_reflect)

    async def _unreflected(self, owner: Owner, since: datetime | None = None) -> list[Episode]:
        found = await self._batch([unreflected_op(owner)])
        records = read_records([owner.namespace("episode")], found)
        return unreflected((r for r in records if isinstance(r, Episode)), since)

    async def _reflect_on(self, owner: Owner, episodes: Sequence[Episode]) -> list[Change]:
        """Draw the lessons of some episodes, and write them with the record that it is done."""
        how, now = self.extracting, self.clock()
        read = partial(lessons, episodes=episodes, now=now, redact=self.redact)
        asked = await self._chat.ask(reflection_request(episodes), Reflected, read, how.retries)
        drawn = Reflection(owner, tuple(episodes), how.lessons(owner, asked, now))
        found = await self._ask(drawn.draft.ops)
        ruled = await self._rule(drawn.draft.pairs(found, self._threshold))
        async with OWNER_LOCKS.hold(owner):  # not held while a model is asked
            found = await self._ask(drawn.ops)
            settled = drawn.settle(found, ruled, now)
            await self._write(settled.ops)
        return list(settled.changes)

    # -- in the background --

    async def _reflect_later(self, owner: Owner) -> None:
        """Let it be seen in the background whether there is enough to reflect on."""
        if (work := self._reflection_of(owner)) is not None:
            await Either(self._worker.submit, self._worker.asubmit, *work)

    def _reflection_of(self, owner: Owner) -> tuple[Key, Work] | None:
        """Return what is to be done in the background, where that is wanted."""
        if self._asker is None or self.reflect_every is None:
            return None
        key = Key(owner.id, "", id(self.store), "reflection")
        every = self.reflect_every
        return key, lambda: drive(self._reflect_if_due(owner, every))

    async def _reflect_if_due(self, owner: Owner, every: int) -> None:
        """Draw lessons, with one question to the model, if enough episodes wait or one failed."""
        async with THREAD_LOCKS.hold(_lock(owner)):
            new = await self._unreflected(owner)
            if not is_due(new, every):
                return
            try:
                await self._reflect_on(owner, new[:PER_CALL])
            except ModelError as error:
                said = self.redact(str(error))
                logger.warning("no lessons could be drawn; the episodes wait: %s", said)


def _lock(owner: Owner) -> Hashable:
    """Return by what one reflection of an owner at a time is held; no thread is called so."""
    return ("reflection", owner)
