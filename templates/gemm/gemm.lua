-- gemm: C = alpha op(A) op(B) + beta C by tensor cores, column-major: 16-bit numbers added up in f32,
-- or f64. (Single precision is sgemm.)
--
-- A block computes a BM x BN tile of C, a warp WM x WN of it, in accumulators of 16 x 8 (mma). Along k
-- the block walks in tiles of BK, copied to shared memory STAGES deep as they lie in memory; ldmatrix
-- turns 16-bit operands on the way to registers, doubles are read one by one. Where C has few tiles,
-- SPLITK blocks share a tile's k and add up through a workspace. ALG wgmma lets warpgroups multiply
-- what tensor maps have copied: see warpgroup.cuh; where these cannot be, because addresses or leading
-- dimensions are odd, after a launch that packs A and B. ALG plain is the textbook's tiled kernel: it
-- serves any device.

-- Expressions that several places use.
local NBYTES = "sel(dtype == 'f64', 8, 2)"
local C_NBYTES = "sel(ctype == 'f64', 8, sel(ctype == 'f32', 4, 2))"
local TILES = "(ceildiv(m, BM) * ceildiv(n, BN))"
local A_EXTENT = "sel(ta == 'n', m, k)" -- of a column of A and of B in memory
local B_EXTENT = "sel(tb == 'n', k, n)"
local A_COLUMNS, B_COLUMNS = "sel(ta == 'n', k, m)", "sel(tb == 'n', n, k)"
local PLAIN, WGMMA = "ALG == 'plain'", "ALG == 'wgmma'"
local NO_MMA, NO_WGMMA = "ALG ~= 'mma'", "ALG ~= 'wgmma'"

-- For problems that nobody tuned: warpgroups where there are any, with the largest tiles that occupy the
-- device or, of few tiles, with shares of k; else warps.
local SUGGESTED = {}

