"""Verbs on texts that somebody gave to know."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langgraph_memory.documents import (
    Replacement,
    decoded,
    leftovers,
    sources_with_leftovers,
    stored_ops,
    with_sources,
)
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.memory import arguments
from langgraph_memory.memory.base import Progress, Verbs
from langgraph_memory.memory.locks import DOCUMENT_LOCKS
from langgraph_memory.memory.read_only import writes
from langgraph_memory.records import Owner, Source, check_progress
from langgraph_memory.store import all_ops, batches, read_records
from langgraph_memory.twins import blocking, twins


class Documents(Verbs):
    """`add_document`."""

    @writes
    async def _add_document(
        self,
        text: str | Path,
        *,
        user: str,
        source: str | Path | None = None,
        project: str | None = None,
        agent: str | None = None,
        language: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        on_progress: Progress | None = None,
    ) -> Source:
        """Keep a text in chunks, in place of what its source held before.

        A source is replaced in one step: readers find all its old chunks or all its new ones. The
        same text again changes nothing. If it is interrupted, the old chunks hold, and the next
        call for the source goes on from there.

        Args:
            text: The text; or a `pathlib.Path`, of which the file is read, as UTF-8. (A `str` is
                always the text.)
            user: Whose memory it is; with `project` or `agent`, who contributes it.
            source: What it is called, and replaced by; by default the path as it is given
                (`docs/returns.md`). A text needs one.
            project: The project that it belongs to, instead of the user.
            agent: The agent that it belongs to, instead of the user.
            language: How it is split: `markdown` (by headings), `text`, `python`, `js`, ...; by
                default as the suffix of the source says.
            metadata: JSON values of your own, to filter by.
            on_progress: Called after each batch with the chunks written and all there are to write.

        Returns:
            The source, with its number of chunks. `list(types=("source",))` gives all of them.

        Raises:
            ConfigurationError: If the file cannot be read or is no text, or nothing is in it; what
                its source held before stays.
        """
        replacement = await blocking(
            self._replacement,
            text,
            source,
            user,
            project,
            agent,
            language=language,
            metadata=metadata,
        )
        check_progress(on_progress)
        async with DOCUMENT_LOCKS.hold(replacement.lock):
            while ops := replacement.next_ops(await self._ask(replacement.read_ops)):
                total, done = replacement.written(ops), 0
                for batch in batches(ops):
                    await self._batch(batch)
                    done += replacement.written(batch)
                    if on_progress is not None and total:
                        on_progress(done, total)
        return replacement.row

    add_document, aadd_document = twins(_add_document)

    def _replacement(
        self,
        text: str | Path,
        source: str | Path | None,
        user: str,
        project: str | None,
        agent: str | None,
        **how: Any,
    ) -> Replacement:
        """Read and split a text; nothing is stored yet."""
        if isinstance(text, Path):
            source, text = text if source is None else source, _content(text)
        return arguments.document(
            text,
            source=source,
            user=user,
            project=project,
            agent=agent,
            now=self.clock(),
            redact=self.redact,
            **how,
        )

    # -- what was interrupted --

    async def _remove_leftovers(self, owner: Owner) -> None:
        """Delete what interrupted calls have left of an owner's sources."""
        namespaces = with_sources([owner.namespace("document")])
        found = await self._batch(all_ops(namespaces))
        for source in sources_with_leftovers(read_records(namespaces, found)):
            async with DOCUMENT_LOCKS.hold((owner, source)):
                stored = await self._ask(stored_ops(owner, source))
                await self._write(leftovers(owner, source, stored, self.clock()))


def _content(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            files = f"Path({str(path)!r}).rglob('*.md')"
            raise OSError(f"it is a folder: add its files one by one, such as those of {files}")
        if not stat.S_ISREG(mode):
            raise OSError("it is a pipe or a device")  # of which some never end
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    return decoded(content, path)
