"""What is published: its metadata, and a source distribution that can be tested."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="not installed: pip install --group dev")

ROOT = Path(__file__).parents[1]
PROJECTS = [ROOT, ROOT / "conformance"]


def run(folder: Path, *arguments: str) -> str:
    """Run a module of Python in a folder; return what it writes."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("folder", PROJECTS, ids=lambda folder: folder.name)
def test_links_of_the_page_in_an_index_are_whole(folder: Path) -> None:
    metadata = json.loads(run(folder, "hatchling", "metadata"))
    prose = re.sub(r"^```.*?^```", "", metadata["readme"]["text"], flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]+`", "", prose))
    assert [target for target in targets if not re.match(r"https://|#", target)] == []


def test_the_project_has_one_address() -> None:
    texts = [(folder / "pyproject.toml").read_text("utf-8") for folder in PROJECTS]
    source = tomllib.loads(texts[0])["project"]["urls"]["Source"]
    named = re.findall(r"https://[\w./-]+", "".join(texts))
    assert [url for url in named if not url.startswith(source)] == []


@pytest.mark.slow
def test_the_tests_of_the_source_distribution_are_collected(tmp_path: Path) -> None:
    run(ROOT, "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path))
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    run(unpacked, "pytest", "--collect-only", "-q")
