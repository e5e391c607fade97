"""Are Chroma's vector index files whole? Looked at, not loaded: a damaged index can crash or hang.

Chroma 1.5 keeps the index of a collection in a directory of five files, and writes to them in
place every 1,000 rows. Until then the vectors are in a queue in SQLite, from which they are taken
away once they are in the files.

| file | holds |
|---|---|
| `header.bin` | 100 bytes: version, sizes and numbers of the elements (hnswlib) |
| `data_level0.bin` | a record for each element: its neighbours, its vector, its number |
| `length.bin` | the length of each vector, 4 bytes each |
| `link_lists.bin` | for each element a byte count, and its neighbours on the upper levels |
| `index_metadata.pickle` | which row is which element; rows that were deleted are not in it |

The pickle is searched for the ids of our rows, and never loaded.
"""

from __future__ import annotations

import pickletools
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.chroma.tables import (
    StoredCollection,
    queued_ids,
    reading,
    row_ids,
    rows_stored,
)
from langgraph_memory.errors import StoreError

PICKLE = "index_metadata.pickle"
FILES = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin", PICKLE)

_HEADER = struct.Struct("<i6QiI3QdQ")
_ID = re.compile(rb"X\(\0\0\0(.{40})", re.DOTALL)  # a text of 40 bytes
_MAPS = re.compile(rb"X\x0b\0\0\0(?:id_to_label|label_to_id)|X\x0c\0\0\0id_to_seq_id")
_LABEL = re.compile(rb"X\(\0\0\0(.{40})J(.{4})", re.DOTALL)  # and the number of its element
_ELEMENTS = re.compile(rb"X\x14\0\0\0total_elements_addedJ(.{4})", re.DOTALL)

TOLERANCE = 0.01  # more is no rounding error

FileState = list[list[str | int]]


@dataclass(frozen=True, slots=True)
class Header:
    """What of hnswlib's header the other files can be compared with; sizes are in bytes."""

    elements: int
    record: int
    vector_at: int
    number_at: int
    upper_links: int
    lower_links: int

    @classmethod
    def read(cls, file: Path) -> Header | None:
        """Return what a file says; `None` if it is no header that is known."""
        content = file.read_bytes()
        if len(content) != _HEADER.size:
            return None
        version, _, _, elements, record, number_at, vector_at, _, _, upper, lower, *_ = (
            _HEADER.unpack(content)
        )
        link_size = 4
        if version != 1:
            return None
        return cls(
            elements, record, vector_at, number_at, (upper + 1) * link_size, (lower + 1) * link_size
        )

    def fits(self, dims: int) -> bool:
        """Whether the vectors of its index have so many dimensions."""
        return (
            self.vector_at == self.lower_links
            and self.number_at == self.vector_at + 4 * dims
            and self.record == self.number_at + 8
        )


def file_state(directory: Path, collection: StoredCollection) -> FileState:
    """Return name, size and time of the index files: alike means that nothing wrote to them.

    It is empty as long as all vectors are in the queue, and Chroma does not read the files.
    """
    state: FileState = []
    for name in FILES if (directory / collection.index_segment / PICKLE).is_file() else ():
        file = directory / collection.index_segment / name
        if file.is_file():
            stat = file.stat()
            state.append([f"{collection.index_segment}/{name}", stat.st_size, stat.st_mtime_ns])
    return state


def find_damage(directory: Path, collection: StoredCollection) -> str | None:
    """Return what is wrong with a collection's index, or `None`.

    Seen are files that are missing, cut off, or do not agree with each other, and rows whose
    vector is neither in the files nor in the queue, and vectors that are not of length 1. Not seen
    are other wrong bytes inside a file, nor anything of files that another version of Chroma lays
    out otherwise.

    Raises:
        StoreError: If the database is not readable.
    """
    folder = directory / collection.index_segment
    if (folder / PICKLE).is_file():  # without it nothing was indexed yet, and the rest is empty
        pickle = (folder / PICKLE).read_bytes()
        if damage := _damaged_pickle(pickle):
            return damage
        if not _is_known_layout(pickle):
            return None
        # Chroma does not load an index of which every row was deleted.
        if _maps(pickle)[0] and (damage := _damaged_files(folder, pickle, collection.dims)):
            return damage
    rows, vectors = rows_and_vectors(directory, collection)
    return f"{rows - vectors:,} rows have no vector" if vectors < rows else None


