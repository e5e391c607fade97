from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from http.client import HTTPConnection
from operator import add
from typing import Any

import openai
import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel, SecretStr

from langgraph_memory.testing import HashingEmbeddings
from tests.openai_server import OpenAIServer, Refusal, Reply

KEY = SecretStr("x")
TEXTS = ["green tea", "绿茶", ""]


class Drink(BaseModel):
    """What somebody drinks."""

    name: str


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(reply=lambda messages: f"You said: {messages[-1]['content']}") as server:
        yield server


def chat(server: OpenAIServer, **kwargs: Any) -> ChatOpenAI:
    return ChatOpenAI(base_url=server.base_url, api_key=KEY, model="local", max_retries=0, **kwargs)


def embedder(server: OpenAIServer, **kwargs: Any) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(base_url=server.base_url, api_key=KEY, max_retries=0, **kwargs)


def post(server: OpenAIServer, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", int(server.base_url.split(":")[2].split("/")[0]))
    connection.request("POST", path, json.dumps(body))
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


def assert_close(vectors: list[list[float]], texts: list[str]) -> None:
    for vector, expected in zip(vectors, HashingEmbeddings().embed_documents(texts), strict=True):
        assert vector == pytest.approx(expected, abs=1e-6)


# --- chat -------------------------------------------------------------------------------------


def test_the_chat_says_what_the_reply_function_returns(server: OpenAIServer):
    answer = chat(server).invoke([SystemMessage("Be short."), HumanMessage("green tea")])
    assert answer.text == "You said: green tea"
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["input_tokens"] == 4
    assert answer.usage_metadata["output_tokens"] == 4


async def test_the_chat_streams_words_and_usage(server: OpenAIServer):
    model = chat(server, stream_usage=True)
    chunks = list(model.stream("green tea"))
    pieces = [chunk.text for chunk in chunks if chunk.text]
    assert pieces == ["You ", "said: ", "green ", "tea"]
    usage = reduce(add, chunks).usage_metadata
    assert usage is not None
    assert (usage["input_tokens"], usage["output_tokens"]) == (2, 4)
    assert [chunk.text async for chunk in model.astream("green tea") if chunk.text] == pieces


async def test_the_chat_answers_async_clients(server: OpenAIServer):
    assert (await chat(server).ainvoke("tea")).text == "You said: tea"


def test_requests_are_recorded(server: OpenAIServer):
    chat(server, temperature=0).invoke("tea")
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body["messages"] == [{"content": "tea", "role": "user"}]
    assert request.body["temperature"] == 0
    assert request.headers["authorization"] == "Bearer x"


def call(messages: list[dict[str, Any]]) -> dict[str, Any]:
    function = {"name": "Drink", "arguments": '{"name": "tea"}'}
    return {"tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


@pytest.mark.parametrize(
    ("method", "reply"),
    [
        ("json_schema", lambda messages: '{"name": "tea"}'),
        ("json_mode", lambda messages: '{"name": "tea"}'),
        ("function_calling", call),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
# langchain-openai dumps a parsed message that openai's own types do not expect.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_structured_output_works_by_every_method(method: Any, reply: Reply, streaming: bool):
    with OpenAIServer(reply=reply) as server:
        model = chat(server, streaming=streaming).with_structured_output(Drink, method=method)
        assert model.invoke("Answer in JSON.") == Drink(name="tea")


def test_a_refusal_reaches_the_client_as_its_http_error():
    def refuse(messages: list[dict[str, Any]]) -> str:
        raise Refusal(429, "too many")

    with OpenAIServer(reply=refuse) as server:
        with pytest.raises(openai.RateLimitError, match="too many"):
            chat(server).invoke("tea")
        with pytest.raises(openai.RateLimitError, match="too many"):
            list(chat(server).stream("tea"))


# --- embeddings -------------------------------------------------------------------------------


async def test_embeddings_are_those_of_the_hashing_embedder(server: OpenAIServer):
    embeddings = embedder(server, check_embedding_ctx_length=False)
    assert_close(embeddings.embed_documents(TEXTS), TEXTS)
    assert_close(await embeddings.aembed_documents(TEXTS), TEXTS)
    assert_close([embeddings.embed_query("green tea")], ["green tea"])


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_clients_read_both_encodings(server: OpenAIServer, encoding: Any):
    with openai.OpenAI(base_url=server.base_url, api_key="x") as client:
        answer = client.embeddings.create(input=TEXTS, model="m", encoding_format=encoding)
    assert server.requests[0].body["encoding_format"] == encoding
    if encoding == "float":
        assert_close([item.embedding for item in answer.data], TEXTS)
    assert [item.index for item in answer.data] == [0, 1, 2]


def test_base64_is_given_when_it_is_asked_for(server: OpenAIServer):
    body = {"input": "tea", "model": "m"}
    _, plain = post(server, "/v1/embeddings", body)
    _, packed = post(server, "/v1/embeddings", {**body, "encoding_format": "base64"})
    assert isinstance(plain["data"][0]["embedding"], list)
    assert isinstance(packed["data"][0]["embedding"], str)


@pytest.mark.parametrize("wrong", [[1, 2], [[1, 2], [3]], ["tea", [1]], 7, None])
def test_tokens_are_refused_as_ollama_refuses_them(server: OpenAIServer, wrong: Any):
    status, answer = post(server, "/v1/embeddings", {"input": wrong, "model": "m"})
    assert status == 400
    assert answer["error"]["message"] == "invalid input type"


def test_the_length_of_the_vectors_can_be_chosen():
    with OpenAIServer(dims=8) as server:
        assert len(embedder(server, check_embedding_ctx_length=False).embed_query("tea")) == 8


# --- the server -------------------------------------------------------------------------------


def test_an_unknown_path_is_not_found(server: OpenAIServer):
    assert post(server, "/v1/images", {})[0] == 404


def test_after_the_block_the_port_is_closed():
    with OpenAIServer() as server:
        assert chat(server).invoke("tea").text == "ok"
    with pytest.raises(openai.APIConnectionError):
        chat(server).invoke("tea")


def test_two_servers_at_once_do_not_meet():
    with OpenAIServer(reply=lambda _: "a") as a, OpenAIServer(reply=lambda _: "b") as b:
        assert (chat(a).invoke("?").text, chat(b).invoke("?").text) == ("a", "b")
    assert len(a.requests) == len(b.requests) == 1
