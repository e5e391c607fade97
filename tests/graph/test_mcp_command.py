"""`langgraph-memory mcp` as people call it: what it refuses, and how it ends."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from langgraph_memory import ChromaStore, Memory
from langgraph_memory.cli.__main__ import main
from langgraph_memory.files.directory_lock import OWNER_FILE
from langgraph_memory.mcp import read_tokens
from langgraph_memory.testing import HashingEmbeddings

pytest.importorskip("mcp_types", reason="the extra mcp is not installed")
from langgraph_memory.mcp.connections import CONNECTIONS, PATIENCE
from langgraph_memory.mcp.http import REQUESTS
from tests.graph.test_mcp import COMMAND, ROOT, TOKENS  # as above


def refusal(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return the sentence by which the command refuses to be called like this."""
    try:
        code: Any = main(["mcp", *options])
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr().err
    assert code == 2, said
    assert said.startswith("langgraph-memory")
    assert said.count("\n") == 1
    return said


TWICE = '{"0123456789abcdef": "ana", "0123456789abcdef": "bo"}'


@pytest.mark.parametrize(
    "text",
    [None, "ana", '["ana"]', '{"0123456789abcdef": 3}', "{}", TWICE, "[" * 100_000],
    ids=["none", "no-json", "list", "number", "empty", "twice", "too-deep"],
)
@pytest.mark.parametrize("where", ["variable", "file"])
def test_the_command_says_what_is_wrong_with_the_tokens_but_not_the_tokens(
    text: str | None, where: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.delenv("LANGGRAPH_MEMORY_TOKENS", raising=False)
    options = ["--path", str(tmp_path / "memory"), "--port", "8300"]
    if where == "file":
        options += ["--tokens", str(tmp_path / "tokens.json")]
        if text is not None:
            (tmp_path / "tokens.json").write_text(text, "utf-8")
    elif text is not None:
        monkeypatch.setenv("LANGGRAPH_MEMORY_TOKENS", text)
    said = refusal(capsys, *options)
    assert "token" in said.casefold()
    assert "0123456789abcdef" not in said
    assert not (tmp_path / "memory").exists()


def test_tokens_in_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """As editors on Windows write it."""
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps(TOKENS), "utf-8-sig")
    assert read_tokens(file, {}) == TOKENS


