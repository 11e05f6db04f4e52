// warpgroup.cuh -- gemm of 16-bit numbers on the tensor cores of compute capability 9.0.
//
// As many blocks as run at a time, each of which computes tile after tile of C. One thread copies
// tiles of A and B to a ring of QUEUE in shared memory, by tensor maps, which put zeros beyond the
// matrices' edges; GROUPS warpgroups multiply, each some columns of C in steps of 64, and write
// their part of C by way of shared memory while the next tiles' copies are under way. (The scheme
// is CUTLASS's warp-specialized persistent kernel.)
//
// In the instructions' terms this is C' = op(B)' op(A)': their rows are columns of C, so that two
// neighbouring elements of a thread are neighbours in memory, too. An operand may be contiguous
// along k or across: both lie in shared memory in rows of 128 bytes, of 64 elements along k of a
// row, or of 64 rows at one k.
//
// Two blocks of a cluster (CLUSTER) whose tiles are neighbours along rows or columns of C each copy
// half of the operand that they share to both.

constexpr int REPEAT = BN / (64 * GROUPS);  // steps of 64 columns of a warpgroup
constexpr int SUMS = BM / 2;                // of a thread in such a step
constexpr int A_NBYTES = BM * 128, B_NBYTES = BN * 128;  // of a tile
constexpr int PANEL_ROWS = 128 / sizeof(output), PANEL_NBYTES = 16 * 128;  // of 16 columns of C
constexpr bool EPILOGUE = @{scale ~= "none" or bias ~= "none" or act ~= "none"};

// Tiles of A and behind them of B, full or empty, in this round or the next.
struct ring {
  unsigned full, empty, tiles;
  int i = 0, round = 0;
  __device__ explicit ring(unsigned base)
      : full(base + QUEUE * (A_NBYTES + B_NBYTES) + 4 * GROUPS * PANELS * PANEL_NBYTES),
        empty(full + 8 * QUEUE), tiles(base) {}
  __device__ void initialize() const {
    for (int s = 0; s < QUEUE; s++) {
      mbarrier_init(full + 8 * s, 1);
      mbarrier_init(empty + 8 * s, BLOCKS * GROUPS * 4);  // warps
    }
    fence_mbarrier_init();
  }
  __device__ void wait_full() const { mbarrier_wait(full + 8 * i, round); }
  __device__ void wait_empty() const { mbarrier_wait(empty + 8 * i, round ^ 1); }
  // This warp has done with the tile: whoever copies there may.
  __device__ void release() const {
    if (BLOCKS == 1) {
      if (threadIdx.x % 32 == 0) mbarrier_arrive(empty + 8 * i);
    } else if (threadIdx.x % 32 < BLOCKS) {
      mbarrier_arrive_at(empty + 8 * i, threadIdx.x % 32);
    }
  }
  __device__ unsigned a() const { return tiles + i * (A_NBYTES + B_NBYTES); }
  __device__ unsigned b() const { return a() + A_NBYTES; }
  __device__ void next() {
    if (++i < QUEUE) return;
    i = 0;
    round ^= 1;
  }
  // Until nobody will arrive here any more.
  __device__ void drain() {
    for (int s = 0; s < QUEUE; s++) {
      wait_empty();
      next();
    }
  }
};

// ---- units of work -----------------------------------------------------------------------------

struct span {  // of tiles along k
  int first, n;
};

// Tiles of C, each SPLITK times: first all of them with the first part of k.
struct work {
  unsigned all;  // tiles of C, or pairs of them
  int tiles;     // along k
  __device__ unsigned units() const { return all * SPLITK; }
  __device__ unsigned tile(unsigned unit) const { return SPLITK == 1 ? unit : unit % all; }
  __device__ unsigned split(unsigned unit) const { return SPLITK == 1 ? 0 : unit / all; }
  __device__ span k(unsigned unit) const {
    const int share = (tiles + SPLITK - 1) / SPLITK, first = min(tiles, (int)split(unit) * share);
    return {first, min(share, tiles - first)};
  }
};

// ---- copying -----------------------------------------------------------------------------------

// A tile of an operand, WIDTH_ across k and 64 along it; where the cluster shares it, this block's
// half, to both: half of the copies, or of the only one.
template <int WIDTH_, bool ALONG_K, bool SHARED, bool HALVED>
__device__ __forceinline__ void copy_operand(unsigned to, const tensor_map &map, int across, int k,
                                             unsigned barrier, unsigned rank) {
  constexpr int COPIES = (ALONG_K ? 1 : WIDTH_ / 64) / (SHARED && !HALVED ? BLOCKS : 1);
  constexpr int FAR = (ALONG_K ? WIDTH_ : 64) / (HALVED ? BLOCKS : 1);  // rows of 128 bytes in one
  const int first = SHARED && !HALVED ? (int)rank * COPIES : 0, skip = HALVED ? (int)rank * FAR : 0;
#pragma unroll
  for (int i = first; i < first + COPIES; i++) {
    const unsigned there = to + i * 8192 + skip * 128;
    const int x = ALONG_K ? k : across + 64 * i, y = ALONG_K ? across + skip : k + skip;
    if (SHARED) {
      load_tile(there, map, x, y, barrier, (unsigned short)((1 << BLOCKS) - 1));
    } else {
      load_tile(there, map, x, y, barrier);
    }
  }
}

