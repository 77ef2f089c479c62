"""A way for a write to fail."""

from pathlib import Path

import pytest


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every rename fail, as if there were no room for the new name."""

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
