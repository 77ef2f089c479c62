"""The standard data sets of the boosting papers, with their published splits where there are any.

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
from edgewise.datasets.uci_sets import (
    load_adult,
    load_car,
    load_connect4,
    load_german,
    load_ionosphere,
    load_kr_vs_kp,
    load_mushroom,
    load_sonar,
    load_spambase,
    load_tictactoe,
    load_votes84,
    load_waveform,
)

__all__ = [
    "Dataset",
    "DatasetInfo",
    "DatasetMismatchError",
    "DatasetNotFoundError",
    "available",
    "info",
    "load",
    "load_adult",
    "load_bibtex",
    "load_car",
    "load_connect4",
    "load_emotions",
    "load_german",
    "load_ionosphere",
    "load_isolet",
    "load_kr_vs_kp",
    "load_letter",
    "load_mnist",
    "load_mushroom",
    "load_pendigits",
    "load_scene",
    "load_sonar",
    "load_spambase",
    "load_tictactoe",
    "load_usps",
    "load_votes84",
    "load_waveform",
    "load_yeast",
    "names",
]
