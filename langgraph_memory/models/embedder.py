"""Texts to unit vectors: the embedded default, any LangChain `Embeddings`, and the fingerprint.

The fingerprint says by which embedder a collection's vectors were made. Vectors of two embedders
cannot be compared, so a store checks it before it mixes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import ensure_embeddings
from langgraph.store.base.embed import EmbeddingsLambda
from numpy.typing import NDArray

from langgraph_memory.errors import ConfigurationError, EmbedderMismatchError
from langgraph_memory.models.universal import UniversalSentenceEncoder
from langgraph_memory.text import replace_surrogates
from langgraph_memory.twins import Either, twins

Vectors = NDArray[np.float32]
"""An array of shape `(texts, dimensions)`, every row of length 1."""

EmbedFunction = Callable[[Sequence[str]], list[list[float]]]
"""From texts to their vectors, all of one length; they are brought to length 1."""
AsyncEmbedFunction = Callable[[Sequence[str]], Awaitable[list[list[float]]]]
"""The same, to be awaited."""
Embed = Embeddings | EmbedFunction | AsyncEmbedFunction | str
"""What `embed=` takes: LangChain embeddings, a function, or a string: `"e5"` is `UniversalAndE5`,
others are LangChain's, such as `"openai:text-embedding-3-small"`."""

MAX_CHARACTERS = 5_000
"""How much of a text is embedded. The embedded default takes 76 ms for that much and 2.8 s for
twenty times as much; and it is less than the 8,191 tokens that OpenAI's models take."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """By what a collection's vectors were made.

    `probe`, the rounded vector of a fixed text, is kept where there is no name of a model: for
    functions, and for classes of `Embeddings` that do not say their model.
    """

    embedder: str
    dims: int | None = None
    probe: tuple[float, ...] | None = None

    def check(self, stored: Fingerprint) -> None:
        """Refuse to go on if vectors were stored by another embedder.

        Raises:
            EmbedderMismatchError: If the embedder, the dimensions or the probe differ.
        """
        if not self.matches(stored):
            alike = self._alike(stored)
            raise EmbedderMismatchError(
                f"this memory was written with the embedder {stored.describe(alike)}, and was "
                f"opened with {self.describe(alike)}. Open it with the embedder it was written "
                "with (embed=...), or move the directory to the new one: langgraph_memory.reembed "
                "makes all vectors again. Vectors of two embedders cannot be compared"
            )

    def matches(self, stored: Fingerprint) -> bool:
        """Return whether both say the same embedder, as far as both say."""
        if self._alike(stored) and self.probe is not None and stored.probe is not None:
            return float(np.dot(_unit(self.probe), _unit(stored.probe))) > 0.99
        return self._alike(stored)

    def _alike(self, stored: Fingerprint) -> bool:
        return self.embedder == stored.embedder and (
            self.dims is None or stored.dims is None or self.dims == stored.dims
        )

    def describe(self, closely: bool = False) -> str:
        """Return the embedder and its dimensions in words; closely, with its probe's beginning."""
        dims = "unknown" if self.dims is None else str(self.dims)
        begin = " ".join(map(str, (self.probe or ())[:3]))
        return f"{self.embedder!r} ({dims} dimensions{f', probe {begin} ...' if closely else ''})"


