"""The standard data sets of multi-class and multi-label boosting, with their published splits.

Files are looked for below ``$EDGEWISE_DATA``, then in the user's cache, then downloaded from their
publishers. Every copy is verified: checksum, rows, columns and classes.

>>> from edgewise import datasets
>>> datasets.info("letter").n_train
16000
"""

from edgewise.datasets.dataset import Dataset, DatasetInfo
from edgewise.datasets.fetch import DatasetMismatchError, DatasetNotFoundError
from edgewise.datasets.loading import available, info, load, names
from edgewise.datasets.sets import (
    load_bibtex,
    load_emotions,
    load_isolet,
    load_letter,
    load_mnist,
    load_pendigits,
    load_scene,
    load_usps,
    load_yeast,
)

__all__ = [
    "Dataset",
    "DatasetInfo",
    "DatasetMismatchError",
    "DatasetNotFoundError",
    "available",
    "info",
    "load",
    "load_bibtex",
    "load_emotions",
    "load_isolet",
    "load_letter",
    "load_mnist",
    "load_pendigits",
    "load_scene",
    "load_usps",
    "load_yeast",
    "names",
]
