"""A disk that fills up in the middle of any write: told as that, and nothing published is lost."""

from __future__ import annotations

import pytest
from rag_engine.errors import IndexNotWritableError
from rag_engine.store.vectors import writer

from .conftest import Base

FULL = RuntimeError("lance error: No space left on device (os error 28)")


@pytest.mark.parametrize("step", ["restore", "delete", "add", "optimize"])
def test_a_failed_write_of_vectors_is_not_taken_for_damage(
    base: Base, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The advice for damage, a build from scratch, would need still more space."""
    base.write("a.md", "# a\n\nheron")
    base.full()
    opened = writer.open_table

    class Filling:
        def __init__(self, *arguments: object) -> None:
            self._table = opened(*arguments)  # type: ignore[arg-type]

        def __getattr__(self, name: str) -> object:
            if name == step:
                raise FULL
            return getattr(self._table, name)

    monkeypatch.setattr(writer, "open_table", Filling)
    base.write("a.md", "# a\n\nostrich")
    with pytest.raises(IndexNotWritableError, match=r"No space left.*free space"):
        base.update()
    assert base.find("heron") == ["a.md"]
    monkeypatch.undo()