local function suggest_warpgroups(bm, bn, queue, condition, more)
  for _, depth in ipairs { queue, 3 } do -- k may be short
    local one = { when = "dev_cc == 90 and dtype ~= 'f64' and ceildiv(m, " .. bm .. ") * ceildiv(n, "
      .. bn .. ")" .. condition, ALG = "wgmma", BM = bm, BN = bn, GROUPS = bn // 64, QUEUE = depth }
    for name, value in pairs(more or {}) do one[name] = value end
    SUGGESTED[#SUGGESTED + 1] = one
  end
end

suggest_warpgroups(256, 128, 4, " >= 3 * dev_sms", { RASTER = 8, CLUSTER = "columns" })
for _, tile in ipairs { { 256, 128, 4 }, { 128, 128, 6 }, { 64, 128, 7 } } do
  suggest_warpgroups(tile[1], tile[2], tile[3], " * 10 >= dev_sms * 9")
end
suggest_warpgroups(128, 64, 8, " * 5 >= dev_sms * 2")
for _, splits in ipairs { 8, 6, 4, 3, 2 } do
  suggest_warpgroups(128, 64, 6, " * " .. splits .. " <= dev_sms", { SPLITK = splits })
end
suggest_warpgroups(64, 64, 8, " <= 4", { SPLITK = 32 })
suggest_warpgroups(64, 64, 8, " > 0")

local function suggest_warps(condition, config)
  for _, edge in ipairs { "whole", "guarded" } do
    local one = { when = condition, ALG = "mma", EDGE = edge, STORE = "shared" }
    for name, value in pairs(config) do one[name] = value end
    SUGGESTED[#SUGGESTED + 1] = one
  end
end

for _, vec in ipairs { 8, 4, 2, 1 } do
  local condition = "dtype ~= 'f64' and align == " .. vec
  suggest_warps(condition .. " and ceildiv(m, 128) * ceildiv(n, 128) >= dev_sms", { BM = 128, BN = 128,
    WM = 64, WN = 32, BK = 32, VEC = vec, STAGES = 3, LAYOUT = "swizzled" })
  suggest_warps(condition, { BM = 64, BN = 64, WM = 32, WN = 32, BK = 32, VEC = vec, STAGES = 3,
    LAYOUT = "swizzled" })
  suggest_warps(condition, { BM = 32, BN = 32, WM = 16, WN = 16, BK = 32, VEC = vec })
end
for _, step in ipairs { 16, 4 } do
  suggest_warps("dtype == 'f64' and align >= 2", { BM = 64, BN = 64, WM = 32, WN = 32, BK = 16,
    STEP = step, VEC = 2, STAGES = 3 })
  suggest_warps("dtype == 'f64' and align == 1", { BM = 64, BN = 64, WM = 32, WN = 32, BK = 16,
    STEP = step, VEC = 1, STAGES = 3 })
end

local PERSISTENT = "min(CLUSTERS * SPLITK, dev_sms // BLOCKS) * BLOCKS"
local ALL_TILES = "sel(WGMMA, CLUSTERS * BLOCKS, " .. TILES .. ")"

-- Operands as copies of tiles see them.
local function tiles_of_a(matrix, ld)
  return { tensor = matrix, dims = { A_EXTENT, A_COLUMNS }, strides = { ld },
    box = { 64, "sel(A_ALONG_K, BM, 64) // sel(A_HALVED, 2, 1)" }, swizzle = 128 }
end
local function tiles_of_b(matrix, ld)
  return { tensor = matrix, dims = { B_EXTENT, B_COLUMNS }, strides = { ld },
    box = { 64, "sel(B_ALONG_K, BN, 64) // sel(B_HALVED, 2, 1)" }, swizzle = 128 }
end

local reference_args = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales",
  "biases" }

return {
  name = "gemm",
  version = 1,
  brief = "C = alpha op(A) op(B) + beta C by tensor cores: bf16, f16, f64; column-major",
  cite = "BLAS level 3; PTX ISA, mma, ldmatrix, wgmma and cp.async.bulk.tensor; Hwu, Kirk, El Hajj, "
    .. "Programming Massively Parallel Processors, ch. 5, 6",

  problem = {
    { "m", 0, 2^30, default = 4096, brief = "rows of C and op(A)" },
    { "n", 0, 2^30, default = "m", brief = "columns of C and op(B)" },
    { "k", 0, 2^30, default = "m", brief = "columns of op(A), rows of op(B)" },
    { "ta", { "n", "t" }, default = "n", brief = "op(A): n as it is, t transposed" },
    { "tb", { "n", "t" }, default = "n", brief = "op(B)" },
    { "dtype", { "bf16", "f16", "f64" }, default = "bf16",
      brief = "type of A and B; 16-bit ones are added up in f32" },
    { "ctype", { "bf16", "f16", "f64", "f32" }, default = "dtype",
      brief = "type of C: that of A and B, or for 16-bit ones f32" },
    { "align", { 8, 4, 2, 1 },
      default = "min(pow2div(" .. A_EXTENT .. ", 8), pow2div(" .. B_EXTENT .. ", 8), "
        .. "pow2div(m, 8))",
      brief = "elements to which A, B, C and their leading dimensions are aligned" },
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
    { "A", "dtype", "in", count = "lda * max(0, sel(ta == 'n', k, m) - 1) + " .. A_EXTENT,
      fill = { "uniform", -1, 1 } },
    { "lda", "i64", sample = "roundup(max(1, " .. A_EXTENT .. "), align)" },
    { "B", "dtype", "in", count = "ldb * max(0, sel(tb == 'n', n, k) - 1) + " .. B_EXTENT,
      fill = { "uniform", -1, 1 } },
    { "ldb", "i64", sample = "roundup(max(1, " .. B_EXTENT .. "), align)" },
    { "beta", "f64", sample = 0 },
    -- With beta 0 what C held does not matter, not even a NaN.
    { "C", "ctype", "inout", count = "ldc * max(0, n - 1) + m", fill = { "uniform", -1, 1 },
      overwritten = "beta == 0" },
    { "ldc", "i64", sample = "roundup(max(1, m), align)" },
    { "scales", "ctype", "in", count = "sel(scale == 'none', 0, sel(scale == 'row', m, n))",
      fill = { "uniform", -1, 1 }, optional = "scale == 'none'" },
    { "biases", "ctype", "in", count = "sel(bias == 'none', 0, sel(bias == 'row', m, n))",
      fill = { "uniform", -1, 1 }, optional = "bias == 'none'" },
  },

  call = { "ta", "tb", "dtype", "ctype", "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C",
    "ldc",
    align = "min(pow2div(A // (" .. NBYTES .. "), 8), pow2div(B // (" .. NBYTES .. "), 8), "
      .. "pow2div(C // (" .. C_NBYTES .. "), 8), pow2div(lda, 8), pow2div(ldb, 8), "
      .. "pow2div(ldc, 8))" },

  call_require = {
    { "lda is less than the rows of A", "lda >= max(1, " .. A_EXTENT .. ")" },
    { "ldb is less than the rows of B", "ldb >= max(1, " .. B_EXTENT .. ")" },
    { "ldc is less than the rows of C", "ldc >= max(1, m)" },
    { "C is neither of the type of A and B nor, these having 16 bits, f32",
      "ctype == dtype or ctype == 'f32' and dtype ~= 'f64'" },
  },

  space = {
    { "ALG", { "mma", "plain", "wgmma" },
      "tensor cores, by warps or (wgmma) warpgroups, or an element of C per thread" },
    { "BM", { 16, 32, 64, 96, 128, 192, 256 }, "rows of C per block" },
    { "BN", { 16, 32, 64, 96, 128, 192, 256 }, "columns of C per block" },
    { "WM", { 16, 32, 48, 64, 96, 128 }, "rows of C per warp", when = NO_WGMMA },
    { "WN", { 16, 32, 48, 64, 96, 128 }, "columns of C per warp", when = NO_WGMMA },
    { "BK", { 8, 16, 32, 64 }, "elements along k per tile", when = NO_WGMMA },
    { "EDGE", { "guarded", "whole" }, "tiles may cross the matrices' edges, or never do", when = NO_WGMMA },
    { "STEP", { 4, 8, 16 }, "elements along k per instruction", when = NO_WGMMA },
    { "VEC", { 1, 2, 4, 8 }, "elements per copy to shared memory", when = NO_WGMMA },
    { "STAGES", { 2, 3, 4, 5, 6 }, "tiles of A and B in shared memory", when = NO_WGMMA },
    { "LAYOUT", { "padded", "swizzled" }, "of the tiles there", when = NO_WGMMA },
    { "RASTER", { 1, 4, 8, 16 }, "rows of tiles that neighbouring blocks share" },
    { "SPLITK", { 1, 2, 3, 4, 6, 8, 16, 32 }, "blocks that share a tile's k" },
    { "FINISH", { "last_block", "two_launch" }, "how these add up", when = NO_WGMMA },
    { "STORE", { "direct", "shared" }, "C from registers, or by way of shared memory", when = NO_WGMMA },
    { "FRAGMENTS", { 1, 2 }, "register fragments: 2 reads ahead of the multiplications", when = NO_WGMMA },
    { "MINBLOCKS", { 1, 2, 3 }, "blocks per multiprocessor that registers must allow", when = NO_WGMMA },
    { "GROUPS", { 1, 2, 3 }, "warpgroups that multiply, each its columns of C", when = WGMMA },
    { "QUEUE", { 3, 4, 5, 6, 7, 8 }, "tiles of A and B in shared memory", when = WGMMA },
    { "PANELS", { 2, 4 }, "parts of C on their way to memory at a time, per warp", when = WGMMA },
    { "CLUSTER", { "none", "rows", "columns" }, "neighbours in C of which two blocks share copies",
      when = WGMMA },
  },

  derive = {
    { "WIDTH", NBYTES },
    { "WIDE", "sel(dtype == 'f64', 8, 4)" }, -- bytes of an accumulator
    { "WGMMA", WGMMA },
    { "PACKED", WGMMA .. " and align < 8" }, -- for tensor maps, which want multiples of 16 bytes
    { "PACKED_LDA", "roundup(max(1, " .. A_EXTENT .. "), 8)" },
    { "PACKED_LDB", "roundup(max(1, " .. B_EXTENT .. "), 8)" },
    { "THREADS", "sel(WGMMA, 128 * (GROUPS + 1), sel(ALG == 'plain', 256, "
      .. "32 * (BM // WM) * (BN // WN)))" },
    { "A_ALONG_K", "ta == 't'" },
    { "B_ALONG_K", "tb == 'n'" },
    { "PAD", "sel(LAYOUT == 'padded', sel(dtype == 'f64', 4, 8), 0)" }, -- elements between rows
    -- Elements of a tile in shared memory.
    { "A_TILE", "sel(A_ALONG_K, BM * (BK + PAD), BK * (BM + PAD))" },
    { "B_TILE", "sel(B_ALONG_K, BN * (BK + PAD), BK * (BN + PAD))" },
    { "STAGE", "A_TILE + B_TILE" },
    { "CV", "sel(ALG == 'plain', 1, min(align, pow2div(m, 8), 16 // (" .. C_NBYTES .. ")))" },
    -- Accumulators of up to 32 columns of a warp, on their way to C; rows apart by banks.
    { "JOINT", "pow2div(WN // 8, 4)" },
    { "SLICE", "8 * JOINT * (WM + 4)" },
    -- Tiles, panels of C, barriers.
    { "RING", "QUEUE * 128 * (BM + BN) + GROUPS * PANELS * 8192 + QUEUE * 16 + 1024" },
    { "SMEM", "sel(WGMMA, RING, sel(ALG == 'plain', 2 * 16 * 17 * WIDE, "
      .. "max(STAGES * STAGE * WIDTH, sel(STORE == 'shared', THREADS // 32 * SLICE * WIDE, 0))))" },
    -- What a block has at its launch, 65536 // THREADS per thread, is dealt out anew.
    { "LOADER_REGISTERS", "sel(GROUPS == 3, 32, 40)" },
    { "MULTIPLIER_REGISTERS", "sel(GROUPS == 3, 160, 232)" },
    { "BLOCKS", "sel(CLUSTER == 'none', 1, 2)" }, -- of a cluster
    -- Blocks that share an operand each copy half of every box if these are an odd number.
    { "A_HALVED", "CLUSTER == 'columns' and (A_ALONG_K or BM // 64 % 2 == 1)" },
    { "B_HALVED", "CLUSTER == 'rows' and (B_ALONG_K or BN // 64 % 2 == 1)" },
    { "CLUSTERS", "ceildiv(m, sel(CLUSTER == 'rows', 2, 1) * BM) "
      .. "* ceildiv(n, sel(CLUSTER == 'columns', 2, 1) * BN)" },
    { "REGISTERS", "WIDE // 4 * WM * WN // 32 + FRAGMENTS * sel(dtype == 'f64', "
      .. "STEP * (WM + WN) // 16, WM // 4 + WN // 4) + 40" }, -- an estimate
  },

  require = {
    { "C is neither of the type of A and B nor, these having 16 bits, f32",
      "ctype == dtype or ctype == 'f32' and dtype ~= 'f64'" },
    { "tensor cores need compute capability 8.0", PLAIN .. " or dev_cc >= 80" },
    { "warpgroups' multiplications need compute capability 9.0", "not WGMMA or dev_cc == 90" },
    { "warpgroups multiply 16-bit numbers", "not WGMMA or dtype ~= 'f64'" },
    { "packing A and B takes longer than so narrow a product",
      "not PACKED or m > 64 and n > 64" },
    { "no tensor has an empty side", "not WGMMA or min(m, n, k) > 0" },
    { "warpgroups have 64 columns of C, or a multiple, by a multiple of 64 rows",
      "not WGMMA or BM % 64 == 0 and BN % (64 * GROUPS) == 0" },
    { "a warpgroup's sums exceed the registers",
      "not WGMMA or BN // (64 * GROUPS) * BM // 2 <= sel(GROUPS == 3, 96, 128)" },
    { "more tiles in shared memory than along k",
      "not WGMMA or QUEUE == 3 or (QUEUE - 1) * 64 * SPLITK < k" },
    { "more panels of C than a warp has",
      "not WGMMA or PANELS == 2 or BM * (" .. C_NBYTES .. ") // 128 * BN // (64 * GROUPS) >= 4" },
    { "no second tile to share copies with", "CLUSTER == 'none' "
      .. "or sel(CLUSTER == 'rows', m > BM, n > BN)" },
    { "the textbook kernel comes plain", "ALG ~= 'plain' or BM == 16 and BN == 16" },
    { "the tile is more than twice as high as C", "BM // 2 < max(m, sel(WGMMA, 64, 32))" },
    { "the tile is more than twice as wide as C", "BN // 2 < max(n, sel(WGMMA, 64, 32))" },
    { "the tile's sides differ more than fourfold",
      "(BM <= 4 * BN or n <= 2 * BN) and (BN <= 4 * BM or m <= 2 * BM)" },
    { "many small tiles: loads would limit",
      PLAIN .. " or BM * BN >= 4096 or " .. TILES .. " <= 4 * dev_sms" },
    { "large tiles leave most multiprocessors idle",
      "WGMMA or BM * BN <= 4096 or 2 * " .. TILES .. " >= dev_sms or k > 8 * BM" },
    { "the textbook kernel comes plain", "ALG ~= 'plain' or WM == 16 and WN == 16" },
    { "the warps do not divide the tile", "BM % WM == 0 and BN % WN == 0" },
    { "a block has more than 16 warps", NO_MMA .. " or (BM // WM) * (BN // WN) <= 16" },
    { "a warp's tile is small for no reason",
      NO_MMA .. " or WM * WN >= 1024 or " .. TILES .. " <= 4 * dev_sms" },
    { "a warp's tile has sides that differ more than fourfold", "WM <= 4 * WN and WN <= 4 * WM" },
    { "a warp's accumulators exceed the registers", "WIDE // 4 * WM * WN // 32 <= 160" },
    { "the textbook kernel comes plain",
      "ALG ~= 'plain' or BK == 16 and STEP == 16 and VEC == 1" },
    { "tiles cross an edge of the matrices",
      "EDGE == 'guarded' or m % BM == 0 and n % BN == 0 and k % BK == 0 and ALG == 'mma'" },
    { "guards, though no tile crosses an edge",
      "EDGE == 'whole' or " .. NO_MMA .. " or m % BM > 0 or n % BN > 0 or k % BK > 0" },
    { "16-bit numbers are multiplied 16 at a time", "dtype == 'f64' or STEP == 16" },
    { "doubles by more than 4 need compute capability 9.0",
      PLAIN .. " or STEP == 4 or dtype ~= 'f64' or dev_cc >= 90" },
    { "instructions do not divide the tile along k", "BK % STEP == 0 and (dtype ~= 'f64' or BK <= 32)" },
    { "the tile is deeper than k", "BK // 2 < max(k, 32)" },
    { "vectors wider than the alignment, 16 bytes or a tile",
      "VEC <= min(align, 16 // WIDTH) and VEC <= min(BK, BM)" },
    { "vectors narrower than the alignment allows",
      NO_MMA .. " or VEC == min(align, 16 // WIDTH)" },
    { "copies of A do not divide among the threads", NO_MMA .. " or "
      .. "THREADS % (sel(A_ALONG_K, BK, BM) // VEC) == 0 or sel(A_ALONG_K, BK, BM) // VEC % THREADS == 0" },
    { "copies of B do not divide among the threads", NO_MMA .. " or "
      .. "THREADS % (sel(B_ALONG_K, BK, BN) // VEC) == 0 or sel(B_ALONG_K, BK, BN) // VEC % THREADS == 0" },
    { "more stages than tiles along k", "STAGES == 2 or (STAGES - 1) * BK * SPLITK < k" },
    { "the textbook kernel comes plain", "ALG ~= 'plain' or STAGES == 2 and LAYOUT == 'padded' "
      .. "and STORE == 'direct' and MINBLOCKS == 1 and SPLITK == 1 and RASTER == 1" },
    { "a swizzle is for 16-bit numbers in rows of a power of two, at least 64 bytes",
      "LAYOUT == 'padded' or dtype ~= 'f64' and sel(A_ALONG_K, BK >= 32, BM >= 32 and ispow2(BM)) "
        .. "and sel(B_ALONG_K, BK >= 32, BN >= 32 and ispow2(BN))" },
    { "few tiles share nothing", "RASTER == 1 or " .. TILES .. " >= 2 * dev_sms" },
    { "split k, though there are tiles enough",
      "SPLITK == 1 or " .. TILES .. " * SPLITK <= 2 * dev_sms" },
    { "split k leaves a block less than two tiles", "SPLITK == 1 or SPLITK * sel(WGMMA, 64, BK) * 2 <= k" },
    { "k that is not split has no finish", "SPLITK > 1 or FINISH == 'last_block'" },
    { "reading ahead takes turns between an even number of steps",
      "FRAGMENTS == 1 or ALG == 'mma' and BK // STEP % 2 == 0" },
    { "more shared memory than a block may have", "SMEM + 16 <= dev_smem_block" }, -- last_block.cuh: 16
    { "that many blocks exceed a multiprocessor's shared memory",
      "MINBLOCKS == 1 or MINBLOCKS * (SMEM + dev_smem_reserved) <= dev_smem_sm" },
    { "that many blocks exceed a multiprocessor's threads",
      "MINBLOCKS * THREADS <= dev_threads_sm" },
    { "so few threads leave each all the registers it can have",
      "MINBLOCKS == 1 or THREADS * MINBLOCKS * 255 > dev_regs_sm" },
    { "fewer blocks than multiprocessors would hold",
      "MINBLOCKS == 1 or " .. TILES .. " * SPLITK > (MINBLOCKS - 1) * dev_sms" },
    { "registers would spill", NO_MMA .. " or "
      .. "REGISTERS <= min(255, dev_regs_sm // roundup(THREADS * MINBLOCKS, 128) // 8 * 8)" },
  },

  default = { ALG = "plain", BM = 16, BN = 16, WM = 16, WN = 16, BK = 16, EDGE = "guarded", STEP = 16, VEC = 1,
    STAGES = 2, LAYOUT = "padded", RASTER = 1, SPLITK = 1, FINISH = "last_block", STORE = "direct",
    FRAGMENTS = 1, MINBLOCKS = 1, GROUPS = 2, QUEUE = 4, PANELS = 2, CLUSTER = "none" },
  untuned = SUGGESTED,

  workspace = {
    -- An accumulator each; two of f32 in one of these.
    { "partial", "f64",
      "sel(SPLITK > 1, ceildiv(" .. ALL_TILES .. " * SPLITK * BM * BN * WIDE, 8), 0)" },
    { "arrived", "u32", "sel(SPLITK > 1 and FINISH == 'last_block', " .. ALL_TILES .. ", 0)" },
    { "packed_a", "dtype", "sel(PACKED, PACKED_LDA * " .. A_COLUMNS .. ", 0)" },
    { "packed_b", "dtype", "sel(PACKED, PACKED_LDB * " .. B_COLUMNS .. ", 0)" },
  },

  stages = {
    { kernel = "gemm_pack", when = "PACKED", block = 256,
      grid = { "ceildiv(max(PACKED_LDA, PACKED_LDB), 256)",
        "min(65535, ceildiv(max(" .. A_COLUMNS .. ", " .. B_COLUMNS .. "), 8))", 2 },
      args = { { "i32", A_EXTENT }, { "i32", A_COLUMNS }, "A", "lda", "packed_a", { "i32", B_EXTENT },
        { "i32", B_COLUMNS }, "B", "ldb", "packed_b" } },
    { kernel = "gemm_warpgroup", when = "PACKED", grid = PERSISTENT, block = "THREADS", smem = "SMEM",
      overlap = "true",
      args = { "m", "n", "k", "alpha", tiles_of_a("packed_a", "PACKED_LDA"),
        tiles_of_b("packed_b", "PACKED_LDB"), "beta", "C", "ldc", "scales", "biases", "partial",
        "arrived" } },
    { kernel = "gemm_warpgroup", when = "WGMMA and not PACKED", grid = PERSISTENT, block = "THREADS",
      smem = "SMEM",
      args = { "m", "n", "k", "alpha", tiles_of_a("A", "lda"), tiles_of_b("B", "ldb"), "beta", "C", "ldc",
        "scales", "biases", "partial", "arrived",
        { tensor = "C", dims = { "m", "n" }, strides = { "ldc" },
          box = { "128 // (" .. C_NBYTES .. ")", 16 }, swizzle = 128 } } },
    { kernel = "gemm", when = "not WGMMA", grid = { TILES, "SPLITK" }, block = "THREADS", smem = "SMEM",
      args = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales",
        "biases", "partial", "arrived" } },
    { kernel = "gemm_finish", when = "SPLITK > 1 and FINISH == 'two_launch'",
      grid = TILES, block = "THREADS", smem = "SMEM",
      args = { "m", "n", "alpha", "beta", "C", "ldc", "scales", "biases", "partial" } },
  },

  source = [[
@include "ptx.cuh"
@include "mma.cuh"
@include "last_block.cuh"
@include "numbers.cuh"
@include "epilogue.cuh"

using output = @{ctype == "f32" and "float" or "stored"};
extern __shared__ __align__(16) unsigned char memory[];

struct corner {  // of a block's tile in C
  int row, column;
  // A cluster's blocks have two tiles side by side.
  static constexpr int HEIGHT = CLUSTER == CLUSTER_rows ? 2 * BM : BM;
  static constexpr int ACROSS = CLUSTER == CLUSTER_columns ? 2 * BN : BN;
  __device__ static unsigned rows(int m) { return (unsigned)(m - 1) / HEIGHT + 1; }
  __device__ static unsigned columns(int n) { return (unsigned)(n - 1) / ACROSS + 1; }
  // Bands of RASTER rows of tiles; down within a band first.
  __device__ corner(unsigned tile, int m, int n, unsigned rank = 0) {
    const unsigned band = tile / (RASTER * columns(n)) * RASTER;
    const unsigned in = tile % (RASTER * columns(n));
    const unsigned height = rows(m) - band < RASTER ? rows(m) - band : RASTER;
    row = (int)(band + in % height) * HEIGHT + (CLUSTER == CLUSTER_rows ? (int)rank * BM : 0);
    column = (int)(in / height) * ACROSS + (CLUSTER == CLUSTER_columns ? (int)rank * BN : 0);
  }
};

// ---- into C ------------------------------------------------------------------------------------

struct result {
  wide alpha, beta;
  output *C;
  long long ld;
  int m, n;
  const output *scales, *biases;

  struct alignas(CV * sizeof(output)) vector {
    output e[CV];
  };
  struct alignas(CV * WIDE < 16 ? CV * WIDE : 16) vector_sum {
    wide e[CV];
  };

  __device__ __forceinline__ wide finished(wide sum, output before, int row, int column) const {
    return epilogue(alpha * sum + beta * widen(before), row, column, scales, biases);
  }
  __device__ __forceinline__ static output rounded(wide v) {
    return @{ctype == dtype and "narrow(v)" or "v"};
  }

  // With beta 0, C is not read.
  __device__ __forceinline__ void put(wide sum, int row, int column) const {
    if (EDGE == EDGE_guarded && (row >= m || column >= n)) return;
    output *to = C + row + column * ld;
    *to = rounded(finished(sum, beta == 0 ? output() : *to, row, column));
  }
  // The same of CV elements of a column, all inside or none.
  __device__ __forceinline__ void put_vector(const wide *from, int row, int column) const {
    if (EDGE == EDGE_guarded && (row >= m || column >= n)) return;
    const vector_sum sum = *reinterpret_cast<const vector_sum *>(from);
    vector *to = reinterpret_cast<vector *>(C + row + column * ld);
    vector v = vector();
    if (beta != 0) v = *to;
#pragma unroll
    for (int e = 0; e < CV; e++) v.e[e] = rounded(finished(sum.e[e], v.e[e], row + e, column));
    *to = v;
  }
};

@ if ALG == "wgmma" then
@include "ptx90.cuh"
@   if PACKED then
@include "lanes.cuh"
@include "pack.cuh"
@   end
@include "warpgroup.cuh"
@ elseif ALG == "plain" then
// With alpha 0, BLAS does not look at A and B.
extern "C" __global__ void __launch_bounds__(THREADS)
gemm(int m, int n, int k, double alpha, const stored *A, long long lda, const stored *B,
     long long ldb, double beta, output *C, long long ldc, const output *scales,
     const output *biases, wide *, unsigned *) {
  const corner tile(blockIdx.x, m, n);
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const int row = tile.row + x, column = tile.column + y;
  wide(*a)[17] = reinterpret_cast<wide(*)[17]>(memory), (*b)[17] = a + 16;
  wide sum = 0;
  for (int p = 0; alpha != 0 && p < k; p += 16) {
@   if ta == "n" then
    a[y][x] = row < m && p + y < k ? widen(A[row + (p + y) * lda]) : 0;
@   else
    a[x][y] = tile.row + y < m && p + x < k ? widen(A[p + x + (tile.row + y) * lda]) : 0;
@   end
@   if tb == "n" then
    b[x][y] = column < n && p + x < k ? widen(B[p + x + column * ldb]) : 0;
@   else
    b[y][x] = tile.column + x < n && p + y < k ? widen(B[tile.column + x + (p + y) * ldb]) : 0;
@   end
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 16; q++) sum += a[q][x] * b[q][y];
    __syncthreads();
  }
  const result to = {(wide)alpha, (wide)beta, C, ldc, m, n, scales, biases};
  to.put(sum, row, column);
}
@ else
// ---- from global to shared memory --------------------------------------------------------------

// A tile lies in shared memory as in global memory: FAR runs of NEAR elements, NEAR being BK where
// the operand is contiguous along k, else the tile's width.
template <int WIDTH_, bool ALONG_K>
struct operand {
  static constexpr int NEAR = ALONG_K ? BK : WIDTH_, FAR = ALONG_K ? WIDTH_ : BK;
  static constexpr int SIDE = NEAR / VEC < THREADS ? NEAR / VEC : THREADS;  // threads along a run
  static constexpr int ACROSS = (FAR * SIDE + THREADS - 1) / THREADS;
  static constexpr int ALONG = NEAR / (SIDE * VEC);
  static constexpr int STRIDE = THREADS / SIDE;

  const stored *from;  // this thread's first vector of the next tile
  long long ld;
  int near, far;       // where that is in a tile
  int room;            // elements of the matrix from the tile's first one on, across k

  __device__ operand(const stored *matrix, long long ld_, int first, int extent, long long k) {
    near = threadIdx.x % SIDE * VEC;
    far = threadIdx.x / SIDE;
    ld = ld_;
    room = extent - first;
    from = matrix + (ALONG_K ? (first + far) * ld + k + near : (k + far) * ld + first + near);
  }

  // Where an element lies; swizzled, runs of 16 bytes change places so that eight in a column, which
  // ldmatrix reads at a time, are in different banks.
  __device__ __forceinline__ static int place(int far, int near) {
    if (LAYOUT == LAYOUT_padded) return far * (NEAR + PAD) + near;
    const int turn = NEAR >= 64 ? far % 8 : far / 2 % 4;
    return far * NEAR + ((near / 8) ^ turn) * 8 + near % 8;
  }

  // The next tile, of which `depth` elements along k count; zeros beyond.
  __device__ __forceinline__ void copy(stored *to, int depth) {
    const int near_room = ALONG_K ? depth : room, far_room = ALONG_K ? room : depth;
#pragma unroll
    for (int i = 0; i < ACROSS; i++) {
      const int y = far + i * STRIDE;
      if (FAR % STRIDE > 0 && y >= FAR) break;
#pragma unroll
      for (int j = 0; j < ALONG; j++) {
        const int x = near + j * SIDE * VEC;
        const int inside = y < far_room ? max(0, min(VEC, near_room - x)) : 0;
        const int given = EDGE == EDGE_whole ? VEC : inside;
        const stored *source = from + (long long)i * STRIDE * ld + j * SIDE * VEC;
@   if VEC * WIDTH >= 4 then
        cp_async<VEC * WIDTH>(shared_address(to + place(y, x)), source, given * WIDTH);
@   else
        to[place(y, x)] = given ? *source : stored();
@   end
      }
    }
    from += ALONG_K ? BK : BK * ld;
  }
};

using operand_a = operand<BM, A_ALONG_K>;
using operand_b = operand<BN, B_ALONG_K>;

// ---- a warp's product --------------------------------------------------------------------------

constexpr int MI = WM / 16, NI = WN / 8;  // accumulators of a warp

struct position {  // of the warp in the block's tile, of the lane in the warp
  int row, column, lane;
  __device__ explicit position(int thread) {
    lane = thread % 32;
    row = thread / 32 % (BM / WM) * WM;
    column = thread / 32 / (BM / WM) * WN;
  }
};

@ if dtype == "f64" then
constexpr int KQ = STEP / 4;
using fragment_a = double[2 * KQ];
using fragment_b = double[KQ];

__device__ __forceinline__ void fetch(fragment_a (&a)[MI], fragment_b (&b)[NI], const stored *stage,
                                      position at, int k) {
  const int quad = at.lane / 4, place = at.lane % 4;
#pragma unroll
  for (int q = 0; q < KQ; q++) {
    const int p = k + 4 * q + place;
#pragma unroll
    for (int i = 0; i < 2 * MI; i++) {
      const int row = at.row + 8 * i + quad;
      a[i / 2][2 * q + i % 2] = stage[A_ALONG_K ? operand_a::place(row, p) : operand_a::place(p, row)];
    }
#pragma unroll
    for (int j = 0; j < NI; j++) {
      const int column = at.column + 8 * j + quad;
      b[j][q] = stage[A_TILE +
                      (B_ALONG_K ? operand_b::place(column, p) : operand_b::place(p, column))];
    }
  }
}
@ else
using fragment_a = unsigned[4];
using fragment_b = unsigned[2];

__device__ __forceinline__ void fetch(fragment_a (&a)[MI], fragment_b (&b)[NI], const stored *stage,
                                      position at, int k) {
  const int in = at.lane % 8, second = at.lane / 8 % 2, third = at.lane / 16;
#pragma unroll
  for (int i = 0; i < MI; i++) {
    const int row = at.row + 16 * i;
    if (A_ALONG_K) {
      load_matrices(a[i], shared_address(
                              stage + operand_a::place(row + in + 8 * second, k + 8 * third)));
    } else {
      load_transposed(a[i], shared_address(
                                stage + operand_a::place(k + in + 8 * third, row + 8 * second)));
    }
  }
#pragma unroll
  for (int j = 0; j < NI; j += 2) {
    const int column = at.column + 8 * j;
    unsigned both[4];
    if (B_ALONG_K) {
      load_matrices(both, shared_address(stage + A_TILE + operand_b::place(column + in + 8 * third,
                                                                           k + 8 * second)));
    } else {
      load_transposed(both, shared_address(stage + A_TILE +
                                           operand_b::place(k + in + 8 * second,
                                                            column + 8 * third)));
    }
#pragma unroll
    for (int e = 0; e < 4; e++) b[j + e / 2][e % 2] = both[e];
  }
}
@ end

using sums = wide[MI][NI][4];

__device__ __forceinline__ void product(sums &c, operand_a &a, operand_b &b, long long depth) {
  stored *const shared = reinterpret_cast<stored *>(memory);
  const position at(threadIdx.x);
  const int tiles = (int)((depth + BK - 1) / BK);
  int next = 0, stage = 0, fill = 0;
  const auto copy = [&] {
    if (next < tiles) {
      const int part = (int)min((long long)BK, depth - (long long)next * BK);
      a.copy(shared + fill * STAGE, part);
      b.copy(shared + fill * STAGE + A_TILE, part);
    }
    cp_async_commit();
    next++;
    fill = fill + 1 == STAGES ? 0 : fill + 1;
  };
  const auto turn = [&] {  // the next tile is there, and nobody reads the one before the last
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    copy();
  };
  fragment_a fa[FRAGMENTS][MI];
  fragment_b fb[FRAGMENTS][NI];
  const auto read = [&](int f, int k) { fetch(fa[f], fb[f], shared + stage * STAGE, at, k); };
#pragma unroll 1
  for (int s = 0; s < STAGES - 1; s++) copy();
  if (FRAGMENTS == 2 && tiles > 0) {
    turn();
    read(0, 0);
  }
#pragma unroll 1
  for (int t = 0; t < tiles; t++) {
    if (FRAGMENTS == 1) turn();
#pragma unroll
    for (int k = 0; k < BK; k += STEP) {
      const int f = k / STEP % FRAGMENTS;
      const bool last = k + STEP == BK;
      if (FRAGMENTS == 1) read(f, k);
      if (last) stage = stage + 1 == STAGES ? 0 : stage + 1;
      if (FRAGMENTS == 2 && !last) read(1 - f, k + STEP);
      if (FRAGMENTS == 2 && last && t + 1 < tiles) {
        turn();
        read(1 - f, 0);
      }
#pragma unroll
      for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) mma_@{dtype}(c[i][j], fa[f][i], fb[f][j]);
      }
    }
  }
}

// ---- from accumulators to C --------------------------------------------------------------------

__device__ __forceinline__ void store(const sums &c, const result &to, corner tile) {
  const position at(threadIdx.x);
  const int quad = at.lane / 4, place = at.lane % 4;
  const int row = tile.row + at.row, column = tile.column + at.column;
@ if STORE == "direct" then
#pragma unroll
  for (int j = 0; j < NI; j++) {
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        to.put(c[i][j][e], row + 16 * i + quad + e / 2 * 8, column + 8 * j + 2 * place + e % 2);
      }
    }
  }
