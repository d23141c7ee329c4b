"""The embedding journal: vectors that were paid for and are not published yet.

Each batch is appended as it comes from the model; a run that is killed loses at most one batch,
and the next one takes the rest from here. After a publication the journal is empty again.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_engine.embed.embedder import Vectors

FILE_NAME = "embeddings.journal"
HASH_BYTES = 16
_CHECKSUM_BYTES = 4


class EmbeddingJournal:
    """Records of embedding hash (16 bytes), vector (float32) and CRC-32, one after another.

    Args:
        folder: Folder of the index.
        dimension: Length of the vectors. Records of another length fail their checksum and
            are passed over; hashes name the model, so a record of another model is never used.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self._path = folder / FILE_NAME
        self._record_bytes = HASH_BYTES + 4 * dimension + _CHECKSUM_BYTES

    def read(self) -> dict[str, Vectors]:
        """Return the vectors by embedding hash; records that are not whole are passed over."""
        import numpy as np

        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        found: dict[str, Vectors] = {}
        for start in range(0, len(data) - self._record_bytes + 1, self._record_bytes):
            body = data[start : start + self._record_bytes - _CHECKSUM_BYTES]
            checksum = data[start + len(body) : start + self._record_bytes]
            if zlib.crc32(body).to_bytes(_CHECKSUM_BYTES, "little") != checksum:
                continue
            found[body[:HASH_BYTES].hex()] = np.frombuffer(body, "<f4", offset=HASH_BYTES)
        return found

    def append(self, hashes: Sequence[str], vectors: Vectors) -> None:
        """Save one batch; vectors has the shape (len(hashes), dimension)."""
        records = bytearray()
        for embedding_hash, vector in zip(hashes, vectors, strict=True):
            body = bytes.fromhex(embedding_hash) + vector.astype("<f4").tobytes()
            records += body + zlib.crc32(body).to_bytes(_CHECKSUM_BYTES, "little")
        with open(self._path, "ab") as file:
            # a torn record of a killed run would shift all that follow
            file.truncate(file.tell() - file.tell() % self._record_bytes)
            file.write(records)

    def clear(self) -> None:
        """Forget everything; to be called after publishing."""
        self._path.unlink(missing_ok=True)
