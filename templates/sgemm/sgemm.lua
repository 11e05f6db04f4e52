-- sgemm: C = alpha op(A) op(B) + beta C, single precision, as BLAS has it: column-major, all four
-- transpositions, any sizes and leading dimensions.
--
-- One block computes a BM x BN tile of C, one thread TM x TN elements of it in registers. Along k
-- the block walks in tiles of BK, copied to shared memory STAGES deep. Where C has few tiles, the
-- sum over k is shared as well: SLICEK groups of threads of a block each take a part of every tile
-- and add up through shared memory; SPLITK blocks each take a part of k and add up through a
-- workspace.
--
-- Tiles that do not fill the device's last wave are what SCHEDULE stream shares out: as many blocks
-- as run at a time first take equal parts of those tiles' k, then whole tiles each.
--
-- Where k is small, what counts is how C is written: PUT lean fills sectors even where columns of C begin
-- anywhere; with SCHEDULE strips a block keeps all of its rows of A for several tiles.
--
-- With LOADER tensor, tensor maps bring tiles as they lie in memory. They need leading dimensions that
-- are multiples of 16 bytes, and products are fastest where neither operand is contiguous along k: PACK
-- first copies what is otherwise.
--
-- The text depends on the problem only through ta and tb; what else it assumes about sizes and
-- alignment is a parameter (VEC, STORE, EDGE) with a requirement, so that an image fits every
-- problem that meets the requirements.
--
-- Where C is a few columns (or rows, with SWAP), ALG gemv multiplies a matrix by vectors, without tiles
-- in shared memory: what counts is how fast the matrix is read. See matrix_vectors.cuh.
--
-- Where the caller allows more error than that of single-precision multiplications in any order
-- (accuracy), or where tensor cores have no more (tf32x3), ALG may be theirs: see tensor.cuh, and for
-- what has no warpgroups (tf32x3_mma) tensor80.cuh.

-- Expressions that several places use.
local TILES = "(ceildiv(m, ROWS) * ceildiv(n, COLUMNS))"
local A_EXTENT = "sel(ta == 'n', m, k)" -- of a column of A and of B in memory
local B_EXTENT = "sel(tb == 'n', k, n)"
local FFMA, GEMV, TENSOR = "ALG == 'ffma'", "ALG == 'gemv'", "(ALG ~= 'ffma' and ALG ~= 'gemv')"
local BY_WARPS, BY_WARPGROUPS = "ALG == 'tf32x3_mma'", "(ALG == 'tf32x3' or ALG == 'tf32')"
local SPLIT = "(SPLITK > 1 and FINISH ~= 'atomic')"
local A_VEC = "min(align_a, pow2div(" .. A_EXTENT .. ", 4))"
local B_VEC = "min(align_b, pow2div(" .. B_EXTENT .. ", 4))"
-- With ALG gemv: results along C, and vectors, of which SWAP tells what they are; which operand is the
-- matrix counts for its loads, and whether it is contiguous along the sum.
local RESULTS, THIN = "sel(SWAP == 'no', m, n)", "sel(SWAP == 'no', n, m)"
local VEC_MOST = "sel(" .. GEMV .. ", sel(SWAP == 'no', " .. A_VEC .. ", " .. B_VEC .. "), min("
  .. A_VEC .. ", " .. B_VEC .. "))"
local C_VEC = "pow2div(m, 4)"
-- Asynchronous copies of an operand that is contiguous along k are of single floats: then the other one's
-- alignment alone counts.
local OTHER_VEC = "sel(LOADER ~= 'cpasync' or SCHEDULE == 'stream' or (ta == 't') == (tb == 'n'), 1, sel(ta == 't', "
  .. B_VEC .. ", " .. A_VEC .. "))"

-- For a few columns or rows that nobody tuned: what gemv does well with on an H200.
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
    suggest_both("t", "n", { VECTORS = vectors, BLOCK = 128, LX = 64, LOADS = 2, LINES = lines, X = x })
  end
  if vectors > 1 then -- where shared memory holds them
    suggest_both("n", "t", { VECTORS = vectors, BLOCK = 256, LX = 16, LOADS = 2, LINES = 4, X = "shared" })
  end
  if vectors ~= 2 then
    local loads = vectors > 1 and 1 or 2
    suggest_both("n", "t", { VECTORS = vectors, BLOCK = 256, LX = 16, LOADS = loads, LINES = 4 })
  end
end

-- For a large C of few steps along k whose columns are not aligned.
for _, along_k in ipairs { true, false } do
  local function suggest_shallow(most, config)
    local c = { LOADER = "cpasync", PUT = "lean", BM = 128, BN = 32, TM = 4, TN = 8, LM = 32, BK = 8, UNROLL = 8,
      STAGES = 2, STORE = 1, VEC = 1, PAD = along_k and 4 or 0, KLANES = along_k and 8 or 16 }
    for name, value in pairs(config) do c[name] = value end
    c.when = "(align == 1 or m % 2 == 1) and m * n >= 2^20 and k <= " .. most .. " and "
      .. (along_k and "(ta == 't' or tb == 'n')" or "ta == 'n' and tb == 't'")
    SUGGESTED[#SUGGESTED + 1] = c
  end
  suggest_shallow(40, { SCHEDULE = "strips", MINBLOCKS = 5 })
  suggest_shallow(256, { FRAGMENTS = 2 })
end

local reference_args = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales",
  "biases" }

local GRID = "sel(STREAM, PLACES, sel(STRIPS, min(PLACES, " .. TILES .. "), " .. TILES .. "))"
-- Blocks that start early go where the kernel ahead leaves room, and stay there: of few, some multiprocessors
-- get two and others none, up to twice as slow on an H200. Many even out.
local STARTS_EARLY = "(EARLY and " .. TILES .. " * SPLITK >= 4 * dev_sms)"
-- What a block does, across edges of tiles and of k too: multiplications, steps along k, stores of C; and whether
-- it waits for a launch.
local TILE_STEPS = "ceildiv(ceildiv(k, SPLITK), ALONG)"
local BLOCK_TILES = "sel(STRIPS, ceildiv(" .. TILES .. ", PLACES), 1)"
local STEPS = "sel(STREAM, ceildiv(" .. TILES .. " * " .. TILE_STEPS .. ", PLACES), "
  .. BLOCK_TILES .. " * " .. TILE_STEPS .. ")"
local WORK = { "ROWS * COLUMNS * ALONG * " .. STEPS, STEPS,
  BLOCK_TILES .. " * ROWS * COLUMNS // sel(TENSOR, 1, STORE)", "sel(" .. STARTS_EARLY .. ", 0, 1)" }

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
  return { kernel = "sgemm_mapped", grid = { GRID, "SPLITK" }, block = "THREADS", smem = "SMEM", work = WORK,
    when = "MAPS and " .. (a_packed and "" or "not ") .. "A_PACKED and "
      .. (b_packed and "" or "not ") .. "B_PACKED",
    overlap = "OVERLAP and (PACK ~= 'no' or FINISH == 'atomic')", early = STARTS_EARLY,
    args = { "m", "n", "k", "alpha", map("a", a_packed, "A_ALONG_K", "m", "BM"),
      map("b", b_packed, "B_ALONG_K", "n", "BN"), "beta", "C", "ldc", "scales", "biases", "partial",
      "arrived" } }
