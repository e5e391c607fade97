"""The arguments of the verbs: checked, redacted, and made into the records they stand for.

Whatever is wrong with an argument is said here, before anything is read or written.
"""

from __future__ import annotations

import inspect
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from numbers import Real
from pathlib import Path, PurePath
from typing import Any, cast

from langchain_core.runnables import Runnable

from langgraph_memory.calling import ChatModel
from langgraph_memory.clock import as_utc
from langgraph_memory.documents import Replacement, chunks_of
from langgraph_memory.drafts import Extracting
from langgraph_memory.embedding import replace_surrogates
from langgraph_memory.episodic import Evaluator, Rating
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.extraction import Accept, zone_of
from langgraph_memory.log import Log
from langgraph_memory.messages import Redact, as_messages
from langgraph_memory.operations import value_filter
from langgraph_memory.recalling import Question
from langgraph_memory.records import (
    KINDS,
    OUTCOMES,
    RECORD_CLASSES,
    STATUSES,
    Episode,
    Kind,
    Note,
    Outcome,
)
from langgraph_memory.scope import (
    TYPES,
    Owner,
    OwnerKind,
    RecordType,
    check_id,
    check_record_id,
    readers,
    writer,
)
from langgraph_memory.small_talk import IsTask, is_task
from langgraph_memory.splitting import language_of
from langgraph_memory.store.filters import check_filter
from langgraph_memory.store.rows import encode_value

MAX_QUERY_CHARACTERS = 2_000
"""How much of a query is looked for; a longer one is about too much to be found."""


def log(
    given: object,
    *,
    user: str,
    thread_id: str,
    at: datetime | None,
    episode: Episode | None,
) -> Log:
    """Return the messages that are to be logged; refuse an episode of somebody else."""
    moment, owner = None if at is None else as_utc(at, "at="), writer(user)
    if episode is not None and not (isinstance(episode, Episode) and episode.owner == owner):
        raise ConfigurationError(f"episode= is an Episode of the user {owner.id!r}, got {episode}")
    return Log.of(as_messages(given), owner, _thread_id(thread_id), moment)


def episode(
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
    now: datetime,
    redact: Redact,
) -> Episode:
    """Return the record of a finished task."""
    _check_choice("outcome", outcome, OUTCOMES)
    _check_unit("quality_score", quality_score)
    _check_count("duration_ms", duration_ms)
    _check_count("token_cost", token_cost)
    thread = None if thread_id is None else _thread_id(thread_id)
    return Episode(
        id=Episode.id_of(thread, _turn_id(turn_id)),
        owner=writer(user),
        created_at=now,
        task=_text("task", task, redact),
        approach=_any_text("approach", approach, redact),
        outcome=outcome,
        duration_ms=duration_ms,
        token_cost=token_cost,
        # Always a float: Chroma finds a whole number by other filters than a fraction.
        quality_score=None if quality_score is None else float(quality_score),
        notes=_any_text("notes", notes, redact),
        error=None if error is None else _any_text("error", error, redact),
        thread_id=thread,
    )


def rating(score: float, outcome: Outcome | None, notes: str, redact: Redact) -> Rating:
    """Return what somebody thinks of an episode."""
    if outcome is not None:
        _check_choice("outcome", outcome, OUTCOMES)
    _check_unit("score", score)
    return Rating(float(score), outcome, _any_text("notes", notes, redact).strip())


def evaluated(answer: object, redact: Redact) -> Rating | None:
    """Return what an evaluator thinks of an episode; `None` if it does not judge it."""
    if answer is None:
        return None
    given = answer if isinstance(answer, Rating) else Rating(answer)  # type: ignore[arg-type]  # checked next
    return rating(*given, redact)


def evaluator(given: Evaluator | None) -> Evaluator | None:
    """Refuse what cannot be called in the background."""
    called = (given, getattr(given, "__call__", None))  # noqa: B004  # of an object it is that
    if given is not None and (not callable(given) or any(map(inspect.iscoroutinefunction, called))):
        raise ConfigurationError(
            "evaluator= is a plain function of an episode and its messages that returns a score "
            f"from 0 to 1; got {given!r}"
        )
    return given


def task_rule(given: IsTask | None) -> IsTask:
    """Return the rule of which turns are worth an episode."""
    if given is not None and not callable(given):
        raise ConfigurationError(
            f"is_task= is a function of what was asked and the tools' names, got {given!r}"
        )
    return given or is_task


