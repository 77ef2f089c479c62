"""Numbers of ranx 0.3.21, another library of fusion methods, for the same lists.

They were made with ``ranx.fuse(runs, norm=norm, method=method)`` on runs that hold the columns of
`SCORES` (and of `MAJORITIES` for "condorcet"), documents d0, d1, ... in the order of the rows.
Where ranx has other conventions, the lists below do not show it:

- ranx knows only documents that some list returns; here a row may be on none of them, and takes
  part in Borda's count;
- ranx breaks ties by the order of its dictionaries; here tied documents share the mean position;
- all scores equal: "min-max" and "sum" give 0 in ranx, as if nothing had been returned, and here 1
  and equal shares;
- "max" with no positive score: ranx divides by 1e-9, here it is refused;
- "condorcet" in ranx sorts by comparing two documents at a time and counts a list without an
  opinion as a vote for the second of them, so unranked documents and circles come out as the sort
  happens to meet them; here they have no say, and the score is wins minus losses. Both are the same
  order where all lists are complete and the majorities have one.
"""

import numpy as np
import pytest

from edgewise.fusion import RankedLists, comb_mnz, comb_sum, fuse

NAN = float("nan")
QID = ["q1"] * 6 + ["q2"] * 6
# numpy.random.default_rng(3): permutation(1..36) / 4, and NaN where random() < 0.35.
SCORES = [
    [NAN, 4.5, 3.25], [7.75, 6.5, NAN], [1.0, 5.5, NAN], [8.75, 1.25, NAN],
    [0.25, NAN, 8.25], [2.75, NAN, 4.0], [9.0, 8.0, 5.75], [3.5, 2.25, 2.5],
    [NAN, 1.75, 0.5], [6.75, NAN, 7.0], [NAN, 4.25, NAN], [2.0, 1.5, 5.0],
]  # fmt: skip
RANX = {
    ("comb_sum", "min-max"): [
        0.61904762, 1.88235294, 0.8977591, 1.0, 1.0, 0.44411765,
        2.80769231, 0.63736264, 0.03846154, 1.67857143, 0.42307692, 0.69230769,
    ],
    ("comb_sum", "max"): [
        1.08624709, 1.88571429, 0.96043956, 1.19230769, 1.02857143, 0.7991342,
        2.82142857, 1.02728175, 0.29017857, 1.75, 0.53125, 1.12400794,
    ],
    ("comb_sum", "sum"): [
        0.25490196, 0.8013751, 0.37229437, 0.44155844, 0.86956522, 0.26030491,
        1.45011946, 0.29596732, 0.02439024, 0.71465495, 0.26829268, 0.24657534,
    ],
    ("comb_sum", "zmuv"): [
        -0.83886071, 2.08945339, -0.34713979, -0.28769466, 0.3000214, -0.91577963,
        3.86547396, -1.90278088, -2.29977412, 1.74193595, 0.28855248, -1.69340738,
    ],
    ("comb_sum", "rank"): [
        0.83333333, 1.8, 1.15, 1.25, 1.2, 1.26666667,
        2.8, 1.5, 0.6, 1.75, 0.8, 1.05,
    ],
    ("comb_sum", None): [
        7.75, 14.25, 6.5, 10.0, 8.5, 6.75, 22.75, 8.25, 2.25, 13.75, 4.25, 8.5,
    ],
    ("comb_mnz", "min-max"): [
        1.23809524, 3.76470588, 1.79551821, 2.0, 2.0, 0.88823529,
        8.42307692, 1.91208791, 0.07692308, 3.35714286, 0.42307692, 2.07692308,
    ],
    ("comb_mnz", "zmuv"): [
        -1.67772141, 4.17890678, -0.69427958, -0.57538932, 0.6000428, -1.83155926,
        11.59642189, -5.70834264, -4.59954824, 3.48387189, 0.28855248, -5.08022215,
    ],
    ("comb_mnz", "rank"): [
        1.66666667, 3.6, 2.3, 2.5, 2.4, 2.53333333,
        8.4, 4.5, 1.2, 3.5, 0.8, 3.15,
    ],
}  # fmt: skip
RRF = [
    0.03174603, 0.03252247, 0.03175403, 0.03201844, 0.03177806, 0.03200205,
    0.04891592, 0.04737103, 0.03100962, 0.03252247, 0.01612903, 0.04688263,
]  # fmt: skip
RRF_10 = [
    0.15384615, 0.17424242, 0.1547619, 0.16233766, 0.15757576, 0.16025641,
    0.26515152, 0.22527473, 0.13809524, 0.17424242, 0.08333333, 0.21501832,
]  # fmt: skip
BORDA = [9.0, 13.0, 10.0, 11.0, 9.5, 10.5, 17.0, 11.0, 6.5, 12.0, 7.5, 9.0]
# Five complete lists whose majorities have an order in both queries.
MAJORITIES = [
    [7, 9, 3, 6, 8], [4, 6, 7, 8, 6], [6, 11, 10, 10, 10], [5, 8, 6, 1, 1],
    [8, 3, 2, 4, 5], [10, 5, 8, 9, 11], [2, 2, 4, 5, 7], [1, 4, 1, 3, 2],
    [3, 1, 5, 2, 3], [11, 7, 9, 11, 4], [9, 12, 12, 12, 12], [12, 10, 11, 7, 9],
]  # fmt: skip
CONDORCET = [4, 3, 6, 1, 2, 5, 3, 1, 2, 4, 6, 5]

LISTS = RankedLists.from_scores(SCORES, QID)


@pytest.mark.parametrize(("method", "norm"), list(RANX))
def test_sums_of_scores(method, norm):
    function = {"comb_sum": comb_sum, "comb_mnz": comb_mnz}[method]
    np.testing.assert_allclose(function(LISTS, norm), RANX[method, norm], atol=1e-7)


@pytest.mark.parametrize(
    ("method", "options", "expected"),
    [("rrf", {}, RRF), ("rrf", {"k": 10}, RRF_10), ("borda", {}, BORDA)],
)
def test_positions(method, options, expected):
    np.testing.assert_allclose(fuse(LISTS, method, **options), expected, atol=1e-8)


def test_majorities_that_have_an_order():
    ours = fuse(RankedLists.from_scores(MAJORITIES, QID), "condorcet")
    for query in (slice(0, 6), slice(6, 12)):
        # ranx numbers the places from 6 down to 1: 5 wins, 4 wins and 1 loss, ...
        np.testing.assert_array_equal(ours[query], 2 * np.array(CONDORCET[query]) - 7)