end

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
    { "scale", { "none", "row", "column" }, default = "none", brief = "factors of the results" },
    { "bias", { "none", "row", "column" }, default = "none", brief = "what is then added to them" },
    { "act", { "none", "relu", "gelu", "gelu_erf" }, default = "none",
      brief = "the function that is then applied" },
    { "accuracy", { "strict", "fp32", "tf32", "bf16" }, default = "strict",
      brief = "error allowed: strict, of single-precision FMAs, on numbers of any size; fp32, no "
        .. "more than theirs by other means, but of numbers below 2^-113 only what multiples of 2^-136 "
        .. "hold counts; tf32, bf16, of factors rounded to 11 or 8 bits, the largest to infinity" },
  },

  args = {
    { "m", "i32", value = "m" },
    { "n", "i32", value = "n" },
    { "k", "i32", value = "k" },
    { "alpha", "f32", sample = 1 },
    { "A", "f32", "in", count = "lda * max(0, sel(ta == 'n', k, m) - 1) + " .. A_EXTENT,
      fill = { "uniform", -1, 1 } },
    { "lda", "i64", sample = "roundup(max(1, " .. A_EXTENT .. "), align_a)" },
    { "B", "f32", "in", count = "ldb * max(0, sel(tb == 'n', n, k) - 1) + " .. B_EXTENT,
      fill = { "uniform", -1, 1 } },
    { "ldb", "i64", sample = "roundup(max(1, " .. B_EXTENT .. "), align_b)" },
    { "beta", "f32", sample = 0 },
    -- With beta 0 what C held does not matter, not even a NaN.
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
    align_b = "min(pow2div(B // 4, 4), pow2div(ldb, 4))" },

  call_require = {
    { "lda is less than the rows of A", "lda >= max(1, " .. A_EXTENT .. ")" },
    { "ldb is less than the rows of B", "ldb >= max(1, " .. B_EXTENT .. ")" },
    { "ldc is less than the rows of C", "ldc >= max(1, m)" },
  },

  space = {
    { "ALG", { "ffma", "gemv", "tf32x3", "tf32", "tf32x3_mma" },
      "multiplications: FMA, of tiles or of a matrix and vectors; or tensor cores in three or one, by "
        .. "warpgroups or (mma) warps" },
    { "GROUPS", { 1, 2, 3 }, "times 128 threads that multiply, 64 rows of a tile each", when = TENSOR },
    { "TILE", { 64, 96, 128, 160 }, "the tile's other side", when = TENSOR },
    { "SWAP", { "no", "yes" }, "compute C, or its transpose", when = "ALG ~= 'ffma'" },
    { "QUEUE", { 2, 3, 4, 5, 6 }, "tiles in shared memory", when = TENSOR },
    { "PROMOTE", { 1, 2, 4, 8 }, "tiles added up in tensor cores", when = BY_WARPGROUPS },
    { "LOADER", { "register", "cpasync", "warps", "tensor" },
      "global to shared memory: through registers, asynchronously, so by warps of their own, "
        .. "or by tensor maps", when = FFMA },
    { "PACK", { "no", "yes", "unaligned" },
      "first copy operands that are not aligned, or contiguous along k; or only the former", when = FFMA },
    { "SCHEDULE", { "tiles", "stream", "strips" },
      "a block a tile; or a block a place on the device, and equal parts of the last wave's k, or equal "
        .. "numbers of tiles for which a strip of A, of all k, stays in shared memory", when = FFMA },
    { "BM", { 16, 32, 48, 64, 96, 128, 192, 256 }, "rows of C per block", when = FFMA },
    { "BN", { 16, 32, 48, 64, 96, 128, 192, 256 }, "columns of C per block", when = FFMA },
    { "TM", { 1, 2, 4, 8, 12, 16 }, "rows of C per thread", when = FFMA },
    { "TN", { 1, 2, 4, 8, 12, 16 }, "columns of C per thread", when = FFMA },
    { "ORDER", { "rows", "columns", "snake" }, "order of the multiplications in the text", when = FFMA },
    { "STORE", { 1, 2, 4 }, "floats per access of C", when = FFMA },
    { "RASTER", { 1, 4, 16 }, "rows of tiles that neighbouring blocks share" },
    { "LM", { 2, 4, 8, 16, 32 }, "lanes of a warp along the rows, the others along the columns", when = FFMA },
    { "LANES", { "interleaved", "rows" }, "order of a warp's lanes in its tile", when = FFMA },
    { "PUT", { "plain", "lean" },
      "how tiles go to C: whole ones without guards, and where accesses are narrower than a thread's rows, these "
        .. "dealt out so that neighbouring threads write neighbours", when = FFMA },
    { "HEAD", { "padded", "exact" }, "the incomplete tile along k: with zeros, or only its steps", when = FFMA },
    { "BK", { 8, 16, 32, 64 }, "elements along k per tile", when = FFMA },
    { "EDGE", { "guarded", "k", "whole" }, "edges of the matrices that tiles may cross: all, k's, none" },
    { "SLICEK", { 1, 2, 4, 8 }, "groups of threads in a block that share its k", when = FFMA },
    { "UNROLL", { 4, 8, 16, 32 }, "steps along k unrolled", when = FFMA },
    { "SPLITK", { 1, 2, 3, 4, 6, 8, 16, 32, 64 }, "blocks that share a tile's k", when = "ALG ~= 'gemv'" },
    { "MINBLOCKS", { 1, 2, 3, 4, 5, 6, 8 }, "blocks per multiprocessor that registers must allow", when = FFMA },
    { "FINISH", { "last_block", "two_launch", "atomic" },
      "how these add up (atomics take denormal numbers for zeros)" },
    { "VEC", { 1, 2, 4 }, "floats per load" },
    { "PAD", { 0, 4 }, "floats between rows in shared memory", when = FFMA },
    { "STAGES", { 1, 2, 3, 4, 5 }, "tiles of A and B in shared memory", when = FFMA },
    { "COPIES", { "burst", "spread" }, "copies at a tile's start, or spread between its steps", when = FFMA },
    { "KLANES", { 8, 16 }, "lanes along k that load an operand contiguous along k", when = FFMA },
    { "FRAGMENTS", { 1, 2 }, "register fragments: 2 reads ahead of the multiplications", when = FFMA },
    { "VECTORS", { 1, 2, 4, 8 }, "columns of C at most, or rows", when = GEMV },
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block", when = GEMV },
    { "LX", { 4, 8, 16, 32, 64, 128, 256, 512, 1024 }, "of these, side by side where the matrix is contiguous",
      when = GEMV },
    { "LOADS", { 1, 2, 4, 8 }, "vector loads of a thread in this direction, in one step", when = GEMV },
    { "LINES", { 1, 2, 4, 8, 16 }, "and across", when = GEMV },
    { "BLOCKS", { 1, 2, 3, 4, 6, 8, 12, 16, 32 }, "blocks per multiprocessor, if need be by splits of k",
      when = GEMV },
    { "AHEAD", { 0, 1 }, "steps loaded ahead of the multiplications", when = GEMV },
    { "X", { "cached", "shared" }, "where vectors are read from: the first-level cache, shared memory",
      when = GEMV },
    { "LOAD", { "streaming", "plain" }, "cache operator of the loads of the matrix", when = GEMV },
  },

  derive = {
    { "TENSOR", TENSOR },
    { "GEMV", GEMV },
    { "BLOCKED", "ALG == 'ffma' and TM * TN > 1" }, -- not the textbook's kernel
    -- A block's results for one vector, and how far a step of it goes along k.
    { "SUM_ALONG", GEMV .. " and sel(SWAP == 'no', ta == 't', tb == 'n')" },
    { "OUT", "sel(SUM_ALONG, max(1, BLOCK // LX) * LINES, LX * LOADS * VEC)" },
    { "STEP", "sel(SUM_ALONG, LX * LOADS * VEC, max(1, BLOCK // LX) * LINES)" },
    -- Partial sums that meet in shared memory, per result.
    { "SLOTS", "sel(SUM_ALONG, max(1, LX // 32), sel(LX < 32, BLOCK // 32, max(1, BLOCK // LX)))" },
    { "PIECES", "ceildiv(" .. RESULTS .. ", OUT)" },
    { "SPLITS", "max(1, min(BLOCKS * dev_sms // max(1, PIECES), ceildiv(k, STEP)))" },
    { "SHARE", "roundup(ceildiv(k, SPLITS), STEP)" }, -- of k, for a block
    -- Elements of a vector per load, if they are contiguous.
    { "XVEC", "sel(GEMV and sel(SWAP == 'no', tb == 'n', ta == 't'), VEC, 1)" },
    { "VECTORS_SMEM", "4 * max(SLOTS * OUT * VECTORS, BLOCK, sel(X == 'shared', SHARE * VECTORS, 0))" },
    { "ROWS", "sel(TENSOR, sel(SWAP == 'no', 64 * GROUPS, TILE), BM)" }, -- of a tile of C
    { "COLUMNS", "sel(TENSOR, sel(SWAP == 'no', TILE, 64 * GROUPS), BN)" },
    { "ALONG", "sel(TENSOR, 32, BK)" }, -- elements along k per tile
    -- threads that cover the block's tile of C once
    { "GROUP", "sel(TENSOR, 128 * GROUPS, (BM // TM) * (BN // TN))" },
    { "MAPS", FFMA .. " and LOADER == 'tensor'" },
    { "LOADS_APART", FFMA .. " and (LOADER == 'warps' or MAPS)" }, -- 128 threads that only load
    { "STREAM", FFMA .. " and SCHEDULE == 'stream'" },
    { "STRIPS", FFMA .. " and SCHEDULE == 'strips'" },
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
    { "EARLY", "dev_cc >= 90 and PUT == 'lean' and PACK == 'no'" }, -- starts while the kernel ahead ends
    { "APART", "PUT == 'lean' and not MAPS and STORE < MV" }, -- rows of a thread, in C
    { "MULTIPLIERS", "sel(TENSOR, GROUP, GROUP * SLICEK)" }, -- threads that multiply
    { "COPIERS", "sel(LOADS_APART, 128, MULTIPLIERS)" },
    { "THREADS", "MULTIPLIERS + sel(" .. BY_WARPGROUPS .. " or LOADS_APART, 128, 0)" },
    { "LN", "32 // LM" },
    { "DEPTH", "BK // SLICEK" }, -- steps along k of one thread in one tile
    { "STAGE", "BK * (BM + BN + 2 * PAD)" }, -- floats in shared memory per tile of A and of B
    { "HELD_ALONG_K", "sel(SWAP == 'no', ta == 't', tb == 'n')" },
    { "SHARED_ALONG_K", "sel(SWAP == 'no', tb == 'n', ta == 't')" },
    { "PARTS", "sel(ALG == 'tf32', 1, 2)" },
    { "HELD_NBYTES",
      "roundup(4 * sel(HELD_ALONG_K, 64 * GROUPS * (32 + 4), 32 * (64 * GROUPS + 8)), 1024)" },
    { "QUEUE_TILE", "HELD_NBYTES + sel(" .. BY_WARPS .. ", 4 * sel(SHARED_ALONG_K, TILE * (32 + 4), "
      .. "32 * (TILE + 8)), PARTS * TILE * 32 * 4)" },
    { "SMEM", "sel(TENSOR, QUEUE * QUEUE_TILE + 1024, sel(MAPS, 1024, 0) "
      .. "+ 4 * max(sel(STRIPS, roundup(k, BK) * (BM + PAD + 2 * (BN + PAD)), STAGES * STAGE), "
      .. "(SLICEK - 1) * BM * BN))" },
    -- What a block has at its launch, 65536 // THREADS per thread, is dealt out anew.
    { "LOADER_REGISTERS", "sel(LOADS_APART, 40, sel(GROUPS == 3, 72, 88))" },
    { "MULTIPLIER_REGISTERS",
      "sel(LOADS_APART, min(232, (dev_regs_sm // (THREADS * MINBLOCKS) // 8 * 8 * THREADS "
        .. "- 128 * LOADER_REGISTERS) // GROUP // 8 * 8), sel(GROUPS == 3, 144, 208))" },
    { "KVEC", "sel(LOADER ~= 'register' or TENSOR or GEMV, 1, VEC)" },
    { "KSIDE", "min(KLANES, BK // KVEC)" }, -- threads side by side that copy such an operand
    { "A_SIDE", "sel(ta == 't', KSIDE, pow2div(BM // VEC, pow2div(COPIERS, 1024)))" },
    { "B_SIDE", "sel(tb == 'n', KSIDE, pow2div(BN // VEC, pow2div(COPIERS, 1024)))" },
    { "HELD", "sel(LOADER == 'register', ceildiv(BK * (BM + BN), THREADS), 0)" },
    -- One launch starts while the one before ends.
    { "OVERLAP", "dev_cc >= 90 and (PACK ~= 'no' or FINISH ~= 'last_block')" },
    { "REGISTERS", "TM * TN + FRAGMENTS * (TM + TN) + HELD + 24" }, -- an estimate
  },

  -- The textbook kernel, one element of C per thread, is spared what only serves speed.
  require = {
    { "this algorithm's error is more than the accuracy allows",
      "ALG == 'ffma' or GEMV or (ALG == 'tf32x3' or ALG == 'tf32x3_mma') and accuracy ~= 'strict' "
        .. "or accuracy == 'tf32' or accuracy == 'bf16'" },
    { "C has more columns than vectors, and more rows", "not GEMV or " .. THIN .. " <= VECTORS" },
    { "more than twice as many vectors as C has", "not GEMV or VECTORS // 2 < max(1, " .. THIN .. ")" },
    { "numbers of elements near 2^31", "not GEMV or max(m, n, k) <= 2^31 - 2^17" }, -- steps end beyond
    { "fewer threads in the block than side by side", "not GEMV or LX <= BLOCK" },
    { "neighbouring threads load less than a sector", "not GEMV or LX * VEC >= 8" },
    { "loads under way exceed the registers",
      "not GEMV or LINES * LOADS * VEC * (1 + AHEAD) <= 64 and LINES * LOADS <= 32" },
    { "sums and factors exceed the registers",
      "not GEMV or VECTORS * sel(SUM_ALONG, LINES, LOADS * VEC) <= 128 and (X == 'shared' or VECTORS * "
        .. "sel(SUM_ALONG, LOADS * VEC, LINES) <= 64)" },
    { "a block's step is much larger than the matrix",
      "not GEMV or OUT // 2 < max(" .. RESULTS .. ", 32) and STEP // 2 < max(k, 64)" },
    { "vectors less aligned than the matrix pass through shared memory",
      "not SUM_ALONG or X == 'shared' or XVEC <= sel(SWAP == 'no', " .. B_VEC .. ", " .. A_VEC .. ")" },
    { "one step has nothing ahead", "not GEMV or AHEAD == 0 or SHARE > STEP" },
    { "there are that many blocks without splits, or no more steps to share",
      "not GEMV or BLOCKS == 1 or BLOCKS == 4 or SPLITS > max(1, min((BLOCKS - 1) * dev_sms // max(1, PIECES), "
        .. "ceildiv(k, STEP)))" },
    { "more threads than a multiprocessor has", "not GEMV or BLOCKS <= 4 or BLOCK * BLOCKS <= dev_threads_sm" },
    { "sums that are not split have no finish", "not GEMV or SPLITS > 1 or FINISH == 'last_block'" },
    { "the vectors exceed a block's shared memory",
      "not GEMV or VECTORS_SMEM + 16 <= min(dev_smem_block, dev_smem_sm // 2)" }, -- last_block.cuh: 16
    { "vectors are added up by the last block or by atomics", "not GEMV or FINISH ~= 'two_launch'" },
    { "vectors have no tiles whose edges could be guarded or not", "not GEMV or EDGE == 'guarded'" },
    { "a single column or row wants no tiles", "not BLOCKED or min(m, n) ~= 1" },
    { "warpgroups' multiplications need compute capability 9.0", "not " .. BY_WARPGROUPS .. " or dev_cc == 90" },
    { "tensor cores need compute capability 8.0", "not TENSOR or dev_cc >= 80" },
    { "a tile for tensor cores is more than twice as high or wide as C",
      "not TENSOR or ROWS // 2 < max(m, 64) and COLUMNS // 2 < max(n, 64)" },
    -- Root mean squares of errors on uniform numbers, in 2^-24 of the sum of |a b|, on an H200 beside
    -- cuBLAS's single precision: with PROMOTE 2 0.51 at k = 256, 0.26 at 1024, 0.19 at 2048, with
    -- PROMOTE 1 0.14 at 512; cuBLAS, which splits short sums, 0.21 at 256 and 512, 0.40 from 1024 on.
    { "short sums are less exact by tensor cores than where single precision splits them",
      "not TENSOR or accuracy ~= 'fp32' or k >= 512" },
    { "truncated sums get too long for the accuracy",
      "PROMOTE <= sel(accuracy == 'fp32', sel(k < 1024, 1, 2), 8) and (PROMOTE == 1 or PROMOTE * 32 < k)" },
    { "the multiplying threads' registers would spill",
      "not TENSOR or sel(" .. BY_WARPS .. ", TILE // 2 + 80 <= min(255, 65536 // THREADS), "
        .. "TILE + 48 <= MULTIPLIER_REGISTERS)" },
    { "more tiles in shared memory than along k",
      "not TENSOR or QUEUE == 2 or (QUEUE - 1) * 32 * SPLITK < k" },
    { "the tile is more than twice as high as C", "BM // 2 < max(m, 16)" },
    { "the tile is more than twice as wide as C", "BN // 2 < max(n, 16)" },
    { "the tile's sides differ more than fourfold",
      "(BM <= 4 * BN or n <= 2 * BN) and (BN <= 4 * BM or m <= 2 * BM)" },
    { "a tile is no whole number of thread tiles", "BM % TM == 0 and BN % TN == 0" },
    { "a thread's tile exceeds the registers", "TM * TN <= 192" },
    { "a thread's tile has sides that differ more than fourfold", "TM <= 4 * TN and TN <= 4 * TM" },
    { "a block has fewer than 32 threads, or more than it may",
      "BM // TM * (BN // TN) >= 32 and BM // TM * (BN // TN) <= dev_threads_block" },
    { "many small tiles: loads would limit",
      "not BLOCKED or BM * BN >= 4096 or " .. TILES .. " <= 4 * dev_sms" },
    { "many small thread tiles: shared memory would limit",
      "not BLOCKED or TM * TN >= 32 or " .. TILES .. " <= 4 * dev_sms" },
    { "few multiplications have no order", "TM * TN >= 64 or ORDER == 'rows'" },
    { "stores of C wider than alignment, thread or edge allow", "STORE <= min(MV, align, " .. C_VEC .. ")" },
    { "stores of C narrower than need be", "not BLOCKED or STORE >= min(MV, align, " .. C_VEC .. ")" },
    { "few tiles share nothing", "RASTER == 1 or (BLOCKED or TENSOR) and " .. TILES .. " >= 2 * dev_sms" },
    { "the warps do not divide the tile", "BM % (LM * TM) == 0 and BN % (32 // LM * TN) == 0" },
    { "a warp's tile has sides that differ more than fourfold, or sixteenfold if its rows are dealt out",
      "not BLOCKED or LM * TM <= sel(APART, 16, 4) * (32 // LM) * TN and 32 // LM * TN <= 4 * LM * TM" },
    { "lanes in one row, or of small thread tiles, are not interleaved",
      "LM < 32 and TM * TN >= 16 or LANES == 'rows'" },
    { "the tile is deeper than k", "BK // 2 < max(k, 16)" },
    { "tiles cross an edge of the matrices",
      "EDGE == 'guarded' "
        .. "or m % ROWS == 0 and n % COLUMNS == 0 and (EDGE == 'k' or k % ALONG == 0)" },
    { "guards, though no tile crosses an edge",
      "EDGE == 'whole' or not (BLOCKED or TENSOR) or k % ALONG > 0 "
        .. "or EDGE == 'guarded' and (m % ROWS > 0 or n % COLUMNS > 0)" },
    { "guards of rows and columns, though no tile crosses their edge",
      "EDGE ~= 'guarded' or not BLOCKED or m % ROWS > 0 or n % COLUMNS > 0" },
    { "guards along k alone are for registers' products", "EDGE ~= 'k' or BLOCKED" },
    { "slices of k leave a thread fewer than 4 steps", "BK // SLICEK >= 4" },
    { "a block has more threads than it may", "THREADS <= dev_threads_block" },
    { "slices of k, though there are tiles enough",
      "SLICEK == 1 or GROUP <= 256 and " .. TILES .. " <= 2 * dev_sms" },
    { "the unrolled steps do not divide a tile's", "DEPTH % UNROLL == 0" },
    { "the unrolled loop outgrows the instruction cache", "UNROLL * TM * TN <= 2304" },
    { "the unrolled loop is short", "UNROLL == DEPTH or UNROLL * TM * TN >= 1024 or STRIPS" },
    { "split k, though there are tiles enough",
      "SPLITK == 1 or " .. TILES .. " * SPLITK "
        .. "<= sel(ROWS * COLUMNS <= 2048 or MULTIPLIERS <= 128, 4, 2) * dev_sms" },
    { "k both split and sliced, for large tiles", "SPLITK == 1 or SLICEK == 1 or BM * BN <= 6144" },
    { "large tiles leave most multiprocessors idle",
      "STREAM or GEMV or ROWS * COLUMNS <= 4096 or 3 * " .. TILES .. " * SPLITK >= dev_sms" },
    { "split k leaves a block less than two tiles", "SPLITK == 1 or SPLITK * ALONG * 2 <= k" },
    { "fewer blocks than multiprocessors would hold",
      "STREAM or MINBLOCKS == 1 or " .. TILES .. " * SPLITK > (MINBLOCKS - 1) * dev_sms" },
    { "that many blocks exceed a multiprocessor's threads", "THREADS * MINBLOCKS <= dev_threads_sm" },
    { "so few threads leave each all the registers it can have",
      "STREAM or STRIPS or MINBLOCKS == 1 or THREADS * MINBLOCKS * 255 > dev_regs_sm" },
    { "strips are for k that shared memory holds", "not STRIPS or k <= 256" },
    { "strips are copied asynchronously", "not STRIPS or LOADER == 'cpasync'" },
    { "strips are written lean, tile by tile along the columns", "not STRIPS or PUT == 'lean' and RASTER == 1" },
    { "no strip has two tiles", "not STRIPS or " .. TILES .. " > PLACES" },
    { "more than four blocks per multiprocessor are for strips", "MINBLOCKS <= 4 or STRIPS" },
    { "strips are copied in tiles of 8 or 16", "not STRIPS or BK <= 16" },
    { "strips are not sliced", "not STRIPS or SLICEK == 1" },
    { "strips unroll 4 steps or 8", "not STRIPS or UNROLL <= 8" },
    { "strips are of all k", "not STRIPS or SPLITK == 1" },
    { "strips have the next tile of B copied in one burst", "not STRIPS or STAGES == 2" },
    { "strips' copies are not spread", "not STRIPS or COPIES == 'burst'" },
    { "strips have one fragment: ptxas reads ahead", "not STRIPS or FRAGMENTS == 1" },
    { "split k is not streamed as well", "not STREAM or BLOCKED and SPLITK == 1" },
    { "whole tiles nearly fill the device's last wave",
      "not STREAM or 128 * (roundup(" .. TILES .. ", PLACES) - " .. TILES .. ") >= roundup(" .. TILES
        .. ", PLACES)" },
    -- Who finishes a tile counts the blocks from its first part's to its last's.
    { "the last wave has fewer tiles along k than blocks to share them",
      "not STREAM or " .. TILES .. " % PLACES * ceildiv(k, BK) >= PLACES" },
    { "a streaming block has less than two tiles' depth",
      "not STREAM or " .. TILES .. " * k >= 2 * PLACES * BK" },
    { "atomics add up nothing that a function is applied to",
      "FINISH ~= 'atomic' or scale == 'none' and bias == 'none' and act == 'none'" },
    { "k that is not split has no finish", "SPLITK > 1 or GEMV or FINISH == 'last_block'" },
    { "the loading threads have ended before the last block could be known",
      "not " .. BY_WARPGROUPS .. " or SPLITK == 1 or FINISH ~= 'last_block'" },
    { "vectors wider than the alignment or across an edge",
      "VEC <= " .. VEC_MOST .. " or VEC == min(" .. OTHER_VEC
        .. ", sel(APART and not A_ALONG_K, STORE, 4))" },
    { "vectors narrower than the alignment allows",
      "not (BLOCKED or TENSOR or GEMV) or VEC >= min(" .. VEC_MOST
        .. ", sel(APART and not A_ALONG_K, STORE, 4))" },
    { "long products, of aligned C, gain nothing from lean writing",
      "PUT == 'plain' or APART or m * n * k <= sel(k <= 256, 2^31, 2^26)" },
    { "the textbook kernel is not written lean", "PUT == 'plain' or BLOCKED" },
    { "atomics are not written lean", "PUT == 'plain' or FINISH ~= 'atomic'" },
    { "vectors of A wider than stores keep a thread's rows together", "not APART or A_ALONG_K or VEC <= STORE" },
    { "rows are dealt out by a power of two of threads",
      "not APART or not A_ALONG_K or pow2div(COPIERS, 1024) == COPIERS" },
    { "no incomplete tile along k that counts", "HEAD == 'padded' or k % BK > 0 and k < 12 * BK" },
    { "incomplete tiles are left so by blocks that load as they multiply, all of k",
      "HEAD == 'padded' or BLOCKED and not LOADS_APART and SCHEDULE == 'tiles'" },
    { "who is spared steps is spared guards as well", "HEAD == 'padded' or PUT == 'lean'" },
    { "incomplete tiles are not sliced", "HEAD == 'padded' or SLICEK == 1" },
    { "incomplete tiles are not split", "HEAD == 'padded' or SPLITK == 1" },
    { "padding is for transposing on the way, and needed there",
      "not BLOCKED or (PAD > 0) == (not MAPS and (ta == 't' or tb == 'n'))" },
    { "asynchronous copies need compute capability 8.0", "LOADER == 'register' or dev_cc >= 80" },
    { "asynchronous copies need a second stage", "LOADER == 'register' or STAGES >= 2" },
    { "registers hold one tile: two stages at most", "LOADER ~= 'register' or STAGES <= 2" },
    { "warps that only load need compute capability 9.0", "not LOADS_APART or dev_cc == 90" },
    { "warps that only load are for large thread tiles of 256 threads in one block or two",
      "LOADER ~= 'warps' or TM * TN >= 64 and GROUP * MINBLOCKS == 256 and MINBLOCKS <= 2" },
    { "beside a thread that loads through tensor maps, 128 or 256 others fill the multiprocessor",
      "not MAPS or TM * TN >= 32 and (GROUP == 128 and MINBLOCKS >= 2 or GROUP == 256 and MINBLOCKS <= 2)" },
    { "beside warps that only load, a tile's steps are all unrolled and ptxas reads ahead",
      "not LOADS_APART or UNROLL == DEPTH and COPIES == 'burst' and FRAGMENTS == 1" },
    { "warps that only load cannot add up slices", "not LOADS_APART or SLICEK == 1" },
    { "tensor maps need addresses and leading dimensions that are multiples of 16 bytes",
      "not MAPS or PACK ~= 'no' or align_a == 4 and align_b == 4" },
    { "only what tensor maps take is packed, and what is contiguous along k or not aligned",
      "PACK == 'no' or MAPS and (A_PACKED or B_PACKED)" },
    { "packing what is contiguous along k is then no choice",
      "PACK ~= 'unaligned' or A_ALONG_K or B_ALONG_K" },
    { "packed operands are of up to 2^32 elements", "PACK == 'no' or max(m, n) * k <= 2^32" },
    { "no tensor has an empty side", "not MAPS or k > 0" },
    { "tiles of tensor maps are multiples of 1024 bytes, and 128 bytes along k at most",
      "not MAPS or BM * BK % 256 == 0 and BN * BK % 256 == 0 and BK <= 32" },
    { "more stages than tiles along k", "STAGES <= 2 or (STAGES - 1) * BK * SPLITK < k" },
    { "copies run further ahead than their latency asks",
      "STAGES <= 2 or BM * BN <= 2048 or (STAGES - 1) * BK <= 64" },
    { "more shared memory than a block may have", "SMEM + 16 * STAGES <= dev_smem_block" }, -- barriers; last_block.cuh
    { "the textbook kernel, where it can only be a yardstick, comes plain",
      "BLOCKED or TENSOR or GEMV or " .. TILES .. " <= 16 * dev_sms or LOADER == 'register' and STAGES == 1 "
        .. "and VEC == 1 and PAD == 0" },
    { "that many blocks exceed a multiprocessor's shared memory",
      "MINBLOCKS * (SMEM + dev_smem_reserved) <= dev_smem_sm or MINBLOCKS == 1" },
    { "only asynchronous copies can be spread, over many steps, all unrolled",
      "COPIES == 'burst' or LOADER == 'cpasync' and UNROLL == DEPTH and UNROLL * TM * TN >= 512" },
    { "nothing is copied along k", "not MAPS and (ta == 't' or tb == 'n') or KLANES == 16" },
    { "fewer vectors along k than lanes",
      "MAPS or KLANES <= max(8, BK // KVEC) or not (ta == 't' or tb == 'n')" },
    { "loads of A do not divide among the threads",
      "MAPS or COPIERS // A_SIDE > sel(ta == 't', BM, BK) or "
        .. "sel(ta == 't', BM, BK) % (COPIERS // A_SIDE) == 0" },
    { "loads of B do not divide among the threads",
      "MAPS or COPIERS // B_SIDE > sel(tb == 'n', BN, BK) or "
        .. "sel(tb == 'n', BN, BK) % (COPIERS // B_SIDE) == 0" },
    { "reading ahead needs work to hide behind", "FRAGMENTS == 1 or TM * TN >= 16" },
    { "registers would spill",
      "REGISTERS <= sel(LOADS_APART, MULTIPLIER_REGISTERS, "
        .. "min(255, dev_regs_sm // roundup(THREADS * MINBLOCKS, 128) // 8 * 8))" },
  },

  default = { ALG = "ffma", VECTORS = 1, BLOCK = 256, LX = 16, LOADS = 2, LINES = 2, BLOCKS = 4, AHEAD = 0,
    X = "cached", LOAD = "streaming", BM = 16, BN = 16, TM = 1, TN = 1, ORDER = "rows", STORE = 1, RASTER = 1, LM = 16,
    LANES = "rows", PUT = "plain", HEAD = "padded", BK = 16, EDGE = "guarded", SLICEK = 1, UNROLL = 16, SPLITK = 1,
    MINBLOCKS = 1, FINISH = "last_block", VEC = 1, PAD = 0, LOADER = "register", STAGES = 1, COPIES = "burst",
    KLANES = 16, PACK = "no", SCHEDULE = "tiles", GROUPS = 2, TILE = 128, SWAP = "no", QUEUE = 3,
    PROMOTE = 1, FRAGMENTS = 1 },
  untuned = SUGGESTED,

  workspace = {
    { "partial", "f32", "sel(STREAM, 2 * PLACES * ROWS * COLUMNS, sel(" .. SPLIT .. ", " .. TILES
      .. " * SPLITK * ROWS * COLUMNS, sel(GEMV and SPLITS > 1 and FINISH ~= 'atomic', SPLITS * VECTORS * "
      .. RESULTS .. ", 0)))" },
    -- Arrivals per tile; wraps to 0 by itself, so it is zero again after every launch.
    { "arrived", "u32",
      "sel(STREAM, PLACES, sel(GEMV, PIECES, sel(SPLITK > 1 and FINISH == 'last_block', " .. TILES
        .. ", 0)))" },
    { "packed_a", "f32", "sel(A_PACKED, k * roundup(m, 4), 0)" },
    { "packed_b", "f32", "sel(B_PACKED, k * roundup(n, 4), 0)" },
  },

  stages = {
    { kernel = "sgemm_scale", when = "FINISH == 'atomic'",
      grid = { "ceildiv(m, 256)", "min(n, 65535)" }, block = 256,
      args = { "m", "n", "beta", "C", "ldc" } },
    { kernel = "sgemm_pack", when = "PACK ~= 'no'", block = 256,
      grid = "ceildiv(k, 32) * (sel(A_PACKED, ceildiv(m, 32), 0) + sel(B_PACKED, ceildiv(n, 32), 0))",
      args = { "m", "n", "k", "A", "lda", "B", "ldb", "packed_a", "packed_b" } },
    { kernel = "sgemm_vectors", when = "GEMV", overlap = "OVERLAP", block = "BLOCK",
      grid = { "PIECES", "SPLITS" }, smem = "VECTORS_SMEM", work = { "OUT * VECTORS * SHARE", "SHARE // STEP" },
      args = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales",
        "biases", { "i64", "SHARE" }, "partial", "arrived" } },
    { kernel = "sgemm", when = "not MAPS and not GEMV", overlap = "OVERLAP and FINISH == 'atomic'",
      early = STARTS_EARLY, grid = { GRID, "SPLITK" }, block = "THREADS", smem = "SMEM", work = WORK,
      args = { "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc", "scales",
        "biases", "partial", "arrived" } },
    with_maps(false, false),
    with_maps(false, true),
    with_maps(true, false),
    with_maps(true, true),
    { kernel = "sgemm_finish", when = "SPLITK > 1 and FINISH == 'two_launch'", overlap = "OVERLAP",
      grid = TILES, block = "GROUP",
      args = { "m", "n", "alpha", "beta", "C", "ldc", "scales", "biases", "partial" } },
  },

  source = [[
@include "ptx.cuh"
@include "last_block.cuh"
@ if OVERLAP then
@include "lanes.cuh"
@ end
// Between launches that overlap: the next may start; the one before has ended. (Code for a lower compute
// capability than the device's leaves it to the launches' order.)
__device__ __forceinline__ void let_next_start() {
@ if OVERLAP then
#if __CUDA_ARCH__ >= 900
  griddepcontrol_launch_dependents();
#endif
@ end
}
__device__ __forceinline__ void wait_for_last() {
@ if OVERLAP then
#if __CUDA_ARCH__ >= 900
  griddepcontrol_wait();
#endif
@ end
}
__device__ __forceinline__ float widen(float v) { return v; }
@include "epilogue.cuh"
@ if EARLY then
@include "pdl.cuh"
@ end

@ if GEMV then
using stored = float;
using wide = float;
__device__ __forceinline__ float narrow(float v) { return v; }
constexpr bool ALONG_SUM = @{SUM_ALONG}, SIDEWAYS = @{SWAP == "yes"};
@include "words.cuh"
@include "matrix_vectors.cuh"

// With alpha 0, BLAS does not look at A and B.
extern "C" __global__ void __launch_bounds__(BLOCK)
sgemm_vectors(int m, int n, int k, float alpha, const float *__restrict__ A, long long lda,
              const float *__restrict__ B, long long ldb, float beta, float *C, long long ldc,
              const float *scales, const float *biases, long long most, float *partial,
              unsigned *arrived) {
@ local matrix, across, ld, along_k = "A", "B", "ldb", tb == "n"
@ local sides = "1, ldc, m, n"
@ if SWAP == "yes" then
@   matrix, across, ld, along_k, sides = "B", "A", "lda", ta == "t", "ldc, 1, n, m"
@ end
  const vectors x = {@{across}, @{along_k and "1, " .. ld or ld .. ", 1"}, @{SWAP == "yes" and "m" or "n"}};
  multiply_vectors(@{matrix}, ld@{matrix:lower()}, x, alpha == 0 ? 0 : k,
                   {alpha, beta, C, @{sides}, scales, biases}, most, partial, arrived,
                   [] { wait_for_last(); });
}
@ else
template <int N>
struct alignas(4 * N) floats {
  float e[N];
};

@ if TENSOR then
@include "split.cuh"
@   if ALG == "tf32x3_mma" then
@include "mma.cuh"
@include "tensor80.cuh"
@   else
@include "ptx90.cuh"
@include "tensor.cuh"
@   end
@ else
@ if LOADS_APART then
@include "ptx90.cuh"
@ end
constexpr int CM = TM, CN = TN;  // elements of C of one thread

// A thread has MV neighbouring rows, and the next MV of its rows LM * MV further on, behind those
// of the other lanes; the same with columns. So a warp reads shared memory without gaps.

@ local a_row = APART and "place_of<true>(at.row)" or "at.row"
@ local function placed(row) return APART and "place_of<IS_A>(" .. row .. ")" or row end
@ if APART then
// A lane writes STORE rows of C at a time, and the neighbouring lane those beside them, so that a warp fills
// sectors; but it reads MV rows of A's tile at a time. So these change places on their way to shared memory,
// among LM * MV each. (These numbers are powers of two: what is sought for the sum of two rows that
// have no binary digit in common is the sum.)
template <bool IS_A>
__device__ __forceinline__ constexpr int place_of(int row) {
  return IS_A ? row / (LM * MV) * (LM * MV) + row / STORE % LM * MV + row / (LM * STORE) % (MV / STORE) * STORE +
                    row % STORE
              : row;
}

@ end
@ if not MAPS then
// ---- one operand's way from global to shared memory ------------------------------------------

// A tile lies in shared memory as BK rows of WIDTH floats, WIDTH being BM for A and BN for B.
// In global memory it is contiguous along k (ALONG_K) or along the rows. A thread copies
// ALONG x ACROSS vectors of V floats, with SIDE threads side by side in that direction.
template <int WIDTH, bool ALONG_K, int SIDE@{APART and ", bool IS_A" or ""}>
struct operand {
  static constexpr int ROW = WIDTH + PAD;
  static constexpr int V = ALONG_K ? KVEC : VEC;
  static constexpr int ALONG = (ALONG_K ? BK : WIDTH) / (V * SIDE);
  static constexpr int FAR = ALONG_K ? WIDTH : BK;
  static constexpr bool SOME_IDLE = COPIERS / SIDE > FAR;  // more threads than vectors
  static constexpr int STEP = SOME_IDLE ? FAR : COPIERS / SIDE;
  static constexpr int ACROSS = FAR / STEP;

  const float *from;     // the next vector to copy
  long long ld, stride;  // floats between neighbours across, and between this thread's vectors
  int room;              // rows of the matrix from this thread's first one on
  int along, across;     // where in a tile this thread begins
  float *to;             // its place in the first stage
  floats<V> held[ACROSS][ALONG];

  // The tile that starts at row `first` of `rows` and at k; stages from `shared` on.
  __device__ operand(const float *matrix, long long ld_, long long first, int rows, long long k,
                     float *shared) {
    const int thread = LOADS_APART ? threadIdx.x % COPIERS : threadIdx.x;
    along = thread % SIDE * V;
    across = thread / SIDE;
    ld = ld_;
    stride = STEP * ld;
    from = matrix + (ALONG_K ? (first + across) * ld + k + along
                             : (k + across) * ld + first + along);
    room = (int)(rows - first) - (ALONG_K ? across : along);
    to = shared + (ALONG_K ? along * ROW + @{placed "across"} : across * ROW + @{placed "along"});
  }

  __device__ bool idle() const { return SOME_IDLE && across >= FAR; }

  // Is the vector inside the matrix, and less than `depth` along k?
  __device__ bool inside(int i, int j, int depth) const {
    if (EDGE == EDGE_whole) return true;
    const int row = ALONG_K ? i * STEP : j * SIDE * V;
    const int k = ALONG_K ? along + j * SIDE * V : across + i * STEP;
    return (EDGE == EDGE_k || row < room) && (depth == BK || k < depth);
  }

  // Where it goes, relative to the thread's first one.
  __device__ static constexpr int place(int i, int j) {
    return ALONG_K ? j * SIDE * V * ROW + @{placed "i * STEP"} : i * STEP * ROW + @{placed "j * SIDE * V"};
  }

  // Part p of `parts` of the copies to a stage.
  __device__ void copy(int stage, int depth, int p, int parts) {
    if (idle()) return;
    const unsigned target = shared_address(to + stage);
#pragma unroll
    for (int i = 0; i < ACROSS; i++) {
#pragma unroll
      for (int j = 0; j < ALONG; j++) {
        if ((i * ALONG + j) * parts / (ALONG * ACROSS) != p) continue;
        cp_async<4 * V>(target + 4 * place(i, j), from + j * SIDE * V,
                        inside(i, j, depth) ? 4 * V : 0);
        if (j == ALONG - 1) from += stride;
      }
    }
  }

  __device__ void load(int depth) {
    if (idle()) return;
#pragma unroll
    for (int i = 0; i < ACROSS; i++) {
#pragma unroll
      for (int j = 0; j < ALONG; j++) {
        held[i][j] = floats<V>();
        if (inside(i, j, depth)) {
          held[i][j] = *reinterpret_cast<const floats<V> *>(from + j * SIDE * V);
        }
      }
      from += stride;
    }
  }

  // From the end of a tile, `depth` of which counts, to the beginning of the next.
  __device__ void advance(int depth) {
    from += ALONG_K ? depth - ACROSS * stride : (depth - BK) * ld;
  }

  __device__ void store(int stage) const {
    if (idle()) return;
#pragma unroll
    for (int i = 0; i < ACROSS; i++) {
#pragma unroll
      for (int j = 0; j < ALONG; j++) {
        float *target = to + stage + place(i, j);
        if constexpr (ALONG_K) {
#pragma unroll
          for (int e = 0; e < V; e++) target[e * ROW] = held[i][j].e[e];
        } else {
          *reinterpret_cast<floats<V> *>(target) = held[i][j];
        }
      }
    }
  }
};

using operand_a = operand<BM, A_ALONG_K, A_SIDE@{APART and ", true" or ""}>;
using operand_b = operand<BN, B_ALONG_K, B_SIDE@{APART and ", false" or ""}>;
@ end
constexpr int A_ROW = BM + PAD, B_ROW = BN + PAD;  // floats between rows in shared memory
constexpr int B_TILE = BK * A_ROW;                 // where B's tile starts in a stage

// Where a thread's elements lie in the block's tile of C.
struct position {
  int row, column;  // its first ones
  __device__ explicit position(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    constexpr int ACROSS = LN > 1 ? 2 : 1;  // interleaved: pairs of lanes go along the columns
    const int lane_row = LANES == LANES_rows ? lane % LM : lane / ACROSS % LM;
    const int lane_column =
        LANES == LANES_rows ? lane / LM : lane % ACROSS + lane / (ACROSS * LM) * ACROSS;
    constexpr int WARPS = BM / (LM * TM);  // of the block, along the rows
    row = warp % WARPS * LM * TM + lane_row * @{APART and "STORE" or "MV"};
    column = warp / WARPS * LN * TN + lane_column * NV;
  }
@ if APART then
  __device__ static int row_offset(int i, int) {
    return i / MV * LM * MV + i % MV / STORE * LM * STORE + i % STORE;
  }
@ else
  __device__ static int row_offset(int i, int) { return i / MV * LM * MV + i % MV; }
@ end
  __device__ static int column_offset(int, int j) { return j / NV * LN * NV + j % NV; }
};

// ---- the block's product -----------------------------------------------------------------------

// A row of a tile in shared memory to a thread's fragment of it.
template <int N, int V, int LANES_ACROSS>
__device__ __forceinline__ void read(float (&fragment)[N], const float *row) {
#pragma unroll
  for (int i = 0; i < N; i += V) {
    const floats<V> v = *reinterpret_cast<const floats<V> *>(row + i * LANES_ACROSS);
#pragma unroll
    for (int e = 0; e < V; e++) fragment[i + e] = v.e[e];
  }
}

__device__ __forceinline__ void multiply(float (&c)[TM][TN], const float (&a)[TM],
                                         const float (&b)[TN]) {
  if constexpr (ORDER == ORDER_columns) {
#pragma unroll
    for (int j = 0; j < TN; j++) {
#pragma unroll
      for (int i = 0; i < TM; i++) c[i][j] += a[i] * b[j];
    }
  } else {
#pragma unroll
    for (int i = 0; i < TM; i++) {
#pragma unroll
      for (int s = 0; s < TN; s++) {
        const int j = ORDER == ORDER_snake && i % 2 == 1 ? TN - 1 - s : s;
        c[i][j] += a[i] * b[j];
      }
    }
  }
}

@ if LOADS_APART then
// Tiles in shared memory; each is full or empty, in this round or the next.
struct queue {
  unsigned full, empty;
  int i = 0, round = 0, stage = 0;  // the current one, and where it lies, in floats
  __device__ explicit queue(unsigned long long *barriers)
      : full(shared_address(barriers)), empty(full + 8 * STAGES) {}
  __device__ void initialize() const {
    for (int s = 0; s < STAGES; s++) {
      mbarrier_init(full + 8 * s, MAPS ? 1 : COPIERS);
      mbarrier_init(empty + 8 * s, MULTIPLIERS / 32);
    }
@ if MAPS then
    fence_mbarrier_init();
@ end
  }
  __device__ void wait_full() const { mbarrier_wait(full + 8 * i, round); }
  __device__ void wait_empty() const { mbarrier_wait(empty + 8 * i, round ^ 1); }
  __device__ void next() {
    stage += STAGE;
    if (++i < STAGES) return;
    i = stage = 0;
    round ^= 1;
  }
};

@ if MAPS and (A_ALONG_K or B_ALONG_K) then
// A tile contiguous along k lies there in rows of BK floats; the 16-byte chunks of one change places by
// bits of its number, so that eight neighbouring rows' are in different banks.
__device__ __forceinline__ constexpr int swizzle(int row) {
  return (row * BK * 4 >> 7 & (BK / 4 - 1)) * 16;
}

// Where a thread's part of a tile begins: its first row or column, relative to the stage, in bytes.
template <bool ALONG_K>
__device__ __forceinline__ int beginning(int row) {
  return ALONG_K ? row * BK * 4 + swizzle(row) : row * 4;
}

__device__ __forceinline__ floats<4> shared_floats(unsigned address) {
  floats<4> v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.e[0]), "=f"(v.e[1]), "=f"(v.e[2]), "=f"(v.e[3])
               : "r"(address));
  return v;
}

