"""Rounds of products of stumps that the device decides by itself, many in one launch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Climb, ClimbedRound, Edges, Tally
from edgewise.backend.cuda.device import Device, typed
from edgewise.common.dtypes import Columns
from edgewise.data import BinnedTable

# As the kernel has them: the most bins of a column, the most terms, and how many entries a group of
# threads takes at a time.
MOST_BINS, MOST_TERMS, _BATCH = 256, 16, 8

_LAST = np.uint32(1 << 31)

# The most bytes of codes by column; a device has more, but other arrays need it too.
_MOST_BYTES = 1 << 34


class ProductRounds:
    """The columns of a table as the kernel wants them, and its memory."""

    def __init__(self, table: BinnedTable, columns: Columns, lanes: int, device: Device) -> None:
        self.device, self.columns, self._lanes = device, columns, lanes
        bins = [table.bins[j] for j in columns.tolist()]
        sizes = np.array([one.n_codes for one in bins], dtype=np.int32)
        missing = np.array([one.has_missing for one in bins], dtype=np.uint8)
        self._any_missing, up = bool(missing.any()), device.upload
        bases = np.cumsum(sizes) - sizes
        codes = np.stack([table.codes(j) for j in columns.tolist()])
        entries, places, common = sorted_entries(codes, bases)
        first = self._first_places(entries)
        self._search = (
            up(entries),
            np.int64(len(entries)),
            up(places, np.int32),
            up(first, np.int32),
        )
        self._columns = (
            up(bases, np.int32), up(sizes), up(missing), up(common, np.int32), up(codes),
            codes.dtype.itemsize,
        )  # fmt: skip
        n, xp = table.n_rows, device.xp
        self._flipped = xp.zeros((n + 1, lanes), dtype=np.int32)
        self._signs = xp.zeros((MOST_TERMS, n), dtype=np.int8)
        self._histogram = xp.zeros((int(sizes.sum()), lanes), dtype=np.int32)

    @property
    def _threads(self) -> int:
        return self.device.most_threads

    def _first_places(self, entries: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Return the number of marked entries before those of each group of threads."""
        group = self._lanes // min(self._lanes, 4)
        groups = self.device.n_processors * (self._threads // group)
        starts = len(entries) // _BATCH * np.arange(groups) // groups * _BATCH
        return np.searchsorted(np.flatnonzero(entries & _LAST), starts)

    def train(self, state: Any, climb: Climb) -> list[ClimbedRound]:
        """Train rounds, until all are done or one is not for the device."""
        device, xp, k, n_terms = self.device, self.device.xp, state.n_scores, climb.n_terms
        most, count = climb.n_rounds, 7 * k + 2
        rules = xp.zeros((most, 3 * n_terms + 1), dtype=np.int32)
        sums, done = device.zeros(most, count), xp.zeros(1, dtype=np.int32)
        arguments = (
            np.int64(state.n_rows), k, n_terms, len(self.columns), self._any_missing,
            *self._search, *self._columns, state.labels, state.target, state.row_mass,
            float(climb.floor), float(climb.rate), most,
            device.upload(state.whole.signed_totals), state.weights, state.scores,
            state.whole.signed, self._flipped, self._signs, self._histogram,
            xp.zeros(3, dtype=np.uint64), xp.zeros(3 * self._lanes, dtype=np.int32),
            xp.zeros(1, dtype=np.uint32), rules, sums, done,
        )  # fmt: skip
        shared = 8 * (4 * k + 2 + 32 + 3) + 4 * (self._threads + self._lanes + 3 * MOST_TERMS)
        kernel = device.rounds("boost_products", self._lanes)
        grid, block = (device.n_processors, 1), (self._threads,)
        kernel(grid, block, typed(arguments), shared_mem=shared)
        n_done = int(device.download(done)[0])
        if n_done == 0:
            return []
        found, tallies = device.download(rules)[:n_done], device.download(sums)[:n_done]
        last = tallies[-1, 3 * k :]
        state.whole.signed_totals, state.whole.signed_masses = last[:k], last[k : 2 * k]
        return [self._round(*one, k) for one in zip(found, tallies, strict=True)]

    def _round(self, rule: Any, sums: Any, k: int) -> ClimbedRound:
        *places, n_searches = rule.tolist()
        cuts = [
            (int(self.columns[q]), first, missing)
            for q, first, missing in zip(*[iter(places)] * 3, strict=True)
            if q >= 0
        ]
        edges = Edges(sums[:k], sums[k : 2 * k], sum(sums[2 * k : 3 * k].tolist()))
        step = sums[3 * k :]
        pseudo, wrong_rows = step[4 * k :].tolist()
        tally = Tally(pseudo, wrong_rows, step[2 * k : 4 * k].reshape(2, k))
        return ClimbedRound(tuple(cuts), n_searches, edges, tally)


def can_climb(table: BinnedTable, columns: Columns, climb: Climb) -> bool:
    """Return whether the kernel can search some columns of a table."""
    widest = max((table.bins[j].n_codes for j in columns.tolist()), default=0)
    fits = table.n_rows * len(columns) <= _MOST_BYTES and table.n_rows < 1 << 31
    return fits and 0 < widest <= MOST_BINS and climb.n_terms <= MOST_TERMS


def sorted_entries(
    codes: NDArray[np.unsignedinteger], bases: NDArray[np.intp]
) -> tuple[NDArray[np.uint32], NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that are not in their column's commonest bin, sorted by column and bin.

    The last row of each bin is marked by its highest bit. Also return the bins of the marked ones,
    and the commonest bins.

    Examples
    --------
    >>> import numpy as np
    >>> entries, bins, common = sorted_entries(np.array([[0, 2, 0, 1, 2, 0]]), np.array([0]))
    >>> (entries & 0xFF).tolist(), (entries >> 31).tolist(), bins.tolist(), common.tolist()
    ([3, 1, 4, 6, 6, 6, 6, 6], [1, 0, 1, 0, 0, 0, 0, 0], [1, 2, 0], [0])
    """
    n, parts, places, common = codes.shape[1], [], [], []
    for own, base in zip(codes, bases.tolist(), strict=True):
        most = int(np.bincount(own).argmax())
        rows = np.flatnonzero(own != most)
        rows = rows[np.argsort(own[rows], kind="stable")]
        bins = own[rows].astype(np.intp)
        ends = np.flatnonzero(np.append(bins[1:] != bins[:-1], True)[: len(bins)])
        marked = rows.astype(np.uint32)
        marked[ends] |= _LAST
        parts.append(marked)
        places.append(bins[ends] + base)
        common.append(most)
    size = sum(map(len, parts))
    # Whole batches, of a row of zeros after the last.
    parts.append(np.full(-size % _BATCH or (0 if size else _BATCH), n, dtype=np.uint32))
    # The groups at the end have no bin to go on with.
    places.append(np.zeros(1, dtype=np.intp))
    return np.concatenate(parts), np.concatenate(places), np.array(common)
