"""Which of an owner's notes say the same in nearly the same words: a pure rule over all of them.

It merges without anybody being asked, so it has to be right where a cosine is wrong ("allergic to
hazelnuts" and "to walnuts" are at .95). Two notes say the same if they have the same words but for
small ones, in the same order or with the end put first; or if one begins with all the words of the
other and adds a detail. What adds "only", "not" or the like is another statement, and so is a
detail in a language whose words for that are not listed.
`benchmarks/consolidation.py` has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from langgraph_memory.lexical import tokens
from langgraph_memory.records import Note, normalise
from langgraph_memory.similarity import wording

_LONGEST = 500
"""Characters of a note whose words are compared; a longer one is no sentence, and has to be equal
but for case, white space and its end."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(f"[{_CJK}]|[^\\s{_CJK}]+")
_POSSESSIVE = re.compile(r"'s\b|(?<=s)'(?=\s|$)")
_AROUND_WORDS = "\"'“”‘’()（）「」,;:，；：、!"
_BREAKS = frozenset(",;:，；：、(（")
_SMALL = frozenset(
    "a an the is are am be do does of in on at it where there that i my user".split()
)
_SMALL_CHINESE = "的"
_NEGATIONS = frozenset("no not never".split())
_BEGINS_A_DETAIL = frozenset(
    """a an the as at by for from in into of on to with and because since called named about above
    near during per which who whose that where""".split()
)
_RESTRICTS = " ".join(
    (
        "only just no not never without nothing none neither nor except unless less than but if",
        "when while until till instead anymore formerly used or hardly rarely seldom before after",
        "too nur nicht kein keine keinen nichts nie niemals ohne ausser aber sondern wenn bis",
        "statt selten kaum früher ne pas plus jamais sans sauf mais seulement si quand rarement",
        "pero sino solo sólo sin excepto salvo menos nunca jamás cuando hasta mas só somente não",
        "sem exceto quando até se ma non senza tranne mai finché maar alleen niet geen nooit",
        "zonder behalve tenzij als tot ale tylko nie bez oprócz nigdy men bara inte aldrig utan",
        "utom kun ikke uden undtagen но а только лишь не нет ни без кроме если никогда когда",
        "пока редко раньше але тільки ні ama sadece değil hariç asla",
    )
)
"""Words that deny or narrow what was said before them, in European languages, as `normalise` has
them. One too many keeps two notes apart; one too few merges "likes coffee" into its denial."""

_UNLISTED = "\u0370-\u03ff\u0590-\u0fff\u3040-\u30ff\uac00-\ud7af"
"""Letters of Greek, Hebrew, Arabic, Indian languages, Thai, Japanese, Korean: what denies in them
is not listed, or no word of its own."""

_CHANGES_THE_SENSE = re.compile(
    rf"\b(?:{'|'.join(_RESTRICTS.split())})\b|[{_UNLISTED}]"
    "|[不没沒無无非未别別勿只仅僅除但若却卻]|如果|以前|曾|很少|直到|可是|然而"
)


def may_be_one(note: Note, other: Note) -> bool:
    """Whether nothing but their texts can keep two notes apart: kind, slot, and until when."""
    if (note.kind, note.valid_until) != (other.kind, other.valid_until):
        return False
    return None in (note.slot, other.slot) or _slot(note) == _slot(other)


def best_first(notes: Iterable[Note]) -> list[Note]:
    """Return notes by what they tell: the longest first, then by who says it and what it is worth.

    Which of them is kept decides about the text alone: a note that is merged with others is pinned,
    and as important, as any of them.
    """
    return sorted(notes, key=_goodness, reverse=True)


Apart = Mapping[str, Set[str]]
"""By notes' ids: two that share anything here are not to be one."""


def are_apart(note: Note, other: Note, apart: Apart) -> bool:
    """Whether two notes are to stay two, whatever they say."""
    return not apart.get(note.id, frozenset()).isdisjoint(apart.get(other.id, ()))


