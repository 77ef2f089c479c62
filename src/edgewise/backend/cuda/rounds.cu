// Whole rounds of products of stumps, decided on the device: one launch for many rounds, on blocks
// that wait for each other. What learners/product.py, learners/stump.py and objective/hamming.py do
// with discrete votes and the exponential loss, in the same order of operations.

#if !WIDE && LANES > 1

#ifndef PAUSE
#define PAUSE() __nanosleep(20)
#endif

// The threads of an entry, each with as many lanes as one load brings.
#define VEC (LANES < 4 ? LANES : 4)
#define GROUP (LANES / VEC)

// Entries that are in flight at once, and the mark on the last entry of a bin.
#ifndef BATCH
#define BATCH 8
#endif
#define LAST 0x80000000u

#ifndef THREADS
#define THREADS 1024
#endif

// A team of threads scans a column of up to 256 bins, each thread one lane of a segment of bins.
#define SEGMENTS (LANES < 4 ? 32 / LANES : 8)
#define SEGMENT (256 / SEGMENTS)
#define TEAM (SEGMENTS * LANES)

#define MOST_TERMS 16

// Score columns whose numbers are loaded at once.
#define CHUNK 5

#ifdef PROFILE
#define MARK(phase)                                        \
    if (blockIdx.x == 0 && threadIdx.x == 0) {             \
        i64 now = clock64();                               \
        if (phase >= 0) profile[phase < 0 ? 0 : phase] += now - marked; \
        marked = now;                                      \
    }
#else
#define MARK(phase)
#endif

// Add non-negative numbers below 2**62 of a warp to a sum: three sums of 21 bits each.
__device__ __forceinline__ void add_positive(i64* to, i64 value) {
    u32 low = __reduce_add_sync(ALL, (u32)value & 0x1fffffu);
    u32 middle = __reduce_add_sync(ALL, (u32)(value >> 21) & 0x1fffffu);
    u32 high = __reduce_add_sync(ALL, (u32)(value >> 42));
    if (threadIdx.x % 32 == 0) add_64(to, (i64)low + ((i64)middle << 21) + ((i64)high << 42));
}

// Add quanta of a warp to a sum; all of S together fit into 32 bits.
__device__ __forceinline__ void add_quanta(i64* to, int value) {
    value = __reduce_add_sync(ALL, value);
    if (threadIdx.x % 32 == 0 && value != 0) add_64(to, value);
}

__device__ inline void wait_for_all(u32* arrived) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        u32 before = atomicAdd(arrived, 1u);
        u32 wanted = (before / gridDim.x + 1) * gridDim.x;
        while (*(volatile u32*)arrived < wanted) PAUSE();
        __threadfence();
    }
    __syncthreads();
}

