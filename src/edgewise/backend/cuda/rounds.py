"""Rounds of products of stumps that the device decides by itself, many in one launch."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise.backend.base import Edges, RoundResult, RoundsRequest, Tally
from edgewise.backend.cuda.device import Device, as_kernel_arguments
from edgewise.common.dtypes import Columns
from edgewise.data import BinnedTable

# As the kernel has them: the most bins of a column, the most terms, and how many entries a group of
# threads takes at a time.
MOST_BINS, MOST_TERMS, _BATCH = 256, 16, 8

_LAST = np.uint32(1 << 31)

# The entries that take as long as a bin.
_ENTRIES_A_BIN = 16

# So many rounds take long enough that what surrounds a launch does not count.
_ROUNDS_A_LAUNCH = 128

# The most codes: sorting more by column takes longer than most trainings.
_MOST_CODES = 1 << 28


class _Launched(NamedTuple):
    """A launch, and what waits for its results: see the kernel."""

    max_rounds: int
    done: Any  # on the device
    rules: Callable[[], NDArray[np.int32]]
    sums: Callable[[], NDArray[np.int64]]
    n_done: Callable[[], NDArray[np.int32]]


class ProductRounds:
    """The columns of a table as the kernel wants them, and its memory."""

    def __init__(self, table: BinnedTable, columns: Columns, lanes: int, device: Device) -> None:
        self.device, self.columns, self._lanes = device, columns, lanes
        bins = [table.bins[j] for j in columns.tolist()]
        sizes = np.array([bins_.n_codes for bins_ in bins], dtype=np.int32)
        missing = np.array([bins_.has_missing for bins_ in bins], dtype=np.uint8)
        self._any_missing, up = bool(missing.any()), device.upload
        bases = np.cumsum(sizes) - sizes
        codes = np.stack([table.codes(j) for j in columns.tolist()])
        entries, end_bins, common = sorted_entries(codes, bases)
        shares = up(self._shares(entries), np.int32)
        self._search = (up(entries), up(end_bins, np.int32), shares)
        self._columns = (
            up(bases, np.int32), up(sizes), up(missing), up(common, np.int32), up(codes),
            codes.dtype.itemsize,
        )  # fmt: skip
        n, xp = table.n_rows, device.xp
        self._flipped = xp.zeros((n + 1, lanes), dtype=np.int32)
        self.profile = device.zeros(8)  # the cycles of each phase, where the kernel counts them
        self._signs = xp.zeros((MOST_TERMS, n), dtype=np.int8)
        self._histogram = xp.zeros((int(sizes.sum()), lanes), dtype=np.int32)

    @property
    def _threads(self) -> int:
        return self.device.most_threads

    def _shares(self, entries: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Return where each group of threads begins: its batch of entries, its place among bins."""
        n_groups = self.device.n_processors * (self._threads * min(self._lanes, 4) // self._lanes)
        ends = np.flatnonzero(entries & _LAST)
        batches = np.arange(len(entries) // _BATCH + 1)
        work = _BATCH * batches + _ENTRIES_A_BIN * np.searchsorted(ends, _BATCH * batches)
        starts = np.searchsorted(work, work[-1] * np.arange(n_groups + 1) // n_groups)
        return np.stack([starts, np.searchsorted(ends, _BATCH * starts)])

    def train(self, state: Any, request: RoundsRequest) -> Iterator[RoundResult]:
        """Train rounds until all are done, or one is beyond the device.

        While the caller looks at some rounds, the device trains the next.
        """
        k, before, problem = state.n_scores, None, state.whole
        totals = np.concatenate([problem.signed_totals, problem.signed_masses])
        self._current = self.device.upload(totals)
        for start in range(0, request.n_rounds, _ROUNDS_A_LAUNCH):
            n_rounds = min(_ROUNDS_A_LAUNCH, request.n_rounds - start)
            launched = self._launch(state, request._replace(n_rounds=n_rounds), before)
            if before is not None:
                yield from self._iter_results(before, k)
            before = launched
        assert before is not None
        yield from self._iter_results(before, k)
        totals = self.device.download(self._current)
        problem.signed_totals, problem.signed_masses = totals[:k], totals[k:]

    def _launch(
        self, state: Any, request: RoundsRequest, before: "_Launched | None"
    ) -> "_Launched":
        device, xp, k, n_terms = self.device, self.device.xp, state.n_scores, request.n_terms
        n_rounds = request.n_rounds
        rules = xp.zeros((n_rounds, 3 * n_terms + 1), dtype=np.int32)
        sums, done = device.zeros(n_rounds, 7 * k + 2), xp.zeros(1, dtype=np.int32)
        arguments = (
            np.int64(state.n_rows), k, n_terms, len(self.columns), self._any_missing,
            *self._search, *self._columns, state.labels, state.target, state.row_mass,
            float(request.floor), float(request.rate), n_rounds,
            None if before is None else before.done, 0 if before is None else before.max_rounds,
            self._current, state.weights, state.scores, state.whole.signed, self._flipped,
            self._signs, self._histogram, xp.zeros(3, dtype=np.uint64),
            xp.zeros(3 * self._lanes, dtype=np.int32), xp.zeros(1, dtype=np.uint32), rules, sums,
            done, self.profile,
        )  # fmt: skip
        shared = 8 * (4 * k + 2 + 32 + 3) + 4 * (self._threads + self._lanes + 3 * MOST_TERMS)
        kernel = device.rounds("boost_products", self._lanes)
        kernel(
            (device.n_processors, 1),
            (self._threads,),
            as_kernel_arguments(arguments),
            shared_mem=shared,
        )
        later = device.download_later
        return _Launched(n_rounds, done, later(rules), later(sums), later(done))

    def _iter_results(self, launched: "_Launched", k: int) -> Iterator[RoundResult]:
        """Wait for a launch, and yield its rounds."""
        n_done = int(launched.n_done()[0])
        for arrays in zip(launched.rules()[:n_done], launched.sums()[:n_done], strict=True):
            yield self._to_result(*arrays, k)

    def _to_result(self, rule: Any, sums: Any, k: int) -> RoundResult:
        *triples, n_searches = rule.tolist()
        cuts = [
            (int(self.columns[q]), first, missing)
            for q, first, missing in zip(*[iter(triples)] * 3, strict=True)
            if q >= 0
        ]
        edges = Edges(sums[:k], sums[k : 2 * k], sum(sums[2 * k : 3 * k].tolist()))
        step = sums[3 * k :]
        pseudo, wrong_rows = step[4 * k :].tolist()
        tally = Tally(pseudo, wrong_rows, step[2 * k : 4 * k].reshape(2, k))
        return RoundResult(n_searches, tally, edges, tuple(cuts))


def can_train(table: BinnedTable, request: RoundsRequest) -> bool:
    """Return whether the kernel can search the columns of a table."""
    columns = request.columns
    widest = max((table.bins[j].n_codes for j in columns.tolist()), default=0)
    fits = table.n_rows * len(columns) <= _MOST_CODES
    return fits and 0 < widest <= MOST_BINS and request.n_terms <= MOST_TERMS


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
    n, entries, end_bins, common = codes.shape[1], [], [], []
    for column, base in zip(codes, bases.tolist(), strict=True):
        common_bin = int(np.bincount(column).argmax())
        rows = np.flatnonzero(column != common_bin)
        rows = rows[np.argsort(column[rows], kind="stable")]
        bins = column[rows].astype(np.intp)
        ends = np.flatnonzero(np.append(bins[1:] != bins[:-1], True)[: len(bins)])
        marked = rows.astype(np.uint32)
        marked[ends] |= _LAST
        entries.append(marked)
        end_bins.append(bins[ends] + base)
        common.append(common_bin)
    size = sum(map(len, entries))
    # Whole batches, of a row of zeros after the last.
    entries.append(np.full(-size % _BATCH or (0 if size else _BATCH), n, dtype=np.uint32))
    # The groups at the end have no bin to go on with.
    end_bins.append(np.zeros(1, dtype=np.intp))
    return np.concatenate(entries), np.concatenate(end_bins), np.array(common)
