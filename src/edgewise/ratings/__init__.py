"""Ratings of items by users: the ids, the splits and the files.

>>> from edgewise.ratings import Ratings
>>> Ratings.from_dict({"ann": {"Heat": 5}, "bob": {"Heat": 3}}).mean
4.0
"""

from edgewise.common.ids import Ids
from edgewise.ratings.ratings import Ratings
from edgewise.ratings.rows import Grouped, RowRatings
from edgewise.ratings.splits import Split

__all__ = ["Grouped", "Ids", "Ratings", "RowRatings", "Split"]
