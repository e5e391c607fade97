"""A function written once and called in two ways: `remember(...)` and `await aremember(...)`.

It is a coroutine that waits for one kind of thing alone, an `Either`, which says how something is
done in this thread and how it is awaited. `twins` makes both forms of it:

    async def _notes(self, owner: Owner) -> list[Note]:
        return read(await Either(self.store.batch, self.store.abatch, ops(owner)))

    notes, anotes = twins(_notes)

It may await other such coroutines. A lock is taken by an `Either`, and released by a plain call in
a `finally`, or an `__aexit__` that awaits nothing: a task that is cancelled a second time would
leave one held whose release is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, update_wrapper, wraps
from inspect import getdoc, signature
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

Steps = Coroutine[Any, Any, R]
"""A coroutine that waits for nothing but `Either`, and returns an `R`."""


class Either(Generic[R]):
    """Something to wait for: done in this thread, or awaited in a task.

    Args:
        sync: Does it in this thread.
        awaited: Does it in a task of an event loop.
        args: What either is called with.
        kwargs: The same, by name.
    """

    __slots__ = ("args", "awaited", "kwargs", "sync")

    def __init__(
        self,
        sync: Callable[P, R],
        awaited: Callable[P, Awaitable[R]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        self.sync, self.awaited, self.args, self.kwargs = sync, awaited, args, kwargs

    def __await__(self) -> Generator[Any, Any, R]:
        answer: R = yield self
        return answer


def blocking(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Either[R]:
    """Return what calls a function that blocks: an event loop does so in another thread."""

    async def threaded(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(function, *args, **kwargs)

    return Either(function, threaded, *args, **kwargs)


def to_its_end(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Either[R]:
    """Return what calls a function that blocks for long, and is not left half done.

    An event loop does so in a thread of its own: in one of the loop's, it could wait for a task
    that waits for one of those. It goes on to its end if the task is cancelled.
    """

    async def apart(*args: P.args, **kwargs: P.kwargs) -> R:
        thread = ThreadPoolExecutor(1, "langgraph-memory")
        future = thread.submit(copy_context().run, partial(function, *args, **kwargs))
        thread.shutdown(wait=False)
        return await asyncio.shield(asyncio.wrap_future(future))

    return Either(function, apart, *args, **kwargs)


def drive(steps: Steps[R]) -> R:
    """Do what steps wait for in this thread, and return their result.

    What is raised meanwhile is raised where the steps wait for it, also `KeyboardInterrupt`.
    """
    go_on, answer = steps.send, None
    try:
        while True:
            step = _step(go_on(answer))
            try:
                go_on, answer = steps.send, step.sync(*step.args, **step.kwargs)
            except BaseException as error:  # noqa: BLE001  # raised by the steps, or handled there
                go_on, answer = steps.throw, error
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        steps.close()
        del go_on, answer  # an error, whose traceback has this frame


async def adrive(steps: Steps[R]) -> R:
    """Async form of `drive`: in this task, and what cancels the task is raised in the steps."""
    go_on, answer = steps.send, None
    try:
        while True:
            step = _step(go_on(answer))
            try:
                go_on, answer = steps.send, await step.awaited(*step.args, **step.kwargs)
            except BaseException as error:  # noqa: BLE001  # as above
                go_on, answer = steps.throw, error
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        steps.close()
        del go_on, answer


def _step(waited_for: object) -> Either[Any]:
    if not isinstance(waited_for, Either):
        raise TypeError(
            f"what is written for both forms awaits an Either alone, and not {waited_for!r}"
        )
    return waited_for


def twins(
    steps: Callable[P, Steps[R]],
) -> tuple[Callable[P, R], Callable[P, Coroutine[Any, Any, R]]]:
    """Return a function in its sync and its async form: `remember, aremember = twins(_remember)`.

    Args:
        steps: A method or a function that waits for nothing but `Either`. Both forms have its
            signature and its docstring, and its name without the `_`.
    """

    name = steps.__name__.removeprefix("_")
    run = drive  # in the closure: the function's globals are those of the steps

    def begin(*args: P.args, **kwargs: P.kwargs) -> Steps[R]:
        try:
            return steps(*args, **kwargs)  # which binds the arguments, and runs nothing yet
        except TypeError as error:
            raise TypeError(str(error).replace(steps.__qualname__, name)) from None

    def sync(*args: P.args, **kwargs: P.kwargs) -> R:
        return run(begin(*args, **kwargs))

    @wraps(steps)
    async def awaited(*args: P.args, **kwargs: P.kwargs) -> R:
        return await adrive(begin(*args, **kwargs))

    doc = getdoc(steps) or ""
    plain = _beside(steps, sync)
    _rename(plain, name, doc or None)
    _rename(awaited, f"a{name}", f"Async form of `{name}`.\n\n{doc}".rstrip())
    return plain, awaited


def _beside(steps: Callable[P, Any], sync: Callable[P, R]) -> Callable[P, R]:
    """Return a function as if it was written beside the steps, where its annotations have meaning.

    It does not name them as what it wraps: LangSmith's `traceable`, for one, would take it for a
    coroutine function.
    """
    assert isinstance(steps, FunctionType)
    assert isinstance(sync, FunctionType)
    plain: Any = FunctionType(sync.__code__, steps.__globals__, closure=sync.__closure__)
    update_wrapper(plain, steps)
    del plain.__wrapped__
    plain.__signature__ = signature(steps)
    made: Callable[P, R] = plain
    return made


def _rename(function: Callable[..., Any], name: str, doc: str | None) -> None:
    where, dot, _ = function.__qualname__.rpartition(".")
    function.__name__, function.__qualname__, function.__doc__ = name, f"{where}{dot}{name}", doc
