// tensor.cuh -- sgemm on the tensor cores of compute capability 9.0; split.cuh comes first.
//
// The last warpgroup of a block loads; the others multiply, each 64 rows of the product's tile. One
// operand, "held", passes through the registers of the multiplying threads, which split it
// themselves, so it may lie in shared memory as it lies in global memory. The other, "shared", is
// read by the tensor cores from shared memory, where the loading threads put its parts along k.
// SWAP says which is which: for C itself A is held; for its transpose, op(B)' op(A)', B.
#pragma once
#include "floats.cuh"
#include "wgmma.cuh"

constexpr int PART_NBYTES = TILE * DEEP * 4;  // of one part of the shared operand
constexpr int LOADERS = 128;                  // threads

// ---- the loading warpgroup ---------------------------------------------------------------------

// Which four elements along k of which row a loading thread has as its i-th.
struct quad {
  int row, k;
  __device__ explicit quad(int i) {
    const int thread = threadIdx.x % LOADERS;
    if (SHARED_ALONG_K) {  // eight threads have a row's
      row = thread / 8 + LOADERS / 8 * i;
      k = thread % 8 * 4;
    } else {  // a warp's threads have neighbouring rows'
      const int q = thread / 32 + LOADERS / 32 * i;
      row = q / 8 * 32 + thread % 32;
      k = q % 8 * 4;
    }
  }
};
constexpr int QUADS = TILE * DEEP / 4 / LOADERS;

// The shared operand, into registers.
__device__ __forceinline__ void load_shared(const operand &x, float (&quads)[QUADS][4]) {
  constexpr int V = SHARED_ALONG_K ? VEC : 1;
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    const quad q(i);
#pragma unroll
    for (int e = 0; e < 4; e += V) {
      floats<V> v = floats<V>();
      if (x.has(q.row, q.k + e)) {
        v = *reinterpret_cast<const floats<V> *>(x.element(q.row, q.k + e));
      }
#pragma unroll
      for (int f = 0; f < V; f++) quads[i][e + f] = v.e[f];
    }
  }
}

// From registers, in parts, to shared memory: rows of 128 bytes along k, whose eight 16-byte chunks
// lie in the order that the tensor cores call a 128-byte swizzle.
__device__ __forceinline__ void store_shared(const float (&quads)[QUADS][4], char *to) {
#pragma unroll
  for (int i = 0; i < QUADS; i++) {
    const quad q(i);
    char *chunk = to + q.row * 128 + ((q.k / 4 ^ (q.row & 7)) << 4);
    const float(&x)[4] = quads[i];
    const uint4 hi = {hi_part(x[0]), hi_part(x[1]), hi_part(x[2]), hi_part(x[3])};
    *reinterpret_cast<uint4 *>(chunk) = hi;
    if (PARTS == 2) {
      const uint4 lo = {lo_part(x[0], hi.x), lo_part(x[1], hi.y), lo_part(x[2], hi.z),
                        lo_part(x[3], hi.w)};
      *reinterpret_cast<uint4 *>(chunk + PART_NBYTES) = lo;
    }
  }
}

// ---- the multiplying warpgroups ----------------------------------------------------------------

// A 64 x TILE product's elements in one thread: two rows, and of each eight columns two.
constexpr int CM = 2, CN = TILE / 4;

// What a thread holds of the held operand's tile, in parts: four elements per eight along k.
struct fragments {
  unsigned part[PARTS][DEEP / 8][4];
  __device__ __forceinline__ explicit fragments(const float *tile) {
    const int thread = threadIdx.x, lane = thread % 32;
    const int row = thread / 32 * 16 + lane / 4, k = lane % 4;
#pragma unroll
    for (int s = 0; s < DEEP / 8; s++) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int r = row + e % 2 * 8, p = s * 8 + k + e / 2 * 4;
        const float x = tile[HELD_ALONG_K ? r * HELD_ROW + p : p * HELD_ROW + r];
        part[0][s][e] = hi_part(x);
        if (PARTS == 2) part[PARTS - 1][s][e] = lo_part(x, part[0][s][e]);
      }
    }
  }
};

// The compiler must not move the accumulators' other uses into an asynchronous product.
__device__ __forceinline__ void pin(float (&d)[2 * CN]) {
#pragma unroll
  for (int i = 0; i < 2 * CN; i++) asm volatile("" : "+f"(d[i])::"memory");
}

// One tile's products, smallest first.
__device__ __forceinline__ void multiply(float (&d)[2 * CN], const fragments &a, unsigned shared,
                                         bool add) {
  const unsigned long long hi = swizzled_128(shared), lo = swizzled_128(shared + PART_NBYTES);
  constexpr int STEP = 8 * 4 / 16;  // 8 elements in a descriptor's unit
  pin(d);
  wgmma_fence();
  if (PARTS == 2) {
#pragma unroll
    for (int s = 0; s < DEEP / 8; s++) {
      wgmma_tf32(d, a.part[PARTS - 1][s], hi + STEP * s, add || s > 0);
    }
#pragma unroll
    for (int s = 0; s < DEEP / 8; s++) wgmma_tf32(d, a.part[0][s], lo + STEP * s, true);
  }
#pragma unroll
  for (int s = 0; s < DEEP / 8; s++) {
    wgmma_tf32(d, a.part[0][s], hi + STEP * s, add || PARTS == 2 || s > 0);
  }
  wgmma_commit();
  wgmma_wait<0>();
  pin(d);
}

