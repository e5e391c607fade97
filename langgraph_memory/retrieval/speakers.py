"""The people who speak in a conversation, and which of them a question names.

A name is found by any whole word of it, so that "Zoë" finds "Zoë Marin"; one in Chinese, Japanese
or Korean, where words have no spaces between them, anywhere in the question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from langgraph_memory.text import CJK, query_tokens

_WORD = re.compile(r"\w+")


class Speakers:
    """Numbers for names, in the order in which they come up.

    Example:
        >>> speakers = Speakers()
        >>> speakers.number("Zoë Marin"), speakers.number("user"), speakers.number("Zoë Marin")
        (0, 1, 0)
        >>> speakers.named_in("What did Zoë's sister say?", {0, 1})
        ({0}, "What did  's sister say?")
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._by_word: dict[str, tuple[int, ...]] = {}
        self._unspaced: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, name: str) -> int:
        """Return the number of a speaker, a new one for a new name."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._numbers)
            self._add(_folded(name), number)  # last: whoever finds the number counts it as well
        return number

    def named_in(self, question: str, among: Collection[int]) -> tuple[set[int], str]:
        """Return the numbers of the speakers whom a question names, and what else it says.

        Args:
            question: What is asked.
            among: The speakers who can be meant: of others, all that they said may be gone.
        """
        rest = unicodedata.normalize("NFKC", question)
        folded = rest.casefold()
        found: set[int] = set()
        for name, number in self._unspaced.items():
            if number in among and name in folded:
                found.add(number)
                rest = re.sub(re.escape(name), " ", rest, flags=re.IGNORECASE)
                folded = rest.casefold()

        def without(match: re.Match[str]) -> str:
            numbers = [n for n in self._by_word.get(_folded(match[0]), ()) if n in among]
            if not numbers:
                return match[0]
            found.update(numbers)
            return " "

        return found, _WORD.sub(without, rest)

    def _add(self, name: str, number: int) -> None:
        if CJK.search(name):
            if len(name) > 1:  # one sign is a part of many words
                self._unspaced = {**self._unspaced, name: number}
            return
        for word in set(_WORD.findall(name)):
            if len(word) > 1 and query_tokens(word):  # "de" may be one, "the" is none
                self._by_word[word] = (*self._by_word.get(word, ()), number)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
