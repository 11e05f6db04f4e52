-- gemm_batched: C = alpha op(A) op(B) + beta C for each of many small matrices, column-major.
--
-- PM x PN threads compute a matrix of C, each TM x TN elements of it in registers; a block has a
-- GROUP of matrices at a time. Small matrices are a matter of memory bandwidth: with ALG shared a
-- block copies its group's A and B to shared memory as one run of vectors, whatever the size of a
-- matrix is (where matrices lie packed), and STAGES deep; with ALG direct threads read them in place.
-- The sizes are constants of the text (EXACT), so that loops unroll and divisions are products.

-- Expressions that several places use.
local NBYTES = "sel(dtype == 'f64', 8, 4)"
local A_ROWS, A_COLS = "sel(ta == 'n', m, k)", "sel(ta == 'n', k, m)" -- as they lie in memory
local B_ROWS, B_COLS = "sel(tb == 'n', k, n)", "sel(tb == 'n', n, k)"
local GROUPS = "ceildiv(batch, GROUP)"
local PACKED = "lda == " .. A_ROWS .. " and ldb == " .. B_ROWS .. " and ldc == m"
local CONTIGUOUS = PACKED .. " and stride_a == m * k and stride_b == k * n and stride_c == m * n"
local THREADS = { 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 16, 23, 32 }

-- The arguments of an operand or of the result: where it lies.
local function leading(rows)
  return "sel(layout == 'packed', " .. rows .. ", roundup(max(1, " .. rows .. "), align) + align)"
end
local function stride(ld, rows, cols)
  return "sel(layout == 'packed', " .. rows .. " * " .. cols .. ", roundup(" .. ld .. " * " .. cols
    .. " + 3, align))"
end
local function count(ld, step, rows, cols)
  return "sel(batch * " .. rows .. " * " .. cols .. " == 0, 0, (batch - 1) * " .. step .. " + ("
    .. cols .. " - 1) * " .. ld .. " + " .. rows .. ")"
end

