"""The kernels compiled by Numba: the same integers as their NumPy twins, much faster.

Each function notes which arguments it reads (IN) and writes (OUT). All release the interpreter
lock, so that threads share the columns of a search and the rows of an update.
"""

from edgewise.kernels.score import score, score_rules
from edgewise.kernels.search import (
    cut_rows,
    flip,
    search_dense,
    search_rest,
    search_rows,
    search_sparse,
    sum_codes,
    sum_rows,
)
from edgewise.kernels.search_entries import (
    mass_from,
    pick_rows,
    row_masses,
    search_entries,
    sum_code_entries,
)
from edgewise.kernels.update import advance, reweigh, sum_edges, sum_energy

__all__ = [
    "advance",
    "cut_rows",
    "flip",
    "mass_from",
    "pick_rows",
    "reweigh",
    "row_masses",
    "score",
    "score_rules",
    "search_dense",
    "search_entries",
    "search_rest",
    "search_rows",
    "search_sparse",
    "sum_code_entries",
    "sum_codes",
    "sum_edges",
    "sum_energy",
    "sum_rows",
]
