"""A function written once: both of its forms do the same, whatever is raised, cancelled, given up.

`Desk` is what a verb is: it waits for calls, holds something meanwhile, and gives it back at its
end without waiting for that.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import pydoc
import threading
import traceback
import typing
import weakref
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langsmith import traceable

from langgraph_memory.twins import Either, blocking, twins

WHO: ContextVar[str] = ContextVar("who", default="nobody")


class Desk:
    """Notes what happens."""

    def __init__(self, answers: dict[str, Any] | None = None) -> None:
        self.seen: list[str] = []
        self.held = 0
        self._answers = answers or {}

    def _answer(self, question: str) -> Any:
        self.seen.append(f"{question} of {WHO.get()}")
        if isinstance(self._answers.get(question), BaseException):
            raise self._answers[question]
        return self._answers.get(question, question.upper())

    async def _aanswer(self, question: str) -> Any:
        await asyncio.sleep(0)
        return self._answer(question)

    @contextmanager
    def _holding(self) -> Iterator[None]:
        self.held += 1
        try:
            yield
        finally:
            self.held -= 1

    async def _ask(self, first: str, second: str = "two", *, tries: int = 1) -> list[Any]:
        """Ask two questions.

        Args:
            first: One.
            second: The other.
            tries: How often to ask the second.
        """
        with self._holding():
            answers = [await Either(self._answer, self._aanswer, first)]
            for _ in range(tries):
                try:
                    answers.append(await self._asked(second))
                except ValueError as error:
                    answers.append(str(error))
        return answers

    async def _asked(self, question: str) -> Any:
        return await Either(self._answer, self._aanswer, question=question)

    ask, aask = twins(_ask)

    async def _tidied(self) -> str:
        """Ask, and tidy up by a call."""
        with self._holding():
            try:
                return str(await self._asked("ask"))
            finally:
                await self._asked("tidy")

    tidied, atidied = twins(_tidied)


async def _where(given: str, *, by: object = None) -> tuple[str, int, str]:
    """Return what runs in a thread."""
    here = await blocking(threading.get_ident)
    return given, here, await blocking(WHO.get)


where, awhere = twins(_where)

Form = Callable[..., Any]


def run(method: Form, *args: Any, **kwargs: Any) -> Any:
    """Return the result of either form."""
    result = method(*args, **kwargs)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


@pytest.fixture(params=["ask", "aask"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# -- what comes of calls --


@given(
    st.lists(st.sampled_from(["answer", "raise", "interrupt"]), max_size=8),
    st.booleans(),
)
def test_both_forms_do_what_plain_code_does(outcomes: list[str], again: bool) -> None:
    def outcome(place: int) -> int:
        log.append(place)
        match outcomes[place]:
            case "raise":
                raise ValueError(place)
            case "interrupt":
                raise InterruptedError(place)
        return place

    async def aoutcome(place: int) -> int:
        await asyncio.sleep(0)
        return outcome(place)

    async def _total(places: range) -> list[object]:
        done: list[object] = []
        try:
            for place in places:
                try:
                    done.append(await Either(outcome, aoutcome, place))
                except ValueError as error:
                    done.append(str(error))
                    if again:
                        raise KeyError(place) from error
        finally:
            log.append(len(done))
        return done

    def plain(places: range) -> list[object]:
        done: list[object] = []
        try:
            for place in places:
                try:
                    done.append(outcome(place))
                except ValueError as error:
                    done.append(str(error))
                    if again:
                        raise KeyError(place) from error
        finally:
            log.append(len(done))
        return done

    ends = []
    for function in (plain, *twins(_total)):
        log: list[int] = []
        try:
            result: object = run(function, range(len(outcomes)))
        except (InterruptedError, KeyError) as error:
            result = repr(error), repr(error.__cause__), repr(error.__context__)
        ends.append((log, result))
    assert ends[0] == ends[1] == ends[2]


def test_an_error_of_a_call_can_be_handled_where_it_is_waited_for(form: str) -> None:
    desk = Desk({"two": ValueError("no")})
    assert run(getattr(desk, form), "one", tries=2) == ["ONE", "no", "no"]
    assert desk.held == 0


def test_a_traceback_leads_from_the_caller_through_the_function_to_the_call(form: str) -> None:
    desk = Desk({"two": KeyError("two")})
    with pytest.raises(KeyError) as raised:
        run(getattr(desk, form), "one")
    names = [frame.name for frame in traceback.extract_tb(raised.tb)]
    places = [names.index(name) for name in ("_ask", "_asked", "_answer")]
    assert places == sorted(places)
    assert raised.value.__context__ is None


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
def test_what_ends_a_process_ends_the_steps_first(interruption: BaseException) -> None:
    desk = Desk({"two": interruption})
    with pytest.raises(type(interruption)):
        desk.ask("one")
    assert desk.held == 0


async def test_an_error_is_gone_when_nobody_has_it_any_more(form: str) -> None:
    class Failure(Exception):
        pass

    failure = Failure()
    ghost, desk = weakref.ref(failure), Desk({"two": failure})
    del failure
    gc.collect()
    gc.disable()
    try:
        try:
            result = getattr(desk, form)("one")
            await result
        except Failure:
            desk._answers.clear()
        assert ghost() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("function", [lambda: asyncio.sleep(0), lambda: asyncio.sleep(0.001)])
def test_nothing_but_an_either_can_be_awaited(function: Callable[[], Any]) -> None:
    ended = []

    async def _wrong(self: object) -> None:
        try:
            await function()
        finally:
            ended.append(True)

    wrong, awrong = twins(_wrong)
    for either in (wrong, awrong):
        with pytest.raises((TypeError, RuntimeError)):
            run(either, None)
    assert ended == [True, True]


# -- cancelled and abandoned --


async def _let_run(steps: int) -> None:
    for _ in range(steps):
        await asyncio.sleep(0)


@pytest.mark.parametrize("steps", range(1, 5))
async def test_a_cancelled_task_gives_back_what_it_holds(steps: int) -> None:
    desk = Desk()
    task = asyncio.create_task(desk.aask("one", tries=3))
    await _let_run(steps)
    assert desk.held == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.held == 0
    assert len(desk.seen) == steps - 1


async def test_a_cancelled_task_waits_for_its_tidying_up_unless_it_is_cancelled_again() -> None:
    for cancelled, seen in ((1, ["tidy of nobody"]), (2, [])):
        desk = Desk()
        task = asyncio.create_task(desk.atidied())
        for _ in range(cancelled):
            await _let_run(1)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (desk.seen, desk.held) == (seen, 0)


async def test_a_timeout_around_the_async_form_is_a_timeout() -> None:
    desk = Desk()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await desk.aask("one")
    assert desk.held == 0


def test_an_abandoned_task_gives_back_what_it_holds() -> None:
    desk = Desk()
    steps: Coroutine[Any, Any, Any] = desk.aask("one")
    steps.send(None)
    assert desk.held == 1
    steps.close()
    assert desk.held == 0


# -- where it runs --


def test_calls_see_and_keep_the_context_of_the_caller(form: str) -> None:
    async def _become(name: str) -> str:
        await Either(WHO.set, _aset, name)
        return WHO.get()

    async def _aset(name: str) -> object:
        return WHO.set(name)

    async def both() -> None:
        desk = Desk()
        if form == "ask":
            assert (become("ana"), desk.ask("one")) == ("ana", ["ONE", "TWO"])
        else:
            assert (await abecome("ana"), await desk.aask("one")) == ("ana", ["ONE", "TWO"])
        assert desk.seen == ["one of ana", "two of ana"]

    become, abecome = twins(_become)
    asyncio.run(both())


def test_the_sync_form_runs_in_the_thread_of_its_caller_and_what_blocks_in_another_one() -> None:
    here = threading.get_ident()
    assert where("x") == ("x", here, "nobody")
    given, there, who = asyncio.run(awhere("x", by=1))
    assert (given, who) == ("x", "nobody")
    assert there != here


async def test_the_sync_form_works_in_an_event_loop() -> None:
    assert Desk().ask("one") == ["ONE", "TWO"]


# -- what is seen of both --


def test_both_forms_have_the_names_the_signature_and_the_docstring() -> None:
    for function, name in ((Desk.ask, "ask"), (Desk.aask, "aask")):
        assert (function.__name__, function.__qualname__) == (name, f"Desk.{name}")
        assert inspect.signature(function) == inspect.signature(Desk._ask)
        assert typing.get_type_hints(function)["tries"] is int
        assert "Ask two questions" in pydoc.render_doc(function)
    assert (inspect.getdoc(Desk.ask) or "").startswith("Ask two questions.")
    assert inspect.getdoc(Desk.aask) == f"Async form of `ask`.\n\n{inspect.getdoc(Desk.ask)}"
    assert inspect.iscoroutinefunction(Desk().aask)
    assert not inspect.iscoroutinefunction(Desk().ask)


def test_a_wrong_call_is_named_as_it_was_made(form: str) -> None:
    with pytest.raises(TypeError, match=r"^ask\(\) got an unexpected keyword argument 'trys'"):
        run(getattr(Desk(), form), "one", trys=2)


def test_what_looks_into_a_function_takes_the_sync_form_for_a_plain_one() -> None:
    """LangChain has LangSmith trace hooks of middleware, which looks whether they are async."""
    assert traceable(Desk().ask)("one") == ["ONE", "TWO"]
    assert asyncio.run(traceable(Desk().aask)("one")) == ["ONE", "TWO"]
    assert typing.get_type_hints(Desk.ask) == typing.get_type_hints(Desk.aask)