def has_index(directory: Path) -> bool:
    """Whether there is an index with elements in a directory."""
    return any(directory.glob(f"*-*-*-*-*/{PICKLE}"))


def blank_unused(directory: Path) -> None:
    """Overwrite with zeros what Chroma wrote of indexes that hold no element yet.

    It writes a new index as its memory was allocated, with whatever the process held there before,
    and reads none of it until there is a pickle.

    Raises:
        StoreError: If the files cannot be written.
    """
    try:
        for header in directory.glob("*-*-*-*-*/header.bin"):
            if (header.parent / PICKLE).exists():
                continue
            for name in ("data_level0.bin", "length.bin", "link_lists.bin"):
                file = header.parent / name
                with file.open("r+b") as opened:
                    opened.write(bytes(file.stat().st_size))
    except OSError as error:
        raise StoreError(f"cannot overwrite unused bytes in {directory}: {error}") from error


def rows_and_vectors(directory: Path, collection: StoredCollection) -> tuple[int, int]:
    """Return how many rows there are, and how many of them are in the index or the queue."""
    file = directory / collection.index_segment / PICKLE
    maps = _maps(file.read_bytes()) if file.is_file() else []
    with reading(directory) as connection:
        rows = row_ids(connection, collection)
        vectors = queued_ids(connection, collection).union(*maps[:1])
    return len(rows), len(rows & vectors)


def living_vectors(directory: Path, collection: StoredCollection) -> NDArray[np.float32]:
    """Return the vectors in the index of a collection, of shape `(rows, dimensions)`.

    None if there are deleted ones among its elements: which these are is not told here.
    """
    folder = directory / collection.index_segment
    none = np.zeros((0, collection.dims), np.float32)
    header = Header.read(folder / "header.bin") if (folder / PICKLE).is_file() else None
    if header is None or not header.fits(collection.dims):
        return none
    with reading(directory) as connection:
        rows = row_ids(connection, collection)
    indexed = _maps((folder / PICKLE).read_bytes())[0]
    if len(indexed) != header.elements or not indexed <= rows:
        return none
    vectors: NDArray[np.float32] = _elements_of(folder, header, collection.dims)["vector"]
    return vectors


def deleted_and_live(directory: Path, collection: StoredCollection) -> tuple[int, int]:
    """Return how many elements of an index belong to deleted rows, and how many rows there are.

    Rows that are still in the queue make the first number smaller than it is, never larger.
    """
    live = rows_stored(directory, collection)
    header = directory / collection.index_segment / "header.bin"
    read = Header.read(header) if header.is_file() else None
    return max(0, read.elements - live) if read else 0, live


def element_numbers(pickle: bytes) -> dict[str, int] | None:
    """Return the number of the element of each row; `None` if it is cut off, or laid out otherwise.

    Args:
        pickle: What `index_metadata.pickle` holds.
    """
    if not _is_known_layout(pickle) or not pickle.endswith(b"."):
        return None
    part = _MAPS.split(pickle)[1]
    return {
        id.decode("ascii", "replace"): int.from_bytes(number, "little")
        for id, number in _LABEL.findall(part)
    }


def _damaged_pickle(pickle: bytes) -> str | None:
    if not _is_known_layout(pickle):
        return f"{PICKLE} is cut off" if _is_cut_off(pickle) else None
    if not pickle.endswith(b"."):
        return f"{PICKLE} is cut off"
    if _maps(pickle)[0] != _maps(pickle)[1]:
        return f"{PICKLE} contradicts itself"
    return None


def _is_cut_off(pickle: bytes) -> bool:
    """Go through a pickle of any layout, without carrying out what it says."""
    try:
        return not pickle or any(False for _ in pickletools.genops(pickle))
    except ValueError:
        return True


def _is_known_layout(pickle: bytes) -> bool:
    return len(_maps(pickle)) == 3 and _elements(pickle) is not None