__device__ __forceinline__ void copy_tiles(ring &q, const tensor_map &a, const tensor_map &b,
                                           corner at, span k, unsigned rank) {
#pragma unroll 1
  for (int t = k.first; t < k.first + k.n; t++) {
    const unsigned barrier = q.full + 8 * q.i;
    q.wait_empty();
    mbarrier_arrive_expect(barrier, A_NBYTES + B_NBYTES);
    copy_operand<BM, A_ALONG_K, CLUSTER == CLUSTER_columns, A_HALVED>(q.a(), a, at.row, 64 * t,
                                                                      barrier, rank);
    copy_operand<BN, B_ALONG_K, CLUSTER == CLUSTER_rows, B_HALVED>(q.b(), b, at.column, 64 * t,
                                                                   barrier, rank);
    q.next();
  }
}

// ---- multiplying -------------------------------------------------------------------------------

using sums = float[REPEAT][SUMS];

__device__ __forceinline__ void wgmma(float (&d)[SUMS], unsigned long long b, unsigned long long a,
                                      bool add) {
@ local d, n = {}, BM // 2
@ for i = 0, n - 1 do d[#d + 1] = "%" .. i end
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %@{n + 2}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n@{BM}k16.f32.@{dtype}.@{dtype} "
      "{@{table.concat(d, ", ")}}, "
      "%@{n}, %@{n + 1}, add, 1, 1, @{B_ALONG_K and 0 or 1}, @{A_ALONG_K and 0 or 1}; }"
@ for i = 0, n - 1 do d[i + 1] = '"+f"(d[' .. i .. "])" end
      : @{table.concat(d, ", ")}
      : "l"(b), "l"(a), "r"((int)add));
}

// The compiler must not move the sums' other uses into an asynchronous product.
__device__ __forceinline__ void pin(sums &c) {
#pragma unroll
  for (int r = 0; r < REPEAT; r++) {
#pragma unroll
    for (int i = 0; i < SUMS; i++) asm volatile("" : "+f"(c[r][i])::"memory");
  }
}

__device__ __forceinline__ void clear(sums &c) {
#pragma unroll
  for (int i = 0; i < REPEAT * SUMS; i++) c[i / SUMS][i % SUMS] = 0;
}

template <bool ALONG_K>
__device__ __forceinline__ unsigned long long descriptor(unsigned tile) {
  return ALONG_K ? swizzled_128(tile) : swizzled_128_across(tile, 8192);
}

// The products of one tile are under way while the next are issued; the last ones, while `meanwhile` runs.
template <typename OTHER>
__device__ __forceinline__ void multiply_tiles(ring &q, int tiles, int group, sums &c,
                                               const OTHER &meanwhile) {
  constexpr int A_STEP = (A_ALONG_K ? 32 : 2048) / 16, B_STEP = (B_ALONG_K ? 32 : 2048) / 16;
  ring done = q;
  pin(c);
#pragma unroll 1
  for (int t = 0; t < tiles; t++) {
    q.wait_full();
    const unsigned long long a = descriptor<A_ALONG_K>(q.a());
    const unsigned long long b = descriptor<B_ALONG_K>(q.b() + group * REPEAT * 8192);
    wgmma_fence();
#pragma unroll
    for (int s = 0; s < 4; s++) {
#pragma unroll
      for (int r = 0; r < REPEAT; r++) {
        wgmma(c[r], b + r * (8192 / 16) + s * B_STEP, a + s * A_STEP, t > 0 || s > 0);
      }
    }
    wgmma_commit();
    if (t == tiles - 1) meanwhile();
    if (t > 0) {
      wgmma_wait<1>();
      done.release();
      done.next();
    }
    q.next();
  }
  wgmma_wait<0>();
  pin(c);
  if (tiles > 0) done.release();
}

@ if SPLITK > 1 then
// ---- shares of k -------------------------------------------------------------------------------

