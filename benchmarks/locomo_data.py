"""Conversations in the format of LoCoMo, read from a file; none of it is in this repository.

LoCoMo (Maharana et al. 2024, https://arxiv.org/abs/2402.17753) is `data/locomo10.json` of
https://github.com/snap-research/LoCoMo, under CC BY-NC 4.0: long conversations between two people,
and questions with the ids of the messages that answer them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from langgraph_memory.messages.langchain import words
from langgraph_memory.records.records import long_date

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
ADVERSARIAL = 5

_NICKNAME = 3
"""The beginning of a name is taken for the name from so many letters on."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a conversation, the ids of the messages that answer it, and the answer."""

    text: str
    category: int
    evidence: frozenset[str]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """What was said at one time."""

    id: str
    at: datetime
    messages: tuple[HumanMessage, ...]
    """Each with its id in the data, and its speaker as `name`."""


@dataclass(frozen=True)
class Conversation:
    """All that two people said to each other, and what is asked about it."""

    id: str
    speakers: tuple[str, str]
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    """Those with evidence."""
    adversarial: tuple[str, ...]
    """Questions about the right people that the conversation does not answer."""
    observations: tuple[tuple[str, frozenset[str]], ...]
    """What an annotator noted, each with the messages that it was noted from."""

    @property
    def ended(self) -> datetime:
        """When the last session began."""
        return max(session.at for session in self.sessions)

    @property
    def asked(self) -> datetime:
        """When its questions are asked: the day after the last session."""
        return self.ended + timedelta(days=1)

    @cached_property
    def said(self) -> dict[str, str]:
        """Each message as "speaker: words", by its id."""
        return {
            str(message.id): f"{message.name}: {words(message)}"
            for session in self.sessions
            for message in session.messages
        }

    @cached_property
    def dated(self) -> dict[str, str]:
        """Each message as "[date] speaker: words", by its id."""
        days = {str(m.id): session.at for session in self.sessions for m in session.messages}
        return {id: f"[{long_date(days[id])}] {text}" for id, text in self.said.items()}


def read(path: Path, captions: bool = True) -> list[Conversation]:
    """Read all conversations of a file.

    Args:
        path: A JSON file in LoCoMo's format.
        captions: Whether a picture is an image block with its caption, or is left out. The words
            by which LoCoMo's makers looked for the picture are never used.

    Raises:
        ValueError: If the file is in another format.
    """
    try:
        return [_conversation(sample, captions) for sample in json.loads(path.read_text("utf-8"))]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is not in LoCoMo's format (expected its locomo10.json): {error!r}"
        ) from error


def evidence_ids(raw: Iterable[object], known: Collection[str]) -> frozenset[str]:
    """Return the ids that evidence names; what is written in other ways is put right.

    Example:
        >>> sorted(evidence_ids(["D1:3; D:2:04", "D9:9", "D"], {"D1:3", "D2:4"}))
        ['D1:3', 'D2:4']
    """
    parts = (part for each in raw for part in re.split(r"[;,\s]+", str(each)))
    found = (re.fullmatch(r"D:?(\d+):(\d+)", part) for part in parts)
    ids = (f"D{int(match[1])}:{int(match[2])}" for match in found if match)
    return frozenset(id for id in ids if id in known)


def renamed(question: str, asked_of: Sequence[str], now_of: Sequence[str]) -> str:
    """Return a question about other people: each name, or its beginning, is replaced.

    Example:
        >>> renamed("Did Mel ask Ana about anatomy?", ["Ana", "Melanie"], ["Tim", "Zoe"])
        'Did Zoe ask Tim about anatomy?'
    """
    new = dict(zip(asked_of, now_of, strict=True))

    def replaced(match: re.Match[str]) -> str:
        names = (name for name in new if name.startswith(match[0]))
        return next((new[name] for name in names), match[0])

    return re.sub(rf"\b[A-Z]\w{{{_NICKNAME - 1},}}\b", replaced, question)


def _conversation(sample: Mapping[str, Any], captions: bool) -> Conversation:
    told = sample["conversation"]
    sessions = tuple(_sessions(told, captions))
    known = {str(message.id) for session in sessions for message in session.messages}
    asked = [
        Question(
            each["question"],
            each["category"],
            evidence_ids(each["evidence"], known),
            str(each.get("answer", "")),
        )
        for each in sample["qa"]
    ]
    return Conversation(
        id=sample["sample_id"],
        speakers=(told["speaker_a"], told["speaker_b"]),
        sessions=sessions,
        questions=tuple(q for q in asked if q.evidence and q.category in CATEGORIES),
        adversarial=tuple(q.text for q in asked if q.category == ADVERSARIAL),
        observations=tuple(_observations(sample.get("observation", {}), known)),
    )


def _sessions(told: Mapping[str, Any], captions: bool) -> Iterator[Session]:
    for number in sorted(int(key[8:]) for key in told if re.fullmatch(r"session_\d+", key)):
        if told[f"session_{number}"]:
            written = told[f"session_{number}_date_time"]
            at = datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            said = tuple(_message(message, captions) for message in told[f"session_{number}"])
            yield Session(f"session-{number}", at, said)


def _message(message: Mapping[str, Any], captions: bool) -> HumanMessage:
    """Return what somebody said; both are people, so that the name alone tells them apart."""
    caption = message.get("blip_caption") if captions else None
    content: list[Any] = [{"type": "text", "text": message["text"]}]
    if caption:
        content.append({"type": "image", "caption": caption})
    return HumanMessage(
        content if caption else message["text"], name=message["speaker"], id=message["dia_id"]
    )


def _observations(
    observed: Mapping[str, Any], known: Collection[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    for of_session in observed.values():
        for of_speaker in of_session.values():
            for text, source in of_speaker:
                yield text, evidence_ids(source if isinstance(source, list) else [source], known)
