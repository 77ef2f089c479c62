"""The sums that a step follows from, and the step, compiled."""

import math

import numpy as np

from edgewise.backend.arithmetic import (
    ENERGY_SCALE,
    EXACT_SCALE,
    HIGHEST,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    LOWEST,
    SEARCH_SCALE,
    SQRT_HALF,
    log_series,
    taylor,
)
from edgewise.backend.numba.vectors import inner, kernel, power_of_two, transpose_8

# Weights and scores are stored score column by score column, so that the inner loops run over
# rows: long, contiguous and free of remainders for any number of classes. Scratch arrays are made
# inside the functions, where the compiler knows that they overlap nothing.

_TILE = 512

_taylor, _log_series = inner(taylor), inner(log_series)


@kernel
def sum_edges(start, stop, weights, labels, signs, sums):  # type: ignore[no-untyped-def]
    """Sum the edges of a cut over the rows from start to stop, in 64-bit fixed point.

    IN weights, labels, signs. OUT sums (3, K): the edge, the mass, and the mass where the sign is
    0.
    """
    for k in range(weights.shape[0]):
        w, y = weights[k, start:stop], labels[k, start:stop]
        sign = signs[k if signs.shape[0] > 1 else 0, start:stop]
        mass, right, zeros = np.int64(0), np.int64(0), np.int64(0)
        for i in range(len(w)):
            exact = np.int64(np.rint(w[i] * EXACT_SCALE))
            mass += exact
            right += exact if y[i] == sign[i] else np.int64(0)
        for i in range(len(w)):
            zeros += sign[i] == 0
        idle = np.int64(0)
        if zeros > 0:
            for i in range(len(w)):
                idle += np.int64(np.rint(w[i] * EXACT_SCALE)) if sign[i] == 0 else np.int64(0)
        # In this order no partial sum leaves 64 bits, even where all the weight is right.
        sums[0, k], sums[1, k], sums[2, k] = (right - mass) + right + idle, mass, idle


@inner
def _wrong_mass(f, y, mass):  # type: ignore[no-untyped-def]
    """Return the mass of the wrong signs among labels of -1 and of +1."""
    too_high, too_low = np.int64(0), np.int64(0)
    for i in range(len(f)):
        above, positive = f[i] > 0.0, y[i] > 0
        too_high += mass[i] if above and not positive else np.int64(0)
        too_low += mass[i] if positive and not above else np.int64(0)
    return too_high, too_low


