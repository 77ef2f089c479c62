"""The shape of a registry entry, and the addresses of the UCI repository."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from edgewise.datasets.dataset import DatasetInfo
from edgewise.datasets.fetch import File, Source
from edgewise.datasets.formats import Table

UCI: Final = "https://archive.ics.uci.edu"
UCI_LICENCE: Final = "CC BY 4.0, as stated by the UCI Machine Learning Repository"


@dataclass(frozen=True)
class Entry:
    """A data set: facts, files and reader.

    Attributes
    ----------
    info : DatasetInfo
        What is known without touching a file; loading checks the counts.
    train, test : tuple of File
        What `read` takes, in its order. Without test files, the first ``info.n_train`` rows of
        the training files train and the rest test; where ``info.n_test`` is 0 all rows train.
    read : callable
        From the contents of the files of one side to a table.
    feature_names, target_names : tuple of str
        Names, where the files have none.
    """

    info: DatasetInfo
    train: tuple[File, ...]
    test: tuple[File, ...]
    read: Callable[..., Table]
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[File, ...]:
        """All files of the set."""
        return self.train + self.test


def uci_sources(number: int, archive: str, folder: str, member: str) -> tuple[Source, ...]:
    """Give today's zip archive, then the file's older address."""
    return (
        Source(f"{UCI}/static/public/{number}/{archive}.zip", member),
        Source(f"{UCI}/ml/machine-learning-databases/{folder}/{member}"),
    )