def _damaged_files(folder: Path, pickle: bytes, dims: int) -> str | None:
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        return f"{', '.join(missing)} missing"
    header = Header.read(folder / "header.bin")
    if header is None or not header.fits(dims):
        return f"header.bin is no header of an index of {dims} dimensions"
    elements = _elements(pickle)
    if header.elements != elements:
        return f"header.bin has {header.elements:,} elements, {PICKLE} {elements:,}"
    for name, size in (("data_level0.bin", header.record), ("length.bin", 4)):
        found, expected = (folder / name).stat().st_size, header.elements * size
        if found != expected:
            return f"{name} has {found:,} bytes, expected {expected:,}"
    if not _links_whole((folder / "link_lists.bin").read_bytes(), header):
        return f"link_lists.bin does not hold the links of {header.elements:,} elements"
    if wrong := _wrong_vectors(folder, header, dims):
        return f"{wrong:,} vectors have another length than 1"
    return None


def _wrong_vectors(folder: Path, header: Header, dims: int) -> int:
    """Count the vectors whose bytes, or the one of their length, cannot be what was written.

    Ours have length 1, but for those of which an embedder made nothing but zeros.
    """
    with np.errstate(all="ignore"):
        vectors = _elements_of(folder, header, dims)["vector"]
        found = np.stack([np.vecdot(vectors, vectors), np.fromfile(folder / "length.bin", "<f4")])
        whole = (np.abs(found - 1) < TOLERANCE).all(axis=0) | (found == 0).all(axis=0)
    return int((~whole).sum())


def _elements_of(folder: Path, header: Header, dims: int) -> NDArray[np.void]:
    return np.fromfile(folder / "data_level0.bin", _record_type(header, dims))


def _record_type(header: Header, dims: int) -> np.dtype[np.void]:
    return np.dtype(
        {
            "names": ["vector", "number"],
            "formats": [("<f4", dims), "<u8"],
            "offsets": [header.vector_at, header.number_at],
            "itemsize": header.record,
        }
    )


def _links_whole(content: bytes, header: Header) -> bool:
    at = 0
    read_size = struct.Struct("<I").unpack_from
    for _ in range(header.elements):
        if at + 4 > len(content):
            return False
        (size,) = read_size(content, at)
        if size % header.upper_links:
            return False
        at += 4 + size
    return at == len(content)


def _maps(pickle: bytes) -> list[set[str]]:
    """Return the ids in the maps of id to element, element to id, and id to write (empty now)."""
    return [
        {id.decode("ascii", "replace") for id in _ID.findall(part)}
        for part in _MAPS.split(pickle)[1:]
    ]


def _elements(pickle: bytes) -> int | None:
    """Return how many elements the index has had, deleted ones included."""
    found = _ELEMENTS.search(pickle)
    return int.from_bytes(found[1], "little") if found else None


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
            StoreError: If the files cannot be read.
        """
        try:
            self._refresh()
            wanted = sorted((self._numbers[id], id) for id in ids if id in self._numbers)
            if not wanted:
                return {}
            header = Header.read(self._folder / "header.bin")
            if header is None or not header.fits(self._dims):
                return {}
            with (self._folder / "data_level0.bin").open("rb") as file:
                found = ((id, self._vector(file, header, number)) for number, id in wanted)
                return {id: vector for id, vector in found if vector is not None}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StoreError(f"cannot read the index in {self._folder}: {error}") from error

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
        element = self._element(file, header, number)
        if element is None and not self._places:  # elements were added in another order
            numbers = _elements_of(self._folder, header, self._dims)["number"][: header.elements]
            self._places = {found: place for place, found in enumerate(numbers.tolist())}
            element = self._element(file, header, number)
        if element is None:
            return None
        vector: NDArray[np.float32] = element["vector"]
        with np.errstate(all="ignore"):
            length = float(vector @ vector)
        return vector if abs(length - 1) < TOLERANCE or length == 0 else None

    def _element(self, file: BinaryIO, header: Header, number: int) -> np.void | None:
        """Return an element from where it should be; `None` if another one is there."""
        file.seek(max(self._places.get(number, number - 1), 0) * header.record)
        found = np.fromfile(file, _record_type(header, self._dims), 1)
        return found[0] if len(found) and found["number"][0] == number else None
