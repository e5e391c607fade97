"""The verb that leaves nothing of users: neither records and threads nor bytes in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.files import search_files
from langgraph_memory.memory import arguments
from langgraph_memory.memory.background import discard_work
from langgraph_memory.memory.base import Verbs
from langgraph_memory.memory.erasure import EVERYBODY, Erasure, is_beside, is_text, namespaces_of
from langgraph_memory.memory.locks import OWNER_LOCKS
from langgraph_memory.memory.read_only import writes
from langgraph_memory.messages import (
    erased_delete_ops,
    erased_namespace_of,
    new_salt,
    salt_of,
    salt_op,
)
from langgraph_memory.records import Owner, Receipt
from langgraph_memory.sessions import Sessions
from langgraph_memory.store import (
    ErasingStore,
    Namespace,
    Overwritten,
    all_ops,
    every_item_op,
    lying_in,
)
from langgraph_memory.twins import drive, to_its_end, twins


class Erasing(Verbs):
    """`erase`."""

    @writes
    async def _erase(
        self,
        *,
        user: str | Sequence[str],
        sessions: Sessions | None,
        later: bool = False,
    ) -> Receipt:
        """Erase users: all that is theirs, and every byte of it in the files.

        Notes with their history, messages, episodes, documents, lessons, marks of what was
        forgotten, work in the background, threads with all their checkpoints. When this returns no
        verb finds anything of them. Then a directory that this process has open is written anew
        without them, and its files and those of the sessions are searched: the receipt says what
        was found, in `erased`. Meanwhile calls about other users wait (`erased.closed`, some
        seconds and one more for each thousand records).

        End the users' runs before: what a run writes afterwards is there again. If this fails, or
        its process is killed, call it again. `aerase` goes on to its end if it is cancelled.

        Args:
            user: Whose, or several users, who share the rewriting of the files.
            sessions: The sessions with their threads; it has to be said. `None` leaves all threads
                alone: then salted digests of the messages stay, so that an old thread does not
                bring them back, and `erased.verified` is `False`.
            later: Whether the directory is written anew when it is opened next, instead of now.

        Returns:
            What was deleted; in `given`, what they gave to projects and agents, which stays; in
            `erased`, what became of the files.

        Raises:
            StoreError: If something cannot be deleted, or the files cannot be written anew, as on a
                full disk: that is then tried again at the next opening.
        """
        owners = arguments.erased(user, later)
        if not (sessions is None or isinstance(sessions, Sessions)):
            raise ConfigurationError(
                "sessions= takes what open_sessions returns, or None to leave threads alone, got "
                f"{type(sessions).__name__}"
            )
        return await to_its_end(self._erase_all, owners, sessions, later)

    erase, aerase = twins(_erase)

    def _erase_all(
        self, owners: Sequence[Owner], sessions: Sessions | None, later: bool
    ) -> Receipt:
        erasure = Erasure(owners)
        discard_work(erasure.users, self.store)
        for owner in owners:
            self._forget_waiting(owner)
        before = self._count_beside(owners)
        if sessions is not None:
            self._erase_threads(erasure, sessions)
        for owner in owners:
            with OWNER_LOCKS.hold(owner):
                self._erase_records(erasure, owner, marked=sessions is None)
        if sessions is not None:  # a run may have ended just now
            self._erase_threads(erasure, sessions)
        self._find_given(erasure)
        files = self._overwrite(erasure, sessions, later)
        return erasure.receipt((before, self._count_beside(owners)), files, _not_in_files(sessions))

    # -- records --

    def _erase_records(self, erasure: Erasure, owner: Owner, *, marked: bool) -> None:
        deletion = erasure.deletion(owner)
        if not marked:
            self._delete_marks(owner)
        while True:
            listed = self.store.batch([deletion.list_op])[0]
            items = deletion.items(self.store.batch(deletion.read_ops(listed)))
            self._trace(erasure, deletion.namespaces, items)
            ops = deletion.delete_ops(items)
            if not ops:
                break
            if marked:  # before what they stand for is gone
                drive(self._write(erasure.mark_ops(self._salt(), owner, items)))
            drive(self._write(ops))
        if (store := self._erasing_store) is not None:
            store.wipe(namespaces_of(owner, deletion), owner.id)
        erasure.ended(deletion)

    def _trace(
        self, erasure: Erasure, namespaces: Sequence[Namespace], items: Sequence[object]
    ) -> None:
        erasure.saw_items(items)
        if (store := self._erasing_store) is not None and namespaces:
            erasure.saw_vectors(store.vectors(namespaces))

    def _salt(self) -> str:
        found = self.store.batch([salt_op()])[0]
        if found is not None:
            return salt_of(found)
        salt, op = new_salt()
        drive(self._write([op]))
        return salt

    def _delete_marks(self, owner: Owner) -> None:
        """Delete the digests that an earlier erasure left, when the threads are erased too."""
        found = self.store.batch([salt_op()])[0]
        if found is None:
            return
        namespace = erased_namespace_of(salt_of(found), owner)
        items: Any = self._adapted.batch(all_ops([namespace]))[0]
        drive(self._write(erased_delete_ops(lying_in(namespace, items))))

    def _find_given(self, erasure: Erasure) -> None:
        listed = self._everybody()
        erasure.saw_given(listed, self._adapted.batch(erasure.given_ops(listed)))

    # -- threads --

    def _erase_threads(self, erasure: Erasure, sessions: Sessions) -> None:
        for user in filter(is_text, erasure.users):  # sessions take no other ids
            erasure.saw_sessions(sessions.delete_all(user))

    # -- others, and files --

    @property
    def _erasing_store(self) -> ErasingStore | None:
        store: Any = self.store
        return store if getattr(store, "supports_erasing", False) else None

    def _everybody(self) -> list[Namespace]:
        listed: Any = self.store.batch([EVERYBODY])[0]
        return [tuple(namespace) for namespace in listed]

    def _count_beside(self, owners: Sequence[Owner]) -> int:
        """Return how many items there are of others."""
        listed = self._everybody()
        if (store := self._erasing_store) is not None:
            return store.count_beside([ns for ns in listed if not is_beside(ns, owners)])
        beside = [ns for ns in listed if is_beside(ns, owners)]
        found: list[Any] = self.store.batch([every_item_op(namespace) for namespace in beside])
        return sum(
            tuple(item.namespace) == namespace
            for namespace, items in zip(beside, found, strict=True)
            for item in items
        )

    def _overwrite(self, erasure: Erasure, sessions: Sessions | None, later: bool) -> Overwritten:
        files = [] if sessions is None else [*sessions.files]
        files += [] if self.outbox is None else [self.outbox.path]
        if sessions is not None:
            sessions.scour()  # pages keep old bytes between rows, also where rows are overwritten
        if (store := self._erasing_store) is not None:
            return store.overwrite(erasure.users, erasure.sought, files, later=later)
        found = search_files(files, erasure.sought.own, erasure.sought.shared)
        return Overwritten(found, elsewhere=f"a {type(self.store).__name__}")


def _not_in_files(sessions: Sessions | None) -> list[str]:
    """Return what of threads cannot be searched, in words."""
    if sessions is None:
        return ["no sessions were given: threads are as they were"]
    if sessions.elsewhere:
        return [f"{sessions.elsewhere} keeps the sessions, and overwrites nothing"]
    return []
