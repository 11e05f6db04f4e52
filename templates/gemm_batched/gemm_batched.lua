-- gemm_batched: C = alpha op(A) op(B) + beta C for each of many small matrices, column-major.
--
-- PM x PN threads compute a matrix of C, each TM x TN elements of it in registers; a block computes GROUP matrices
-- at a time. Small matrices are limited by memory bandwidth: with ALG=shared a block copies A and B of its group to
-- shared memory as one run of vectors, whatever the size of a matrix is (if matrices are packed), STAGES deep; with
-- ALG=direct threads read them in place. With ALG=mma a block multiplies a matrix of doubles on tensor cores. With
-- EXACT=1 the sizes are constants of the kernel, so that loops unroll and divisions become multiplications.

-- Expressions that several places use.
local NBYTES = "sel(dtype == 'f64', 8, 4)"
local A_ROWS, A_COLS = "sel(ta == 'n', m, k)", "sel(ta == 'n', k, m)" -- as they lie in memory
local B_ROWS, B_COLS = "sel(tb == 'n', k, n)", "sel(tb == 'n', n, k)"
local GROUPS = "ceildiv(batch, GROUP)"
-- What a block does, in all its groups: elements of A and B, multiplications of a thread or warp, steps along k, and
-- elements of C.
local LOOPS = "sel(BLOCKS == 0, 1, ceildiv(" .. GROUPS .. ", max(1, min(BLOCKS * dev_sms, " .. GROUPS .. "))))"
local WORK = { LOOPS .. " * GROUP * (m * k + k * n)", LOOPS .. " * M_NEEDED * N_NEEDED * k", LOOPS .. " * k",
  LOOPS .. " * GROUP * m * n * sel(beta_is == '0', 1, 2)" }
local PACKED = "lda == " .. A_ROWS .. " and ldb == " .. B_ROWS .. " and ldc == m"
local CONTIGUOUS = PACKED .. " and stride_a == m * k and stride_b == k * n and stride_c == m * n"
local GROUP_SIZES = { 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256 }
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

local SMEM_OF_BLOCK = { "the shared memory exceeds that of a block", "SMEM <= dev_smem_block" }
local SMEM_OF_BLOCKS = { "BLOCKS blocks exceed the shared memory of a multiprocessor",
  "BLOCKS <= 1 or BLOCKS * (SMEM + dev_smem_reserved) <= dev_smem_sm" }
local SUMS = "sel(STORE == 'shared', GROUP * m * n, 0)" -- elements of C in shared memory

local DIRECT = {
  space = {
    { "EXACT", { 1, 0 }, "1: the sizes are constants of the kernel" },
  },
  derive = {
    { "SMEM", "WIDTH * " .. SUMS },
  },
  require = {
    { "TILE > 0 needs PM == PN and 256 threads", "TILE == 0 or PM == PN and PM * PN * GROUP == 256" },
    { "TILE > 0 has one form for all sizes",
      "TILE == 0 or EXACT == 0 and KV == 1 and UNROLL == 4 and BLOCKS == 0 and STORE == 'direct'" },
    { "TILE * PM rows or TILE * PN columns are less than C has",
      "TILE == 0 or M_NEEDED <= TILE and N_NEEDED <= TILE" },
    { "m=0 and n=0 need PM=16, PN=16 and GROUP=1",
      "m > 0 and n > 0 or PM == 16 and PN == 16 and GROUP == 1" },
    { "A or B is not aligned to KV elements along k",
      "KV == 1 or (not A_ALONG_K or KV <= min(align, pow2div(k, 4))) "
        .. "and (not B_ALONG_K or KV <= min(align, pow2div(k, 4)))" },
    { "a loop of at most 32 steps has to be unrolled completely unless PM * PN == 256",
      "k > 32 or UNROLL >= k or PM * PN == 256", advice = true },
    SMEM_OF_BLOCK,
    SMEM_OF_BLOCKS,
  },
  default = { EXACT = 1 },
  source = "gemm_batched_direct.cu",
}

