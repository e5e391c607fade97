"""A memory that is only read: each verb that writes refuses, before it does anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.twins import Steps

P = ParamSpec("P")
R = TypeVar("R")


class ReadOnly(Protocol):
    """Something that can be only read."""

    @property
    def read_only(self) -> bool: ...


M = TypeVar("M", bound=ReadOnly)


def check_writable(memory: ReadOnly, what: str) -> None:
    """Refuse what writes.

    Raises:
        ConfigurationError: If the memory is only read.
    """
    if memory.read_only:
        raise ConfigurationError(
            f"{what} writes, and this memory is open with read_only=True: open it without, or "
            "leave it to the process that writes"
        )


def writes(verb: Callable[Concatenate[M, P], Steps[R]]) -> Callable[Concatenate[M, P], Steps[R]]:
    """Let a verb refuse a memory that is only read."""
    name = verb.__name__.removeprefix("_")

    async def checked(memory: M, steps: Steps[R]) -> R:
        try:
            check_writable(memory, name)
        except BaseException:
            steps.close()
            raise
        return await steps

    @wraps(verb)
    def begun(memory: M, /, *args: P.args, **kwargs: P.kwargs) -> Steps[R]:
        return checked(memory, verb(memory, *args, **kwargs))  # wrong arguments fail at once

    return begun