// Leaves this block's sums of a tile of C, as its threads have them, for the last of the tile's blocks,
// which adds up all of them, always in the same order. Is this one the last? A warp's first `steps` count,
// the others are beyond C.
__device__ __forceinline__ bool add_up(sums &c, float *partial, unsigned *arrived, unsigned tile,
                                       unsigned split, int steps) {
  __shared__ bool last;
  constexpr int STEP = SUMS / 4, VECTORS = REPEAT * STEP, MULTIPLIERS = 128 * GROUPS;
  float4 *const from = reinterpret_cast<float4 *>(partial) +
                       (long long)tile * (SPLITK * VECTORS * MULTIPLIERS) + threadIdx.x;
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
    if (v / STEP >= steps) break;
    const float *const x = &c[0][0] + 4 * v;
    from[(split * VECTORS + v) * MULTIPLIERS] = make_float4(x[0], x[1], x[2], x[3]);
  }
  __threadfence();
  sync_some<MULTIPLIERS>();
  if (threadIdx.x == 0) last = atomicInc(arrived + tile, SPLITK - 1) == SPLITK - 1;
  sync_some<MULTIPLIERS>();
  if (!last) return false;
  __threadfence();
  clear(c);
#pragma unroll 1
  for (int s = 0; s < SPLITK; s++) {
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
      if (v / STEP >= steps) break;
      const float4 x = from[(s * VECTORS + v) * MULTIPLIERS];
      float *const to = &c[0][0] + 4 * v;
      to[0] += x.x;
      to[1] += x.y;
      to[2] += x.z;
      to[3] += x.w;
    }
  }
  return true;
}

@ end
// ---- into C ------------------------------------------------------------------------------------

struct alignas(2 * sizeof(output)) pair {
  output e[2];
};

// Two neighbours in a column; SCALED: they are the sums already.
template <bool SCALED>
__device__ __forceinline__ pair finished_pair(const result &to, const float *sum, int row,
                                              int column) {
  pair v;
#pragma unroll
  for (int e = 0; e < 2; e++) {
    float x = sum[e];
    if (!SCALED) {
      const bool inside = row + e < to.m && column < to.n;
      output before = output();
      if (inside && to.beta != 0) before = to.C[row + e + column * to.ld];
      x = inside ? to.finished(sum[e], before, row + e, column) : 0;
    }
    v.e[e] = result::rounded(x);
  }
  return v;
}

// A warp's 16 columns of PANEL_ROWS, swizzled as the operands are; pairs(j, half) are a thread's two
// in column lane / 4 + 8 * half of the j-th eight rows.
template <typename PAIRS>
__device__ __forceinline__ void fill_panel(unsigned panel, const PAIRS &pairs) {
  const int lane = threadIdx.x % 32;
#pragma unroll
@ if ctype == "f32" then
  for (int j = 0; j < PANEL_ROWS / 8; j++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const pair v = pairs(j, half);
      const unsigned chunk = (2 * j + lane % 4 / 2) ^ (lane / 4);
      asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(
                       panel + (lane / 4 + 8 * half) * 128 + chunk * 16 + lane % 2 * 8),
                   "f"(v.e[0]), "f"(v.e[1])
                   : "memory");
    }
  }
@ else
  for (int j = 0; j < PANEL_ROWS / 8; j += 2) {
    unsigned four[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const pair v = pairs(j + i / 2, i % 2);
      four[i] = v.e[0] | (unsigned)v.e[1] << 16;
    }
    store_matrices(panel + lane % 16 * 128 + (((j + lane / 16) ^ (lane % 8)) << 4), four);
  }
@ end
}

// Element by element from a warp's panel, as far as it is inside.
__device__ __forceinline__ void store_edge(const result &to, unsigned panel, int row, int column) {
  const char *const from = (const char *)__cvta_shared_to_generic(panel);
  output *at = to.C + row + column * to.ld;
#pragma unroll PACKED ? 4 : 1
  for (int y = 0; y < 16; y++, at += to.ld) {
    if (column + y >= to.n) break;
#pragma unroll
    for (int x = threadIdx.x % 32; x < PANEL_ROWS; x += 32) {
      const int byte = x * (int)sizeof(output);
      if (row + x >= to.m) break;
      at[x] = *reinterpret_cast<const output *>(from + y * 128 + (byte ^ (y & 7) << 4));
    }
  }
}

__device__ __forceinline__ void scale(sums &c, float alpha) {
#pragma unroll
  for (int i = 0; i < REPEAT * SUMS; i++) c[i / SUMS][i % SUMS] *= alpha;
}

