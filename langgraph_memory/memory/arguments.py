"""The arguments of the verbs: checked, redacted, and made into the records they stand for.

Whatever is wrong with an argument is said here, before anything is read or written.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path, PurePath
from typing import Any

from langgraph_memory.documents import Replacement, chunks_of, language_of
from langgraph_memory.episodes import Rating
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.messages import Log, Mark, as_messages
from langgraph_memory.records import (
    KINDS,
    OUTCOMES,
    RECORD_CLASSES,
    STATUSES,
    TYPES,
    Episode,
    Kind,
    Note,
    Outcome,
    Owner,
    OwnerKind,
    RecordType,
    as_utc,
    check_aliases,
    check_any_text,
    check_count,
    check_each_of,
    check_flag,
    check_id,
    check_ids,
    check_number,
    check_one_of,
    check_record_id,
    check_text,
    check_thread_id,
    check_turn_id,
    check_unit,
    in_zone,
    writer,
)
from langgraph_memory.redaction import Redact
from langgraph_memory.retrieval import Choice, RecallQuery
from langgraph_memory.store import ALL, kept_metadata, record_filter

MAX_QUERY_CHARACTERS = 2_000
"""How much of a query is looked for; a longer one is about too much to be found."""


def log(
    given: object,
    *,
    user: str,
    thread_id: str,
    at: datetime | None,
    episode: Episode | None,
    mark_of: Callable[[Owner, str], Mark],
) -> Log:
    """Return the messages that are to be logged; refuse an episode of somebody else."""
    moment, owner = None if at is None else as_utc(at, "at="), writer(user)
    if episode is not None and not (isinstance(episode, Episode) and episode.owner == owner):
        raise ConfigurationError(f"episode= is an Episode of the user {owner.id!r}, got {episode}")
    thread = check_thread_id(thread_id)
    return Log.of(as_messages(given), owner, thread, moment, mark_of(owner, thread))


def episode_from(
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
    check_one_of("outcome", outcome, OUTCOMES)
    thread = None if thread_id is None else check_thread_id(thread_id)
    score = None if quality_score is None else check_unit("quality_score", quality_score)
    return Episode(
        id=Episode.id_of(thread, check_turn_id(turn_id) or uuid.uuid4().hex),
        owner=writer(user),
        created_at=now,
        task=check_text("task", task, redact),
        approach=check_any_text("approach", approach, redact),
        outcome=outcome,
        duration_ms=None if duration_ms is None else check_count("duration_ms", duration_ms),
        token_cost=None if token_cost is None else check_count("token_cost", token_cost),
        quality_score=score,
        notes=check_any_text("notes", notes, redact),
        error=None if error is None else check_any_text("error", error, redact),
        thread_id=thread,
    )


def rating(score: float, outcome: Outcome | None, notes: str, redact: Redact) -> Rating:
    """Return what somebody thinks of an episode."""
    if outcome is not None:
        check_one_of("outcome", outcome, OUTCOMES)
    said = check_any_text("notes", notes, redact).strip()
    return Rating(check_unit("score", score), outcome, said)


def evaluated(answer: object, redact: Redact) -> Rating | None:
    """Return what an evaluator thinks of an episode; `None` if it does not judge it."""
    if answer is None:
        return None
    given = answer if isinstance(answer, Rating) else Rating(answer)  # type: ignore[arg-type]  # checked next
    return rating(*given, redact)


def note(
    text: str,
    *,
    user: str,
    kind: Kind,
    slot: str | None,
    importance: float,
    pinned: bool,
    metadata: Mapping[str, Any] | None,
    aliases: Iterable[str],
    sources: Sequence[str],
    project: str | None,
    agent: str | None,
    now: datetime,
    redact: Redact,
) -> Note:
    """Return a note that is to be remembered; its id is given when it is."""
    check_one_of("kind", kind, KINDS)
    return Note(
        id="",
        owner=writer(user, project, agent),
        text=check_text("text", text, redact),
        kind=kind,
        slot=None if slot is None else check_text("slot", slot, redact),
        importance=check_unit("importance", importance),
        pinned=check_flag("pinned", pinned),
        metadata={} if metadata is None else kept_metadata(metadata, redact),
        aliases=check_aliases(aliases, redact),
        sources=check_ids("sources", sources, redact),
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
    name, kept = _source(source, redact), check_any_text("text", text, redact)
    if not kept.strip():
        raise ConfigurationError(f"there is nothing in {name!r}; forget(source=...) deletes one")
    row, chunks = chunks_of(
        kept,
        owner=owner,
        source=name,
        language=language_of(name, language),
        author=check_id("user", user),
        metadata={} if metadata is None else kept_metadata(metadata, redact),
        now=now,
    )
    return Replacement(row, chunks)


def thread_arguments(user: str, thread_id: str | None) -> tuple[Owner, str | None]:
    """Return whose messages to look through, and of which thread."""
    return writer(user), None if thread_id is None else check_thread_id(thread_id)


def consolidated(user: object, project: object, agent: object, max_notes: object) -> Owner | None:
    """Return whose notes are to be consolidated; `None` for those of all owners."""
    check_count("max_notes", max_notes)
    if user is not None:
        return writer(user, project, agent)
    named: list[tuple[OwnerKind, object]] = [("project", project), ("agent", agent)]
    owners = [Owner(kind, check_id(kind, id)) for kind, id in named if id is not None]
    if len(owners) > 1:
        raise ConfigurationError("name one owner: pass project= or agent=, not both")
    return next(iter(owners), None)


def reflect_arguments(user: str, since: datetime | None) -> tuple[Owner, datetime | None]:
    """Return whose episodes to look at, and from when on."""
    return writer(user), None if since is None else as_utc(since, "since=")


def edits(
    *,
    text: str | None,
    kind: Kind | None,
    importance: float | None,
    pinned: bool | None,
    metadata: Mapping[str, Any] | None,
    aliases: Iterable[str] | None,
    redact: Redact,
) -> dict[str, Any]:
    """Return the fields of a note that are to be changed."""
    changes: dict[str, Any] = {}
    if text is not None:
        changes["text"] = check_text("text", text, redact)
    if kind is not None:
        check_one_of("kind", kind, KINDS)
        changes["kind"] = kind
    if importance is not None:
        changes["importance"] = check_unit("importance", importance)
    if pinned is not None:
        changes["pinned"] = check_flag("pinned", pinned)
    if metadata is not None:
        changes["metadata"] = kept_metadata(metadata, redact)
    if aliases is not None:
        changes["aliases"] = check_aliases(aliases, redact)
    if not changes:
        raise ConfigurationError("nothing to edit: pass text=, kind=, importance=, ...")
    return changes


def recall_query(given: RecallQuery, zone: tzinfo, redact: Redact) -> RecallQuery:
    """Return what a recall asks, checked, with its moments in the time zone of the memory."""
    if not isinstance(given.text, str):
        raise ConfigurationError(f"query is a text, got {type(given.text).__name__}")
    check_count("limit", given.limit)
    if given.min_relevance is not None:
        check_number("min_relevance", given.min_relevance)
    moment = None if given.as_of is None else as_utc(given.as_of, "as_of=")
    types, kinds, filter, thread = given.types, given.kinds, given.filter, given.thread_id
    return replace(
        given,
        text=check_any_text("query", given.text[:MAX_QUERY_CHARACTERS], redact),
        types=None if types is None else _types(types, TYPES),
        kinds=None if kinds is None else _kinds(kinds),
        filter=None if filter is None else record_filter(filter, types or TYPES, zone),
        limit=min(given.limit, ALL),
        as_of=moment,
        thread_id=None if thread is None else check_thread_id(thread),
        known=dict.fromkeys(given.known),
        now=in_zone(moment or given.now, zone),
    )


def precedents(outcome: Outcome | None, limit: int) -> dict[str, Any]:
    """Return how past tasks are recalled."""
    if outcome is not None:
        check_one_of("outcome", outcome, OUTCOMES)
    filter = None if outcome is None else {"outcome": outcome}
    return {"types": ("episode",), "filter": filter, "limit": limit}


def namespaces(owner: Owner, types: Sequence[RecordType] = TYPES) -> list[tuple[str, ...]]:
    """Return the namespaces of some types of an owner's records."""
    return [owner.namespace(type) for type in _types(types, tuple(RECORD_CLASSES))]