// Of row i of a thread, four elements along k.
template <int LANES_ACROSS>
__device__ __forceinline__ floats<4> along_k(unsigned tile, int i, int k) {
  return shared_floats((tile ^ (k * 4 ^ swizzle(i * LANES_ACROSS))) + i * LANES_ACROSS * BK * 4);
}

// Of all N rows of a thread, the element at k.
template <int N, int LANES_ACROSS, int WIDTH>
__device__ __forceinline__ void across_k(float (&fragment)[N], unsigned tile, int k) {
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    const floats<4> v = shared_floats(tile + (k * WIDTH + i * LANES_ACROSS) * 4);
#pragma unroll
    for (int e = 0; e < 4; e++) fragment[i + e] = v.e[e];
  }
}

// Of all rows, four elements along k each.
template <bool ALONG_K, int N, int LANES_ACROSS, int WIDTH>
__device__ __forceinline__ void read_four(float (&fragments)[4][N], unsigned tile, int k) {
  if constexpr (ALONG_K) {
#pragma unroll
    for (int i = 0; i < N; i++) {
      const floats<4> v = along_k<LANES_ACROSS>(tile, i, k);
#pragma unroll
      for (int e = 0; e < 4; e++) fragments[e][i] = v.e[e];
    }
  } else {
#pragma unroll
    for (int e = 0; e < 4; e++) across_k<N, LANES_ACROSS, WIDTH>(fragments[e], tile, k + e);
  }
}

