"""Files and names that are on the disk when a call returns."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_durably(path: Path, text: str) -> None:
    """Write a small file: it is there whole, or as it was before.

    Raises:
        OSError: If it cannot be written.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        flush_folder(path.parent)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise


def flush_folder(folder: Path) -> None:
    """Put the names in a folder on the disk; Windows, which opens no folders, does it by itself."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