def repeated(notes: Iterable[Note], apart: Apart = MappingProxyType({})) -> Iterator[list[Note]]:
    """Yield the groups of two and more notes that say the same, in each the best note first.

    Each of a group says no more than its best, compared with it directly: there are no chains. So
    what is best in its group is like none of the others, and looking again finds nothing. The words
    of an assistant do not take the place of a user's.

    Args:
        notes: Active notes of one owner.
        apart: Which of them are to stay apart.

    Example:
        >>> from datetime import UTC, datetime
        >>> from langgraph_memory.scope import Owner
        >>> def note(text):
        ...     now, ana = datetime.now(UTC), Owner("user", "ana")
        ...     return Note(
        ...         id=text, owner=ana, text=text, created_at=now, updated_at=now, valid_from=now
        ...     )
        >>> said = ["Has a dog.", "The user has a dog called Bruno.", "Has no dog."]
        >>> [[each.text for each in group] for group in repeated(map(note, said))]
        [['The user has a dog called Bruno.', 'Has a dog.']]
    """
    groups: list[_Group] = []
    found: dict[Hashable, list[_Group]] = {}
    for note in best_first(notes):
        wording = _wording(note.text)
        about = (note.kind, note.valid_until)
        same, shorter = (about, "same", wording.key), (about, "shorter", wording.words)
        near = (group for key in (same, shorter) for group in found.get(key, ()))
        group = next((group for group in near if group.takes(note, apart)), None)
        if group is not None:
            group.add(note)
            continue
        groups.append(_Group([note], _slot(note)))
        for key in (same, *((about, "shorter", each) for each in wording.beginnings)):
            found.setdefault(key, []).append(groups[-1])
    yield from (group.notes for group in groups if len(group.notes) > 1)


@dataclass(slots=True)
class _Group:
    notes: list[Note]
    slot: str | None

    def takes(self, note: Note, apart: Apart) -> bool:
        slot = _slot(note)
        fits = None in (self.slot, slot) or self.slot == slot
        if note.id in apart and any(are_apart(note, each, apart) for each in self.notes):
            return False
        return fits and self.notes[0].said_by in ("user", note.said_by)

    def add(self, note: Note) -> None:
        self.notes.append(note)
        self.slot = self.slot or _slot(note)


@dataclass(frozen=True, slots=True)
class _Wording:
    """A text as its words are compared."""

    words: tuple[str, ...]
    """In order, without small ones, and without the endings of most."""
    key: tuple[str, ...]
    """The same for the same words in the same order, or with the end put first: "In winter dark
    roast" and "Dark roast in winter", but not "tabs to spaces" and "spaces to tabs"."""
    beginnings: tuple[tuple[str, ...], ...]
    """The words before each place at which all the rest may be a mere detail."""


def _slot(note: Note) -> str | None:
    return None if note.slot is None else normalise(note.slot)


def _goodness(note: Note) -> tuple[object, ...]:
    length = len(_wording(note.text).words)
    said_by_user = note.said_by == "user"
    worth = (note.pinned, note.importance, len(note.text), note.updated_at)
    return (length, said_by_user, *worth, note.id)


@lru_cache(maxsize=4096)  # notes are compared more than once
def _wording(text: str) -> _Wording:
    text = _spelt_alike(text)
    words: list[str] = []
    ends: list[int] = []
    for match in _WORD.finditer(text) if len(text) <= _LONGEST else ():
        word = match.group().rstrip(_AROUND_WORDS)
        end = match.start() + len(word)
        word = word.lstrip(_AROUND_WORDS)
        if word and word not in _SMALL and word != _SMALL_CHINESE:
            words.append(_stem(word))
            ends.append(end)
    if not words:
        return _Wording((text,), (text,), ())
    key = min(words[i:] + words[:i] for i in range(len(words)))
    last = max((match.start() for match in _CHANGES_THE_SENSE.finditer(text)), default=-1)
    beginnings = [
        tuple(words[:count])
        for count, end in enumerate(ends, 1)
        if 1 < count < len(words) and last < end and _begins_a_detail(text[end:])
    ]
    return _Wording(tuple(words), tuple(key), tuple(beginnings))


def _spelt_alike(text: str) -> str:
    text = wording(text).replace("’", "'")
    text = text.replace("can't", "cannot").replace("cannot", "can not").replace("n't", " not")
    text = text.removeprefix("用户")
    return _POSSESSIVE.sub("", text)


def _stem(word: str) -> str:
    if word in _NEGATIONS:
        return "not"
    # "worked" and "working" say when: they are not "works".
    if not (word.isascii() and word.isalpha()) or word.endswith(("ed", "ing")):
        return word
    return next(iter(tokens(word)), word)


def _begins_a_detail(rest: str) -> bool:
    rest = rest.lstrip()
    return rest[:1] in _BREAKS or _first_word(rest) in _BEGINS_A_DETAIL


def _first_word(text: str) -> str:
    return text.split(maxsplit=1)[0] if text else ""
