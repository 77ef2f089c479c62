// Rows of S, histograms of them, and the scan for each column's best cut.
//
// S has the shape (chunks, n, LANES), a histogram (chunks, bins, LANES). A group of LANES threads
// visits a row, one thread for each lane.

// Multiply S by each row's sign. OUT out, sums: the totals by lane, then the number of zero signs.
extern "C" __global__ void flip(i64 n, int chunks, const sum_t* given, const i8* signs, sum_t* out,
                                i64* sums) {
    SHARED(i64, held);
    for (int k = threadIdx.x; k <= LANES; k += blockDim.x) held[k] = 0;
    __syncthreads();
    int lane = threadIdx.x % LANES, chunk = blockIdx.y;
    i64 total = 0, zeros = 0, groups = (i64)gridDim.x * (blockDim.x / LANES);
    for (i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / LANES; row < n; row += groups) {
        i64 at = (chunk * n + row) * LANES + lane;
        sum_t value = given[at] * (sum_t)signs[row];
        out[at] = value;
        total += value;
        zeros += signs[row] == 0;
    }
    add_64(&held[lane], total);
    if (lane == 0 && chunk == 0) add_64(&held[LANES], zeros);
    __syncthreads();
    for (int k = threadIdx.x; k < LANES; k += blockDim.x) add_64(&sums[chunk * LANES + k], held[k]);
    if (threadIdx.x == 0) add_64(&sums[chunks * LANES], held[LANES]);
}

// Sum S and |S| over some rows. OUT sums (2, chunks, LANES).
extern "C" __global__ void sum_rows(i64 n, int chunks, const sum_t* given, const int* rows,
                                    i64 n_rows, i64* sums) {
    SHARED(i64, held);
    for (int k = threadIdx.x; k < 2 * LANES; k += blockDim.x) held[k] = 0;
    __syncthreads();
    int lane = threadIdx.x % LANES, chunk = blockIdx.y;
    i64 total = 0, mass = 0, groups = (i64)gridDim.x * (blockDim.x / LANES);
    for (i64 p = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / LANES; p < n_rows; p += groups) {
        i64 row = rows ? rows[p] : p;
        i64 value = given[(chunk * n + row) * LANES + lane];
        total += value;
        mass += magnitude(value);
    }
    add_64(&held[lane], total);
    add_64(&held[LANES + lane], mass);
    __syncthreads();
    for (int k = threadIdx.x; k < 2 * LANES; k += blockDim.x)
        add_64(&sums[(k / LANES) * chunks * LANES + chunk * LANES + k % LANES], held[k]);
}

// Sum S over the rows of each bin of dense columns. IN codes (columns, n), places (rows of codes),
// bases and n_codes (the columns' bins), rows (or all n_rows). OUT histogram, initially 0.
// Blocks: (columns * parts, chunks).
extern "C" __global__ void sum_dense(const void* codes, int width, i64 n, const int* places,
                                     const int* bases, const int* n_codes, const sum_t* given,
                                     const int* rows, i64 n_rows, int parts, int shared_bins,
                                     i64 bins, sum_t* histogram) {
    SHARED(sum_t, held);
    int q = blockIdx.x / parts, part = blockIdx.x % parts, chunk = blockIdx.y;
    int lane = threadIdx.x % LANES, group = threadIdx.x / LANES, groups = blockDim.x / LANES;
    int size = n_codes[q] * LANES;
    bool shares = n_codes[q] <= shared_bins;
    sum_t* out = histogram + (chunk * bins + bases[q]) * LANES;
    if (shares)
        for (int at = threadIdx.x; at < size; at += blockDim.x) held[at] = 0;
    __syncthreads();
    sum_t* to = shares ? held : out;
    i64 first = n_rows * part / parts, last = n_rows * (part + 1) / parts, start = places[q] * n;
    for (i64 p = first + group; p < last; p += groups) {
        i64 row = rows ? rows[p] : p;
        u32 code = code_at(codes, width, start + row);
        add_sum(&to[(i64)code * LANES + lane], given[(chunk * n + row) * LANES + lane]);
    }
    __syncthreads();
    if (shares)
        for (int at = threadIdx.x; at < size; at += blockDim.x)
            if (held[at] != 0) add_sum(&out[at], held[at]);
}