def task_reader(given: Callable[[Any], str] | None) -> Callable[[Any], str] | None:
    """Refuse what cannot tell from a graph's input what is to be done."""
    if given is not None and not callable(given):
        raise ConfigurationError(
            "task= is a function of the graph's input that returns a text, such as "
            f"lambda given: given['ticket']; got {given!r}"
        )
    return given


def note(
    text: str,
    *,
    user: str,
    kind: Kind,
    slot: str | None,
    importance: float,
    pinned: bool,
    metadata: Mapping[str, Any] | None,
    sources: Sequence[str],
    project: str | None,
    agent: str | None,
    now: datetime,
    redact: Redact,
) -> Note:
    """Return a note that is to be remembered; its id is given when it is."""
    _check_choice("kind", kind, KINDS)
    _check_unit("importance", importance)
    return Note(
        id="",
        owner=writer(user, project, agent),
        text=_text("text", text, redact),
        kind=kind,
        slot=None if slot is None else _text("slot", slot, redact),
        importance=importance,
        pinned=_flag("pinned", pinned),
        metadata={} if metadata is None else _metadata(metadata),
        sources=_ids("sources", sources),
        author=check_id("user", user),
        created_at=now,
        updated_at=now,
        valid_from=now,
    )


def document(
    text: str,
    *,
    source: str | Path | None,
    user: str,
    project: str | None,
    agent: str | None,
    language: str | None,
    metadata: Mapping[str, Any] | None,
    now: datetime,
    redact: Redact,
) -> Replacement:
    """Return a text that is to be kept in chunks, and to replace what its source held."""
    owner = writer(user, project, agent)
    if source is None:
        raise ConfigurationError(
            "source= says what the text is called, and replaced by, such as source='returns.md'; "
            "to read a file pass a pathlib.Path: a str is always the text"
        )
    name, kept = _source(source, redact), _any_text("text", text, redact)
    if not kept.strip():
        raise ConfigurationError(f"there is nothing in {name!r}; forget(source=...) deletes one")
    row, chunks = chunks_of(
        kept,
        owner=owner,
        source=name,
        language=language_of(name, language),
        author=check_id("user", user),
        metadata={} if metadata is None else _metadata(metadata),
        now=now,
    )
    return Replacement(row, chunks)


def extracting(
    *,
    every_n_turns: int,
    retries: int,
    accept: Accept | None,
    review: bool,
    min_importance: float,
    time_zone: str,
) -> Extracting:
    """Return how notes are extracted."""
    _check_count("every_n_turns", every_n_turns)
    _check_count("retries", retries)
    if not every_n_turns or retries is None:
        raise ConfigurationError(f"every_n_turns= is 1 or more, got {every_n_turns!r}")
    if accept is not None and not callable(accept):
        raise ConfigurationError(f"accept= is a function of a Candidate, got {accept!r}")
    _check_unit("min_importance", min_importance)
    zone_of(time_zone)
    review = _flag("review", review)
    return Extracting(every_n_turns, retries, accept, review, min_importance, time_zone)


def chat_model(model: object) -> ChatModel | str:
    """Refuse what cannot be asked."""
    if isinstance(model, Runnable) or (isinstance(model, str) and model.strip()):
        return model
    raise ConfigurationError(
        f"model= is a chat model, or a name such as 'openai:gpt-4o-mini'; got {model!r}"
    )


def thread_of(user: str, thread_id: str | None) -> tuple[Owner, str | None]:
    """Return whose messages to look through, and of which thread."""
    return writer(user), None if thread_id is None else _thread_id(thread_id)


def consolidated(user: object, project: object, agent: object, max_notes: object) -> Owner | None:
    """Return whose notes are to be consolidated; `None` for those of all owners."""
    if max_notes is None:
        raise ConfigurationError("max_notes= is a whole number of 0 or more, got None")
    _check_count("max_notes", max_notes)
    if user is not None:
        return writer(user, project, agent)
    named: list[tuple[OwnerKind, object]] = [("project", project), ("agent", agent)]
    owners = [Owner(kind, check_id(kind, id)) for kind, id in named if id is not None]
    if len(owners) > 1:
        raise ConfigurationError("name one owner: pass project= or agent=, not both")
    return next(iter(owners), None)


def reflect_every(number: object) -> int | None:
    """Refuse what is no number of episodes."""
    _check_count("reflect_every", number)
    if number == 0:
        raise ConfigurationError("reflect_every= is 1 or more, or None; got 0")
    return cast("int | None", number)


