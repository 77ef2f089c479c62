"""Products of stumps on a GPU for as many rounds as the papers: errors, seconds, learning curves.

Run with `python benchmarks/gpu.py [--output curves.json [--draw curves.png]] [mnist:3 letter:10]`.
Kégl and Busa-Fekete 2009a (table 1) report the mean test error over the last half of 100,000
rounds, in per cent. `--arrays FOLDER` reads NAME.npz with X, y, Xt, yt in place of the data sets.
"""

import argparse
import hashlib
import json
import time
from pathlib import Path

import numpy as np

from edgewise import AdaBoostMH, Product, Stump, datasets

SETS = (
    "mnist:3",
    "mnist:2",
    "mnist:1",
    "mnist:4",
    "letter:10",
    "isolet:6",
    "usps:3",
    "pendigits:2",
)

# The errors of a model after every few rounds: a warp for each test row, a lane for each class.
STAGES = r"""
extern "C" __global__ void stages(
    int n, int n_scores, int n_rounds, int n_terms, int every, const int* __restrict__ columns,
    const double* __restrict__ thresholds, const double* __restrict__ moves,
    const double* __restrict__ values, const int* __restrict__ target, int* wrong) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= n) return;
    int at_once = 32 / n_terms, own = target[row];
    double score = lane < n_scores ? 0.0 : -1e300;
    for (int start = 0; start < n_rounds; start += at_once) {
        int factor = start * n_terms + lane, column = -1;
        if (lane < at_once * n_terms && factor < n_rounds * n_terms) column = columns[factor];
        bool below = column >= 0 && !(values[(long long)column * n + row] >= thresholds[factor]);
        unsigned negative = __ballot_sync(0xffffffffu, below);
        for (int i = 0; i < at_once && start + i < n_rounds; ++i) {
            unsigned mine = negative >> (i * n_terms) & ((1u << n_terms) - 1u);
            int t = start + i;
            if (lane < n_scores) {
                double move = moves[(long long)t * n_scores + lane];
                score += __popc(mine) & 1 ? -move : move;
            }
            if ((t + 1) % every) continue;
            double best = score;
            int winner = lane;
            for (int step = 16; step > 0; step >>= 1) {
                double other = __shfl_xor_sync(0xffffffffu, best, step);
                int place = __shfl_xor_sync(0xffffffffu, winner, step);
                if (other > best || (other == best && place < winner)) best = other, winner = place;
            }
            if (lane == 0 && winner != own) atomicAdd(&wrong[t / every], 1);
        }
    }
}
"""


def stages(model, X, y, n_terms, every):
    """Return the test errors, in per cent, after every few rounds."""
    import cupy

    terms = model.fitted_.terms
    n_rounds, n_scores = terms.votes.shape
    columns = np.full((n_rounds, n_terms), -1, dtype=np.int32)
    thresholds = np.zeros((n_rounds, n_terms))
    for t in range(n_rounds):
        own = slice(terms.starts[terms.firsts[t]], terms.starts[terms.firsts[t + 1]])
        columns[t, : own.stop - own.start] = terms.columns[own]
        thresholds[t, : own.stop - own.start] = terms.thresholds[own]
    wrong = cupy.zeros(n_rounds // every, dtype=np.int32)
    arguments = (
        np.int32(len(X)), np.int32(n_scores), np.int32(n_rounds), np.int32(n_terms),
        np.int32(every), cupy.asarray(columns), cupy.asarray(thresholds),
        cupy.asarray(terms.alphas[:, None] * terms.votes),
        cupy.asarray(np.ascontiguousarray(np.asarray(X, dtype=np.float64).T)),
        cupy.asarray(y.astype(np.int32)), wrong,
    )  # fmt: skip
    kernel = cupy.RawKernel(STAGES, "stages", options=("-fmad=false",))
    kernel((-(-len(X) // 8),), (256,), arguments)
    return 100.0 * cupy.asnumpy(wrong) / len(X)


def load(name, arrays):
    """Return training and test rows, with classes as numbers."""
    if arrays:
        data = np.load(Path(arrays) / f"{name}.npz")
        return data["X"], data["y"].astype(int), data["Xt"], data["yt"].astype(int)
    data = datasets.load(name)
    classes, y = np.unique(data.y_train, return_inverse=True)
    X, rows = np.asarray(data.X_train), np.asarray(data.X_test)
    return X, y, rows, np.searchsorted(classes, data.y_test)


def draw(found, path):
    """Draw the test errors against the rounds, on logarithmic axes."""
    import matplotlib.pyplot as plt

    names = dict.fromkeys(one.split(":")[0] for one in found)
    _, axes = plt.subplots(1, len(names), figsize=(2.6 * len(names), 2.8), layout="constrained")
    for ax, name in zip(np.atleast_1d(axes), names, strict=True):
        for one, curve in found.items():
            if one.split(":")[0] != name:
                continue
            errors, m = np.array(curve["errors"]), one.split(":")[1]
            at = np.unique(np.geomspace(1, len(errors), 300).astype(int)) - 1
            label = "stumps" if m == "1" else f"products of {m}"
            ax.loglog((at + 1) * curve["every"], errors[at], label=label)
        ax.set(title=name, xlabel="rounds")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        ax.tick_params(axis="y", which="both", labelsize="x-small")
        ax.legend(fontsize="x-small")
    np.atleast_1d(axes)[0].set_ylabel("test error, %")
    plt.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS, help="names with the number of terms")
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--arrays")
    parser.add_argument("--output", type=Path)
    parser.add_argument(
        "--draw", type=Path, help="draw --output, which is there, and train nothing"
    )
    options = parser.parse_args()
    if options.draw:
        draw(json.loads(options.output.read_text()), options.draw)
        return
    found = {}
    for one in options.sets:
        name, n_terms = one.split(":")
        X, y, rows, own = load(name, options.arrays)
        start = time.perf_counter()
        model = AdaBoostMH(
            Product(Stump(), int(n_terms)), preset="paper", n_rounds=options.rounds, device="cuda"
        )
        model.fit(X, y)
        seconds = time.perf_counter() - start
        errors = stages(model, rows, own, int(n_terms), options.every)
        parts = (
            model.fitted_.terms.columns,
            model.fitted_.terms.thresholds,
            model.fitted_.terms.alphas,
        )
        digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]
        last = errors[len(errors) // 2 :]
        searches = float(
            np.mean(model.history_["columns"]) / len(np.unique(model.fitted_.terms.columns))
        )
        print(
            f"{name:10} {n_terms:>2} terms  {model.n_rounds_:6d} rounds in {seconds:6.1f} s  last "
            f"half {last.mean():5.2f} ({last.std():.2f})  end {errors[-1]:5.2f}  {digest}",
            flush=True,
        )
        found[one] = {
            "seconds": seconds, "rounds": model.n_rounds_, "mean": last.mean(), "std": last.std(),
            "every": options.every, "errors": np.round(errors, 4).tolist(), "digest": digest,
            "columns": searches, "energy": float(np.log(model.history_["energy"]).sum()),
        }  # fmt: skip
        if options.output:
            options.output.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