// One tile's products. Of one operand four steps are held; the other, if it is contiguous along k,
// passes row by row.
__device__ __forceinline__ void multiply_tile(float (&c)[TM][TN], unsigned a_tile, unsigned b_tile) {
@ local a_held = ORDER == "columns"
@ local passing_along_k
@ if a_held then passing_along_k = B_ALONG_K else passing_along_k = A_ALONG_K end
#pragma unroll
  for (int k = 0; k < BK; k += 4) {
@ if a_held then
    float a[4][TM];
    read_four<A_ALONG_K, TM, LM, BM>(a, a_tile, k);
@   if passing_along_k then
#pragma unroll
    for (int j = 0; j < TN; j++) {
      const floats<4> b = along_k<LN>(b_tile, j, k);
#pragma unroll
      for (int e = 0; e < 4; e++) {
#pragma unroll
        for (int i = 0; i < TM; i++) c[i][j] += a[e][i] * b.e[e];
      }
    }
@   else
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float b[TN];
      across_k<TN, LN, BN>(b, b_tile, k + e);
      multiply(c, a[e], b);
    }
@   end
@ else
    float b[4][TN];
    read_four<B_ALONG_K, TN, LN, BN>(b, b_tile, k);
@   if passing_along_k then
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const floats<4> a = along_k<LM>(a_tile, i, k);
#pragma unroll
      for (int e = 0; e < 4; e++) {
#pragma unroll
        for (int j = 0; j < TN; j++) c[i][j] += a.e[e] * b[e][j];
      }
    }
