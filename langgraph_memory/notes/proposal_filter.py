"""Which of the texts that a model proposes become notes: in a reply, by extraction, as lessons.

The model is trusted with nothing: what it wrote may be of any type, a question, a secret, its own
words or a copy of what it was told. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langgraph_memory.records import normalise
from langgraph_memory.redaction import Redact
from langgraph_memory.retrieval import INTRODUCTION, NOTHING_ELSE, NOTHING_KNOWN
from langgraph_memory.text import clean, one_line

MAX_NOTES = 5
"""Notes of one reply; whoever tells more of themselves in one message tells a story."""

MAX_CHARACTERS = 500
"""Of a note, which is one sentence; half a page of Chinese is no sentence any more."""

_EMPTY = "no text"
_MAX_LOOKED_AT = 50
_SHOWN = 200

_NOTHING = frozenset({"", "null", "none", "undefined", "n/a", "nothing", "无", "没有"})
_CLOSING = " \"'”’」』)）.。"
_QUESTION_MARKS = ("?", "？", "؟", "吗")
_BLOCK_LINE = re.compile(r"^\W*\[\d{4}-\d\d-\d\d\] ", re.MULTILINE)
_BLOCK_TEXTS = (INTRODUCTION, NOTHING_KNOWN, NOTHING_ELSE)
_DID = (
    "is was has had will would can could should recommended suggested said offered answered "
    "explained told asked helped greeted acknowledged"
).replace(" ", "|")
_BOT = (
    r"(?:ai|artificial intelligence|(?:ai |virtual |helpful )*assistant|(?:large )?language model|"
    r"chatbot)"
)
_BOT_ZH = r"(?:(?:ai|人工智能|智能|虚拟)?(?:助手|(?:大型?)?语言模型)|ai|人工智能|聊天机器人)"
_ITSELF = re.compile(
    rf"(?:as|i am|i'm) an? {_BOT}(?=$|[^\w ]| (?:and|built|here|made|so|that|trained|who|with)\b)"
    rf"|(?:the |this )?(?:ai |virtual )?(?:assistant|chatbot|bot)(?:: | (?:{_DID})\b)"
    r"|i(?:'ll| will) (?:remember|note|keep|make sure|help|assist)\b"
    r"|i(?:'m| am) (?:happy|glad|here) to (?:help|assist)\b"
    rf"|(?:我只?是|作为)(?:一个|一名|一款)?{_BOT_ZH}(?=$|\W|[我不没无])"
    r"|(?:ai|智能|虚拟)?助手(?:是|会|将|可以|能|已|建议|推荐|表示|说|回答|告诉)"
    r"|我(?:会|将)(?:记住|记下|帮)"
)
"""What begins a sentence about the assistant: "I am an AI researcher" is about the user."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A proposed note that is not kept."""

    text: str
    """Without secrets, and shortened."""
    reason: str


def worth_keeping(proposed: Sequence[object], redact: Redact) -> tuple[list[str], list[Refused]]:
    """Return the texts to remember, each once, and what was refused.

    Example:
        >>> from langgraph_memory.redaction import redact_secrets
        >>> proposed = ["用户叫小明", "Which beans?", "My password is hunter2"]
        >>> kept, refused = worth_keeping(proposed, redact_secrets)
        >>> kept, [each.reason for each in refused]
        (['用户叫小明'], ['a question', 'a secret'])
    """
    kept: dict[str, str] = {}
    refused: list[Refused] = []
    for each in proposed[:_MAX_LOOKED_AT]:
        text, reason = proposed_text(each, redact)
        same = normalise(text)
        if reason == _EMPTY or same in kept:
            continue
        if reason is None and _is_about_itself(text):
            reason = "about the assistant itself"  # extraction may quote what that promised
        if reason is None and len(kept) == MAX_NOTES:
            reason = f"more than {MAX_NOTES} notes"
        if reason is None:
            kept[same] = text
        else:
            refused.append(Refused(redact(text)[:_SHOWN], reason))
    return list(kept.values()), refused


def proposed_text(given: object, redact: Redact) -> tuple[str, str | None]:
    """Return a text as a note has it, and why it is none; `None` if it may be one."""
    if not isinstance(given, str):
        return "", f"no text, but a {type(given).__name__}"
    text = clean(given)
    if normalise(text) in _NOTHING or not one_line(text):
        return text, _EMPTY
    return text, next((reason for reason, applies in _OBJECTIONS if applies(text, redact)), None)


def drawn_text(given: object, redact: Redact) -> tuple[str, str | None]:
    """As `proposed_text`, of what is drawn from texts that secrets were taken out of before."""
    text, reason = proposed_text(given, redact)
    return text, reason or ("a secret" if "[redacted" in text else None)


def _is_long(text: str, redact: Redact) -> bool:
    return len(text) > MAX_CHARACTERS


def _is_secret(text: str, redact: Redact) -> bool:
    return normalise(redact(text)) != normalise(text)


def _is_question(text: str, redact: Redact) -> bool:
    return text.rstrip(_CLOSING).endswith(_QUESTION_MARKS)


def _is_block(text: str, redact: Redact) -> bool:
    """Whether a text has the form of a line of the memory block, or is one of its own sentences."""
    return bool(_BLOCK_LINE.search(text)) or any(own in text for own in _BLOCK_TEXTS)


def _is_about_itself(text: str) -> bool:
    return bool(_ITSELF.match(normalise(text).replace("’", "'")))


_OBJECTIONS: tuple[tuple[str, Callable[[str, Redact], bool]], ...] = (
    (f"longer than {MAX_CHARACTERS} characters", _is_long),
    ("a secret", _is_secret),
    ("a question", _is_question),
    ("a copy of the memory block", _is_block),
)