local SHARED = {
  space = {
    { "SLICE", { 0, 8, 16, 32 }, "elements along k in shared memory at a time; 0: all" },
    { "VEC", { 1, 2, 4 }, "elements per copy to shared memory" },
    { "LOADER", { "register", "cp_async" }, "copies through registers, or asynchronous ones" },
    { "STAGES", { 1, 2, 3 }, "groups or slices in shared memory" },
    { "PAD", { 0, 1, 2, 4 }, "elements between columns in shared memory that threads read along k" },
    { "SKEW", { 0, 4, 8 }, "elements between matrices in shared memory" },
  },
  derive = {
    -- A matrix in shared memory, or its slice along k: columns, and all of it.
    { "A_HIGH", "max(1, sel(A_ALONG_K, DEPTH, m))" },
    { "B_HIGH", "max(1, sel(B_ALONG_K, DEPTH, n))" },
    { "A_LD", "A_HIGH + sel(A_ALONG_K, PAD, 0)" },
    { "B_LD", "B_HIGH + sel(B_ALONG_K, PAD, 0)" },
    { "A_SIZE", "A_LD * sel(A_ALONG_K, m, DEPTH) + SKEW" },
    { "B_SIZE", "B_LD * sel(B_ALONG_K, n, DEPTH) + SKEW" },
    { "B_AT", "roundup(GROUP * A_SIZE, 4)" }, -- where B starts in a stage
    { "STAGE", "B_AT + roundup(GROUP * B_SIZE, 4)" },
    { "SMEM", "WIDTH * (STAGES * STAGE + " .. SUMS .. ")" },
  },
  require = {
    { "ALG=shared needs m > 0 and n > 0", "m > 0 and n > 0" },
    { "SLICE needs a k that is a larger multiple of it, and m * n >= 1600",
      "SLICE == 0 or k % SLICE == 0 and k > SLICE and m * n >= 1600" },
    { "columns or matrices in shared memory are not aligned to KV elements",
      "(not A_ALONG_K or A_LD % KV == 0 and A_SIZE % KV == 0) "
        .. "and (not B_ALONG_K or B_LD % KV == 0 and B_SIZE % KV == 0)" },
    { "A in shared memory is not aligned to a thread's vectors of rows", "A_SIZE % M_VEC == 0" },
    { "B in shared memory is not aligned to a thread's vectors of columns", "B_SIZE % N_VEC == 0" },
    { "PAD > 0 needs A or B contiguous along k", "A_ALONG_K or B_ALONG_K or PAD == 0" },
    { "PAD avoids bank conflicts only if it equals KV and k (or SLICE) is a multiple of 2 * KV",
      "PAD == 0 or PAD == KV and DEPTH % (2 * KV) == 0" },
    { "a loop of at most 32 steps has to be unrolled completely", "DEPTH > 32 or UNROLL >= DEPTH" },
    { "VEC elements exceed align or 16 bytes", "VEC <= align and VEC * WIDTH <= 16" },
    { "GROUP matrices are not a multiple of VEC elements",
      "layout ~= 'packed' or SLICE > 0 or GROUP * m * k % VEC == 0 and GROUP * k * n % VEC == 0" },
    { "VEC does not divide the columns of A and B or their slices",
      "layout == 'packed' and SLICE == 0 or VEC <= pow2div(" .. A_ROWS .. ", 4) and VEC <= "
        .. "pow2div(" .. B_ROWS .. ", 4) and VEC <= pow2div(A_HIGH, 4) and VEC <= pow2div(B_HIGH, 4)" },
    { "VEC does not divide PAD and the columns in shared memory",
      "PAD == 0 or VEC == 1 or PAD % VEC == 0 and (not A_ALONG_K or DEPTH % VEC == 0) "
        .. "and (not B_ALONG_K or DEPTH % VEC == 0)" },
    { "VEC does not divide the matrices in shared memory, which PAD or SKEW separates",
      "SKEW == 0 and PAD == 0 or VEC == 1 or m * DEPTH % VEC == 0 and DEPTH * n % VEC == 0" },
    { "SKEW needs GROUP > 1 and PM * PN < 32", "SKEW == 0 or GROUP > 1 and THREADS < 32" },
    { "VEC is less than half of what the alignment allows",
      "PAD == 1 or GROUP % 4 > 0 or VEC * 2 >= min(align, 16 // WIDTH, "
        .. "sel(layout == 'packed', 4, min(pow2div(" .. A_ROWS .. ", 4), pow2div(" .. B_ROWS
        .. ", 4))))", advice = "search" },
    { "LOADER=cp_async needs compute capability 8.0", "LOADER == 'register' or dev_cc >= 80" },
    { "STAGES > 1 needs LOADER=cp_async, and BLOCKS > 0 or SLICE > 0",
      "STAGES == 1 or LOADER == 'cp_async' and (BLOCKS > 0 or SLICE > 0)" },
    SMEM_OF_BLOCK,
    SMEM_OF_BLOCKS,
  },
  default = { SLICE = 0, VEC = 1, LOADER = "register", STAGES = 1, PAD = 0, SKEW = 0 },
  source = "gemm_batched_shared.cu",
}

