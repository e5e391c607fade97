"""The tokens of an MCP server over HTTP as they are written down: whose each is, until when."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any, NamedTuple

from langgraph_memory.errors import ConfigurationError

TOKENS = "LANGGRAPH_MEMORY_TOKENS"
"""The environment variable with the tokens, where no file is named."""

_SUCH_AS = (
    '{"token": "user", ...}, each token once; one with an end is '
    '{"token": {"user": "user", "until": "2027-01-31"}}'
)


class Bearer(NamedTuple):
    """Who has a token."""

    user: str
    until: datetime | None = None
    """The moment, aware, after which it is no longer good; `None` if it has no end."""


Bearers = Mapping[str, "str | Bearer"]
"""The user by token, with the end that it may have."""


class TokensFile:
    """A file of tokens, read again when it has changed.

    Args:
        file: Its path.

    Raises:
        ConfigurationError: If it cannot be read, or is no file of tokens.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._state = self._looked_at()  # before it is read: a later change is another state
        self.bearers: Bearers = read_tokens(file, {})

    def changed(self) -> Bearers | None:
        """Return what the file holds, if it has changed since it was last read; else `None`.

        Raises:
            ConfigurationError: As when it was first read; once for each change.
        """
        state = self._looked_at()
        if state == self._state:
            return None
        self._state = state
        self.bearers = read_tokens(self._file, {})
        return self.bearers

    def _looked_at(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def read_tokens(file: Path | None, environment: Mapping[str, str]) -> dict[str, str | Bearer]:
    """Return who has each token; what is wrong is told without the tokens.

    Args:
        file: JSON; without one, what the variable `TOKENS` of the environment has.
        environment: The environment.

    Raises:
        ConfigurationError: If there are none, one is there twice, or they are no such JSON.
    """
    try:
        text = environment.get(TOKENS) if file is None else file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the tokens cannot be read from {file}: {error}") from error
    if text is None:
        raise ConfigurationError(
            f'--port needs the tokens of its users: --tokens FILE or {TOKENS}, {{"token": "user"}}'
        )
    where = TOKENS if file is None else str(file)
    try:
        found = json.loads(text, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ConfigurationError(f"{where} has to hold JSON such as {_SUCH_AS}")
    return {token: _bearer(entry, where) for token, entry in found.items()}


def _bearer(entry: Any, where: str) -> str | Bearer:
    if isinstance(entry, str):
        return entry
    # An unknown name is refused: a misspelt end would be none.
    if isinstance(entry, dict) and entry.keys() == {"user", "until"}:
        user, until = entry["user"], entry["until"]
        if isinstance(user, str) and isinstance(until, str):
            return Bearer(user, _moment(until, user, where))
    raise ConfigurationError(f"{where} has to hold JSON such as {_SUCH_AS}")


def _moment(text: str, user: str, where: str) -> datetime:
    with suppress(ValueError):
        return datetime.combine(date.fromisoformat(text), time.max, UTC)
    with suppress(ValueError):
        if (moment := datetime.fromisoformat(text)).tzinfo is not None:
            return moment
    raise ConfigurationError(
        f"{where}: until {text!r} of {user!r} has to be a day, such as 2027-01-31, which is the "
        "last one in UTC, or a moment with its offset, such as 2027-01-31T18:00:00+01:00"
    )


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(users := dict(pairs)) < len(pairs):
        raise ValueError("a name is there twice")
    return users
