"""The standard data sets of the boosting papers, with their published splits where there are any.

Files are looked for below ``$EDGEWISE_DATA``, then in the user's cache, then downloaded from their
publishers. Every copy is verified: checksum, rows, columns and classes. Ranking sets, which come in
queries and folds, have functions of their own: :func:`load_ranking`, :func:`ranking_names` and
:func:`ranking_info`; and so have sets of ratings: :func:`load_ratings`, :func:`ratings_names` and
:func:`ratings_info`.

>>> from edgewise import datasets
>>> datasets.info("letter").n_train
16000
"""

from edgewise.datasets.dataset import Dataset, DatasetInfo
from edgewise.datasets.fetch import DatasetMismatchError, DatasetNotFoundError
from edgewise.datasets.loading import available, info, load, names
from edgewise.datasets.ranking import Fold, RankingDataset, RankingInfo
from edgewise.datasets.ranking_loading import load_ranking, ranking_info, ranking_names
from edgewise.datasets.ranking_sets import (
    load_mq2007_agg,
    load_mq2008,
    load_mq2008_agg,
    load_ohsumed,
)
from edgewise.datasets.ratings import RatingsDataset, RatingsInfo
from edgewise.datasets.ratings_loading import load_ratings, ratings_info, ratings_names
from edgewise.datasets.ratings_sets import load_ml_1m, load_ml_100k
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
from edgewise.datasets.wide import WideTask, make_wide

__all__ = [
    "Dataset",
    "DatasetInfo",
    "DatasetMismatchError",
    "DatasetNotFoundError",
    "Fold",
    "RankingDataset",
    "RankingInfo",
    "RatingsDataset",
    "RatingsInfo",
    "WideTask",
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
    "load_ml_1m",
    "load_ml_100k",
    "load_mnist",
    "load_mq2007_agg",
    "load_mq2008",
    "load_mq2008_agg",
    "load_mushroom",
    "load_ohsumed",
    "load_pendigits",
    "load_ranking",
    "load_ratings",
    "load_scene",
    "load_sonar",
    "load_spambase",
    "load_tictactoe",
    "load_usps",
    "load_votes84",
    "load_waveform",
    "load_yeast",
    "make_wide",
    "names",
    "ranking_info",
    "ranking_names",
    "ratings_info",
    "ratings_names",
]