@   else
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float a[TM];
      across_k<TM, LM, BM>(a, a_tile, k + e);
      multiply(c, a, b[e]);
    }
@   end
@ end
  }
}

@ end
@ if MAPS then
// The tiles of A and B from `row`, `column` and `k` on, by one thread.
__device__ __forceinline__ void load_tiles(queue &q, unsigned shared, const tensor_map &A, int row,
                                           const tensor_map &B, int column, int k, int tiles) {
#pragma unroll 1
  for (int t = 0; t < tiles; t++, k += BK) {
    const unsigned to = shared + 4 * q.stage, barrier = q.full + 8 * q.i;
    q.wait_empty();
    fence_proxy_async();  // no copy comes before what was read there
    mbarrier_arrive_expect(barrier, 4 * STAGE);
    load_tile(to, A, A_ALONG_K ? k : row, A_ALONG_K ? row : k, barrier);
    load_tile(to + 4 * B_TILE, B, B_ALONG_K ? k : column, B_ALONG_K ? column : k, barrier);
    q.next();
  }
}
@ else
__device__ __forceinline__ void load_tiles(queue &q, operand_a A, operand_b B, long long depth) {
  const int tiles = (int)((depth + BK - 1) / BK);
#pragma unroll 1
  for (int t = 0; t < tiles; t++) {
    const int tile_depth = t == 0 ? (int)(depth - (long long)(tiles - 1) * BK) : BK;
    q.wait_empty();
    A.copy(q.stage, tile_depth, 0, 1);
    B.copy(q.stage, tile_depth, 0, 1);
    cp_async_mbarrier_arrive(q.full + 8 * q.i);
    A.advance(tile_depth);
    B.advance(tile_depth);
    q.next();
  }
}
@ end