// Do the same for sparse columns, but for their commonest bins. IN starts and ends (of the columns'
// entries), entry_rows, codes (by entry), member (whether each row counts, or null for all).
extern "C" __global__ void sum_sparse(const i64* starts, const i64* ends, const int* entry_rows,
                                      const void* codes, int width, i64 n, const int* places,
                                      const int* bases, const int* n_codes, const sum_t* given,
                                      const u8* member, int parts, int shared_bins, i64 bins,
                                      sum_t* histogram) {
    SHARED(sum_t, held);
    int q = blockIdx.x / parts, part = blockIdx.x % parts, chunk = blockIdx.y;
    int lane = threadIdx.x % LANES, group = threadIdx.x / LANES, groups = blockDim.x / LANES;
    int size = n_codes[q] * LANES;
    bool shares = n_codes[q] <= shared_bins;
    sum_t* out = histogram + (chunk * bins + bases[q]) * LANES;
    if (shares)
        for (int at = threadIdx.x; at < size; at += blockDim.x) held[at] = 0;
    __syncthreads();
    sum_t* to = shares ? held : out;
    i64 start = starts[places[q]], count = ends[places[q]] - start;
    i64 first = start + count * part / parts, last = start + count * (part + 1) / parts;
    for (i64 p = first + group; p < last; p += groups) {
        i64 row = entry_rows[p];
        if (member && !member[row]) continue;
        u32 code = code_at(codes, width, p);
        add_sum(&to[(i64)code * LANES + lane], given[(chunk * n + row) * LANES + lane]);
    }
    __syncthreads();
    if (shares)
        for (int at = threadIdx.x; at < size; at += blockDim.x)
            if (held[at] != 0) add_sum(&out[at], held[at]);
}

// Give the commonest bin of sparse columns what is left of the totals (chunks, LANES).
// Blocks: (columns, chunks).
extern "C" __global__ void fill_common(const int* common, const int* places, const int* bases,
                                       const int* n_codes, const i64* totals, i64 bins,
                                       sum_t* histogram) {
    SHARED(i64, held);
    int q = blockIdx.x, chunk = blockIdx.y, lane = threadIdx.x % LANES;
    sum_t* own = histogram + (chunk * bins + bases[q]) * LANES;
    for (int k = threadIdx.x; k < LANES; k += blockDim.x) held[k] = 0;
    __syncthreads();
    i64 sum = 0;
    for (int at = threadIdx.x; at < n_codes[q] * LANES; at += blockDim.x) sum += own[at];
    add_64(&held[lane], sum);
    __syncthreads();
    for (int k = threadIdx.x; k < LANES; k += blockDim.x)
        own[common[places[q]] * LANES + k] += (sum_t)(totals[chunk * LANES + k] - held[k]);
}

// Sum the bins of each column below each bin. OUT below, of the histogram's shape.
// Blocks: (columns, chunks); the number of threads is a multiple of LANES.
extern "C" __global__ void sum_below(const int* bases, const int* n_codes, i64 bins,
                                     const sum_t* histogram, sum_t* below) {
    SHARED(sum_t, held);
    int q = blockIdx.x, lane = threadIdx.x % LANES;
    int part = threadIdx.x / LANES, parts = blockDim.x / LANES;
    i64 origin = (blockIdx.y * bins + bases[q]) * LANES + lane;
    int first = (int)((i64)n_codes[q] * part / parts), last = (int)((i64)n_codes[q] * (part + 1) / parts);
    sum_t sum = 0;
    for (int t = first; t < last; ++t) sum += histogram[origin + (i64)t * LANES];
    held[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 1; step < parts; step <<= 1) {
        sum_t before = part >= step ? held[threadIdx.x - step * LANES] : 0;
        __syncthreads();
        held[threadIdx.x] += before;
        __syncthreads();
    }
    sum = held[threadIdx.x] - sum;
    for (int t = first; t < last; ++t) {
        below[origin + (i64)t * LANES] = sum;
        sum += histogram[origin + (i64)t * LANES];
    }
}

// What a scan looks for: see base.ScanQuery. The bounds are null where there are none, and so is
// what leaves must hold (lane by lane, like a histogram of as many chunks).
struct Asked {
    int n_scores, by_gain, by_score, constant, absent;
    f64 damping;
    const i8* directions;
    const i64* bound_starts;
    const i64* bound_firsts;
    const i8* bound_sides;
    const i64* bound_limits;
    const sum_t* amounts;
    const sum_t* amounts_below;
    const i64* amount_totals;
    const i64* least;
    int n_amounts;
};

__device__ inline i64 gain_of(i64 squares, i64 mass, f64 damping) {
    return (i64)rint((f64)squares / ((f64)mass + damping) * GAIN_SCALE);
}

// Whether an edge has a sign that is allowed at a cut.
__device__ inline bool within_bounds(const Asked& asked, int q, int t, int side, i64 edge) {
    if (!asked.directions || t == 0 || asked.directions[q] * edge >= 0) return true;
    for (i64 p = asked.bound_starts[q]; p < asked.bound_starts[q + 1]; ++p)
        if (asked.bound_firsts[p] == t && asked.bound_sides[p] == side)
            return magnitude(edge) <= asked.bound_limits[p];
    return false;
}

// Whether both sides of a cut hold enough; `gone` is how missing values count below (0, 1 or 2
// halves), as in an edge.
__device__ inline bool is_heavy(const Asked& asked, i64 bins, i64 at, i64 last, int gone) {
    for (int a = 0; a < asked.n_amounts; ++a) {
        i64 low = asked.amounts_below[a * bins + at], away = gone ? asked.amounts[a * bins + last] : 0;
        i64 high = asked.amount_totals[a] - low - away;
        if (gone == 2) low += away;
        if (low < asked.least[a] || high < asked.least[a]) return false;
    }
    return true;
}

__device__ inline bool is_better(i64 size, int cut, i64 best, int best_cut) {
    return size > best || (size == best && cut < best_cut);
}

