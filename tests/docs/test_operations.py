"""The pages that users turn to in trouble name settings and messages that there are."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from langgraph_memory import ChromaStore, Memory, open_sessions
from tests.docs.documents import ROOT, written_texts

OPERATIONS = ROOT / "docs" / "operations.md"
TROUBLESHOOTING = ROOT / "docs" / "troubleshooting.md"


def settings_of(function: Callable[..., Any]) -> dict[str, str]:
    """Return each parameter with its default, as the page writes it."""

    def default(given: object) -> str:
        if given is inspect.Parameter.empty:
            return "required"
        return f"`{given.__name__ if inspect.isroutine(given) else repr(given)}`"

    parameters = inspect.signature(function).parameters.values()
    return {each.name: default(each.default) for each in parameters}


@pytest.mark.parametrize(
    ("heading", "function"),
    [
        ("Memory", Memory),
        ("ChromaStore and open_store", ChromaStore),
        ("open_sessions", open_sessions),
    ],
)
def test_every_setting_is_in_the_table_with_its_default(
    heading: str, function: Callable[..., Any]
) -> None:
    section = OPERATIONS.read_text("utf-8").partition(f"### {heading}\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", section, re.MULTILINE)
    assert dict(rows) == settings_of(function)


def test_every_message_in_troubleshooting_is_one_that_the_package_writes() -> None:
    first_cells = re.findall(r"^\| ([^|]*) \|", TROUBLESHOOTING.read_text("utf-8"), re.MULTILINE)
    quoted = [text for cell in first_cells for text in re.findall(r"`([^`]+)`", cell)]
    named = re.compile(r"\w+Error|receipt\.\w+|messages")
    said = written_texts()
    assert [text for text in quoted if not named.fullmatch(text) and text not in said] == []
    assert len(quoted) > 30
