// What all kernels share: types, sums over a warp, and the exp and log of backend/arithmetic.py.
//
// LANES (score columns side by side) and WIDE (64-bit sums in the search) are defined when a module
// is compiled, and so are the constants of backend/arithmetic.py. Compiled without fused
// multiply-adds: floats are rounded as on the CPU.

typedef signed char i8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef double f64;

#if WIDE
typedef i64 sum_t;
#else
typedef int sum_t;
#endif

#ifndef SHARED
#define SHARED(type, name)                                      \
    extern __shared__ __align__(16) unsigned char shared_memory[]; \
    type* name = (type*)shared_memory
#endif

#define ALL 0xffffffffu

__device__ inline i64 warp_sum(i64 value) {
    for (int step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

__device__ inline void add_64(i64* to, i64 value) { atomicAdd((u64*)to, (u64)value); }

// Add the values of a warp to a sum; every thread of the warp must come here.
__device__ inline void add_warp(i64* to, i64 value) {
    value = warp_sum(value);
    if ((threadIdx.x & 31) == 0 && value != 0) add_64(to, value);
}

__device__ inline void add_sum(int* to, int value) { atomicAdd(to, value); }
__device__ inline void add_sum(i64* to, i64 value) { add_64(to, value); }

__device__ inline i64 magnitude(i64 value) { return value < 0 ? -value : value; }

__device__ inline i64 fixed(f64 value, f64 scale) { return (i64)rint(value * scale); }

__device__ inline u32 code_at(const void* codes, int width, i64 at) {
    if (width == 1) return ((const u8*)codes)[at];
    if (width == 2) return ((const u16*)codes)[at];
    return ((const u32*)codes)[at];
}

__device__ inline f64 exp_of(f64 x) {
    x = x < LOWEST ? LOWEST : x;
    x = x > HIGHEST ? HIGHEST : x;
    f64 n = rint(x * LOG2_E);
    f64 r = (x - n * LN2_HIGH) - n * LN2_LOW;
    f64 r2 = r * r;
    f64 r4 = r2 * r2;
    f64 a = (TAYLOR_0 + TAYLOR_1 * r) + (TAYLOR_2 + TAYLOR_3 * r) * r2;
    f64 b = (TAYLOR_4 + TAYLOR_5 * r) + (TAYLOR_6 + TAYLOR_7 * r) * r2;
    f64 c = (TAYLOR_8 + TAYLOR_9 * r) + (TAYLOR_10 + TAYLOR_11 * r) * r2;
    f64 value = (a + b * r4) + (c + (TAYLOR_12 + TAYLOR_13 * r) * r4) * (r4 * r4);
    return value * __longlong_as_double(((i64)n + 1023) << 52);
}

__device__ inline f64 log_of(f64 x) {
    int n;
    f64 m = frexp(x, &n);
    if (m < SQRT_HALF) {
        m = m + m;
        n -= 1;
    }
    f64 s = (m - 1.0) / (m + 1.0);
    f64 z = s * s;
    f64 tail = SERIES_9 * z;
    tail = (tail + SERIES_8) * z;
    tail = (tail + SERIES_7) * z;
    tail = (tail + SERIES_6) * z;
    tail = (tail + SERIES_5) * z;
    tail = (tail + SERIES_4) * z;
    tail = (tail + SERIES_3) * z;
    tail = (tail + SERIES_2) * z;
    tail = (tail + SERIES_1) * z;
    tail = (tail + SERIES_0) * z;
    return (f64)n * LN2_HIGH + ((s + s) + (s * tail + (f64)n * LN2_LOW));
}