// The sum over `tiles` tiles, by the threads that multiply. No barrier of the block holds them up: a
// warp may be ahead of another by as many as there are stages.
__device__ __forceinline__ void product(float (&c)[TM][TN], const float *shared, queue &q, int tiles) {
  const position at(threadIdx.x);
@ if MAPS and (A_ALONG_K or B_ALONG_K) then
  const unsigned a_from = shared_address(shared) + beginning<A_ALONG_K>(at.row);
  const unsigned b_from = shared_address(shared) + 4 * B_TILE + beginning<B_ALONG_K>(at.column);
@ else
  const float *const a_from = shared + @{a_row}, *const b_from = shared + B_TILE + at.column;
@ end
#pragma unroll 1
  for (int t = 0; t < tiles; t++) {
    q.wait_full();
@ if MAPS and (A_ALONG_K or B_ALONG_K) then
    multiply_tile(c, a_from + 4 * q.stage, b_from + 4 * q.stage);
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(q.empty + 8 * q.i);
@ else
#pragma unroll
    for (int k = 0; k < BK; k++) {
      float a[TM], b[TN];
      read<TM, MV, LM>(a, a_from + q.stage + k * A_ROW);
      read<TN, NV, LN>(b, b_from + q.stage + k * B_ROW);
      if (k == BK - 1) {  // all is read
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(q.empty + 8 * q.i);
      }
      multiply(c, a, b);
    }
@ end
    q.next();
  }
}

@ elseif STRIPS then
// All of `depth` of an operand's tile along k.
template <typename T>
__device__ __forceinline__ void copy_all(T o, int stage, int depth) {
#pragma unroll 1
  for (int k = 0; k < depth; k += BK) {
    const int part = depth - k < BK ? depth - k : BK;
    o.copy(stage + k * T::ROW, part, 0, 1);
    o.advance(part);
  }
  cp_async_commit();
}

__device__ __forceinline__ void product(float (&c)[TM][TN], const float *a_from, const float *b_from, int depth) {
#pragma unroll UNROLL
  for (int k = 0; k < depth; k++) {
    float a[TM], b[TN];
    read<TM, MV, LM>(a, a_from + k * A_ROW);
    read<TN, NV, LN>(b, b_from + k * B_ROW);
    multiply(c, a, b);
  }
}

@ else
// The sum over `depth` elements along k, from the operands' position on.
__device__ __forceinline__ void product(float (&c)[TM][TN], const float *shared, operand_a &A,
                                        operand_b &B, long long depth) {
  const int tiles = (int)((depth + BK - 1) / BK);
  if (tiles == 0) return;
  // The first tile is the incomplete one, so that the loop need not test k.
  const int head = (int)(depth - (long long)(tiles - 1) * BK);
  const position at(threadIdx.x % GROUP);
  const int slice = threadIdx.x / GROUP * DEPTH;
  const float *const a_from = shared + slice * A_ROW + @{a_row};
  const float *const b_from = shared + B_TILE + slice * B_ROW + at.column;
  float a[FRAGMENTS][TM], b[FRAGMENTS][TN];
  int stage = 0;  // where the current tile lies, in floats

  const auto next = [](int s) { return s + STAGE == STAGES * STAGE ? 0 : s + STAGE; };
  const auto fetch = [&](int f, int s, int k) {
    read<TM, MV, LM>(a[f], a_from + s + k * A_ROW);
    read<TN, NV, LN>(b[f], b_from + s + k * B_ROW);
  };

@ if LOADER == "cpasync" then
  // Copies run STAGES - 1 tiles ahead, in one burst or spread over the first steps of a tile.
  int fill = 0;
  const auto copy = [&](int tile_depth, int p, int parts) {
    A.copy(fill, tile_depth, p, parts);
    B.copy(fill, tile_depth, p, parts);
    if (p < parts - 1) return;
    A.advance(tile_depth);
    B.advance(tile_depth);
    fill = next(fill);
  };
  const auto ahead = [&](int t, int p, int parts) {
    if (t + STAGES - 1 < tiles) copy(BK, p, parts);
    if (p == parts - 1) cp_async_commit();
  };
  const auto turn = [&] {
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    stage = next(stage);
  };
  copy(head, 0, 1);
  cp_async_commit();
#pragma unroll 1
  for (int t = 2 - STAGES; t < 0; t++) ahead(t, 0, 1);
  cp_async_wait<STAGES - 2>();
  __syncthreads();
@ else
  // Registers hold the next tile while the block works on this one.
  const auto load = [&](int tile_depth) {
    A.load(tile_depth);
    B.load(tile_depth);
    A.advance(tile_depth);
    B.advance(tile_depth);
  };
  const auto ahead = [&](int t, int, int) {
    if (t + 1 < tiles) load(BK);
  };
  const auto turn = [&] {
    if (STAGES == 1) __syncthreads();
    stage = next(stage);
    A.store(stage);
    B.store(stage);
    __syncthreads();
  };
  load(head);
  A.store(stage);
  B.store(stage);
  __syncthreads();
@ end

@ local first = HEAD == "exact" and 1 or 0
@ if HEAD == "exact" then
  ahead(0, 0, 1);
#pragma unroll 2
  for (int k = 0; k < head; k++) {
    fetch(0, stage, k);
    multiply(c, a[0], b[0]);
  }
  if (tiles == 1) return;
  turn();
@ end
  if (FRAGMENTS == 2) fetch(0, stage, 0);
#pragma unroll 1
  for (int t = @{first}; t < tiles; t++) {
    if (COPIES == COPIES_burst) ahead(t, 0, 1);
#pragma unroll 1
    for (int k = 0; k < DEPTH; k += UNROLL) {
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        if (COPIES == COPIES_spread && u % 2 == 0 && u < UNROLL / 2) ahead(t, u / 2, UNROLL / 4);
        if (FRAGMENTS == 1) {
          fetch(0, stage, k + u);
        } else if (u + 1 < UNROLL || k + UNROLL < DEPTH) {
          fetch((u + 1) % FRAGMENTS, stage, k + u + 1);
        } else if (t + 1 < tiles) {
          turn();
          fetch((u + 1) % FRAGMENTS, stage, 0);
        }
        multiply(c, a[u % FRAGMENTS], b[u % FRAGMENTS]);
      }
    }
    if (FRAGMENTS == 1 && t + 1 < tiles) turn();
  }
}

