"""The embedding journal: what a killed run has embedded is not embedded again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fakes import Vectors
from rag_engine.store.journal import FILE_NAME, EmbeddingJournal


def batch(*values: float, dimension: int = 3) -> tuple[list[str], Vectors]:
    """Return hashes named after values, and vectors filled with them."""
    hashes = [f"{int(value):032x}" for value in values]
    return hashes, np.array([[value] * dimension for value in values], np.float32)


def values(journal: EmbeddingJournal) -> dict[int, float]:
    """Return the first component of each vector, by its hash."""
    return {int(key, 16): float(vector[0]) for key, vector in journal.read().items()}


def test_what_was_appended_is_read(folder: Path) -> None:
    """Batches of several runs add up, with their exact vectors."""
    EmbeddingJournal(folder, 3).append(*batch(1, 2))
    EmbeddingJournal(folder, 3).append(*batch(3.5))
    read = EmbeddingJournal(folder, 3).read()
    assert list(map(len, read.values())) == [3, 3, 3]
    assert values(EmbeddingJournal(folder, 3)) == {1: 1.0, 2: 2.0, 3: 3.5}


def test_a_missing_and_a_cleared_journal_are_empty(folder: Path) -> None:
    """After a publication nothing is left to reuse, and clearing twice is no error."""
    journal = EmbeddingJournal(folder, 3)
    assert journal.read() == {}
    journal.append(*batch(1))
    journal.clear()
    journal.clear()
    assert journal.read() == {}
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("cut", [1, 4, 15, 31])
def test_a_torn_tail_costs_one_record_and_nothing_after_it(folder: Path, cut: int) -> None:
    """A kill can end in the middle of a record; what later runs append has to be readable."""
    journal = EmbeddingJournal(folder, 3)
    journal.append(*batch(1, 2))
    path = folder / FILE_NAME
    path.write_bytes(path.read_bytes()[:-cut])
    assert values(journal) == {1: 1.0}
    journal.append(*batch(3))
    assert values(journal) == {1: 1.0, 3: 3.0}


def test_a_damaged_record_costs_itself_alone(folder: Path) -> None:
    """One bad block of a disk is no reason to embed an hour's work again."""
    journal = EmbeddingJournal(folder, 3)
    journal.append(*batch(1, 2, 3))
    path = folder / FILE_NAME
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert values(journal) == {1: 1.0, 3: 3.0}


def test_records_of_another_dimension_hide_nothing(folder: Path) -> None:
    """Two runs with different models may be killed one after the other, and both resumed."""
    small, large = EmbeddingJournal(folder, 3), EmbeddingJournal(folder, 5)
    large.append(*batch(1, 2, 3, dimension=5))
    assert small.read() == {}
    small.append(*batch(4, 5))
    assert values(small) == {4: 4.0, 5: 5.0}
    assert {1: 1.0, 2: 2.0}.items() <= values(large).items()


def test_a_file_of_garbage_is_no_vectors(folder: Path) -> None:
    """Whatever lies there, nothing invented comes out of it."""
    (folder / FILE_NAME).write_bytes(bytes(range(256)) * 7)
    assert EmbeddingJournal(folder, 3).read() == {}
