// Runs CUDA C++ kernels on the CPU, unchanged, so that tests check them on machines without a GPU.
//
// Every thread of a block is a fiber with a stack of its own. A fiber runs until a collective operation (ldmatrix, mma,
// shuffle, barrier), leaves its operands there and hands over to the next lane of its warp; the last lane to arrive computes
// for all 32. So a warp runs as far as it can, up to a barrier that waits for others. Blocks run one after another.
//
// What a GPU leaves open is made as hostile as is cheap, so that wrong kernels fail: shared memory and the targets of
// copies on the way hold NaN, collectives that not all lanes reach end the process with the line, and `seed` chooses other
// orders of warps and lanes. One launch at a time: nothing here is safe between threads of the host.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// EMULATOR_UCONTEXT takes the portable way to change fibers, which is many times slower, on x86-64 too.
#if !defined(__x86_64__) && !defined(EMULATOR_UCONTEXT)
#define EMULATOR_UCONTEXT
#endif
#ifdef EMULATOR_UCONTEXT
#include <ucontext.h>
#endif

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// Kernels read bytes of any origin as these, which the compiler must know: may_alias.
#define EMULATOR_VECTORS(type, scalar)                                                                          \
    struct __attribute__((may_alias, aligned(2 * sizeof(scalar)))) type##2 { scalar x, y; };                     \
    struct __attribute__((may_alias, aligned(4 * sizeof(scalar)))) type##4 { scalar x, y, z, w; };               \
    static inline type##2 make_##type##2(scalar x, scalar y) { return {x, y}; }                                  \
    static inline type##4 make_##type##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }
EMULATOR_VECTORS(uint, uint32_t)
EMULATOR_VECTORS(float, float)
#undef EMULATOR_VECTORS

struct uint3 {
    unsigned x, y, z;
};

// The names of CUDA. A fiber's own index is found through the fiber that runs.
static uint3 blockIdx, blockDim, gridDim;
#define threadIdx (emulator::running->index)
#define SHARED(name) unsigned char* name = emulator::shared

