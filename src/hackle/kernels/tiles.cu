// Two layers at a time between images of 64x64 and maps of 16x16, for stacks of models: a block keeps the 32x32 map between
// them in shared memory, where every tap finds it, and multiplies shifted views of it by mma.sync. `hackle.kernels.tiles` says
// what each kernel computes and launches it.
//
// Maps have 32 channels, images FEW (1 or 3), all in bfloat16, channels last; sums are in float32. The three maps are called
// image (64x64), big (32x32) and small (16x16). Weights are [tap][channel of the larger side][channel of the smaller side].
//
// Two groups of warps share a block's weights and work on an image each, so that one computes while the other waits for memory.

#ifndef FEW
#define FEW 1
#endif
#ifndef IMAGES
#define IMAGES 4  // images of one part of a weight's gradient
#endif
#ifndef FORWARD_WARPS
#define FORWARD_WARPS 8  // warps of a group in the forward kernels, 4 or 8
#endif
#ifndef RELU
#define RELU 0  // whether the slope between the two layers is zero
#endif

#ifdef HACKLE_EMULATED
#include "emulator.hpp"
typedef unsigned char* Base;
#define LOAD(type, name)                                   \
  static inline type name(Base base, int at) {             \
    type value;                                            \
    __builtin_memcpy(&value, base + at, sizeof(value));    \
    return value;                                          \
  }
#define STORE(type, name) \
  static inline void name(Base base, int at, type value) { __builtin_memcpy(base + at, &value, sizeof(value)); }
LOAD(unsigned short, load16)
LOAD(uint32_t, load32)
LOAD(uint4, load128)
STORE(unsigned short, store16)
STORE(uint32_t, store32)
STORE(uint4, store128)
STORE(float, store_float)
LOAD(float, load_float)
static inline void matrices(uint32_t (&r)[4], Base base, int at) { ldmatrix4(r, base + at); }
static inline void turned_matrices(uint32_t (&r)[4], Base base, int at) { ldmatrix4t(r, base + at); }
static inline void put_matrices(const uint32_t (&r)[4], Base base, int at) { stmatrix4(r, base + at); }
static inline void copy(Base base, int at, const void* from) { copy16(base + at, from); }
static inline void anew(int&) {}
static inline void expect(const void*, int) {}
static inline uint32_t pack_relu(float low, float high) { return pack(low < 0 ? 0 : low, high < 0 ? 0 : high); }
#define BASE(name) \
  SHARED(memory);  \
  Base name = memory
#else
typedef unsigned int uint32_t;
typedef uint32_t Base;
#define BASE(name)                                                   \
  extern __shared__ __align__(128) unsigned char memory[];           \
  Base name = static_cast<uint32_t>(__cvta_generic_to_shared(memory))