FOLDER = ["--path", "memory"]
AS_USER = [*FOLDER, "--user", "ana"]
FOR_TOKENS = [*FOLDER, "--port", "8300"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--user", "ana"], "one of the arguments --path --url is required"),
        (FOLDER, "one of the arguments --user --port is required"),
        ([*AS_USER, "--url", "http://127.0.0.1:1"], "not allowed with argument --path"),
        ([*AS_USER, "--port", "8300"], "not allowed with argument --user"),
        ([*AS_USER, "--host", "0.0.0.0"], "--host is for HTTP and goes with --port"),
        ([*AS_USER, "--tokens", "t.json"], "--tokens is for HTTP and goes with --port"),
        ([*AS_USER, "--allow-host", "a.example"], "--allow-host is for HTTP and goes with --port"),
        ([*AS_USER, "--model", "x"], "unrecognized arguments: --model x"),
        ([*AS_USER, "--embed", "no-such:thing"], "'no-such:thing'"),
        ([*FOLDER, "--user", ""], "--user: it is empty"),
        ([*AS_USER, "--project", ""], "--project: it is empty"),
        (["--path", "http://127.0.0.1:1", "--user", "a"], "a Chroma server is given by --url"),
        (["--url", "127.0.0.1:1", "--user", "a"], "--url: it takes a URL such as"),
        (["--url", "http://a:b@127.0.0.1:1", "--user", "a"], "named http://host:port"),
        ([*FOLDER, "--port", "http"], "--port: it takes a number"),
        ([*FOLDER, "--port", "65536"], "--port: it takes a number"),
        ([*FOLDER, "--port", "9" * 5000], "--port: it takes a number"),
        ([*FOR_TOKENS, "--host", "é" * 100], "--host: it takes a name or an address"),
        ([*FOR_TOKENS, "--allow-host", "https://a.example"], "--allow-host: it takes a host"),
        ([*AS_USER, "--max-connections", "9"], "--max-connections is for HTTP"),
        ([*AS_USER, "--requests-per-minute", "9"], "--requests-per-minute is for HTTP"),
        ([*FOR_TOKENS, "--request-timeout", "0"], "--request-timeout: it takes a whole number"),
        ([*FOR_TOKENS, "--max-connections", "1000000"], "a whole number from 1 to 999999"),
        ([*FOR_TOKENS, "--max-connections", "many"], "--max-connections: it takes a whole number"),
    ],
)
def test_what_does_not_go_together_is_said_in_a_sentence(
    options: list[str], said: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refusal(capsys, *options)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_another_embedder_is_refused(tmp_path: Path, capsys: Any) -> None:
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory:
        memory.remember("Likes tea", user="ana")
    assert "HashingEmbeddings" in refusal(capsys, "--path", str(tmp_path), "--user", "ana")


def test_help_says_what_the_options_do(capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["mcp", "--help"])
    assert ended.value.code == 0
    help = " ".join(capsys.readouterr().out.split())
    assert "read again when it changes" in help
    for limit in (REQUESTS, CONNECTIONS, int(PATIENCE)):
        assert f"(default: {limit})" in help
    assert "128 less than the files" in help


def test_more_connections_than_the_process_may_have_are_refused(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setenv("LANGGRAPH_MEMORY_TOKENS", json.dumps(TOKENS))
    monkeypatch.chdir(tmp_path)
    said = refusal(capsys, *FOR_TOKENS, "--max-connections", "999999")
    assert "needs 1000127 open files" in said
    assert "ulimit -n 1000127" in said
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_named_in_a_sentence(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setenv("LANGGRAPH_MEMORY_TOKENS", json.dumps(TOKENS))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["mcp", "--path", str(tmp_path), "--port", port]) == 1
    said = capsys.readouterr().err
    assert "in use" in said
    assert said.count("\n") == 1


@contextmanager
def speaking(*options: str) -> Iterator[tuple[subprocess.Popen[str], Callable[..., Any]]]:
    """Start a server process; give it, and a function that asks it in lines of JSON."""
    process = subprocess.Popen(
        [*COMMAND, *options],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    writing, reading = process.stdin, process.stdout

    def ask(method: str, **params: Any) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        writing.write(json.dumps(request) + "\n")
        writing.flush()
        return json.loads(reading.readline())["result"]

    with process:
        try:
            yield process, ask
        finally:
            process.kill()


@pytest.mark.slow
def test_a_server_that_is_told_to_end_closes_its_memory_first(tmp_path: Path, capsys: Any) -> None:
    with Memory(ChromaStore(tmp_path)) as memory:
        memory.remember("The release is on Thursdays", user="bo", project="atlas")
    options = ["--path", str(tmp_path), "--user", "ana", "--project", "atlas"]
    with speaking(*options) as (process, ask):
        client = {"name": "a test", "version": "1"}
        ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        ask("tools/call", name="remember", arguments={"text": "Likes tea"})
        found = ask("tools/call", name="recall", arguments={"query": "When is the release?"})
        assert "Thursdays" in found["content"][0]["text"]

        assert main(["mcp", *options]) == 1  # the folder is open in the other process
        said = capsys.readouterr().err
        assert str(process.pid) in said
        assert said.count("\n") == 1

        (tmp_path / OWNER_FILE).unlink()  # to be closed is to write it anew
        process.terminate()
        process.terminate()
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert (tmp_path / OWNER_FILE).exists()
    with Memory(ChromaStore(tmp_path)) as memory:
        assert [note.text for note in memory.list(user="ana")] == ["Likes tea"]