// Find the best cut of each column. Blocks: (columns, 1), or (columns, scores) by score.
// OUT best (columns, scores or 1, 3): edge or gain, first bin, missing side; edges (columns,
// scores) at the best cut, or null.
extern "C" __global__ void choose_cuts(const int* bases, const int* n_codes, const u8* has_missing,
                                       i64 bins, const sum_t* histogram, const sum_t* below,
                                       const i64* totals, int n_scores, int by_gain, int by_score,
                                       int constant, int absent, f64 damping, const i8* directions,
                                       const i64* bound_starts, const i64* bound_firsts,
                                       const i8* bound_sides, const i64* bound_limits,
                                       const sum_t* amounts, const sum_t* amounts_below,
                                       const i64* amount_totals, const i64* least, int n_amounts,
                                       i64* best, i64* edges) {
    Asked asked = {n_scores, by_gain, by_score, constant, absent, damping, directions,
                   bound_starts, bound_firsts, bound_sides, bound_limits, amounts, amounts_below,
                   amount_totals, least, n_amounts};
    SHARED(i64, held);
    int q = blockIdx.x;
    int from = asked.by_score ? blockIdx.y : 0, to = asked.by_score ? from + 1 : asked.n_scores;
    bool missing = has_missing[q], learns = missing && asked.absent == MISSING_AUTO;
    int usual = missing && asked.absent != MISSING_AUTO ? asked.absent : 1;
    int n_values = n_codes[q] - missing;
    i64 base = bases[q], last = base + n_codes[q] - 1, found = -1;
    int cut = 0;
    for (int t = threadIdx.x; t < n_values; t += blockDim.x) {
        for (int side = 0; side < (learns ? 2 : 1); ++side) {
            // In halves: missing values are above, abstained on, or below.
            int gone = side == 1 ? 2 : (missing ? 1 - usual : 0);
            bool is_constant = t == 0 && gone == 0;
            if (is_constant && (asked.by_gain || !asked.constant)) continue;
            i64 size = 0, high_squares = 0, low_squares = 0, only = 0;
            for (int k = from; k < to + asked.by_gain; ++k) {
                i64 lane = (k / LANES) * bins * LANES + k % LANES;
                i64 low = below[lane + (base + t) * LANES];
                i64 away = gone ? (i64)histogram[lane + last * LANES] : 0;
                if (asked.by_gain) {
                    low += gone == 2 ? away : 0;
                    i64 high = totals[k] - low;
                    if (k == to) {
                        size = low > 0 && high > 0 ? gain_of(low_squares, low, asked.damping) +
                                                         gain_of(high_squares, high, asked.damping)
                                                   : -1;
                    } else {
                        low_squares += low * low;
                        high_squares += high * high;
                    }
                } else {
                    only = totals[k] - 2 * low - gone * away;
                    size += magnitude(only);
                }
            }
            if (asked.directions && !within_bounds(asked, q, t, side ? -1 : usual, only)) continue;
            if (asked.n_amounts && !is_constant && !is_heavy(asked, bins, base + t, last, gone)) continue;
            if (is_better(size, 2 * t + side, found, cut)) {
                found = size;
                cut = 2 * t + side;
            }
        }
    }
    i64* sizes = held;
    i64* cuts = held + blockDim.x;
    sizes[threadIdx.x] = found;
    cuts[threadIdx.x] = cut;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) {
            int other = threadIdx.x + half;
            if (is_better(sizes[other], (int)cuts[other], sizes[threadIdx.x], (int)cuts[threadIdx.x])) {
                sizes[threadIdx.x] = sizes[other];
                cuts[threadIdx.x] = cuts[other];
            }
        }
        __syncthreads();
    }
    found = sizes[0];
    cut = found < 0 ? 0 : (int)cuts[0];
    int t = cut >> 1, side = cut & 1;
    if (threadIdx.x == 0) {
        i64* out = best + ((i64)q * gridDim.y + blockIdx.y) * 3;
        out[0] = found;
        out[1] = t;
        out[2] = side ? -1 : usual;
    }
    if (!edges) return;
    int gone = side == 1 ? 2 : (missing ? 1 - usual : 0);
    for (int k = threadIdx.x; k < asked.n_scores; k += blockDim.x) {
        i64 lane = (k / LANES) * bins * LANES + k % LANES;
        i64 away = gone ? (i64)histogram[lane + last * LANES] : 0;
        edges[(i64)q * asked.n_scores + k] =
            totals[k] - 2 * (i64)below[lane + (base + t) * LANES] - gone * away;
    }
}

// The signs of a cut: of a dense column, or of the entries of a sparse one, scattered to their rows.
extern "C" __global__ void cut_codes(i64 count, const void* codes, int width, const int* rows,
                                     int first, int missing, int gone, i8* signs) {
    for (i64 p = (i64)blockIdx.x * blockDim.x + threadIdx.x; p < count; p += (i64)gridDim.x * blockDim.x) {
        int code = (int)code_at(codes, width, p);
        signs[rows ? rows[p] : p] = (i8)(code == gone ? missing : (code >= first ? 1 : -1));
    }
}
