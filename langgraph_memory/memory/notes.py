"""Verbs on single notes, and on what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from langgraph_memory.memory import arguments
from langgraph_memory.memory.base import Verbs
from langgraph_memory.memory.locks import OWNER_LOCKS
from langgraph_memory.memory.read_only import writes
from langgraph_memory.notes import (
    Decision,
    approved,
    change_ops,
    edit_ops,
    edited,
    edited_note,
    facts,
    history_of,
    neighbour_ops,
    neighbours,
    reconciled,
    refuse_duplicate,
    rejected,
    restored,
    signed,
    undone,
)
from langgraph_memory.records import Change, Kind, Note, check_id, writer
from langgraph_memory.twins import twins


class Notes(Verbs):
    """`remember`, `edit`, `pin`; `history`, `facts`, `undo`, `restore`; `approve`, `reject`."""

    @writes
    async def _remember(
        self,
        text: str,
        *,
        user: str,
        kind: Kind = "fact",
        slot: str | None = None,
        importance: float = 0.5,
        pinned: bool = False,
        metadata: Mapping[str, Any] | None = None,
        aliases: Iterable[str] = (),
        sources: Sequence[str] = (),
        project: str | None = None,
        agent: str | None = None,
    ) -> Change:
        """Keep a note.

        The same kind and text again reinforces the note that is there; a new text for a slot
        supersedes the old one, which stays as `id@1`.

        Args:
            text: One self-contained sentence.
            user: Whose memory it is; with `project` or `agent`, who contributes the note.
            kind: `preference`, `fact`, `instruction`, `decision` or `lesson`.
            slot: What the note says a value of, such as "home city".
            importance: 0 (trivial) to 1 (critical).
            pinned: Whether the note is in every prompt.
            metadata: JSON values of your own, to filter by.
            aliases: Up to ten other ways to say it, or to ask for it, such as "k8s"; of 200
                characters at most. It is found by them; they are in no prompt.
            sources: Ids of the messages that it comes from.
            project: The project that the note belongs to, instead of the user.
            agent: The agent that the note belongs to, instead of the user.

        Returns:
            What was done: `add`, `reinforce` or `supersede`, and the note.
        """
        candidate = arguments.note(
            text,
            user=user,
            kind=kind,
            slot=slot,
            importance=importance,
            pinned=pinned,
            metadata=metadata,
            aliases=aliases,
            sources=sources,
            project=project,
            agent=agent,
            now=self.clock(),
            redact=self.redact,
        )
        async with OWNER_LOCKS.hold(candidate.owner):
            found = await self._ask(neighbour_ops(candidate))
            changes = signed(reconciled(candidate, *neighbours(candidate, found)), candidate.author)
            await self._write(change_ops(changes))
        return changes[0]

    remember, aremember = twins(_remember)

    @writes
    async def _edit(
        self,
        id: str,
        *,
        user: str,
        text: str | None = None,
        kind: Kind | None = None,
        importance: float | None = None,
        pinned: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
        aliases: Iterable[str] | None = None,
        project: str | None = None,
        agent: str | None = None,
    ) -> Change:
        """Change an active note; what is not given stays.

        A new text or kind is a new version: the old one stays as `id@1`.

        Args:
            id: The note's id.
            user: Whose note it is; with `project` or `agent`, who changes it.
            text: Its new text.
            kind: Its new kind.
            importance: 0 (trivial) to 1 (critical).
            pinned: Whether it is in every prompt.
            metadata: In place of all that it has.
            aliases: In place of all that it has; `()` takes them away.
            project: The project whose note it is, instead of the user.
            agent: The agent whose note it is, instead of the user.

        Raises:
            RecordNotFoundError: If the user has no active note with this id.
            ConfigurationError: If another active note of its kind says this already.
        """
        owner, editor = writer(user, project, agent), check_id("user", user)
        changes = arguments.edits(
            text=text,
            kind=kind,
            importance=importance,
            pinned=pinned,
            metadata=metadata,
            aliases=aliases,
            redact=self.redact,
        )
        async with OWNER_LOCKS.hold(owner):
            found = await self._ask(edit_ops(owner, id, changes))
            change = edited(edited_note(id, found), changes, self.clock(), editor)
            refuse_duplicate(change, found)
            await self._write(change_ops([change]))
        return change

    edit, aedit = twins(_edit)

    # -- what became of notes --

    async def _history(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> list[Note]:
        """Return all versions of a note, oldest first; none if there is no such note.

        Each says from when until when it held, and for what reason it was made.
        """
        return history_of(id, await self._notes(writer(user, project, agent)))

    history, ahistory = twins(_history)

    async def _facts(
        self, *, user: str, project: str | None = None, agent: str | None = None
    ) -> dict[str, str]:
        """Return what is known for each slot, such as `{"home city": "Lives in Rosario"}`."""
        return facts(await self._notes(writer(user, project, agent)), self.clock())

    facts, afacts = twins(_facts)

    @writes
    async def _restore(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Make a version active again: `a1b2@1`, or `a1b2` for a note that was put away.

        It becomes a new version of its note; what was active until now stays in the history.

        Raises:
            RecordNotFoundError: If the user has no such version.
            ConfigurationError: If it is active or proposed, or another note took its place.
        """
        return await self._decide(writer(user, project, agent), _by(user, restored, id))

    restore, arestore = twins(_restore)

    @writes
    async def _undo(
        self, change_id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Take back what a change did.

        An added note is archived, a superseded text comes back as a new version, a mention is
        taken back, a retired or archived note is active again. Nothing is deleted, and most of
        what `undo` did can be undone in turn.

        Args:
            change_id: `Change.id` of what a verb returned.
            user: Whose note it is.
            project: The project whose note it is, instead of the user.
            agent: The agent whose note it is, instead of the user.

        Raises:
            RecordNotFoundError: If the user has no such note, or what would come back was
                forgotten.
            ConfigurationError: If the change was undone already, the note was changed since, or
                another note took the place of what would come back.
        """
        return await self._decide(writer(user, project, agent), _by(user, undone, change_id))

    undo, aundo = twins(_undo)

    @writes
    async def _pin(
        self,
        id: str,
        *,
        user: str,
        pinned: bool = True,
        project: str | None = None,
        agent: str | None = None,
    ) -> Change:
        """Put an active note into every prompt, or with `pinned=False` no longer.

        Raises:
            RecordNotFoundError: If the user has no active note with this id.
        """
        return await self._edit(id, user=user, pinned=pinned, project=project, agent=agent)

    pin, apin = twins(_pin)

    @writes
    async def _approve(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Let a proposed note count, as if it were remembered now.

        What was said before is reinforced, and a slot is taken over; the proposal is archived then.

        Raises:
            RecordNotFoundError: If the user has no proposed note with this id.
        """
        return await self._decide(writer(user, project, agent), _by(user, approved, id))

    approve, aapprove = twins(_approve)

    @writes
    async def _reject(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Put a proposed note away; it is archived, and can be proposed again with `undo`.

        Raises:
            RecordNotFoundError: If the user has no proposed note with this id.
        """
        return await self._decide(writer(user, project, agent), _by(user, rejected, id))

    reject, areject = twins(_reject)


def _by(
    user: str, decide: Callable[[str, Sequence[Note], datetime], list[Change]], id: str
) -> Decision:
    """Return a decision about one note, whose changes say that a user made them."""
    name = check_id("user", user)
    return lambda notes, now: signed(decide(id, notes, now), name)
