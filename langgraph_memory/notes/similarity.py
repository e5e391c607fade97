"""When two notes are one, and when a model has to be asked: the only place that says so. Pure.

Two texts say the same in the same words (`same_words`) if they are equal but for case, punctuation,
articles and the like, the endings of plurals and of verbs, a time or place put first, and who it is
that every note is about ("The user ...", "我..."). A word more is another statement: "Allergic to
nuts" is not "Allergic to nuts in raw form". A new note is taken for an old one by less: case, white
space, width and the punctuation at the end (`says_the_same`).

Words say whether two notes are one; the cosine of their vectors says only whether a model is worth
asking. It cannot say more: to the embedded default "Is allergic to hazelnuts" and "Is allergic to
walnuts" are at .95, "Prefers tabs to spaces" and "Prefers spaces to tabs" at .99, and the same fact
in other words mostly below .75. So another number, day, name, negation or order of words is never
merged without being asked about, in any language. `benchmarks/reconcile.py` has the figures.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from langgraph_memory.records import Note, normalise
from langgraph_memory.text import HAN, KANA

Judgement = Literal["same", "ask", "apart"]
"""`same`: one note, said again. `ask`: the new note may repeat, replace or deny the old one, and a
model can tell; without one both stay, unless they share a slot. `apart`: both stay."""


@dataclass(frozen=True, slots=True)
class SimilarityThreshold:
    """What the cosine similarities of one embedder are worth."""

    ask_from: float
    """From which similarity on a model is asked; notes less alike are apart, unless they share a
    slot."""


ASK_EMBEDDED = SimilarityThreshold(ask_from=0.35)
"""For the embedded default: the highest multiple of .05 at which, without any slots, 90 % of the
repetitions, updates and contradictions in half "a" of `benchmarks/sets/pairs.jsonl` are not
apart (.91; with the slots that belong to them, .99)."""

ASK_ALWAYS = SimilarityThreshold(ask_from=-1.0)
"""For embedders that nobody measured: nothing is apart. Some put all texts above .7, so no other
value is safe; how many neighbours are looked at bounds what a model is asked."""

ASK_NEVER = SimilarityThreshold(ask_from=math.inf)
"""For stores that do not search by meaning: what they bring up is any note, and not worth asking
about."""

ASK_E5 = SimilarityThreshold(ask_from=0.4)
"""For `UniversalAndE5`, chosen in the same way (.92)."""

_THRESHOLDS = {"use-multilingual-v3": ASK_EMBEDDED, "use-multilingual-v3+e5-small-q4": ASK_E5}

# Behind a word only: what "ends with ." means hangs on it. Not "?": a doubt is another note.
_END = re.compile(r"(?<=\w)[.!。]+$")


def threshold_of(embedder: str) -> SimilarityThreshold:
    """Return the threshold of an embedder, by the name that its `Fingerprint` has."""
    return _THRESHOLDS.get(embedder, ASK_ALWAYS)


def judge(
    new: Note, old: Note, cosine: float, threshold: SimilarityThreshold = ASK_EMBEDDED
) -> Judgement:
    """Compare two active notes of one owner; which of them is the new one makes no difference.

    Notes of two kinds or with two slots are never the same: "Rosario" as home city and as birth
    place are two. Notes that share a slot are never apart: it has one value.

    Args:
        new: The note that comes in.
        old: A note that is there.
        cosine: The similarity of the vectors of their `search_text`, which begins with the slot.
        threshold: What that similarity is worth; see `threshold_of`.

    Example:
        >>> from datetime import UTC, datetime
        >>> from langgraph_memory.records.owners import Owner
        >>> def note(text):
        ...     now, ana = datetime.now(UTC), Owner("user", "ana")
        ...     return Note(
        ...         id="", owner=ana, text=text, created_at=now, updated_at=now, valid_from=now
        ...     )
        >>> judge(note("Drinks tea."), note("drinks tea"), 0.95)
        'same'
        >>> judge(note("Drinks no tea."), note("Drinks tea."), 0.95)
        'ask'
        >>> judge(note("Has a dog."), note("Drinks tea."), 0.05)
        'apart'
    """
    if says_the_same(new, old):
        return "same"
    return "ask" if same_slot(new, old) or cosine >= threshold.ask_from else "apart"


def says_the_same(new: Note, old: Note) -> bool:
    """Whether `judge` finds two notes the same, which no cosine has a part in."""
    alike = new.kind == old.kind and without_end(new.text) == without_end(old.text)
    return alike and not slots_differ(new, old)


def same_text(note: Note, other: Note) -> bool:
    """Whether two notes have one text, but for case, white space and width, as they are found.

    "Rosario" as home city and as birth place are two.
    """
    alike = note.kind == other.kind and normalise(note.text) == normalise(other.text)
    return alike and not slots_differ(note, other)


def may_be_one(note: Note, other: Note) -> bool:
    """Whether nothing but their texts can keep two notes apart: kind, slot, and until when."""
    if (note.kind, note.valid_until) != (other.kind, other.valid_until):
        return False
    return not slots_differ(note, other)


def same_slot(note: Note, other: Note) -> bool:
    """Whether both notes say a value of the same slot."""
    return note.slot is not None and slot_name(note) == slot_name(other)


def slots_differ(note: Note, other: Note) -> bool:
    """Whether two notes are about different attributes; one without a slot may be about any."""
    return None not in (note.slot, other.slot) and slot_name(note) != slot_name(other)


def slot_name(note: Note) -> str | None:
    """Return the slot of a note as slots are compared."""
    return None if note.slot is None else normalise(note.slot)


# -- the words of two texts ----------------------------------------------------------------------


def without_end(text: str) -> str:
    """Return a text as `normalise` does, without the punctuation at its end."""
    return _END.sub("", normalise(text))


_LONGEST = 500
"""Characters of a note whose words are compared; a longer one is no sentence, and has to be equal
but for case, white space and its end."""

_CJK = KANA + HAN  # Korean has spaces between its words
_WORD = re.compile(f"[{_CJK}]|[^\\s{_CJK}]+")
_MARKS = ",;:()（）「」“”，：；、!"
_QUOTES = "\"'‘’"
_FULL_STOP = re.compile(r"(?<=[\w)」”\"'])[.!。]+$")
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


@lru_cache(maxsize=4096)  # notes are compared more than once
def compared_words(text: str) -> tuple[str, ...]:
    """Return the words of a text as they are compared; of none, or too many, the text itself."""
    plain = " ".join(unicodedata.normalize("NFKC", text).split()).replace("’", "'")
    if len(plain) > _LONGEST:
        return ("", without_end(text))
    plain = _PARTICLES.sub("", _FULL_STOP.sub("", plain))
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
