"""How texts are cut: what a chunk says is where it says it is, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_memory.documents.splitting import CHUNK_TOKENS, SUFFIXES, Chunk, language_of, split
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.text.length import approximate_tokens

MARKS = [
    "# A\n",
    "\n## B ##\r\n",
    "```\n",
    "def f():\n",
    "    return 1\n",
    "\n\n",
    "\r\n\r\n",
    "\t",
]
SCRIPTS = [
    "中文。",
    "好的！",
    "word ",
    "\u3000",
    "👩\u200d👩\u200d👧",
    "é",
    "\x00",
    "\x1c",
    "\u2028",
]
WORDS = st.sampled_from([*MARKS, *SCRIPTS, "x" * 900, "字" * 250])
TEXTS = st.text() | st.lists(WORDS).map("".join)


@given(TEXTS, st.sampled_from(["markdown", "text", "python", "html"]))
def test_chunks_are_the_text_where_they_say_and_leave_out_white_space_alone(
    text: str, language: str
) -> None:
    at = 0
    for chunk in split(text, language):
        assert chunk.text == text[chunk.start : chunk.start + len(chunk.text)]
        assert not text[at : chunk.start].strip()
        assert chunk.text.strip()
        assert approximate_tokens(chunk.text) <= CHUNK_TOKENS
        assert chunk.start >= at
        at = chunk.start + len(chunk.text)
    assert not text[at:].strip()


def test_each_chunk_knows_the_headings_it_stands_under() -> None:
    text = (
        "Preface.\n\n# Shop\n\n## Returns\n\nTwo weeks.\n\n### Damaged goods ###\nAt once.\n"
        "## Delivery\r\n\r\nThree days.\r\n# 联系\n写信。\n"
    )
    assert [(chunk.heading, chunk.text.splitlines()[-1]) for chunk in split(text, "markdown")] == [
        ("", "Preface."),
        ("Shop > Returns", "Two weeks."),
        ("Shop > Returns > Damaged goods", "At once."),
        ("Shop > Delivery", "Three days."),
        ("联系", "写信。"),
    ]


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_what_looks_like_a_heading_in_a_code_block_is_none(fence: str) -> None:
    text = f"# Use\n{fence}python\n# a comment\n``\n```x\n{fence}\n# Next\ntext\n#hashtag\n"
    found = split(text, "markdown")
    assert [chunk.heading for chunk in found] == ["Use", "Next"]
    assert found[1].text.endswith("#hashtag")


def test_code_within_a_line_and_front_matter_take_no_heading_and_give_none() -> None:
    text = "---\ntitle: Mill\n# a comment\n---\n# Use\n\n```make```\n\n# Next\ntext\n"
    for lines in (text, text.replace("\n", "\r\n")):
        assert [chunk.heading for chunk in split(lines, "markdown")] == ["", "Use", "Next"]
    rule = "---\n\n# Use\n\ntext\n\n---\n"
    assert [chunk.heading for chunk in split(rule, "markdown")] == ["", "Use"]


@pytest.mark.parametrize("sign", ["e\u0301", "👩\u200d👩\u200d👧", "👍🏽", "❤️"])
def test_no_chunk_ends_within_a_sign(sign: str) -> None:
    found = split("x" + sign * 900, "text")
    assert len(found) > 1
    assert all(chunk.text.removeprefix("x").replace(sign, "") == "" for chunk in found)


def test_a_heading_as_long_as_a_text_is_not_kept_whole_with_every_chunk() -> None:
    found = split("# " + "word " * 2_000, "markdown")
    assert len(found) > 10
    assert {len(chunk.heading) for chunk in found} == {200}


def test_a_long_section_is_cut_between_paragraphs_and_keeps_its_heading() -> None:
    paragraphs = [f"{word} " * 90 for word in ("alpha", "beta", "gamma", "delta")]
    found = split("# Words\n\n" + "\n\n".join(paragraphs), "markdown")
    assert [chunk.heading for chunk in found] == ["Words"] * len(found)
    assert all(len(set(chunk.text.removeprefix("# Words").split())) == 1 for chunk in found)


@pytest.mark.parametrize("end", ["。", "！", "？", "；", "。”", "……"])
def test_chinese_is_cut_at_the_end_of_a_sentence(end: str) -> None:
    sentence = f"“咖啡豆应当密封保存，放在阴凉处，避免阳光直射和潮湿{end}"
    found = split(sentence * 40, "text")
    assert len(found) > 3
    assert all(chunk.text.endswith(end) and chunk.text.startswith("“") for chunk in found)


def test_a_chinese_sentence_that_is_too_long_is_cut_at_a_comma() -> None:
    found = split("水温九十二度，" * 60 + "完。", "text")
    assert all(chunk.text.endswith(("，", "。")) for chunk in found)


def test_english_is_cut_at_the_end_of_a_sentence_and_numbers_stay_whole() -> None:
    found = split("A kilo costs 1,250.50 pesos today. " * 80, "text")
    assert all(chunk.text.endswith("today.") and chunk.text.startswith("A") for chunk in found)


def test_code_is_cut_between_functions_and_keeps_its_indentation() -> None:
    body = "".join(f"    total_{n} = grind(beans, {n})\n" for n in range(20))
    found = split("\n\n".join(f"def brew_{n}():\n{body}" for n in range(4)), "python")
    assert [chunk.text.split("(")[0] for chunk in found] == [f"def brew_{n}" for n in range(4)]
    inner = split(
        "class Mill:\n" + "\n".join(f"    def f{n}(self):\n{body}" for n in range(4)), "python"
    )
    assert all(chunk.text.startswith(("class", "    ")) for chunk in inner)


def test_white_space_is_no_chunk() -> None:
    assert split(" \n\u3000\r\n", "markdown") == []
    assert split("\n\n  a\n", "text") == [Chunk(2, "  a")]
    assert split("  a\n", "text") == [Chunk(2, "a")]


@pytest.mark.parametrize(
    ("source", "language", "expected"),
    [
        ("docs/returns.md", None, "markdown"),
        ("src/Mill.PY", None, "python"),
        ("https://example.com/a.html", None, "html"),
        ("notes.txt", None, "text"),
        ("Ana's letter", None, "text"),
        ("notes.txt", "markdown", "markdown"),
        ("mill.py", "text", "text"),
    ],
)
def test_a_source_is_split_as_its_name_says_or_as_asked_for(
    source: str, language: str | None, expected: str
) -> None:
    assert language_of(source, language) == expected


@pytest.mark.parametrize("suffix", sorted(SUFFIXES))
def test_a_file_of_each_suffix_that_is_known_can_be_split(suffix: str) -> None:
    language = language_of(f"name{suffix}", None)
    assert language == language_of("name", language)  # also by its name
    text = "class A:\n    def f(self): {return}\n\n<p>function b() {}</p>\n" * 40
    assert "".join("".join(c.text.split()) for c in split(text, language)) == "".join(text.split())


def test_a_language_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"markdown, .*python, .*got 'klingon'"):
        language_of("a.txt", "klingon")
