"""Words in common: tokens of any language, and an inverted index that grows a record at a time.

Separate from the vectors because names, numbers and rare words, which embedders blur, are what
people ask a memory for. The index never forgets a row: whoever owns it knows which rows are alive.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import Any, NamedTuple, TypeVar

import numpy as np
import Stemmer
from numpy.typing import NDArray

from langgraph_memory.text.chinese import HAN, HANGUL, KANA, RARE_HAN, simplified

K1 = 0.9
"""How fast repetitions of a word stop counting (BM25; value of Anserini, Yang et al. 2017)."""

B = 0.4
"""How much long records are discounted (BM25; value of Anserini, Yang et al. 2017)."""

PRIOR_RECORDS = 200
"""Records that a memory is taken to have on top of those it has, none with any of the words: in a
memory of three notes a word that occurs in one of them is not a common word."""

# Accents that are left after normalisation, and vowel points: a text has them or not.
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]")
# Blocks whose vowel signs are no letters for Python, without their punctuation.
_BRAHMIC = "\u0900-\u0963\u0966-\u0dff\u0e01-\u0e4e\u0e80-\u0eff\u1000-\u1049\u1780-\u17d3"
_CJK = KANA + HAN + HANGUL + RARE_HAN
# A run of CJK, or a word or sign; plain letters are matched in one step, not one by one.
_TOKEN = re.compile(
    f"([{_CJK}]+)"
    f"|((?:[a-z0-9]+|[^\\W_{_CJK}]|[{_BRAHMIC}])++(?:['’][^\\W\\d_{_CJK}]+)*[+#]*"
    "|[\u2600-\u27bf\U0001f300-\U0001faff])"
)
_ENGLISH_STOP_WORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being but by can
    could did do does doing don't down for from further get got had has have having he her here hers
    him his how i i'd i'll i'm i've if in into is isn't it it's its just let me more most my no nor
    not now of off on once only or other our out over own please same she should so some such than
    that that's the their them then there these they this those through to too under until up us
    very was wasn't we were what what's when where which while who whom why will with would you
    you're your yours""".split()
)
# Characters that carry grammar rather than content: a run of Chinese is cut at them.
_CHINESE_FUNCTION = re.compile(
    "[的了吗呢吧啊呀嘛么是在我你您他她它们和与就都也还很这那哪谁什怎请把被]"
)
_STEMMER_BY_SCRIPT = (
    (re.compile("[a-z]"), "english"),
    (re.compile("[\u0400-\u04ff]"), "russian"),
    (re.compile("[\u0600-\u06ff]"), "arabic"),
)
Alive = NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

_stemmers = threading.local()  # a Stemmer object serves one thread at a time


def tokens(text: str) -> list[str]:
    """Return the index terms of a text, in order, with repetitions.

    Words are NFKC-normalised, case-folded and stemmed (English, Russian, Arabic), British ones as
    American; English stop words are left out. Chinese, Japanese and Korean give single characters
    and overlapping pairs, traditional characters as their simplified forms.

    Example:
        >>> tokens("She was roasting C++ beans")
        ['roast', 'c++', 'bean']
        >>> tokens("摩卡壶")
        ['摩', '卡', '壶', '摩卡', '卡壶']
        >>> tokens("摩卡壺") == tokens("摩卡壶")
        True
    """
    return [term for single, pairs in _runs(text) for term in (*single, *pairs)]


def query_tokens(text: str) -> list[str]:
    """Return the terms to look for: as `tokens`, but a CJK character alone only where it stands so.

    Example:
        >>> query_tokens("我的摩卡壶怎么磨？")
        ['摩卡', '卡壶', '磨']
    """
    return [term for single, pairs in _runs(text) for term in (pairs or single)]


def _runs(text: str) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield the term of each word, or the characters and pairs of each unbroken run of CJK."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    for cjk, word in _TOKEN.findall(_MARKS.sub("", folded)):
        if word:
            if (term := _term(word)) is not None:
                yield (term,), ()
            continue
        for piece in _CHINESE_FUNCTION.split(simplified(cjk)):
            if piece:
                yield piece, [piece[i : i + 2] for i in range(len(piece) - 1)]


@lru_cache(maxsize=65_536)
def _term(word: str) -> str | None:
    """Return the term of a word or sign, or `None` for a stop word."""
    word = word.replace("’", "'")
    if word in _ENGLISH_STOP_WORDS:
        return None
    for script, language in _STEMMER_BY_SCRIPT:
        if script.search(word):
            stemmer = getattr(_stemmers, language, None)
            if stemmer is None:
                stemmer = Stemmer.Stemmer(language)
                setattr(_stemmers, language, stemmer)
            word = word.removesuffix("'s")
            return str(stemmer.stemWord(american(word) if word.isascii() else word))
    return word


def idf(documents: int, frequency: int) -> float:
    """Return how much a term tells: BM25's inverse document frequency, never negative.

    `log(1 + (N - n + .5) / (n + .5))` as in Lucene, with `PRIOR_RECORDS` added to `N`.
    """
    return log(1 + (documents + PRIOR_RECORDS - frequency + 0.5) / (frequency + 0.5))