__device__ __forceinline__ void load_lanes(const int* from, int* to) {
#if LANES < 4
    for (int k = 0; k < VEC; ++k) to[k] = __ldcg(from + k);
#else
    int4 four = __ldcg((const int4*)from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
#endif
}

__device__ __forceinline__ void flush_run(int* to, int part, int* sum) {
    for (int k = 0; k < VEC; ++k) {
        if (sum[k] != 0) atomicAdd(&to[part * VEC + k], sum[k]);
        sum[k] = 0;
    }
}

// The entries of a batch that end a bin, as bits.
__device__ __forceinline__ u32 last_ones(const u32* rows) {
    u32 ends = 0;
#pragma unroll
    for (int b = 0; b < BATCH; ++b) ends |= (rows[b] >> 31) << b;
    return ends;
}

// Add S to the bins. IN entries: rows, sorted by bin, the last of each bin marked; bins: of the
// marked ones, in order; shares (2, groups + 1): the first batch of entries of each group of
// threads, and its place in the list of bins. OUT histogram.
__device__ __noinline__ void sum_sorted(const int* given, const u32* entries, const int* bins,
                                        const int* shares, int* histogram) {
    int groups = gridDim.x * (blockDim.x / GROUP), part = threadIdx.x % GROUP, sum[VEC];
    int group = blockIdx.x * (blockDim.x / GROUP) + threadIdx.x / GROUP;
    int place = shares[groups + 1 + group], bin = bins[place];
    for (int k = 0; k < VEC; ++k) sum[k] = 0;
    i64 stop = (i64)shares[group + 1] * BATCH;
    for (i64 e = (i64)shares[group] * BATCH; e < stop; e += BATCH) {
        u32 rows[BATCH], any = 0;
        int values[BATCH][VEC];
        for (int b = 0; b < BATCH; b += 4) {
            const uint4 four = *(const uint4*)(entries + e + b);
            rows[b] = four.x;
            rows[b + 1] = four.y;
            rows[b + 2] = four.z;
            rows[b + 3] = four.w;
        }
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            load_lanes(given + (i64)(rows[b] & ~LAST) * LANES + part * VEC, values[b]);
            any |= rows[b];
        }
        // Few entries end a bin: only then is a batch added in parts.
        int from = 0;
        if (any & LAST) {
            for (u32 ends = last_ones(rows); ends; ends &= ends - 1) {
                int end = __ffs(ends);
#pragma unroll
                for (int b = 0; b < BATCH; ++b)
                    for (int k = 0; k < VEC; ++k) sum[k] += b >= from && b < end ? values[b][k] : 0;
                flush_run(histogram + (i64)bin * LANES, part, sum);
                bin = bins[++place];
                from = end;
            }
        }
#pragma unroll
        for (int b = 0; b < BATCH; ++b)
            for (int k = 0; k < VEC; ++k) sum[k] += b >= from ? values[b][k] : 0;
    }
    flush_run(histogram + (i64)bin * LANES, part, sum);
}

// The columns of a search, whose commonest bins are not among the entries.
struct Columns {
    int n_columns;
    const int* bases;
    const int* n_codes;
    const u8* has_missing;
    const int* common;
    const void* codes;
    int width;
};

// A cut as one number that is larger the better it is: the larger edge wins, then the lower column,
// the lower threshold, and missing values above.
__device__ inline u64 key_of(int edge, int column, int cut) {
    return ((u64)(u32)edge << 32) | (u32)~((u32)column * 512u + (u32)cut);
}

// Sum numbers over the lanes; in the end each lane has the sums of some of them, from the returned
// place on.
template <int STEP, int HALF>
__device__ __forceinline__ int fold_lanes(int* sizes, int lane) {
    bool upper = lane & STEP;
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
        int a = sizes[i], b = sizes[HALF + i];
        sizes[i] = (upper ? b : a) + __shfl_xor_sync(ALL, upper ? a : b, STEP);
    }
    int place = upper ? HALF : 0;
    if constexpr (STEP > 1) place += fold_lanes<STEP / 2, HALF / 2>(sizes, lane);
    return place;
}

