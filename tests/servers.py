"""Servers for tests, on free ports: a real `chroma run`, which can be killed, and how to wait."""

from __future__ import annotations

import atexit
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import chromadb

from langgraph_memory.chroma.server import disconnect

BINARY = Path(sys.executable).with_name("chroma")
START_SECONDS = 120


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_for(port: int, process: subprocess.Popen[Any]) -> None:
    """Return when a process that was started listens."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.05)


class ChromaServer:
    """A server process on a directory; started anew, it keeps its port."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [BINARY, "run", "--path", self.directory, "--host", "127.0.0.1"]
        self._process = subprocess.Popen(
            [*map(str, command), "--port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self.port, self._process)

    def kill(self) -> None:
        """End the server with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Give a client of Chroma's own."""
        client = chromadb.HttpClient("127.0.0.1", self.port)
        try:
            yield client
        finally:
            disconnect(client)

    def clear(self) -> None:
        """Delete all collections."""
        with self.client() as client:
            for collection in client.list_collections():
                client.delete_collection(collection.name)


@cache
def shared_server() -> ChromaServer:
    """Return a server that all tests of this process share; it ends with the process."""
    directory = Path(tempfile.mkdtemp(prefix="chroma-server-"))
    server = ChromaServer(directory)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    atexit.register(server.kill)
    server.start()
    return server
