"""The examples in the documentation run, and the runner notices when one does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.docs.documents import all_documents, has_examples, name, overlooked, run
from tests.docs.local_model import reply
from tests.openai_server import OpenAIServer


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server that speaks OpenAI's protocol, where pages look for one."""
    with OpenAIServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield


@pytest.mark.usefixtures("model_server")
@pytest.mark.parametrize("path", [p for p in all_documents() if has_examples(p)], ids=name)
def test_the_examples_of_a_document_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.chdir(tmp_path)

    def left_out(line: int, reason: str) -> None:
        with subtests.test(msg=f"line {line}"):
            pytest.skip(f"{name(path)}:{line} {reason}")

    run(path, left_out)


@pytest.mark.parametrize("path", all_documents(), ids=name)
def test_no_example_is_overlooked(path: Path) -> None:
    assert overlooked(path) == []


def run_text(folder: Path, text: str, name: str = "page.md") -> list[tuple[int, str]]:
    """Run a document of this text; return the line and the reason of each block left out."""
    page = folder / name
    page.write_text(dedent(text), encoding="utf-8")
    left_out: list[tuple[int, str]] = []
    run(page, lambda line, reason: left_out.append((line, reason)))
    return left_out


def test_blocks_share_a_namespace_and_may_await(tmp_path: Path) -> None:
    text = """
        ```python
        import asyncio

        async def answer():
            await asyncio.sleep(0)
            return 42
        ```

        - in a list:

          ```python
          found = await answer()
          ```

        ```python
        >>> found
        42
        ```

        ```bash
        exit 1
        ```
        """
    assert run_text(tmp_path, text) == []


def test_classes_of_a_block_can_be_found_by_name(tmp_path: Path) -> None:
    """Checkpoints store a class of the user's by its module and name."""
    text = """
        ```python
        import pickle

        class Order:
            pass

        assert isinstance(pickle.loads(pickle.dumps(Order())), Order)
        ```
        """
    run_text(tmp_path, text)


def test_a_failing_block_fails_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as failure:
        run_text(tmp_path, "# Page\n\n```python\nx = 0\n1 / x\n```\n")
    last = failure.traceback[-1]
    assert (last.path, last.lineno + 1) == (tmp_path / "page.md", 5)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("page.md", "```python\n>>> 1 + 1\n3\n```\n"),
        ("module.py", '"""A module.\n\n>>> 1 + 1\n3\n"""\n'),
        ("module.py", '"""A module.\n\n```python\nassert 1 + 1 == 3\n```\n"""\n'),
    ],
)
def test_a_wrong_example_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AssertionError):
        run_text(tmp_path, text, file)


def test_a_marked_block_is_left_out_with_its_reason(tmp_path: Path) -> None:
    text = "<!-- not run: needs a key -->\n\n```python\nraise SystemExit\n```\n"
    assert run_text(tmp_path, text) == [(3, "needs a key")]


def test_a_mark_counts_for_one_block_only(tmp_path: Path) -> None:
    text = "<!-- not run: needs a key -->\n```python\n```\n\n```python\nraise LookupError\n```\n"
    with pytest.raises(LookupError):
        run_text(tmp_path, text)


@pytest.mark.parametrize("mark", ["<!-- not run -->", "<!-- not run: -->"])
def test_a_mark_needs_a_reason(tmp_path: Path, mark: str) -> None:
    with pytest.raises(AssertionError, match="reason"):
        run_text(tmp_path, f"{mark}\n```python\npass\n```\n")


def test_a_marked_block_has_to_compile(tmp_path: Path) -> None:
    with pytest.raises(SyntaxError):
        run_text(tmp_path, "<!-- not run: needs a key -->\n```python\nraise (\n```\n")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("page.md", "```py\n1 / 0\n```\n"),
        ("page.md", "```\n1 / 0\n```\n"),
        ("page.md", "```python title='x'\n1 / 0\n```\n"),
        ("page.md", "```python\n>>> 1 / 0  # doctest: +SKIP\n```\n"),
        ("module.py", '"""A module.\n\nExample:\n    1 / 0\n"""\n'),
    ],
)
def test_what_looks_like_an_example_is_reported(tmp_path: Path, file: str, text: str) -> None:
    page = tmp_path / file
    page.write_text(text, encoding="utf-8")
    assert len(overlooked(page)) == 1


def test_what_is_run_or_only_shown_is_not_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\npass\n```\n\n```text\n1 / 0\n```\n", encoding="utf-8")
    assert overlooked(page) == []