@ else
  // A warp turns some columns at a time in its own part of shared memory.
  wide *slice = reinterpret_cast<wide *>(memory) + threadIdx.x / 32 * SLICE;
  __syncthreads();  // tiles were there
#pragma unroll
  for (int first = 0; first < NI; first += JOINT) {
#pragma unroll
    for (int r = 0; r < JOINT * MI * 4; r++) {
      const int j = r / (4 * MI), i = r / 4 % MI, e = r % 4;
      slice[(8 * j + 2 * place + e % 2) * (WM + 4) + 16 * i + quad + e / 2 * 8] =
          c[i][first + j][e];
    }
    __syncwarp();
#pragma unroll 2
    for (int v = at.lane; v < 8 * JOINT * WM / CV; v += 32) {
      const int x = v % (WM / CV) * CV, y = v / (WM / CV);
      to.put_vector(slice + y * (WM + 4) + x, row + x, column + 8 * first + y);
    }
    __syncwarp();
  }
@ end
}

@ if SPLITK > 1 then
// Partial sums lie in the order in which threads write them.
struct alignas(16) quarter {
  wide e[16 / sizeof(wide)];
};
constexpr int QUARTERS = MI * NI * 4 * WIDE / 16;  // of a thread

__device__ __forceinline__ quarter *partials(wide *partial, int split) {
  return reinterpret_cast<quarter *>(partial) +
         ((long long)blockIdx.x * SPLITK + split) * (QUARTERS * THREADS) + threadIdx.x;
}