-- Tensor cores, of doubles: PM x PN are warps.
local MMA = {
  derive = {
    { "COPY", "sel(min(align, pow2div(" .. A_ROWS .. ", 4), pow2div(" .. B_ROWS .. ", 4)) >= 2, 2, 1)" }, -- elements
    { "M_TILES", "ceildiv(max(1, m), 16)" },
    { "N_TILES", "ceildiv(max(1, n), 8)" },
    { "K_WIDE", "roundup(k, 8)" },
    { "A_SIZE", "sel(A_ALONG_K, 16 * M_TILES * (K_WIDE + 4), K_WIDE * (16 * M_TILES + 4))" },
    { "B_SIZE", "sel(B_ALONG_K, 8 * N_TILES * (K_WIDE + 4), K_WIDE * (8 * N_TILES + 4))" },
    -- In shared memory at a time.
    { "MATRICES", "sel(BLOCKS == 0, 1, "
      .. "max(1, min(4, (dev_smem_sm // max(1, BLOCKS) - dev_smem_reserved) // (8 * (A_SIZE + B_SIZE)))))" },
    { "SMEM", "8 * MATRICES * (A_SIZE + B_SIZE)" },
  },
  require = {
    { "ALG=mma needs dtype=f64 and compute capability 9.0", "dtype == 'f64' and dev_cc >= 90" },
    { "reproducible=shape excludes ALG=mma: how tensor cores round is not documented", "not ONE_ORDER" },
    { "ALG=mma needs k > 8, and m and n > 8", "k > 8 and m > 8 and n > 8" },
    { "ALG=mma needs GROUP=1, KV=1, UNROLL=4 and STORE=direct",
      "GROUP == 1 and KV == 1 and UNROLL == 4 and STORE == 'direct'" },
    { "BLOCKS blocks have no room for two matrices each", "BLOCKS == 0 or MATRICES >= 2" },
    { "PM x PN warps exceed 16, or the 16 x 8 tiles of C", "PM * PN <= 16 and PM <= M_TILES and PN <= N_TILES" },
    { "a warp has more than eight tiles of 16 x 8", "ceildiv(M_TILES, PM) * ceildiv(N_TILES, PN) <= 8" },
    SMEM_OF_BLOCK,
  },
  source = "gemm_batched_mma.cu",
}

