// The sums that a step follows from, and the step: a thread for each row, score columns in order.
//
// Weights, scores, labels and outputs are stored score column by score column, (K, n).

// The outputs of a rule: -1, 0 and +1, or reals; one row for all score columns, or one for each.
// Without any the output is +1.
struct Outputs {
    const i8* signs;
    const f64* reals;
    int n_rows;
};

__device__ inline f64 output_at(const Outputs& outputs, i64 n, int k, i64 row) {
    i64 at = outputs.n_rows > 1 ? k * n + row : row;
    if (outputs.reals) return outputs.reals[at];
    return outputs.signs ? (f64)outputs.signs[at] : 1.0;
}

// Where a block sums: shared memory if it is enough, else the sums themselves.
__device__ inline i64* block_sums(i64* held, i64* sums, int count, int fits) {
    if (!fits) return sums;
    for (int k = threadIdx.x; k < count; k += blockDim.x) held[k] = 0;
    __syncthreads();
    return held;
}

__device__ inline void flush_sums(const i64* held, i64* sums, int count, int fits) {
    if (!fits) return;
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += blockDim.x)
        if (held[k] != 0) add_64(&sums[k], held[k]);
}

// Sum the edges of a rule. OUT sums (3, K): edge, mass where it does not abstain, all mass.
extern "C" __global__ void sum_edges(i64 n, int n_scores, const i8* labels, const f64* weights,
                                     const i8* signs, const f64* reals, int n_outputs, int fits, i64* sums) {
    Outputs outputs = {signs, reals, n_outputs};
    SHARED(i64, held);
    i64* to = block_sums(held, sums, 3 * n_scores, fits);
    i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 at = (i64)blockIdx.x * blockDim.x; at < n; at += step) {
        i64 row = at + threadIdx.x;
        for (int k = 0; k < n_scores; ++k) {
            i64 exact = 0;
            int agreement = 0;
            if (row < n) {
                exact = fixed(weights[k * n + row], EXACT_SCALE);
                agreement = (int)output_at(outputs, n, k, row) * labels[k * n + row];
            }
            add_warp(&to[k], agreement * exact);
            add_warp(&to[n_scores + k], agreement ? exact : 0);
            add_warp(&to[2 * n_scores + k], exact);
        }
    }
    flush_sums(held, sums, 3 * n_scores, fits);
}

// Multiply the weights and move the scores, then quantize. IN step (4, K): the factors where rule
// and label agree and where not, what scores change by, and the votes; target (the row's class, -1
// where there is none). OUT sums (4 K + 2): of S, of |S|, the mass of wrong entries of label -1 and
// of +1, then | sum over l of w y v | before the step and the mass of wrong rows.
extern "C" __global__ void advance(i64 n, int n_scores, const i8* labels, const int* target,
                                   const i64* row_mass, const i8* signs, const f64* reals, int n_outputs, const f64* step, f64 rest,
                                   int mass_column, int fits, f64* weights, f64* scores,
                                   sum_t* quanta, i64* sums) {
    Outputs outputs = {signs, reals, n_outputs};
    SHARED(i64, held);
    int count = 4 * n_scores + 2;
    i64* to = block_sums(held, sums, count, fits);
    i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 at = (i64)blockIdx.x * blockDim.x; at < n; at += stride) {
        i64 row = at + threadIdx.x;
        bool counts = row < n;
        i64 mass = counts ? row_mass[row] : 0, own_mass = 0;
        int own = counts ? target[row] : -1, winner = 0;
        bool any_wrong = false;
        f64 pull = 0.0, top = 0.0;
        for (int k = 0; k < n_scores; ++k) {
            i64 quantum = 0, size = 0;
            bool too_high = false, too_low = false;
            if (counts) {
                i64 entry = k * n + row;
                bool positive = labels[entry] > 0;
                f64 x = weights[entry], vote = step[3 * n_scores + k];
                f64 sign = vote > 0.0 ? 1.0 : (vote < 0.0 ? -1.0 : 0.0);
                pull += positive ? x * sign : -x * sign;
                f64 side = output_at(outputs, n, k, row);
                f64 agreement = positive ? side : -side;
                x *= agreement > 0.0 ? step[k] : (agreement < 0.0 ? step[n_scores + k] : rest);
                f64 score = scores[entry] + side * step[2 * n_scores + k];
                weights[entry] = x;
                scores[entry] = score;
                size = fixed(x, SEARCH_SCALE);
                quantum = positive ? size : -size;
                own_mass += size;
                quanta[((k / LANES) * n + row) * LANES + k % LANES] = (sum_t)quantum;
                too_high = score > 0.0 && !positive;
                too_low = !(score > 0.0) && positive;
                any_wrong = any_wrong || too_high || too_low;
                if (k == 0 || score > top) {
                    top = score;
                    winner = k;
                }
            }
            add_warp(&to[k], quantum);
            add_warp(&to[n_scores + k], size);
            add_warp(&to[2 * n_scores + k], too_high ? mass : 0);
            add_warp(&to[3 * n_scores + k], too_low ? mass : 0);
        }
        if (counts && mass_column)
            quanta[((n_scores / LANES) * n + row) * LANES + n_scores % LANES] = (sum_t)own_mass;
        bool lost = own >= 0 ? winner != own : any_wrong;
        add_warp(&to[4 * n_scores], counts ? fixed(fabs(pull), EXACT_SCALE) : 0);
        add_warp(&to[4 * n_scores + 1], counts && lost ? mass : 0);
    }
    flush_sums(held, sums, count, fits);
}

