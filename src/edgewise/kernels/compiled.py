"""The kernels compiled by Numba: the same integers as their NumPy twins, much faster.

Each function notes which arguments it reads (IN) and writes (OUT). All release the interpreter
lock, so that threads share the columns of a search and the rows of an update.
"""

from edgewise.kernels.score import score
from edgewise.kernels.search import search_dense, search_sparse
from edgewise.kernels.update import advance, sum_edges

__all__ = ["advance", "score", "search_dense", "search_sparse", "sum_edges"]