-- A thread's tile is large enough for any size, and accesses are of single elements.
local BASE = {}
for _, c in ipairs { { 4, 16, 1 }, { 8, 4, 1 }, { 16, 1, 1 }, { 16, 1, 2 }, { 16, 1, 4 }, { 16, 1, 8 } } do
  BASE[#BASE + 1] = { PM = c[1], PN = c[1], GROUP = c[2], EXACT = 0, TILE = c[3] }
end

-- For sizes without a tuned result: the tuned ones have one to two times the root of m * n threads for a matrix, and
-- about 128 in a block. Columns that threads read along k are padded.
local SUGGESTED = {}
local function group_of(threads, block)
  local group = 1
  for _, size in ipairs(GROUP_SIZES) do
    if size * threads <= (block or 128) then group = size end
  end
  return group
end
local function suggest(pm, pn, group, least, most, condition, config)
  local one = { ALG = "shared", PM = pm, PN = pn, GROUP = group, UNROLL = 32, LOADER = "cp_async",
    when = pm * pn * pm * pn .. " >= " .. least .. " and " .. pm * pn * pm * pn .. " <= " .. most .. condition }
  for name, value in pairs(config) do one[name] = value end
  SUGGESTED[#SUGGESTED + 1] = one
end
-- VEC=1 copies single elements.
local function suggest_threads(pm, pn, least, most)
  local group = group_of(pm * pn)
  suggest(pm, pn, group, least, most, " and ta == 'n'", { VEC = 4 })
  suggest(pm, pn, group, least, most, " and ta == 't'", { VEC = 1, KV = 4, PAD = 4 })
  suggest(pm, pn, group, least, most, " and ta == 't'", { VEC = 1, PAD = 1 })
  suggest(pm, pn, group, least, most, "", { VEC = 1 })
end
for _, c in ipairs { { 2, 2, 16, 32, 4 }, { 2, 4, 32, 64, 1 }, { 4, 4, 64, 128, 0 } } do
  for _, blocks in ipairs { c[5], 0 } do
    SUGGESTED[#SUGGESTED + 1] = { ALG = "mma", PM = c[1], PN = c[2], BLOCKS = blocks,
      when = "dtype == 'f64' and min(m, n, k) > " .. c[3] .. " and max(m, n) <= " .. c[4] }
  end
end
-- Fewer matrices than the device runs at a time: all the threads that help.
suggest(16, 16, 1, 0, "max(2^16, m * n)", " and batch <= 2 * dev_sms and m * n >= 512", { VEC = 1 })
for _, c in ipairs { { 16, 16 }, { 16, 8 }, { 16, 4 }, { 8, 8 }, { 8, 4 }, { 7, 4 }, { 4, 7 }, { 7, 3 }, { 3, 7 }, { 5, 4 },
  { 4, 4 }, { 5, 3 }, { 2, 8 }, { 8, 2 }, { 2, 4 }, { 1, 7 }, { 1, 5 }, { 1, 4 }, { 1, 3 }, { 1, 2 } } do
  suggest_threads(c[1], c[2], "m * n", "4 * m * n")
end
for _, c in ipairs { { 16, 8 }, { 16, 4 }, { 16, 2 }, { 8, 4 }, { 4, 4 }, { 2, 4 }, { 1, 4 }, { 4, 1 } } do
  suggest(c[1], c[2], group_of(c[1] * c[2]), "m * n // 4", "16 * m * n", "", { VEC = 1 })
end
-- Too few for such groups: a warp, or one, where the copies are worth it.
for _, c in ipairs { { 4, 4 }, { 5, 3 }, { 2, 4 }, { 1, 7 }, { 1, 5 }, { 1, 4 }, { 1, 3 }, { 1, 2 } } do
  suggest(c[1], c[2], group_of(c[1] * c[2], 32), "m * n", "4 * m * n", "", { VEC = 1 })
end
for _, c in ipairs { { 16, 4 }, { 8, 4 }, { 4, 4 }, { 16, 16 } } do
  suggest(c[1], c[2], 1, 0, "max(2^16, m * n)", " and m * n * k >= 4096", { VEC = 1 })
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
    { "scale", { "none", "row", "column" }, default = "none", like = "none",
      brief = "factors of the results, per row or column of C" },
    { "bias", { "none", "row", "column" }, default = "none", like = "none",
      brief = "summands of the scaled results, likewise" },
    { "act", { "none", "relu", "gelu", "gelu_erf" }, default = "none", like = "none",
      brief = "function of the sum, applied last" },
    { "alpha_is", { "1", "any" }, default = "1", class = true,
      brief = "alpha that kernels are tuned with; they compute with every alpha" },
    { "beta_is", { "0", "1", "any" }, default = "0", class = true,
      brief = "beta, likewise; C is read unless it is 0" },
    -- Every configuration adds an element's products one after the other along k, so none is excluded.
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: of an element also whatever the other sizes, its "
        .. "place and layouts" },
  },

  args = {
    { "m", "i32", value = "m" },
    { "n", "i32", value = "n" },
    { "k", "i32", value = "k" },
    { "alpha", "f64", sample = "sel(alpha_is == '1', 1, -0.75)" },
    { "A", "dtype", "in", count = count("lda", "stride_a", A_ROWS, A_COLS),
      fill = { "uniform", -1, 1 }, optional = "layout == 'pointers'" },
    { "lda", "i64", sample = leading(A_ROWS) },
    { "stride_a", "i64", sample = stride("lda", A_ROWS, A_COLS), brief = "from one A to the next" },
    { "B", "dtype", "in", count = count("ldb", "stride_b", B_ROWS, B_COLS),
      fill = { "uniform", -1, 1 }, optional = "layout == 'pointers'" },
    { "ldb", "i64", sample = leading(B_ROWS) },
    { "stride_b", "i64", sample = stride("ldb", B_ROWS, B_COLS) },
    { "beta", "f64", sample = "sel(beta_is == '0', 0, sel(beta_is == '1', 1, 0.5))" },
    -- With beta 0, C is not read: it may hold a NaN.
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
      .. "pow2div(stride_c, 4))))",
    alpha_is = "sel(alpha == 1, '1', 'any')",
    beta_is = "sel(beta == 0, '0', sel(beta == 1, '1', 'any'))",
    -- With alpha 0, A and B are not read: they may hold NaNs.
    k = "sel(alpha == 0, 0, k)" },

  call_require = {
    { "lda is less than the rows of A", "lda >= " .. A_ROWS },
    { "ldb is less than the rows of B", "ldb >= " .. B_ROWS },
    { "ldc is less than the rows of C", "ldc >= m" },
  },

  space = {
    { "ALG", { "shared", "direct", "mma" },
      "how A and B are read: by way of shared memory, in place, or (mma) from shared memory by tensor cores" },
    { "TILE", { 0, 1, 2, 4, 8 }, "sides of a thread's tile of C; 0: what m / PM and n / PN need",
      when = "ALG == 'direct'" },
    { "PM", THREADS, "threads along the rows of a matrix of C; with ALG=mma warps" },
    { "PN", THREADS, "threads along its columns, likewise" },
    { "GROUP", GROUP_SIZES,
      "matrices that a block computes at a time" },
    { "KV", { 1, 2, 4 }, "steps along k at a time" },
    { "UNROLL", { 4, 8, 16, 32 }, "steps along k unrolled" },
    { "BLOCKS", { 0, 1, 2, 4, 8 },
      "persistent blocks per multiprocessor, which loop over groups; 0: a block per group" },
    { "STORE", { "direct", "shared" }, "how C is written: from registers, or by way of shared memory" },
  },

  derive = {
    { "WIDTH", NBYTES },
    { "ONE_ORDER", "reproducible == 'shape'" }, -- one way to combine alpha, sum, beta and C
    { "EXACT_M", "sel(EXACT == 1, max(1, m), 0)" },
    { "EXACT_N", "sel(EXACT == 1, max(1, n), 0)" },
    { "EXACT_K", "sel(EXACT == 1, k, 0)" },
    { "M_NEEDED", "ceildiv(max(1, m), PM)" }, -- rows and columns of C per thread
    { "N_NEEDED", "ceildiv(max(1, n), PN)" },
    { "TM", "sel(TILE == 0, M_NEEDED, TILE)" },
    { "TN", "sel(TILE == 0, N_NEEDED, TILE)" },
    { "THREADS", "PM * PN * sel(ALG == 'mma', 32, 1)" }, -- of a matrix
    { "BLOCK", "roundup(THREADS * GROUP, 32)" },
    { "A_ALONG_K", "ta == 't'" },
    { "B_ALONG_K", "tb == 'n'" },
    -- Neighbouring rows or columns of a thread that are neighbours in memory.
    { "M_VEC", "sel(A_ALONG_K, 1, min(pow2div(M_NEEDED, 4), pow2div(m, 4), align, 16 // WIDTH))" },
    { "N_VEC", "sel(B_ALONG_K, 1, min(pow2div(N_NEEDED, 4), pow2div(n, 4), align, 16 // WIDTH))" },
    { "MV", "sel(TILE == 0, M_VEC, 1)" },
    { "NV", "sel(TILE == 0, N_VEC, 1)" },
    { "DEPTH", "sel(SLICE == 0, k, SLICE)" }, -- steps along k without a barrier
    { "REGISTERS", "WIDTH // 4 * (M_NEEDED * N_NEEDED + KV * (M_NEEDED + N_NEEDED)) + 24" }, -- an estimate
  },

  -- PM=16, PN=16, GROUP=1 and ALG=direct serve every size.
  require = {
    { "PM * PN * GROUP threads exceed the device's threads per block", "BLOCK <= dev_threads_block" },
    { "a tile of m / PM x n / PN elements exceeds the registers of a thread",
      "ALG == 'mma' or WIDTH // 4 * M_NEEDED * N_NEEDED <= 128 and REGISTERS <= 255" },
    { "the tiles of PM * PN * GROUP threads exceed the registers of a block",
      "ALG == 'mma' or roundup(BLOCK, 128) * min(REGISTERS, 255) <= dev_regs_block or PM * PN == 256" },
    { "PM threads waste too many on m rows: PM has to be 16, or to divide m (unless m % 4 > 0: nearly)",
      "ALG == 'mma' or PM == 16 or (PM == 1 or sel(m % 4 == 0, m % PM == 0, 8 * PM * M_NEEDED <= 9 * m)) "
        .. "and ceildiv(max(1, m), M_NEEDED) == PM", advice = true },
    { "PN threads waste too many on n columns: PN has to be 16, or to divide n (unless n % 4 > 0: nearly)",
      "ALG == 'mma' or PN == 16 or (PN == 1 or sel(n % 4 == 0, n % PN == 0, 8 * PN * N_NEEDED <= 9 * n)) "
        .. "and ceildiv(max(1, n), N_NEEDED) == PN", advice = true },
    { "the sides m / PM and n / PN of a thread's tile differ more than eightfold",
      "ALG == 'mma' or M_NEEDED <= 8 * N_NEEDED and N_NEEDED <= 8 * M_NEEDED or m * n <= 256" },
    { "PM * PN * GROUP threads leave more than an eighth of the warps' lanes idle",
      "8 * THREADS * GROUP >= 7 * BLOCK or GROUP == 1" },
    { "fewer than 64 threads per block need at most 32 matrices per multiprocessor",
      "BLOCK >= 64 or batch <= 32 * dev_sms" },
    { "groups of GROUP matrices are fewer than the multiprocessors",
      "GROUP == 1 or (GROUP - 1) * dev_sms < batch" },
    { "KV does not divide k (or SLICE), or KV elements exceed 16 bytes",
      "DEPTH % KV == 0 and KV * WIDTH <= 16" },
    { "KV > 1 needs A or B contiguous along k", "A_ALONG_K or B_ALONG_K or KV == 1" },
    { "UNROLL is not a multiple of KV", "UNROLL % KV == 0" },
    { "UNROLL is at least twice k (or SLICE)", "UNROLL == 4 or UNROLL < 2 * DEPTH", advice = "search" },
    { "the unrolled loop exceeds the instruction cache", "ALG == 'mma' or UNROLL * M_NEEDED * N_NEEDED <= 4096" },
    { "BLOCKS blocks per multiprocessor exceed its threads, or leave none a second group",
      "BLOCKS == 0 or BLOCKS * dev_sms < " .. GROUPS .. " and BLOCK * BLOCKS <= dev_threads_sm" },
  },

  default = { ALG = "direct", TILE = 0, PM = 16, PN = 16, GROUP = 1, KV = 1, UNROLL = 4, BLOCKS = 0, STORE = "direct" },
  base = BASE,
  untuned = SUGGESTED,

  algorithms = { shared = SHARED, direct = DIRECT, mma = MMA },

  stages = {
    { kernel = "gemm_batched",
      grid = "sel(m * n == 0, 0, sel(BLOCKS == 0, " .. GROUPS .. ", min(BLOCKS * dev_sms, " .. GROUPS
        .. ")))",
      block = "BLOCK", smem = "SMEM", work = WORK,
      args = { "m", "n", "k", "alpha", "A", "lda", "stride_a", "B", "ldb", "stride_b", "beta", "C",
        "ldc", "stride_c", "batch", "offsets_a", "offsets_b", "offsets_c", "scales",
        "biases" } },
  },

  reference = {
    stages = {
      { kernel = "reference", grid = "min(2^20, ceildiv(batch * m * n, 256))", block = 256,
        args = { "m", "n", "k", "alpha", "A", "lda", "stride_a", "B", "ldb", "stride_b", "beta",
          "C", "ldc", "stride_c", "batch", "offsets_a", "offsets_b", "offsets_c", "scales",
          "biases" } },
    },
    source = "gemm_batched_reference.cu",
  },

  cases = {
    {},
    { alpha = -0.75, beta = 0.5 },
    { alpha = 0, beta = -1 },
    { beta = "sel(beta_is == '0', -1, 0)" },
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
  bytes = "(" .. NBYTES .. ") * batch * (m * k + k * n + sel(beta_is == '0', 1, 2) * m * n)",

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