// Where a thread's elements lie in the block's tile of C.
struct position {
  int row, column;
  __device__ explicit position(int thread) {
    const int held = thread / 32 * 16 + thread % 32 / 4, shared = thread % 4 * 2;
    row = TRANSPOSED ? shared : held;
    column = TRANSPOSED ? held : shared;
  }
  __device__ static int held_offset(int i) { return i * 8; }
  __device__ static int shared_offset(int j) { return j / 2 * 8 + j % 2; }
  __device__ static int row_offset(int i, int j) {
    return TRANSPOSED ? shared_offset(j) : held_offset(i);
  }
  __device__ static int column_offset(int i, int j) {
    return TRANSPOSED ? held_offset(i) : shared_offset(j);
  }
};

// ---- both --------------------------------------------------------------------------------------

// Tiles of both operands in shared memory, HELD_NBYTES of the one and the other's parts behind;
// each is full or empty, in this round or the next.
struct queue {
  unsigned full, empty, tiles;
  char *at;
  int i = 0, round = 0;
  __device__ queue(unsigned long long *barriers, char *shared)
      : full(shared_address(barriers)), empty(full + 8 * TENSOR_STAGES) {
    const unsigned unaligned = shared_address(shared);
    tiles = roundup_1024(unaligned);
    at = shared + (tiles - unaligned);
  }
  __device__ static unsigned roundup_1024(unsigned n) { return (n + 1023) / 1024 * 1024; }
  __device__ void initialize() const {
    for (int s = 0; s < TENSOR_STAGES; s++) {
      mbarrier_init(full + 8 * s, 2 * LOADERS);  // asynchronous copies, and stores
      mbarrier_init(empty + 8 * s, GROUP / 32);  // warps
    }
  }
  __device__ void wait_full() const { mbarrier_wait(full + 8 * i, round); }
  __device__ void wait_empty() const { mbarrier_wait(empty + 8 * i, round ^ 1); }
  __device__ unsigned held() const { return tiles + i * STAGE_NBYTES; }
  __device__ unsigned shared() const { return held() + HELD_NBYTES; }
  __device__ char *pointer() const { return at + i * STAGE_NBYTES; }
  __device__ void next() {
    if (++i < TENSOR_STAGES) return;
    i = 0;
    round ^= 1;
  }
};

__device__ __forceinline__ void load_tiles(queue q, operand held, operand shared, int n) {
  float quads[QUADS][4];
  if (n > 0) load_shared(shared, quads);
#pragma unroll 1
  for (int t = 0; t < n; t++) {
    // Computing offsets again is cheaper than keeping them in registers, as the compiler would.
    asm volatile("" : "+l"(held.ld), "+l"(shared.ld));
    q.wait_empty();
    copy_raw<HELD_ROWS, HELD_ALONG_K, LOADERS>(held, q.held());
    cp_async_mbarrier_arrive(q.full + 8 * q.i);
    store_shared(quads, q.pointer() + HELD_NBYTES);
    fence_proxy_async();
    mbarrier_arrive(q.full + 8 * q.i);
    held.advance();
    shared.advance();
    if (t + 1 < n) load_shared(shared, quads);
    q.next();
  }
}

__device__ __forceinline__ void multiply_tiles(queue q, int n, float (&c)[CM][CN]) {
  float d[2 * CN];
#pragma unroll 1
  for (int t = 0; t < n; t++) {
    q.wait_full();
    const fragments a(reinterpret_cast<const float *>(q.pointer()));
    multiply(d, a, q.shared(), t % PROMOTE > 0);
    if (threadIdx.x % 32 == 0) mbarrier_arrive(q.empty + 8 * q.i);
    if (t % PROMOTE == PROMOTE - 1 || t + 1 == n) {
#pragma unroll
      for (int i = 0; i < 2 * CN; i++) c[i / 2 % 2][i / 4 * 2 + i % 2] += d[i];
    }
    q.next();
  }
}

// The product of the block's tile, `depth` along k, in the multiplying threads; the loading ones
// end here.
__device__ __forceinline__ void product(float (&c)[CM][CN], char *shared, operand a, operand b,
                                        long long depth) {
  __shared__ unsigned long long barriers[2 * TENSOR_STAGES];
  const queue q(barriers, shared);
  const int tiles = (int)((depth + DEEP - 1) / DEEP);
  if (threadIdx.x == 0) q.initialize();
  __syncthreads();
  if (threadIdx.x >= GROUP) {
    if (GROUPS > 1) release_registers<LOADER_REGISTERS>();
    load_tiles(q, TRANSPOSED ? b : a, TRANSPOSED ? a : b, tiles);
    asm volatile("exit;");
  }
  if (GROUPS > 1) take_registers<MULTIPLIER_REGISTERS>();
  multiply_tiles(q, tiles, c);
}