return {
  name = "gemm_batched",
  version = 1,
  brief = "C = alpha op(A) op(B) + beta C for many small matrices, column-major",
  cite = "BLAS level 3, batched; Abdelfattah, Haidar, Tomov, Dongarra, Performance, design, and "
    .. "autotuning of batched GEMM for GPUs; Masliah et al., Algorithms and optimization "
    .. "techniques for high-performance matrix-matrix multiplications of very small matrices",

  problem = {
    { "m", 0, 128, default = 16, brief = "rows of each C and op(A)" },
    { "n", 0, 128, default = "m", brief = "columns of each C and op(B)" },
    { "k", 0, 2^15, default = "m", brief = "columns of op(A), rows of op(B)" },
    { "batch", 0, 2^30, default = 10000, brief = "matrices" },
    { "ta", { "n", "t" }, default = "n", brief = "op(A): n as it is, t transposed" },
    { "tb", { "n", "t" }, default = "n", brief = "op(B)" },
    { "dtype", { "f32", "f64" }, default = "f32", brief = "type of the elements" },
    { "layout", { "packed", "strided", "pointers" }, default = "packed",
      brief = "packed: without gaps between columns and matrices; pointers: each has its own" },
    { "align", { 4, 2, 1 }, default = "sel(layout == 'packed', 4, min(pow2div(" .. A_ROWS
        .. ", 4), pow2div(" .. B_ROWS .. ", 4), pow2div(m, 4)))",
      brief = "elements to which A, B, C and, unless packed, all their columns are aligned" },
    { "scale", { "none", "row", "column" }, default = "none", brief = "factors of the results" },
    { "bias", { "none", "row", "column" }, default = "none", brief = "what is then added to them" },
    { "act", { "none", "relu", "gelu", "gelu_erf" }, default = "none",
      brief = "the function that is then applied" },
  },

  args = {
    { "m", "i32", value = "m" },
    { "n", "i32", value = "n" },
    { "k", "i32", value = "k" },
    { "alpha", "f64", sample = 1 },
    { "A", "dtype", "in", count = count("lda", "stride_a", A_ROWS, A_COLS),
      fill = { "uniform", -1, 1 }, optional = "layout == 'pointers'" },
    { "lda", "i64", sample = leading(A_ROWS) },
    { "stride_a", "i64", sample = stride("lda", A_ROWS, A_COLS), brief = "from one A to the next" },
    { "B", "dtype", "in", count = count("ldb", "stride_b", B_ROWS, B_COLS),
      fill = { "uniform", -1, 1 }, optional = "layout == 'pointers'" },
    { "ldb", "i64", sample = leading(B_ROWS) },
    { "stride_b", "i64", sample = stride("ldb", B_ROWS, B_COLS) },
    { "beta", "f64", sample = 0 },
    -- With beta 0 what C held does not matter, not even a NaN.
    { "C", "dtype", "inout", count = count("ldc", "stride_c", "m", "n"),
      fill = { "uniform", -1, 1 }, overwritten = "beta == 0",
      optional = "layout == 'pointers'" },
    { "ldc", "i64", sample = leading("m") },
    { "stride_c", "i64", sample = stride("ldc", "m", "n") },
    { "batch", "i64", value = "batch" },
    -- In bytes from A, B, C. With these null they are the matrices' addresses: BLAS' arrays of pointers.
    { "offsets_a", "i64", "in", count = "sel(layout == 'pointers', batch, 0)",
      fill = { "ramp", "max(0, batch - 1) * stride_a * (" .. NBYTES .. ")",
        "-stride_a * (" .. NBYTES .. ")" }, optional = "layout ~= 'pointers'" },
    { "offsets_b", "i64", "in", count = "sel(layout == 'pointers', batch, 0)",
      fill = { "ramp", 0, "stride_b * (" .. NBYTES .. ")" }, optional = "layout ~= 'pointers'" },
    { "offsets_c", "i64", "in", count = "sel(layout == 'pointers', batch, 0)",
      fill = { "ramp", 0, "stride_c * (" .. NBYTES .. ")" }, optional = "layout ~= 'pointers'" },
    { "scales", "dtype", "in",
      count = "sel(scale == 'none', 0, sel(scale == 'row', m, n))", fill = { "uniform", -1, 1 },
      optional = "scale == 'none'" },
    { "biases", "dtype", "in",
      count = "sel(bias == 'none', 0, sel(bias == 'row', m, n))", fill = { "uniform", -1, 1 },
      optional = "bias == 'none'" },
  },

  call = { "ta", "tb", "dtype", "m", "n", "k", "alpha", "A", "lda", "stride_a", "B", "ldb",
    "stride_b", "beta", "C", "ldc", "stride_c", "batch",
    layout = "sel(" .. CONTIGUOUS .. ", 'packed', 'strided')",
    align = "min(pow2div(A // (" .. NBYTES .. "), 4), pow2div(B // (" .. NBYTES .. "), 4), "
      .. "pow2div(C // (" .. NBYTES .. "), 4), sel(" .. CONTIGUOUS .. ", 4, min(pow2div(lda, 4), "
      .. "pow2div(ldb, 4), pow2div(ldc, 4), pow2div(stride_a, 4), pow2div(stride_b, 4), "
      .. "pow2div(stride_c, 4))))" },

  call_require = {
    { "lda is less than the rows of A", "lda >= " .. A_ROWS },
    { "ldb is less than the rows of B", "ldb >= " .. B_ROWS },
    { "ldc is less than the rows of C", "ldc >= m" },
  },

  space = {
    { "PM", THREADS, "threads along the rows of a matrix of C" },
    { "PN", THREADS, "and along its columns" },
    { "GROUP", { 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256 },
      "matrices of a block at a time" },
    { "ALG", { "shared", "direct" }, "A and B by way of shared memory, or in place" },
    { "EXACT", { 1, 0 }, "sizes are constants of the text" },
    { "KV", { 1, 2, 4 }, "steps along k at a time" },
    { "SLICE", { 0, 8, 16, 32 }, "elements along k in shared memory at a time; 0: all" },
    { "UNROLL", { 4, 8, 16, 32 }, "steps along k unrolled" },
    { "BLOCKS", { 0, 1, 2, 4, 8 },
      "blocks per multiprocessor that go on to further groups; 0: a block per group" },
    { "VEC", { 1, 2, 4 }, "elements per copy to shared memory" },
    { "LOADER", { "register", "cpasync" }, "to shared memory: through registers or not" },
    { "STAGES", { 1, 2, 3 }, "groups in shared memory" },
    { "PAD", { 0, 1, 2, 4 }, "elements between columns in shared memory that threads read along k" },
    { "SKEW", { 0, 4, 8 }, "elements between matrices there" },
    { "STORE", { "direct", "shared" }, "C from registers, or by way of shared memory" },
  },

  derive = {
    { "WIDTH", NBYTES },
    { "TM", "ceildiv(max(1, m), PM)" },
    { "TN", "ceildiv(max(1, n), PN)" },
    { "THREADS", "PM * PN" }, -- of a matrix
    { "BLOCK", "roundup(THREADS * GROUP, 32)" },
    { "A_ALONG_K", "ta == 't'" },
    { "B_ALONG_K", "tb == 'n'" },
    -- Neighbouring rows or columns of a thread that are neighbours in memory.
    { "MV", "sel(A_ALONG_K, 1, min(pow2div(TM, 4), pow2div(m, 4), align, 16 // WIDTH))" },
    { "NV", "sel(B_ALONG_K, 1, min(pow2div(TN, 4), pow2div(n, 4), align, 16 // WIDTH))" },
    -- A matrix in shared memory, or its slice along k: columns, and all of it.
    { "DEPTH", "sel(SLICE == 0, k, SLICE)" },
    { "A_HIGH", "max(1, sel(A_ALONG_K, DEPTH, m))" },
    { "B_HIGH", "max(1, sel(B_ALONG_K, DEPTH, n))" },
    { "A_LD", "A_HIGH + sel(A_ALONG_K, PAD, 0)" },
    { "B_LD", "B_HIGH + sel(B_ALONG_K, PAD, 0)" },
    { "A_SIZE", "A_LD * sel(A_ALONG_K, m, DEPTH) + SKEW" },
    { "B_SIZE", "B_LD * sel(B_ALONG_K, n, DEPTH) + SKEW" },
    { "B_AT", "roundup(GROUP * A_SIZE, 4)" }, -- where B starts in a stage
    { "STAGE", "B_AT + roundup(GROUP * B_SIZE, 4)" },
    { "SMEM", "WIDTH * (sel(ALG == 'shared', STAGES * STAGE, 0) + sel(STORE == 'shared', "
      .. "GROUP * m * n, 0))" },
    { "REGISTERS", "WIDTH // 4 * (TM * TN + KV * (TM + TN)) + 24" }, -- an estimate
  },

  -- 16 x 16 threads, plain, serve every size.
  require = {
    { "a block has more threads than it may", "BLOCK <= dev_threads_block" },
    { "a thread's tile exceeds the registers", "WIDTH // 4 * TM * TN <= 128 and REGISTERS <= 255" },
    { "the block's tile exceeds the registers",
      "roundup(BLOCK, 128) * min(REGISTERS, 255) <= dev_regs_block or PM * PN == 256" },
    { "threads without rows, or a waste of them",
      "PM == 16 or (PM == 1 or sel(m % 4 == 0, m % PM == 0, 8 * PM * TM <= 9 * m)) "
        .. "and ceildiv(max(1, m), TM) == PM" },
    { "threads without columns, or a waste of them",
      "PN == 16 or (PN == 1 or sel(n % 4 == 0, n % PN == 0, 8 * PN * TN <= 9 * n)) "
        .. "and ceildiv(max(1, n), TN) == PN" },
    { "threads without rows or columns", "PM == 16 and PN == 16 and ALG == 'direct' and GROUP == 1 "
      .. "or PM * TM < m + PM and PN * TN < n + PN" },
    { "a thread's tile has sides that differ more than eightfold", "TM <= 8 * TN and TN <= 8 * TM "
      .. "or m * n <= 256" },
    { "an eighth of the threads are idle", "8 * THREADS * GROUP >= 7 * BLOCK or GROUP == 1" },
    { "fewer than 64 threads, though there are matrices enough",
      "BLOCK >= 64 or batch <= 32 * dev_sms" },
    { "more matrices in a group than give every multiprocessor one",
      "GROUP == 1 or (GROUP - 1) * dev_sms < batch" },
    { "steps that do not divide k, or vectors along k beyond 16 bytes",
      "DEPTH % KV == 0 and KV * WIDTH <= 16" },
    { "a slice is no part of k, or of a matrix too small to need it",
      "SLICE == 0 or ALG == 'shared' and EXACT == 1 and k % SLICE == 0 and k > SLICE "
        .. "and m * n >= 1600" },
    { "vectors along k are misaligned in place",
      "KV == 1 or ALG == 'shared' or (not A_ALONG_K or KV <= min(align, pow2div(k, 4))) "
        .. "and (not B_ALONG_K or KV <= min(align, pow2div(k, 4)))" },
    { "vectors along k are misaligned in shared memory",
      "ALG == 'direct' or (not A_ALONG_K or A_LD % KV == 0 and A_SIZE % KV == 0) "
        .. "and (not B_ALONG_K or B_LD % KV == 0 and B_SIZE % KV == 0)" },
    { "rows are misaligned in shared memory", "ALG == 'direct' or A_SIZE % MV == 0" },
    { "columns are misaligned in shared memory", "ALG == 'direct' or B_SIZE % NV == 0" },
    { "nothing is read along k", "A_ALONG_K or B_ALONG_K or PAD == 0 and KV == 1" },
    { "gaps as wide as the vectors spread them over the banks",
      "PAD == 0 or PAD == KV and DEPTH % (2 * KV) == 0" },
    { "unrolled steps are no whole number of those taken at a time", "UNROLL % KV == 0" },
    { "more steps unrolled than there are", "UNROLL == 4 or UNROLL < 2 * DEPTH" },
    { "few steps are all unrolled", "DEPTH > 32 or UNROLL >= DEPTH or PM * PN == 256 and ALG == 'direct'" },
    { "the unrolled loop outgrows the instruction cache", "UNROLL * TM * TN <= 4096" },
    { "so few groups need no block twice",
      "BLOCKS == 0 or BLOCKS * dev_sms < " .. GROUPS .. " and BLOCK * BLOCKS <= dev_threads_sm" },
    { "sizes that are no constants cost divisions", "EXACT == 1 or ALG == 'direct'" },
    { "in place nothing is copied", "ALG == 'shared' or VEC == 1 and LOADER == 'register' "
      .. "and STAGES == 1 and PAD == 0 and SKEW == 0" },
    { "vectors wider than the alignment or 16 bytes", "VEC <= align and VEC * WIDTH <= 16" },
    { "groups do not start aligned",
      "layout ~= 'packed' or SLICE > 0 or GROUP * m * k % VEC == 0 and GROUP * k * n % VEC == 0" },
    { "vectors across the end of a column that is apart in memory",
      "layout == 'packed' and SLICE == 0 or VEC <= pow2div(" .. A_ROWS .. ", 4) and VEC <= "
        .. "pow2div(" .. B_ROWS .. ", 4) and VEC <= pow2div(A_HIGH, 4) and VEC <= pow2div(B_HIGH, 4)" },
    { "vectors across the end of a column that is apart in shared memory",
      "PAD == 0 or VEC == 1 or PAD % VEC == 0 and (not A_ALONG_K or DEPTH % VEC == 0) "
        .. "and (not B_ALONG_K or DEPTH % VEC == 0)" },
    { "vectors across the end of a matrix that is apart in shared memory",
      "SKEW == 0 and PAD == 0 or VEC == 1 or m * DEPTH % VEC == 0 and DEPTH * n % VEC == 0" },
    { "one matrix in a group is apart from none", "SKEW == 0 or GROUP > 1 and THREADS < 32" },
    { "vectors narrower than need be, for no reason",
      "ALG == 'direct' or PAD == 1 or GROUP % 4 > 0 or VEC * 2 >= min(align, 16 // WIDTH, "
        .. "sel(layout == 'packed', 4, min(pow2div(" .. A_ROWS .. ", 4), pow2div(" .. B_ROWS
        .. ", 4))))" },
    { "asynchronous copies need compute capability 8.0", "LOADER == 'register' or dev_cc >= 80" },
    { "more stages need asynchronous copies, and slices or blocks that go on",
      "STAGES == 1 or LOADER == 'cpasync' and (BLOCKS > 0 or SLICE > 0)" },
    { "more shared memory than a block may have", "SMEM <= dev_smem_block" },
    { "so many blocks exceed a multiprocessor's shared memory",
      "BLOCKS <= 1 or BLOCKS * (SMEM + dev_smem_reserved) <= dev_smem_sm" },
  },

  default = { PM = 16, PN = 16, GROUP = 1, ALG = "direct", EXACT = 1, KV = 1, SLICE = 0, UNROLL = 4,
    BLOCKS = 0, VEC = 1, LOADER = "register", STAGES = 1, PAD = 0, SKEW = 0, STORE = "direct" },

  stages = {
    { kernel = "gemm_batched",
      grid = "sel(m * n == 0, 0, sel(BLOCKS == 0, " .. GROUPS .. ", min(BLOCKS * dev_sms, " .. GROUPS
        .. ")))",
      block = "BLOCK", smem = "SMEM",
      args = { "m", "n", "k", "alpha", "A", "lda", "stride_a", "B", "ldb", "stride_b", "beta", "C",
        "ldc", "stride_c", "batch", "offsets_a", "offsets_b", "offsets_c", "scales",
        "biases" } },
  },

  source = [[
@include "ptx.cuh"
@include "numbers.cuh"
@include "epilogue.cuh"

template <int N>
struct alignas(N * sizeof(stored)) vector {
  stored e[N];
};

@ if EXACT == 1 then
struct shape {
  static constexpr int m = @{max(1, m)}, n = @{max(1, n)}, k = @{k};
  __device__ shape(int, int, int) {}
};
@ else
struct shape {
  int m, n, k;
  __device__ shape(int m_, int n_, int k_) : m(m_), n(n_), k(k_) {}
};
@ end

extern __shared__ __align__(16) unsigned char memory[];

// Where the matrices of an operand, or of the result, lie.
template <typename T>
struct matrices {
  T *first;
  long long ld, stride;
  const long long *offsets;

  __device__ __forceinline__ T *operator[](long long i) const {
@ if layout == "pointers" then
    // A sum of numbers, for `first` may be null.
    return reinterpret_cast<T *>(reinterpret_cast<unsigned long long>(first) + offsets[i]);
@ else
    return first + i * stride;
@ end
  }
};

// ---- a thread's part of one matrix -------------------------------------------------------------

// Its V neighbouring rows, then those V * SIDE further on, behind the other threads'.
template <int V, int SIDE>
__device__ __forceinline__ int index_of(int thread, int i) {
  return (i / V * SIDE + thread) * V + i % V;
}

// Rows (of A) or columns (of B) of a thread, at steps p to p + KV - 1 along k.
template <bool ALONG_K, int T, int V, int SIDE, typename L>
__device__ __forceinline__ void fetch(wide (&to)[KV][T], const stored *from, L ld, int p,
                                      int thread, int room) {
  constexpr int STEP = ALONG_K ? 1 : V;
#pragma unroll
  for (int i = 0; i < T; i += STEP) {
    const int at = index_of<V, SIDE>(thread, i);
    if (at >= room) {
#pragma unroll
      for (int q = 0; q < KV * STEP; q++) to[q / STEP][i + q % STEP] = 0;
    } else if constexpr (ALONG_K) {
      const vector<KV> v = *reinterpret_cast<const vector<KV> *>(from + at * ld + p);
#pragma unroll
      for (int q = 0; q < KV; q++) to[q][i] = v.e[q];
    } else {
#pragma unroll
      for (int q = 0; q < KV; q++) {
        const vector<V> v = *reinterpret_cast<const vector<V> *>(from + (p + q) * ld + at);
#pragma unroll
        for (int e = 0; e < V; e++) to[q][i + e] = v.e[e];
      }
    }
  }
}

template <typename L>
__device__ __forceinline__ void multiply(wide (&c)[TM][TN], const stored *a, L lda,
                                         const stored *b, L ldb, shape s, int row, int column) {
#pragma unroll (UNROLL / KV)
  for (int p = 0; p < @{ALG == "shared" and "DEPTH" or "s.k"}; p += KV) {
    wide as[KV][TM], bs[KV][TN];
    fetch<A_ALONG_K, TM, MV, PM>(as, a, lda, p, row, s.m);
    fetch<B_ALONG_K, TN, NV, PN>(bs, b, ldb, p, column, s.n);
#pragma unroll
    for (int q = 0; q < KV; q++) {
#pragma unroll
      for (int i = 0; i < TM; i++) {
#pragma unroll
        for (int j = 0; j < TN; j++) c[i][j] += as[q][i] * bs[q][j];
      }
    }
  }
}

// ---- the result --------------------------------------------------------------------------------

struct result {
  wide alpha, beta;
  matrices<stored> C;
  const stored *scales, *biases;

  // V elements of a column; with beta 0, C is not read.
  template <int V>
  __device__ __forceinline__ void put(const wide (&sum)[V], long long matrix, int row,
                                      int column) const {
    vector<V> *to = reinterpret_cast<vector<V> *>(C[matrix] + column * C.ld + row);
    vector<V> v = vector<V>();
    if (beta != 0) v = *to;
#pragma unroll
    for (int e = 0; e < V; e++) {
      v.e[e] = epilogue(alpha * sum[e] + beta * v.e[e], row + e, column, scales, biases);
    }
    *to = v;
  }
};

@ if STORE == "direct" then
__device__ __forceinline__ void store(const wide (&c)[TM][TN], const result &to, long long matrix,
                                      shape s, int row, int column) {
#pragma unroll
  for (int j = 0; j < TN; j++) {
    const int y = index_of<NV, PN>(column, j);
#pragma unroll
    for (int i = 0; i < TM; i += MV) {
      const int x = index_of<MV, PM>(row, i);
      wide v[MV];
#pragma unroll
      for (int e = 0; e < MV; e++) v[e] = c[i + e][j];
      if (y < s.n && x < s.m) to.put(v, matrix, x, y);
    }
  }
}
@ else
// The group's sums lie in shared memory as the matrices of C would without gaps.
__device__ __forceinline__ void store(const wide (&c)[TM][TN], stored *sums, shape s, int row,
                                      int column) {
#pragma unroll
  for (int j = 0; j < TN; j++) {
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const int x = index_of<MV, PM>(row, i), y = index_of<NV, PN>(column, j);
      if (x < s.m && y < s.n) sums[y * s.m + x] = c[i][j];
    }
  }
}

@   if layout == "packed" then
// V of these from the i-th on; C has no gaps either, so vectors reach across columns and matrices.
template <int V>
__device__ __forceinline__ void put_run(const stored *sums, const result &to, stored *group, int i,
                                        shape s) {
  const int size = s.m * s.n;
  vector<V> v = vector<V>(), *there = reinterpret_cast<vector<V> *>(group + i);
  const vector<V> sum = *reinterpret_cast<const vector<V> *>(sums + i);
  if (to.beta != 0) v = *there;
#pragma unroll
  for (int e = 0; e < V; e++) {
    const int at = (i + e) % size;
    v.e[e] = epilogue(to.alpha * sum.e[e] + to.beta * v.e[e], at % s.m, at / s.m, to.scales, to.biases);
  }
  *there = v;
}

__device__ __forceinline__ void store_group(const stored *sums, const result &to, long long first,
                                            int matrices, shape s) {
  constexpr int V = @{GROUP * m * n % VEC == 0 and VEC or 1};
  const int all = matrices * s.m * s.n, whole = all / V * V;
  stored *group = to.C[first];
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) put_run<V>(sums, to, group, i, s);
  for (int i = whole + threadIdx.x; i < all; i += BLOCK) put_run<1>(sums, to, group, i, s);
}
@   else
__device__ __forceinline__ void store_group(const stored *sums, const result &to, long long first,
                                            int matrices, shape s) {
  const int size = s.m * s.n;
  for (int i = threadIdx.x; i < matrices * size; i += BLOCK) {
    const wide v[1] = {sums[i]};
    to.put(v, first + i / size, i % size % s.m, i % size / s.m);
  }
}
@   end
@ end

@ if ALG == "shared" then
// ---- a group's matrices to shared memory -------------------------------------------------------

// COLS columns of ROWS elements a matrix, `offset` from its beginning on; LD and SIZE as they lie
// there.
template <int ROWS, int COLS, int LD, int SIZE>
__device__ __forceinline__ void copy(stored *to, const matrices<const stored> &all,
                                     long long first, int count, long long offset) {
  constexpr bool RUN = @{layout == "packed" and SLICE == 0};  // in global memory one run of vectors
  constexpr bool DENSE = LD == ROWS && SIZE == ROWS * COLS;
  constexpr int ALL = GROUP * ROWS * COLS;
  const int room = count * ROWS * COLS;
  const stored *group = all[first];
#pragma unroll
  for (int c = 0; c < (ALL + BLOCK * VEC - 1) / (BLOCK * VEC); c++) {
    const int i = (c * BLOCK + threadIdx.x) * VEC;
    if (i >= room) break;
    const int matrix = GROUP == 1 ? 0 : i / (ROWS * COLS), row = i % ROWS;
    const int column = GROUP == 1 ? i / ROWS : i / ROWS % COLS;
    const stored *from = RUN ? group + i : all[first + matrix] + column * all.ld + row + offset;
    stored *place = to + (DENSE ? i : matrix * SIZE + column * LD + row);
    if (i + VEC > room) {  // the last matrix ends within this vector
      for (int e = 0; i + e < room; e++) place[e] = from[e];
      break;
    }
@   if LOADER == "cpasync" then
    cp_async<VEC * WIDTH>(shared_address(place), from, VEC * WIDTH);
@   else
    *reinterpret_cast<vector<VEC> *>(place) = *reinterpret_cast<const vector<VEC> *>(from);
@   end
  }
}
@ end

// With alpha 0, BLAS does not look at A and B.
extern "C" __global__ void __launch_bounds__(BLOCK)
gemm_batched(int m, int n, int k, double alpha, const stored *__restrict__ A, long long lda,
             long long stride_a, const stored *__restrict__ B, long long ldb, long long stride_b,
             double beta, stored *C, long long ldc, long long stride_c, long long batch,
             const long long *offsets_a, const long long *offsets_b, const long long *offsets_c,
             const stored *scales, const stored *biases) {
  const shape s(m, n, k);
@ local known = layout == "packed" and EXACT == 1  -- then the distances are constants too
@ local ld_a, ld_b = ta == "n" and m or k, tb == "n" and k or n
  const matrices<const stored> as = {A, @{known and ld_a or "lda"},
                                     @{known and m * k or "stride_a"}, offsets_a};
  const matrices<const stored> bs = {B, @{known and ld_b or "ldb"},
                                     @{known and k * n or "stride_b"}, offsets_b};
  const matrices<stored> cs = {C, @{known and m or "ldc"}, @{known and m * n or "stride_c"},
                               offsets_c};
  const result to = {(wide)alpha, (wide)beta, cs, scales, biases};
  const int mine = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
  const int row = thread % PM, column = thread / PM;
  stored *shared = reinterpret_cast<stored *>(memory);
@ if ALG == "shared" then
@   local size_a = ta == "n" and "A_HIGH, DEPTH" or "A_HIGH, shape::m"
@   local size_b = tb == "n" and "B_HIGH, shape::n" or "B_HIGH, DEPTH"
  constexpr int SLICES = @{SLICE == 0 and 1 or k // SLICE};
  const long long step = (long long)gridDim.x * GROUP;
  long long next = (long long)blockIdx.x * GROUP;  // what is copied next
  int slice = 0;
  const auto load = [&](int stage) {
    const int count = (int)min((long long)GROUP, batch - next);
    stored *at = shared + stage * STAGE;
    if (count > 0 && alpha != 0 && s.k > 0) {
      copy<@{size_a}, A_LD, A_SIZE>(at, as, next, count, slice * DEPTH * (A_ALONG_K ? 1 : as.ld));
      copy<@{size_b}, B_LD, B_SIZE>(at + B_AT, bs, next, count,
                                    slice * DEPTH * (B_ALONG_K ? 1 : bs.ld));
    }
    if (++slice == SLICES) {
      slice = 0;
      next += step;
    }
  };
@   if PAD > 0 or SKEW > 0 or m * DEPTH % 4 > 0 or DEPTH * n % 4 > 0 then
  // The compiler may read what nobody copies to, along with its neighbours.
  for (int i = threadIdx.x; i < STAGES * STAGE; i += BLOCK) shared[i] = 0;
  __syncthreads();
@   end
@   if STAGES > 1 then
  int stage = 0, fill = STAGES - 1;
#pragma unroll
  for (int ahead = 0; ahead < STAGES - 1; ahead++) {
    load(ahead);
    cp_async_commit();
  }
@   end
@ else
  const long long step = (long long)gridDim.x * GROUP;
@ end
#pragma unroll 1
  for (long long first = (long long)blockIdx.x * GROUP; first < batch; first += step) {
    const bool here = threadIdx.x < THREADS * GROUP && first + mine < batch;
    wide c[TM][TN] = {};
@ if ALG == "shared" then
#pragma unroll 1
    for (int part = 0; part < SLICES; part++) {
@   if STAGES > 1 then
      cp_async_wait<STAGES - 2>();
      __syncthreads();
      load(fill);
      cp_async_commit();
      const stored *at = shared + stage * STAGE;
      stage = stage + 1 == STAGES ? 0 : stage + 1;
      fill = fill + 1 == STAGES ? 0 : fill + 1;
@   else
      load(0);
@     if LOADER == "cpasync" then
      cp_async_commit();
      cp_async_wait<0>();
@     end
      __syncthreads();
      const stored *at = shared;
@   end
      if (here && alpha != 0) {
        multiply(c, at + mine * A_SIZE, A_LD, at + B_AT + mine * B_SIZE, B_LD, s, row, column);
      }
@   if STAGES == 1 and (BLOCKS > 0 or SLICE > 0) then
      __syncthreads();  // the next ones take these ones' place
@   end
    }
@ else
    if (here && alpha != 0) {
      multiply(c, as[first + mine], as.ld, bs[first + mine], bs.ld, s, row, column);
    }
@ end
@ if STORE == "direct" then
    if (here) store(c, to, first + mine, s, row, column);
@ else
    stored *sums = shared + @{ALG == "shared" and "STAGES * STAGE" or "0"};
    if (here) store(c, sums + mine * s.m * s.n, s, row, column);
    __syncthreads();
    store_group(sums, to, first, (int)min((long long)GROUP, batch - first), s);
@ end
@ if BLOCKS > 0 and STORE == "shared" then
    __syncthreads();  // the next group's sums take these ones' place
@ end
  }
}
]],

  -- One thread per element of C, accumulating in double.
  reference = {
    stages = {
      { kernel = "reference", grid = "min(2^20, ceildiv(batch * m * n, 256))", block = 256,
        args = { "m", "n", "k", "alpha", "A", "lda", "stride_a", "B", "ldb", "stride_b", "beta",
          "C", "ldc", "stride_c", "batch", "offsets_a", "offsets_b", "offsets_c", "scales",
          "biases" } },
    },
    source = [[
@include "ptx.cuh"
@include "numbers.cuh"
@include "epilogue.cuh"

extern "C" __global__ void reference(int m, int n, int k, double alpha, const stored *A,
                                     long long lda, long long stride_a, const stored *B,
                                     long long ldb, long long stride_b, double beta, stored *C,
                                     long long ldc, long long stride_c, long long batch,
                                     const long long *offsets_a, const long long *offsets_b,
                                     const long long *offsets_c, const stored *scales,
                                     const stored *biases) {
  const long long all = batch * m * n;
  for (long long t = blockIdx.x * 256ll + threadIdx.x; t < all; t += gridDim.x * 256ll) {
    const long long matrix = t / (m * n), i = t % m, j = t / m % n;
@ if layout == "pointers" then
    const stored *a = (const stored *)((const char *)A + offsets_a[matrix]);
    const stored *b = (const stored *)((const char *)B + offsets_b[matrix]);
    stored *c = (stored *)((char *)C + offsets_c[matrix]) + i + j * ldc;
@ else
    const stored *a = A + matrix * stride_a, *b = B + matrix * stride_b;
    stored *c = C + matrix * stride_c + i + j * ldc;
@ end
    double sum = 0;
    for (long long p = 0; alpha != 0 && p < k; p++) {
      sum += (double)a[@{ta == "n" and "i + p * lda" or "p + i * lda"}] *
             b[@{tb == "n" and "p + j * ldb" or "j + p * ldb"}];
    }
    const double before = beta == 0 ? 0 : beta * *c;
    *c = (stored)epilogue(alpha * sum + before, i, j, scales, biases);
  }
}
]],
  },

  cases = {
    {},
    { alpha = -0.75, beta = 0.5 },
    { alpha = 0, beta = -1 },
  },

  -- Adding up k products of numbers uniform in [-1, 1] with rounding error u stays below 4 u k, as
  -- sgemm.lua derives; the reference of f64 errs likewise. The epilogue's functions stretch errors
  -- by less than 1.2 and in f32 err by less than 2^-20 themselves, as gemv.lua says.
  tolerance = {
    abs = "sel(dtype == 'f64', 2.0^-50, 2.0^-22) * (k + 1) * 1.25 "
      .. "+ sel(act == 'none', 0, sel(dtype == 'f64', 2.0^-50, 2.0^-20))",
    rel = "sel(dtype == 'f64', 2.0^-50, 2.0^-21)",
  },

  flops = "2 * batch * m * n * k",
  bytes = "(" .. NBYTES .. ") * batch * (m * k + k * n + m * n)",

  sizes = {
    emu = { "m=5 batch=41", "m=7 n=3 k=9 ta=t tb=t batch=13", "m=13 batch=6 dtype=f64",
      "m=12 n=20 k=8 batch=7 layout=strided scale=row act=gelu",
      "m=12 n=8 k=16 batch=9 layout=pointers tb=t bias=column act=relu" },
    test = { "m=0 n=4", "m=33 n=20 k=40 batch=99", "m=3 k=0 batch=100", "m=4 batch=0", "m=1 batch=1000", "m=4 batch=10001",
      "m=5 batch=10001 ta=t", "m=7 batch=1003 tb=t", "m=13 batch=501 dtype=f64", "m=23 batch=1000",
      "m=32 batch=1000 ta=t tb=t", "m=32 n=16 k=64 batch=333 layout=strided",
      "m=17 n=16 batch=777 layout=pointers ta=t", "m=64 batch=200",
      "m=128 batch=150", "m=16 batch=3000 bias=row scale=column act=gelu_erf" },
    bench = { "m=4 batch=4000000", "m=5 batch=2500000", "m=7 batch=1250000", "m=8 batch=1000000",
      "m=13 batch=400000", "m=16 batch=250000", "m=23 batch=120000", "m=24 batch=110000",
      "m=32 batch=65536", "m=48 batch=28000", "m=64 batch=16384", "m=96 batch=7000",
      "m=128 batch=4096", "m=8 batch=500000 dtype=f64", "m=16 batch=1000", "m=16 batch=250000 ta=t" },
  },
}