// The initial weights: a row's, times its label's factor in the score column (2, K), or a matrix.
struct Initial {
    const f64* rows;
    const f64* by_label;
    const f64* matrix;
};

__device__ inline f64 initial_weight(const Initial& initial, i64 n, int n_scores, int k, i64 row,
                                     bool positive) {
    f64 start = initial.matrix ? initial.matrix[k * n + row] : initial.rows[row];
    return start * initial.by_label[(positive ? n_scores : 0) + k];
}

#define EXPONENTIAL 0
#define LOGISTIC 1
#define SOFTMAX 2

// Move the scores and compute the weights from them. IN step (2, K): what scores change by, and the
// votes. OUT weights, not normalized, scores, and sums (2): of the weights in units, and of
// | sum over l of w y v | before the step.
extern "C" __global__ void reweigh(i64 n, int n_scores, const i8* labels, const i8* signs, const f64* reals, int n_outputs,
                                   const f64* step, const f64* start_rows, const f64* start_labels,
                                   const f64* start_matrix, int loss, f64 shift, f64 unit,
                                   f64* weights, f64* scores, i64* sums) {
    Outputs outputs = {signs, reals, n_outputs};
    Initial initial = {start_rows, start_labels, start_matrix};
    i64 stride = (i64)gridDim.x * blockDim.x, total = 0, pseudo = 0;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += stride) {
        f64 pull = 0.0, top = 0.0, others = 0.0, own = 0.0;
        for (int k = 0; k < n_scores; ++k) {
            i64 entry = k * n + row;
            bool positive = labels[entry] > 0;
            f64 vote = step[n_scores + k], sign = vote > 0.0 ? 1.0 : (vote < 0.0 ? -1.0 : 0.0);
            f64 x = weights[entry];
            pull += positive ? x * sign : -x * sign;
            f64 score = scores[entry] + output_at(outputs, n, k, row) * step[k];
            scores[entry] = score;
            top = k == 0 || score > top ? score : top;
            if (loss != SOFTMAX) {
                f64 margin = positive ? score : -score;
                f64 start = initial_weight(initial, n, n_scores, k, row, positive);
                x = loss == LOGISTIC ? start / (1.0 + exp_of(margin)) : start * exp_of(shift - margin);
                weights[entry] = x;
                total += fixed(x, unit);
            }
        }
        pseudo += fixed(fabs(pull), EXACT_SCALE);
        if (loss != SOFTMAX) continue;
        for (int k = 0; k < n_scores; ++k) {
            i64 entry = k * n + row;
            f64 grown = exp_of(scores[entry] - top);
            weights[entry] = grown;
            if (labels[entry] > 0) own = grown;
            else others += grown;
        }
        for (int k = 0; k < n_scores; ++k) {
            i64 entry = k * n + row;
            bool positive = labels[entry] > 0;
            f64 part = (positive ? others : weights[entry]) / (others + own);
            f64 x = initial_weight(initial, n, n_scores, k, row, positive) * part;
            weights[entry] = x;
            total += fixed(x, unit);
        }
    }
    add_warp(&sums[0], total);
    add_warp(&sums[1], pseudo);
}

// Sum w exp(-y h). OUT sum.
extern "C" __global__ void sum_energy(i64 n, int n_scores, const i8* labels, const f64* weights,
                                      const i8* signs, const f64* reals, int n_outputs, const f64* coefficients, i64* sum) {
    Outputs outputs = {signs, reals, n_outputs};
    i64 stride = (i64)gridDim.x * blockDim.x, total = 0;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += stride)
        for (int k = 0; k < n_scores; ++k) {
            f64 h = output_at(outputs, n, k, row) * coefficients[k];
            f64 grown = exp_of(labels[k * n + row] > 0 ? -h : h);
            total += fixed(weights[k * n + row] * grown, ENERGY_SCALE);
        }
    add_warp(sum, total);
}

// Compute the weights of the exponential loss from the scores; `least` is the least margin.
extern "C" __global__ void restore_weights(i64 n, int n_scores, const i8* labels, const f64* start_rows, const f64* start_labels,
                                   const f64* start_matrix,
                                           f64 least, const f64* scores, f64* weights) {
    Initial initial = {start_rows, start_labels, start_matrix};
    i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += stride)
        for (int k = 0; k < n_scores; ++k) {
            i64 entry = k * n + row;
            f64 away = least - (f64)labels[entry] * scores[entry];
            f64 start = initial_weight(initial, n, n_scores, k, row, labels[entry] > 0);
            weights[entry] = start * exp_of(away < 0.0 ? away : 0.0);
        }
}

// Look up the outputs of a tree's leaves. IN leaves (K, ends). OUT reals or signs (K, n).
extern "C" __global__ void leaf_outputs(i64 n, int n_scores, int n_ends, const int* leaf_of,
                                        const f64* leaves, f64* reals, i8* signs) {
    i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += stride)
        for (int k = 0; k < n_scores; ++k) {
            f64 value = leaves[k * n_ends + leaf_of[row]];
            if (reals) reals[k * n + row] = value;
            else signs[k * n + row] = (i8)value;
        }
}