@ end
@ if SLICEK > 1 then
// Adds up what the slices of the block found; the first one has the sum.
__device__ __forceinline__ void add_slices(float (&c)[TM][TN], float *shared) {
  const int thread = threadIdx.x % GROUP, slice = threadIdx.x / GROUP;
  __syncthreads();  // tiles were there
#pragma unroll
  for (int r = 0; r < TM * TN; r++) {
    if (slice > 0) shared[((slice - 1) * TM * TN + r) * GROUP + thread] = c[r / TN][r % TN];
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < TM * TN; r++) {
#pragma unroll
    for (int s = 0; s < SLICEK - 1; s++) {
      if (slice == 0) c[r / TN][r % TN] += shared[(s * TM * TN + r) * GROUP + thread];
    }
  }
}

@ end
@ end
// ---- into C ------------------------------------------------------------------------------------

struct corner {  // of the block's tile in C
  int row, column;
  // Bands of RASTER rows of tiles; down within a band first.
  __device__ corner(unsigned tile, int m, int n) {
    const unsigned rows = (unsigned)(m - 1) / ROWS + 1, columns = (unsigned)(n - 1) / COLUMNS + 1;
    const unsigned band = tile / (RASTER * columns) * RASTER;
    const unsigned in = tile % (RASTER * columns);
    const unsigned height = rows - band < RASTER ? rows - band : RASTER;
    row = (int)(band + in % height) * ROWS;
    column = (int)(in / height) * COLUMNS;
  }
@ if STRIPS then
  __device__ corner(int row_, int column_) : row(row_), column(column_) {}
@ end
};

@ if TENSOR and PARTS == 2 then
@include "nonfinite.cuh"

@ end
@ if FINISH == "atomic" then
#if __CUDA_ARCH__ >= 900
constexpr bool HAS_VECTOR_RED = true;
#else
constexpr bool HAS_VECTOR_RED = false;
#endif
template <int N>
__device__ __forceinline__ void add_atomically(float *to, const floats<N> &v) {
  if constexpr (N > 1 && HAS_VECTOR_RED) {
    red_add(to, v.e);
  } else {
#pragma unroll
    for (int e = 0; e < N; e++) atomicAdd(to + e, v.e[e]);
  }
}

@ end
@ if PUT == "lean" then
// C = alpha c. A tile that is WHOLE crosses no edge.
template <bool WHOLE>
__device__ __forceinline__ void put_new(const float (&c)[CM][CN], int first_row, int first_column, int m, int n,
                                        float alpha, float *C, long long ldc, const float *scales,
                                        const float *biases) {
  const int rows = m - first_row, columns = n - first_column;
  float *to = C + first_row + first_column * ldc;
  asm volatile("" : "+f"(alpha), "+l"(ldc));  // lest every store read the kernel's arguments again
#pragma unroll
  for (int j = 0; j < CN; j++) {
    const int column = position::column_offset(0, j);
    if (j > 0) to += (column - position::column_offset(0, j - 1)) * ldc;
#pragma unroll
    for (int i = 0; i < CM; i += STORE) {
      const int row = position::row_offset(i, j);
      floats<STORE> v;
#pragma unroll
      for (int e = 0; e < STORE; e++) v.e[e] = alpha * c[i + e][j];
      if (!WHOLE && (row >= rows || column >= columns)) continue;
#pragma unroll
      for (int e = 0; e < STORE; e++) {
        v.e[e] = epilogue(v.e[e], first_row + row + e, first_column + column, scales, biases);
      }
      *reinterpret_cast<floats<STORE> *>(to + row) = v;
    }
  }
}

@ end
// C = alpha c + beta C; with beta 0, C is not read.
__device__ __forceinline__ void put(const float (&c)[CM][CN], corner tile, int m, int n,
                                    float alpha, float beta, float *C, long long ldc,
                                    const float *scales, const float *biases) {
  const position at(threadIdx.x % GROUP);
  const int first_row = tile.row + at.row, first_column = tile.column + at.column;
@ if PUT == "lean" then
  if (beta == 0) {
    if (EDGE != EDGE_guarded || m - tile.row >= ROWS && n - tile.column >= COLUMNS) {
      put_new<true>(c, first_row, first_column, m, n, alpha, C, ldc, scales, biases);
    } else {
      put_new<false>(c, first_row, first_column, m, n, alpha, C, ldc, scales, biases);
    }
    return;
  }
@ end
  const int rows = m - first_row, columns = n - first_column;
  C += first_row + first_column * ldc;
#pragma unroll
  for (int j = 0; j < CN; j++) {
#pragma unroll
    for (int i = 0; i < CM; i += STORE) {
      const int row = position::row_offset(i, j), column = position::column_offset(i, j);
      if (EDGE == EDGE_guarded && (row >= rows || column >= columns)) continue;
      float *to = C + row + column * ldc;
@ if SPLITK > 1 and FINISH == "atomic" then
      floats<STORE> v;
#pragma unroll
      for (int e = 0; e < STORE; e++) v.e[e] = alpha * c[i + e][j];
      add_atomically(to, v);
@ else
      floats<STORE> v = floats<STORE>();
      if (beta != 0) v = *reinterpret_cast<const floats<STORE> *>(to);
#pragma unroll
      for (int e = 0; e < STORE; e++) {
        v.e[e] = epilogue(alpha * c[i + e][j] + beta * v.e[e], first_row + row + e,
                          first_column + column, scales, biases);
      }
      *reinterpret_cast<floats<STORE> *>(to) = v;
@ end
    }
  }
}

@ if STRIPS then
// The block's tiles, of all counted along the rows of tiles; their results are given to `put_tile`. While one is
// multiplied, the next one's part of B is on its way.
template <typename F>
__device__ __forceinline__ void multiply_strips(int m, int n, int depth, const float *A, long long lda,
                                                const float *B, long long ldb, float *shared, F put_tile) {
  const unsigned columns = (unsigned)(n - 1) / BN + 1, tiles = ((unsigned)(m - 1) / BM + 1) * columns;
  const unsigned share = tiles / gridDim.x, more = tiles % gridDim.x;
  const unsigned begin = blockIdx.x * share + (blockIdx.x < more ? blockIdx.x : more);
  int left = (int)(share + (blockIdx.x < more));
  corner tile((int)(begin / columns) * BM, (int)(begin % columns) * BN);
  const int rows = (depth + BK - 1) / BK * BK;  // in shared memory
  float *const b_shared = shared + rows * A_ROW;
  const position at(threadIdx.x);
  const float *const a_from = shared + @{APART and "place_of<true>(at.row)" or "at.row"};
  const float *const b_from = b_shared + at.column;
  const auto copy_b = [&](int column, int stage) {
    copy_all(operand_b(B, ldb, column, n, 0, b_shared), stage, depth);
  };
  int stage = 0;
  bool fresh = true;  // is this strip of A still to come?
#pragma unroll 1
  for (; left > 0; left--) {
    if (fresh) {
      __syncthreads();  // the strip before is done with
      copy_all(operand_a(A, lda, tile.row, m, 0, shared), 0, depth);
      copy_b(tile.column, stage);
    }
    cp_async_wait<0>();
    __syncthreads();
    const int other = rows * B_ROW - stage;
    fresh = n - tile.column <= BN;
    if (left > 1 && !fresh) copy_b(tile.column + BN, other);
    float c[CM][CN] = {};
    product(c, a_from, b_from + stage, depth);
    put_tile(c, tile);
    tile = fresh ? corner(tile.row + BM, 0) : corner(tile.row, tile.column + BN);
    stage = other;
  }
}

@ end
@ local partial_sums = STREAM or SPLITK > 1 and FINISH ~= "atomic"
@ if partial_sums then
// Partial sums lie in the order in which threads write them, in vectors of PV; these are of one column,
// like those of C, so that both want the same sums in neighbouring registers. A streaming block's
// products take what registers the rest leaves: with vectors, those of large thread tiles (16 x 8) had a
// twentieth of their multiplications read three registers of one bank; without, none.
constexpr int PV = STREAM && CM * CN > 64 ? 1 : CM * CN < 4 ? CM * CN : 4;
constexpr int PARTIAL = ROWS * COLUMNS / PV;  // vectors of one block

__device__ __forceinline__ floats<PV> *partials(float *partial, unsigned i) {
  return reinterpret_cast<floats<PV> *>(partial) + (long long)i * PARTIAL + threadIdx.x % GROUP;
}

__device__ __forceinline__ void put_partial(const float (&c)[CM][CN], floats<PV> *to) {
#pragma unroll
  for (int r = 0; r < CM * CN; r += PV) {
    floats<PV> v;
#pragma unroll
    for (int e = 0; e < PV; e++) v.e[e] = c[(r + e) % CM][(r + e) / CM];
    to[r / PV * GROUP] = v;
  }
}

__device__ __forceinline__ void add_partial(float (&c)[CM][CN], const floats<PV> *from) {
#pragma unroll
  for (int r = 0; r < CM * CN; r += PV) {
    const floats<PV> v = from[r / PV * GROUP];
#pragma unroll
    for (int e = 0; e < PV; e++) c[(r + e) % CM][(r + e) / CM] += v.e[e];
  }
}
constexpr int AT_ONCE = CM * CN < 64 ? 64 / (CM * CN) : 1;  // partial sums that are read at a time

@ end
// A part of the product: of a tile of C the elements along k from `begin` on.
struct part {
  unsigned tile;
  long long begin, depth;
};

@ if STREAM then
// A block's parts. The tiles of C that do not fill the last wave come first: the tiles along k of all of
// them, one after the other, are shared out equally, so that a block has parts of two of them at most.
// Then come whole ones.
struct parts {
  long long all;                  // elements along k
  unsigned depth;                 // and tiles
  unsigned shared, tiles;         // tiles of C: shared out; all
  unsigned long long begin, end;  // this block's share

  // What these are is computed for each part anew, lest it take registers from the products.
  __device__ parts(int m, int n, long long k) : all(k) {
    asm volatile("" : "+r"(m), "+r"(n), "+l"(all));
    depth = (unsigned)((all + BK - 1) / BK);
    tiles = ((unsigned)(m - 1) / ROWS + 1) * ((unsigned)(n - 1) / COLUMNS + 1);
    shared = depth == 0 ? 0 : tiles % gridDim.x;
    begin = first_of(blockIdx.x);
    end = first_of(blockIdx.x + 1);
  }
  __device__ unsigned long long first_of(unsigned block) const {
    return (unsigned long long)shared * depth * block / gridDim.x;
  }
  // Which block has that of the shared ones?
  __device__ unsigned owner(unsigned long long i) const {
    return (unsigned)(((i + 1) * gridDim.x - 1) / ((unsigned long long)shared * depth));
  }
  // The i-th, if there is one.
  __device__ bool find(unsigned i, part &p) const {
    const unsigned first = begin < end ? (unsigned)(begin / depth) : 0;
    const unsigned shares = begin < end ? (unsigned)((end - 1) / depth) - first + 1 : 0;
    if (i >= shares) {
      p.tile = shared + blockIdx.x + (i - shares) * gridDim.x;
      p.begin = 0;
      p.depth = all;
      return p.tile < tiles;
    }
    p.tile = first + i;
    const unsigned from = i == 0 ? (unsigned)(begin % depth) : 0;
    const unsigned long long left = end - ((unsigned long long)p.tile * depth + from);
    p.begin = (long long)from * BK;
    p.depth = all - p.begin;
    if (left < depth && (long long)left * BK < p.depth) p.depth = (long long)left * BK;
    return true;
  }
};