class Postings(NamedTuple):
    """Where some terms occur: an entry for each term and row, of shape `(entries,)`."""

    term: NDArray[np.intp]
    """Which of the terms it is, ascending."""
    row: NDArray[np.int32]
    """Ascending for each term."""
    times: NDArray[np.float32]
    """How often the row has it."""


def summed(row: NDArray[Any], points: NDArray[Any], rows: int) -> NDArray[np.float32]:
    """Return the sum of the points of each row, of shape `(rows,)`."""
    return np.bincount(row, points, rows).astype(np.float32)


class LexicalIndex:
    """An inverted index of rows `0, 1, 2, ...`; readers need no lock while one writer appends.

    A reader passes which of the rows that it knows of are alive: later rows do not exist for it,
    and dead ones do not count.

    Example:
        >>> index = LexicalIndex()
        >>> index.extend([tokens("ground for a moka pot"), tokens("shipped to Rosario")])
        >>> alive = np.ones(2, np.bool_)
        >>> weights = query_weights("moka", [(index, alive)])
        >>> bm25, coverage = index.scores(weights, alive)
        >>> coverage.tolist()
        [1.0, 0.0]
    """

    def __init__(self) -> None:
        self._postings: dict[str, _Posting] = {}
        self._lengths = np.zeros(64, np.float32)
        self._rows = 0

    def extend(self, rows: Sequence[Sequence[str]]) -> None:
        """Append rows, each given as its terms."""
        start, end = self._rows, self._rows + len(rows)
        lengths = np.array([len(terms) for terms in rows], np.int64)
        if end > len(self._lengths):
            self._lengths = grown(self._lengths, end)
        self._lengths[start:end] = lengths
        numbers: dict[str, int] = {}
        term_of = [numbers.setdefault(term, len(numbers)) for terms in rows for term in terms]
        row_of = np.repeat(np.arange(start, end), lengths)
        # One number for each pair of term and row: sorted, they are the postings of all terms.
        pairs, counts = np.unique(np.array(term_of, np.int64) * end + row_of, return_counts=True)
        bounds = np.searchsorted(pairs, np.arange(len(numbers) + 1) * end).tolist()
        found, counts = (pairs % max(end, 1)).astype(np.int32), counts.astype(np.float32)
        for term, low, high in zip(numbers, bounds, bounds[1:], strict=False):
            posting = self._postings.get(term)
            if posting is None:
                self._postings[term] = _Posting(found[low:high], counts[low:high])
            else:
                posting.extend(found[low:high], counts[low:high])
        self._rows = end

    def frequency(self, term: str, alive: Alive) -> int:
        """Return in how many of the rows that are alive a term occurs."""
        posting = self._postings.get(term)
        return 0 if posting is None else int(np.count_nonzero(alive[posting.view(len(alive))[0]]))

    def lengths(self, rows: int) -> NDArray[np.float32]:
        """Return how many terms each of the first rows has; not to be changed."""
        return self._lengths[:rows]

    def postings(self, terms: Sequence[str], alive: Alive) -> Postings:
        """Return where terms occur in the rows that are alive.

        Args:
            terms: Each once.
            alive: The rows that the reader knows of, and whether each of them counts.
        """
        found = [
            (i, self._postings[term]) for i, term in enumerate(terms) if term in self._postings
        ]
        if not found:
            return Postings(np.zeros(0, np.intp), np.zeros(0, np.int32), np.zeros(0, np.float32))
        views = [posting.view(len(alive)) for _, posting in found]
        rows = np.concatenate([rows for rows, _ in views])
        counts = np.concatenate([counts for _, counts in views])
        numbers = np.repeat([i for i, _ in found], [len(rows) for rows, _ in views])
        living = alive[rows]
        return Postings(numbers[living], rows[living], counts[living])

    def scores(
        self, weights: Mapping[str, float], alive: Alive
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Score rows against weighted query terms.

        Args:
            weights: Each query term with its inverse document frequency.
            alive: The rows that the reader knows of, and whether each of them counts.

        Returns:
            Two arrays of shape `(rows,)`: BM25 (0 and up), and coverage, the share of the query's
            weight whose terms occur in the row (0 to 1).
        """
        term, where, counts = self.postings(list(weights), alive)
        lengths = self._lengths[: len(alive)]
        living = lengths[alive]
        average = max(float(living.mean()), 1.0) if len(living) else 1.0
        norm = K1 * (1 - B) + K1 * B / average * lengths[where]
        share = np.array(list(weights.values()), np.float32)[term]
        bm25 = summed(where, share * (K1 + 1) * counts / (counts + norm), len(alive))
        return bm25, summed(where, share / (sum(weights.values()) or 1), len(alive))


class _Posting:
    """The rows in which one term occurs, ascending, and how often."""

    __slots__ = ("_counts", "_rows", "_used")

    def __init__(self, rows: NDArray[np.int32], counts: NDArray[np.float32]) -> None:
        self._rows = rows
        self._counts = counts
        self._used = len(rows)

    def extend(self, rows: NDArray[np.int32], counts: NDArray[np.float32]) -> None:
        used, end = self._used, self._used + len(rows)
        if end > len(self._rows):
            # New arrays hold all that the old ones held: a reader may go on with either.
            self._counts = grown(self._counts, end)
            self._rows = grown(self._rows, end)
        self._rows[used:end] = rows
        self._counts[used:end] = counts
        self._used = end

    def view(self, rows: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        used = self._used
        where = self._rows[:used]
        if used and where[-1] >= rows:
            used = int(np.searchsorted(where, rows))
        return self._rows[:used], self._counts[:used]


def grown(array: NDArray[Number], least: int) -> NDArray[Number]:
    """Return a longer copy of an array, with room for as much again."""
    longer = np.zeros((max(least, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def query_weights(query: str, indexes: Sequence[tuple[LexicalIndex, Alive]]) -> dict[str, float]:
    """Return the terms of a query with their inverse document frequency over several indexes.

    Args:
        query: The text to look for.
        indexes: Each index with which of its rows count.
    """
    documents = sum(int(np.count_nonzero(alive)) for _, alive in indexes)
    return {
        term: idf(documents, sum(index.frequency(term, alive) for index, alive in indexes))
        for term in dict.fromkeys(query_tokens(query))
    }


_LONGEST = 24
"""Letters of the longest word that is looked at: the rules go back and forth in a word."""


_BRITISH = dict(
    line.split()
    for line in """
    aeroplane airplane
    aluminium aluminum
    anaem anem
    anaesth anesth
    archaeo archeo
    artefact artifact
    burnt burned
    centred centered
    cheque check
    coeliac celiac
    cosier cozier
    cosy cozy
    councillor councilor
    diarrhoea diarrhea
    doughnut donut
    draught draft
    dreamt dreamed
    encyclopaed encycloped
    foetus fetus
    grey gray
    gynaec gynec
    haemo hemo
    jewellery jewelry
    kerb curb
    leapt leaped
    learnt learned
    leukaem leukem
    manoeuvre maneuver
    mould mold
    moustache mustache
    oesoph esoph
    oestro estro
    orthopaed orthoped
    paediat pediat
    plough plow
    practis practic
    pyjama pajama
    sceptic skeptic
    skilful skillful
    spoilt spoiled
    sulph sulf
    tyre tire
    wilful willful
    woollen woolen
    yoghurt yogurt
    """.strip().splitlines()
)
"""How a word begins, and how it does in American English."""


_BEGINS = re.compile("|".join(_BRITISH))


_NEVER_IZE = (
    "prem|prom|surm|expert|advert|chast|treat|exerc|prec|conc|circumc|parad|merchand|franch"
)


_RULES = tuple(
    (sign, re.compile(british), american)
    for sign, british, american in (
        ("our", "^([a-z]*?[aeiouy][a-z]*?[b-df-np-tv-z])our", r"\1or"),  # not hour, flour
        (
            "is",
            rf"^(?!(?:com)?(?:{_NEVER_IZE})is|\w*pris)(\w{{2,}}[^aeiouvw\W])is"
            r"(?=(?:e[drs]?|ers|ing|ations?|ational|able)$)",
            r"\1iz",
        ),
        ("lys", r"lys(?=(?:e[drs]?|ers|ing)$)", "lyz"),
        ("re", "(cent|theat|met|lit|fib|calib|lust|meag|sab|somb|spect)re(?=s?$)", r"\1er"),
        ("ence", "^(def|lic|off|pret)ence", r"\1ense"),
        ("logu", "log(?:ue(?=s?$)|u(?=ed$))", "log"),
        ("programme", "^programme(?=s?$)", "program"),
        ("gement", "^(acknowled|jud)gement", r"\1gment"),
        ("ll", r"^([a-z]*[aeiou][a-z]*[aeu])ll(?=(?:ed|ing|[eo]rs?)$)", r"\1l"),  # not called
        ("mum", "^mum(?=s?$|my$)", "mom"),
        ("disc", "^disc(?=s?$)", "disk"),
        ("chilli", "^chilli(?=(?:e?s)?$)", "chili"),
    )
)
"""What is in a British word, how it is found there, and what stands there in American English."""


def american(word: str) -> str:
    """Return a word, in lower case, as it is spelt in American English.

    Example:
        >>> [american(word) for word in ("neighbour", "organised", "theatres", "hour", "promise")]
        ['neighbor', 'organized', 'theaters', 'hour', 'promise']
    """
    if len(word) > _LONGEST:
        return word
    if begins := _BEGINS.match(word):
        word = _BRITISH[begins[0]] + word[begins.end() :]
    for sign, british, spelt in _RULES:
        if sign in word:
            word = british.sub(spelt, word)
    return word
