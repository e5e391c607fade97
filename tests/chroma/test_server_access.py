"""A Chroma server in the open: behind TLS and a token, in a tenant, at times silent."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromadb
import httpx
import pytest
from chromadb.config import Settings

from langgraph_memory import ChromaStore, StoreAwayError, StoreError, open_store
from langgraph_memory.chroma.server import disconnect
from langgraph_memory.errors import ConfigurationError
from tests.chroma.support import EMBED, keys
from tests.gateway import HEADERS, TOKEN, Gateway, make_certificates
from tests.servers import BINARY, ChromaServer, shared_server

pytestmark = pytest.mark.skipif(
    not BINARY.exists(),
    reason="the program `chroma`, which comes with chromadb, is not beside Python",
)


@pytest.fixture
def chroma() -> ChromaServer:
    """A server without a collection, whatever other tests left there."""
    chroma = shared_server()
    chroma.clear()
    return chroma


@pytest.fixture
def gateway(chroma: ChromaServer) -> Iterator[Gateway]:
    """A proxy before it, which asks for a token."""
    with Gateway(chroma.port) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The certificate of an authority, and one that it signed."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def told(error: BaseException) -> str:
    """Everything that a log or a terminal shows of an error."""
    return "".join(traceback.format_exception(error)) + repr(error)


# -- TLS ------------------------------------------------------------------------------------------


async def test_a_server_is_used_over_tls_if_its_authority_is_trusted(
    chroma: ChromaServer, certificates: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, certificate = certificates
    with Gateway(chroma.port, certificate) as gateway:
        with pytest.raises(StoreError, match=r"certificate of https://.*SSL_CERT_FILE") as refused:
            ChromaStore(gateway.url, headers=HEADERS, embed=EMBED)
        assert not isinstance(refused.value, StoreAwayError)  # nothing was waited for
        assert gateway.seen == []

        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        async with open_store(gateway.url, headers=HEADERS, embed=EMBED) as store:
            await store.aput(("a",), "k", {"text": "moka"})
            assert keys(await store.asearch(("a",), query="moka")) == ["k"]
            assert store.place == f"{gateway.url} default_tenant/default_database"
        assert gateway.seen


def test_a_client_of_ones_own_brings_its_certificate_and_its_headers(
    chroma: ChromaServer, certificates: tuple[Path, Path]
) -> None:
    authority, certificate = certificates
    with Gateway(chroma.port, certificate) as gateway:
        with pytest.warns(DeprecationWarning, match="verify"):  # Chroma gives httpx a path
            client = chromadb.HttpClient(
                "127.0.0.1",
                gateway.port,
                ssl=True,
                headers=dict(HEADERS),
                settings=Settings(chroma_server_ssl_verify=str(authority)),
            )
        with ChromaStore(client=client, embed=EMBED) as store:
            store.put(("a",), "k", {"text": "moka"})
            assert keys(store.search(("a",))) == ["k"]
        disconnect(client)


# -- the token ------------------------------------------------------------------------------------


async def test_a_missing_or_wrong_token_is_an_error_that_says_where_it_goes(
    gateway: Gateway,
) -> None:
    for headers in (None, {"Authorization": "Bearer wrong-token"}):
        with pytest.raises(StoreError, match=r"refused the request \(401\).*headers=") as refused:
            ChromaStore(gateway.url, headers=headers, embed=EMBED)
        assert not isinstance(refused.value, StoreAwayError)
        assert "wrong-token" not in told(refused.value)
    async with open_store(gateway.url, headers=HEADERS, embed=EMBED) as store:
        assert await store.aget(("a",), "k") is None


def test_a_token_is_in_no_error_log_or_repr_whatever_a_server_answers(
    gateway: Gateway, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "Bearer tok-that-has-expired"
    gateway.refusal = f"you sent {wrong}, and tok-that-has-expired is no token"
    with pytest.raises(StoreError, match="refused") as refused:
        ChromaStore(gateway.url, headers={"Authorization": wrong}, embed=EMBED)
    assert "you sent" in str(refused.value)
    assert "tok-that-has-expired" not in told(refused.value)

    given = dict(HEADERS)
    with ChromaStore(gateway.url, headers=given, patience=0, embed=EMBED) as store:
        assert given == HEADERS  # Chroma adds to the dict that it is given
        collection: Any = store._collection
        monkeypatch.setattr(collection._rows._collection, "get", lose_with_the_token)
        with pytest.raises(StoreAwayError) as away:
            store.get(("a",), "k")
        shown = [repr(store), repr(collection._rows._server), repr(vars(store)), caplog.text]
        assert all(TOKEN not in text for text in [*shown, told(away.value)])


def lose_with_the_token(**arguments: Any) -> None:
    raise httpx.ReadError(f"connection reset after {TOKEN}")


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {TOKEN}\n"},
        {"Authorization": f" {TOKEN}"},
        {"Authorization": f"{TOKEN}é"},
        {"Authorization": TOKEN.encode()},
        {f"{TOKEN}: ": "x"},
        [("Authorization", TOKEN)],
        TOKEN,
    ],
    ids=["line-break", "space", "accent", "bytes", "name", "pairs", "text"],
)
def test_what_no_header_can_hold_is_refused_without_being_said(
    gateway: Gateway, headers: Any
) -> None:
    with pytest.raises(ConfigurationError, match="headers") as refused:
        ChromaStore(gateway.url, headers=headers, embed=EMBED)
    assert TOKEN not in told(refused.value)
    assert gateway.seen == []


def test_stores_with_different_tokens_do_not_share_a_connection(gateway: Gateway) -> None:
    with (
        ChromaStore(gateway.url, headers=HEADERS, embed=EMBED) as one,
        ChromaStore(gateway.url, headers=HEADERS | {"X-Team": "b"}, embed=EMBED) as other,
    ):
        assert one._collection is not other._collection
        with pytest.raises(StoreError, match="refused"):
            ChromaStore(gateway.url, embed=EMBED)


# -- tenants and databases ------------------------------------------------------------------------


def admin(chroma: ChromaServer) -> Any:
    settings = Settings(
        chroma_api_impl="chromadb.api.fastapi.FastAPI",
        chroma_server_host="127.0.0.1",
        chroma_server_http_port=chroma.port,
    )
    return chromadb.AdminClient(settings)


def test_tenants_and_databases_are_apart_and_a_missing_one_says_what_to_do(
    chroma: ChromaServer,
) -> None:
    def opened(**place: Any) -> ChromaStore:
        return ChromaStore(chroma.url, embed=EMBED, **place)

    creating = admin(chroma)
    with pytest.raises(StoreError, match=r"has no tenant 'shop'.*AdminClient"):
        opened(tenant="shop")
    creating.create_tenant("shop")
    with pytest.raises(StoreError, match=r"no database 'notes' in the tenant 'shop'.*AdminClient"):
        opened(tenant="shop", database="notes")
    creating.create_database("notes", "shop")
    with opened(tenant="shop", database="notes") as shop, opened() as default:
        shop.put(("a",), "k", {"n": 1})
        assert default.search(()) == []
        creating.delete_database("notes", "shop")
        with pytest.raises(StoreError, match="Chroma failed"):
            shop.put(("a",), "l", {"n": 2})
    creating._server._session.close()


@pytest.mark.parametrize("name", ["headers", "tenant", "database"])
def test_what_a_client_or_a_folder_cannot_be_given_is_refused(
    chroma: ChromaServer, tmp_path: Path, name: str
) -> None:
    given: Any = {name: dict(HEADERS) if name == "headers" else "shop"}
    with pytest.raises(ConfigurationError, match=rf"{name}=: they are for the URL") as refused:
        ChromaStore(tmp_path, embed=EMBED, **given)
    assert TOKEN not in told(refused.value)
    with (
        chroma.client() as client,
        pytest.raises(ConfigurationError, match=rf"{name}=: a client has them"),
    ):
        ChromaStore(client=client, embed=EMBED, **given)
    with pytest.raises(ConfigurationError, match="for the URL of a Chroma server"):
        ChromaStore(tmp_path, embed=EMBED, timeout=1, patience=1)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "5", True])
def test_a_time_that_is_none_is_refused(chroma: ChromaServer, seconds: Any) -> None:
    for name in ("timeout", "patience"):
        with pytest.raises(ConfigurationError, match=f"{name}= is a time in seconds"):
            ChromaStore(chroma.url, embed=EMBED, **{name: seconds})
    with pytest.raises(ConfigurationError, match="timeout="):
        ChromaStore(chroma.url, embed=EMBED, timeout=0)


# -- a server that does not answer ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True], ids=["url", "client"])
async def test_a_request_that_is_never_answered_ends(gateway: Gateway, own: bool) -> None:
    limits: Any = {"timeout": 0.2, "patience": 0, "embed": EMBED}
    client = chromadb.HttpClient("127.0.0.1", gateway.port, headers=dict(HEADERS)) if own else None
    if not own:
        gateway.open.clear()
        with pytest.raises(StoreAwayError, match="cannot reach"):
            ChromaStore(gateway.url, headers=HEADERS, **limits)
        gateway.open.set()
    where: Any = {"client": client} if own else {"path": gateway.url, "headers": HEADERS}
    with ChromaStore(**where, **limits) as store:
        store.put(("a",), "k", {"n": 1})
        gateway.open.clear()
        with pytest.raises(StoreAwayError, match="cannot reach"):
            store.put(("a",), "l", {"n": 2})
        with pytest.raises(StoreAwayError, match="cannot reach"):
            await store.aget(("a",), "k")
        gateway.open.set()
        assert store.get(("a",), "k") is not None
    if client is not None:
        disconnect(client)


def test_the_time_limit_of_a_client_of_ones_own_stays_unless_another_is_asked_for(
    chroma: ChromaServer,
) -> None:
    def limit(client: Any) -> httpx.Timeout:
        limit: httpx.Timeout = client._server._session.timeout
        return limit

    with chroma.client() as client:
        with ChromaStore(client=client, embed=EMBED):
            assert limit(client).read is not None
        client._server._session.timeout = httpx.Timeout(7)
        with ChromaStore(client=client, embed=EMBED):
            assert limit(client) == httpx.Timeout(7)
        with ChromaStore(client=client, timeout=3, embed=EMBED):
            assert limit(client).read == 3


async def test_an_event_loop_goes_on_while_a_server_is_waited_for(gateway: Gateway) -> None:
    async with open_store(gateway.url, headers=HEADERS, embed=EMBED) as store:
        gateway.open.clear()
        waiting = asyncio.create_task(store.aput(("a",), "k", {"n": 1}))
        for _ in range(10):
            await asyncio.sleep(0)
        gateway.open.set()  # what a loop that stands still would never come to
        await waiting
        assert await store.aget(("a",), "k") is not None