class Embedder:
    """Texts to unit vectors, by whatever `embed=` was.

    Texts are cut at `MAX_CHARACTERS`; lone surrogates, which no tokenizer takes, are replaced.
    """

    def __init__(self, embed: Embed | None = None, dims: int | None = None) -> None:
        self.embeddings = _embeddings(embed)
        self.fingerprint = Fingerprint(
            name_of(self.embeddings), dims or _known_dims(self.embeddings)
        )
        # What has no name of its own is known by what it makes of a fixed text.
        self._anonymous = _model_name(self.embeddings) is None

    @property
    def needs_probe(self) -> bool:
        """Whether `PROBE` has to be embedded before the fingerprint is whole."""
        fingerprint = self.fingerprint
        return fingerprint.dims is None or (self._anonymous and fingerprint.probe is None)

    @property
    def only_async(self) -> bool:
        """Whether it is a coroutine function, which `embed` cannot call."""
        return isinstance(self.embeddings, EmbeddingsLambda) and not hasattr(
            self.embeddings, "func"
        )

    @property
    def has_async(self) -> bool:
        """Whether it waits for its vectors in the event loop, and takes no thread for that."""
        if isinstance(self.embeddings, EmbeddingsLambda):
            return hasattr(self.embeddings, "afunc")
        return type(self.embeddings).aembed_documents is not Embeddings.aembed_documents

    def learn(self, probe: NDArray[np.float32]) -> None:
        """Complete the fingerprint from the vector of `PROBE`, of shape `(dimensions,)`."""
        rounded = tuple(round(float(x), 3) for x in probe) if self._anonymous else None
        self.fingerprint = replace(self.fingerprint, dims=len(probe), probe=rounded)

    def adopt(self, stored: Fingerprint) -> None:
        """Check a stored fingerprint; a named model need not be asked for its dimensions again.

        Raises:
            EmbedderMismatchError: If the stored vectors were made by another embedder.
        """
        self.fingerprint.check(stored)
        if not self._anonymous:
            self.fingerprint = stored

    def load(self) -> None:
        """Load the embedded default's weights now; other embedders have nothing to load."""
        if isinstance(self.embeddings, UniversalSentenceEncoder):
            self.embeddings.load()

    async def _embed(
        self, documents: Sequence[str], queries: Sequence[str]
    ) -> tuple[Vectors, Vectors]:
        """Embed texts to store and texts to look for."""
        by, made = self.embeddings, []
        if documents:
            made = await Either(by.embed_documents, by.aembed_documents, _clean(documents))
        asked = [await Either(by.embed_query, by.aembed_query, text) for text in _clean(queries)]
        stored = self._checked(made, len(documents), self.fingerprint.dims)
        dims = self.fingerprint.dims or (stored.shape[1] if len(stored) else None)
        return stored, self._checked(asked, len(queries), dims)

    embed, aembed = twins(_embed)

    def _checked(self, rows: Sequence[Sequence[float]], expected: int, dims: int | None) -> Vectors:
        if not expected:
            return np.zeros((0, dims or 0), np.float32)
        name = self.fingerprint.embedder
        try:
            with np.errstate(over="ignore"):
                vectors = np.array([np.asarray(row, np.float64) for row in rows], np.float32)
        except (TypeError, ValueError, OverflowError) as error:
            raise ConfigurationError(
                f"the embedder {name!r} gave no list of equally long vectors: {error}"
            ) from error
        if len(vectors) != expected:
            raise ConfigurationError(
                f"the embedder {name!r} gave {len(vectors)} vectors for {expected} texts"
            )
        if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
            raise ConfigurationError(
                f"the embedder {name!r} gave vectors that are not lists of finite numbers"
            )
        if dims is not None and vectors.shape[1] != dims:
            raise EmbedderMismatchError(
                f"the embedder {name!r} gave vectors of [{vectors.shape[1]}] dimensions where "
                f"{dims} are expected: use the embedder that this memory was written with, or say "
                "its true dimensions in index="
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(norms > 0, norms, 1)
        return vectors


def seeded_vector(seed: str, dims: int) -> NDArray[np.float32]:
    """Return a unit vector that depends on `seed` alone, for rows that have none of their own.

    One vector shared by many rows would ruin the search of all others: Chroma's graph would link
    them to each other only.
    """
    digest = hashlib.blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest()
    generator = np.random.default_rng(int.from_bytes(digest, "big"))
    return _unit(generator.standard_normal(dims))


def _embeddings(embed: Embed | None) -> Embeddings:
    if embed is None:
        return UniversalSentenceEncoder()
    if embed == "e5":
        from langgraph_memory.models.e5 import UniversalAndE5

        return UniversalAndE5()
    if isinstance(embed, str):
        return _plain_text(_named(embed))
    if isinstance(embed, Embeddings):
        return _plain_text(embed)
    if callable(embed):
        return ensure_embeddings(embed)
    raise ConfigurationError(
        "embed= takes LangChain Embeddings, a function of a list of texts, or a string such as "
        f"'openai:text-embedding-3-small'; got {type(embed).__name__}"
    )


def _named(name: str) -> Embeddings:
    from langchain.embeddings import init_embeddings

    # OpenAI's class would otherwise fetch a tokenizer file, and send tokens where text is meant.
    options: dict[str, Any] = (
        {"check_embedding_ctx_length": False} if name.startswith("openai:") else {}
    )
    try:
        return init_embeddings(name, **options)
    except Exception as error:  # each provider raises what it likes
        raise ConfigurationError(f"cannot make an embedder from {name!r}: {error}") from error


def _plain_text(embeddings: Embeddings) -> Embeddings:
    """Let `OpenAIEmbeddings` send texts, which every compatible server takes, instead of tokens.

    Its own splitting of long texts is not needed: what is embedded is short enough.
    """
    if getattr(embeddings, "check_embedding_ctx_length", False):
        copied: Embeddings = embeddings.model_copy(  # type: ignore[attr-defined]  # pydantic's
            update={"check_embedding_ctx_length": False}
        )
        return copied
    return embeddings


def name_of(embeddings: Embeddings) -> str:
    """Return the name by which a fingerprint knows an embedder."""
    if isinstance(embeddings, UniversalSentenceEncoder):
        return embeddings.model
    if isinstance(embeddings, EmbeddingsLambda):
        return "function"
    model = _model_name(embeddings)
    kind = type(embeddings).__name__
    return f"{kind}:{model}" if model else kind


def _model_name(embeddings: Embeddings) -> str | None:
    names = (getattr(embeddings, field, None) for field in ("model", "model_name", "deployment"))
    return next((name for name in names if isinstance(name, str) and name), None)


def _known_dims(embeddings: Embeddings) -> int | None:
    dims = getattr(embeddings, "dimensions", None)
    return dims if isinstance(dims, int) and dims > 0 else None


def _clean(texts: Sequence[str]) -> list[str]:
    return [replace_surrogates(text[:MAX_CHARACTERS]) for text in texts]


def _unit(vector: Sequence[float] | NDArray[Any]) -> NDArray[np.float32]:
    array = np.asarray(vector, np.float32)
    return array / (float(np.linalg.norm(array)) or 1.0)


def fingerprint_to_metadata(fingerprint: Fingerprint) -> dict[str, Any]:
    """Return a fingerprint as Chroma collection metadata."""
    fields: dict[str, Any] = {"embedder": fingerprint.embedder, "dims": fingerprint.dims}
    if fingerprint.probe is not None:
        fields["probe"] = " ".join(f"{x:g}" for x in fingerprint.probe)
    return fields


def fingerprint_from_metadata(metadata: Mapping[str, Any]) -> Fingerprint | None:
    """Read a fingerprint from Chroma collection metadata; `None` if there is none yet."""
    if "embedder" not in metadata:
        return None
    probe = metadata.get("probe")
    return Fingerprint(
        str(metadata["embedder"]),
        int(metadata["dims"]),
        tuple(float(x) for x in probe.split()) if isinstance(probe, str) else None,
    )


PROBE = "The quick brown fox. 敏捷的棕色狐狸。"
"""The text whose vector tells embedders without a name apart."""
