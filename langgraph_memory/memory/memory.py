"""Memory: the verbs, on any LangGraph store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from langchain_core.documents import BaseDocumentCompressor
from langgraph.store.base import BaseStore

from langgraph_memory.episodes import Evaluator, IsTask
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.memory import settings
from langgraph_memory.memory.background import DEBOUNCE, Worker
from langgraph_memory.memory.backup import BackingUp
from langgraph_memory.memory.consolidate import Upkeep
from langgraph_memory.memory.delivery import place_of
from langgraph_memory.memory.episodes import Episodes
from langgraph_memory.memory.erase import Erasing
from langgraph_memory.memory.forget import Forgetting
from langgraph_memory.memory.messages import Turns
from langgraph_memory.memory.notes import Notes
from langgraph_memory.memory.outbox import Outbox
from langgraph_memory.memory.recall import Reading
from langgraph_memory.messages import Marks, check_retention, check_store
from langgraph_memory.models import ChatCaller, ChatModel
from langgraph_memory.notes import Accept, zone_of
from langgraph_memory.records import Clock, check_flag, utc_now
from langgraph_memory.redaction import check_redact, no_redaction, redact_secrets
from langgraph_memory.retrieval import Ranking, Rewrite


class Memory(Turns, Notes, Episodes, Reading, Forgetting, Erasing, Upkeep, BackingUp):
    """Long-term memory of users, projects and agents.

    Args:
        store: A LangGraph store; `ChromaStore` for exact hybrid search. Without one, the nodes use
            the run's own store, as on a LangGraph server.
        model: The chat model that extracts notes from what was said, or a string for LangChain's
            `init_chat_model`, which is resolved at first use. Without one, notes come from
            `remember`.
        ranking: How hits are scored.
        reranker: A LangChain document compressor (a cross-encoder, say) that puts the best hits of
            a recall into its own order; if it fails, theirs stays. The nodes' `timeout` counts it.
        rewrite: Makes of what the user says the question, or up to three, that `recall_node` and
            `with_memory` ask: a chat model (or its name), or a plain function of a text. It gets
            half of their `timeout`; if it fails, they ask what was said.
        redact: Takes secrets out of every text before it is embedded or stored; `None` keeps all.
        outbox: A file, made if it is not there, that keeps what a run cannot save while the store's
            server is away; it is delivered, once and in order, when the server is back, also by the
            next process. An `Outbox` has other limits. The store has to be on a server.
        debounce: Seconds that work in the background waits for further turns of its thread.
        keep_messages: Whether messages stay once the model has made notes of them. If not, digests
            of their ids stay alone.
        message_ttl: For how many minutes messages are kept, from when they were said; reads do not
            prolong it. `None` keeps them for good. The store has to support it, and to be swept.
        clock: Gives the present moment, aware.
        every_n_turns: Notes are extracted when a thread has so many turns that were not looked
            through; 3 and more save calls of the model.
        retries: How often the model is asked again if its answer cannot be read.
        accept: Returns a candidate as it is to be kept, or `None` to refuse it.
        review: Whether extracted notes are `proposed` until a person approves them.
        min_importance: Candidates of less importance are left out, 0 to 1.
        time_zone: Whose days count, an IANA name: in "yesterday" and "next Friday", in filters, and
            in the dates that a model reads.
        statements: Whether a prompt that the notes leave room in is given what the user stated
            about themselves, whatever is asked.
        reflect_every: After how many new episodes the model draws lessons from them in the
            background; at once after a failure. `None` leaves it to `reflect`.
        is_task: Whether a turn is worth an episode: a function of what the user asked and of the
            names of the tools that were called. By default it is if a tool was called, or something
            was asked to be done.
        evaluator: Judges each episode that is logged without a score, in the background: a plain
            function of the episode and its messages, that returns a score from 0 to 1, a `Rating`,
            or `None` for no judgement.
        read_only: Refuses all verbs that write, whatever the store is. A store that is only read,
            `ChromaStore(path, read_only=True)`, makes its memory so too.

    Example:
        >>> from langgraph_memory import ChromaStore
        >>> with Memory(ChromaStore.in_memory()) as memory:
        ...     _ = memory.remember("Drinks decaf after noon", user="c-2291", kind="preference")
        ...     memory.recall("decaf coffee", user="c-2291").hits[0].text
        'Drinks decaf after noon'
    """

    def __init__(
        self,
        store: BaseStore | None = None,
        *,
        model: ChatModel | str | None = None,
        ranking: Ranking | None = None,
        reranker: BaseDocumentCompressor | None = None,
        rewrite: Rewrite | ChatModel | str | None = None,
        redact: Callable[[str], str] | None = redact_secrets,
        outbox: str | Path | Outbox | None = None,
        debounce: float = DEBOUNCE,
        keep_messages: bool = True,
        message_ttl: float | None = None,
        clock: Clock = utc_now,
        every_n_turns: int = 1,
        retries: int = 2,
        accept: Accept | None = None,
        review: bool = False,
        min_importance: float = 0.0,
        time_zone: str = "UTC",
        statements: bool = True,
        reflect_every: int | None = 10,
        is_task: IsTask | None = None,
        evaluator: Evaluator | None = None,
        read_only: bool = False,
    ) -> None:
        if store is not None and not isinstance(store, BaseStore):
            raise ConfigurationError(
                f"store= takes a LangGraph store such as ChromaStore('./memory'), got {store!r}"
            )
        check_retention(keep_messages, message_ttl, model)
        check_store(store, message_ttl)
        self.delivery = settings.delivery(outbox)
        if self.delivery is not None and store is not None:
            place_of(store)
        self._store = store
        self._read_only = check_flag("read_only", read_only)
        self.model = model
        self.keep_messages = keep_messages
        self.message_ttl = message_ttl
        self.ranking = settings.ranking(ranking)
        self.reranker = settings.reranker(reranker)
        self.rewriter = settings.rewriter(rewrite)
        if redact is not None:
            check_redact(redact)
        self.redact = redact or no_redaction
        self.clock = clock
        self.zone = zone_of(time_zone)
        self.statements = check_flag("statements", statements)
        self.is_task = settings.task_rule(is_task)
        self.evaluator = settings.evaluator(evaluator)
        self._worker = Worker(debounce)
        self.extracting = settings.extracting(
            every_n_turns=every_n_turns,
            retries=retries,
            accept=accept,
            review=review,
            min_importance=min_importance,
            time_zone=time_zone,
        )
        self.reflect_every = settings.reflect_every(reflect_every)
        self._asker = None if model is None else ChatCaller(settings.chat_model(model))
        self._warm = False
        self._marks = Marks()