// Find the best cut of all columns, and clear the histogram. IN totals (LANES), scratch (a number
// for each thread, and a key for each warp). OUT best.
__device__ __noinline__ void scan_columns(const Columns& all, const int* totals, int any_missing, int* histogram,
                             int* scratch, u64* keys, u64* best) {
    int lane = threadIdx.x % LANES, segment = threadIdx.x % TEAM / LANES, team = threadIdx.x / TEAM;
    int teams = blockDim.x / TEAM, total = totals[lane];
    u64 key = 0;
    for (int at = 0; at < all.n_columns; at += teams * gridDim.x) {
        int q = at + team * gridDim.x + blockIdx.x;
        bool counts = q < all.n_columns;
        int n_codes = counts ? all.n_codes[q] : 0, first = segment * SEGMENT;
        int* own = histogram + ((i64)(counts ? all.bases[q] : 0) + first) * LANES + lane;
        int size = min(max(n_codes - first, 0), SEGMENT), sum = 0, sizes[SEGMENT];
#pragma unroll
        for (int i = 0; i < SEGMENT; ++i) sizes[i] = i < size ? own[i * LANES] : 0;
#pragma unroll
        for (int i = 0; i < SEGMENT; ++i) sum += sizes[i];
        __syncthreads();
        scratch[threadIdx.x] = sum;
        __syncthreads();
        int before = 0, stored = 0, common = counts ? all.common[q] : 0;
        for (int s = 0; s < SEGMENTS; ++s) {
            int other = scratch[team * TEAM + s * LANES + lane];
            stored += other;
            before += s < segment ? other : 0;
        }
        int rest = total - stored, gone = 0;
        if (common < first) before += rest;
        bool missing = counts && all.has_missing[q];
        if (any_missing) {
            __syncthreads();
            int last = n_codes - 1 - first;
            if (missing && last >= 0 && last < SEGMENT)
                scratch[team * TEAM + lane] = own[last * LANES] + (common == n_codes - 1 ? rest : 0);
            __syncthreads();
            gone = missing ? scratch[team * TEAM + lane] : 0;
        }
        for (int side = 0; side < (missing ? 2 : 1); ++side) {
            int below = before, away = side ? 2 * gone : 0;
            if (side) {
#pragma unroll
                for (int i = 0; i < SEGMENT; ++i) sizes[i] = i < size ? own[i * LANES] : 0;
            }
            int none = total - away;
            none = none < 0 ? -none : none;
            for (int step = LANES / 2; step > 0; step >>= 1) none += __shfl_xor_sync(ALL, none, step);
            if (counts && segment == 0) {
                u64 other = key_of(none, q, side);
                key = other > key ? other : key;
            }
#pragma unroll
            for (int i = 0; i < SEGMENT; ++i) {
                below += sizes[i];
                if (first + i == common) below += rest;
                int edge = total - 2 * below - away;
                sizes[i] = edge < 0 ? -edge : edge;
            }
            int bin = first + fold_lanes<LANES / 2, SEGMENT / 2>(sizes, lane);
#pragma unroll
            for (int i = 0; i < SEGMENT / LANES; ++i) {
                int t = bin + i + 1;
                if (counts && t < n_codes - missing) {
                    u64 other = key_of(sizes[i], q, 2 * t + side);
                    key = other > key ? other : key;
                }
            }
        }
#pragma unroll 8
        for (int i = 0; i < size; ++i) own[i * LANES] = 0;
    }
    for (int step = 16; step > 0; step >>= 1) {
        u64 other = __shfl_xor_sync(ALL, key, step);
        key = other > key ? other : key;
    }
    if (threadIdx.x % 32 == 0) keys[threadIdx.x / 32] = key;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < (int)blockDim.x / 32; ++w) key = keys[w] > key ? keys[w] : key;
        atomicMax(best, key);
    }
}

__device__ inline i8 sign_at(const Columns& all, const int* term, i64 n, i64 row) {
    int q = term[0], code = (int)code_at(all.codes, all.width, q * n + row);
    if (all.has_missing[q] && code == all.n_codes[q] - 1) return (i8)term[2];
    return code >= term[1] ? 1 : -1;
}

// Multiply S by all terms but one. IN terms (column, first bin, side of missing values; column -1
// is the constant), fresh: the term whose signs are to be evaluated first. OUT signs, flipped,
// totals (LANES), initially 0; `sums` is memory for as many.
__device__ __noinline__ void flip_terms(i64 n, const Columns& all, const int* terms, int n_terms, int left_out,
                           int fresh, const int* given, i8* signs, int* flipped, int* sums,
                           int* totals) {
    int part = threadIdx.x % GROUP, sum[VEC];
    for (int k = 0; k < VEC; ++k) sum[k] = 0;
    for (int k = threadIdx.x; k < LANES; k += blockDim.x) sums[k] = 0;
    __syncthreads();
    i64 groups = (i64)gridDim.x * (blockDim.x / GROUP);
    for (i64 row = (i64)blockIdx.x * (blockDim.x / GROUP) + threadIdx.x / GROUP; row < n; row += groups) {
        int sign = 1;
        for (int term = 0; term < n_terms; ++term) {
            if (term == left_out || terms[3 * term] < 0) continue;
            int own;
            if (term == fresh) {
                own = sign_at(all, terms + 3 * term, n, row);
                if (part == 0) signs[term * n + row] = (i8)own;
            } else {
                own = signs[term * n + row];
            }
            sign *= own;
        }
        int values[VEC];
        load_lanes(given + row * LANES + part * VEC, values);
        for (int k = 0; k < VEC; ++k) {
            values[k] *= sign;
            sum[k] += values[k];
        }
        int* out = flipped + row * LANES + part * VEC;
#if LANES < 4
        for (int k = 0; k < VEC; ++k) out[k] = values[k];
#else
        *(int4*)out = {values[0], values[1], values[2], values[3]};
#endif
    }
    for (int k = 0; k < VEC; ++k) {
        for (int step = 16; step >= GROUP; step >>= 1) sum[k] += __shfl_xor_sync(ALL, sum[k], step);
        if (threadIdx.x % 32 < GROUP) atomicAdd(&sums[part * VEC + k], sum[k]);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < LANES; k += blockDim.x) atomicAdd(&totals[k], sums[k]);
}

