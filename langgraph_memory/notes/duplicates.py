"""Which of an owner's notes say the same in the same words: a pure rule over all of them.

It merges without anybody being asked, so nothing may be lost by it. Two notes say the same if they
are equal but for case, punctuation, articles and the like, the endings of plurals and of verbs, a
time or place put first, and who it is that every note is about ("The user ...", "我..."). A word
more is another statement: "Allergic to nuts" is not "Allergic to nuts in raw form". What is pinned
or critical gives way to nothing. `benchmarks/consolidation.py` has the figures.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from langgraph_memory.notes.similarity import without_end
from langgraph_memory.records import Note, is_kept_anyway, normalise
from langgraph_memory.text import HAN, KANA

_LONGEST = 500
"""Characters of a note whose words are compared; a longer one is no sentence, and has to be equal
but for case, white space and its end."""

_CJK = KANA + HAN
_WORD = re.compile(f"[{_CJK}]|[^\\s{_CJK}]+")
_MARKS = ",;:()（）「」“”，：；、!"
_QUOTES = "\"'‘’"
_END = re.compile(r"(?<=[\w)」”\"'])[.!。]+$")
_FRONT = re.compile(
    r"^((?:in|on|at|by|for|from|with|without|during|before|after|since|until|when|if|every|each)\b"
    r"[^,]*), *([^,]+)$",
    re.IGNORECASE,
)
_VERB = (
    r"(?:(?:is|has|can|cannot|can't|could|will|would|should|must|may|had|did|never|always|not)\b"
    r"|[a-z]+(?:s|ed)\b(?! (?:are|were|have|must|should|can|may|will)\b))"
)
_SUBJECT = re.compile(
    rf"^(?:(?:the )?user(?:'s (?!guide|manual)| (?={_VERB}))|(?:i(?:'m| am)?|my) "
    "|用户(?!们|名|数|组|端|量|表|界|群|账|密|信息|画像|反馈|权限|手册|增长|中心|协议|登录|注册|研究"
    "|管理|行为|体验|服务|接口|模|系统)的?|我(?![们們国國])的?) *",
    re.IGNORECASE,
)
"""Who a note is about; not "The user interface is dark", 用户数据库."""
_PARTICLES = re.compile(f"(?<=[{_CJK}])[了啦呀啊哦喔哟嘛]+$")
"""With which Chinese ends a sentence; not 吗, 呢 and 吧, which ask and doubt."""

_SMALL = frozenset("a an the is are do does 的".split())
_ALIKE = {"never": "not", "has": "have", "goes": "go"}


def same_words(text: str, other: str) -> bool:
    """Whether two texts say the same in the same words.

    Example:
        >>> same_words("My sister lives in Graz", "The user's sister lives in Graz.")
        True
        >>> same_words("Allergic to nuts", "Allergic to nuts in raw form")
        False
    """
    return without_end(text) == without_end(other) or compared_words(text) == compared_words(other)


def may_be_one(note: Note, other: Note) -> bool:
    """Whether nothing but their texts can keep two notes apart: kind, slot, and until when."""
    if (note.kind, note.valid_until) != (other.kind, other.valid_until):
        return False
    return None in (note.slot, other.slot) or _slot(note) == _slot(other)


def best_first(notes: Iterable[Note]) -> list[Note]:
    """Return notes by which of them is to be kept: what is pinned or critical, then the user's own.

    Then the longest, the most important, the newest. It decides about text and id alone: a note
    that others are merged into is as important as any of them.
    """
    return sorted(notes, key=_goodness, reverse=True)


Apart = Mapping[str, Set[str]]
"""By notes' ids: two that share anything here are not to be one."""


def are_apart(note: Note, other: Note, apart: Apart) -> bool:
    """Whether two notes are to stay two, whatever they say."""
    return not apart.get(note.id, frozenset()).isdisjoint(apart.get(other.id, ()))


