-- gemm: C = alpha op(A) op(B) + beta C by tensor cores, column-major: 16-bit numbers added up in f32,
-- or f64. (Single precision is sgemm.)
--
-- A block computes a BM x BN tile of C. With ALG=mma a warp has WM x WN of it, in accumulators of 16 x 8. Along k
-- the block walks in tiles of BK, copied to shared memory STAGES deep as they lie in memory; ldmatrix transposes
-- 16-bit operands on the way to registers, doubles are read one by one. Where C has few tiles, SPLITK blocks share a
-- tile's k and add up through a workspace, or in a cluster. With ALG=wgmma warpgroups multiply what tensor maps have
-- copied: see gemm_wgmma.cu; where addresses or leading dimensions are not multiples of 16 bytes, a launch before packs
-- A and B. ALG=dmma does the same for doubles, by warps: see gemm_dmma.cu.
-- ALG=plain is the textbook's tiled kernel, which any device runs.
--
-- With reproducible=shape all use one instruction, mma.m16n8k16 or of f64 mma.m8n8k4, along k: how a tensor core rounds
-- within one is not documented, and other instructions differ.

-- Expressions that several places use.
local NBYTES = "sel(dtype == 'f64', 8, 2)"
local C_NBYTES = "sel(ctype == 'f64', 8, sel(ctype == 'f32', 4, 2))"
local TILES = "(ceildiv(m, BM) * ceildiv(n, BN))"
local A_EXTENT = "sel(ta == 'n', m, k)" -- of a column of A and of B in memory
local B_EXTENT = "sel(tb == 'n', k, n)"
local A_COLUMNS, B_COLUMNS = "sel(ta == 'n', k, m)", "sel(tb == 'n', n, k)"
local NOT_PLAIN = "ALG ~= 'plain'"
local BY_WARPS, BY_MAPS = "ALG == 'mma' or ALG == 'dmma'", "ALG == 'wgmma' or ALG == 'dmma'"

-- For problems without a tuned result: warpgroups where the device has them, with the largest tiles that fill it
-- or, if tiles are few, with k split; else warps.
local SUGGESTED = {}

