"""Recommenders: ratings in, ranked lists out, with one small API for all.

>>> from edgewise import BiasBaseline, Ratings
>>> ratings = Ratings.from_dict({"ann": {"Heat": 5, "Fargo": 3}, "bob": {"Fargo": 4}})
>>> model = BiasBaseline().fit(ratings)
>>> model.recommend("bob").ids
array(['Heat'], dtype='<U5')
"""

from edgewise.common.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
