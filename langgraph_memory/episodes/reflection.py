"""Finished tasks to lessons: which are looked at, what is asked, what becomes of the answer. Pure.

The model proposes and the code decides, as in `extraction`. A lesson has to name tasks that were
shown; they are its sources. What becomes of it among the notes is decided by `drafts`. All that
follows is one batch of writes, whose last are the episodes: until then they are still to be done,
so whatever is interrupted is repeated, and ends in the same notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_memory.models import REFLECTION, escaped
from langgraph_memory.notes import (
    Candidate,
    ExtractionBatch,
    PairVerdicts,
    Settled,
    drawn_text,
    importance_of,
    plan_batch,
    read_items,
)
from langgraph_memory.records import Episode, Note, Owner
from langgraph_memory.redaction import Redact, no_redaction
from langgraph_memory.store import ALL, NewestOp, get_op, put_op, read_record
from langgraph_memory.text import has_han

PER_CALL = 20
"""Episodes that a model is shown at once."""
LOW_SCORE = 0.5
"""An episode that was judged lower went badly, whatever its outcome."""
MAX_LESSONS = 20
"""Taken of one answer; a model that gives more is running away."""

_SHOWN_CHARACTERS = 1_500  # of one part of an episode in the request: 30,000 tokens at most
_NUMBER = re.compile(r"(?<![\d.-])\d{1,4}(?![\d.]*\d)")


class DrawnLesson(BaseModel):
    """One lesson."""

    text: str = Field(description="One self-contained sentence, in the language of the tasks")
    tasks: list[int] = Field(description="The numbers of the tasks that show it")
    importance: float = Field(description="0 trivial, 0.5 useful, 1 critical")


class Reflected(BaseModel):
    """The lessons worth keeping; an empty list if there are none."""

    lessons: list[DrawnLesson]


# -- which episodes ------------------------------------------------------------------------------


def unreflected_op(owner: Owner) -> NewestOp:
    """Return the operation that brings what `unreflected` chooses from."""
    return NewestOp(owner.namespace("episode"), {"reflected_at": None}, ALL)


def unreflected(episodes: Iterable[Episode], since: datetime | None = None) -> list[Episode]:
    """Return the episodes that were not looked at for lessons, in the order in which they are.

    What went badly comes first, then what nobody judged, then what went well; of each the latest.

    Args:
        episodes: All episodes of an owner.
        since: Leaves out those of before.
    """
    new = [episode for episode in episodes if episode.reflected_at is None]
    wanted = [episode for episode in new if since is None or episode.created_at >= since]
    wanted.sort(key=lambda episode: (episode.created_at, episode.id), reverse=True)
    return sorted(wanted, key=_urgency)


def is_due(new: Sequence[Episode], every: int) -> bool:
    """Whether new episodes are to be looked at: there are enough, or one went badly."""
    return len(new) >= every or any(map(went_badly, new))


def went_badly(episode: Episode) -> bool:
    """Whether a task failed, or was judged to be done badly."""
    score = episode.quality_score
    return episode.outcome == "failure" or (score is not None and score < LOW_SCORE)


def reflection_batches(new: Sequence[Episode]) -> Iterator[Sequence[Episode]]:
    """Return episodes as they are shown to a model, `PER_CALL` at most at once."""
    for start in range(0, len(new), PER_CALL):
        yield new[start : start + PER_CALL]


def _urgency(episode: Episode) -> int:
    if went_badly(episode):
        return 0
    return 1 if episode.quality_score is None else 2


# -- the question and the answer -----------------------------------------------------------------


def reflection_request(episodes: Sequence[Episode]) -> list[BaseMessage]:
    """Return what to ask a model for the lessons of some episodes.

    It sees them under the numbers from 1 on, and no ids.
    """
    parts = [_format_episode(number, episode) for number, episode in enumerate(episodes, 1)]
    parts.append(f"\nThe lessons of tasks 1 to {len(episodes)}, if there are any.")
    if any(has_han(episode.task) for episode in episodes):
        parts.append("任务是中文的，经验也用中文写。")
    return [SystemMessage(REFLECTION), HumanMessage("\n".join(parts))]


def lessons(
    answer: object, episodes: Sequence[Episode], now: datetime, redact: Redact = no_redaction
) -> tuple[list[Candidate], list[str]]:
    """Return the lessons of a model's answer, and what was wrong with it.

    Args:
        answer: A message, a text, a `Reflected`, a dict or a list, however broken.
        episodes: Those that were shown, in the order of the request.
        now: From when on a lesson holds.
        redact: Takes secrets out of a text.

    Returns:
        Those that can be kept, and one line for each fault, without any of the texts.

    Raises:
        UnreadableAnswer: If nothing of the answer can be read.
    """
    read = partial(_lesson, episodes=episodes, now=now, redact=redact)
    return read_items(answer, MAX_LESSONS, read)


def _format_episode(number: int, episode: Episode) -> str:
    score = "" if episode.quality_score is None else f' score="{episode.quality_score:g}"'
    parts = {
        "Task": episode.task,
        "Approach": episode.approach,
        "Error": episode.error or "",
        "Notes": episode.notes,
    }
    lines = "\n".join(f"{name}: {escaped(_cut(part))}" for name, part in parts.items() if part)
    date = f"{episode.created_at:%Y-%m-%d}"
    return f'<task n="{number}" outcome="{episode.outcome}"{score} date="{date}">\n{lines}\n</task>'


def _cut(text: str) -> str:
    """Return a text without its middle if it is long: an error says at its end what it is."""
    half = _SHOWN_CHARACTERS // 2
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:half]} [...] {text[-half:]}"


def _lesson(
    item: object, episodes: Sequence[Episode], now: datetime, redact: Redact
) -> Candidate | str:
    """Return an item as a candidate, or what is wrong with it."""
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
    text, problem = drawn_text(fields.get("text"), redact)
    if problem:
        return problem
    numbers = dict.fromkeys(_numbers(fields.get("tasks")))
    sources = tuple(episodes[n - 1].id for n in numbers if 1 <= n <= len(episodes))
    if not sources:
        return "it names no task that was shown"
    importance = importance_of(fields.get("importance"))
    return Candidate(text, "lesson", None, importance, "", "user", now, None, sources)


def _numbers(given: object) -> Iterator[int]:
    """Yield the numbers that a model gave, in whatever form: `[1, 2]`, `"1, 2"`, `["task 1"]`."""
    if isinstance(given, Mapping | list):
        for each in given.values() if isinstance(given, Mapping) else given:
            yield from _numbers(each)
    elif isinstance(given, str):
        yield from (int(digits) for digits in _NUMBER.findall(given))
    elif isinstance(given, int | float) and not isinstance(given, bool) and given in range(10_000):
        yield int(given)


# -- the end -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reflection:
    """The lessons that some episodes would add, before they are compared with what is there."""

    owner: Owner
    episodes: tuple[Episode, ...]
    """As the model was shown them."""
    draft: ExtractionBatch

    @property
    def ops(self) -> dict[Any, Any]:
        """What has to be read before the lessons can be written."""
        episodes = [(each.owner.namespace("episode"), each.id) for each in self.episodes]
        return {address: get_op(*address) for address in episodes} | self.draft.ops

    def settle(self, found: Mapping[Any, Any], compared: PairVerdicts, now: datetime) -> Settled:
        """Decide what the lessons do to the memory.

        An episode that was forgotten, rated or reflected on since it was read is left as it is, and
        so is what was learnt from it; an episode that showed the same stays to be done.

        Args:
            found: What `ops` found.
            compared: What a model said of pairs of notes.
            now: The present moment.
        """
        as_read = {
            episode.id
            for episode in self.episodes
            if (item := found[episode.owner.namespace("episode"), episode.id]) is not None
            if read_record(item) == episode
        }
        notes = self.draft.notes
        left = [place for place, note in enumerate(notes) if set(note.sources) <= as_read]
        lost = {id for place, note in enumerate(notes) if place not in left for id in note.sources}
        near, taken = self.draft.neighbours(found)
        changes = plan_batch(notes, near, taken, compared.verdicts, left)
        known = {each.note.id: each.note for each_near in near for each in each_near}
        known |= {change.record.id: change.record for change in changes}
        done = [
            replace(episode, lessons=_drawn(episode, known.values()), reflected_at=now)
            for episode in self.episodes
            if episode.id in as_read - lost
        ]
        ids = tuple(episode.id for episode in done)
        return self.draft.settled(changes, ids, compared, now, last=map(put_op, done))


def _drawn(episode: Episode, notes: Iterable[Note]) -> tuple[str, ...]:
    """Return the ids of what was learnt from an episode, before and now."""
    held = (note for note in notes if note.status in ("active", "proposed"))
    new = (note.id for note in held if episode.id in note.sources)
    return tuple(dict.fromkeys((*episode.lessons, *new)))