// A warp's part of each step, a panel at a time; without a map of C, by its threads.
template <bool SCALED>
__device__ __forceinline__ void store_sums(const sums &c, const result &to, const tensor_map *map,
                                           int first_row, int first_column, unsigned panels) {
  constexpr int PARTS = BM / PANEL_ROWS;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int p = 0; p < REPEAT * PARTS; p++) {
    const int r = p / PARTS, part = p % PARTS;
    const int row = first_row + part * PANEL_ROWS, column = first_column + r * 64;
    if (column >= to.n) break;
    const unsigned panel = panels + p % PANELS * PANEL_NBYTES;
    if (lane == 0) {
      if (p == 0) bulk_wait_read<0>();  // of the tile before, whichever panel was its last
      else bulk_wait_read<PANELS - 1>();
    }
    __syncwarp();
    fill_panel(panel, [&](int j, int half) {
      return finished_pair<SCALED>(to, &c[r][(part * PANEL_ROWS / 8 + j) * 4 + 2 * half],
                                   row + 8 * j + lane % 4 * 2, column + lane / 4 + 8 * half);
    });
    if (map) fence_proxy_async();
    __syncwarp();
    // Copies write 16 bytes at a time, even across the end of a column.
    if (!map || (row + PANEL_ROWS > to.m && to.m * sizeof(output) % 16 > 0)) {
      store_edge(to, panel, row, column);
    } else if (lane == 0) {
      store_tile(*map, row, column, panel);
    }
    if (lane == 0) bulk_commit();  // a group for each panel, be it empty
  }
}

// ---- the kernel --------------------------------------------------------------------------------

// Where a tile is takes divisions; here they are done, not where the compiler would like.
__device__ __forceinline__ corner corner_now(unsigned tile, int m, int n, unsigned rank) {
  corner at(tile, m, n, rank);
  asm volatile("" : "+r"(at.row), "+r"(at.column));
  return at;
}

// With alpha 0, BLAS does not look at A and B.
@ local cluster = CLUSTER == "none" and "" or "__cluster_dims__(2, 1, 1) "
extern "C" __global__ void @{cluster}__launch_bounds__(THREADS, 1)
gemm_warpgroup(int m, int n, int k, double alpha, const __grid_constant__ tensor_map A,
               const __grid_constant__ tensor_map B, double beta, output *C, long long ldc,
@ if PACKED then
               const output *scales, const output *biases, float *partial, unsigned *arrived) {
  const tensor_map *const C_map = nullptr;
@ else
               const output *scales, const output *biases, float *partial, unsigned *arrived,
               const __grid_constant__ tensor_map map_of_c) {
  const tensor_map *const C_map = &map_of_c;
@ end
  const unsigned base = (shared_address(memory) + 1023) / 1024 * 1024;
  const unsigned rank = BLOCKS > 1 ? cluster_rank() : 0;
  const int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);  // so it is seen to be a warp's
  const work todo = {corner::rows(m) * corner::columns(n), alpha == 0 ? 0 : (k - 1) / 64 + 1};
  ring q(base);
  if (threadIdx.x == 0) q.initialize();
  if (threadIdx.x == 128 * GROUPS) {
    prefetch_map(A);
    prefetch_map(B);
    if (C_map) prefetch_map(*C_map);
  }
  const unsigned first = blockIdx.x / BLOCKS, step = gridDim.x / BLOCKS;
  corner at = corner_now(todo.tile(first), m, n, rank);
  if (BLOCKS > 1) cluster_sync_barriers();
  else __syncthreads();
  if (group == GROUPS) {
    if (GROUPS > 1) release_registers<LOADER_REGISTERS>();
    if (threadIdx.x == 128 * GROUPS) {
@ if PACKED then
      griddepcontrol_wait();
@ end
      for (unsigned unit = first; unit < todo.units(); unit += step) {
        copy_tiles(q, A, B, at, todo.k(unit), rank);
        at = corner_now(todo.tile(unit + step), m, n, rank);
      }
      if (BLOCKS > 1) q.drain();  // the other block still arrives here
    }
    __syncwarp();
  } else {
    if (GROUPS > 1) take_registers<MULTIPLIER_REGISTERS>();
    const result to = {(wide)alpha, (wide)beta, C, ldc, m, n, scales, biases};
    const int warp = threadIdx.x / 32;
    const unsigned panels = base + QUEUE * (A_NBYTES + B_NBYTES) + warp * (PANELS * PANEL_NBYTES);
    sums c;
    for (unsigned unit = first; unit < todo.units(); unit += step) {
      const int tiles = todo.k(unit).n;
      const auto find = [&] { at = corner_now(todo.tile(unit), m, n, rank); };
      multiply_tiles(q, tiles, group, c, find);
      if (tiles == 0) {
        clear(c);
        find();
      }
      const int column = at.column + group * REPEAT * 64 + warp % 4 * 16;
@ if SPLITK > 1 then
      if (!add_up(c, partial, arrived, todo.tile(unit) * BLOCKS + rank, todo.split(unit),
                  (n - column + 63) / 64)) {
        continue;
      }
@ end
      if (!EPILOGUE && to.beta == 0) {
        if (to.alpha != 1) scale(c, to.alpha);
        store_sums<true>(c, to, C_map, at.row, column, panels);
      } else {
        store_sums<false>(c, to, C_map, at.row, column, panels);
      }
    }
    if (threadIdx.x % 32 == 0) bulk_wait_read<0>();
  }
}
