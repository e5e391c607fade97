"""Verbs on finished tasks."""

from __future__ import annotations

from langgraph_memory import arguments
from langgraph_memory.operations import put_op
from langgraph_memory.records import Episode, Outcome
from langgraph_memory.verbs.reflecting import Reflecting


class Episodes(Reflecting):
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
            outcome: `completed` (no error, not judged), `success`, `partial`, `failure` or
                `cancelled`.
            duration_ms: How long it took.
            token_cost: What the models reported.
            quality_score: 0 to 1, if somebody judged it.
            notes: Anything else.
            error: What went wrong.
            thread_id: The session it belongs to.
            turn_id: The id of the user's message that began it; the same turn of the same thread
                has one episode, however often it is logged.
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
        self.store.batch([put_op(episode)])
        self._after_episode(episode)
        return episode

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
        await self.store.abatch([put_op(episode)])
        await self._aafter_episode(episode)
        return episode

    def _after_episode(self, episode: Episode) -> None:
        """Start what follows when an episode was written, by whatever way."""
        self._reflect_later(episode)

    async def _aafter_episode(self, episode: Episode) -> None:
        """Async form of `_after_episode`."""
        await self._areflect_later(episode)