__device__ __forceinline__ void put_partial(const sums &c, quarter *to) {
#pragma unroll
  for (int q = 0; q < QUARTERS; q++) {
    quarter v;
#pragma unroll
    for (int e = 0; e < 16 / WIDE; e++) {
      const int i = q * 16 / WIDE + e;
      v.e[e] = c[i / (4 * NI)][i / 4 % NI][i % 4];
    }
    to[q * THREADS] = v;
  }
}

// The sum over all splits, always in the same order.
__device__ __forceinline__ void add_partials(sums &c, wide *partial) {
#pragma unroll 1
  for (int s = 0; s < SPLITK; s++) {
    const quarter *from = partials(partial, s);
#pragma unroll
    for (int q = 0; q < QUARTERS; q++) {
      const quarter v = from[q * THREADS];
#pragma unroll
      for (int e = 0; e < 16 / WIDE; e++) {
        const int i = q * 16 / WIDE + e;
        c[i / (4 * NI)][i / 4 % NI][i % 4] += v.e[e];
      }
    }
  }
}

@ end
// With alpha 0, BLAS does not look at A and B.
extern "C" __global__ void __launch_bounds__(THREADS, MINBLOCKS)
gemm(int m, int n, int k, double alpha, const stored *__restrict__ A, long long lda,
     const stored *__restrict__ B, long long ldb, double beta, output *C, long long ldc,
     const output *scales, const output *biases, wide *partial, unsigned *arrived) {
  const corner tile(blockIdx.x, m, n);
  const result to = {(wide)alpha, (wide)beta, C, ldc, m, n, scales, biases};
  const long long all = alpha == 0 ? 0 : k;
@ if SPLITK > 1 then
  const long long share = ((all + BK - 1) / BK + SPLITK - 1) / SPLITK * BK;
  const long long begin = min(blockIdx.y * share, all), depth = min(share, all - begin);
@ else
  const long long begin = 0, depth = all;
@ end
  sums c = {};
  operand_a a(A, lda, tile.row, m, begin);
  operand_b b(B, ldb, tile.column, n, begin);
  product(c, a, b, depth);
@ if SPLITK == 1 then
  store(c, to, tile);
@ else
  put_partial(c, partials(partial, blockIdx.y));
@   if FINISH == "last_block" then
  if (!is_last_block(arrived + blockIdx.x, SPLITK)) return;
  sums whole = {};
  add_partials(whole, partial);
  store(whole, to, tile);
@   end
@ end
}
@ if SPLITK > 1 and FINISH == "two_launch" then

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_finish(int m, int n, double alpha, double beta, output *C, long long ldc,
            const output *scales, const output *biases, wide *partial) {
  const result to = {(wide)alpha, (wide)beta, C, ldc, m, n, scales, biases};
  sums whole = {};
  add_partials(whole, partial);
  store(whole, to, corner(blockIdx.x, m, n));
}
@ end
@ end
]],

  -- One thread per element of C, accumulating in double.
  reference = {
    stages = {
      { kernel = "reference", when = "m * n * k <= 2^24", block = 256,
        grid = { "ceildiv(m, 256)", "min(n, 65535)" }, args = reference_args },
      { kernel = "reference_large", when = "m * n * k > 2^24", block = 256,
        grid = { "ceildiv(m, 64)", "min(ceildiv(n, 16), 65535)" }, args = reference_args },
    },
    source = [[
@include "ptx.cuh"
@include "numbers.cuh"
@include "epilogue.cuh"

using output = @{ctype == "f32" and "float" or "stored"};
using element = stored;
using scalar = double;

__device__ void put(double sum, double alpha, double beta, long long i, long long j, output *c,
                    const output *scales, const output *biases) {
  const double v = alpha * sum + (beta == 0 ? 0 : beta * widen(*c));
  *c = @{ctype == dtype and "narrow" or ""}((wide)epilogue(v, i, j, scales, biases));
}

@include "reference_product.cuh"
]],
  },

  cases = {
    {},
    { alpha = -0.75, beta = 0.5 },
    { lda = "roundup(max(1, " .. A_EXTENT .. "), align) + align",
      ldb = "roundup(max(1, " .. B_EXTENT .. "), align) + 3 * align",
      ldc = "roundup(max(1, m), align) + 2 * align", beta = -1 },
    { alpha = 0, beta = 0.5 },
  },

  -- Products of 16-bit numbers are exact in f32. Tensor cores add several of them at once and cut
  -- off instead of rounding: an error of at most one unit in the last place of the largest term or
  -- sum per addition, always towards zero, so it does not average out as in sgemm.lua. With
  -- numbers uniform in [-1, 1] partial sums are a random walk, s_i near sqrt(i) / 3, so k additions
  -- at one unit each lose at most 2^-23 times the sum of |s_i|, near 2/9 k^1.5 2^-23, four times
  -- that with a probability of 1e-14 or less; and a product of its own at least: 2^-23 (k + k^1.5).
  -- At k = 4096 this is 0.03. f64 rounds: as sgemm.lua derives, its reference likewise. The
  -- epilogue: see gemv.lua. A result of 16 bits may be the neighbour of the reference's.
  tolerance = {
    abs = "sel(dtype == 'f64', 2.0^-50 * (k + 1), 2.0^-23 * (k + k^1.5 + 4)) * 1.25 "
      .. "+ sel(act == 'none', 0, sel(dtype == 'f64', 2.0^-50, 2.0^-20))",
    rel = "sel(ctype == 'f64', 2.0^-50, sel(ctype == 'f32', 2.0^-21, sel(ctype == 'f16', 2.0^-10, "
      .. "2.0^-7)))",
  },

  flops = "2 * m * n * k",
  bytes = "(" .. NBYTES .. ") * (m * k + k * n) + (" .. C_NBYTES .. ") * m * n",

  sizes = {
    emu = { "m=72 n=40 k=88 ta=t", "m=37 n=29 k=35 tb=t dtype=f16 ctype=f32",
      "m=33 n=31 k=19 dtype=f64 ta=t tb=t", "m=64 n=32 k=40 bias=row act=gelu scale=column" },
    test = { "m=0 n=5 k=7", "m=33 n=65 k=0", "m=1 n=1 k=1", "m=100 n=100 k=100 dtype=f64",
      "m=1000 n=1000 k=1000", "m=1024 n=1024 k=1024 ta=t", "m=999 n=1001 k=1003 dtype=f16",
      "m=512 n=256 k=4096 tb=t ctype=f32", "m=777 n=555 k=333 dtype=f64 ta=t",
      "m=64 n=64 k=8192 ta=t tb=t", "m=512 n=512 k=512 dtype=f64 tb=t",
      "m=2048 n=128 k=512 bias=column act=gelu_erf" },
    bench = { "m=4096", "m=8192", "m=1024", "m=4096 ta=t", "m=4096 dtype=f16 tb=t", "m=128 n=7168 k=16384",
      "m=2048 dtype=f64", "m=4096 dtype=f64", "m=4096 dtype=f64 ta=t" },
  },
}