// Where its blocks leave the partial sums of a shared tile, and how many they are.
struct shares {
  unsigned first, last, first_place;
  __device__ shares(const parts &all, unsigned tile) {
    const unsigned long long begin = (unsigned long long)tile * all.depth;
    first = all.owner(begin);
    last = all.owner(begin + all.depth - 1);
    first_place = 2 * first + (all.first_of(first) < begin);
  }
  __device__ unsigned place(unsigned block) const {
    return block == first ? first_place : 2 * block;
  }
};

@ end
@ if partial_sums then
// The sum over all parts of a tile, always in the same order.
@ if STREAM then
__device__ __forceinline__ void add_partials(float (&c)[CM][CN], float *partial, shares of) {
#pragma unroll AT_ONCE
  for (unsigned b = of.first; b <= of.last; b++) add_partial(c, partials(partial, of.place(b)));
}
@ else
__device__ __forceinline__ void add_partials(float (&c)[CM][CN], float *partial) {
#pragma unroll AT_ONCE
  for (int s = 0; s < SPLITK; s++) add_partial(c, partials(partial, blockIdx.x * SPLITK + s));
}
@ end

@ end
@ local name, a, b = "sgemm", "const float *__restrict__ A, long long lda",
@   "const float *__restrict__ B, long long ldb"
@ if MAPS then
@   name = "sgemm_mapped"
@   a, b = "const __grid_constant__ tensor_map A", "const __grid_constant__ tensor_map B"
@ end
@ local first = SLICEK > 1 and "threadIdx.x < GROUP" or "true" -- threads that have the sums
@ local each = STREAM and "part p;\n  for (unsigned i = 0; parts(m, n, all).find(i, p); i++) " or ""
extern "C" __global__ void __launch_bounds__(THREADS, MINBLOCKS)
@{name}(int m, int n, int k, float alpha, @{a},
      @{b}, float beta, float *C, long long ldc,
      const float *scales, const float *biases, float *partial, unsigned *arrived) {
  extern __shared__ __align__(16) float dynamic[];
@ if EARLY and MAPS then
  pdl_wait();
@ elseif EARLY then
  const int none = pdl_wait();
  A += none;
  B += none;
@ end
@ if MAPS then
  float *const shared = dynamic + (1024 - shared_address(dynamic) % 1024) % 1024 / 4;
@ else
  float *const shared = dynamic;
@ end
  // With alpha 0, BLAS does not look at A and B.
  const long long all = alpha == 0 ? 0 : k;
@ if SPLITK > 1 then
  const long long share = ((all + BK - 1) / BK + SPLITK - 1) / SPLITK * BK;
  const long long begin = blockIdx.y * share < all ? blockIdx.y * share : all;
  const part p = {blockIdx.x, begin, all - begin < share ? all - begin : share};
@ elseif not STREAM and not STRIPS then
  const part p = {blockIdx.x, 0, all};
@ end
@ if PACK ~= "no" then
  wait_for_last();
@ end
  if (FINISH == FINISH_two_launch) let_next_start();
@ if LOADS_APART then
  __shared__ unsigned long long barriers[2 * STAGES];
  queue q(barriers);
  if (threadIdx.x == 0) q.initialize();
  __syncthreads();
  const auto load = [&](const part &p) {
    const corner tile(p.tile, m, n);
@   if MAPS then
    load_tiles(q, shared_address(shared), A, tile.row, B, tile.column, (int)p.begin,
               (int)((p.depth + BK - 1) / BK));
@   else
    load_tiles(q, operand_a(A, lda, tile.row, m, p.begin, shared),
               operand_b(B, ldb, tile.column, n, p.begin, shared + B_TILE), p.depth);
@   end
  };
  if (threadIdx.x >= MULTIPLIERS) {
    release_registers<LOADER_REGISTERS>();
@   if MAPS then
    if (threadIdx.x > MULTIPLIERS) return;
@   end
    @{each}load(p);
    return;
  }
  take_registers<MULTIPLIER_REGISTERS>();
@ end
@ if STRIPS then
  multiply_strips(m, n, (int)all, A, lda, B, ldb, shared, [&](const float (&c)[CM][CN], corner tile) {
    put(c, tile, m, n, alpha, beta, C, ldc, scales, biases);
  });
}
@ else
  const auto multiply_part = [&](float (&c)[CM][CN], const part &p) {
@ if LOADS_APART then
    product(c, shared, q, (int)((p.depth + BK - 1) / BK));
@ else
    const corner tile(p.tile, m, n);
@   if TENSOR then
    product(c, (char *)shared, operand(A, lda, A_ALONG_K, tile.row, m, p.begin, p.depth),
            operand(B, ldb, B_ALONG_K, tile.column, n, p.begin, p.depth), p.depth);
@     if PARTS == 2 then
    restore(c, m, n, A, lda, B, ldb, tile, p.begin, p.depth);
@     end
@   else
    operand_a a(A, lda, tile.row, m, p.begin, shared);
    operand_b b(B, ldb, tile.column, n, p.begin, shared + B_TILE);
    product(c, shared, a, b, p.depth);
@   end
@ end
@ if SLICEK > 1 then
    add_slices(c, shared);
@ end
  };
  const auto put_part = [&](float (&c)[CM][CN], const part &p) {
@ if partial_sums then
@   local arrivals = STREAM and "of.last - of.first + 1" or "SPLITK"
@   local place = STREAM and "of.place(blockIdx.x)" or "p.tile * SPLITK + blockIdx.y"
@   if STREAM then
    if (p.depth < all) {
      const shares of(parts(m, n, all), p.tile);
@   else
    {
@   end
      if (@{first}) put_partial(c, partials(partial, @{place}));
@   if FINISH == "two_launch" then
      return;
@   else
      constexpr int ARRIVING = LOADS_APART ? MULTIPLIERS : 0;
      if (!is_last_block<ARRIVING>(arrived + p.tile, @{arrivals}) || !(@{first})) return;
#pragma unroll
      for (int r = 0; r < CM * CN; r++) c[r / CN][r % CN] = 0;
      add_partials(c, partial@{STREAM and ", of" or ""});
@   end
    }
@ elseif FINISH == "atomic" and PACK == "no" then
    wait_for_last();
@ end
@ if not (partial_sums and FINISH == "two_launch") then
    if (@{first}) put(c, corner(p.tile, m, n), m, n, alpha, beta, C, ldc, scales, biases);
@ end
  };
  @{each}{
    float c[CM][CN] = {};
    multiply_part(c, p);
@ if STREAM then
    parts(m, n, all).find(i, p);
@ end
    put_part(c, p);
@ if STREAM and not LOADS_APART then
    __syncthreads();  // the next part's tiles go where this one's were
@ end
  }
}
@ end
@ end
@ if SPLITK > 1 and FINISH == "two_launch" then

extern "C" __global__ void __launch_bounds__(GROUP)
sgemm_finish(int m, int n, float alpha, float beta, float *C, long long ldc, const float *scales,
             const float *biases, float *partial) {
  float sum[CM][CN] = {};
  wait_for_last();
  add_partials(sum, partial);
  put(sum, corner(blockIdx.x, m, n), m, n, alpha, beta, C, ldc, scales, biases);
}
@ end
@ if FINISH == "atomic" then

extern "C" __global__ void sgemm_scale(int m, int n, float beta, float *C, long long ldc) {
  let_next_start();
  const int row = blockIdx.x * 256 + threadIdx.x;
  if (row >= m) return;
  for (int column = blockIdx.y; column < n; column += gridDim.y) {
    float *to = C + row + column * ldc;
    *to = beta == 0 ? 0 : beta * *to;
  }
}
@ end
@ if PACK ~= "no" then

// 32 x 32 of a matrix to rows of `width` elements along its `rows`, one row an element along k.
template <bool ALONG_K>
__device__ __forceinline__ void pack(const float *from, long long ld, int rows, int k, unsigned tile,
                                     float *to) {
  __shared__ float square[32][33];
  const unsigned across = (unsigned)(rows + 31) / 32, x = threadIdx.x % 32, y = threadIdx.x / 32;
  const int row = (int)(tile % across * 32), depth = (int)(tile / across * 32);
  const long long width = (rows + 3LL) / 4 * 4;
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    const int r = row + (ALONG_K ? y + i : x), p = depth + (ALONG_K ? x : y + i);
    if (r < rows && p < k) {
      const float v = from[ALONG_K ? p + r * ld : r + p * ld];
      if (ALONG_K) {
        square[y + i][x] = v;
      } else {
        to[r + p * width] = v;
      }
    }
  }
  if (!ALONG_K) return;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    const int r = row + x, p = depth + y + i;
    if (r < rows && p < k) to[r + p * width] = square[x][y + i];
  }
}

extern "C" __global__ void __launch_bounds__(256)
sgemm_pack(int m, int n, int k, const float *A, long long lda, const float *B, long long ldb,
           float *packed_a, float *packed_b) {
  const unsigned a_tiles = A_PACKED ? ((k + 31u) / 32) * ((m + 31u) / 32) : 0;
  let_next_start();
  if (blockIdx.x < a_tiles) {
    pack<@{ta == "t"}>(A, lda, m, k, blockIdx.x, packed_a);
  } else {
    pack<@{tb == "n"}>(B, ldb, n, k, blockIdx.x - a_tiles, packed_b);
  }
}
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
__device__ __forceinline__ float widen(float v) { return v; }
@include "epilogue.cuh"

using element = float;
using output = float;
using scalar = float;

__device__ void put(double sum, float alpha, float beta, long long i, long long j, float *c,
                    const float *scales, const float *biases) {
  const double v = beta == 0 ? alpha * sum : alpha * sum + (double)beta * *c;
  *c = (float)epilogue(v, i, j, scales, biases);
}

@include "reference_product.cuh"
]],
  },

  cases = {
    {},
    { alpha = -0.75, beta = 0.5 },
    { lda = "roundup(max(1, " .. A_EXTENT .. "), align_a) + align_a",
      ldb = "roundup(max(1, " .. B_EXTENT .. "), align_b) + 3 * align_b",
      ldc = "roundup(max(1, m), align) + 2 * align", beta = -1 },
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
  bytes = "4 * (m * k + k * n + m * n)",

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