__device__ inline int product_at(const i8* signs, const int* terms, int n_terms, i64 n, i64 row) {
    int sign = 1;
    for (int term = 0; term < n_terms; ++term)
        if (terms[3 * term] >= 0) sign *= signs[term * n + row];
    return sign;
}

// Train up to `most` rounds, none if an earlier launch did not train all that were `wanted` of it:
// `before` is the number that it did. IN the arguments up to rate. OUT current (2, K): the sums of S and of |S|, before and after; weights, scores, quanta (S, with a row of zeros after the last), flipped (the
// same), signs (terms, n), histogram (0 before and after), slots (3 keys), flip_totals (3, LANES),
// both initially 0, arrived (0), rules (rounds, 3 terms + 1): the terms and the number of searches;
// sums (rounds, 7 K + 2), initially 0: edges, masses and all mass, then those of `advance`; done:
// the number of rounds.
extern "C" __global__ void __launch_bounds__(THREADS) boost_products(
    i64 n, int n_scores, int n_terms, int n_columns, int any_missing, const u32* entries,
    const int* bins, const int* shares, const int* bases, const int* n_codes,
    const u8* has_missing, const int* common, const void* codes, int width, const i8* labels,
    const int* target, const i64* row_mass, f64 floor, f64 rate, int most, const int* before, int wanted,
    i64* current,
    f64* weights, f64* scores, int* quanta, int* flipped, i8* signs, int* histogram, u64* slots,
    int* flip_totals, u32* arrived, int* rules, i64* sums, int* done, i64* profile) {
    SHARED(i64, shared);
    i64* held = shared;  // 4 K + 2
    u64* keys = (u64*)(held + 4 * n_scores + 2);  // 32
    f64* step = (f64*)(keys + 32);  // 3
    int* scratch = (int*)(step + 3);  // a number for each thread
    int* lanes = scratch + blockDim.x;  // LANES
    int* terms = lanes + LANES;  // 3 for each
    Columns all = {n_columns, bases, n_codes, has_missing, common, codes, width};
    int warps = blockDim.x / 32, lane = threadIdx.x % 32, count = 7 * n_scores + 2, search = 0;
    i64 first_row = ((i64)(threadIdx.x / 32) * gridDim.x + blockIdx.x) * 32;
    i64 stride = (i64)warps * gridDim.x * 32;
    if (before && *before < wanted) return;
#ifdef PROFILE
    i64 marked = 0;
#endif
    MARK(-1)
    for (int r = 0; r < most; ++r) {
        const i64* totals = r == 0 ? current : sums + (i64)(r - 1) * count + 3 * n_scores;
        i64* own = sums + (i64)r * count;
        __syncthreads();
        for (int k = threadIdx.x; k < 3 * n_terms; k += blockDim.x) terms[k] = -1;
        u32 best = 0;
        int j = 0, fresh = -1, searches = 0;
        while (true) {
            __syncthreads();
            bool flips = false;
            for (int term = 0; term < n_terms; ++term) flips |= term != j && terms[3 * term] >= 0;
            int* flip_sums = flip_totals + search % 3 * LANES;
            if (flips) {
                flip_terms(n, all, terms, n_terms, j, fresh, quanta, signs, flipped, lanes,
                           flip_sums);
                fresh = -1;
                wait_for_all(arrived);
            }
            MARK(0)
            sum_sorted(flips ? flipped : quanta, entries, bins, shares, histogram);
            MARK(1)
            wait_for_all(arrived);
            MARK(2)
            for (int k = threadIdx.x; k < LANES; k += blockDim.x)
                lanes[k] = flips ? flip_sums[k] : (k < n_scores ? (int)totals[k] : 0);
            __syncthreads();
            scan_columns(all, lanes, any_missing, histogram, scratch, keys, &slots[search % 3]);
            MARK(3)
            wait_for_all(arrived);
            MARK(4)
            u64 key = *(volatile u64*)&slots[search % 3];
            if (blockIdx.x == 0) {
                if (threadIdx.x == 0) slots[(search + 2) % 3] = 0;
                for (int k = threadIdx.x; k < LANES; k += blockDim.x)
                    flip_totals[(search + 2) % 3 * LANES + k] = 0;
            }
            ++search;
            ++searches;
            u32 edge = (u32)(key >> 32), place = ~(u32)key;
            if (edge <= best) break;
            best = edge;
            int column = (int)(place / 512u), first = (int)(place % 512u) / 2, side = (int)(place % 2u);
            bool constant = first == 0 && side == 0;
            __syncthreads();
            if (threadIdx.x == 0) {
                terms[3 * j] = constant ? -1 : column;
                terms[3 * j + 1] = first;
                terms[3 * j + 2] = side ? -1 : 1;
            }
            fresh = constant ? -1 : j;
            if (n_terms == 1) break;
            j = (j + 1) % n_terms;
        }
        if (best == 0) return;
        __syncthreads();
        // The edges of the product.
        for (int k = threadIdx.x; k < 4 * n_scores + 2; k += blockDim.x) held[k] = 0;
        __syncthreads();
        for (i64 at = first_row; at < n; at += stride) {
            i64 row = at + lane;
            bool counts = row < n;
            if (counts && fresh >= 0) signs[fresh * n + row] = sign_at(all, terms + 3 * fresh, n, row);
            int sign = counts ? product_at(signs, terms, n_terms, n, row) : 0;
            for (int from = 0; from < n_scores; from += CHUNK) {
                f64 x[CHUNK];
                int y[CHUNK];
#pragma unroll
                for (int i = 0; i < CHUNK; ++i) {
                    bool known = counts && from + i < n_scores;
                    x[i] = known ? weights[(from + i) * n + row] : 0.0;
                    y[i] = known ? labels[(from + i) * n + row] : 0;
                }
#pragma unroll
                for (int i = 0; i < CHUNK; ++i) {
                    if (from + i >= n_scores) break;
                    i64 exact = fixed(x[i], EXACT_SCALE);
                    add_positive(&held[from + i], y[i] == sign ? exact : 0);
                    add_positive(&held[n_scores + from + i], exact);
                }
            }
        }
        __syncthreads();
        for (int k = threadIdx.x; k < n_scores; k += blockDim.x) {
            // What is right less what is wrong: no partial sum leaves 64 bits.
            add_64(&own[k], (held[k] - held[n_scores + k]) + held[k]);
            add_64(&own[n_scores + k], held[n_scores + k]);
            add_64(&own[2 * n_scores + k], held[n_scores + k]);
        }
        wait_for_all(arrived);
        MARK(5)
        // Votes and step, as objective/votes.py and objective/hamming.py have them.
        for (int k = threadIdx.x; k < 4 * n_scores + 2; k += blockDim.x) held[k] = 0;
        if (threadIdx.x == 0) {
            u64 sum = 0, mass = 0;
            for (int k = 0; k < n_scores; ++k) {
                sum += (u64)magnitude(own[k]);
                mass += (u64)own[n_scores + k];
            }
            f64 plus = (f64)(mass + sum) / 2 / EXACT_SCALE, minus = (f64)(mass - sum) / 2 / EXACT_SCALE;
            f64 right = plus > floor ? plus : floor, wrong = minus > floor ? minus : floor;
            f64 alpha = 0.5 * log_of(right / wrong);
            if (rate != 1.0) alpha = rate * alpha;
            f64 energy = plus * exp_of(-alpha) + minus * exp_of(alpha) + 0.0;
            f64 rest = 1.0 / energy, grown = exp_of(alpha < 0.0 ? -alpha : alpha);
            step[0] = energy < (f64)mass / EXACT_SCALE ? alpha : 0.0;
            step[1] = rest * grown;
            step[2] = rest / grown;
        }
        __syncthreads();
        MARK(6)
        f64 alpha = step[0], growth = step[1], decay = step[2];
        if (!(alpha > 0.0)) return;
        for (i64 at = first_row; at < n; at += stride) {
            i64 row = at + lane;
            bool counts = row < n, any_wrong = false;
            i64 mass = counts ? row_mass[row] : 0;
            int label = counts ? target[row] : -1, winner = 0;
            int sign = counts ? product_at(signs, terms, n_terms, n, row) : 0;
            f64 pull = 0.0, top = 0.0;
            for (int from = 0; from < n_scores; from += CHUNK) {
                f64 x[CHUNK], f[CHUNK];
                bool positive[CHUNK];
#pragma unroll
                for (int i = 0; i < CHUNK; ++i) {
                    i64 entry = (from + i) * n + row;
                    bool known = counts && from + i < n_scores;
                    x[i] = known ? weights[entry] : 0.0;
                    f[i] = known ? scores[entry] : 0.0;
                    positive[i] = known && labels[entry] > 0;
                }
#pragma unroll
                for (int i = 0; i < CHUNK; ++i) {
                    int k = from + i;
                    if (k >= n_scores) break;
                    bool votes = own[k] > 0;
                    pull += positive[i] == votes ? x[i] : -x[i];
                    x[i] *= (positive[i] == (sign > 0)) == votes ? decay : growth;
                    f[i] += votes == (sign > 0) ? alpha : -alpha;
                    int size = (int)fixed(x[i], SEARCH_SCALE), quantum = positive[i] ? size : -size;
                    if (counts) {
                        weights[k * n + row] = x[i];
                        scores[k * n + row] = f[i];
                        quanta[row * LANES + k] = quantum;
                    }
                    bool too_high = counts && f[i] > 0.0 && !positive[i];
                    bool too_low = counts && !(f[i] > 0.0) && positive[i];
                    any_wrong = any_wrong || too_high || too_low;
                    if (k == 0 || f[i] > top) {
                        top = f[i];
                        winner = k;
                    }
                    add_quanta(&held[k], quantum);
                    add_quanta(&held[n_scores + k], size);
                    // Hardly any row is wrong after some rounds.
                    if (__any_sync(ALL, too_high)) add_positive(&held[2 * n_scores + k], too_high ? mass : 0);
                    if (__any_sync(ALL, too_low)) add_positive(&held[3 * n_scores + k], too_low ? mass : 0);
                }
            }
            bool lost = label >= 0 ? winner != label : any_wrong;
            add_positive(&held[4 * n_scores], counts ? fixed(fabs(pull), EXACT_SCALE) : 0);
            add_positive(&held[4 * n_scores + 1], counts && lost ? mass : 0);
        }
        __syncthreads();
        for (int k = threadIdx.x; k < 4 * n_scores + 2; k += blockDim.x)
            if (held[k] != 0) add_64(&own[3 * n_scores + k], held[k]);
        if (blockIdx.x == 0) {
            int* rule = rules + (i64)r * (3 * n_terms + 1);
            for (int k = threadIdx.x; k < 3 * n_terms; k += blockDim.x) rule[k] = terms[k];
            if (threadIdx.x == 0) {
                rule[3 * n_terms] = searches;
                *done = r + 1;
            }
        }
        wait_for_all(arrived);
        if (blockIdx.x == 0)
            for (int k = threadIdx.x; k < 2 * n_scores; k += blockDim.x)
                current[k] = own[3 * n_scores + k];
        MARK(7)
    }
}

#endif
