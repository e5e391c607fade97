"""What can go wrong, as a tree that follows what the caller can do about it.

```
LangGraphMemoryError
├── ConfigurationError (also ValueError)      wrong arguments or wiring: change the code
│   ├── MissingUserError                      a run does not say whose memory it uses
│   └── EmbedderMismatchError                 the directory was written with another embedder
├── RecordNotFoundError (also LookupError)    there is no such record to change
├── ModelError                                the chat model failed, or said nothing readable
├── ThreadOwnerError (also PermissionError)   a thread belongs to another user
└── StoreError                                Chroma or the disk failed; the cause is chained
    ├── StoreLockedError                      another process owns the directory
    └── StoreAwayError                        the server cannot be reached; the call can be repeated
```

Something absent is `None`, nothing found is empty: neither is an error.
"""

from __future__ import annotations

from collections.abc import Mapping


class LangGraphMemoryError(Exception):
    """Base of every error that this package raises on purpose."""


class ConfigurationError(LangGraphMemoryError, ValueError):
    """Arguments or wiring that cannot work; the message says what to change."""


class MissingUserError(ConfigurationError):
    """A run does not say whose memory it reads and writes."""


class EmbedderMismatchError(ConfigurationError):
    """The stored vectors were made by another embedder than the one given."""


class RecordNotFoundError(LangGraphMemoryError, LookupError):
    """The user has no such record to change."""


class ModelError(LangGraphMemoryError):
    """The chat model failed, or nothing could be made of its answers; what was said is kept.

    Args:
        message: What happened.
        usage: What the attempts cost: `calls`, and the tokens that were reported.
    """

    def __init__(self, message: str, usage: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.usage = dict(usage or {})


class ThreadOwnerError(LangGraphMemoryError, PermissionError):
    """The thread was claimed by another user."""


class StoreError(LangGraphMemoryError):
    """The database or the disk failed; the original error is its `__cause__`."""


class StoreLockedError(StoreError):
    """Another process has the directory open."""


class StoreAwayError(StoreError):
    """The store's server cannot be reached. What failed may have landed; repeating it is safe."""


def missing_extra(what: str, extra: str, error: ImportError) -> ImportError:
    """Return what to raise where something cannot be imported because an extra is missing."""
    pip = f"pip install 'langgraph-memory-chroma[{extra}]'"
    return ImportError(f"{what} needs the extra {extra}: {pip} ({error})")