namespace emulator {

constexpr int WARP = 32;
constexpr int MOST_THREADS = 1024;
constexpr int MOST_SHARED = 227 * 1024;  // what a block may use on sm_90
constexpr size_t STACK = 256 * 1024;
constexpr size_t GUARD = 64 * 1024;
constexpr int POISON = 0xFF;  // NaN as bfloat16 and as float

// 0: warps and lanes by their number. Others: orders by chance, the same for the same seed.
static uint64_t seed = 0;

enum Kind { LDMATRIX4, LDMATRIX4T, LDMATRIX2, LDMATRIX2T, STMATRIX4, LOAD, STORE, MMA, SHUFFLE, SYNCWARP, BARRIER, KINDS };
static const char* const names[KINDS] = {"ldmatrix4",   "ldmatrix4t",   "ldmatrix2", "ldmatrix2t", "stmatrix4",
                                         "shared_load", "shared_store", "mma",       "shuffle",    "syncwarp", "barrier"};

// What a lane brings to a collective, and where its result goes: into the stack of that lane, which waits.
struct Operand {
    const void* row;
    uint32_t* result;
    float* c;
    const uint32_t* a;
    uint32_t b0, b1, value;
    int source, barrier, threads;
};

struct Lane;

struct Warp {
    Operand operands[WARP];
    Lane* resume;  // the lane that goes on when the warp does
    Kind kind;     // the collective that `arrived` lanes wait in
    int line, arrived, ended;
    bool blocked;  // at the barrier of operands[0]
};

struct Copy {
    void* target;
    const void* source;
    int group;
};

struct Lane {
    void* stack_pointer;
    Lane* next;
    Warp* warp;
    Operand* operand;
    uint3 index;
    std::vector<Copy> copies;
    int committed;
#ifdef EMULATOR_UCONTEXT
    ucontext_t context;
#endif
};

struct Barrier {
    int arrived, threads;
};

static Lane* running;
static Lane outside;  // the caller of `launch`
static std::vector<Lane> lanes;
static std::vector<Warp> warps;
static Barrier barriers[16];
static unsigned char* shared;
static size_t shared_bytes;
static uint64_t chance;
static void (*call)(void*);
static void* arguments_of_call;

// ---------------------------------------------------------------------------------------------- errors

static int number(const Warp& warp) { return int(&warp - warps.data()); }

template <class... Values>
[[noreturn]] static void fail(const char* format, Values... values) {
    fprintf(stderr, "emulator: block (%u, %u): ", blockIdx.x, blockIdx.y);
    fprintf(stderr, format, values...);
    fprintf(stderr, "\n");
    fflush(stderr);
    abort();
}

[[noreturn]] static void fail_incomplete(const Warp& warp) {
    fail("deadlock: warp %d waits at line %d (%s): %d lanes have arrived, %d have ended", number(warp), warp.line,
         names[warp.kind], warp.arrived, warp.ended);
}

[[noreturn]] static void fail_blocked() {
    std::string waiting;
    for (const Warp& warp : warps) {
        if (!warp.blocked) continue;
        const int id = warp.operands[0].barrier;
        waiting += (waiting.empty() ? "warp " : "; warp ") + std::to_string(number(warp)) + " waits at line " +
                   std::to_string(warp.line) + " (barrier " + std::to_string(id) + ": " +
                   std::to_string(barriers[id].arrived) + " of " + std::to_string(barriers[id].threads) +
                   " threads have arrived)";
    }
    fail("deadlock: %s", waiting.c_str());
}

static void check_shared(const void* address, size_t bytes, const char* what, int line) {
    const auto* first = static_cast<const unsigned char*>(address);
    const intptr_t offset = intptr_t(first) - intptr_t(shared);
    if (offset < 0 || size_t(offset) + bytes > shared_bytes)
        fail("line %d: %s at byte %ld of a shared memory of %zu bytes", line, what, long(offset), shared_bytes);
    if (offset % bytes) fail("line %d: %s at byte %ld, which is no multiple of %zu", line, what, long(offset), bytes);
}

// ------------------------------------------------------------------------------------- bank conflicts

struct Counter {
    uint64_t calls, extra;
    uint64_t stamp;  // the stay of a lane in which `occurrence` was counted
    uint32_t occurrence;
};
static std::vector<Counter> counters;  // of kind and line, since the launch

static Counter& counter(Kind kind, int line) {
    const size_t place = size_t(line) * KINDS + kind;
    if (place >= counters.size()) counters.resize(place + 1024);
    return counters[place];
}

// How often the banks are read for units of 16 bytes in 8 groups of banks, or of 4 bytes in 32 banks. A unit that several
// lanes ask for is read once.
static int wavefronts(const uint32_t* units, int count, int banks) {
    uint32_t first[32], seen = 0;
    bool conflict = false;
    for (int i = 0; i < count; ++i) {
        const uint32_t bank = units[i] % banks;
        if (!(seen >> bank & 1)) first[bank] = units[i];
        seen |= 1u << bank;
        conflict |= first[bank] != units[i];
    }
    if (!conflict) return 1;
    std::vector<uint32_t> sorted(units, units + count);
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    int loads[32] = {};
    for (uint32_t unit : sorted) ++loads[unit % banks];
    return *std::max_element(loads, loads + banks);
}

// Plain accesses are no collectives, as some lanes may leave them out. The n-th access of each lane at a line since the last
// collective belongs together.
struct Access {
    Kind kind;
    int line;
    uint32_t occurrence;
    int count;
    uint32_t words[WARP];
};
static std::vector<Access> accesses;
static size_t cursor;   // where a lane's next access belongs if it does as the lane before did
static uint64_t stamp;  // of the running lane's stay

static void leave() {
    ++stamp;
    cursor = 0;
}

static void note(Kind kind, int line, const void* address) {
    check_shared(address, 4, names[kind], line);
    Counter& own = counter(kind, line);
    own.occurrence = own.stamp == stamp ? own.occurrence + 1 : 0;
    own.stamp = stamp;
    const auto belongs = [&](const Access& access) {
        return access.kind == kind && access.line == line && access.occurrence == own.occurrence;
    };
    if (cursor >= accesses.size() || !belongs(accesses[cursor])) {
        cursor = size_t(std::find_if(accesses.begin(), accesses.end(), belongs) - accesses.begin());
        if (cursor == accesses.size()) accesses.push_back({kind, line, own.occurrence, 0, {}});
    }
    Access& access = accesses[cursor++];
    access.words[access.count++] = uint32_t((static_cast<const unsigned char*>(address) - shared) / 4);
}

static void count_accesses() {
    for (const Access& access : accesses) {
        Counter& sum = counter(access.kind, access.line);
        ++sum.calls;
        sum.extra += wavefronts(access.words, access.count, 32) - 1;
    }
    accesses.clear();
}

// A row for each line and kind of access of the last launch: line, kind, calls (of a warp), wavefronts beyond the fewest.
[[maybe_unused]] static const char* report() {
    static std::string text;
    text.clear();
    for (size_t place = 0; place < counters.size(); ++place)
        if (const Counter& sum = counters[place]; sum.calls)
            text += std::to_string(place / KINDS) + " " + names[place % KINDS] + " " + std::to_string(sum.calls) + " " +
                    std::to_string(sum.extra) + "\n";
    return text.c_str();
}

// ------------------------------------------------------------------------------------------ scheduling

// Inlined, so that processors foretell both the jump and the return of the function around it: all lanes of a warp come from
// the same place. That function must be `noipa`: the compiler may conclude nothing from what it does.
static inline __attribute__((always_inline)) void jump(Lane& from, Lane& to) {
    running = &to;
#ifdef EMULATOR_UCONTEXT
    swapcontext(&from.context, &to.context);
#else
    void** place = &from.stack_pointer;
    void* pointer = to.stack_pointer;
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\t"  // the red zone
        "pushq %%rbp\n\t"
        "leaq 1f(%%rip), %%rax\n\t"
        "pushq %%rax\n\t"
        "movq %%rsp, (%%rdi)\n\t"
        "movq %%rsi, %%rsp\n\t"
        "popq %%rax\n\t"
        "jmpq *%%rax\n"
        "1:\n\t"
        "popq %%rbp\n\t"
        "leaq 128(%%rsp), %%rsp\n\t"
        : "+D"(place), "+S"(pointer)
        :
        : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3",
          "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#endif
}

static uint64_t draw(uint64_t below) {  // splitmix64
    uint64_t z = (chance += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % below;
}

static Warp& choose(Warp& warp) {
    const auto ready = [](const Warp& other) { return !other.blocked && other.ended < WARP; };
    const int count = int(std::count_if(warps.begin(), warps.end(), ready));
    if (!count) fail_blocked();
    int skipped = seed ? int(draw(count)) : 0;
    size_t place = size_t(number(warp));
    for (;; place = (place + 1) % warps.size())
        if (ready(warps[place]) && skipped-- == 0) return warps[place];
}

__attribute__((noinline, noipa)) static void collect(Kind kind, int line, void (*complete)(Warp&)) {
    Lane& lane = *running;
    Warp& warp = *lane.warp;
    leave();
    if (warp.arrived == 0) {
        warp.kind = kind;
        warp.line = line;
    } else if (warp.kind != kind || warp.line != line) {
        fail("lanes of warp %d part: %d wait at line %d (%s), lane %d is at line %d (%s)", number(warp), warp.arrived,
             warp.line, names[warp.kind], int(lane.index.x % WARP), line, names[kind]);
    }
    // Lanes hand over in a ring, so the next one has not arrived yet unless all have.
    if (++warp.arrived + warp.ended < WARP) {
        jump(lane, *lane.next);
        return;
    }
    if (warp.ended) fail_incomplete(warp);
    warp.arrived = 0;
    if (!accesses.empty()) count_accesses();
    if (complete) complete(warp);
}

__attribute__((noinline, noipa)) static void arrive_at_barrier(Warp& warp) {
    const int id = warp.operands[0].barrier, threads = warp.operands[0].threads;
    for (const Operand& other : warp.operands)
        if (other.barrier != id || other.threads != threads)
            fail("line %d: lanes of warp %d differ in the barrier or its threads", warp.line, number(warp));
    if (id < 0 || id >= 16) fail("line %d: barrier %d, not 0 to 15", warp.line, id);
    if (threads <= 0 || threads % WARP || threads > int(blockDim.x))
        fail("line %d: a barrier of %d threads, in a block of %u", warp.line, threads, blockDim.x);
    Barrier& barrier = barriers[id];
    if (barrier.arrived && barrier.threads != threads)
        fail("line %d: barrier %d of %d threads, others wait in it with %d", warp.line, id, threads, barrier.threads);
    barrier.threads = threads;
    barrier.arrived += WARP;
    if (barrier.arrived == threads) {
        barrier.arrived = 0;
        for (Warp& other : warps)
            if (other.blocked && other.operands[0].barrier == id) other.blocked = false;
    } else {
        warp.blocked = true;
    }
    warp.resume = running;
    Warp& next = choose(warp);
    if (&next != &warp) jump(*running, *next.resume);
}

__attribute__((noinline, noipa)) static void finish() {
    Lane& lane = *running;
    Warp& warp = *lane.warp;
    leave();
    ++warp.ended;
    if (warp.ended == WARP) {
        count_accesses();
        const bool last = std::all_of(warps.begin(), warps.end(), [](const Warp& other) { return other.ended == WARP; });
        jump(lane, last ? outside : *choose(warp).resume);
    } else {
        if (warp.arrived + warp.ended == WARP) fail_incomplete(warp);
        jump(lane, *lane.next);
    }
    abort();  // nobody comes back to a lane that has ended
}

static void begin() {
    call(arguments_of_call);
    finish();
}

__attribute__((noinline, noipa)) static void enter(Lane& first) { jump(outside, first); }

static unsigned char* reserve(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("no memory: %zu bytes", bytes);
    return static_cast<unsigned char*>(memory);
}

static size_t aligned_bytes() { return (shared_bytes + 127) / 128 * 128; }

// Shared memory ends at memory that cannot be touched, so that plain accesses beyond it end the process.
static void prepare_shared(int bytes) {
    constexpr size_t room = (MOST_SHARED / GUARD + 1) * GUARD;
    static unsigned char* memory = nullptr;
    if (!memory) {
        memory = reserve(room + GUARD);
        mprotect(memory + room, GUARD, PROT_NONE);
    }
    if (bytes < 0 || bytes > MOST_SHARED) fail("shared memory of %d bytes, a block may have %d", bytes, MOST_SHARED);
    shared_bytes = size_t(bytes);
    shared = memory + room - aligned_bytes();
}

// Stacks end at memory that cannot be touched either. Their beginnings are spread, as the caches of processors would have
// to keep the same few places for all of them.
static void prepare_lane(int thread) {
    static unsigned char* stacks = nullptr;
    if (!stacks) {
        stacks = reserve(MOST_THREADS * STACK);
        for (int i = 0; i < MOST_THREADS; ++i) mprotect(stacks + i * STACK, GUARD, PROT_NONE);
    }
    Lane& lane = lanes[thread];
    lane.warp = &warps[thread / WARP];
    lane.operand = &lane.warp->operands[thread % WARP];
    lane.index = {unsigned(thread), 0, 0};
    lane.copies.clear();
    lane.committed = 0;
    unsigned char* top = stacks + (thread + 1) * STACK - (thread % WARP) * 1088 - 64;
#ifdef EMULATOR_UCONTEXT
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = stacks + thread * STACK + GUARD;
    lane.context.uc_stack.ss_size = size_t(top - (stacks + thread * STACK + GUARD));
    makecontext(&lane.context, begin, 0);
#else
    void** words = reinterpret_cast<void**>(top);  // as after a call of `begin` from nowhere
    words[0] = reinterpret_cast<void*>(&begin);
    words[1] = nullptr;
    lane.stack_pointer = words;
#endif
}

static void run_block(int threads) {
    memset(shared, POISON, aligned_bytes());
    std::fill(std::begin(barriers), std::end(barriers), Barrier{});
    for (int thread = 0; thread < threads; ++thread) prepare_lane(thread);
    for (size_t w = 0; w < warps.size(); ++w) {
        int order[WARP];
        for (int i = 0; i < WARP; ++i) order[i] = i;
        if (seed)
            for (int i = WARP - 1; i > 0; --i) std::swap(order[i], order[draw(i + 1)]);
        Lane* own = &lanes[w * WARP];
        for (int i = 0; i < WARP; ++i) own[order[i]].next = &own[order[(i + 1) % WARP]];
        warps[w].resume = &own[order[0]];
        warps[w].arrived = warps[w].ended = 0;
        warps[w].blocked = false;
    }
    enter(*choose(warps[0]).resume);
}

static void run(void (*function)(void*), void* argument, int grid_x, int grid_y, int threads, int bytes) {
    blockIdx = {0, 0, 0};
    blockDim = {unsigned(threads), 1, 1};
    gridDim = {unsigned(grid_x), unsigned(grid_y), 1};
    if (threads <= 0 || threads > MOST_THREADS || threads % WARP)
        fail("a block of %d threads: expected a multiple of %d up to %d", threads, WARP, MOST_THREADS);
    prepare_shared(bytes);
    call = function;
    arguments_of_call = argument;
    chance = seed;
    counters.clear();
    lanes.resize(threads);
    warps.resize(threads / WARP);
    for (unsigned y = 0; y < gridDim.y; ++y)
        for (unsigned x = 0; x < gridDim.x; ++x) {
            blockIdx = {x, y, 0};
            run_block(threads);
        }
}

template <class Arguments>
void launch(void (*kernel)(Arguments), Arguments arguments, int grid_x, int grid_y, int threads, int shared_bytes) {
    std::pair<void (*)(Arguments), Arguments*> both{kernel, &arguments};
    const auto function = [](void* given) {
        const auto& [kernel, arguments] = *static_cast<decltype(both)*>(given);
        kernel(*arguments);
    };
    run(function, &both, grid_x, grid_y, threads, shared_bytes);
}

// ----------------------------------------------------------------------------------------- collectives

template <Kind KIND, int MATRICES, bool TRANSPOSED>
static void complete_ldmatrix(Warp& warp) {
    Counter& sum = counter(KIND, warp.line);
    ++sum.calls;
    for (int m = 0; m < MATRICES; ++m) {
        uint16_t matrix[8][8];
        uint32_t units[8];
        for (int i = 0; i < 8; ++i) {
            const void* row = warp.operands[8 * m + i].row;
            check_shared(row, 16, names[KIND], warp.line);
            memcpy(matrix[i], row, 16);
            units[i] = uint32_t((static_cast<const unsigned char*>(row) - shared) / 16);
        }
        sum.extra += wavefronts(units, 8, 8) - 1;
        for (int t = 0; t < WARP; ++t) {
            const int i = t / 4, j = 2 * (t % 4);
            const uint32_t low = TRANSPOSED ? matrix[j][i] : matrix[i][j];
            const uint32_t high = TRANSPOSED ? matrix[j + 1][i] : matrix[i][j + 1];
            warp.operands[t].result[m] = low | high << 16;
        }
    }
}

template <Kind KIND, int MATRICES, bool TRANSPOSED>
static inline __attribute__((always_inline)) void ldmatrix(uint32_t* result, const void* row, int line) {
    running->operand->row = row;
    running->operand->result = result;
    collect(KIND, line, complete_ldmatrix<KIND, MATRICES, TRANSPOSED>);
}

static void complete_stmatrix(Warp& warp) {
    Counter& sum = counter(STMATRIX4, warp.line);
    ++sum.calls;
    for (int m = 0; m < 4; ++m) {
        uint32_t units[8];
        for (int i = 0; i < 8; ++i) {
            void* row = const_cast<void*>(warp.operands[8 * m + i].row);
            check_shared(row, 16, names[STMATRIX4], warp.line);
            for (int t = 0; t < 4; ++t) memcpy(static_cast<uint32_t*>(row) + t, warp.operands[4 * i + t].a + m, 4);
            units[i] = uint32_t((static_cast<const unsigned char*>(row) - shared) / 16);
        }
        sum.extra += wavefronts(units, 8, 8) - 1;
    }
}

static inline float widened(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

// The layouts are those of "Matrix Fragments for mma.m16n8k16 with floating point type" in the PTX manual.
static void complete_mma(Warp& warp) {
    typedef float Row __attribute__((vector_size(16)));  // half a row of b or c
    float a[16][16];
    alignas(16) float b[16][8], c[16][8];
    for (int t = 0; t < WARP; ++t) {
        const Operand& lane = warp.operands[t];
        const int g = t / 4, p = 2 * (t % 4);
        for (int i = 0; i < 4; ++i) {
            const int row = g + 8 * (i % 2), column = p + 8 * (i / 2);
            a[row][column] = widened(lane.a[i] << 16);
            a[row][column + 1] = widened(lane.a[i] & 0xFFFF0000u);
        }
        b[p][g] = widened(lane.b0 << 16);
        b[p + 1][g] = widened(lane.b0 & 0xFFFF0000u);
        b[p + 8][g] = widened(lane.b1 << 16);
        b[p + 9][g] = widened(lane.b1 & 0xFFFF0000u);
        memcpy(&c[g][p], lane.c, 8);
        memcpy(&c[g + 8][p], lane.c + 2, 8);
    }
    for (int i = 0; i < 16; i += 2) {
        Row sums[4];
        memcpy(sums, c[i], 64);
        for (int k = 0; k < 16; ++k) {
            Row left, right;
            memcpy(&left, &b[k][0], 16);
            memcpy(&right, &b[k][4], 16);
            sums[0] += a[i][k] * left;
            sums[1] += a[i][k] * right;
            sums[2] += a[i + 1][k] * left;
            sums[3] += a[i + 1][k] * right;
        }
        memcpy(c[i], sums, 64);
    }
    for (int t = 0; t < WARP; ++t) {
        const int g = t / 4, p = 2 * (t % 4);
        memcpy(warp.operands[t].c, &c[g][p], 8);
        memcpy(warp.operands[t].c + 2, &c[g + 8][p], 8);
    }
}

static void complete_shuffle(Warp& warp) {
    for (Operand& lane : warp.operands) *lane.result = warp.operands[lane.source].value;
}

template <class Value>
static Value shuffle(unsigned mask, Value value, int source, int line) {
    static_assert(sizeof(Value) == 4);
    if (mask != 0xFFFFFFFFu) fail("line %d: a shuffle with mask %x: only whole warps are emulated", line, mask);
    uint32_t result;
    Operand& own = *running->operand;
    memcpy(&own.value, &value, 4);
    own.source = source % WARP;
    own.result = &result;
    collect(SHUFFLE, line, complete_shuffle);
    memcpy(&value, &result, 4);
    return value;
}

static inline uint32_t rounded(float value) {  // to bfloat16, to nearest, ties to even
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (value != value) return 0x7FFF;  // cvt.rn.bf16x2 has one NaN
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

}  // namespace emulator

// ------------------------------------------------------------------------------- what kernels are given
//
// `line` is the caller's, by the default.

static inline void ldmatrix4(uint32_t (&r)[4], const void* row, int line = __builtin_LINE()) {
    emulator::ldmatrix<emulator::LDMATRIX4, 4, false>(r, row, line);
}
static inline void ldmatrix4t(uint32_t (&r)[4], const void* row, int line = __builtin_LINE()) {
    emulator::ldmatrix<emulator::LDMATRIX4T, 4, true>(r, row, line);
}
static inline void ldmatrix2(uint32_t (&r)[2], const void* row, int line = __builtin_LINE()) {
    emulator::ldmatrix<emulator::LDMATRIX2, 2, false>(r, row, line);
}
static inline void ldmatrix2t(uint32_t (&r)[2], const void* row, int line = __builtin_LINE()) {
    emulator::ldmatrix<emulator::LDMATRIX2T, 2, true>(r, row, line);
}

static inline void stmatrix4(const uint32_t (&r)[4], void* row, int line = __builtin_LINE()) {
    emulator::running->operand->row = row;
    emulator::running->operand->a = r;
    emulator::collect(emulator::STMATRIX4, line, emulator::complete_stmatrix);
}

// c += a b; sums are rounded to float at every k, in order. A GPU sums in another order.
static inline void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, int line = __builtin_LINE()) {
    emulator::Operand& own = *emulator::running->operand;
    own.c = c;
    own.a = a;
    own.b0 = b0;
    own.b1 = b1;
    emulator::collect(emulator::MMA, line, emulator::complete_mma);
}

static inline void barrier(int id, int threads, int line = __builtin_LINE()) {
    emulator::running->operand->barrier = id;
    emulator::running->operand->threads = threads;
    emulator::collect(emulator::BARRIER, line, emulator::arrive_at_barrier);
}
static inline void __syncthreads(int line = __builtin_LINE()) { barrier(0, int(blockDim.x), line); }
static inline void __syncwarp(unsigned mask = 0xFFFFFFFFu, int line = __builtin_LINE()) {
    if (mask != 0xFFFFFFFFu) emulator::fail("line %d: __syncwarp with mask %x: only whole warps are emulated", line, mask);
    emulator::collect(emulator::SYNCWARP, line, nullptr);
}

template <class Value>
static inline Value __shfl_xor_sync(unsigned mask, Value value, int lane_mask, int line = __builtin_LINE()) {
    return emulator::shuffle(mask, value, int(threadIdx.x % emulator::WARP) ^ (lane_mask & 31), line);
}
template <class Value>
static inline Value __shfl_sync(unsigned mask, Value value, int source, int line = __builtin_LINE()) {
    return emulator::shuffle(mask, value, source & 31, line);
}

// The 16 bytes hold NaN from here until the thread waits, as neither what was there nor what comes may be relied upon.
static inline void copy16(void* shared, const void* global, int line = __builtin_LINE()) {
    emulator::check_shared(shared, 16, "copy16", line);
    if (uintptr_t(global) % 16) emulator::fail("line %d: copy16 from %p, which is no multiple of 16", line, global);
    memset(shared, emulator::POISON, 16);
    emulator::running->copies.push_back({shared, global, emulator::running->committed});
}
static inline void commit() { ++emulator::running->committed; }
template <int N>
static inline void wait() {
    auto& copies = emulator::running->copies;
    const int before = emulator::running->committed - N;
    auto copy = copies.begin();
    for (; copy != copies.end() && copy->group < before; ++copy) memcpy(copy->target, copy->source, 16);
    copies.erase(copies.begin(), copy);
}

static inline uint32_t shared_load(const void* address, int line = __builtin_LINE()) {
    emulator::note(emulator::LOAD, line, address);
    uint32_t value;
    memcpy(&value, address, 4);
    return value;
}
static inline void shared_store(void* address, uint32_t value, int line = __builtin_LINE()) {
    emulator::note(emulator::STORE, line, address);
    memcpy(address, &value, 4);
}

static inline uint32_t pack(float low, float high) { return emulator::rounded(low) | emulator::rounded(high) << 16; }

static inline uint32_t __float_as_uint(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}
static inline float __uint_as_float(uint32_t bits) { return emulator::widened(bits); }
template <class Value>
static inline Value __ldg(const Value* address) {
    return *address;
}

// glibc declares __expf and __logf for itself, so they cannot be functions of ours. fmaxf, fabsf and the like are its own.
#define __expf(value) expf(value)
#define __logf(value) logf(value)
static inline float rsqrtf(float value) { return 1.0f / sqrtf(value); }

template <class A, class B>
static inline std::common_type_t<A, B> min(A a, B b) {
    using Both = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point_v<Both>) return fmin(Both(a), Both(b));
    else return Both(b) < Both(a) ? Both(b) : Both(a);
}
template <class A, class B>
static inline std::common_type_t<A, B> max(A a, B b) {
    using Both = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point_v<Both>) return fmax(Both(a), Both(b));
    else return Both(a) < Both(b) ? Both(b) : Both(a);
}