local function suggest_warpgroups(bm, bn, stages, condition, more)
  local where = "dev_cc == 90 and dtype ~= 'f64' and ceildiv(m, " .. bm .. ") * ceildiv(n, " .. bn .. ")" .. condition
  for _, read in ipairs { "map", "threads" } do -- the latter where C is not aligned
    local one = { when = where .. (read == "map" and " and beta_is ~= '0'" or ""), ALG = "wgmma", BM = bm, BN = bn,
      GROUPS = bn // 64, WGMMA_STAGES = stages, READ_C = read, START = "early" }
    for name, value in pairs(more or {}) do one[name] = value end
    SUGGESTED[#SUGGESTED + 1] = one
  end
end

for _, tail in ipairs { 8, 6, 4, 3, 2, 1 } do
  suggest_warpgroups(256, 128, 4, " >= 3 * dev_sms", { RASTER = 8, CLUSTER = "columns", TAIL = tail })
end
for _, tile in ipairs { { 256, 128, 4 }, { 128, 128, 6 }, { 64, 128, 7 } } do
  suggest_warpgroups(tile[1], tile[2], tile[3], " * 10 >= dev_sms * 9")
end
suggest_warpgroups(128, 64, 8, " * 5 >= dev_sms * 2")
for _, splits in ipairs { 8, 4, 2 } do -- in clusters, which READ_C=map excludes
  suggest_warpgroups(64, 128, 7, " * " .. splits .. " <= dev_sms and min(m, n) > 64", { SPLITK = splits,
    FINISH = "cluster", READ_C = "threads" })
end
for _, splits in ipairs { 8, 6, 4, 3, 2 } do
  suggest_warpgroups(128, 64, 6, " * " .. splits .. " <= dev_sms", { SPLITK = splits })
end
suggest_warpgroups(64, 64, 8, " <= 4", { SPLITK = 32 })
suggest_warpgroups(64, 64, 8, " > 0")

local function suggest_warps(condition, config)
  for _, edge in ipairs { "whole", "guarded" } do
    for _, start in ipairs { "early", "in_order" } do -- the latter before compute capability 9.0
      local one = { when = condition, ALG = "mma", EDGE = edge, STORE = "shared", START = start }
      for name, value in pairs(config) do one[name] = value end
      SUGGESTED[#SUGGESTED + 1] = one
    end
  end
end

for _, vec in ipairs { 8, 4, 2, 1 } do
  local condition = "dtype ~= 'f64' and align == " .. vec
  for _, splits in ipairs { 8, 4, 2 } do
    suggest_warps(condition .. " and dev_cc >= 90 and ceildiv(m, 32) * ceildiv(n, 32) * " .. splits
      .. " <= 2 * dev_sms", { BM = 32, BN = 32, WM = 16, WN = 16, BK = 64, VEC = vec, STAGES = 3,
      SPLITK = splits, FINISH = "cluster", STORE = "direct" })
  end
  suggest_warps(condition .. " and ceildiv(m, 128) * ceildiv(n, 128) >= dev_sms", { BM = 128, BN = 128,
    WM = 64, WN = 32, BK = 32, VEC = vec, STAGES = 3, LAYOUT = "swizzled" })
  suggest_warps(condition, { BM = 64, BN = 64, WM = 32, WN = 32, BK = 32, VEC = vec, STAGES = 3,
    LAYOUT = "swizzled" })
  suggest_warps(condition, { BM = 32, BN = 32, WM = 16, WN = 16, BK = 32, VEC = vec })
end
-- Tiles of 128 x 128 doubles take 16 bytes a clock for each multiprocessor from the second-level cache.
local function suggest_rings(bm, bn, condition, config)
  local one = { when = "dtype == 'f64' and dev_cc == 90 and ceildiv(m, " .. bm .. ") * ceildiv(n, " .. bn .. ")"
    .. condition, ALG = "dmma", BM = bm, BN = bn, START = "early" }
  for name, value in pairs(config) do one[name] = value end
  SUGGESTED[#SUGGESTED + 1] = one
end
-- Those of 64 x 64 come from there no faster than three quarters of the rate of the tensor
-- cores (32 bytes a clock for each multiprocessor, of which an H200's cache gives 27); those of 128 x 64 take 24.
local function suggest_doubles(vec, bm, bn, condition, config)
  local one = { BM = bm, BN = bn, BK = 16, VEC = vec, STAGES = 4 }
  for name, value in pairs(config) do one[name] = value end
  suggest_warps("dtype == 'f64' and dev_cc >= 90 and align " .. (vec == 2 and ">= 2" or "== 1")
    .. " and ceildiv(m, " .. bm .. ") * ceildiv(n, " .. bn .. ")" .. condition, one)
end
for _, tail in ipairs { 8, 6, 4, 3, 2, 1 } do
  suggest_rings(128, 128, " >= 2 * dev_sms", { WM = 64, WN = 32, STAGES = 6, RASTER = 8, TAIL = tail })
end
for _, tail in ipairs { 8, 6, 4, 3, 2, 1 } do
  suggest_rings(128, 64, " * 5 >= dev_sms * 4", { WM = 32, WN = 32, STAGES = 6, TAIL = tail })
end
for _, splits in ipairs { 4, 2 } do
  suggest_rings(128, 64, " * " .. splits .. " <= dev_sms and k >= 256 * " .. splits .. " and " .. splits
    .. " * ceildiv(m, 128) * ceildiv(n, 64) * 3 >= dev_sms * 2",
    { WM = 32, WN = 32, STAGES = 6, SPLITK = splits })
end
for _, vec in ipairs { 2, 1 } do
  suggest_doubles(vec, 128, 64, " * 5 >= dev_sms * 2", { WM = 32, WN = 32, STEP = 16, SPLITK = 2 })
  for _, splits in ipairs { 8, 4, 2 } do
    suggest_doubles(vec, 64, 64, " * " .. splits .. " <= dev_sms and min(m, n) > 32",
      { WM = 32, WN = 16, STEP = 16, SPLITK = splits, FINISH = "cluster", STORE = "direct" })
  end
  for _, splits in ipairs { 8, 4, 2 } do
    suggest_doubles(vec, 32, 32, " * " .. splits .. " <= 2 * dev_sms",
      { WM = 16, WN = 16, STEP = 16, SPLITK = splits, FINISH = "cluster", STORE = "direct" })
  end
end
for _, step in ipairs { 16, 4 } do
  suggest_warps("dtype == 'f64' and align >= 2", { BM = 64, BN = 64, WM = 32, WN = 32, BK = 16,
    STEP = step, VEC = 2, STAGES = 3 })
  suggest_warps("dtype == 'f64' and align == 1", { BM = 64, BN = 64, WM = 32, WN = 32, BK = 16,
    STEP = step, VEC = 1, STAGES = 3 })
end

-- Bounds are checked everywhere, and C is written from registers.
local BASE = {}
local function base_warps(bm, wm, wn, config)
  local one = { ALG = "mma", BM = bm, BN = bm, WM = wm, WN = wn }
  for name, value in pairs(config) do one[name] = value end
  BASE[#BASE + 1] = one
end
base_warps(128, 64, 32, { BK = 32, VEC = 8, STAGES = 3, LAYOUT = "swizzled" })
base_warps(64, 32, 32, { BK = 32, VEC = 8, STAGES = 3, LAYOUT = "swizzled", SPLITK = 8 })
base_warps(64, 32, 32, { BK = 32, VEC = 8, STAGES = 3, LAYOUT = "swizzled" })
base_warps(64, 32, 32, { BK = 32, VEC = 1, LAYOUT = "swizzled" })
base_warps(32, 16, 16, { BK = 32, VEC = 1, LAYOUT = "swizzled" })
base_warps(64, 32, 32, { BK = 16, STEP = 4, VEC = 2, STAGES = 3 })
base_warps(64, 32, 32, { BK = 16, STEP = 4, VEC = 1 })

-- The tensor maps of operands.
local function tiles_of_a(matrix, ld)
  return { tensor = matrix, dims = { A_EXTENT, A_COLUMNS }, strides = { ld },
    box = { "LINE", "sel(A_ALONG_K, BM, LINE) // sel(A_HALVED, 2, 1)" }, swizzle = 128 }
end
local function tiles_of_b(matrix, ld)
  return { tensor = matrix, dims = { B_EXTENT, B_COLUMNS }, strides = { ld },
    box = { "LINE", "sel(B_ALONG_K, BN, LINE) // sel(B_HALVED, 2, 1)" }, swizzle = 128 }
end

local reference_args = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales",
  "biases" }

-- Requirements of tiles on tensor cores.
--   least  a C of fewer rows or columns is taken for one of that many
--   depth  elements along k per tile
local function tiles_are_worth_it(least, depth)
  return {
    { "BM is more than twice the rows of C", "BM // 2 < max(m, " .. least .. ")" },
    { "BN is more than twice the columns of C", "BN // 2 < max(n, " .. least .. ")" },
    { "BM and BN differ more than fourfold",
      "(BM <= 4 * BN or n <= 2 * BN) and (BN <= 4 * BM or m <= 2 * BM)" },
    { "BM * BN < 4096 needs few tiles: loads would limit", "BM * BN >= 4096 or " .. TILES .. " <= 4 * dev_sms" },
    { "RASTER > 1 needs many tiles", "RASTER == 1 or " .. TILES .. " >= 2 * dev_sms" },
    { "SPLITK > 1 needs few tiles",
      "SPLITK == 1 or " .. TILES .. " * SPLITK <= sel(FINISH == 'cluster', 4, 2) * dev_sms" },
    { "SPLITK leaves a block less than two tiles along k", "SPLITK == 1 or SPLITK * " .. depth .. " * 2 <= k" },
    { "the tiles exceed a block's shared memory", "SMEM + 16 <= dev_smem_block" }, -- last_block.cuh: 16
  }
end
local function with(list, more)
  for _, x in ipairs(more) do list[#list + 1] = x end
  return list
end

-- What a block does: multiplications, steps along k, elements of C read and written, partial sums.
--   steps  of `depth` elements along k
--   times  tiles of C, with a multiplication sign
local function block_work(steps, depth, times)
  return { "BM * BN * " .. depth .. " * " .. steps, steps,
    times .. "BM * BN * sel(beta_is == '0', 1, 2)",
    "sel(SPLITK > 1, " .. times .. "BM * BN * sel(FINISH == 'cluster', 2, SPLITK + 1), 0)" }
end

-- The textbook's kernel: a thread per element of C, or with reproducible=shape a warp for 16 x 8 by tensor cores.
local PLAIN = {
  derive = { { "BY_MMA", "ONE_ORDER and dev_cc >= 80" } }, -- earlier devices have no other kernel
  stages = {
    { kernel = "gemm", grid = TILES, block = 256, smem = "2 * 16 * 17 * SUM_NBYTES",
      work = block_work("ceildiv(k, 16)", 16, ""),
      args = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales", "biases" } },
  },
  source = "gemm_plain.cu",
}

-- Tensor cores, by warps.
local MMA = {
  space = {
    { "BK", { 8, 16, 32, 64 }, "elements along k per tile" },
    { "EDGE", { "guarded", "whole" }, "bounds checks: of all edges, or none where tiles divide the matrices" },
    { "STEP", { 4, 8, 16 }, "elements along k per instruction" },
    { "VEC", { 1, 2, 4, 8 }, "elements per copy to shared memory" },
    { "LAYOUT", { "padded", "swizzled" },
      "of tiles in shared memory, without bank conflicts: gaps between rows, or 16-byte chunks permuted" },
    { "STORE", { "direct", "shared" }, "how C is written: from registers, or by way of shared memory" },
    { "FRAGMENTS", { 1, 2 }, "register fragments: 2 reads ahead of the multiplications" },
  },
  default = { BK = 16, EDGE = "guarded", STEP = 16, VEC = 1, LAYOUT = "padded",
    STORE = "direct", FRAGMENTS = 1 },

  derive = {
    { "THREADS", "32 * (BM // WM) * (BN // WN)" },
    { "PAD", "sel(LAYOUT == 'padded', sel(dtype == 'f64', 4, 8), 0)" }, -- elements between rows
    -- Elements of a tile in shared memory.
    { "A_TILE", "sel(A_ALONG_K, BM * (BK + PAD), BK * (BM + PAD))" },
    { "B_TILE", "sel(B_ALONG_K, BN * (BK + PAD), BK * (BN + PAD))" },
    { "STAGE", "A_TILE + B_TILE" },
    -- Elements per access of C.
    { "CV", "sel(STORE == 'direct', 1, min(align, pow2div(m, 8), 16 // (" .. C_NBYTES .. ")))" },
    -- Accumulators side by side that a warp stores at a time, and their size in shared memory, padded against
    -- bank conflicts.
    { "STORED_NI", "pow2div(WN // 8, 4)" },
    { "STORED_SIZE", "8 * STORED_NI * (WM + 4)" },
    { "SMEM", "max(STAGES * STAGE * NBYTES, sel(STORE == 'shared', THREADS // 32 * STORED_SIZE * SUM_NBYTES, 0), "
      .. "sel(FINISH == 'cluster', BM * BN * SUM_NBYTES, 0))" },
    { "REGISTERS", "SUM_NBYTES // 4 * WM * WN // 32 + FRAGMENTS * sel(dtype == 'f64', "
      .. "STEP * (WM + WN) // 16, WM // 4 + WN // 4) + 40" }, -- an estimate
  },

  require = with(tiles_are_worth_it(32, "BK"), {
    { "tensor cores need compute capability 8.0", "dev_cc >= 80" },
    { "large tiles leave most multiprocessors idle",
      "BM * BN <= 4096 or 2 * " .. TILES .. " >= dev_sms or k > 8 * BM" },
    { "WM does not divide BM, or WN BN", "BM % WM == 0 and BN % WN == 0" },
    { "a block has more than 16 warps", "(BM // WM) * (BN // WN) <= 16" },
    { "WM * WN < 1024 needs few tiles", "WM * WN >= 1024 or " .. TILES .. " <= 4 * dev_sms" },
    { "WM and WN differ more than fourfold", "WM <= 4 * WN and WN <= 4 * WM" },
    { "WM * WN exceeds the registers", "SUM_NBYTES // 4 * WM * WN // 32 <= 160" },
    { "EDGE=whole needs tiles that divide the matrices",
      "EDGE == 'guarded' or m % BM == 0 and n % BN == 0 and k % BK == 0" },
    { "EDGE=guarded needs a tile that crosses an edge",
      "EDGE == 'whole' or m % BM > 0 or n % BN > 0 or k % BK > 0", advice = true },
    { "16-bit numbers need STEP == 16", "dtype == 'f64' or STEP == 16" },
    { "reproducible=shape with f64 needs STEP=4", "not ONE_ORDER or dtype ~= 'f64' or STEP == 4" },
    { "f64 with STEP > 4 needs compute capability 9.0", "STEP == 4 or dtype ~= 'f64' or dev_cc >= 90" },
    { "STEP does not divide BK, or BK > 32 with f64", "BK % STEP == 0 and (dtype ~= 'f64' or BK <= 32)" },
    { "BK is more than twice k", "BK // 2 < max(k, 32)" },
    { "VEC elements exceed align, 16 bytes, BK or BM",
      "VEC <= min(align, 16 // NBYTES) and VEC <= min(BK, BM)" },
    { "VEC is less than align and 16 bytes allow", "VEC == min(align, 16 // NBYTES)", advice = true },
    { "the threads do not divide the copies of A",
      "THREADS % (sel(A_ALONG_K, BK, BM) // VEC) == 0 or sel(A_ALONG_K, BK, BM) // VEC % THREADS == 0" },
    { "the threads do not divide the copies of B",
      "THREADS % (sel(B_ALONG_K, BK, BN) // VEC) == 0 or sel(B_ALONG_K, BK, BN) // VEC % THREADS == 0" },
    { "STAGES exceeds the tiles along k", "STAGES == 2 or (STAGES - 1) * BK * SPLITK < k" },
    { "LAYOUT=swizzled needs 16-bit numbers, and rows of at least 64 bytes, a power of two",
      "LAYOUT == 'padded' or dtype ~= 'f64' and sel(A_ALONG_K, BK >= 32, BM >= 32 and ispow2(BM)) "
        .. "and sel(B_ALONG_K, BK >= 32, BN >= 32 and ispow2(BN))" },
    { "FINISH other than last_block needs SPLITK > 1", "SPLITK > 1 or FINISH == 'last_block'" },
    { "FINISH=cluster needs compute capability 9.0, a SPLITK of 2, 4 or 8, and STORE=direct",
      "FINISH ~= 'cluster' or dev_cc >= 90 and SPLITK <= 8 and ispow2(SPLITK) and STORE == 'direct'" },
    { "FRAGMENTS=2 needs an even number of steps per tile", "FRAGMENTS == 1 or BK // STEP % 2 == 0" },
    { "MINBLOCKS blocks exceed the shared memory of a multiprocessor",
      "MINBLOCKS == 1 or MINBLOCKS * (SMEM + dev_smem_reserved) <= dev_smem_sm" },
    { "MINBLOCKS blocks exceed the threads of a multiprocessor", "MINBLOCKS * THREADS <= dev_threads_sm" },
    { "MINBLOCKS > 1 needs threads that have to share registers",
      "MINBLOCKS == 1 or THREADS * MINBLOCKS * 255 > dev_regs_sm" },
    { "MINBLOCKS exceeds the blocks of a multiprocessor",
      "MINBLOCKS == 1 or " .. TILES .. " * SPLITK > (MINBLOCKS - 1) * dev_sms" },
    { "the registers would spill",
      "REGISTERS <= min(255, dev_regs_sm // roundup(THREADS * MINBLOCKS, 128) // 8 * 8)" },
  }),

  stages = {
    { kernel = "gemm", grid = { TILES, "SPLITK" }, block = "THREADS", smem = "SMEM", early = "EARLY",
      work = block_work("ceildiv(ceildiv(k, SPLITK), BK)", "BK", ""),
      args = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales",
        "biases", "partial", "arrived" } },
    { kernel = "gemm_finish", when = "SPLITK > 1 and FINISH == 'two_launch'",
      grid = TILES, block = "THREADS", smem = "SMEM",
      args = { "m", "n", "alpha", "beta", "C", "ldc", "scales", "biases", "partial" } },
  },
  source = "gemm_mma.cu",
}

-- Tensor cores, by warpgroups.
local AT_ONCE = "min(CLUSTERS * SPLITK, dev_sms * MINBLOCKS // BLOCKS)" -- clusters
local PERSISTENT = AT_ONCE .. " * BLOCKS"
local UNITS = "ceildiv(CLUSTERS * SPLITK, " .. AT_ONCE .. ")" -- that a block computes
local WGMMA_UNITS = "sel(IN_CLUSTER, 1, " .. UNITS .. ")"
local WGMMA_GRID = { "sel(IN_CLUSTER, CLUSTERS, " .. PERSISTENT .. ")", "sel(IN_CLUSTER, SPLITK, 1)" }
local WGMMA_WORK = block_work("((" .. WGMMA_UNITS .. " - 1) * ceildiv(ceildiv(k, SPLITK), 64) "
  .. "+ ceildiv(ceildiv(k, max(SPLITK, TAIL)), 64))", 64, WGMMA_UNITS .. " * ")
local LAST_ROUND = "(CLUSTERS % (dev_sms * MINBLOCKS // BLOCKS))" -- clusters that it needs, if it is not the only one
local TAIL_IS_WORTH_IT = { "TAIL > 1 needs SPLITK=1 and a last round of few tiles, long along k",
  "TAIL == 1 or SPLITK == 1 and CLUSTERS * BLOCKS > dev_sms * MINBLOCKS and " .. LAST_ROUND .. " > 0 and "
    .. LAST_ROUND .. " * TAIL <= dev_sms * MINBLOCKS // BLOCKS and TAIL * 256 <= k" }
local CLUSTER_HAS_TWO = { "CLUSTER needs a second tile to share copies with",
  "CLUSTER == 'none' or sel(CLUSTER == 'rows', m > BM, n > BN)" }
local CLUSTERS = { "CLUSTERS", "ceildiv(m, sel(CLUSTER == 'rows', 2, 1) * BM) "
  .. "* ceildiv(n, sel(CLUSTER == 'columns', 2, 1) * BN)" }
local BLOCKS = { "BLOCKS", "sel(CLUSTER == 'none', 1, 2)" } -- of a cluster that shares copies
local WGMMA = {
  space = {
    { "GROUPS", { 1, 2, 3 }, "warpgroups that multiply, each its columns of C" },
    { "WGMMA_STAGES", { 3, 4, 5, 6, 7, 8 }, "tiles of A and B in shared memory, of 64 elements along k" },
    { "PANELS", { 2, 4 }, "parts of C on their way to memory at a time, per warp" },
    { "READ_C", { "threads", "map" },
      "how C is read if beta is not 0: by threads, or by a tensor map while the tile's products are computed" },
  },
  default = { GROUPS = 2, WGMMA_STAGES = 4, PANELS = 2, READ_C = "threads" },

  derive = {
    { "WARPS", "4 * GROUPS" }, -- that multiply
    { "THREADS", "32 * WARPS + 128" },
    { "COPIERS", "1" },
    { "RING", "WGMMA_STAGES" },
    { "ALL_PANELS", "WARPS * PANELS" },
    { "PACKED", "align < 8" }, -- for tensor maps, which need multiples of 16 bytes
    { "PACKED_LDA", "roundup(max(1, " .. A_EXTENT .. "), 8)" },
    { "PACKED_LDB", "roundup(max(1, " .. B_EXTENT .. "), 8)" },
    -- Tiles, panels of C, barriers.
    { "SMEM", "max(WGMMA_STAGES * 128 * (BM + BN) + GROUPS * PANELS * 8192 + WGMMA_STAGES * 16 + 1024"
      .. " + sel(READ_C == 'map', GROUPS * PANELS * 32, 0), sel(IN_CLUSTER, 4 * BN * (BM + 8), 0))" },
    -- The registers a block has at its launch, REGISTERS per thread, are redistributed.
    { "REGISTERS", "65536 // max(1, THREADS * MINBLOCKS) // 8 * 8" },
    { "LOADER_REGISTERS", "sel(GROUPS == 3, 32, 40)" },
    { "MULTIPLIER_REGISTERS",
      "sel(GROUPS == 1, min(REGISTERS, 255), ((GROUPS + 1) * REGISTERS - LOADER_REGISTERS) // GROUPS // 8 * 8)" },
    BLOCKS,
    -- Blocks that share an operand each copy half of each box if the number of boxes is odd.
    { "A_HALVED", "CLUSTER == 'columns' and (A_ALONG_K or BM // 64 % 2 == 1)" },
    { "B_HALVED", "CLUSTER == 'rows' and (B_ALONG_K or BN // 64 % 2 == 1)" },
    CLUSTERS,
  },

  require = with(tiles_are_worth_it(64, 64), {
    { "ALG=wgmma needs compute capability 9.0", "dev_cc == 90" },
    { "ALG=wgmma needs 16-bit numbers", "dtype ~= 'f64'" },
    { "packing A and B takes longer than the product if m or n is at most 64",
      "not PACKED or m > 64 and n > 64" },
    { "ALG=wgmma needs m, n, k > 0: tensor maps have no empty sides", "min(m, n, k) > 0" },
    { "BM is not a multiple of 64, or BN of 64 * GROUPS", "BM % 64 == 0 and BN % (64 * GROUPS) == 0" },
    { "BM * BN / GROUPS exceeds the registers of a warpgroup",
      "BN // (64 * GROUPS) * BM // 2 <= sel(GROUPS == 3, 96, 128)" },
    { "WGMMA_STAGES exceeds the tiles along k",
      "WGMMA_STAGES == 3 or (WGMMA_STAGES - 1) * 64 * SPLITK < k", advice = "search" },
    { "PANELS exceeds the panels of C that a warp has",
      "PANELS == 2 or BM * (" .. C_NBYTES .. ") // 128 * BN // (64 * GROUPS) >= 4" },
    { "MINBLOCKS blocks exceed the shared memory of a multiprocessor",
      "MINBLOCKS == 1 or MINBLOCKS * (SMEM + 16 + dev_smem_reserved) <= dev_smem_sm" },
    { "MINBLOCKS blocks leave a warpgroup too few registers",
      "MINBLOCKS == 1 or BN // (64 * GROUPS) * BM // 2 + 60 <= MULTIPLIER_REGISTERS" },
    { "MINBLOCKS exceeds the blocks of a multiprocessor",
      "MINBLOCKS == 1 or CLUSTERS * BLOCKS * SPLITK > (MINBLOCKS - 1) * dev_sms" },
    TAIL_IS_WORTH_IT,
    { "FINISH=two_launch needs ALG=mma", "FINISH ~= 'two_launch'" },
    { "FINISH=cluster needs a SPLITK of 2, 4 or 8, without CLUSTER, and READ_C=threads", "FINISH ~= 'cluster' or "
      .. "SPLITK > 1 and SPLITK <= 8 and ispow2(SPLITK) and CLUSTER == 'none' and READ_C == 'threads'" },
    { "READ_C=map needs an aligned C", "READ_C == 'threads' or not PACKED" },
    { "READ_C=map needs a beta that is not 0", "READ_C == 'threads' or beta_is ~= '0'", advice = "search" },
    CLUSTER_HAS_TWO,
  }),

  workspace = {
    { "packed_a", "dtype", "sel(PACKED, PACKED_LDA * " .. A_COLUMNS .. ", 0)" },
    { "packed_b", "dtype", "sel(PACKED, PACKED_LDB * " .. B_COLUMNS .. ", 0)" },
  },
  stages = {
    { kernel = "gemm_pack", when = "PACKED", block = 256, early = "EARLY",
      grid = { "ceildiv(max(PACKED_LDA, PACKED_LDB), 256)",
        "min(65535, ceildiv(max(" .. A_COLUMNS .. ", " .. B_COLUMNS .. "), 8))", 2 },
      args = { { "i32", A_EXTENT }, { "i32", A_COLUMNS }, "A", "lda", "packed_a", { "i32", B_EXTENT },
        { "i32", B_COLUMNS }, "B", "ldb", "packed_b" } },
    { kernel = "gemm_warpgroup", when = "PACKED", grid = WGMMA_GRID, block = "THREADS", smem = "SMEM",
      overlap = "true", work = WGMMA_WORK,
      args = { "m", "n", "k", "alpha", tiles_of_a("packed_a", "PACKED_LDA"),
        tiles_of_b("packed_b", "PACKED_LDB"), "beta", "C", "ldc", "scales", "biases", "partial",
        "arrived" } },
    { kernel = "gemm_warpgroup", when = "not PACKED", grid = WGMMA_GRID, block = "THREADS",
      smem = "SMEM", early = "EARLY", work = WGMMA_WORK,
      args = { "m", "n", "k", "alpha", tiles_of_a("A", "lda"), tiles_of_b("B", "ldb"), "beta", "C", "ldc",
        "scales", "biases", "partial", "arrived",
        { tensor = "C", dims = { "m", "n" }, strides = { "ldc" },
          box = { "128 // (" .. C_NBYTES .. ")", 16 }, swizzle = 128 } } },
  },
  source = "gemm_wgmma.cu",
}

-- Doubles on tensor cores, by warps that tensor maps feed. Blocks that share a tile's k are a cluster.
local DMMA_UNITS = "sel(SPLITK > 1, 1, " .. UNITS .. ")"
local DMMA_WORK = block_work("((" .. DMMA_UNITS .. " - 1) * ceildiv(k, 16) + ceildiv(ceildiv(k, max(SPLITK, TAIL)), 16))",
  16, DMMA_UNITS .. " * ")
local function gemm_doubles(condition, ...)
  local args = { "m", "n", "k", "alpha", ... }
  for _, arg in ipairs { "beta", "C", "ldc", "scales", "biases", "partial", "arrived" } do args[#args + 1] = arg end
  return { kernel = "gemm_doubles", when = condition, grid = { "sel(SPLITK > 1, CLUSTERS, " .. PERSISTENT .. ")",
    "SPLITK" }, block = "THREADS", smem = "SMEM", early = "EARLY", work = DMMA_WORK, args = args }
end
local DMMA = {
  derive = {
    { "WARPS", "(BM // WM) * (BN // WN)" }, -- that multiply
    { "THREADS", "32 * WARPS + 128" },
    { "MAPS", "align >= 2" }, -- which need multiples of 16 bytes
    { "COPIERS", "sel(MAPS, 1, 128)" },
    { "RING", "STAGES" },
    { "ALL_PANELS", "0" },
    { "SMEM", "max(STAGES * (128 * (BM + BN) + 16), sel(SPLITK > 1, 8 * BM * BN, 0)) + 1024" },
    -- The registers a block has at its launch, REGISTERS per thread, are redistributed.
    { "REGISTERS", "min(255, 65536 // max(1, THREADS * MINBLOCKS)) // 8 * 8" },
    { "REDISTRIBUTED", "REGISTERS <= 168" },
    { "LOADER_REGISTERS", "sel(MAPS, 40, 56)" },
    { "MULTIPLIER_REGISTERS", "min(240, (THREADS * REGISTERS - 128 * LOADER_REGISTERS) // (32 * max(1, WARPS)) // 8 * 8)" },
    BLOCKS,
    -- Blocks that share an operand each copy half of each box if the number of boxes is odd.
    { "A_HALVED", "CLUSTER == 'columns' and (A_ALONG_K or BM // 16 % 2 == 1)" },
    { "B_HALVED", "CLUSTER == 'rows' and (B_ALONG_K or BN // 16 % 2 == 1)" },
    CLUSTERS,
  },

  require = with(tiles_are_worth_it(32, 16), {
    { "ALG=dmma needs compute capability 9.0", "dev_cc == 90" },
    { "ALG=dmma needs f64", "dtype == 'f64'" },
    { "ALG=dmma needs m, n, k > 0: tensor maps have no empty sides", "min(m, n, k) > 0" },
    { "BM and BN are not multiples of WM and WN", "BM % WM == 0 and BN % WN == 0" },
    { "ALG=dmma needs 4 or 8 warps", "(BM // WM) * (BN // WN) == 4 or (BM // WM) * (BN // WN) == 8" },
    { "WM and WN differ more than fourfold, or WM * WN exceeds the registers",
      "WM <= 4 * WN and WN <= 4 * WM and WM * WN <= 2048" },
    { "the sums and fragments exceed a thread's registers", "WM * WN // 16 + WN + 52 <= "
      .. "sel(REDISTRIBUTED, MULTIPLIER_REGISTERS, REGISTERS)" },
    { "STAGES exceeds the tiles along k", "STAGES == 2 or (STAGES - 1) * 16 * SPLITK < k", advice = "search" },
    { "SPLITK in a cluster is 1, 2, 4 or 8, without CLUSTER", "SPLITK == 1 or SPLITK <= 8 and ispow2(SPLITK) and CLUSTER == 'none'" },
    { "CLUSTER needs tensor maps, and align >= 2", "CLUSTER == 'none' or MAPS" },
    { "MINBLOCKS blocks exceed the shared memory of a multiprocessor",
      "MINBLOCKS == 1 or MINBLOCKS * (SMEM + 16 + dev_smem_reserved) <= dev_smem_sm" },
    { "MINBLOCKS exceeds the blocks of a multiprocessor",
      "MINBLOCKS == 1 or CLUSTERS * BLOCKS * SPLITK > (MINBLOCKS - 1) * dev_sms" },
    TAIL_IS_WORTH_IT,
    CLUSTER_HAS_TWO,
  }),

  stages = {
    gemm_doubles("MAPS", tiles_of_a("A", "lda"), tiles_of_b("B", "ldb")),
    gemm_doubles("not MAPS", "A", "lda", "B", "ldb"),
  },
  source = "gemm_dmma.cu",
}

-- Whose k several blocks share.
local SHARED_TILES = "sel(ALG == 'wgmma' or ALG == 'dmma', sel(TAIL > 1, " .. LAST_ROUND .. ", CLUSTERS) * BLOCKS, " .. TILES .. ")"

local BY_WORKSPACE = "(TAIL > 1 or SPLITK > 1 and ALG ~= 'dmma')"

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
    { "dtype", { "bf16", "f16", "f64" }, default = "bf16", like = { f16 = "bf16" },
      brief = "type of A and B; 16-bit ones are added up in f32" },
    { "ctype", { "bf16", "f16", "f64", "f32" }, default = "dtype", like = { f16 = "bf16", f32 = "bf16" },
      brief = "type of C: that of A and B, or for 16-bit ones f32" },
    { "align", { 8, 4, 2, 1 },
      default = "min(pow2div(" .. A_EXTENT .. ", 8), pow2div(" .. B_EXTENT .. ", 8), "
        .. "pow2div(m, 8))",
      brief = "elements to which A, B, C and their leading dimensions are aligned" },
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
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: of an element also whatever the other sizes, its "
        .. "place and layouts" },
  },

  args = {
    { "m", "i32", value = "m" },
    { "n", "i32", value = "n" },
    { "k", "i32", value = "k" },
    { "alpha", "f64", sample = "sel(alpha_is == '1', 1, -0.75)" },
    { "A", "dtype", "in", count = "lda * max(0, sel(ta == 'n', k, m) - 1) + " .. A_EXTENT,
      fill = { "uniform", -1, 1 },
      shift = "sel(align < min(pow2div(" .. A_EXTENT .. ", 8), pow2div(" .. B_EXTENT .. ", 8), pow2div(m, 8)), align, 0) * (" .. NBYTES .. ")" },
    { "lda", "i64", sample = "roundup(max(1, " .. A_EXTENT .. "), align)" },
    { "B", "dtype", "in", count = "ldb * max(0, sel(tb == 'n', n, k) - 1) + " .. B_EXTENT,
      fill = { "uniform", -1, 1 },
      shift = "sel(align < min(pow2div(" .. A_EXTENT .. ", 8), pow2div(" .. B_EXTENT .. ", 8), pow2div(m, 8)), align, 0) * (" .. NBYTES .. ")" },
    { "ldb", "i64", sample = "roundup(max(1, " .. B_EXTENT .. "), align)" },
    { "beta", "f64", sample = "sel(beta_is == '0', 0, sel(beta_is == '1', 1, 0.5))" },
    -- With beta 0, C is not read: it may hold a NaN.
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
      .. "pow2div(ldc, 8))",
    alpha_is = "sel(alpha == 1, '1', 'any')",
    beta_is = "sel(beta == 0, '0', sel(beta == 1, '1', 'any'))",
    -- With alpha 0, A and B are not read: they may hold NaNs.
    k = "sel(alpha == 0, 0, k)" },

  call_require = {
    { "lda is less than the rows of A", "lda >= max(1, " .. A_EXTENT .. ")" },
    { "ldb is less than the rows of B", "ldb >= max(1, " .. B_EXTENT .. ")" },
    { "ldc is less than the rows of C", "ldc >= max(1, m)" },
    { "ctype is neither dtype nor, where dtype has 16 bits, f32",
      "ctype == dtype or ctype == 'f32' and dtype ~= 'f64'" },
  },

  space = {
    { "ALG", { "mma", "plain", "wgmma", "dmma" },
      "tensor cores, by warps, (wgmma) warpgroups or (dmma: doubles) warps that tensor maps feed, or an element of C "
        .. "per thread" },
    { "BM", { 16, 32, 64, 96, 128, 192, 256 }, "rows of C per block", when = NOT_PLAIN },
    { "BN", { 16, 32, 64, 96, 128, 192, 256 }, "columns of C per block", when = NOT_PLAIN },
    { "WM", { 16, 32, 48, 64, 96, 128 }, "rows of C per warp", when = BY_WARPS },
    { "WN", { 16, 32, 48, 64, 96, 128 }, "columns of C per warp", when = BY_WARPS },
    { "STAGES", { 2, 3, 4, 5, 6 }, "tiles of A and B in shared memory", when = BY_WARPS },
    { "RASTER", { 1, 4, 8, 16 }, "rows of tiles that neighbouring blocks share", when = NOT_PLAIN },
    { "SPLITK", { 1, 2, 3, 4, 6, 8, 16, 32 }, "blocks that share a tile's k", when = NOT_PLAIN },
    { "MINBLOCKS", { 1, 2, 3 }, "blocks per multiprocessor that registers must allow", when = NOT_PLAIN },
    { "START", { "in_order", "early" }, "early: blocks start while the kernel before ends, and wait for it there",
      when = NOT_PLAIN },
    { "FINISH", { "last_block", "two_launch", "cluster" },
      "how blocks that share k add up: the last one to finish, a second launch, or each a part, in a cluster",
      when = "ALG == 'mma' or ALG == 'wgmma'" },
    { "CLUSTER", { "none", "rows", "columns" },
      "two blocks, neighbours along the rows or columns of C, share copies of an operand", when = BY_MAPS },
    { "TAIL", { 1, 2, 3, 4, 6, 8 }, "blocks that share the k of a tile of the last round", when = BY_MAPS },
  },
  order = { "ALG", "BM", "BN", "WM", "WN", "BK", "EDGE", "STEP", "VEC", "STAGES", "LAYOUT", "RASTER", "SPLITK",
    "FINISH", "STORE", "FRAGMENTS", "MINBLOCKS", "GROUPS", "WGMMA_STAGES", "PANELS", "CLUSTER", "READ_C", "START",
    "TAIL" },

  derive = {
    { "NBYTES", NBYTES },
    { "LINE", "128 // NBYTES" }, -- elements in 128 bytes
    { "EARLY", "START == 'early'" },
    { "IN_CLUSTER", "SPLITK > 1 and FINISH == 'cluster'" },
    { "ONE_ORDER", "reproducible == 'shape'" }, -- additions in one order for all sizes
    { "SUM_NBYTES", "sel(dtype == 'f64', 8, 4)" }, -- of an accumulator
    { "A_ALONG_K", "ta == 't'" },
    { "B_ALONG_K", "tb == 'n'" },
  },

  require = {
    -- Blocks that share k (SPLITK) always add up their parts in the same order, so reproducible=run excludes nothing.
    { "reproducible=shape excludes ALG=wgmma and ALG=dmma: their instructions round differently",
      "not ONE_ORDER or ALG ~= 'wgmma' and ALG ~= 'dmma'" },
    { "START=early needs compute capability 9.0", "not EARLY or dev_cc >= 90" },
    { "reproducible=shape needs SPLITK=1: an element's products are added in one sequence along k",
      "not ONE_ORDER or SPLITK == 1" },
    { "ctype is neither dtype nor, where dtype has 16 bits, f32",
      "ctype == dtype or ctype == 'f32' and dtype ~= 'f64'" },
  },

  default = { ALG = "plain", BM = 16, BN = 16, WM = 16, WN = 16, STAGES = 2, RASTER = 1, SPLITK = 1, MINBLOCKS = 1,
    START = "in_order", FINISH = "last_block", CLUSTER = "none", TAIL = 1 },
  base = BASE,
  untuned = SUGGESTED,

  workspace = {
    -- Partial sums; two of f32 take one element.
    { "partial", "f64",
      "sel(" .. BY_WORKSPACE .. " and FINISH ~= 'cluster', ceildiv(" .. SHARED_TILES
        .. " * max(SPLITK, TAIL) * BM * BN * SUM_NBYTES, 8), 0)" },
    { "arrived", "u32", "sel(" .. BY_WORKSPACE .. " and FINISH == 'last_block', " .. SHARED_TILES .. ", 0)" },
  },

  algorithms = { mma = MMA, plain = PLAIN, wgmma = WGMMA, dmma = DMMA },

  -- One thread per element of C, accumulating in double.
  reference = {
    stages = {
      { kernel = "reference", when = "m * n * k <= 2^24", block = 256,
        grid = { "ceildiv(m, 256)", "min(n, 65535)" }, args = reference_args },
      { kernel = "reference_large", when = "m * n * k > 2^24", block = 256,
        grid = { "ceildiv(m, 64)", "min(ceildiv(n, 16), 65535)" }, args = reference_args },
    },
    source = "gemm_reference.cu",
  },

  cases = {
    {},
    { alpha = -0.75, beta = 0.5 },
    { lda = "roundup(max(1, " .. A_EXTENT .. "), align) + align",
      ldb = "roundup(max(1, " .. B_EXTENT .. "), align) + 3 * align",
      ldc = "roundup(max(1, m), align) + 2 * align", beta = "sel(beta_is == '0', -1, 0)" },
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
  bytes = "(" .. NBYTES .. ") * (m * k + k * n) + (" .. C_NBYTES .. ") * sel(beta_is == '0', 1, 2) * m * n",

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
