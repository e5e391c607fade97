"""Seeing from outside which of Chroma's index files have been written."""

from __future__ import annotations

import time
from pathlib import Path

FILES = (
    "header.bin",
    "data_level0.bin",
    "length.bin",
    "link_lists.bin",
    "index_metadata.pickle",
)
"""The files of an index in the order in which Chroma writes them, all in place."""

_GLANCE = 0.0002  # seconds; the shortest write takes about one millisecond


class Index:
    """The index files of a directory, compared with what they were when this was made."""

    def __init__(self, directory: Path) -> None:
        headers = sorted(directory.glob("*/header.bin"), key=lambda path: path.stat().st_mtime_ns)
        self._folder = headers[-1].parent if headers else directory  # older ones were repaired
        self._before = {name: self._stamp(name) for name in FILES}

    def newer(self) -> list[str]:
        """Return the files that have been written since."""
        return [name for name in FILES if self._is_newer(name)]

    def wait_for(self, name: str, seconds: float) -> None:
        """Return as soon as a file is being written, or when the time is over."""
        end = time.monotonic() + seconds
        while not self._is_newer(name) and time.monotonic() < end:
            time.sleep(_GLANCE)

    def is_half_written(self) -> bool:
        """Whether some files have been written and others not, or the last one not to its end."""
        newer = self.newer()
        if len(newer) == len(FILES):
            return not (self._folder / FILES[-1]).read_bytes().endswith(b".")  # pickle's STOP
        return bool(newer)

    def _is_newer(self, name: str) -> bool:
        return self._stamp(name) != self._before[name]

    def _stamp(self, name: str) -> tuple[int, int]:
        try:
            stat = (self._folder / name).stat()
        except FileNotFoundError:
            return 0, 0
        return stat.st_mtime_ns, stat.st_size
