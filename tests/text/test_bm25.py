"""Words in common: tokens of any language, and BM25 as its formula says."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.text.bm25 import (
    K1,
    PRIOR_RECORDS,
    B,
    LexicalIndex,
    idf,
    query_tokens,
    query_weights,
    tokens,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # also lone surrogates

# -- tokens ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She was roasting the beans", "roast bean"),
        ("C++ and C and C#", "c++ c c#"),
        ("I don't know what it's for", "know"),
        ("Ana's moka, Ana’s pot", "ana moka ana pot"),
        ("Route 66, v2.0; 3,5 %", "rout 66 v2 0 3 5"),
        ("user_id", "user id"),
        ("ana@example.com", "ana exampl com"),
        ("Straße STRASSE", "strass strass"),
        ("ﬁne ｔｅａ １２", "fine tea 12"),
        ("E\u0301te\u0301 Été", "été été"),
        ("Кофемолка, кофемолки", "кофемолк кофемолк"),
        ("القهوة قهوة", "قهو قهو"),
        ("☕ und 🙂🙂", "☕ und 🙂 🙂"),
        ("a\0moka", "moka"),
        ("", ""),
        (" .,;!? ++ ## __ ", ""),
    ],
)
def test_words_are_split_folded_and_stemmed(text: str, expected: str) -> None:
    assert tokens(text) == query_tokens(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "stored", "asked"),
    [
        ("摩卡壶", "摩 卡 壶 摩卡 卡壶", "摩卡 卡壶"),
        ("我的摩卡壶", "摩 卡 壶 摩卡 卡壶", "摩卡 卡壶"),
        ("壶", "壶", "壶"),
        ("珈琲", "珈 琲 珈琲", "珈琲"),
        ("コーヒー", "コ ー ヒ ー コー ーヒ ヒー", "コー ーヒ ヒー"),
        ("ｺｰﾋｰ", "コ ー ヒ ー コー ーヒ ヒー", "コー ーヒ ヒー"),
        ("커피", "커 피 커피", "커피"),
        ("𠮷野家", "𠮷 野 家 𠮷野 野家", "𠮷野 野家"),
        ("买3杯latte", "买 3 杯 latt", "买 3 杯 latt"),
        ("moka壶, USB线", "moka 壶 usb 线", "moka 壶 usb 线"),
    ],
)
def test_scripts_without_spaces_are_found_by_pairs(text: str, stored: str, asked: str) -> None:
    assert tokens(text) == stored.split()
    assert query_tokens(text) == asked.split()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("roasted bean", "She roasts beans"),
        ("摩卡壶怎么磨？", "他买了一个摩卡壶"),
        ("一杯茶", "我喜欢喝茶，一天一杯"),
        ("コーヒーの豆", "豆を挽いてコーヒーを淹れる"),
        ("커피를 좋아해요", "커피가 좋다"),
        ("какую кофемолку", "Кофемолка сломалась"),
        ("أين القهوة", "نشرب قهوة كل صباح"),
        ("🙂", "ok 🙂!"),
        ("C++", "He teaches C++ and Rust"),
        ("STRASSE", "Hauptstraße, Straße 5"),
        ("istanbul", "İstanbul yolu"),
        ("قهوة", "قَهْوَة"),  # with its vowels written, as in schoolbooks
        ("हिन्दी", "वह हिन्दी बोलती है"),
        ("שלום", "שָׁלוֹם"),
    ],
)
def test_a_query_shares_tokens_with_a_text_that_answers_it(query: str, text: str) -> None:
    assert set(query_tokens(query)) & set(tokens(text))


BRITISH = """
colour favourite neighbourhood humour flavoured behaviour harbours labour armour
organise organised organising organisation organisations organiser apologised realising criticise
specialised summarises customise categorisation analyse analysing paralysed
centre centres centred theatre litres kilometre fibre metre calibre
travelled traveller cancelling jewellery counsellor fuelled dialling labelled initialled
grey aluminium cheques tyre moustache pyjamas woollen cosy yoghurt ploughing mouldy doughnut
defence licence offences practising programme catalogue dialogues judgement artefacts
learnt burnt anaesthetic paediatrician encyclopaedia mum skilful disc chillies manoeuvre
""".split()
AMERICAN = """
color favorite neighborhood humor flavored behavior harbors labor armor
organize organized organizing organization organizations organizer apologized realizing criticize
specialized summarizes customize categorization analyze analyzing paralyzed
center centers centered theater liters kilometer fiber meter caliber
traveled traveler canceling jewelry counselor fueled dialing labeled initialed
gray aluminum checks tire mustache pajamas woolen cozy yogurt plowing moldy donut
defense license offenses practicing program catalog dialogs judgment artifacts
learned burned anesthetic pediatrician encyclopedia mom skillful disk chilies maneuver
""".split()


@pytest.mark.parametrize(("british", "american"), list(zip(BRITISH, AMERICAN, strict=True)))
def test_british_and_american_spellings_meet(british: str, american: str) -> None:
    assert tokens(british) == tokens(american.upper()) == tokens(f"{british}'s")


@pytest.mark.parametrize(
    "words",
    [
        "four forty hour hours flour flower tour tower pour pore sour sore",
        "rise wise advise promise precise noise raise raisin prison price prize",
        "there acre genre metro litter fire fiber center enter",
        "call calling tell seller cell sail",
        "defend fence licking program programming catalog log dialect",
        "discuss disk mumble chill chilly grow great",
    ],
)
def test_words_that_only_look_british_stay_apart(words: str) -> None:
    known: dict[str, set[str]] = {}
    for word in words.split():
        for term in tokens(word):
            known.setdefault(term, set()).add(word)
    same = [{"hour", "hours"}, {"call", "calling"}, {"program", "programming"}]
    assert [found for found in known.values() if len(found) > 1 and found not in same] == []


@pytest.mark.parametrize("stem", ["promis", "exercis", "surpris", "advertis", "concis", "preci"])
def test_what_is_no_suffix_stays_with_all_its_forms(stem: str) -> None:
    forms = {"preci": ["precise", "precisely"], "concis": ["concise", "concisely"]}
    words = forms.get(stem, [f"{stem}{end}" for end in ("e", "es", "ed", "ing")])
    assert len({term for word in words for term in tokens(word)}) == 1


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("C++", "vitamin C"),
        ("C", "C++"),
        ("C#", "C++"),
        ("摩卡", "卡片和摩托车"),
        ("u1", "u10"),
        ("🙂", "🙁"),
        ("the of and", "the of and"),
        ("हिन्दी", "वह है"),  # the same consonant with another vowel is another word
        ("कॉफी", "काफी"),
    ],
)
def test_a_query_shares_no_token_with_a_text_that_only_looks_alike(query: str, text: str) -> None:
    assert not set(query_tokens(query)) & set(tokens(text))


@pytest.mark.parametrize("word", ["हिन्दी", "कॉफी", "ไทย", "தமிழ்", "İstanbul", "עִבְרִית"])
def test_a_word_with_marks_on_its_letters_is_one_token(word: str) -> None:
    assert len(tokens(word)) == 1


@pytest.mark.parametrize("end", ["", "ll", "our", "ising"])
def test_a_megabyte_without_a_space_is_one_word(end: str) -> None:
    assert len(tokens("a" * 1_000_000 + end)) == 1


@settings(deadline=None)
@given(ANY_TEXT, ANY_TEXT)
def test_any_text_has_tokens_of_any_kind_and_a_line_break_separates_them(a: str, b: str) -> None:
    for split in (tokens, query_tokens):
        assert all(term and not term.isspace() for term in split(a))
        assert split(f"{a}\n{b}") == split(a) + split(b)


@settings(deadline=None)
@given(ANY_TEXT)
def test_what_is_looked_for_is_among_what_is_stored(text: str) -> None:
    assert set(query_tokens(text)) <= set(tokens(text))


def test_threads_stem_alike() -> None:
    words = [
        f"{word}{suffix}" for word in ("roast", "grind", "brew") for suffix in ("", "ing", "s")
    ]
    alone = [tokens(f"{word}{i}ing {word}") for i in range(50) for word in words]
    with ThreadPoolExecutor(4) as threads:
        together = list(
            threads.map(tokens, [f"{word}{i}ing {word}" for i in range(50) for word in words])
        )
    assert together == alone


# -- the index ------------------------------------------------------------------------------------

TERMS = st.lists(st.sampled_from(["moka", "pot", "tea", "green", "cup"]), max_size=6)
RECORDS = st.lists(TERMS, max_size=8)
QUERIES = st.lists(st.sampled_from(["moka", "pot", "tea", "unknown"]), max_size=4).map(" ".join)

Scores = tuple[list[float], list[float]]


def index_of(records: Sequence[Sequence[str]]) -> LexicalIndex:
    index = LexicalIndex()
    index.extend(records)
    return index


def by_hand(
    query: str, records: Sequence[Sequence[str]], corpus: Sequence[Sequence[str]] | None = None
) -> Scores:
    """BM25 (Robertson and Zaragoza 2009) and coverage, straight from the formulas.

    Args:
        query: The words to look for.
        records: The records to score.
        corpus: Where the frequency of words is counted, if not in `records`.
    """
    counted = records if corpus is None else corpus
    weights = {}
    for term in dict.fromkeys(query.split()):
        having = sum(term in record for record in counted)
        weights[term] = log(1 + (len(counted) + PRIOR_RECORDS - having + 0.5) / (having + 0.5))
    average = max(sum(map(len, records)) / max(len(records), 1), 1)
    bm25, coverage = [], []
    for record in records:
        counts = {term: record.count(term) for term in weights}
        norm = K1 * (1 - B + B * len(record) / average)
        bm25.append(sum(weights[t] * n * (K1 + 1) / (n + norm) for t, n in counts.items()))
        covered = sum(weights[term] for term, n in counts.items() if n)
        coverage.append(covered / sum(weights.values()) if weights else 0.0)
    return bm25, coverage


def scores(index: LexicalIndex, query: str, alive: Sequence[bool]) -> Scores:
    """Return the scores of the rows that are alive."""
    mask = np.array(alive, np.bool_)
    bm25, coverage = index.scores(query_weights(query, [(index, mask)]), mask)
    assert len(bm25) == len(coverage) == len(alive)
    return bm25[mask].tolist(), coverage[mask].tolist()


def assert_close(found: Scores, expected: Scores) -> None:
    for mine, theirs in zip(found, expected, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-5, abs=1e-6)


@settings(deadline=None, max_examples=200)
@given(RECORDS, QUERIES)
def test_scores_are_those_of_the_formula(records: list[list[str]], query: str) -> None:
    assert_close(scores(index_of(records), query, [True] * len(records)), by_hand(query, records))


@settings(deadline=None, max_examples=200)
@given(RECORDS, st.data())
def test_a_reader_with_fewer_rows_sees_only_these(
    records: list[list[str]], data: st.DataObject
) -> None:
    """Its scores are those of an index that was never given the others."""
    index, query = index_of(records), data.draw(QUERIES)
    rows = data.draw(st.integers(0, len(records)))
    assert_close(scores(index, query, [True] * rows), by_hand(query, records[:rows]))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(TERMS, st.booleans()), max_size=8), QUERIES)
def test_dead_rows_do_not_count(records: list[tuple[list[str], bool]], query: str) -> None:
    """Else a record would be worth less for each time that it was rewritten."""
    index = index_of([terms for terms, _ in records])
    expected = by_hand(query, [terms for terms, alive in records if alive])
    assert_close(scores(index, query, [alive for _, alive in records]), expected)


@settings(deadline=None)
@given(RECORDS, QUERIES)
def test_a_record_more_is_the_same_as_a_new_index_with_it(
    records: list[list[str]], query: str
) -> None:
    """Whatever was asked in between."""
    index = LexicalIndex()
    for i, record in enumerate(records):
        index.extend([record])
        alive = [True] * (i + 1)
        found = scores(index, query, alive)
        assert found == scores(index_of(records[: i + 1]), query, alive)


@settings(deadline=None)
@given(RECORDS, RECORDS, QUERIES)
def test_words_are_as_rare_as_they_are_in_all_indexes_together(
    one: list[list[str]], other: list[list[str]], query: str
) -> None:
    indexes = [(index_of(part), np.ones(len(part), np.bool_)) for part in (one, other)]
    weights = query_weights(query, indexes)
    for (index, alive), records in zip(indexes, (one, other), strict=True):
        bm25, coverage = index.scores(weights, alive)
        assert_close((bm25.tolist(), coverage.tolist()), by_hand(query, records, [*one, *other]))


def test_an_index_grows_past_every_block() -> None:
    records = [["moka"] * (i % 5) + ["tea"] * (i % 3) + [str(i)] for i in range(700)]
    index = index_of(records)
    for rows in (0, 1, 63, 64, 65, 128, 129, 700):
        assert_close(
            scores(index, "moka tea 64", [True] * rows), by_hand("moka tea 64", records[:rows])
        )


def test_an_index_without_rows_or_a_query_without_words_scores_nothing() -> None:
    assert scores(LexicalIndex(), "moka", []) == ([], [])
    assert scores(index_of([["moka"], []]), "", [True, True]) == ([0, 0], [0, 0])
    assert scores(index_of([["moka"]]), "moka", [False]) == ([], [])


@settings(deadline=None)
@given(st.integers(0, 10_000), st.data())
def test_a_rarer_word_tells_more_and_none_tells_less_than_nothing(
    documents: int, data: st.DataObject
) -> None:
    frequency = data.draw(st.integers(0, documents))
    assert idf(documents, frequency) > 0
    if frequency:
        assert idf(documents, frequency) < idf(documents, frequency - 1)


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Let threads take turns after every few instructions, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_switching")
def test_readers_are_right_while_a_writer_adds() -> None:
    records = [["moka"] * (i % 3) + [f"w{i % 50}", "x"] for i in range(3_000)]
    index, published = LexicalIndex(), [0]
    done = threading.Event()

    def write() -> None:
        try:
            for i, record in enumerate(records):
                index.extend([record])
                published[0] = i + 1
        finally:
            done.set()

    def read() -> None:
        while not done.is_set():
            rows = published[0]
            alive = np.ones(rows, np.bool_)
            weights = query_weights("moka w7", [(index, alive)])
            bm25, _ = index.scores(weights, alive)
            expected = [i for i in range(rows) if i % 3 or i % 50 == 7]
            assert np.flatnonzero(bm25).tolist() == expected
            assert index.frequency("x", alive) == rows

    with ThreadPoolExecutor() as threads:
        running = [threads.submit(write), *(threads.submit(read) for _ in range(3))]
    for thread in running:
        thread.result()
