"""How good the notes of a dialogue are, by its labels. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from difflib import SequenceMatcher

from benchmarks.dialogues import Dialogue, Label
from langgraph_memory.records.records import Note, normalise
from langgraph_memory.redaction import redact_secrets
from langgraph_memory.text.bm25 import query_tokens

OVERLAP = 0.6
"""Share of the shorter quote that two quotes have in one piece if they are about the same."""

LIKE = 0.6
"""Share of the words of a text to be left that a note has if it says the same."""

_HAN = re.compile("[\u4e00-\u9fff]")
_LATIN = re.compile("[A-Za-z]+")
_REDACTED = re.compile(r"\[redacted[^\]]*\]")
_OWN_WORDS = frozenset(query_tokens("the user's 用户"))


@dataclass
class Score:
    """What came out, in texts: so that a person can judge the judgement."""

    kept: list[str] = field(default_factory=list)
    """Labels that were found."""
    missed: list[str] = field(default_factory=list)
    """Labels that were not."""
    careless: list[str] = field(default_factory=list)
    """Notes that say what is to be left."""
    invented: list[str] = field(default_factory=list)
    """Other notes that match no label. Not all of them are wrong."""
    wrong_language: list[str] = field(default_factory=list)
    """Notes in another language than the label, or than the dialogue where none is matched."""
    secrets: list[str] = field(default_factory=list)
    """Notes with a secret that somebody said."""

    def counts(self) -> dict[str, int]:
        """Return how many there are of each."""
        return {each.name: len(getattr(self, each.name)) for each in fields(self)}


def score(dialogue: Dialogue, notes: Sequence[Note]) -> Score:
    """Compare the notes that came out of a dialogue with its labels.

    A note finds a label if it quotes the same words of the same speaker; its kind does not count.
    A quote that covers several labels finds those of which the note has half of the words, and in
    any case the one that is most like it. A note that is more like a text to be left is careless.
    """
    found: set[int] = set()
    result = Score()
    secrets = secrets_in(message.text for turn in dialogue.turns for message in turn)
    for note in notes:
        covered = {
            number: share(label.text, note.text)
            for number, label in enumerate(dialogue.keep)
            if label.role == note.said_by and same_words(label.quote, note.quote or "")
        }
        best = max(covered.values(), default=0.0)
        left = max((share(text, note.text) for text in dialogue.leave), default=0.0)
        language = dialogue.language
        if left >= LIKE and left > best:
            result.careless.append(note.text)
        elif covered:
            found |= {number for number, like in covered.items() if like >= min(best, 0.5)}
            language = language_of(dialogue.keep[max(covered, key=lambda n: covered[n])].text)
        else:
            result.invented.append(note.text)
        if language != "mixed" and language_of(note.text) != language:
            result.wrong_language.append(note.text)
        if any(secret in f"{note.text} {note.quote}" for secret in secrets):
            result.secrets.append(note.text)
    result.kept, result.missed = _split(dialogue.keep, found)
    return result


def same_words(first: str, second: str) -> bool:
    """Whether two quotes share a piece that is most of the shorter one."""
    a, b = (re.sub(r"\W+", "", normalise(quote)) for quote in (first, second))
    shorter = min(len(a), len(b))
    piece = SequenceMatcher(None, a, b, autojunk=False).find_longest_match()
    return shorter > 0 and piece.size >= OVERLAP * shorter


def share(label: str, text: str) -> float:
    """Return the share of a label's words that a text has, 0 to 1."""
    words = set(query_tokens(label)) - _OWN_WORDS
    return len(words & set(query_tokens(text))) / len(words) if words else 0.0


def language_of(text: str) -> str:
    """Return `zh` for a text with as many Chinese characters as Latin words, else `en`."""
    han = len(_HAN.findall(text))
    return "zh" if han and han >= len(_LATIN.findall(text)) else "en"


def secrets_in(texts: Iterable[str]) -> set[str]:
    """Return the passwords, keys and card numbers that are said in texts.

    Example:
        >>> secrets_in(["my password is hunter2, thanks", "tea"])
        {'hunter2'}
    """
    found: set[str] = set()
    for text in texts:
        around = "(.+?)".join(map(re.escape, _REDACTED.split(redact_secrets(text))))
        match = re.fullmatch(around, text, re.DOTALL)
        found |= set(match.groups()) if match else set()
    return found


def _split(labels: Sequence[Label], found: set[int]) -> tuple[list[str], list[str]]:
    kept = [label.text for number, label in enumerate(labels) if number in found]
    missed = [label.text for number, label in enumerate(labels) if number not in found]
    return kept, missed
