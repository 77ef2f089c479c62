// CUDA's words for g++: see cuda_emulator.py.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __restrict__
#define __launch_bounds__(...)
#define SHARED(type, name) type* name = (type*)emulated::block->shared.data()
#define PAUSE() emulated::rest()

namespace emulated {
struct Index { unsigned x, y, z; };
struct Barrier { int waiting = 0, generation = 0; };
struct Block;
struct Thread {
    ucontext_t context;
    char* stack = nullptr;
    bool done = false;
    Index index{};
    Block* block = nullptr;
};
struct Block {
    Index index{};
    std::vector<double> shared;
    std::vector<Thread> threads;
    Barrier all;
    std::vector<Barrier> warps;
    std::vector<long long> lanes;
    int done = 0;
};
static Index thread_index, block_index, block_size, grid_size;
static Block* block;
static Thread* thread;
static ucontext_t scheduler;
static std::function<void()> kernel;

static const size_t STACK = 1 << 16;
static std::vector<char*> stacks;  // of threads that have ended
static char* stack() {
    if (stacks.empty()) return (char*)malloc(STACK);
    char* one = stacks.back();
    stacks.pop_back();
    return one;
}
static void rest() { swapcontext(&thread->context, &scheduler); }
static void wait(Barrier& barrier, int size) {
    int generation = barrier.generation;
    if (++barrier.waiting == size) {
        barrier.waiting = 0;
        ++barrier.generation;
    } else {
        while (barrier.generation == generation) rest();
    }
}
static void enter() {
    kernel();
    thread->done = true;
    ++thread->block->done;
    swapcontext(&thread->context, &scheduler);
}
static void prepare(Block& one, int threads, size_t shared) {
    one.shared.assign(shared / 8 + 1, 0x1.8p300);  // nothing is 0 unless somebody says so
    one.threads.resize(threads);
    one.warps.resize((threads + 31) / 32);
    one.lanes.resize(threads);
    for (int t = 0; t < threads; ++t) {
        Thread& own = one.threads[t];
        own.stack = stack();
        own.index = {(unsigned)t, 0, 0};
        own.block = &one;
        getcontext(&own.context);
        own.context.uc_stack.ss_sp = own.stack;
        own.context.uc_stack.ss_size = STACK;
        own.context.uc_link = nullptr;
        makecontext(&own.context, (void (*)())enter, 0);
    }
}
static void turn(Block& one) {
    for (auto& own : one.threads) {
        if (own.done) continue;
        block = &one; thread = &own; thread_index = own.index; block_index = one.index;
        swapcontext(&scheduler, &own.context);
    }
}
static void launch(unsigned x, unsigned y, int threads, size_t shared, bool together) {
    grid_size = {x, y, 1}; block_size = {(unsigned)threads, 1, 1};
    std::vector<Block> blocks(together ? x * y : 1);
    for (unsigned first = 0; first < x * y; first += blocks.size()) {
        for (unsigned b = 0; b < blocks.size(); ++b) {
            blocks[b] = Block();
            blocks[b].index = {(first + b) % x, (first + b) / x, 0};
            prepare(blocks[b], threads, shared);
        }
        for (bool working = true; working;) {
            working = false;
            for (auto& one : blocks)
                if (one.done < threads) { turn(one); working = true; }
        }
        for (auto& one : blocks)
            for (auto& own : one.threads) stacks.push_back(own.stack);
    }
}
}  // namespace emulated

#define threadIdx emulated::thread_index
#define blockIdx emulated::block_index
#define blockDim emulated::block_size
#define gridDim emulated::grid_size

static void __syncthreads() { emulated::wait(emulated::block->all, emulated::block->threads.size()); }
static void __syncwarp(unsigned = 0) {
    emulated::wait(emulated::block->warps[threadIdx.x / 32], std::min<int>(32, blockDim.x));
}
static void __threadfence() {}
template <class T> static T exchange(T value, int from) {
    memcpy(&emulated::block->lanes[threadIdx.x], &value, sizeof(T));
    __syncwarp();
    T found;
    memcpy(&found, &emulated::block->lanes[(threadIdx.x & ~31u) + from], sizeof(T));
    __syncwarp();
    return found;
}
template <class T> static T __shfl_xor_sync(unsigned, T value, int step, int = 32) {
    return exchange(value, (threadIdx.x & 31) ^ step);
}
template <class T> static T __shfl_sync(unsigned, T value, int from, int width = 32) {
    return exchange(value, (threadIdx.x & 31 & ~(width - 1)) + (from & (width - 1)));
}
template <class T> static T __shfl_up_sync(unsigned, T value, int step, int width = 32) {
    int own = threadIdx.x & 31, in = own & (width - 1);
    return exchange(value, in >= step ? own - step : own);
}
template <class T> static T __reduce_add_sync(unsigned, T value) {
    for (int step = 16; step > 0; step >>= 1) value += exchange(value, (threadIdx.x & 31) ^ step);
    return value;
}
static int __any_sync(unsigned, int value) {
    for (int step = 16; step > 0; step >>= 1) value |= exchange(value, (threadIdx.x & 31) ^ step);
    return value;
}
static int __ffs(unsigned value) { return __builtin_ffs((int)value); }
template <class T> static T atomicAdd(T* to, T value) { T old = *to; *to += value; return old; }
template <class T> static T atomicMax(T* to, T value) { T old = *to; *to = old < value ? value : old; return old; }
template <class T> static T atomicExch(T* to, T value) { T old = *to; *to = value; return old; }
template <class T> static T __ldcg(const T* from) { return *from; }
template <class T> static T __ldg(const T* from) { return *from; }
static double __longlong_as_double(long long bits) { double x; memcpy(&x, &bits, 8); return x; }
using std::max;
using std::min;
struct int4 { int x, y, z, w; };
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
