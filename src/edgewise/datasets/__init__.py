"""The standard data sets of the boosting papers, with their published splits and folds.

Files are looked up below ``$EDGEWISE_DATA``, then in the user's cache, then downloaded from their
publishers; checksums and counts are verified.

>>> from edgewise import datasets
>>> datasets.info("letter").n_train
16000
"""

from edgewise.datasets.catalog import DatasetInfo, info, names
from edgewise.datasets.dataset import Dataset, Fold, RankingDataset, RatingsDataset
from edgewise.datasets.files import DatasetMismatchError, DatasetNotFoundError
from edgewise.datasets.loading import available, load

__all__ = [
    "Dataset",
    "DatasetInfo",
    "DatasetMismatchError",
    "DatasetNotFoundError",
    "Fold",
    "RankingDataset",
    "RatingsDataset",
    "available",
    "info",
    "load",
    "names",
]
