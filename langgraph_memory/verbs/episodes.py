"""Verbs on finished tasks."""

from __future__ import annotations

from langgraph_memory import arguments, merging
from langgraph_memory.locks import OWNER_LOCKS
from langgraph_memory.operations import put_op
from langgraph_memory.records import Episode, Outcome
from langgraph_memory.verbs.base import Verbs


class Episodes(Verbs):
    """`log_episode`."""

    def log_episode(
        self,
        task: str,
        *,
        user: str,
        approach: str = "",
        outcome: Outcome = "completed",
        duration_ms: int | None = None,
        token_cost: int | None = None,
        quality_score: float | None = None,
        notes: str = "",
        error: str | None = None,
        thread_id: str | None = None,
        turn_id: str | None = None,
    ) -> Episode:
        """Keep the record of a finished task.

        Args:
            task: What was to be done.
            user: Whose memory it is.
            approach: How it was done.
            outcome: `completed` (no error, not judged), `success`, `partial`, `failure`,
                `cancelled`, or `interrupted` (stopped, perhaps to ask a person, and can go on).
            duration_ms: How long it took.
            token_cost: What the models reported.
            quality_score: 0 to 1, if somebody judged it.
            notes: Anything else.
            error: What went wrong.
            thread_id: The session it belongs to.
            turn_id: The id of the user's message that began it; the same turn of the same thread
                has one episode, however often it is logged: what is logged later is merged into
                what is kept (`merging.merged`).
        """
        episode = arguments.episode(
            task,
            user=user,
            approach=approach,
            outcome=outcome,
            duration_ms=duration_ms,
            token_cost=token_cost,
            quality_score=quality_score,
            notes=notes,
            error=error,
            thread_id=thread_id,
            turn_id=turn_id,
            now=self.clock(),
            redact=self.redact,
        )
        return self.keep_episode(episode)

    async def alog_episode(
        self,
        task: str,
        *,
        user: str,
        approach: str = "",
        outcome: Outcome = "completed",
        duration_ms: int | None = None,
        token_cost: int | None = None,
        quality_score: float | None = None,
        notes: str = "",
        error: str | None = None,
        thread_id: str | None = None,
        turn_id: str | None = None,
    ) -> Episode:
        """Async form of `log_episode`."""
        episode = arguments.episode(
            task,
            user=user,
            approach=approach,
            outcome=outcome,
            duration_ms=duration_ms,
            token_cost=token_cost,
            quality_score=quality_score,
            notes=notes,
            error=error,
            thread_id=thread_id,
            turn_id=turn_id,
            now=self.clock(),
            redact=self.redact,
        )
        return await self.akeep_episode(episode)

    def keep_episode(self, episode: Episode) -> Episode:
        """Keep an episode, merged with what is kept of its turn: what `EpisodeRecorder` calls."""
        with OWNER_LOCKS.hold(episode.owner):
            (kept,) = self.store.batch([merging.read_op(episode)])
            episode = merging.with_kept(episode, kept)
            self.store.batch([put_op(episode)])
        return episode

    async def akeep_episode(self, episode: Episode) -> Episode:
        """Async form of `keep_episode`."""
        async with OWNER_LOCKS.ahold(episode.owner):
            (kept,) = await self.store.abatch([merging.read_op(episode)])
            episode = merging.with_kept(episode, kept)
            await self.store.abatch([put_op(episode)])
        return episode
