"""Vectors read from the files of Chroma's index, without Chroma; its owner may be writing them.

Where the files do not fit together for a moment, or what is read is no vector of ours, the row is
left out: it can be asked for again. What the files hold: see `index_files`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.chroma.index_files import PICKLE, TOLERANCE, Header, element_numbers

_NUMBER = np.dtype("<u8")


class IndexVectors:
    """The vectors in the index of one collection.

    Args:
        folder: The directory of the index; without it there is no vector.
        dims: How many dimensions they have.
    """

    def __init__(self, folder: Path, dims: int) -> None:
        self._folder = folder
        self._dims = dims
        self._state: object = None
        self._numbers: Mapping[str, int] = {}
        self._places: Mapping[int, int] = {}

    @property
    def state(self) -> object:
        """Is another one when the index has been written."""
        try:
            stat = (self._folder / PICKLE).stat()
        except FileNotFoundError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    def read(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of rows, each of shape `(dims,)`; what is not there is left out.

        Raises:
            OSError: If the files cannot be read.
        """
        self._refresh()
        wanted = sorted((self._numbers[id], id) for id in ids if id in self._numbers)
        if not wanted:
            return {}
        try:
            header = Header.read(self._folder / "header.bin")
            if header is None or not header.fits(self._dims):
                return {}
            with (self._folder / "data_level0.bin").open("rb") as file:
                found = ((id, self._vector(file, header, number)) for number, id in wanted)
                return {id: vector for id, vector in found if vector is not None}
        except FileNotFoundError:
            return {}

    # -- parts of the above --

    def _refresh(self) -> None:
        state = self.state
        if state == self._state:
            return
        numbers = None if state is None else element_numbers((self._folder / PICKLE).read_bytes())
        self._numbers = numbers or {}
        self._places = {}
        self._state = None if numbers is None else state

    def _vector(self, file: BinaryIO, header: Header, number: int) -> NDArray[np.float32] | None:
        record = self._record(file, header, self._places.get(number, number - 1), number)
        if record is None and not self._places:  # elements were added in another order
            self._places = self._all_places(file, header)
            record = self._record(file, header, self._places.get(number, -1), number)
        if record is None:
            return None
        vector = np.frombuffer(record, "<f4", self._dims, header.vector_at)
        with np.errstate(all="ignore"):
            length = float(vector @ vector)
        return vector if abs(length - 1) < TOLERANCE or length == 0 else None

    def _record(self, file: BinaryIO, header: Header, place: int, number: int) -> bytes | None:
        """Return the record at a place if it is that of an element."""
        if place < 0:
            return None
        file.seek(place * header.record)
        record = file.read(header.record)
        if len(record) < header.record:
            return None
        (found,) = np.frombuffer(record, _NUMBER, 1, header.number_at)
        return record if found == number else None

    def _all_places(self, file: BinaryIO, header: Header) -> dict[int, int]:
        """Return where in the file the elements are."""
        places = {}
        file.seek(0)
        for place in range(header.elements):
            record = file.read(header.record)
            if len(record) < header.record:
                break
            (number,) = np.frombuffer(record, _NUMBER, 1, header.number_at)
            places[int(number)] = place
        return places