def unreflected(user: str, since: datetime | None) -> tuple[Owner, datetime | None]:
    """Return whose episodes to look at, and from when on."""
    return writer(user), None if since is None else as_utc(since, "since=")


def edits(
    *,
    text: str | None,
    kind: Kind | None,
    importance: float | None,
    pinned: bool | None,
    metadata: Mapping[str, Any] | None,
    redact: Redact,
) -> dict[str, Any]:
    """Return the fields of a note that are to be changed."""
    changes: dict[str, Any] = {}
    if text is not None:
        changes["text"] = _text("text", text, redact)
    if kind is not None:
        _check_choice("kind", kind, KINDS)
        changes["kind"] = kind
    if importance is not None:
        _check_unit("importance", importance)
        changes["importance"] = importance
    if pinned is not None:
        changes["pinned"] = _flag("pinned", pinned)
    if metadata is not None:
        changes["metadata"] = _metadata(metadata)
    if not changes:
        raise ConfigurationError("nothing to edit: pass text=, kind=, importance=, ...")
    return changes


def question(
    query: str,
    *,
    user: str,
    project: str | None,
    agent: str | None,
    types: Sequence[RecordType] | None,
    kinds: Sequence[Kind] | None,
    filter: Mapping[str, Any] | None,
    limit: int,
    min_relevance: float | None,
    as_of: datetime | None,
    thread_id: str | None,
    known: Iterable[str],
    now: datetime,
    expired: datetime | None,
    redact: Redact,
) -> Question:
    """Return what a recall asks."""
    if not isinstance(query, str):
        raise ConfigurationError(f"query is a text, got {type(query).__name__}")
    check_page(limit)
    if min_relevance is not None and not isinstance(min_relevance, (int, float)):
        raise ConfigurationError(f"min_relevance= is a number, got {min_relevance!r}")
    return Question(
        query=_any_text("query", query[:MAX_QUERY_CHARACTERS], redact),
        owners=tuple(readers(user, project, agent)),
        types=None if types is None else tuple(dict.fromkeys(check_types(types, TYPES))),
        kinds=None if kinds is None else tuple(check_kinds(kinds)),
        filter=filter if filter is None else checked_filter(filter, types or TYPES),
        limit=limit,
        min_relevance=min_relevance,
        as_of=None if as_of is None else as_utc(as_of, "as_of="),
        thread_id=None if thread_id is None else _thread_id(thread_id),
        known=frozenset(known),
        now=now,
        expired=expired,
    )


def precedents(outcome: Outcome | None, limit: int) -> dict[str, Any]:
    """Return how past tasks are recalled."""
    if outcome is not None:
        _check_choice("outcome", outcome, OUTCOMES)
    filter = None if outcome is None else {"outcome": outcome}
    return {"types": ("episode",), "filter": filter, "limit": limit}


def namespaces(owner: Owner, types: Sequence[RecordType] = TYPES) -> list[tuple[str, ...]]:
    """Return the namespaces of some types of an owner's records."""
    return [owner.namespace(type) for type in check_types(types)]


def forgotten(
    id: str | None, text: str | None, source: str | Path | None, everything: bool, redact: Redact
) -> tuple[str | None, str | None]:
    """Return the text or source to forget as it was kept; refuse unless it is said what, once."""
    named = sum(each is not None for each in (id, text, source))
    if named + _flag("everything", everything) != 1:
        raise ConfigurationError(
            "forget takes an id, text=, source= or everything=True: one of them"
        )
    if id is not None:
        check_record_id(id)
    return (
        None if text is None else _text("text", text, redact),
        None if source is None else _source(source, redact),
    )


def check_progress(on_progress: object) -> None:
    """Refuse what cannot be called, before the work begins that it would be told of."""
    if on_progress is None:
        return
    if not callable(on_progress) or inspect.iscoroutinefunction(on_progress):
        raise ConfigurationError(
            "on_progress= is a plain function of what is done and of all there is to do, such as "
            f"print; got {on_progress!r}"
        )


def _source(source: object, redact: Redact) -> str:
    """Return the name of a source as it is kept; that of a file is its path.

    Bytes of a path that are no text are escaped, so that two stay two.
    """
    if isinstance(source, PurePath):
        source = source.as_posix().encode(errors="backslashreplace").decode()
    return _text("source", source, redact)


def _text(name: str, text: object, redact: Redact) -> str:
    """Return a text as it is kept: without secrets, and without what cannot be stored."""
    if not isinstance(text, str) or not text.strip():
        raise ConfigurationError(f"{name}= is a non-empty text, got {text!r}")
    return redact(replace_surrogates(text)).strip()


