"""Verbs on finished tasks: logged, judged, and found again."""

from __future__ import annotations

from typing import Any

from langgraph_memory.episodes import (
    OpenEpisode,
    episode_hits,
    episode_read_op,
    found_episode,
    messages_of,
    rated,
    with_kept,
)
from langgraph_memory.memory import arguments
from langgraph_memory.memory.background import Key, Work
from langgraph_memory.memory.locks import OWNER_LOCKS
from langgraph_memory.memory.read_only import writes
from langgraph_memory.memory.recall import Reading
from langgraph_memory.memory.reflection import Reflecting
from langgraph_memory.messages import unexpired
from langgraph_memory.records import Change, Episode, Message, Outcome, Owner, writer
from langgraph_memory.retrieval import Hit
from langgraph_memory.store import ALL, NewestOp, get_op, put_op, read_record, read_records
from langgraph_memory.twins import Either, drive, twins


class Episodes(Reading, Reflecting):
    """`log_episode`, `episode`, `rate_episode`, `recall_episodes`."""

    @writes
    async def _log_episode(
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
                `cancelled`, or `interrupted` (it has stopped, and may go on).
            duration_ms: How long it took.
            token_cost: Tokens that the models reported.
            quality_score: 0 to 1, if somebody judged it.
            notes: Anything else.
            error: What went wrong.
            thread_id: The session it belongs to.
            turn_id: The id of the user's message that began it; the same turn of the same thread
                has one episode, however often it is logged: of what is kept, its time and its
                judgement stay, and what is logged later is added.
        """
        episode = arguments.episode_from(
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
        return await self._keep_episode(episode)

    log_episode, alog_episode = twins(_log_episode)

    @writes
    async def _keep_episode(self, episode: Episode) -> Episode:
        """Keep an episode, merged with what is kept of its turn: what `EpisodeRecorder` calls."""
        async with OWNER_LOCKS.hold(episode.owner):
            (kept,) = await self._batch([episode_read_op(episode)])
            episode = with_kept(episode, kept)
            await self._batch([put_op(episode)])
        await self._after_episode(episode)
        return episode

    keep_episode, akeep_episode = twins(_keep_episode)

    def episode(
        self, task: str, *, user: str, thread_id: str | None = None, turn_id: str | None = None
    ) -> OpenEpisode:
        """Log what a block of code does as an episode, with the time it takes.

        Use it with `with` or `async with`. What is set on it (`approach`, `outcome`, `notes`,
        `token_cost`, `quality_score`, `error`) is kept when the block ends; `record` is the episode
        then. A block that raises is a `failure`, with the last line of the traceback as its
        `error`; one that is cancelled, or that the process's end cuts short, is `cancelled`. The
        exception goes on. One that LangGraph's `interrupt` leaves is not over, and not logged.

        Args:
            task: What is to be done.
            user: Whose memory it is.
            thread_id: The session it belongs to.
            turn_id: As in `log_episode`.

        Example:
            >>> from langgraph_memory import ChromaStore, Memory
            >>> memory = Memory(ChromaStore.in_memory())
            >>> with memory.episode("Ship order 17", user="c-2291") as episode:
            ...     episode.approach = "By courier"
            >>> episode.record.outcome
            'completed'
        """
        given = {"task": task, "user": user, "thread_id": thread_id, "turn_id": turn_id}
        # What is wrong with them is said now, and not when the task has been done.
        arguments.episode_from(**given, now=self.clock(), redact=self.redact)  # type: ignore[arg-type]  # checked there
        return OpenEpisode(self.log_episode, self.alog_episode, self.clock, given)

    @writes
    async def _rate_episode(
        self, id: str, score: float, *, user: str, outcome: Outcome | None = None, notes: str = ""
    ) -> Change[Episode]:
        """Say how well a task was done.

        Args:
            id: The episode's id.
            score: 0 to 1; it replaces an earlier one.
            user: Whose memory it is.
            outcome: How the task really ended, if that is known better by now.
            notes: Why; added to the episode's notes.

        Raises:
            RecordNotFoundError: If the user has no episode with this id.
        """
        owner, rating = writer(user), arguments.rating(score, outcome, notes, self.redact)
        async with OWNER_LOCKS.hold(owner):
            change = rated(found_episode(id, await self._get(id, user=user)), rating)
            await self._batch([put_op(change.record)])
        await self._reflect_later(owner)
        return change

    rate_episode, arate_episode = twins(_rate_episode)

    async def _recall_episodes(
        self, task: str, *, user: str, outcome: Outcome | None = None, limit: int = 3
    ) -> list[Hit[Episode]]:
        """Find past tasks that are like one at hand, best first.

        Args:
            task: What is to be done.
            user: Whose memory is read.
            outcome: Only tasks that ended so.
            limit: How many at most.
        """
        asked = arguments.precedents(outcome, limit)
        return episode_hits(await self._recall(task, user=user, **asked))

    recall_episodes, arecall_episodes = twins(_recall_episodes)

    # -- what follows once an episode is kept --

    async def _after_episode(self, episode: Episode) -> None:
        """Called after every write of an episode."""
        if episode.outcome == "interrupted":
            return
        if self.evaluator is not None and episode.quality_score is None:
            await Either(self._worker.submit, self._worker.asubmit, *self._evaluation(episode))
        await self._reflect_later(episode.owner)

    def _evaluation(self, episode: Episode) -> tuple[Key, Work]:
        owner = episode.owner
        key = Key(owner.id, episode.id, id(self.store), "evaluation")
        return key, lambda: drive(self._evaluate(owner, episode.id))

    async def _evaluate(self, owner: Owner, id: str) -> None:
        """Let the evaluator judge an episode, unless somebody has, or it was forgotten."""
        episode = await self._unjudged(owner, id)
        if episode is None or self.evaluator is None:
            return
        answer = self.evaluator(episode, await self._said_in(episode))
        rating = arguments.evaluated(answer, self.redact)
        async with OWNER_LOCKS.hold(owner):  # not held while it is judged
            episode = await self._unjudged(owner, id)
            if episode is None or rating is None:
                return
            await self._batch([put_op(rated(episode, rating).record)])
        await self._reflect_later(owner)

    async def _unjudged(self, owner: Owner, id: str) -> Episode | None:
        item = (await self._batch([get_op(owner.namespace("episode"), id)]))[0]
        episode = None if item is None else read_record(item)
        return episode if isinstance(episode, Episode) and episode.quality_score is None else None

    async def _said_in(self, episode: Episode) -> list[Message]:
        """Return the messages of an episode's task that are kept."""
        if episode.thread_id is None:
            return []
        namespaces = [episode.owner.namespace("message")]
        of_thread = {"thread_id": episode.thread_id}
        ops: list[Any] = [NewestOp(namespaces[0], of_thread, ALL)]
        found = unexpired(await self._batch(ops), self._expired)
        records = read_records(namespaces, found)
        return messages_of(episode, (r for r in records if isinstance(r, Message)))