@inner
def _write_rows(quanta, size, at, n, lanes, signed):  # type: ignore[no-untyped-def]
    """Write a tile of quanta (IN), stored by score column, as rows of S (OUT signed, flat)."""
    flat = quanta.reshape(-1)
    blocks = size - size % 8 if lanes >= 8 else 0
    for low in range(0, len(quanta), lanes):
        origin = ((low // lanes) * n + at) * lanes
        for i in range(0, blocks, 8):
            for k in range(0, lanes, 8):
                transpose_8(
                    flat, (low + k) * _TILE + i, _TILE, signed, origin + i * lanes + k, lanes
                )
        for k in range(lanes):
            for i in range(blocks, size):
                signed[origin + i * lanes + k] = quanta[low + k, i]


@kernel
def advance(start, stop, state, signs, step, lanes, signed, sums):  # type: ignore[no-untyped-def]
    """Take one step on the rows from start to stop; return (pseudo, wrong rows).

    IN signs, step (as `base.Step`). IN, OUT state (`host.HostState.arrays`): weights and scores.
    OUT signed (flat) and sums (4, K), initially 0: of S, of |S|, and of the mass of wrong entries
    of label -1 and +1.
    """
    labels, target, row_mass, equal_mass, _, weights, scores, mass_column = state
    agree, against, abstain, coefficients, votes = step
    n_scores, n = weights.shape
    quanta = np.zeros((len(signed) // n, _TILE), dtype=signed.dtype)
    cut, pull, top, winner = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    pseudo, wrong_rows = np.int64(0), np.int64(0)
    for at in range(start, stop, _TILE):
        end = min(stop, at + _TILE)
        multi_class = target[at] >= 0
        pull[:], top[:], winner[:] = 0.0, -np.inf if multi_class else 0.0, 0.0
        if mass_column:
            quanta[n_scores] = 0
        for k in range(n_scores):
            w, f, y = weights[k, at:end], scores[k, at:end], labels[k, at:end]
            near, far, move, vote = agree[k], against[k], coefficients[k], np.sign(votes[k])
            if k == 0 or signs.shape[0] > 1:
                for i in range(end - at):
                    cut[i] = signs[k, at + i]
            total, mass = np.int64(0), np.int64(0)
            # One loop does all that it can, so that every array passes through the core once.
            for i in range(end - at):
                side, x, positive = cut[i], w[i], y[i] > 0
                pull[i] += x * vote if positive else -x * vote
                agreement = side if positive else -side
                x *= near if agreement > 0.0 else (far if agreement < 0.0 else abstain)
                quantum = np.int32(np.rint(x * SEARCH_SCALE))
                w[i], f[i] = x, f[i] + side * move
                quanta[k, i] = quantum if positive else -quantum
                mass += quantum
                total += quantum if positive else -quantum
            sums[0, k] += total
            sums[1, k] += mass
            if mass_column:
                for i in range(end - at):
                    quanta[n_scores, i] += abs(quanta[k, i])
            high, low = np.int64(0), np.int64(0)
            for i in range(end - at):
                score, positive = f[i], y[i] > 0
                too_high, too_low = (score > 0.0) & (not positive), (score <= 0.0) & positive
                high += too_high
                low += too_low
                if multi_class:
                    better = score > top[i]
                    winner[i] = k if better else winner[i]
                    top[i] = score if better else top[i]
                else:
                    top[i] += too_high | too_low
            if equal_mass:
                high, low = high * row_mass[0], low * row_mass[0]
            else:
                high, low = _wrong_mass(f, y, row_mass[at:end])
            sums[2, k] += high
            sums[3, k] += low
        for i in range(end - at):
            pseudo += np.int64(np.rint(abs(pull[i]) * EXACT_SCALE))
            lost = winner[i] != target[at + i] if multi_class else top[i] > 0.0
            wrong_rows += row_mass[at + i] if lost else np.int64(0)
        _write_rows(quanta, end - at, at, n, lanes, signed)
    return pseudo, wrong_rows


@inner
def exp(x):  # type: ignore[no-untyped-def]
    """Return e**x, operation by operation as the reference, `arithmetic.exp`, does."""
    x = x if x > LOWEST else LOWEST
    x = x if x < HIGHEST else HIGHEST
    n = np.rint(x * LOG2_E)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    return _taylor(r) * power_of_two(np.int64(n))


@inner
def log(x):  # type: ignore[no-untyped-def]
    """Return the logarithm of x, operation by operation as `arithmetic.log` does."""
    m, n = math.frexp(x)
    if m < SQRT_HALF:
        m, n = m + m, n - 1
    return _log_series(m, n)


@inner
def half(x):  # type: ignore[no-untyped-def]
    """Return x rounded to half precision."""
    # 11 bits, or the last one of the smallest numbers.
    n = max(math.frexp(x)[1], -13)
    return math.ldexp(np.rint(math.ldexp(x, 11 - n)), n - 11)


@kernel
def reweigh(start, stop, state, outputs, coefficients, votes, unit, logistic, shift):  # type: ignore[no-untyped-def]
    """Move the scores of the rows from start to stop and compute their weights from the scores.

    IN outputs, coefficients, votes, unit (the fixed point of the sums) and shift: see
    `base.RealStep`. IN, OUT state (`host.HostState.arrays`): weights, not normalized, and scores.
    Return the sums of the weights and of ``| sum over l of w y v |`` before the step.
    """
    labels, _, _, _, (rows, by_label, matrix), weights, scores, _ = state
    total, pseudo = np.int64(0), np.int64(0)
    pull, grown = np.empty(_TILE), np.empty(_TILE)
    # ln(1 + exp(-m)) has weights 1 / (1 + exp(m)); exp(-m) has weights exp(shift - m).
    side, offset = (1.0, 0.0) if logistic else (-1.0, shift)
    for at in range(start, stop, _TILE):
        end = min(stop, at + _TILE)
        pull[:] = 0.0
        for k in range(len(weights)):
            w, f, y = weights[k, at:end], scores[k, at:end], labels[k, at:end]
            out = outputs[k if outputs.shape[0] > 1 else 0, at:end]
            row = matrix[k, at:end] if len(matrix) > 0 else rows[at:end]
            low, high = by_label[0, k], by_label[1, k]
            move, vote = coefficients[k], np.sign(votes[k])
            for i in range(end - at):
                pull[i] += w[i] * vote if y[i] > 0 else -w[i] * vote
                f[i] += out[i] * move
            for i in range(end - at):
                grown[i] = exp(offset + (f[i] if y[i] > 0 else -f[i]) * side)
            for i in range(end - at):
                initial = row[i] * (high if y[i] > 0 else low)
                w[i] = initial / (1.0 + grown[i]) if logistic else initial * grown[i]
            for i in range(end - at):
                total += np.int64(np.rint(w[i] * unit))
        for i in range(end - at):
            pseudo += np.int64(np.rint(abs(pull[i]) * EXACT_SCALE))
    return total, pseudo


@kernel
def reweigh_softmax(start, stop, state, outputs, coefficients, votes, unit):  # type: ignore[no-untyped-def]
    """Do the same for the softmax loss, whose weights are |y - p| times the initial ones."""
    labels, _, _, _, (rows, by_label, matrix), weights, scores, _ = state
    total, pseudo = np.int64(0), np.int64(0)
    pull, top = np.empty(_TILE), np.empty(_TILE)
    others, grown_own = np.empty(_TILE), np.empty(_TILE)
    for at in range(start, stop, _TILE):
        end = min(stop, at + _TILE)
        pull[:], top[:], others[:] = 0.0, -np.inf, 0.0
        for k in range(len(weights)):
            w, f, y = weights[k, at:end], scores[k, at:end], labels[k, at:end]
            out = outputs[k if outputs.shape[0] > 1 else 0, at:end]
            move, vote = coefficients[k], np.sign(votes[k])
            for i in range(end - at):
                pull[i] += w[i] * vote if y[i] > 0 else -w[i] * vote
                f[i] += out[i] * move
                top[i] = f[i] if f[i] > top[i] else top[i]
        for k in range(len(weights)):
            w, f, y = weights[k, at:end], scores[k, at:end], labels[k, at:end]
            for i in range(end - at):
                w[i] = exp(f[i] - top[i])
            for i in range(end - at):
                others[i] += 0.0 if y[i] > 0 else w[i]
                grown_own[i] = w[i] if y[i] > 0 else grown_own[i]
        for k in range(len(weights)):
            w, y = weights[k, at:end], labels[k, at:end]
            row = matrix[k, at:end] if len(matrix) > 0 else rows[at:end]
            low, high = by_label[0, k], by_label[1, k]
            for i in range(end - at):
                residual = (others[i] if y[i] > 0 else w[i]) / (others[i] + grown_own[i])
                w[i] = row[i] * (high if y[i] > 0 else low) * residual
            for i in range(end - at):
                total += np.int64(np.rint(w[i] * unit))
        for i in range(end - at):
            pseudo += np.int64(np.rint(abs(pull[i]) * EXACT_SCALE))
    return total, pseudo


@kernel
def sum_energy(start, stop, weights, labels, outputs, coefficients):  # type: ignore[no-untyped-def]
    """Return the sum of w exp(-y h) over the rows from start to stop, in fixed point."""
    total = np.int64(0)
    for k in range(len(weights)):
        w, y = weights[k, start:stop], labels[k, start:stop]
        out = outputs[k if outputs.shape[0] > 1 else 0, start:stop]
        move = coefficients[k]
        for i in range(stop - start):
            h = out[i] * move
            total += np.int64(np.rint(w[i] * exp(-h if y[i] > 0 else h) * ENERGY_SCALE))
    return total