__device__ __forceinline__ unsigned short load16(Base base, int at) {
  unsigned short value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(base + at) : "memory");
  return value;
}
__device__ __forceinline__ uint32_t load32(Base base, int at) {
  uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(base + at) : "memory");
  return value;
}
__device__ __forceinline__ uint4 load128(Base base, int at) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(base + at) : "memory");
  return v;
}
__device__ __forceinline__ void store16(Base base, int at, unsigned short value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(base + at), "h"(value) : "memory");
}
__device__ __forceinline__ void store32(Base base, int at, uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(base + at), "r"(value) : "memory");
}
__device__ __forceinline__ void store128(Base base, int at, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(base + at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ float load_float(Base base, int at) { return __uint_as_float(load32(base, at)); }
__device__ __forceinline__ void store_float(Base base, int at, float value) { store32(base, at, __float_as_uint(value)); }
__device__ __forceinline__ void matrices(uint32_t (&r)[4], Base base, int at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(base + at) : "memory");
}
__device__ __forceinline__ void turned_matrices(uint32_t (&r)[4], Base base, int at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(base + at) : "memory");
}
__device__ __forceinline__ void put_matrices(const uint32_t (&r)[4], Base base, int at) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(base + at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
__device__ __forceinline__ void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void copy(Base base, int at, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(base + at), "l"(from) : "memory");
}
// Memory that is needed soon, 16 bytes at least, into the second cache.
__device__ __forceinline__ void expect(const void* from, int bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ uint32_t pack(float low, float high) {
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
__device__ __forceinline__ void anew(int& value) { asm volatile("" : "+r"(value)); }
__device__ __forceinline__ uint32_t pack_relu(float low, float high) {
  uint32_t both;
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
#endif

typedef unsigned short bf16;  // its bits

constexpr int CHANNELS = 32;
constexpr int SMALL = 16, BIG = 32, SIDE = 64;
constexpr int BIG_ROW = BIG * 64, BIG_BYTES = BIG * BIG_ROW, SMALL_BYTES = SMALL * SMALL * 64;
constexpr int TAPS = 16 * FEW;  // taps and channels of the layer beside the images
// An image in shared memory has a border of zeros. One more reason for its width: rows that a warp reads together begin in
// different banks.
constexpr int WORDS = FEW == 1 ? 41 : 33 * FEW, IMAGE_ROW = 4 * WORDS;
constexpr int IMAGE_BYTES = (66 * IMAGE_ROW + 127) / 128 * 128;
constexpr int SPARE_BYTES = IMAGE_BYTES > SMALL_BYTES ? IMAGE_BYTES : SMALL_BYTES;

// What a block keeps beside its groups' maps.
constexpr int ZEROS = 0, BIASES = 128, WIDE = 384, FINE = WIDE + 16 * CHANNELS * 64, GROUPS = FINE + TAPS * 64;

constexpr bool APART = FEW == 1;  // whether a small map has room beside an image
constexpr int FORWARD_GROUP = BIG_BYTES + IMAGE_BYTES;
constexpr int UP_GROUP = BIG_BYTES + SPARE_BYTES;
constexpr int SUMS_AT = BIG_BYTES + (APART ? IMAGE_BYTES + SMALL_BYTES : SPARE_BYTES);
constexpr int BACK_GROUP = SUMS_AT + TAPS * CHANNELS * 4;
constexpr int SHARED_BYTES = 227 * 1024;
static_assert(GROUPS + 2 * FORWARD_GROUP <= SHARED_BYTES && GROUPS + 2 * UP_GROUP <= SHARED_BYTES);
static_assert(GROUPS + 2 * BACK_GROUP <= SHARED_BYTES);

// Where 8 channels of a position lie: positions are 64 bytes, two of them a line of all banks. Views of every second position
// of the big map and of successive rows of anything else meet each bank once.
__device__ __forceinline__ int in_big(int y, int x, int chunk) {
  const int line = x >> 1;
  return y * BIG_ROW + line * 128 + (((((x & 1) << 2) | chunk) ^ (line & 7)) << 4);
}
__device__ __forceinline__ int in_rows(int row, int chunk) {
  const int line = row >> 1;
  return line * 128 + (((((row & 1) << 2) | chunk) ^ (line & 3)) << 4);
}
// The same place of a bank in the zeros, for positions outside a map.
__device__ __forceinline__ int or_zeros(bool inside, int map, int at) { return inside ? map + at : ZEROS + (at & 127); }

__device__ __forceinline__ float low(uint32_t both) {
  const uint32_t bits = both << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
__device__ __forceinline__ float high(uint32_t both) {
  const uint32_t bits = both & 0xFFFF0000u;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
__device__ __forceinline__ float leaky(float value, float slope) { return value > 0 ? value : value * slope; }
__device__ __forceinline__ float gated(float value, float gate, float slope) { return gate > 0 ? value : value * slope; }
// The same for the two halves of what lies between the layers: of a ReLU's output only zeros are not above zero.
__device__ __forceinline__ uint32_t pack_leaky(float first, float second, float slope) {
  return RELU ? pack_relu(first, second) : pack(leaky(first, slope), leaky(second, slope));
}
template <bool ZERO>
__device__ __forceinline__ void gate_both(float& first, float& second, uint32_t gates, float slope) {
  if (ZERO) {
    if (!(gates & 0x7FFF)) first = 0;
    if (!(gates & 0x7FFF0000)) second = 0;
  } else {
    first = gated(first, low(gates), slope);
    second = gated(second, high(gates), slope);
  }
}

// A thread's place: in its group, in its warp, and in the fragments of mma.
template <int WARPS>
struct Place {
  int lane, warp, group, thread, row, pair;
  __device__ __forceinline__ Place() {
    lane = threadIdx.x & 31;
    warp = (threadIdx.x >> 5) % WARPS;
    group = threadIdx.x / (32 * WARPS);
    thread = threadIdx.x % (32 * WARPS);
    row = lane >> 2;
    pair = lane & 3;
  }
  // The same, of which the compiler does not know it: what a layer computes of it lives no longer than the layer, rather than all
  // layers' places through the loop over images, for which there are no registers.
  __device__ __forceinline__ Place again() const {
    Place me = *this;
    anew(me.lane), anew(me.warp), anew(me.row), anew(me.pair);
    return me;
  }
  __device__ __forceinline__ void meet() const { barrier(1 + group, 32 * WARPS); }
};

// Weights and biases, `count` of the second, into shared memory, by all threads of the block.
__device__ __forceinline__ void load_parameters(Base base, int threads, const bf16* fine, const bf16* wide, const float* first,
                                                const float* second, int count) {
  for (int i = threadIdx.x; i < 16 * CHANNELS * 4; i += threads) copy(base, WIDE + in_rows(i >> 2, i & 3), wide + 8 * i);
  for (int i = threadIdx.x; i < TAPS * 4; i += threads) copy(base, FINE + in_rows(i >> 2, i & 3), fine + 8 * i);
  commit();
  if (threadIdx.x < 32) {
    store32(base, ZEROS + 4 * threadIdx.x, 0);
    if (first) store_float(base, BIASES + 4 * threadIdx.x, first[threadIdx.x]);
    if (threadIdx.x < count) store_float(base, BIASES + 128 + 4 * threadIdx.x, second[threadIdx.x]);
  }
  wait<0>();
  __syncthreads();
}

// An image's 512 pieces of 8 pixels, in registers on their way to shared memory.
template <int WARPS>
struct Pieces {
  static constexpr int COUNT = 512 / (32 * WARPS);
  uint4 words[COUNT][FEW];

  __device__ __forceinline__ void fetch(const Place<WARPS>& me, const bf16* image) {
#pragma unroll
    for (int n = 0; n < COUNT; n++)
#pragma unroll
      for (int c = 0; c < FEW; c++)
        words[n][c] = reinterpret_cast<const uint4*>(image)[(n * 32 * WARPS + me.thread) * FEW + c];
  }

  // Behind a pixel of border: so the first of a piece's numbers is the second half of a word.
  __device__ __forceinline__ void place(const Place<WARPS>& me, Base base, int image) const {
    for (int i = me.thread; i < 2 * WORDS; i += 32 * WARPS)
      store32(base, image + (i < WORDS ? 4 * i : 65 * IMAGE_ROW + 4 * (i - WORDS)), 0);
    for (int i = me.thread; i < SIDE * FEW; i += 32 * WARPS) {
      const int row = image + (i / FEW + 1) * IMAGE_ROW;
      store16(base, row + 2 * (i % FEW), 0);
      store16(base, row + 2 * (65 * FEW + i % FEW), 0);
    }
#pragma unroll
    for (int n = 0; n < COUNT; n++) {
      const int piece = n * 32 * WARPS + me.thread;
      const int at = image + (piece / 8 + 1) * IMAGE_ROW + 2 * ((piece % 8 * 8 + 1) * FEW);
      uint32_t w[4 * FEW];
#pragma unroll
      for (int c = 0; c < FEW; c++) {
        w[4 * c] = words[n][c].x;
        w[4 * c + 1] = words[n][c].y;
        w[4 * c + 2] = words[n][c].z;
        w[4 * c + 3] = words[n][c].w;
      }
      store16(base, at, static_cast<bf16>(w[0] & 0xFFFF));
#pragma unroll
      for (int i = 0; i < 4 * FEW - 1; i++) store32(base, at + 2 + 4 * i, (w[i] >> 16) | (w[i + 1] << 16));
      store16(base, at + 16 * FEW - 2, static_cast<bf16>(w[4 * FEW - 1] >> 16));
    }
  }

  __device__ __forceinline__ void take(const Place<WARPS>& me, Base base, int image) {
#pragma unroll
    for (int n = 0; n < COUNT; n++) {
      const int piece = n * 32 * WARPS + me.thread;
      const int at = image + (piece / 8 + 1) * IMAGE_ROW + 2 * ((piece % 8 * 8 + 1) * FEW) - 2;
      uint32_t w[4 * FEW + 1];
#pragma unroll
      for (int i = 0; i <= 4 * FEW; i++) w[i] = load32(base, at + 4 * i);
#pragma unroll
      for (int i = 0; i < 4 * FEW; i++) w[i] = (w[i] >> 16) | (w[i + 1] << 16);
#pragma unroll
      for (int c = 0; c < FEW; c++) words[n][c] = make_uint4(w[4 * c], w[4 * c + 1], w[4 * c + 2], w[4 * c + 3]);
    }
  }
  __device__ __forceinline__ void send(const Place<WARPS>& me, bf16* image) const {
#pragma unroll
    for (int n = 0; n < COUNT; n++)
#pragma unroll
      for (int c = 0; c < FEW; c++)
        reinterpret_cast<uint4*>(image)[(n * 32 * WARPS + me.thread) * FEW + c] = words[n][c];
  }

  // Each channel's sum over this thread's pixels.
  __device__ __forceinline__ void add_to(float (&sums)[FEW]) const {
#pragma unroll
    for (int n = 0; n < COUNT; n++)
#pragma unroll
      for (int i = 0; i < 4 * FEW; i++) {
        const uint4 four = words[n][i / 4];
        const uint32_t word = i % 4 == 0 ? four.x : i % 4 == 1 ? four.y : i % 4 == 2 ? four.z : four.w;
        sums[2 * i % FEW] += low(word);
        sums[(2 * i + 1) % FEW] += high(word);
      }
  }
};

template <int WARPS>
__device__ __forceinline__ void fetch_big(const Place<WARPS>& me, Base base, int big, const bf16* map) {
#pragma unroll 4
  for (int i = me.thread; i < BIG * BIG * 4; i += 32 * WARPS)
    copy(base, big + in_big(i / 4 / BIG, i / 4 % BIG, i & 3), map + 8 * i);
}
template <int WARPS>
__device__ __forceinline__ void fetch_small(const Place<WARPS>& me, Base base, int small, const bf16* map) {
#pragma unroll 4
  for (int i = me.thread; i < SMALL * SMALL * 4; i += 32 * WARPS) copy(base, small + in_rows(i >> 2, i & 3), map + 8 * i);
}

// The second factor of a product: 16 rows of the summed axis, whose 32 columns are 8 to a chunk, from this lane's place in the
// first of them. Chunks j and j + 2 lie 32 bytes apart, on one side or the other.
__device__ __forceinline__ void columns(uint32_t (&b)[4][2], Base base, int map, int at) {
  uint32_t r[4];
  turned_matrices(r, base, map + at);
  b[0][0] = r[0], b[0][1] = r[1], b[1][0] = r[2], b[1][1] = r[3];
  turned_matrices(r, base, map + (at ^ 32));
  b[2][0] = r[0], b[2][1] = r[1], b[3][0] = r[2], b[3][1] = r[3];
}
// Sixteen rows are 1024 bytes; within them the places do not depend on which sixteen they are.
__device__ __forceinline__ int in_sixteen(int lane) { return in_rows(lane & 15, lane >> 4); }

// What sums begin with: zero, or a bias of this thread's 8 channels.
struct Start {
  float of[4][2];
  __device__ __forceinline__ Start() : of{} {}
  __device__ __forceinline__ Start(Base base, int biases, int pair) {
#pragma unroll
    for (int n = 0; n < 4; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) of[n][e] = load_float(base, biases + 4 * (8 * n + 2 * pair + e));
  }
  __device__ __forceinline__ void put(float (&c)[4][4]) const {
#pragma unroll
    for (int n = 0; n < 4; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) c[n][i] = of[n][i & 1];
  }
};

// big[q, o] = start[o] + Σ image[2q − 1 + t, c] fine[t, c, o]; `then(y, x, c)` takes 16 positions from (y, x) on.
template <int WARPS, class Then>
__device__ __forceinline__ void down_few(const Place<WARPS>& of, Base base, int image, const Start& start, Then then) {
  const Place<WARPS> me = of.again();
  uint32_t b[FEW][4][2];
  int at[FEW][2];
#pragma unroll
  for (int s = 0; s < FEW; s++) {
    columns(b[s], base, FINE + 1024 * s, in_sixteen(me.lane));
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int k = 16 * s + 8 * h + 2 * me.pair;
      at[s][h] = k / (4 * FEW) * IMAGE_ROW + 2 * (k % (4 * FEW));
    }
  }
#pragma unroll 2
  for (int tile = me.warp; tile < 2 * BIG; tile += WARPS) {
    const int y = tile >> 1, x = (tile & 1) * 16;
    const int here = image + 2 * y * IMAGE_ROW + 4 * (x + me.row) * FEW;
    float c[4][4];
    start.put(c);
#pragma unroll
    for (int s = 0; s < FEW; s++) {
      const uint32_t a[4] = {load32(base, here + at[s][0]), load32(base, here + at[s][0] + 32 * FEW),
                             load32(base, here + at[s][1]), load32(base, here + at[s][1] + 32 * FEW)};
#pragma unroll
      for (int n = 0; n < 4; n++) mma(c[n], a, b[s][n][0], b[s][n][1]);
    }
    then(y, x, c);
  }
}

// sums[t, c, o] += Σ image[2q − 1 + t, c] big[q, o] over this warp's share of the positions.
template <int WARPS>
__device__ __forceinline__ void taps_few(const Place<WARPS>& of, Base base, int image, int big, float (&sums)[FEW][4][4]) {
  const Place<WARPS> me = of.again();
  int at[FEW][2];
#pragma unroll
  for (int s = 0; s < FEW; s++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int k = 16 * s + 8 * h + me.row;
      at[s][h] = k / (4 * FEW) * IMAGE_ROW + 2 * (k % (4 * FEW));
    }
#pragma unroll 2
  for (int tile = me.warp; tile < 2 * BIG; tile += WARPS) {
    const int y = tile >> 1, x = (tile & 1) * 16;
    uint32_t b[4][2];
    columns(b, base, big + y * BIG_ROW + 64 * x, in_big(0, me.lane & 15, me.lane >> 4));
    const int here = image + 2 * y * IMAGE_ROW + 4 * (x + 2 * me.pair) * FEW;
#pragma unroll
    for (int s = 0; s < FEW; s++) {
      uint32_t a[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int from = here + at[s][i & 1] + (i >> 1) * 32 * FEW;
        a[i] = load16(base, from) | static_cast<uint32_t>(load16(base, from + 4 * FEW)) << 16;
      }
#pragma unroll
      for (int n = 0; n < 4; n++) mma(sums[s][n], a, b[n][0], b[n][1]);
    }
  }
}

// small[p, o] = Σ big[2p − 1 + t, c] wide[t, c, o] for ROWS rows of this warp. A row of the big map that two of them meet, one
// with a tap two further down, is loaded once for both.
template <int WARPS, int ROWS>
__device__ __forceinline__ void down(const Place<WARPS>& of, Base base, int big, float (&c)[ROWS][4][4]) {
  const Place<WARPS> me = of.again();
  const int top = 2 * me.warp * ROWS - 1;
#pragma unroll 1
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int ky = 0; ky < 2; ky++)
#pragma unroll
      for (int kx = 0; kx < 4; kx++) {
        const int x = 2 * (me.lane & 15) - 1 + kx;
        const int from = in_big(0, x, me.lane >> 4) ^ half << 5;
        uint32_t b[2][4][2];
#pragma unroll
        for (int lower = 0; lower < 2; lower++)
          columns(b[lower], base, WIDE + (4 * (ky + 2 * lower) + kx) * 2048 + 1024 * half, in_sixteen(me.lane));
#pragma unroll
        for (int i = 0; i <= ROWS; i++) {
          const int y = top + 2 * i + ky;
          // What the first and the last row and tap of all may be outside of.
          const bool inside = (kx > 0 || x >= 0) && (kx < 3 || x < BIG) && (i + ky > 0 || y >= 0) && (i + ky < ROWS + 1 || y < BIG);
          uint32_t a[4];
          matrices(a, base, or_zeros(inside, big + y * BIG_ROW, from));
#pragma unroll
          for (int n = 0; n < 4; n++) {
            if (i < ROWS) mma(c[i < ROWS ? i : 0][n], a, b[0][n][0], b[0][n][1]);
            if (i > 0) mma(c[i > 0 ? i - 1 : 0][n], a, b[1][n][0], b[1][n][1]);
          }
        }
      }
}

// big[q, c] = start[c] + Σ small[p, o] wide[t, c, o] over the p and t that meet at q. A warp has one of the four phases of q;
// `then(y, x, c)` takes 16 positions, every second one from (y, x) on.
template <int WARPS, class Then>
__device__ __forceinline__ void up(const Place<WARPS>& of, Base base, int small, const Start& start, Then then) {
  const Place<WARPS> me = of.again();
  constexpr int ROWS = 4;
  const int py = me.warp >> 1 & 1, px = me.warp & 1;
  const int weights = in_rows((me.lane & 7) + (me.lane >> 4) * 8, me.lane >> 3 & 1);
#pragma unroll 1
  for (int first = me.warp / 4 * ROWS; first < SMALL; first += WARPS / 4 * ROWS) {
    float c[ROWS][4][4];
#pragma unroll
    for (int i = 0; i < ROWS; i++) start.put(c[i]);
#pragma unroll(WARPS == 4 ? 2 : 1)  // where few warps stand by
    for (int t = 0; t < 4; t++) {
      // A row of the small map is loaded once for the two taps, one above the other, that meet it.
      const int half = t & 1, dx = px - (t >> 1);
      const int x = (me.lane & 15) + dx, from = in_rows(x, me.lane >> 4) ^ half << 5;
      uint32_t b[2][4][2];
#pragma unroll
      for (int lower = 0; lower < 2; lower++) {
        const int tap = (1 - py + 2 * lower) * 4 + 1 + px - 2 * dx;
        uint32_t r[4];
        matrices(r, base, WIDE + 2048 * tap + (weights ^ half << 5));
        b[lower][0][0] = r[0], b[lower][0][1] = r[1], b[lower][1][0] = r[2], b[lower][1][1] = r[3];
        matrices(r, base, WIDE + 2048 * tap + 1024 + (weights ^ half << 5));
        b[lower][2][0] = r[0], b[lower][2][1] = r[1], b[lower][3][0] = r[2], b[lower][3][1] = r[3];
      }
#pragma unroll
      for (int i = 0; i <= ROWS; i++) {
        const int y = first + py - 1 + i;
        const bool inside = x >= 0 && x < SMALL && (i > 0 || y >= 0) && (i < ROWS || y < SMALL);
        uint32_t a[4];
        matrices(a, base, or_zeros(inside, small + 1024 * y, from));
#pragma unroll
        for (int n = 0; n < 4; n++) {
          if (i < ROWS) mma(c[i < ROWS ? i : 0][n], a, b[1][n][0], b[1][n][1]);
          if (i > 0) mma(c[i > 0 ? i - 1 : 0][n], a, b[0][n][0], b[0][n][1]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) then(2 * (first + i) + py, px, c[i]);
  }
}

// sums[t, c, o] += Σ big[2p − 1 + t, c] small[p, o]; of four warps each has four taps, two columns of two rows of the kernel that
// meet the same rows of the big map, in successive rows of the small one: what is loaded of either is used for two.
__device__ __forceinline__ int tap_of(int warp, int which) { return 4 * ((warp >> 1) + (which & 2)) + 2 * (warp & 1) + (which & 1); }
__device__ __forceinline__ void taps(const Place<4>& of, Base base, int big, int small, float (&sums)[4][2][4][4]) {
  const Place<4> me = of.again();
  const int column = (me.lane & 7) + (me.lane >> 4) * 8, chunk = me.lane >> 3 & 1;
  const int ky = me.warp >> 1, kx = 2 * (me.warp & 1);
  uint32_t b[2][4][2] = {};
  if (!ky) columns(b[1], base, small, in_sixteen(me.lane));
#pragma unroll 2
  for (int t = 0; t < SMALL; t++) {
    const int row = t + 1 - ky, y = 2 * row - 1 + ky;
    uint32_t(&own)[4][2] = b[t & 1], (&above)[4][2] = b[~t & 1];
    columns(own, base, 0, or_zeros(row < SMALL, small + 1024 * row, in_sixteen(me.lane)));
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int x = 2 * column - 1 + kx + i;
#pragma unroll
      for (int half = 0; half < 2; half++) {
        uint32_t a[4];
        turned_matrices(a, base, or_zeros(x >= 0 && x < BIG, big + y * BIG_ROW, in_big(0, x, 2 * half + chunk)));
#pragma unroll
        for (int n = 0; n < 4; n++) {
          mma(sums[i][half][n], a, own[n][0], own[n][1]);
          mma(sums[2 + i][half][n], a, above[n][0], above[n][1]);
        }
      }
    }
  }
}

// `then(row, channel, first, second)` for each pair of neighbouring channels that this thread has of 16 positions.
template <class Then>
__device__ __forceinline__ void each_pair(int row, int pair, float (&c)[4][4], Then then) {
#pragma unroll
  for (int n = 0; n < 4; n++)
#pragma unroll
    for (int half = 0; half < 2; half++) then(row + 8 * half, n, 4 * pair, c[n][2 * half], c[n][2 * half + 1]);
}

// 16 positions into a map, from this lane's place: its row's and, of two chunks, its own, as of `matrices`.
__device__ __forceinline__ void put_tile(Base base, int at, float (&c)[4][4], float slope) {
#pragma unroll
  for (int p = 0; p < 2; p++) {
    uint32_t r[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float* own = c[2 * p + (i >> 1)] + 2 * (i & 1);
      r[i] = pack_leaky(own[0], own[1], slope);
    }
    put_matrices(r, base, at ^ p << 5);
  }
}
// Gradients of 16 positions through the leaky ReLU whose outputs lie there, in a register for each pair of channels: in the order of
// `matrices`, first those of chunks 0 and 1. Their sums over positions are added to `sums`.
template <bool ZERO>
__device__ __forceinline__ void gate_tile(Base base, int at, float (&c)[4][4], float slope, float (&sums)[8], uint32_t (&gated)[2][4]) {
#pragma unroll
  for (int p = 0; p < 2; p++) {
    matrices(gated[p], base, at ^ p << 5);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int n = 2 * p + (i >> 1);
      float first = c[n][2 * (i & 1)], second = c[n][2 * (i & 1) + 1];
      gate_both<ZERO>(first, second, gated[p][i], slope);
      sums[2 * n] += first;
      sums[2 * n + 1] += second;
      gated[p][i] = pack(first, second);
    }
  }
}
// In their outputs' place.
__device__ __forceinline__ void gate_in_place(Base base, int at, float (&c)[4][4], float slope, float (&sums)[8]) {
  uint32_t gated[2][4];
  gate_tile<RELU>(base, at, c, slope, sums, gated);
  put_matrices(gated[0], base, at);
  put_matrices(gated[1], base, at ^ 32);
}

// Sums of a thread's 8 channels over the warp, as one row of 32.
__device__ __forceinline__ void write_sums(int row, int pair, float (&sums)[8], float* out) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    float value = sums[i];
    for (int lanes = 4; lanes < 32; lanes <<= 1) value += __shfl_xor_sync(0xFFFFFFFFu, value, lanes);
    if (row == 0) out[i / 2 * 8 + 2 * pair + i % 2] = value;
    sums[i] = 0;
  }
}

// A warp's taps_few into the group's sums, one warp after another so that their order is always the same. The sums lie as a
// warp's registers do, 16 bytes a lane.
__device__ __forceinline__ void add_few(const Place<4>& me, Base base, int at, float (&few)[FEW][4][4]) {
#pragma unroll 1
  for (int turn = 0; turn < 4; turn++) {
    if (turn == me.warp) {
#pragma unroll
      for (int s = 0; s < FEW; s++)
#pragma unroll
        for (int n = 0; n < 4; n++) {
          const int here = at + (4 * s + n) * 512 + 16 * me.lane;
          const uint4 old = load128(base, here);
          const float* c = few[s][n];
          store128(base, here, make_uint4(__float_as_uint(__uint_as_float(old.x) + c[0]), __float_as_uint(__uint_as_float(old.y) + c[1]),
                                          __float_as_uint(__uint_as_float(old.z) + c[2]), __float_as_uint(__uint_as_float(old.w) + c[3])));
        }
    }
    me.meet();
  }
}
__device__ __forceinline__ void clear_few(const Place<4>& me, Base base, int at) {
  for (int i = me.thread; i < TAPS * CHANNELS; i += 128) store_float(base, at + 4 * i, 0);
}
__device__ __forceinline__ void write_few(const Place<4>& me, Base base, int at, float* out) {
  for (int i = me.thread; i < TAPS * CHANNELS; i += 128) {
    const int row = i / CHANNELS, n = i / 8 % 4, lane = row % 8 * 4 + i / 2 % 4;
    out[i] = load_float(base, at + (row / 16 * 4 + n) * 512 + 16 * lane + (row & 8) + 4 * (i & 1));
  }
}
__device__ __forceinline__ void write_taps(const Place<4>& me, float (&sums)[4][2][4][4], float* out) {
#pragma unroll
  for (int which = 0; which < 4; which++)
#pragma unroll
    for (int half = 0; half < 2; half++)
      each_pair(16 * half + me.row, me.pair, sums[which][half], [&](int row, int n, int byte, float first, float second) {
        float2 both;
        both.x = first, both.y = second;
        *reinterpret_cast<float2*>(out + (tap_of(me.warp, which) * CHANNELS + row) * CHANNELS + n * 8 + byte / 2) = both;
      });
}

// The big map from an image: bias and leaky ReLU.
template <int WARPS>
__device__ __forceinline__ void first_layer(const Place<WARPS>& me, Base base, int image, int big, float slope) {
  const Start start(base, BIASES, me.pair);
  down_few(me, base, image, start, [&](int y, int x, float(&c)[4][4]) {
    put_tile(base, big + in_big(y, x + (me.lane & 15), me.lane >> 4), c, slope);
  });
}

struct DownTwo {
  const bf16 *images, *fine, *wide;
  const float *first_bias, *second_bias;
  bf16* out;
  long long fine_stride, wide_stride, first_stride, second_stride;
  int batch;
  float slope, last_slope;
};

// leaky(down(leaky(down(images, fine) + first_bias), wide) + second_bias)
extern "C" __global__ void __launch_bounds__(64 * FORWARD_WARPS, 1) down_two(DownTwo a) {
  BASE(base);
  const Place<FORWARD_WARPS> me;
  const int big = GROUPS + me.group * FORWARD_GROUP, image = big + BIG_BYTES;
  const long long model = blockIdx.y;
  load_parameters(base, 64 * FORWARD_WARPS, a.fine + model * a.fine_stride, a.wide + model * a.wide_stride,
                  a.first_bias + model * a.first_stride, a.second_bias + model * a.second_stride, CHANNELS);
  const bf16* images = a.images + model * a.batch * SIDE * SIDE * FEW;
  const int step = 2 * gridDim.x;
  Pieces<FORWARD_WARPS> pieces;
  int which = blockIdx.x + me.group * gridDim.x;
  if (which < a.batch) pieces.fetch(me, images + static_cast<long long>(which) * SIDE * SIDE * FEW);
  for (; which < a.batch; which += step) {
    pieces.place(me, base, image);
    me.meet();
    first_layer(me, base, image, big, a.slope);
    me.meet();
    if (which + step < a.batch) pieces.fetch(me, images + static_cast<long long>(which + step) * SIDE * SIDE * FEW);
    const Start start(base, BIASES + 128, me.pair);
    constexpr int ROWS = SMALL / FORWARD_WARPS;
    float c[ROWS][4][4];
#pragma unroll
    for (int i = 0; i < ROWS; i++) start.put(c[i]);
    down<FORWARD_WARPS, ROWS>(me, base, big, c);
    bf16* out = a.out + (model * a.batch + which) * SMALL * SMALL * CHANNELS;
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      each_pair(me.row, me.pair, c[i], [&](int column, int n, int byte, float first, float second) {
        const int at = ((me.warp * ROWS + i) * SMALL + column) * CHANNELS + n * 8 + byte / 2;
        *reinterpret_cast<uint32_t*>(out + at) = pack(leaky(first, a.last_slope), leaky(second, a.last_slope));
      });
    // The next image goes where this one was, which all have read; the next map, behind a barrier, where all have now been.
  }
}

// The image that a group does after this one, in its part that ends there or in its next part.
__device__ __forceinline__ int image_after(int which, int end, int part) {
  return which + 1 < end ? which + 1 : (part + 2 * static_cast<int>(gridDim.x)) * IMAGES;
}

struct DownTwoBack {
  const bf16 *images, *fine, *wide, *grad;
  const float* first_bias;
  float *of_fine, *of_wide, *of_bias;
  long long fine_stride, wide_stride, first_stride;
  int batch, parts;
  float slope;
};

// From the gradient in what is added to second_bias: those in fine, wide and first_bias, in parts of IMAGES images. The big map
// is computed again, and so is never stored.
extern "C" __global__ void __launch_bounds__(256, 1) down_two_back(DownTwoBack a) {
  BASE(base);
  const Place<4> me;
  const int big = GROUPS + me.group * BACK_GROUP, image = big + BIG_BYTES;
  const int small = APART ? image + IMAGE_BYTES : image, few_sums = big + SUMS_AT;
  const long long model = blockIdx.y;
  load_parameters(base, 256, a.fine + model * a.fine_stride, a.wide + model * a.wide_stride,
                  a.first_bias + model * a.first_stride, nullptr, 0);
  for (int part = blockIdx.x + me.group * gridDim.x; part < a.parts; part += 2 * gridDim.x) {
    float of_wide[4][2][4][4] = {}, of_bias[8] = {};
    clear_few(me, base, few_sums);
    const int end = min(a.batch, (part + 1) * IMAGES);
#pragma unroll 1
    for (int which = part * IMAGES; which < end; which++) {
      const long long at = model * a.batch + which;
      const bf16* own = a.images + at * SIDE * SIDE * FEW;
      const bf16* grad = a.grad + at * SMALL * SMALL * CHANNELS;
      if (APART) fetch_small(me, base, small, grad), commit();
      {
        Pieces<4> pieces;
        pieces.fetch(me, own);
        pieces.place(me, base, image);
      }
      if (const int next = image_after(which, end, part); me.thread == 0 && next < a.batch) {
        expect(a.images + (model * a.batch + next) * SIDE * SIDE * FEW, SIDE * SIDE * FEW * 2);
        expect(a.grad + (model * a.batch + next) * SMALL * SMALL * CHANNELS, SMALL_BYTES);
      }
      me.meet();
      first_layer(me, base, image, big, a.slope);
      if (!APART) me.meet(), fetch_small(me, base, small, grad), commit();
      wait<0>();
      me.meet();
      taps(me, base, big, small, of_wide);
      me.meet();
      up(me, base, small, Start(), [&](int y, int x, float(&c)[4][4]) {
        gate_in_place(base, big + in_big(y, 2 * (me.lane & 15) + x, me.lane >> 4), c, a.slope, of_bias);
      });
      me.meet();
      if (!APART) {
        Pieces<4> pieces;
        pieces.fetch(me, own);
        pieces.place(me, base, image);
        me.meet();
      }
      float few[FEW][4][4] = {};
      taps_few(me, base, image, big, few);
      add_few(me, base, few_sums, few);
    }
    const long long here = model * a.parts + part;
    write_taps(me, of_wide, a.of_wide + here * 16 * CHANNELS * CHANNELS);
    write_few(me, base, few_sums, a.of_fine + here * TAPS * CHANNELS);
    write_sums(me.row, me.pair, of_bias, a.of_bias + (here * 4 + me.warp) * CHANNELS);
    me.meet();
  }
}

// image[r, c] = Σ big[q, o] fine[t, c, o] over the q and t that meet at r, into an image with a border. The four pixels between
// four positions, of which there are 33 rows of 33 blocks, are all that has these positions as neighbours. A row of the product
// is a column of positions above and below the blocks; its sums are those of the block to the left of them (threads of pairs 0 and
// 1) and of the one to the right (pairs 2 and 3), which the next position's thread adds to its own.
template <int WARPS>
__device__ __forceinline__ void up_few(const Place<WARPS>& of, Base base, int big, int image, float slope) {
  const Place<WARPS> me = of.again();
  const bool right = me.pair & 2;
  uint32_t b[2][2][FEW][2];
  float bias[FEW][2];
#pragma unroll
  for (int n = 0; n < FEW; n++) {
#pragma unroll
    for (int e = 0; e < 2; e++) bias[n][e] = load_float(base, BIASES + 128 + 4 * ((4 * n + 2 * (me.pair & 1) + e) % FEW));
    const int number = 4 * n + (me.row & 3), pixel = number / FEW;
#pragma unroll
    for (int lower = 0; lower < 2; lower++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int ky = 2 * (1 - lower) + (pixel >> 1), kx = 2 * (me.row >> 2) + (pixel & 1);
        const int row = (4 * ky + kx) * FEW + number % FEW;
#pragma unroll
        for (int h = 0; h < 2; h++) b[lower][half][n][h] = load32(base, FINE + in_rows(row, 2 * half + h) + 4 * me.pair);
      }
  }
  const int from = in_big(0, me.lane & 15, me.lane >> 4), left = ((me.row + 7) & 7) * 4 + (me.pair ^ 2);
#pragma unroll 1
  for (int i = me.warp; i <= BIG; i += WARPS) {
    float c[2][FEW][4];
#pragma unroll
    for (int tile = 0; tile < 2; tile++)
#pragma unroll
      for (int n = 0; n < FEW; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) c[tile][n][e] = right ? 0 : bias[n][e & 1];
#pragma unroll
    for (int lower = 0; lower < 2; lower++) {
      const int y = i - 1 + lower;
      if (y < 0 || y >= BIG) continue;
#pragma unroll
      for (int half = 0; half < 2; half++)
#pragma unroll
        for (int tile = 0; tile < 2; tile++) {
          uint32_t a[4];
          matrices(a, base, big + y * BIG_ROW + 1024 * tile + (from ^ half << 5));
#pragma unroll
          for (int n = 0; n < FEW; n++) mma(c[tile][n], a, b[lower][half][n][0], b[lower][half][n][1]);
        }
    }
#pragma unroll
    for (int n = 0; n < FEW; n++) {
      const int number = 4 * n + 2 * (me.pair & 1);
      const int at = image + (2 * i + number / (2 * FEW)) * IMAGE_ROW + 4 * me.row * FEW + 2 * (number % (2 * FEW));
      const auto put = [&](int column, float first, float second) {
        store32(base, at + 4 * column * FEW, pack(leaky(first, slope), leaky(second, slope)));
      };
      float before[2] = {};
#pragma unroll
      for (int tile = 0; tile < 2; tile++) {
        float(&own)[4] = c[tile][n];
        float of_left[4];
#pragma unroll
        for (int e = 0; e < 4; e++) of_left[e] = __shfl_sync(0xFFFFFFFFu, own[e], left);
        const bool first = me.row == 0;
        if (!right) {
          put(16 * tile, own[0] + (first ? before[0] : of_left[0]), own[1] + (first ? before[1] : of_left[1]));
          put(16 * tile + 8, own[2] + (first ? of_left[0] : of_left[2]), own[3] + (first ? of_left[1] : of_left[3]));
        }
        before[0] = of_left[2], before[1] = of_left[3];
      }
      if (!right && me.row == 0) put(BIG, bias[n][0] + before[0], bias[n][1] + before[1]);
    }
  }
}

struct UpTwo {
  const bf16 *small, *wide, *fine;
  const float *first_bias, *second_bias;
  bf16 *big, *images;
  long long wide_stride, fine_stride, first_stride, second_stride;
  int batch;
  float slope, last_slope;
};

// big = leaky(up(small, wide) + first_bias) and images = leaky(up(big, fine) + second_bias)
extern "C" __global__ void __launch_bounds__(64 * FORWARD_WARPS, 1) up_two(UpTwo a) {
  BASE(base);
  const Place<FORWARD_WARPS> me;
  const int big = GROUPS + me.group * UP_GROUP, small = big + BIG_BYTES, image = small;
  const long long model = blockIdx.y;
  load_parameters(base, 64 * FORWARD_WARPS, a.fine + model * a.fine_stride, a.wide + model * a.wide_stride,
                  a.first_bias + model * a.first_stride, a.second_bias + model * a.second_stride, FEW);
  for (int which = blockIdx.x + me.group * gridDim.x; which < a.batch; which += 2 * gridDim.x) {
    const long long at = model * a.batch + which;
    fetch_small(me, base, small, a.small + at * SMALL * SMALL * CHANNELS);
    commit();
    if (const int next = which + 2 * gridDim.x; me.thread == 0 && next < a.batch)
      expect(a.small + (model * a.batch + next) * SMALL * SMALL * CHANNELS, SMALL_BYTES);
    wait<0>();
    me.meet();
    up(me, base, small, Start(base, BIASES, me.pair), [&](int y, int x, float(&c)[4][4]) {
      put_tile(base, big + in_big(y, 2 * (me.lane & 15) + x, me.lane >> 4), c, a.slope);
    });
    me.meet();
    uint4* map = reinterpret_cast<uint4*>(a.big + at * BIG * BIG * CHANNELS);
#pragma unroll 4
    for (int i = me.thread; i < BIG * BIG * 4; i += 32 * FORWARD_WARPS) map[i] = load128(base, big + in_big(i / 4 / BIG, i / 4 % BIG, i & 3));
    up_few(me, base, big, image, a.last_slope);
    me.meet();
    Pieces<FORWARD_WARPS> pieces;
    pieces.take(me, base, image);
    pieces.send(me, a.images + at * SIDE * SIDE * FEW);
    me.meet();
  }
}

struct UpTwoBack {
  const bf16 *grad, *fine, *big, *wide, *small;
  bf16* of_small;
  float *of_fine, *of_wide, *of_last_bias, *of_first_bias, *of_small_bias;
  long long fine_stride, wide_stride;
  int batch, parts;
  float slope, small_slope;
};

// From the gradient in what is added to the images' bias: those in fine, wide and both biases, in parts of IMAGES images, and
// the one in what the leaky ReLU before `small` was given, with its sums. The gradient in the big map is never stored.
extern "C" __global__ void __launch_bounds__(256, 1) up_two_back(UpTwoBack a) {
  BASE(base);
  const Place<4> me;
  const int big = GROUPS + me.group * BACK_GROUP, image = big + BIG_BYTES;
  const int small = APART ? image + IMAGE_BYTES : image, few_sums = big + SUMS_AT;
  const long long model = blockIdx.y;
  load_parameters(base, 256, a.fine + model * a.fine_stride, a.wide + model * a.wide_stride, nullptr, nullptr, 0);
  for (int part = blockIdx.x + me.group * gridDim.x; part < a.parts; part += 2 * gridDim.x) {
    float of_wide[4][2][4][4] = {}, of_bias[8] = {}, of_small_bias[8] = {}, of_last[FEW] = {};
    clear_few(me, base, few_sums);
    const int end = min(a.batch, (part + 1) * IMAGES);
#pragma unroll 1
    for (int which = part * IMAGES; which < end; which++) {
      const long long at = model * a.batch + which;
      fetch_big(me, base, big, a.big + at * BIG * BIG * CHANNELS);
      if (APART) fetch_small(me, base, small, a.small + at * SMALL * SMALL * CHANNELS);
      commit();
      {
        Pieces<4> pieces;
        pieces.fetch(me, a.grad + at * SIDE * SIDE * FEW);
        pieces.add_to(of_last);
        pieces.place(me, base, image);
      }
      if (const int next = image_after(which, end, part); me.thread == 0 && next < a.batch) {
        expect(a.big + (model * a.batch + next) * BIG * BIG * CHANNELS, BIG_BYTES);
        expect(a.grad + (model * a.batch + next) * SIDE * SIDE * FEW, SIDE * SIDE * FEW * 2);
        expect(a.small + (model * a.batch + next) * SMALL * SMALL * CHANNELS, SMALL_BYTES);
      }
      wait<0>();
      me.meet();
      {
        float few[FEW][4][4] = {};
        taps_few(me, base, image, big, few);
        add_few(me, base, few_sums, few);
      }
      down_few(me, base, image, Start(), [&](int y, int x, float(&c)[4][4]) {
        gate_in_place(base, big + in_big(y, x + (me.lane & 15), me.lane >> 4), c, a.slope, of_bias);
      });
      me.meet();
      if (!APART) {
        fetch_small(me, base, small, a.small + at * SMALL * SMALL * CHANNELS);
        commit();
        wait<0>();
        me.meet();
      }
      taps(me, base, big, small, of_wide);
      float c[4][4][4] = {};
      down<4, 4>(me, base, big, c);
      bf16* out = a.of_small + at * SMALL * SMALL * CHANNELS;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        uint32_t gated[2][4];
        gate_tile<false>(base, small + 1024 * (4 * me.warp + i) + in_sixteen(me.lane), c[i], a.small_slope, of_small_bias, gated);
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
          for (int half = 0; half < 2; half++) {
            const int position = (4 * me.warp + i) * SMALL + me.row + 8 * half;
            *reinterpret_cast<uint32_t*>(out + position * CHANNELS + n * 8 + 2 * me.pair) = gated[n >> 1][2 * (n & 1) + half];
          }
      }
      me.meet();
    }
    const long long here = model * a.parts + part;
    write_taps(me, of_wide, a.of_wide + here * 16 * CHANNELS * CHANNELS);
    write_few(me, base, few_sums, a.of_fine + here * TAPS * CHANNELS);
    write_sums(me.row, me.pair, of_bias, a.of_first_bias + (here * 4 + me.warp) * CHANNELS);
    write_sums(me.row, me.pair, of_small_bias, a.of_small_bias + (here * 4 + me.warp) * CHANNELS);
#pragma unroll
    for (int c = 0; c < FEW; c++) {
      float value = of_last[c];
      for (int lanes = 1; lanes < 32; lanes <<= 1) value += __shfl_xor_sync(0xFFFFFFFFu, value, lanes);
      if (me.lane == 0) a.of_last_bias[(here * 4 + me.warp) * FEW + c] = value;
    }
    me.meet();
  }
}
