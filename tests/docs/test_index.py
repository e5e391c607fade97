"""Readers find every page from docs/README.md, and no link leads nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.documents import ROOT, anchor, name

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "conformance" / "README.md"])

_CODE = re.compile(r"^[ \t]*```.*?^[ \t]*```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of each link that stays in the repository."""
    for target in _LINK.findall(_CODE.sub("", page.read_text("utf-8"))):
        if "://" not in target:
            file, _, place = target.partition("#")
            yield (page.parent / file).resolve() if file else page, place


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return set(map(anchor, _HEADING.findall(text)))


def test_the_index_names_every_page() -> None:
    linked = {file for file, _ in links(DOCS / "README.md")}
    pages = set(DOCS.rglob("*.md")) - {DOCS / "README.md"}
    assert sorted(map(name, pages - linked)) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    broken = [
        f"{file}#{place}"
        for file, place in links(page)
        if not file.exists() or (place and place not in anchors(file))
    ]
    assert broken == []
