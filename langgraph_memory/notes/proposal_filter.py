"""Which of the texts that a model proposes become notes: in a reply, by extraction, as lessons.

The model is trusted with nothing: what it wrote may be of any type, a question, a secret, its own
words or a copy of what it was told. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from langgraph_memory.records import normalise, united
from langgraph_memory.redaction import Redact
from langgraph_memory.retrieval import INTRODUCTION, NOTHING_ELSE, NOTHING_KNOWN
from langgraph_memory.text import HAN, KANA, QUESTION_MARKS, clean, has_number, has_time, one_line

MAX_REPLY_NOTES = 5
"""Notes of one reply; whoever tells more of themselves in one message tells a story."""

MAX_NOTE_CHARACTERS = 500
"""Of a note, which is one sentence; half a page of Chinese is no sentence any more."""

MAX_PROPOSED = 5
"""Aliases taken of what a model proposes for one note."""

_EMPTY = "no text"
_MAX_LOOKED_AT = 50
_SHOWN = 200

_NOTHING = frozenset({"", "null", "none", "undefined", "n/a", "nothing", "无", "没有"})
_CLOSING = " \"'”’」』)）.。"
_ASKING = (*QUESTION_MARKS, "吗")
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
        if reason is None and len(kept) == MAX_REPLY_NOTES:
            reason = f"more than {MAX_REPLY_NOTES} notes"
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
    return len(text) > MAX_NOTE_CHARACTERS


def _is_secret(text: str, redact: Redact) -> bool:
    return normalise(redact(text)) != normalise(text)


def _is_question(text: str, redact: Redact) -> bool:
    return text.rstrip(_CLOSING).endswith(_ASKING)


def _is_block(text: str, redact: Redact) -> bool:
    """Whether a text has the form of a line of the memory block, or is one of its own sentences."""
    return bool(_BLOCK_LINE.search(text)) or any(own in text for own in _BLOCK_TEXTS)


def _is_about_itself(text: str) -> bool:
    return bool(_ITSELF.match(normalise(text).replace("’", "'")))


_OBJECTIONS: tuple[tuple[str, Callable[[str, Redact], bool]], ...] = (
    (f"longer than {MAX_NOTE_CHARACTERS} characters", _is_long),
    ("a secret", _is_secret),
    ("a question", _is_question),
    ("a copy of the memory block", _is_block),
)


# -- the other words of a note ---------------------------------------------------------------------


_PROPOSED_CHARACTERS = 80
_PROPOSED_WORDS = 12

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_I = re.compile(r"i(?:['’]\w+)?")
# Korean has spaces between its words.
_SIGN = re.compile(f"[{KANA}{HAN}]")
# What asks for a number or a day gives none, and "k8s" and "i18n" are words.
_NO_FACT = re.compile(
    "(?:星期|礼拜|禮拜)?[几幾数數몇]|(?<![A-Za-z0-9])[A-Za-z]{1,3}[0-9]{1,2}[A-Za-z]*(?![0-9])"
)
_GERMAN = re.compile(r"\b(?:der|das|eine?|ist|wer|wie|wann|welche[rsn]?|meine?|nutzer(?:in)?)\b")


def proposed_aliases(given: object, said: Sequence[str], redact: Redact) -> tuple[str, ...]:
    """Return, of what a model gives as aliases, those that bring no facts of their own.

    They are searched and never shown. So they may be worded freely, but must not add facts:
    numbers, names or days that are not in what was said.

    Args:
        given: A list, or whatever the model made of it.
        said: The note, and the words that it rests on.
        redact: Takes secrets out of a text.

    Example:
        >>> given = ["What is in my coffee?", "drinks oat milk", "Buys milk at 9", "For my Anna"]
        >>> proposed_aliases(given, ["Drinks oat milk."], redact=str)
        ('What is in my coffee?', 'drinks oat milk')
    """
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list):
        return ()
    texts = (redact(clean(each)) for each in given if isinstance(each, str))
    told = set(map(normalise, said))
    new = (text for text in texts if _is_short(text) and normalise(text) not in told)
    return united(text for text in new if not _adds_facts(text, "\n".join(said)))[:MAX_PROPOSED]


def _is_short(text: str) -> bool:
    if not any(map(str.isalnum, text)) or "[redacted" in text:
        return False
    return len(text) <= _PROPOSED_CHARACTERS and len(_WORD.findall(text)) <= _PROPOSED_WORDS


def _adds_facts(text: str, said: str) -> bool:
    """Whether a text has a number, a day or a name that was not said."""
    new = _NO_FACT.sub(" ", _not_in(text, said))
    return has_number(new) or has_time(new) or any(_names(text, said))


def _not_in(text: str, said: str) -> str:
    """Return a text without the words, and the Chinese characters, that were said."""
    known = set(_words(said))
    rest = _WORD.sub(lambda word: " " if word[0].casefold() in known else word[0], text)
    return _SIGN.sub(lambda sign: " " if sign[0] in said else sign[0], rest)


def _names(text: str, said: str) -> Iterator[str]:
    """Yield the words that are written as a name inside a text, and were not said.

    In German each noun is, so it says nothing there.
    """
    if _GERMAN.search(said.casefold()) or _GERMAN.search(text.casefold()):
        return
    known = set(_words(said))
    for word in list(_WORD.finditer(text))[1:]:
        folded = word[0].casefold()
        if word[0][0].isupper() and folded not in known and not _I.fullmatch(folded):
            yield word[0]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
