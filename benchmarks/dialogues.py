"""The labelled dialogues, and models that answer with their labels."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langgraph_memory.models.prompts import RECONCILING

FILE = Path(__file__).with_name("sets") / "dialogues.jsonl"

Answer = dict[str, Any]

_SHOWN = re.compile(r'<message n="(\d+)" role="(\w+)"[^>]*>(.*?)</message>', re.DOTALL)
_REMARK = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")


@dataclass(frozen=True)
class Label:
    """A note that should come out of a dialogue."""

    text: str
    quote: str
    role: str
    """Whose words are quoted: `user` or `assistant`."""
    fields: Mapping[str, Any]
    """As they stand in the file: `kind`, `slot`, `valid_until` ..."""


@dataclass(frozen=True)
class Dialogue:
    """A conversation, what is to be kept of it, and what is to be left."""

    id: str
    language: str
    """`en`, `zh` or `mixed`."""
    began: datetime
    turns: tuple[tuple[BaseMessage, ...], ...]
    """Each begins with what the user says."""
    keep: tuple[Label, ...]
    leave: tuple[str, ...]
    """Without the remarks why."""

    @property
    def time_zone(self) -> str:
        """The name of a zone with the offset of this dialogue; all are whole hours."""
        offset = self.began.utcoffset()
        hours = round(offset.total_seconds() / 3600) if offset else 0
        return f"Etc/GMT{-hours:+d}" if hours else "UTC"  # the database counts westwards


def dialogues(limit: int | None = None) -> list[Dialogue]:
    """Return the dialogues of the file, all or the first of each language in turn."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    read = [_dialogue(json.loads(line)) for line in lines]
    read.sort(key=lambda each: (int(each.id.split("-")[1]), each.language))
    return read[:limit]


def _dialogue(line: Mapping[str, Any]) -> Dialogue:
    turns: list[list[BaseMessage]] = []
    for number, message in enumerate(line["messages"], 1):
        id = f"{line['id']}-{number}"
        if message["role"] == "user":
            turns.append([HumanMessage(message["text"], id=id)])
        else:
            turns[-1].append(AIMessage(message["text"], id=id))
    return Dialogue(
        id=line["id"],
        language=line["language"],
        began=datetime.fromisoformat(line["time"]),
        turns=tuple(map(tuple, turns)),
        keep=tuple(Label(each["text"], each["quote"], each["role"], each) for each in line["keep"]),
        leave=tuple(_REMARK.sub("", text) for text in line["leave"]),
    )


def labels_in(asked: Sequence[BaseMessage], labels: Iterable[Label]) -> list[tuple[int, Label]]:
    """Return the labels that rest on the messages of a request, with their numbers in it."""
    shown = _SHOWN.findall(asked[-1].text)
    return [
        (int(number), label)
        for label in labels
        for number, role, text in shown
        if role == label.role and label.quote in text
    ]


Script = Callable[[list[BaseMessage]], Answer]


def faithful(labels: Sequence[Label]) -> Script:
    """Return a model's script that answers with the labels, and merges nothing."""

    def answer(asked: list[BaseMessage]) -> Answer:
        if asked[0].text == RECONCILING:
            return {"pairs": []}
        return {"notes": [_item(number, label) for number, label in labels_in(asked, labels)]}

    return answer


def careless(labels: Sequence[Label], leave: Sequence[str]) -> Script:
    """Return one that also answers with what is to be left, in words that nobody said."""
    right = faithful(labels)

    def answer(asked: list[BaseMessage]) -> Answer:
        made_up = [
            {"message": 1, "quote": f"{text} (or so)", "text": text, "kind": "fact"}
            for text in leave
        ]
        answered = right(asked)
        return {"notes": [*answered["notes"], *made_up]} if "notes" in answered else answered

    return answer


def _item(number: int, label: Label) -> Answer:
    kept = {name: label.fields[name] for name in ("text", "quote", "kind", "slot", "valid_until")}
    return {"message": number, "importance": 0.5, "valid_from": None, **kept}