def choice(
    types: Sequence[RecordType],
    kinds: Sequence[Kind] | None,
    contains: str | None,
    filter: Mapping[str, Any] | None,
    status: str | None,
    limit: int,
    offset: int,
    zone: tzinfo,
) -> Choice:
    """Return which records are to be listed."""
    if contains is not None and not isinstance(contains, str):
        raise ConfigurationError(f"contains= is a text, got {contains!r}")
    if status is not None:
        check_one_of("status", status, STATUSES)
    check_count("limit", limit)
    check_count("offset", offset)
    types = _types(types, tuple(RECORD_CLASSES))
    return Choice(
        kinds=None if kinds is None else _kinds(kinds),
        contains=contains,
        filter=None if filter is None else record_filter(filter, types, zone),
        status=status,
    )


def forget_arguments(
    id: str | None,
    text: str | None,
    source: str | Path | None,
    everything: bool,
    sources: bool,
    redact: Redact,
) -> tuple[str | None, str | None]:
    """Return the text or source to forget as it was kept; refuse unless it is said what, once."""
    named = sum(each is not None for each in (id, text, source))
    if named + check_flag("everything", everything) != 1:
        raise ConfigurationError(
            "forget takes an id, text=, source= or everything=True: one of them"
        )
    if check_flag("sources", sources) and id is None and text is None:
        raise ConfigurationError("sources=True belongs to an id or to text=")
    if id is not None:
        check_record_id(id)
    return (
        None if text is None else check_text("text", text, redact),
        None if source is None else _source(source, redact),
    )


def erased(user: object, later: object) -> list[Owner]:
    """Return whom to erase, each once."""
    check_flag("later", later)
    several = isinstance(user, Iterable) and not isinstance(user, (str, bytes, bytearray))
    users = list(user) if several else [user]  # type: ignore[call-overload]
    if not users:
        raise ConfigurationError("user= names nobody to erase")
    return list(dict.fromkeys(Owner("user", check_id("user", each)) for each in users))


def _source(source: object, redact: Redact) -> str:
    """Return the name of a source as it is kept; that of a file is its path.

    Bytes of a path that are no text are escaped, so that two stay two.
    """
    if isinstance(source, PurePath):
        source = source.as_posix().encode(errors="backslashreplace").decode()
    return check_text("source", source, redact)


def _types(types: Sequence[RecordType], choices: Sequence[RecordType]) -> tuple[RecordType, ...]:
    check_each_of("types", types, choices)
    return tuple(dict.fromkeys(types))


def _kinds(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    check_each_of("kinds", kinds, KINDS)
    return tuple(kinds)
