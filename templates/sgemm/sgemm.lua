-- sgemm: C = alpha op(A) op(B) + beta C, single precision, as BLAS has it: column-major, all four
-- transpositions, any sizes and leading dimensions.
--
-- One block computes a BM x BN tile of C, one thread TM x TN elements of it in registers. Along k
-- the block walks in tiles of BK, copied to shared memory STAGES deep. Where C has few tiles, the
-- sum over k is shared as well: SLICEK groups of threads of a block each take a part of every tile
-- and add up through shared memory; SPLITK blocks each take a part of k and add up through a
-- workspace.
--
-- SCHEDULE=stream_k shares out the tiles that do not fill the device's last wave (Osama et al., Stream-K, 2023): as
-- many blocks as run at a time first take equal parts of those tiles' k, then whole tiles each.
--
-- Where k is small, stores of C count: WRITEBACK=coalesced fills sectors even where columns of C are not aligned;
-- with SCHEDULE=stationary_a a block keeps all of its rows of A for several tiles.
--
-- LOADER=tma brings tiles by tensor maps. They need leading dimensions that are multiples of 16 bytes, and
-- products are fastest where neither operand is contiguous along k: PACK first copies the others.
--
-- The text depends on the problem only through ta and tb; what else it assumes about sizes and
-- alignment is a parameter (VEC, STORE, EDGE) with a requirement, so that an image fits every
-- problem that meets the requirements.
--
-- ALG=gemv, for C of a few columns (or rows, with SWAP), multiplies a matrix by vectors, without tiles in shared
-- memory. ALG=tf32x3, tf32 and tf32x3_mma use tensor cores, where accuracy allows their rounding.

-- Expressions that several places use.
local TILES = "(ceildiv(m, ROWS) * ceildiv(n, COLUMNS))"
local A_EXTENT = "sel(ta == 'n', m, k)" -- of a column of A and of B in memory
local B_EXTENT = "sel(tb == 'n', k, n)"
local BY_WARPS, BY_WARPGROUPS = "ALG == 'tf32x3_mma'", "(ALG == 'tf32x3' or ALG == 'tf32')"
local SPLIT = "(SPLITK > 1 and FINISH ~= 'atomic')"
local A_VEC = "min(align_a, pow2div(" .. A_EXTENT .. ", 4))"
local B_VEC = "min(align_b, pow2div(" .. B_EXTENT .. ", 4))"
-- With ALG=gemv, of C or (SWAP) of its transpose: the results of a vector, and the vectors.
local RESULTS, THIN = "sel(SWAP == 'no', m, n)", "sel(SWAP == 'no', n, m)"
local VEC_MOST = "min(" .. A_VEC .. ", " .. B_VEC .. ")"
local C_VEC = "pow2div(m, 4)"
-- Asynchronous copies of an operand that is contiguous along k are of single floats: then the other one's
-- alignment alone counts.
local OTHER_VEC = "sel(LOADER ~= 'cp_async' or SCHEDULE == 'stream_k' or (ta == 't') == (tb == 'n'), 1, sel(ta == 't', "
  .. B_VEC .. ", " .. A_VEC .. "))"

