"""A memory that is only read: each verb that writes refuses, before it does anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from langgraph_memory.errors import ConfigurationError

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


def writes(verb: Callable[Concatenate[M, P], R]) -> Callable[Concatenate[M, P], R]:
    """Let a verb, sync or async, refuse a memory that is only read."""
    if iscoroutinefunction(verb):

        @wraps(verb)
        async def averb(memory: M, *args: P.args, **kwargs: P.kwargs) -> Any:
            check_writable(memory, verb.__name__)
            return await verb(memory, *args, **kwargs)

        return cast(Callable[Concatenate[M, P], R], averb)

    @wraps(verb)
    def checked(memory: M, *args: P.args, **kwargs: P.kwargs) -> R:
        check_writable(memory, verb.__name__)
        return verb(memory, *args, **kwargs)

    return cast(Callable[Concatenate[M, P], R], checked)
