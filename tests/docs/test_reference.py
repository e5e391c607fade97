"""The reference says what the docstrings say, and these say what a caller needs to know."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import langgraph_memory
from langgraph_memory import testing
from tests.docs.docstrings import Docstring, attributes, signature
from tests.docs.documents import REFERENCE
from tests.docs.entries import Entry
from tests.docs.reference import PAGES, pages

WRITTEN = pages()

SAME_EVERYWHERE = {"id", "user", "project", "agent"}
FEW = 2

ENTRIES = [Entry.of(page.file, name) for page in PAGES for name in page.names]
CALLED = {
    each.name: each
    for entry in ENTRIES
    for each in (entry, *entry.members)
    if each.called is not None
}


@pytest.mark.parametrize("path", sorted(WRITTEN), ids=lambda path: path.name)
def test_a_page_says_what_the_docstrings_say(path: Path) -> None:
    written = path.read_text("utf-8") if path.is_file() else ""
    assert written == WRITTEN[path], "docs/reference is not up to date: run `make docs`"


def test_there_are_no_other_pages() -> None:
    assert set(REFERENCE.iterdir()) == WRITTEN.keys()


def test_every_public_name_is_on_one_page() -> None:
    named = Counter(name for page in PAGES for name in page.names)
    expected = [
        *langgraph_memory.__all__,
        "redaction.redact_secrets",
        "redaction.redactor",
        *(f"testing.{name}" for name in testing.__all__),
    ]
    beside = [name for name in named.elements() if not name.startswith("mcp.")]
    assert sorted(beside) == sorted(expected)


def test_every_name_is_said_something_about() -> None:
    assert [entry.name for entry in ENTRIES if not entry.docstring.text] == []


@pytest.mark.parametrize("name", CALLED)
def test_arguments_are_explained(name: str) -> None:
    """All or none; and none only where there are few."""
    entry = CALLED[name]
    assert entry.called is not None
    parameters = inspect.signature(entry.called).parameters.values()
    given = [str(p.replace(annotation=p.empty, default=p.empty)) for p in parameters]
    given = [name for name in given if name not in ("self", "cls")]
    explained = entry.arguments
    if explained:
        assert list(explained) == given
        assert all(explained.values())
    else:
        assert len(set(given) - SAME_EVERYWHERE) <= FEW, given


def test_nothing_depends_on_the_machine() -> None:
    assert [path.name for path, text in WRITTEN.items() if " at 0x" in text] == []


def test_no_section_of_a_docstring_is_shown_as_it_is_written() -> None:
    """Google has more of them than the pages know; attributes are said below each."""
    raw = re.compile(r"^\w+:\n {4}\w", re.MULTILINE)
    assert [path.name for path, text in WRITTEN.items() if raw.search(text)] == []


def greet(
    name: str, *others: str, times: int = 20_000, loud: bool = False, word: str = "Hi"
) -> list[str]:
    """Greet somebody.

    More than once.

    Args:
        name: Whom to greet: a name, or
            two.
        *others: More.
        times: How often.
        loud: Whether to shout.
        word: What is said.

    Returns:
        What was said: all of it.

    Raises:
        ValueError: If the name is empty.

    Example:
        >>> greet("Ana", times=1)
        ['Hi Ana']
    """
    return [f"{word} {name}"] * times


def test_a_docstring_becomes_markdown() -> None:
    assert Docstring.of(greet).markdown().split("\n\n") == [
        "Greet somebody.",
        "More than once.",
        "**Arguments**",
        "- `name`: Whom to greet: a name, or two.\n- `*others`: More.\n"
        "- `times`: How often.\n- `loud`: Whether to shout.\n- `word`: What is said.",
        "**Returns**",
        "What was said: all of it.",
        "**Raises**",
        "- `ValueError`: If the name is empty.",
        "```pycon\n>>> greet(\"Ana\", times=1)\n['Hi Ana']\n```",
    ]


def test_a_long_signature_has_a_line_for_each_parameter() -> None:
    assert signature(greet, "def greet").splitlines() == [
        "def greet(",
        "    name: str,",
        "    *others: str,",
        "    times: int = 20_000,",
        "    loud: bool = False,",
        '    word: str = "Hi",',
        ") -> list[str]",
    ]


def test_attributes_have_their_docstrings() -> None:
    source = '''
class Order:
    """An order."""

    beans: str = "Colombia"
    """Which
    beans."""
    notes: list[str] = field(default_factory=list)
    kilos: int = Field(default=1, description="How many")

    def __init__(self) -> None:
        self.sent: bool = False
        """Whether it is on its way."""
        self._key = 1
'''
    assert [(each.shown, each.text) for each in attributes(source)] == [
        ('beans: str = "Colombia"', "Which beans."),
        ("notes: list[str] = list()", ""),
        ("kilos: int = 1", "How many"),
        ("sent: bool = False", "Whether it is on its way."),
    ]
