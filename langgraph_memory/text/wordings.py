"""When two texts say the same in the same words, in whatever case and punctuation. Pure."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W_]+[+#]*")  # "10:12" is not "12:10", "C++" not "C"
_SHORTENED = re.compile(r"(?<=\w)['’](?:m|s|re)\b")  # "I'm", "it's": the verb is left out, as below
_PARTICLES = re.compile("[的了吗呢吧啊呀嘛么]")
_EMPTY = frozenset("a an the am is are just please also so really".split())


def wording(text: str) -> int:
    """Return a number that texts share which say the same in the same words.

    Left out are articles, forms of "to be" in the present, and Chinese particles. Pronouns,
    negation and numbers count: "I live in Graz" is neither "She lives in Graz" nor "I do not live
    in Graz". So does their order: "Tom is taller than Ana" is not "Ana is taller than Tom". What is
    repeated counts once.

    Returns:
        An integer of 64 bits that is the same within one process.

    Example:
        >>> wording("I'm allergic to nuts.") == wording("i am allergic to Nuts!")
        True
        >>> wording("I eat nuts") == wording("I do not eat nuts")
        False
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = dict.fromkeys(_WORD.findall(_PARTICLES.sub("", _SHORTENED.sub("", folded))))
    return hash(tuple(word for word in words if word not in _EMPTY) or folded.strip())
