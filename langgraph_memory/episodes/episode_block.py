"""A task that is going on, as a block of code: `with memory.episode(...)`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from langgraph_memory.episodes.episodes import ending
from langgraph_memory.records import Clock, Episode, Outcome

logger = logging.getLogger(__name__)


class OpenEpisode:
    """A task that is going on; `Memory.episode` gives one.

    Set its attributes while the task is done; when the block ends they are logged as an episode,
    which is then in `record`. A block that raises is a `failure`, one that is cancelled is
    `cancelled`, and in both cases the exception goes on.
    """

    __slots__ = (  # so that a name that is misspelt is an error, and not lost
        "_alog",
        "_began",
        "_clock",
        "_given",
        "_log",
        "approach",
        "error",
        "notes",
        "outcome",
        "quality_score",
        "record",
        "token_cost",
    )

    def __init__(
        self,
        log: Callable[..., Episode],
        alog: Callable[..., Awaitable[Episode]],
        clock: Clock,
        given: Mapping[str, Any],
    ) -> None:
        """Begin nothing yet.

        Args:
            log: `Memory.log_episode`.
            alog: `Memory.alog_episode`.
            clock: Gives the present moment.
            given: Arguments of theirs that stay as they are.
        """
        self._log, self._alog, self._clock, self._given = log, alog, clock, given
        self.approach = ""
        """How the task is done."""
        self.outcome: Outcome = "completed"
        """How it ends, unless it raises."""
        self.notes = ""
        """Anything else."""
        self.token_cost: int | None = None
        """Tokens that the models reported."""
        self.quality_score: float | None = None
        """0 to 1."""
        self.error: str | None = None
        """What went wrong, where nothing is raised."""
        self.record: Episode | None = None
        """The episode, once it is kept."""

    def __enter__(self) -> Self:
        self._began = self._clock()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if (fields := self._fields(error)) is not None:
            with _noted_on(error):
                self.record = self._log(**fields)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if (fields := self._fields(error)) is not None:
            with _noted_on(error):
                # Who is gone may be cancelled more than once: anyio does so while a task waits.
                await asyncio.shield(self._akeep(fields))

    async def _akeep(self, fields: Mapping[str, Any]) -> None:
        self.record = await self._alog(**fields)

    def _fields(self, error: BaseException | None) -> dict[str, Any] | None:
        """Return what to log; nothing if the task is not over."""
        end = None if error is None else ending(error)
        if error is not None and end is None:
            return None
        took = (self._clock() - self._began).total_seconds()
        return {
            **self._given,
            "approach": self.approach,
            "outcome": self.outcome if end is None else end.outcome,
            "notes": self.notes,
            "error": self.error if end is None or end.error is None else end.error,
            "token_cost": self.token_cost,
            "quality_score": self.quality_score,
            "duration_ms": max(round(1000 * took), 0),
        }


@contextmanager
def _noted_on(error: BaseException | None) -> Iterator[None]:
    """Let what the task raised go on: it says more than that its episode could not be kept."""
    try:
        yield
    except Exception as failure:
        if error is None:
            raise
        error.add_note(f"The episode could not be kept: {failure!r}")
        logger.warning("an episode could not be kept", exc_info=failure)