def _any_text(name: str, text: object, redact: Redact) -> str:
    """Return a text that may be empty as it is kept."""
    if not isinstance(text, str):
        raise ConfigurationError(f"{name}= is a text, got {text!r}")
    return redact(replace_surrogates(text))


def check_contains(contains: str | None) -> None:
    """Refuse what is no text."""
    if contains is not None and not isinstance(contains, str):
        raise ConfigurationError(f"contains= is a text, got {contains!r}")


def check_page(limit: int, offset: int = 0) -> None:
    """Refuse a negative limit or offset."""
    for name, value in (("limit", limit), ("offset", offset)):
        if value is None:
            raise ConfigurationError(f"{name}= is a number, got None")
        _check_count(name, value)


def check_types(
    types: Sequence[RecordType], choices: Sequence[RecordType] = tuple(RECORD_CLASSES)
) -> Sequence[RecordType]:
    """Refuse a type that there is not."""
    _check_each("types", types, choices)
    return types


def check_kinds(kinds: Sequence[Kind]) -> Sequence[Kind]:
    """Refuse a kind that there is not."""
    _check_each("kinds", kinds, KINDS)
    return kinds


def check_status(status: str | None) -> None:
    """Refuse a status that there is not."""
    if status is not None:
        _check_choice("status", status, STATUSES)


def checked_filter(
    filter: Mapping[str, Any], types: Iterable[RecordType] = TYPES
) -> Mapping[str, Any]:
    """Refuse a filter that is none, or that names what no record of these types can have."""
    if not isinstance(filter, Mapping):
        raise ConfigurationError(f"filter= is a dict, got {filter!r}")
    check_filter(value_filter(filter))
    names = {each.name for type in types for each in fields(RECORD_CLASSES[type])}
    names -= {"id", "owner"}  # not in what is stored
    unknown = set() if "metadata" in names else filter.keys() - names
    if types and unknown:  # else they are keys of the metadata
        raise ConfigurationError(
            f"filter= names {', '.join(map(repr, sorted(unknown)))}; the fields of these types "
            f"({', '.join(types)}) are {', '.join(sorted(names))}"
        )
    return filter


def _check_each(name: str, values: object, choices: Sequence[str]) -> None:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ConfigurationError(f"{name}= is a sequence such as ({values!r},), got {values!r}")
    for value in values:
        _check_choice(name, value, choices)


def _check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ConfigurationError(f"{name}= is one of {', '.join(choices)}; got {value!r}")


def _check_unit(name: str, value: object) -> None:
    if value is None and name == "quality_score":
        return
    number = isinstance(value, Real) and not isinstance(value, bool)  # also one of numpy's
    if not number or not 0 <= value <= 1:  # type: ignore[operator]  # it is a number
        raise ConfigurationError(f"{name}= is a number from 0 to 1, got {value!r}")


def _check_count(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConfigurationError(f"{name}= is a whole number of 0 or more, got {value!r}")


def _thread_id(thread_id: object) -> str:
    if isinstance(thread_id, int) and not isinstance(thread_id, bool):
        return str(thread_id)
    if not isinstance(thread_id, str) or not thread_id:
        raise ConfigurationError(f"thread_id= is a non-empty text, got {thread_id!r}")
    return replace_surrogates(thread_id)


def _turn_id(turn_id: object) -> str:
    """Return by what a turn is known; one that is known by nothing is new."""
    if isinstance(turn_id, bool) or not isinstance(turn_id, str | int | None):
        raise ConfigurationError(f"turn_id= is the id of a message, got {turn_id!r}")
    return uuid.uuid4().hex if turn_id in (None, "") else str(turn_id)


def _ids(name: str, ids: Any) -> tuple[str, ...]:
    several = isinstance(ids, Iterable) and not isinstance(ids, str)
    given = tuple(ids) if several else (None,)
    if not all(isinstance(id, str) for id in given):
        raise ConfigurationError(f"{name}= is a sequence of ids, got {ids!r}")
    return tuple(map(replace_surrogates, given))


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name}= is True or False, got {value!r}")
    return value


def _metadata(metadata: object) -> dict[str, Any]:
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise ConfigurationError(f"metadata= is a dict with text keys, got {metadata!r}")
    try:
        kept: dict[str, Any] = json.loads(encode_value(metadata))
    except ConfigurationError as error:
        raise ConfigurationError(f"metadata=: {error}") from error
    return kept
