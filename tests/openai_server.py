"""A local server that speaks the OpenAI protocol as Ollama, LM Studio and vLLM do.

It lets tests use the real `ChatOpenAI` and `OpenAIEmbeddings` without a key and without a network.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

from langgraph_memory.testing import HashingEmbeddings
from langgraph_memory.testing.chat import word_chunks

Json = dict[str, Any]

Reply = Callable[[list[Json]], str | Json]
"""From the messages as they were sent: a text, or fields such as `{"tool_calls": [...]}`."""


class Refusal(Exception):
    """Raised by a `reply` function, this is the HTTP status and message that the client gets."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Request:
    """One request as the server got it."""

    path: str
    body: Json
    headers: dict[str, str]
    """Names in lower case."""


class OpenAIServer:
    """Serves `/v1/chat/completions` and `/v1/embeddings` on 127.0.0.1 inside a `with` block.

    Example:
        >>> from langchain_openai import ChatOpenAI
        >>> with OpenAIServer(reply=lambda messages: messages[-1]["content"].upper()) as server:
        ...     model = ChatOpenAI(base_url=server.base_url, api_key="x", model="local")
        ...     print(model.invoke("tea, please").text)
        TEA, PLEASE
    """

    def __init__(self, reply: Reply = lambda messages: "ok", *, dims: int = 256) -> None:
        """Bind to a free port.

        Args:
            reply: What the chat says.
            dims: Length of the vectors, which come from `HashingEmbeddings`.
        """
        self.reply = reply
        self.embeddings = HashingEmbeddings(dims)
        self.requests: list[Request] = []
        self._http = _HTTPServer(self)
        # The default polls twice a second for the shutdown, and each test would wait for it.
        self._thread = Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def base_url(self) -> str:
        """What `base_url=` of a client takes."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _HTTPServer(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, app: OpenAIServer) -> None:
        self.app = app
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        # HTTPServer's own would look the host's name up in the DNS.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]


class _Handler(BaseHTTPRequestHandler):
    """Answers one request; HTTP/1.0 closes the connection, so none outlives its test."""

    server: _HTTPServer

    def do_POST(self) -> None:
        app = self.server.app
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        app.requests.append(Request(self.path, body, headers))
        try:
            if self.path == "/v1/embeddings":
                self._send_json(200, _embeddings(body, app.embeddings))
            elif self.path == "/v1/chat/completions":
                self._send_chat(body, app.reply(body["messages"]))
            else:
                raise Refusal(404, f"no such path: {self.path}")
        except Refusal as refusal:
            error = {"message": str(refusal), "type": "invalid_request_error"}
            self._send_json(refusal.status, {"error": error})

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""

    def _send_chat(self, body: Json, reply: str | Json) -> None:
        message = {"content": reply} if isinstance(reply, str) else {"content": None, **reply}
        if not body.get("stream"):
            self._send_json(200, _completion(body, message))
            return
        self._send_head(200, "text/event-stream")
        for event in _events(body, message):
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def _send_json(self, status: int, answer: Json) -> None:
        self._send_head(status, "application/json")
        self.wfile.write(json.dumps(answer).encode())

    def _send_head(self, status: int, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.end_headers()


def _completion(body: Json, message: Json) -> Json:
    choice = {
        "index": 0,
        "message": {"role": "assistant", **message},
        "finish_reason": _finish_reason(message),
    }
    return {
        **_head(body, "chat.completion"),
        "choices": [choice],
        "usage": _usage(body["messages"], message),
    }


def _events(body: Json, message: Json) -> Iterator[Json]:
    """Give the server-sent events of a streamed answer: its words, the end, the usage."""
    head = _head(body, "chat.completion.chunk")
    calls = [{"index": i, **call} for i, call in enumerate(message.get("tool_calls") or ())]
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": token} for token in word_chunks(message["content"] or "")]
    deltas += [{"tool_calls": [call]} for call in calls]
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    end = {"index": 0, "delta": {}, "finish_reason": _finish_reason(message)}
    yield {**head, "choices": [end]}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(body["messages"], message)}


def _head(body: Json, kind: str) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": body.get("model", "")}


def _finish_reason(message: Json) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _usage(messages: list[Json], answer: Json) -> Json:
    texts = [message.get("content") for message in messages]
    read = sum(len(word_chunks(text)) for text in texts if isinstance(text, str))
    written = len(word_chunks(answer["content"] or ""))
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
    }


def _embeddings(body: Json, embeddings: HashingEmbeddings) -> Json:
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        # Only OpenAI itself takes tokens: their meaning depends on the model's tokenizer.
        raise Refusal(400, "invalid input type")
    packed = body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _pack(vector) if packed else vector}
        for index, vector in enumerate(embeddings.embed_documents(texts))
    ]
    read = sum(len(word_chunks(text)) for text in texts)
    usage = {"prompt_tokens": read, "total_tokens": read}
    return {"object": "list", "data": data, "model": body.get("model", ""), "usage": usage}


def _pack(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
