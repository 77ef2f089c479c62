"""AdaBoostMH and RankBoost on a Dask cluster: the model of one machine, bit for bit.

Needs Dask: ``pip install "edgewise[dask]"``.
"""

from edgewise.dask.estimators import DaskAdaBoostMH, DaskRankBoost

__all__ = ["DaskAdaBoostMH", "DaskRankBoost"]