def repeated(notes: Iterable[Note], apart: Apart = MappingProxyType({})) -> Iterator[list[Note]]:
    """Yield the groups of two and more notes that say the same, in each the best note first.

    Each of a group says what its best says, compared with it directly: there are no chains. So
    what is best in its group is like none of the others, and looking again finds nothing. What is
    pinned or critical is nowhere but best, and the words of an assistant do not take the place of a
    user's.

    Args:
        notes: Active notes of one owner.
        apart: Which of them are to stay apart.

    Example:
        >>> from datetime import UTC, datetime
        >>> from langgraph_memory.records.owners import Owner
        >>> def note(text):
        ...     now, ana = datetime.now(UTC), Owner("user", "ana")
        ...     return Note(
        ...         id=text, owner=ana, text=text, created_at=now, updated_at=now, valid_from=now
        ...     )
        >>> said = ["Has a dog.", "The user has a dog", "Has a dog called Bruno.", "Has no dog."]
        >>> [[each.text for each in group] for group in repeated(map(note, said))]
        [['The user has a dog', 'Has a dog.']]
    """
    groups: list[_Group] = []
    found: dict[Hashable, list[_Group]] = {}
    for note in best_first(notes):
        about = (note.kind, note.valid_until)
        keys = ((about, without_end(note.text)), (about, compared_words(note.text)))
        near = (group for key in keys for group in found.get(key, ()))
        group = next((group for group in near if group.takes(note, apart)), None)
        if group is not None:
            group.add(note)
            continue
        groups.append(_Group([note], _slot(note)))
        for key in keys:
            found.setdefault(key, []).append(groups[-1])
    yield from (group.notes for group in groups if len(group.notes) > 1)


@dataclass(slots=True)
class _Group:
    notes: list[Note]
    slot: str | None

    def takes(self, note: Note, apart: Apart) -> bool:
        if is_kept_anyway(note):
            return False
        slot = _slot(note)
        fits = None in (self.slot, slot) or self.slot == slot
        if note.id in apart and any(are_apart(note, each, apart) for each in self.notes):
            return False
        return fits and self.notes[0].said_by in ("user", note.said_by)

    def add(self, note: Note) -> None:
        self.notes.append(note)
        self.slot = self.slot or _slot(note)


def _slot(note: Note) -> str | None:
    return None if note.slot is None else normalise(note.slot)


def _goodness(note: Note) -> tuple[object, ...]:
    by_user, length = note.said_by == "user", len(compared_words(note.text))
    worth = (note.pinned, note.importance, len(note.text), note.updated_at)
    return (is_kept_anyway(note), by_user, length, *worth, note.id)


@lru_cache(maxsize=4096)  # notes are compared more than once
def compared_words(text: str) -> tuple[str, ...]:
    """Return the words of a text as they are compared; of none, or too many, the text itself."""
    plain = " ".join(unicodedata.normalize("NFKC", text).split()).replace("’", "'")
    if len(plain) > _LONGEST:
        return ("", without_end(text))
    plain = _PARTICLES.sub("", _END.sub("", plain))
    ordered = _FRONT.sub(r"\2 \1", plain)
    told = _SUBJECT.sub("", ordered)
    bare = [_bare(match.group()) for match in _WORD.finditer(_spelt_out(told))]
    words = [word for word in bare if word]
    begins = told == plain  # with the word that has a capital for that
    kept = [_inflected(word, first=begins and not i) for i, word in enumerate(words)]
    return tuple(filter(None, kept)) or ("", without_end(text))


def _spelt_out(text: str) -> str:
    """Return a text without contractions of "not"."""
    return re.sub(r"can't|cannot", "can not", text, flags=re.IGNORECASE).replace("n't", " not")


def _bare(word: str) -> str:
    """Return a word without the marks around it; behind a digit, quotes are feet and inches."""
    word = word.strip(_MARKS)
    return word if word[:1].isdigit() else word.strip(_MARKS + _QUOTES)


def _inflected(word: str, *, first: bool) -> str:
    """Return what is left of a word without its ending, nothing of a small one.

    A capital within a sentence is a name, and "A" a blood type.
    """
    folded = word.casefold()
    if word != folded and not first:
        return folded
    if folded in _SMALL:
        return ""
    if folded in _ALIKE:
        return _ALIKE[folded]
    if not (folded.isascii() and folded.isalpha()) or len(folded) < 4:
        return folded
    if folded.endswith("ies") and len(folded) > 4:
        return f"{folded[:-3]}y"
    if folded.endswith(("xes", "zes", "ches", "shes")):
        return folded[:-2]
    return folded if folded.endswith(("ss", "us", "is")) else folded.removesuffix("s")