-- For a few columns or rows without a tuned result: what is fast on an H200.
local SUGGESTED = {}
local function suggest_vectors(swap, trans, config)
  local vec_most, thin = swap == "no" and A_VEC or B_VEC, swap == "no" and "n" or "m"
  for _, vec in ipairs { 4, 2, 1 } do
    local c = { ALG = "gemv", SWAP = swap, VEC = vec, BLOCKS = 4 }
    for name, value in pairs(config) do c[name] = value end
    c.when = thin .. " <= " .. config.VECTORS .. " and " .. trans .. " and " .. vec_most .. " == " .. vec
    SUGGESTED[#SUGGESTED + 1] = c
  end
end
local function suggest_both(no, yes, config)
  suggest_vectors("no", "ta == '" .. no .. "'", config)
  suggest_vectors("yes", "tb == '" .. yes .. "'", config)
end
for _, vectors in ipairs { 1, 2, 4 } do
  local lines = vectors > 1 and 4 or 2
  for _, x in ipairs { "cached", "shared" } do -- the latter where they are less aligned
    suggest_both("t", "n", { VECTORS = vectors, BLOCK = 128, LX = 64, LOADS = 2, LOADS_ACROSS = lines, X = x })
  end
  if vectors > 1 then -- where shared memory holds them
    suggest_both("n", "t", { VECTORS = vectors, BLOCK = 256, LX = 16, LOADS = 2, LOADS_ACROSS = 4, X = "shared" })
  end
  if vectors ~= 2 then
    local loads = vectors > 1 and 1 or 2
    suggest_both("n", "t", { VECTORS = vectors, BLOCK = 256, LX = 16, LOADS = loads, LOADS_ACROSS = 4 })
  end
end

-- For a large C of few steps along k whose columns are not aligned.
for _, along_k in ipairs { true, false } do
  local function suggest_shallow(most, config)
    local c = { LOADER = "cp_async", WRITEBACK = "coalesced", BM = 128, BN = 32, TM = 4, TN = 8, LM = 32, BK = 8, UNROLL = 8,
      STAGES = 2, STORE = 1, VEC = 1, PAD = along_k and 4 or 0, KLANES = along_k and 8 or 16 }
    for name, value in pairs(config) do c[name] = value end
    c.when = "(align == 1 or m % 2 == 1) and m * n >= 2^20 and k <= " .. most .. " and "
      .. (along_k and "(ta == 't' or tb == 'n')" or "ta == 'n' and tb == 't'")
    SUGGESTED[#SUGGESTED + 1] = c
  end
  suggest_shallow(40, { SCHEDULE = "stationary_a", MINBLOCKS = 5 })
  suggest_shallow(256, { FRAGMENTS = 2 })
end

local reference_args = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales",
  "biases" }

local GRID = "sel(STREAM_K, PLACES, sel(STATIONARY_A, min(PLACES, " .. TILES .. "), " .. TILES .. "))"
-- Blocks that start early go to the multiprocessors that have room first. If they are few, some multiprocessors get
-- two and others none: up to twice as slow on an H200. If they are many, the load evens out.
local STARTS_EARLY = "(EARLY and " .. TILES .. " * SPLITK >= 4 * dev_sms)"
-- What a block does, across edges of tiles and of k too: multiplications, steps along k, stores of C; and whether
-- it waits for a launch.
local TILE_STEPS = "ceildiv(ceildiv(k, SPLITK), ALONG)"
local BLOCK_TILES = "sel(STATIONARY_A, ceildiv(" .. TILES .. ", PLACES), 1)"
local STEPS = "sel(STREAM_K, ceildiv(" .. TILES .. " * " .. TILE_STEPS .. ", PLACES), "
  .. BLOCK_TILES .. " * " .. TILE_STEPS .. ")"
local WORK = { "ROWS * COLUMNS * ALONG * " .. STEPS, STEPS, BLOCK_TILES .. " * ROWS * COLUMNS // STORE",
  "sel(" .. STARTS_EARLY .. ", 0, 1)" }

-- Bounds are checked everywhere, and accesses are of single floats.
local BASE = {}
local function base_tiles(bm, tm, tn, lm, more)
  local c = { BM = bm, BN = bm, TM = tm, TN = tn, LM = lm, BK = 16, UNROLL = 16, STAGES = 2, PAD = 4 }
  for name, value in pairs(more) do c[name] = value end
  BASE[#BASE + 1] = c
end
for _, swap in ipairs { "no", "yes" } do
  for _, vectors in ipairs { 1, 8 } do
    BASE[#BASE + 1] = { ALG = "gemv", SWAP = swap, VECTORS = vectors, LX = 32 }
  end
end
base_tiles(128, 8, 8, 8, { MINBLOCKS = 2 }) -- where there are two of them per multiprocessor
base_tiles(64, 8, 4, 8, { SPLITK = 8 })
base_tiles(64, 8, 4, 8, {})
base_tiles(32, 2, 2, 8, {})

-- In bytes, for a block of ALG=ffma.
local function shared_memory(stages)
  return "sel(MAPS, 1024, 0) + 4 * max(sel(STATIONARY_A, roundup(k, BK) * (BM + PAD + 2 * (BN + PAD)), "
    .. stages .. " * STAGE), (SLICEK - 1) * BM * BN)"
end
-- A launch takes no more than it fills; with stream-K a block's next tile follows in the next stage.
local FILLED_SMEM = shared_memory("sel(STREAM_K, STAGES, min(STAGES, max(2, ceildiv(k, SPLITK * BK))))")

local HAS_MINBLOCKS = "STREAM_K or MINBLOCKS == 1 or " .. TILES .. " * SPLITK > (MINBLOCKS - 1) * dev_sms"

-- The launch with tensor maps, of operands packed or not.
local function with_maps(a_packed, b_packed)
  local function map(name, packed, along_k, rows, width)
    if packed then
      return { tensor = "packed_" .. name, dims = { rows, "k" }, strides = { "roundup(" .. rows .. ", 4)" },
        box = { width, "BK" }, swizzle = 0 }
    end
    return { tensor = name:upper(), strides = { "ld" .. name },
      dims = { "sel(" .. along_k .. ", k, " .. rows .. ")", "sel(" .. along_k .. ", " .. rows .. ", k)" },
      box = { "sel(" .. along_k .. ", BK, " .. width .. ")", "sel(" .. along_k .. ", " .. width .. ", BK)" },
      swizzle = "sel(" .. along_k .. ", 4 * BK, 0)" }
  end
  return { kernel = "sgemm_mapped", grid = { GRID, "SPLITK" }, block = "THREADS", smem = FILLED_SMEM, work = WORK,
    when = "MAPS and " .. (a_packed and "" or "not ") .. "A_PACKED and "
      .. (b_packed and "" or "not ") .. "B_PACKED",
    overlap = "OVERLAP and (PACK ~= 'no' or FINISH == 'atomic')", early = STARTS_EARLY,
    args = { "m", "n", "k", "alpha", map("a", a_packed, "A_ALONG_K", "m", "BM"),
      map("b", b_packed, "B_ALONG_K", "n", "BN"), "beta", "C", "ldc", "scales", "biases", "partial",
      "arrived", { "i64", "SHARE" } } }
end

-- What the algorithms have in common.
local PRODUCT_ARGS = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales", "biases",
  "partial", "arrived", { "i64", "SHARE" } }
local SCALE = { kernel = "sgemm_scale", when = "FINISH == 'atomic'",
  grid = { "ceildiv(m, 256)", "min(n, 65535)" }, block = 256, args = { "m", "n", "beta", "C", "ldc" } }
local FINISH = { kernel = "sgemm_finish", when = "SPLITK > 1 and FINISH == 'two_launch'", overlap = "OVERLAP",
  grid = TILES, block = "GROUP",
  args = { "m", "n", "alpha", "beta", "C", "ldc", "scales", "biases", "partial" } }
-- Requirements of tiles, by FMA or on tensor cores.
local SPLIT_IS_WORTH_IT = {
  { "SPLITK > 1 needs few tiles",
    "SPLITK == 1 or " .. TILES .. " * SPLITK "
      .. "<= sel(ROWS * COLUMNS <= 2048 or MULTIPLIERS <= 128, 4, 2) * dev_sms" },
  { "SPLITK leaves a block less than two tiles along k", "SPLITK == 1 or SPLITK * ALONG * 2 <= k" },
  { "SPLITK == 1 excludes FINISH=two_launch and atomic", "SPLITK > 1 or FINISH == 'last_block'" },
  { "EDGE=k and whole need tiles that divide the matrices",
    "EDGE == 'guarded' "
      .. "or m % ROWS == 0 and n % COLUMNS == 0 and (EDGE == 'k' or k % ALONG == 0)" },
}
local function with(list, more)
  local all = {}
  for _, x in ipairs(list) do all[#all + 1] = x end
  for _, x in ipairs(more) do all[#all + 1] = x end
  return all
end

-- A block computes a BM x BN tile of C, a thread TM x TN elements of it in registers.
local FFMA = {
  space = {
    { "LOADER", { "register", "cp_async", "cp_async_warps", "tma" },
      "global to shared memory: through registers, by cp.async of all threads, by cp.async of warps that only load, by "
        .. "tensor maps (TMA)" },
    { "PACK", { "no", "yes", "unaligned" },
      "copy operands before LOADER=tma: none, those that are unaligned or contiguous along k, only unaligned ones" },
    { "SCHEDULE", { "tiles", "stream_k", "stationary_a" },
      "a tile per block; or one wave of blocks, which share the last wave's tiles along k (stream-K), or keep rows of A, "
        .. "of all k, in shared memory for several tiles" },
    { "BM", { 16, 32, 48, 64, 96, 128, 192, 256 }, "rows of C per block" },
    { "BN", { 16, 32, 48, 64, 96, 128, 192, 256 }, "columns of C per block" },
    { "TM", { 1, 2, 4, 8, 12, 16 }, "rows of C per thread" },
    { "TN", { 1, 2, 4, 8, 12, 16 }, "columns of C per thread" },
    { "ORDER", { "rows", "columns", "snake" }, "order of a thread's multiplications" },
    { "STORE", { 1, 2, 4 }, "floats per access of C" },
    { "LM", { 2, 4, 8, 16, 32 }, "lanes of a warp along the rows, the others along the columns" },
    { "LANES", { "interleaved", "rows" }, "order of a warp's lanes in its tile" },
    { "WRITEBACK", { "plain", "coalesced" },
      "stores of C: as threads hold it; without bounds checks of whole tiles, rows dealt out so that neighbouring lanes "
        .. "write neighbours" },
    { "K_TAIL", { "padded", "exact" }, "the incomplete tile along k: padded with zeros, or only its steps" },
    { "BK", { 8, 16, 32, 64 }, "elements along k per tile" },
    { "SLICEK", { 1, 2, 4, 8 }, "groups of threads in a block that share its k" },
    { "UNROLL", { 4, 8, 16, 32 }, "steps along k unrolled" },
    { "MINBLOCKS", { 1, 2, 3, 4, 5, 6, 8 }, "blocks per multiprocessor that registers must allow" },
    { "PAD", { 0, 4 }, "floats between rows in shared memory" },
    { "STAGES", { 1, 2, 3, 4, 5 }, "tiles of A and B in shared memory" },
    { "COPIES", { "burst", "spread" }, "copies at a tile's start, or spread between its steps" },
    { "KLANES", { 8, 16 }, "lanes along k that load an operand contiguous along k" },
    { "FRAGMENTS", { 1, 2 }, "register fragments: 2 reads ahead of the multiplications" },
  },
  default = { BM = 16, BN = 16, TM = 1, TN = 1, ORDER = "rows", STORE = 1, LM = 16, LANES = "rows",
    WRITEBACK = "plain", K_TAIL = "padded", BK = 16, SLICEK = 1, UNROLL = 16, MINBLOCKS = 1, PAD = 0,
    LOADER = "register", STAGES = 1, COPIES = "burst", KLANES = 16, PACK = "no", SCHEDULE = "tiles", FRAGMENTS = 1 },

  derive = {
    { "BLOCKED", "TM * TN > 1" }, -- not the textbook's kernel of one element per thread
    { "ROWS", "BM" }, -- of a tile of C
    { "COLUMNS", "BN" },
    { "ALONG", "BK" }, -- elements along k per tile
    -- The text has no SPLITK, but for partial sums that meet in the workspace.
    { "SHARED_K", "SPLITK > 1" },
    { "PARTIALS", "sel(FINISH == 'atomic', 1, SPLITK)" },
    { "SHARE", "roundup(ceildiv(k, SPLITK), BK)" }, -- of k, for a block
    { "GROUP", "(BM // TM) * (BN // TN)" }, -- threads that cover the tile of C once
    { "MAPS", "LOADER == 'tma'" },
    { "LOADS_APART", "LOADER == 'cp_async_warps' or MAPS" }, -- 128 threads that only load
    { "STREAM_K", "SCHEDULE == 'stream_k'" },
    { "STATIONARY_A", "SCHEDULE == 'stationary_a'" },
    { "PLACES", "dev_sms * MINBLOCKS" }, -- blocks that run at a time
    -- A transposed A and an ordinary B are contiguous along k; then vectors go along k, and
    -- asynchronous copies are of single floats, since they transpose on the way.
    { "A_PACKED", "align_a < 4 and PACK ~= 'no' or ta == 't' and PACK == 'yes'" },
    { "B_PACKED", "align_b < 4 and PACK ~= 'no' or tb == 'n' and PACK == 'yes'" },
    { "A_ALONG_K", "ta == 't' and not A_PACKED" },
    { "B_ALONG_K", "tb == 'n' and not B_PACKED" },
    -- Rows and columns of a thread that are neighbours.
    { "MV", "sel(MAPS and A_ALONG_K, 1, min(TM, 4))" },
    { "NV", "sel(MAPS and B_ALONG_K, 1, min(TN, 4))" },
    { "EARLY", "dev_cc >= 90 and WRITEBACK == 'coalesced' and PACK == 'no'" }, -- starts while the kernel before ends
    { "APART", "WRITEBACK == 'coalesced' and not MAPS and STORE < MV" }, -- rows of a thread, in C
    { "MULTIPLIERS", "GROUP * SLICEK" }, -- threads that multiply
    { "COPIERS", "sel(LOADS_APART, 128, MULTIPLIERS)" },
    { "THREADS", "MULTIPLIERS + sel(LOADS_APART, 128, 0)" },
    { "LN", "32 // LM" },
    { "DEPTH", "BK // SLICEK" }, -- steps along k of one thread in one tile
    { "STAGE", "BK * (BM + BN + 2 * PAD)" }, -- floats in shared memory per tile of A and of B
    { "SMEM", shared_memory("STAGES") },
    -- The registers a block has at its launch, 65536 // THREADS per thread, are redistributed.
    { "LOADER_REGISTERS", "40" },
    { "MULTIPLIER_REGISTERS",
      "min(232, (dev_regs_sm // (THREADS * MINBLOCKS) // 8 * 8 * THREADS "
        .. "- 128 * LOADER_REGISTERS) // GROUP // 8 * 8)" },
    { "KVEC", "sel(LOADER ~= 'register', 1, VEC)" },
    { "KSIDE", "min(KLANES, BK // KVEC)" }, -- threads side by side that copy such an operand
    { "A_SIDE", "sel(ta == 't', KSIDE, pow2div(BM // VEC, pow2div(COPIERS, 1024)))" },
    { "B_SIDE", "sel(tb == 'n', KSIDE, pow2div(BN // VEC, pow2div(COPIERS, 1024)))" },
    { "HELD", "sel(LOADER == 'register', ceildiv(BK * (BM + BN), THREADS), 0)" },
    -- One launch starts while the one before ends.
    { "OVERLAP", "dev_cc >= 90 and (PACK ~= 'no' or FINISH ~= 'last_block')" },
    { "REGISTERS", "TM * TN + FRAGMENTS * (TM + TN) + HELD + 24" }, -- an estimate
  },

  -- The textbook's kernel (TM == TN == 1) is exempt from what only serves speed.
  require = with(SPLIT_IS_WORTH_IT, {
    { "reproducible=shape excludes SLICEK and SCHEDULE=stream_k, which split sums",
      "reproducible ~= 'shape' or SLICEK == 1 and not STREAM_K" },
    { "m == 1 and n == 1 need ALG=gemv or TM == TN == 1", "not BLOCKED or min(m, n) ~= 1" },
    { "BM is more than twice the rows of C", "BM // 2 < max(m, 16)" },
    { "BN is more than twice the columns of C", "BN // 2 < max(n, 16)" },
    { "BM and BN differ more than fourfold",
      "(BM <= 4 * BN or n <= 2 * BN) and (BN <= 4 * BM or m <= 2 * BM)" },
    { "TM does not divide BM, or TN BN", "BM % TM == 0 and BN % TN == 0" },
    { "TM * TN exceeds the registers", "TM * TN <= 192" },
    { "TM and TN differ more than fourfold", "TM <= 4 * TN and TN <= 4 * TM" },
    { "a block has fewer than 32 threads, or more than the device allows",
      "BM // TM * (BN // TN) >= 32 and BM // TM * (BN // TN) <= dev_threads_block" },
    { "BM * BN < 4096 needs few tiles: loads would limit",
      "not BLOCKED or BM * BN >= 4096 or " .. TILES .. " <= 4 * dev_sms" },
    { "TM * TN < 32 needs few tiles: shared memory would limit",
      "not BLOCKED or TM * TN >= 32 or " .. TILES .. " <= 4 * dev_sms" },
    { "ORDER needs TM * TN >= 64", "TM * TN >= 64 or ORDER == 'rows'" },
    { "C is not aligned to STORE floats, or a thread has fewer neighbouring rows",
      "STORE <= min(MV, align, " .. C_VEC .. ")" },
    { "C and a thread's rows allow a larger STORE",
      "not BLOCKED or STORE >= min(MV, align, " .. C_VEC .. ")", advice = true },
    { "RASTER > 1 needs many tiles", "RASTER == 1 or BLOCKED and " .. TILES .. " >= 2 * dev_sms" },
    { "warps do not divide the tile", "BM % (LM * TM) == 0 and BN % (32 // LM * TN) == 0" },
    { "the sides of a warp's tile differ more than fourfold (sixteenfold with WRITEBACK=coalesced)",
      "not BLOCKED or LM * TM <= sel(APART, 16, 4) * (32 // LM) * TN and 32 // LM * TN <= 4 * LM * TM" },
    { "LANES=interleaved needs LM < 32 and TM * TN >= 16", "LM < 32 and TM * TN >= 16 or LANES == 'rows'" },
    { "BK is more than twice k", "BK // 2 < max(k, 16)" },
    { "EDGE=guarded and k need a tile that crosses an edge",
      "EDGE == 'whole' or not BLOCKED or k % ALONG > 0 "
        .. "or EDGE == 'guarded' and (m % ROWS > 0 or n % COLUMNS > 0)", advice = true },
    { "EDGE=guarded needs a tile that crosses an edge of C",
      "EDGE ~= 'guarded' or not BLOCKED or m % ROWS > 0 or n % COLUMNS > 0", advice = true },
    { "EDGE=k needs TM * TN > 1", "EDGE ~= 'k' or BLOCKED" },
    { "SLICEK leaves a thread fewer than 4 steps", "BK // SLICEK >= 4" },
    { "the threads exceed a block's", "THREADS <= dev_threads_block" },
    { "SLICEK > 1 needs few tiles and at most 256 threads per slice",
      "SLICEK == 1 or GROUP <= 256 and " .. TILES .. " <= 2 * dev_sms" },
    { "UNROLL does not divide a thread's steps in a tile", "DEPTH % UNROLL == 0" },
    { "UNROLL * TM * TN exceeds the instruction cache", "UNROLL * TM * TN <= 2304" },
    { "UNROLL is small", "UNROLL == DEPTH or UNROLL * TM * TN >= 1024 or STATIONARY_A" },
    { "SPLITK and SLICEK together need small tiles", "SPLITK == 1 or SLICEK == 1 or BM * BN <= 6144" },
    { "large tiles leave most multiprocessors idle",
      "STREAM_K or ROWS * COLUMNS <= 4096 or 3 * " .. TILES .. " * SPLITK >= dev_sms" },
    { "MINBLOCKS exceeds the blocks that there are per multiprocessor",
      "ROWS * COLUMNS <= 4096 or " .. HAS_MINBLOCKS },
    -- They need few registers: the bound hardly changes their code.
    { "MINBLOCKS exceeds the blocks that there are per multiprocessor, of small tiles",
      "ROWS * COLUMNS > 4096 or " .. HAS_MINBLOCKS, advice = "search" },
    { "MINBLOCKS blocks exceed the threads of a multiprocessor", "THREADS * MINBLOCKS <= dev_threads_sm" },
    { "MINBLOCKS makes no difference: threads have 255 registers anyway",
      "STREAM_K or STATIONARY_A or MINBLOCKS == 1 or THREADS * MINBLOCKS * 255 > dev_regs_sm" },
    { "SCHEDULE=stationary_a needs k <= 256", "not STATIONARY_A or k <= 256" },
    { "SCHEDULE=stationary_a needs LOADER=cp_async", "not STATIONARY_A or LOADER == 'cp_async'" },
    { "SCHEDULE=stationary_a needs WRITEBACK=coalesced and RASTER == 1",
      "not STATIONARY_A or WRITEBACK == 'coalesced' and RASTER == 1" },
    { "SCHEDULE=stationary_a needs more tiles than blocks that run at a time", "not STATIONARY_A or " .. TILES .. " > PLACES" },
    { "MINBLOCKS > 4 needs SCHEDULE=stationary_a", "MINBLOCKS <= 4 or STATIONARY_A" },
    { "SCHEDULE=stationary_a needs BK <= 16", "not STATIONARY_A or BK <= 16" },
    { "SCHEDULE=stationary_a excludes SLICEK", "not STATIONARY_A or SLICEK == 1" },
    { "SCHEDULE=stationary_a needs UNROLL <= 8", "not STATIONARY_A or UNROLL <= 8" },
    { "SCHEDULE=stationary_a excludes SPLITK", "not STATIONARY_A or SPLITK == 1" },
    { "SCHEDULE=stationary_a needs STAGES == 2", "not STATIONARY_A or STAGES == 2" },
    { "SCHEDULE=stationary_a needs COPIES=burst", "not STATIONARY_A or COPIES == 'burst'" },
    { "SCHEDULE=stationary_a needs FRAGMENTS == 1", "not STATIONARY_A or FRAGMENTS == 1" },
    { "SCHEDULE=stream_k excludes SPLITK, and needs TM * TN > 1", "not STREAM_K or BLOCKED and SPLITK == 1" },
    { "SCHEDULE=stream_k gains nothing: whole tiles nearly fill the last wave",
      "not STREAM_K or 128 * (roundup(" .. TILES .. ", PLACES) - " .. TILES .. ") >= roundup(" .. TILES
        .. ", PLACES)" },
    -- The block that finishes a tile counts the blocks from that of the first part to that of the last.
    { "SCHEDULE=stream_k needs a tile along k for each block",
      "not STREAM_K or " .. TILES .. " % PLACES * ceildiv(k, BK) >= PLACES" },
    { "SCHEDULE=stream_k leaves a block less than two tiles along k",
      "not STREAM_K or " .. TILES .. " * k >= 2 * PLACES * BK" },
    { "A and B are not aligned to VEC floats",
      "VEC <= " .. VEC_MOST .. " or VEC == min(" .. OTHER_VEC
        .. ", sel(APART and not A_ALONG_K, STORE, 4))" },
    { "A and B are aligned to more than VEC floats",
      "not BLOCKED or VEC >= min(" .. VEC_MOST
        .. ", sel(APART and not A_ALONG_K, STORE, 4))", advice = true },
    { "WRITEBACK=coalesced gains nothing on aligned C with long sums",
      "WRITEBACK == 'plain' or APART or m * n * k <= sel(k <= 256, 2^31, 2^26)" },
    { "WRITEBACK=coalesced needs TM * TN > 1", "WRITEBACK == 'plain' or BLOCKED" },
    { "WRITEBACK=coalesced excludes FINISH=atomic", "WRITEBACK == 'plain' or FINISH ~= 'atomic'" },
    { "WRITEBACK=coalesced needs VEC <= STORE", "not APART or A_ALONG_K or VEC <= STORE" },
    { "WRITEBACK=coalesced needs a power of two of threads",
      "not APART or not A_ALONG_K or pow2div(COPIERS, 1024) == COPIERS" },
    { "K_TAIL=exact needs a short k that BK does not divide", "K_TAIL == 'padded' or k % BK > 0 and k < 12 * BK" },
    { "K_TAIL=exact needs TM * TN > 1, SCHEDULE=tiles and LOADER=register or cp_async",
      "K_TAIL == 'padded' or BLOCKED and not LOADS_APART and SCHEDULE == 'tiles'" },
    { "K_TAIL=exact needs WRITEBACK=coalesced", "K_TAIL == 'padded' or WRITEBACK == 'coalesced'" },
    { "K_TAIL=exact excludes SLICEK", "K_TAIL == 'padded' or SLICEK == 1" },
    { "K_TAIL=exact excludes SPLITK", "K_TAIL == 'padded' or SPLITK == 1" },
    { "PAD is for operands that are transposed on their way to shared memory, and needed there",
      "not BLOCKED or (PAD > 0) == (not MAPS and (ta == 't' or tb == 'n'))", advice = true },
    { "LOADER=cp_async needs compute capability 8.0", "LOADER == 'register' or dev_cc >= 80" },
    { "asynchronous copies need STAGES >= 2", "LOADER == 'register' or STAGES >= 2" },
    { "LOADER=register allows STAGES <= 2", "LOADER ~= 'register' or STAGES <= 2" },
    { "LOADER=cp_async_warps and tma need compute capability 9.0", "not LOADS_APART or dev_cc == 90" },
    { "LOADER=cp_async_warps needs TM * TN >= 64 and 256 multiplying threads per multiprocessor",
      "LOADER ~= 'cp_async_warps' or TM * TN >= 64 and GROUP * MINBLOCKS == 256 and MINBLOCKS <= 2" },
    { "LOADER=tma needs TM * TN >= 32, and MINBLOCKS that suits 128 or 256 multiplying threads",
      "not MAPS or TM * TN >= 32 and (GROUP == 128 and MINBLOCKS >= 2 or GROUP == 256 and MINBLOCKS <= 2)" },
    { "LOADER=cp_async_warps and tma need all steps unrolled, COPIES=burst and FRAGMENTS == 1",
      "not LOADS_APART or UNROLL == DEPTH and COPIES == 'burst' and FRAGMENTS == 1" },
    { "LOADER=cp_async_warps and tma exclude SLICEK", "not LOADS_APART or SLICEK == 1" },
    { "LOADER=tma needs addresses and leading dimensions that are multiples of 16 bytes, or PACK",
      "not MAPS or PACK ~= 'no' or align_a == 4 and align_b == 4" },
    { "PACK needs LOADER=tma and an operand to pack", "PACK == 'no' or MAPS and (A_PACKED or B_PACKED)" },
    { "PACK=unaligned is PACK=yes without an operand contiguous along k",
      "PACK ~= 'unaligned' or A_ALONG_K or B_ALONG_K" },
    { "PACK allows operands of up to 2^32 elements", "PACK == 'no' or max(m, n) * k <= 2^32" },
    { "LOADER=tma needs k > 0", "not MAPS or k > 0" },
    { "LOADER=tma needs tiles of multiples of 1024 bytes, and BK <= 32",
      "not MAPS or BM * BK % 256 == 0 and BN * BK % 256 == 0 and BK <= 32" },
    { "STAGES exceeds the tiles along k", "STAGES <= 2 or (STAGES - 1) * BK * SPLITK < k",
      advice = "search" },
    { "STAGES copies further ahead than latency needs",
      "STAGES <= 2 or BM * BN <= 2048 or (STAGES - 1) * BK <= 64" },
    { "the tiles exceed a block's shared memory", "SMEM + 16 * STAGES <= dev_smem_block" }, -- barriers; last_block.cuh
    { "TM == TN == 1 on many tiles is only a yardstick: LOADER=register, STAGES, VEC 1, PAD 0",
      "BLOCKED or " .. TILES .. " <= 16 * dev_sms or LOADER == 'register' and STAGES == 1 "
        .. "and VEC == 1 and PAD == 0" },
    { "MINBLOCKS blocks exceed the shared memory of a multiprocessor",
      "MINBLOCKS * (SMEM + dev_smem_reserved) <= dev_smem_sm or MINBLOCKS == 1" },
    { "COPIES=spread needs LOADER=cp_async and many steps, all unrolled",
      "COPIES == 'burst' or LOADER == 'cp_async' and UNROLL == DEPTH and UNROLL * TM * TN >= 512" },
    { "KLANES needs an operand that threads copy along k", "not MAPS and (ta == 't' or tb == 'n') or KLANES == 16" },
    { "KLANES exceeds the vectors along k",
      "MAPS or KLANES <= max(8, BK // KVEC) or not (ta == 't' or tb == 'n')" },
    { "loads of A do not divide among the threads",
      "MAPS or COPIERS // A_SIDE > sel(ta == 't', BM, BK) or "
        .. "sel(ta == 't', BM, BK) % (COPIERS // A_SIDE) == 0" },
    { "loads of B do not divide among the threads",
      "MAPS or COPIERS // B_SIDE > sel(tb == 'n', BN, BK) or "
        .. "sel(tb == 'n', BN, BK) % (COPIERS // B_SIDE) == 0" },
    { "FRAGMENTS == 2 needs TM * TN >= 16", "FRAGMENTS == 1 or TM * TN >= 16" },
    { "registers would spill",
      "REGISTERS <= sel(LOADS_APART, MULTIPLIER_REGISTERS, "
        .. "min(255, dev_regs_sm // roundup(THREADS * MINBLOCKS, 128) // 8 * 8))" },
  }),

  workspace = {
    { "packed_a", "f32", "sel(A_PACKED, k * roundup(m, 4), 0)" },
    { "packed_b", "f32", "sel(B_PACKED, k * roundup(n, 4), 0)" },
  },
  stages = {
    SCALE,
    { kernel = "sgemm_pack", when = "PACK ~= 'no'", block = 256,
      grid = "ceildiv(k, 32) * (sel(A_PACKED, ceildiv(m, 32), 0) + sel(B_PACKED, ceildiv(n, 32), 0))",
      args = { "m", "n", "k", "A", "lda", "B", "ldb", "packed_a", "packed_b" } },
    { kernel = "sgemm", when = "not MAPS", overlap = "OVERLAP and FINISH == 'atomic'",
      early = STARTS_EARLY, grid = { GRID, "SPLITK" }, block = "THREADS", smem = FILLED_SMEM, work = WORK,
      args = PRODUCT_ARGS },
    with_maps(false, false),
    with_maps(false, true),
    with_maps(true, false),
    with_maps(true, true),
    FINISH,
  },
  source = "sgemm_ffma.cu",
}

-- C of a few columns (or rows, with SWAP): a matrix times vectors. See matrix_vectors.cuh.
local GEMV = {
  space = {
    { "VECTORS", { 1, 2, 4, 8 }, "columns of C at most, or rows" },
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "LX", { 4, 8, 16, 32, 64, 128, 256, 512, 1024 }, "of these, side by side where the matrix is contiguous" },
    { "LOADS", { 1, 2, 4, 8 }, "vector loads of a thread in this direction, in one step" },
    { "LOADS_ACROSS", { 1, 2, 4, 8, 16 }, "and in the other direction" },
    { "BLOCKS", { 1, 2, 3, 4, 6, 8, 12, 16, 32 }, "blocks per multiprocessor, if need be by splits of k" },
    { "AHEAD", { 0, 1 }, "steps loaded ahead of the multiplications" },
    { "X", { "cached", "shared" }, "vectors are read from: the first-level cache, shared memory" },
    { "LOAD", { "streaming", "plain" }, "cache operator of the loads of the matrix" },
  },
  default = { VECTORS = 1, BLOCK = 256, LX = 16, LOADS = 2, LOADS_ACROSS = 2, BLOCKS = 4, AHEAD = 0, X = "cached",
    LOAD = "streaming" },

  derive = {
    -- A block's results for one vector, and how far a step of it goes along k.
    { "SUM_ALONG", "sel(SWAP == 'no', ta == 't', tb == 'n')" },
    { "OUT", "sel(SUM_ALONG, max(1, BLOCK // LX) * LOADS_ACROSS, LX * LOADS * VEC)" },
    { "STEP", "sel(SUM_ALONG, LX * LOADS * VEC, max(1, BLOCK // LX) * LOADS_ACROSS)" },
    -- Partial sums in shared memory per result.
    { "SLOTS", "sel(SUM_ALONG, max(1, LX // 32), sel(LX < 32, BLOCK // 32, max(1, BLOCK // LX)))" },
    { "PIECES", "ceildiv(" .. RESULTS .. ", OUT)" },
    { "SPLITS", "max(1, min(BLOCKS * dev_sms // max(1, PIECES), ceildiv(k, STEP)))" },
    { "SHARE", "roundup(ceildiv(k, SPLITS), STEP)" }, -- of k, for a block
    -- Elements of a vector per load, if they are contiguous.
    { "XVEC", "sel(sel(SWAP == 'no', tb == 'n', ta == 't'), VEC, 1)" },
    { "VECTORS_SMEM", "4 * max(SLOTS * OUT * VECTORS, BLOCK, sel(X == 'shared', SHARE * VECTORS, 0))" },
    { "OVERLAP", "dev_cc >= 90 and FINISH ~= 'last_block'" },
  },

  require = {
    { "VECTORS is less than the columns (SWAP: rows) of C", THIN .. " <= VECTORS" },
    { "VECTORS is more than twice the columns (SWAP: rows) of C",
      "VECTORS // 2 < max(1, " .. THIN .. ")", advice = true },
    { "m, n or k is near 2^31", "max(m, n, k) <= 2^31 - 2^17" }, -- steps end beyond
    { "LX exceeds BLOCK", "LX <= BLOCK" },
    { "LX * VEC floats are less than a sector", "LX * VEC >= 8" },
    { "loads in flight exceed the registers",
      "LOADS_ACROSS * LOADS * VEC * (1 + AHEAD) <= 64 and LOADS_ACROSS * LOADS <= 32" },
    { "sums and factors exceed the registers",
      "VECTORS * sel(SUM_ALONG, LOADS_ACROSS, LOADS * VEC) <= 128 and (X == 'shared' or VECTORS * "
        .. "sel(SUM_ALONG, LOADS * VEC, LOADS_ACROSS) <= 64)" },
    { "a block's step is more than twice the matrix",
      "OUT // 2 < max(" .. RESULTS .. ", 32) and STEP // 2 < max(k, 64)" },
    { "X=cached needs vectors as aligned as the matrix",
      "not SUM_ALONG or X == 'shared' or XVEC <= sel(SWAP == 'no', " .. B_VEC .. ", " .. A_VEC .. ")" },
    { "AHEAD == 1 needs more than one step", "AHEAD == 0 or SHARE > STEP" },
    { "fewer BLOCKS give as many splits",
      "BLOCKS == 1 or BLOCKS == 4 or SPLITS > max(1, min((BLOCKS - 1) * dev_sms // max(1, PIECES), "
        .. "ceildiv(k, STEP)))" },
    { "BLOCKS blocks exceed the threads of a multiprocessor", "BLOCKS <= 4 or BLOCK * BLOCKS <= dev_threads_sm" },
    { "FINISH=two_launch and atomic need splits of k", "SPLITS > 1 or FINISH == 'last_block'" },
    { "the vectors exceed a block's shared memory",
      "VECTORS_SMEM + 16 <= min(dev_smem_block, dev_smem_sm // 2)" }, -- last_block.cuh: 16
    { "FINISH=two_launch needs tiles", "FINISH ~= 'two_launch'" },
    { "EDGE needs tiles", "EDGE == 'guarded'" },
    { "RASTER needs tiles", "RASTER == 1" },
    { "the matrix is not aligned to VEC floats", "VEC <= sel(SWAP == 'no', " .. A_VEC .. ", " .. B_VEC .. ")" },
    { "the matrix is aligned to more than VEC floats",
      "VEC >= min(sel(SWAP == 'no', " .. A_VEC .. ", " .. B_VEC .. "), 4)", advice = true },
  },

  stages = {
    SCALE,
    { kernel = "sgemm_vectors", overlap = "OVERLAP", block = "BLOCK",
      grid = { "PIECES", "SPLITS" }, smem = "VECTORS_SMEM", work = { "OUT * VECTORS * SHARE", "SHARE // STEP" },
      args = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales",
        "biases", { "i64", "SHARE" }, "partial", "arrived" } },
  },
  source = "sgemm_vectors.cu",
}

-- Tensor cores: see split.cuh.
local TENSOR = {
  space = {
    { "GROUPS", { 1, 2, 3 }, "times 128 threads that multiply, 64 rows of a tile each" },
    { "TILE", { 64, 96, 128, 160 }, "the tile's other side" },
    { "TENSOR_STAGES", { 2, 3, 4, 5, 6 }, "tiles in shared memory" },
    { "PROMOTE", { 1, 2, 4, 8 }, "tiles added up in tensor cores before they are in registers", when = BY_WARPGROUPS },
  },
  default = { GROUPS = 2, TILE = 128, TENSOR_STAGES = 3, PROMOTE = 1 },

  derive = {
    { "ROWS", "sel(SWAP == 'no', 64 * GROUPS, TILE)" },
    { "COLUMNS", "sel(SWAP == 'no', TILE, 64 * GROUPS)" },
    { "ALONG", "32" },
    { "SHARED_K", "SPLITK > 1" },
    { "PARTIALS", "sel(FINISH == 'atomic', 1, SPLITK)" },
    { "SHARE", "roundup(ceildiv(k, SPLITK), 16)" }, -- of k, for a block
    { "GROUP", "128 * GROUPS" },
    { "A_ALONG_K", "ta == 't'" },
    { "B_ALONG_K", "tb == 'n'" },
    { "MULTIPLIERS", "GROUP" },
    { "THREADS", "GROUP + sel(" .. BY_WARPGROUPS .. ", 128, 0)" },
    { "HELD_ALONG_K", "sel(SWAP == 'no', ta == 't', tb == 'n')" },
    { "SHARED_ALONG_K", "sel(SWAP == 'no', tb == 'n', ta == 't')" },
    { "PARTS", "sel(ALG == 'tf32', 1, 2)" },
    { "HELD_NBYTES",
      "roundup(4 * sel(HELD_ALONG_K, 64 * GROUPS * (32 + 4), 32 * (64 * GROUPS + 8)), 1024)" },
    { "STAGE_NBYTES", "HELD_NBYTES + sel(" .. BY_WARPS .. ", 4 * sel(SHARED_ALONG_K, TILE * (32 + 4), "
      .. "32 * (TILE + 8)), PARTS * TILE * 32 * 4)" },
    { "SMEM", "TENSOR_STAGES * STAGE_NBYTES + 1024" },
    -- The registers a block has at its launch, 65536 // THREADS per thread, are redistributed.
    { "LOADER_REGISTERS", "sel(GROUPS == 3, 72, 88)" },
    { "MULTIPLIER_REGISTERS", "sel(GROUPS == 3, 144, 208)" },
    { "OVERLAP", "dev_cc >= 90 and FINISH ~= 'last_block'" },
  },

  require = with(SPLIT_IS_WORTH_IT, {
    { "ALG=tf32x3 and tf32 need compute capability 9.0", "not " .. BY_WARPGROUPS .. " or dev_cc == 90" },
    { "tensor cores need compute capability 8.0", "dev_cc >= 80" },
    { "the tile is more than twice as high or wide as C", "ROWS // 2 < max(m, 64) and COLUMNS // 2 < max(n, 64)" },
    -- Root mean squares of errors on uniform numbers, in 2^-24 of the sum of |a b|, on an H200 beside
    -- cuBLAS's single precision: with PROMOTE 2 0.51 at k = 256, 0.26 at 1024, 0.19 at 2048, with
    -- PROMOTE 1 0.14 at 512; cuBLAS, which splits short sums, 0.21 at 256 and 512, 0.40 from 1024 on.
    { "accuracy=fp32 needs k >= 512: cuBLAS splits shorter sums, which makes them more exact",
      "accuracy ~= 'fp32' or k >= 512" },
    { "PROMOTE makes truncated sums too long for the accuracy",
      "PROMOTE <= sel(accuracy == 'fp32', sel(k < 1024, 1, 2), 8) and (PROMOTE == 1 or PROMOTE * 32 < k)" },
    { "TILE exceeds the registers of the multiplying threads",
      "sel(" .. BY_WARPS .. ", TILE // 2 + 80 <= min(255, 65536 // THREADS), TILE + 48 <= MULTIPLIER_REGISTERS)" },
    { "TENSOR_STAGES exceeds the tiles along k", "TENSOR_STAGES == 2 or (TENSOR_STAGES - 1) * 32 * SPLITK < k" },
    { "RASTER > 1 needs many tiles", "RASTER == 1 or " .. TILES .. " >= 2 * dev_sms" },
    { "EDGE=guarded needs a tile that crosses an edge",
      "EDGE == 'whole' or k % ALONG > 0 or EDGE == 'guarded' and (m % ROWS > 0 or n % COLUMNS > 0)" },
    { "EDGE=k needs ALG=ffma", "EDGE ~= 'k'" },
    { "the threads exceed a block's", "THREADS <= dev_threads_block" },
    { "large tiles leave most multiprocessors idle",
      "ROWS * COLUMNS <= 4096 or 3 * " .. TILES .. " * SPLITK >= dev_sms" },
    { "FINISH=last_block excludes warpgroups that load: they have ended by then",
      "not " .. BY_WARPGROUPS .. " or SPLITK == 1 or FINISH ~= 'last_block'" },
    { "A and B are not aligned to VEC floats", "VEC <= " .. VEC_MOST },
    { "A and B are aligned to more than VEC floats", "VEC >= min(" .. VEC_MOST .. ", 4)" },
    { "the tiles exceed a block's shared memory", "SMEM + 16 <= dev_smem_block" }, -- last_block.cuh: 16
  }),

  stages = {
    SCALE,
    { kernel = "sgemm", overlap = "OVERLAP and FINISH == 'atomic'", grid = { TILES, "SPLITK" }, block = "THREADS",
      smem = "SMEM", work = { "ROWS * COLUMNS * ALONG * " .. TILE_STEPS, TILE_STEPS, "ROWS * COLUMNS", 1 },
      args = PRODUCT_ARGS },
    FINISH,
  },
  source = "sgemm_tensor.cu",
}

return {
  name = "sgemm",
  version = 1,
  brief = "C = alpha op(A) op(B) + beta C, single precision, column-major",
  cite = "BLAS level 3; Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 5, 6; "
    .. "Volkov and Demmel, Benchmarking GPUs to tune dense linear algebra (register blocking); "
    .. "PTX ISA, cp.async (multistage copies)",

  problem = {
    { "m", 0, 2^31 - 1, default = 4096, brief = "rows of C and op(A)" },
    { "n", 0, 2^31 - 1, default = "m", brief = "columns of C and op(B)" },
    { "k", 0, 2^31 - 1, default = "m", brief = "columns of op(A), rows of op(B)" },
    { "ta", { "n", "t" }, default = "n", brief = "op(A): n as it is, t transposed" },
    { "tb", { "n", "t" }, default = "n", brief = "op(B)" },
    { "align", { 4, 2, 1 },
      default = C_VEC,
      brief = "elements to which C and its leading dimension are aligned; if not what m is, A and B too" },
    { "align_a", { 4, 2, 1 },
      default = "sel(align == " .. C_VEC .. ", pow2div(" .. A_EXTENT .. ", 4), align)",
      brief = "elements to which A and its leading dimension are, whatever B and C are" },
    { "align_b", { 4, 2, 1 },
      default = "sel(align == " .. C_VEC .. ", pow2div(" .. B_EXTENT .. ", 4), align)",
      brief = "the same of B" },
    { "scale", { "none", "row", "column" }, default = "none", like = "none",
      brief = "factors of the results, per row or column of C" },
    { "bias", { "none", "row", "column" }, default = "none", like = "none",
      brief = "summands of the scaled results, likewise" },
    { "act", { "none", "relu", "gelu", "gelu_erf" }, default = "none", like = "none",
      brief = "function of the sum, applied last" },
    { "accuracy", { "strict", "fp32", "tf32", "bf16" }, default = "strict",
      brief = "error allowed: strict, of single-precision FMAs, on numbers of any size; fp32, no "
        .. "more than theirs by other means, but of numbers below 2^-113 only what multiples of 2^-136 "
        .. "hold counts; tf32, bf16, of factors rounded to 11 or 8 bits, the largest to infinity" },
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
    { "alpha", "f32", sample = "sel(alpha_is == '1', 1, -0.75)" },
    { "A", "f32", "in", count = "lda * max(0, sel(ta == 'n', k, m) - 1) + " .. A_EXTENT,
      fill = { "uniform", -1, 1 }, shift = "sel(align_a < pow2div(" .. A_EXTENT .. ", 4), align_a, 0) * 4" },
    { "lda", "i64", sample = "roundup(max(1, " .. A_EXTENT .. "), align_a)" },
    { "B", "f32", "in", count = "ldb * max(0, sel(tb == 'n', n, k) - 1) + " .. B_EXTENT,
      fill = { "uniform", -1, 1 }, shift = "sel(align_b < pow2div(" .. B_EXTENT .. ", 4), align_b, 0) * 4" },
    { "ldb", "i64", sample = "roundup(max(1, " .. B_EXTENT .. "), align_b)" },
    { "beta", "f32", sample = "sel(beta_is == '0', 0, sel(beta_is == '1', 1, 0.5))" },
    -- With beta 0, C is not read: it may hold a NaN.
    { "C", "f32", "inout", count = "ldc * max(0, n - 1) + m", fill = { "uniform", -1, 1 },
      overwritten = "beta == 0" },
    { "ldc", "i64", sample = "roundup(max(1, m), align)" },
    { "scales", "f32", "in", count = "sel(scale == 'none', 0, sel(scale == 'row', m, n))",
      fill = { "uniform", -1, 1 }, optional = "scale == 'none'" },
    { "biases", "f32", "in", count = "sel(bias == 'none', 0, sel(bias == 'row', m, n))",
      fill = { "uniform", -1, 1 }, optional = "bias == 'none'" },
  },

  call = { "ta", "tb", "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc",
    align = "min(pow2div(C // 4, 4), pow2div(ldc, 4))",
    align_a = "min(pow2div(A // 4, 4), pow2div(lda, 4))",
    align_b = "min(pow2div(B // 4, 4), pow2div(ldb, 4))",
    alpha_is = "sel(alpha == 1, '1', 'any')",
    beta_is = "sel(beta == 0, '0', sel(beta == 1, '1', 'any'))",
    -- With alpha 0, A and B are not read: they may hold NaNs.
    k = "sel(alpha == 0, 0, k)" },

  call_require = {
    { "lda is less than the rows of A", "lda >= max(1, " .. A_EXTENT .. ")" },
    { "ldb is less than the rows of B", "ldb >= max(1, " .. B_EXTENT .. ")" },
    { "ldc is less than the rows of C", "ldc >= max(1, m)" },
  },

  space = {
    { "ALG", { "ffma", "gemv", "tf32x3", "tf32", "tf32x3_mma" },
      "FMA on tiles; FMA on a matrix and a few vectors; tensor cores in three TF32 products or one, by warpgroups or "
        .. "(mma) by warps" },
    { "SWAP", { "no", "yes" }, "compute C, or its transpose", when = "ALG ~= 'ffma'" },
    { "RASTER", { 1, 4, 16 }, "rows of tiles that neighbouring blocks share" },
    { "EDGE", { "guarded", "k", "whole" },
      "bounds checks: of all edges, of k's only, none where tiles divide the matrices" },
    { "SPLITK", { 1, 2, 3, 4, 6, 8, 16, 32, 64 }, "blocks that share a tile's k", when = "ALG ~= 'gemv'" },
    { "FINISH", { "last_block", "two_launch", "atomic" },
      "how blocks that share k add up: the last one to finish, a second launch, atomics (which flush denormals)" },
    { "VEC", { 1, 2, 4 }, "floats per load" },
  },
  order = { "ALG", "GROUPS", "TILE", "SWAP", "TENSOR_STAGES", "PROMOTE", "LOADER", "PACK", "SCHEDULE", "BM", "BN", "TM",
    "TN", "ORDER", "STORE", "RASTER", "LM", "LANES", "WRITEBACK", "K_TAIL", "BK", "EDGE", "SLICEK", "UNROLL", "SPLITK",
    "MINBLOCKS", "FINISH", "VEC", "PAD", "STAGES", "COPIES", "KLANES", "FRAGMENTS", "VECTORS", "BLOCK", "LX", "LOADS",
    "LOADS_ACROSS", "BLOCKS", "AHEAD", "X", "LOAD" },

  derive = {
    { "ONE_ORDER", "reproducible == 'shape'" }, -- additions in one order for all sizes
  },

  require = {
    -- Atomics add in the order in which blocks arrive; the other values of FINISH, and stream-K, in that of the parts.
    { "reproducible=run and shape exclude FINISH=atomic", "reproducible == 'any' or FINISH ~= 'atomic'" },
    -- One order for all: a thread adds up an element's products by fused multiply-adds along k. Zeros that fill the last
    -- tile along k change no sum but -0, and scaled_sum.cuh treats that as 0.
    { "reproducible=shape needs ALG=ffma and SPLITK=1: an element's products are added one after the other along k",
      "not ONE_ORDER or ALG == 'ffma' and SPLITK == 1" },
    { "accuracy excludes the rounding of this ALG",
      "ALG == 'ffma' or ALG == 'gemv' or (ALG == 'tf32x3' or ALG == 'tf32x3_mma') and accuracy ~= 'strict' "
        .. "or accuracy == 'tf32' or accuracy == 'bf16'" },
    { "FINISH=atomic excludes scale, bias and act",
      "FINISH ~= 'atomic' or scale == 'none' and bias == 'none' and act == 'none'" },
  },

  default = { ALG = "ffma", SWAP = "no", RASTER = 1, EDGE = "guarded", SPLITK = 1, FINISH = "last_block", VEC = 1 },
  base = BASE,
  untuned = SUGGESTED,

  workspace = {
    { "partial", "f32", "sel(ALG == 'gemv', sel(SPLITS > 1 and FINISH ~= 'atomic', SPLITS * VECTORS * " .. RESULTS
      .. ", 0), sel(STREAM_K, 2 * PLACES * ROWS * COLUMNS, sel(" .. SPLIT .. ", " .. TILES
      .. " * SPLITK * ROWS * COLUMNS, 0)))" },
    -- Arrivals per tile; wraps to 0 by itself, so it is zero again after every launch.
    { "arrived", "u32", "sel(ALG == 'gemv', PIECES, sel(STREAM_K, PLACES, sel(SPLITK > 1 and FINISH == 'last_block', "
      .. TILES .. ", 0)))" },
  },

  algorithms = { ffma = FFMA, gemv = GEMV, tf32x3 = TENSOR, tf32 = TENSOR, tf32x3_mma = TENSOR },

  -- One thread per element of C, accumulating in double.
  reference = {
    stages = {
      { kernel = "reference", when = "m * n * k <= 2^24", block = 256,
        grid = { "ceildiv(m, 256)", "min(n, 65535)" }, args = reference_args },
      { kernel = "reference_large", when = "m * n * k > 2^24", block = 256,
        grid = { "ceildiv(m, 64)", "min(ceildiv(n, 16), 65535)" }, args = reference_args },
    },
    source = "sgemm_reference.cu",
  },

  cases = {
    {},
    { alpha = -0.75, beta = 0.5 },
    { lda = "roundup(max(1, " .. A_EXTENT .. "), align_a) + align_a",
      ldb = "roundup(max(1, " .. B_EXTENT .. "), align_b) + 3 * align_b",
      ldc = "roundup(max(1, m), align) + 2 * align", beta = "sel(beta_is == '0', -1, 0)" },
    { alpha = 0, beta = 0.5 },
  },

  -- With partial sums s_1, s_2, ... of products of numbers uniform in [-1, 1] and u = 2^-24, the
  -- error of adding up in sequence is at most u (|s_1| + ... + |s_k|): no more than 4 u k as far as
  -- k = 7. Beyond, rounding errors are independent of sign; s_i is a random walk of variance i/9,
  -- the sum of squares of its k steps is k^2/9 times the integral of a squared Brownian motion,
  -- whose tail is exp(-pi^2 x / 8), and the error is normal with u^2/3 times that sum: it exceeds
  -- t u k with probability near exp(-8.2 t), 1e-14 for t = 4. Any other order (tiles, slices,
  -- splits) has shorter partial sums. At k = 10^6 this is 0.24, less than 2 of 5 single products,
  -- so a kernel that omits a term fails. |alpha|, |beta| <= 1 add at most four roundings.
  -- Factors rounded to p bits add, for numbers uniform in [-1, 1], an error of variance 2^-2p / 32
  -- per product (a number in [2^-j, 2^(1-j)) is off by up to 2^-(j+p)), so 0.18 2^-p sqrt(k) in all;
  -- the tolerance is eleven times that, and no product alone is off by more than half of it.
  tolerance = { abs = "2.0^-22 * (k + 1) + sel(accuracy == 'tf32', 2.0^-10, "
    .. "sel(accuracy == 'bf16', 2.0^-7, 0)) * k^0.5", rel = 2^-22 },

  flops = "2 * m * n * k",
  bytes = "4 * (m * k + k * n + sel(beta_is == '0', 1, 2) * m * n)",

  sizes = {
    emu = { "m=64 n=64 k=32", "m=44 n=16 k=700 tb=t", "m=37 n=29 k=19 ta=t tb=t", "m=100 n=100 k=100",
      "m=1 n=70 k=5 tb=t", "m=90 n=2 k=300", "m=70 n=66 k=515 accuracy=fp32 bias=row act=relu" },
    test = { "m=0 n=5 k=7", "m=5 n=0 k=7", "m=33 n=65 k=0", "m=1 n=1 k=1", "m=100 n=100 k=100",
      "m=128 n=256 k=64 tb=t", "m=255 n=257 k=1023 ta=t", "m=1000 n=16 k=1000",
      "m=16 n=1000 k=4096 ta=t tb=t", "m=5000 n=1 k=3000", "m=3 n=4097 k=1025 ta=t", "m=35 n=2000 k=1000 ta=t",
      "m=1024 n=1024 k=1024", "m=16 n=16 k=1000000" },
    bench = { "m=4096 n=4096 k=4096", "m=1024 n=1024 k=1024", "m=100 n=100 k=100",
      "m=1760 n=16 k=1760", "m=3072 n=1 k=1024", "m=256 n=256 k=256", "m=512 n=512 k=512", "m=2048 n=2048 k=2048",
      "m=8192 n=8192 k=8192", "m=4096 n=4096 k=4096 tb=t", "m=4096 n=4096 k=4096 ta=t",
      "m=35 n=8457 k=2560", "m=5124 n=700 k=2048 ta=t", "m=64 n=64 k=65536" },
  },
}
