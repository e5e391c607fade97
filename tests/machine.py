"""What a run of the tests takes of the machine: less of its disk and its time."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path

_IN_MEMORY = Path("/dev/shm")
_ROOM = 2 * 1024**3  # bytes; what a run leaves there until its end is far less


def keep_directories_in_memory() -> None:
    """Make temporary directories where no disk lets Chroma wait, unless TMPDIR says where.

    What a killed process wrote outlives it there as well.
    """
    if "TMPDIR" in os.environ or not os.access(_IN_MEMORY, os.W_OK):
        return
    if shutil.disk_usage(_IN_MEMORY).free > _ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(_IN_MEMORY)


def collect_garbage_less() -> None:
    """Leave what is loaded by now out of all collections, of which there are fewer."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)
