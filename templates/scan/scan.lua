-- scan: all prefix sums, products, maxima or minima of n numbers; inclusive or exclusive.
--
-- Every block scans a tile: each thread scans its own ITEMS numbers in registers (with one per thread this is
-- the textbook's section scan, with more its coarsened, three-phase scan), then the threads' totals
-- are scanned across the block (SECTION). ALG says how a tile gets the sum of the tiles before it:
--   one_block     a single block scans tile after tile
--   three_launch  tiles are scanned, then the tiles' totals, then these are added to the tiles
--   reduce_scan   the same with less traffic: totals first, and only then are the tiles scanned
--   chained       in one launch: a tile waits for the prefix of its predecessor
--   lookback      in one launch: a warp sums up totals of predecessors, 32 at a time, back to the
--                 nearest tile that has published its prefix
--   gather        in one launch: every block sums up the totals of all tiles before it
--   pipelined     the same by blocks that process several tiles: bulk copies fetch tiles ahead,
--                 and a warp sums up only the totals since the block's previous tile
-- In one launch, tiles are numbered in the order in which blocks start, by a counter: a tile waits only for
-- tiles that run already, in whatever order blocks start.

local TILES = "ceildiv(n, TILE)"
-- With ANYWHERE tiles begin up to a vector ahead of the numbers.
local PIPELINED_TILES = "sel(n == 0, 0, ceildiv(n + sel(align < VEC, VEC - 1, 0), TILE))"
local ONE_PASS = "(ALG == 'chained' or ALG == 'lookback' or ALG == 'gather')"
local NBYTES = "sel(dtype == 'i64' or dtype == 'f64', 8, "
  .. "sel(dtype == 'i32' or dtype == 'f32', 4, sel(dtype == 'i8', 1, 2)))"
local HALF = "(dtype == 'f16' or dtype == 'bf16')"
local WHOLE = "(dtype == 'i8' or dtype == 'i16' or dtype == 'i32' or dtype == 'i64')"
local EXACT = "(op == 'max' or op == 'min' or " .. WHOLE .. ")"
local ONE_ORDER = "(reproducible == 'shape' and not " .. EXACT .. ")" -- additions in one order for all sizes
local CHUNK = "max(16, ceildiv(n, 65536))" -- of a thread of the reference

-- Numbers of tests: of products so near to 1 that they stay there, and whole ones that are odd, since a
-- product of even ones is soon 0.
local function bound(sign)
  local near_1 = "1 " .. sign .. " 0.5 / (n + 1)^0.5"
  return "sel(op == 'product', sel(" .. WHOLE .. ", 3, " .. near_1 .. "), 0 " .. sign
    .. " sel(" .. HALF .. ", 0.125, sel(dtype == 'i64', 2^40, 100)))"
end

-- For problems without a tuned result: numbers of `narrow` bytes in vectors of 16 bytes, then any.
local SUGGESTED = {}
local function suggest(condition, config)
  config.when, config.SECTION = condition, "shuffle"
  SUGGESTED[#SUGGESTED + 1] = config
end
for _, narrow in ipairs { 2, 4, 8 } do
  local vec = 16 // narrow
  for _, alg in ipairs { "one_block", "reduce_scan" } do
    local function suggest_order(condition, v)
      suggest("(" .. ONE_ORDER .. " or reproducible == 'run' and not " .. EXACT .. " and n > 2^22) and NARROW == "
          .. narrow .. " and " .. condition,
        { ALG = alg, BLOCK = 256, ITEMS = 16, VEC = v, EXCHANGE = "warp" })
    end
    suggest_order("align >= " .. vec, vec)
    suggest_order("align < " .. vec, 1)
  end
end
for _, narrow in ipairs { 1, 2, 4, 8 } do
  local vec = 16 // narrow
  local aligned = "NARROW == " .. narrow .. " and align >= " .. vec
  suggest(aligned .. " and n <= " .. 1024 * vec,
    { ALG = "one_block", BLOCK = 1024, VEC = vec, ITEMS = vec, EXCHANGE = "none" })
  suggest(aligned .. " and n <= 2^17",
    { ALG = "gather", BLOCK = 128, VEC = vec, ITEMS = 2 * vec, EXCHANGE = "warp" })
  suggest(aligned .. " and n <= 2^22",
    { ALG = "gather", BLOCK = 256, VEC = vec, ITEMS = 5 * vec, EXCHANGE = "warp" })
  suggest(aligned,
    { ALG = "pipelined", BLOCK = 256, VEC = vec, ITEMS = 5 * vec, BLOCKS = 1, LOADS = 3, LAG = 6 })
  suggest(aligned,
    { ALG = "lookback", BLOCK = 256, VEC = vec, ITEMS = math.max(16, 2 * vec), EXCHANGE = "warp" })
end
suggest("n <= 4096", { ALG = "one_block", BLOCK = 512, VEC = 1, ITEMS = 8 })
suggest("n <= 2^17", { ALG = "gather", BLOCK = 128, VEC = 1, ITEMS = 8, EXCHANGE = "warp" })
suggest("n <= 2^22", { ALG = "gather", BLOCK = 384, VEC = 1, ITEMS = 12, EXCHANGE = "warp" })
for _, narrow in ipairs { 1, 2, 4, 8 } do
  local vec = 16 // narrow
  suggest("n > 2^22 and NARROW == " .. narrow,
    { ALG = "pipelined", BLOCK = 256, VEC = vec, ITEMS = 5 * vec, BLOCKS = 1, LOADS = 3, LAG = 6 })
end
suggest("n > 2^22", { ALG = "lookback", BLOCK = 256, VEC = 1, ITEMS = 16, EXCHANGE = "warp" })

-- An algorithm that loads tiles into registers.
local function tiles_in_registers(algorithm, require)
  algorithm.derive = { { "SMEM", "sel(EXCHANGE == 'none', 0, BLOCK * ROW * VEC * NARROW)" } }
  algorithm.require = {
    { "SECTION=brent_kung needs a power of two for BLOCK", "SECTION ~= 'brent_kung' or ispow2(BLOCK)" },
    { "ITEMS > 16 needs SECTION=shuffle or kogge_stone: the scan of a block hardly matters then",
      "ITEMS <= 16 or SECTION == 'shuffle' or SECTION == 'kogge_stone'" },
    { "ITEMS elements exceed 256 bytes of registers per thread", "ITEMS * WIDE <= 256" },
    { "BLOCK * ITEMS elements exceed the registers of a block",
      "BLOCK * (ITEMS * WIDE // 4 + 24) <= dev_regs_block" },
    { "x and y are not aligned to VEC elements", "VEC <= align" },
    { "EXCHANGE needs ITEMS > VEC", "EXCHANGE == 'none' or ITEMS > VEC" },
    { "the tile exceeds the shared memory of a block", "SMEM + 2 * WIDE * BLOCK + 1024 <= dev_smem_block" },
    table.unpack(require),
  }
  return algorithm
end

local SEVERAL_TILES = { "n fits one tile: ALG=one_block does that", "n > TILE" }

local SCAN_TOTALS = { kernel = "scan_totals", grid = "min(n, 1)", block = "BLOCK", args = { { "i64", TILES }, "totals" } }

local ONE_BLOCK = tiles_in_registers({
  source = "scan_one_block.cu",
  stages = {
    { kernel = "scan", grid = "min(n, 1)", block = "BLOCK", smem = "SMEM", early = "EARLY", args = { "n", "x", "y" } },
  },
}, { { "ALG=one_block needs n <= 16 tiles of BLOCK * ITEMS: other multiprocessors are idle", "n <= 16 * TILE" } })

local THREE_LAUNCH = tiles_in_registers({
  source = "scan_three_launch.cu",
  stages = {
    { kernel = "scan_tiles", grid = TILES, block = "BLOCK", smem = "SMEM", args = { "n", "x", "y", "totals" } },
    SCAN_TOTALS,
    { kernel = "scan_add", grid = TILES, block = "BLOCK", args = { "n", "y", "totals" } },
  },
}, { SEVERAL_TILES,
  { "ALG=three_launch rounds sums of f16 and bf16 twice", "not " .. HALF .. " or op ~= 'sum'" } })

local REDUCE_SCAN = tiles_in_registers({
  source = "scan_reduce_scan.cu",
  stages = {
    { kernel = "scan_reduce", grid = TILES, block = "BLOCK", smem = "sel(ONE_ORDER, SMEM, 0)", args = { "n", "x", "totals" } },
    SCAN_TOTALS,
    { kernel = "scan", grid = TILES, block = "BLOCK", smem = "SMEM", args = { "n", "x", "y", "totals" } },
  },
}, {})

local function one_pass(...)
  return tiles_in_registers({
      source = "scan_one_pass.cu",
    stages = {
      { kernel = "scan", grid = TILES, block = "BLOCK", smem = "SMEM", early = "EARLY",
        args = { "n", "x", "y", "words", "counter" } },
    },
  }, { SEVERAL_TILES, ... })
end

local PIPELINED = {
  space = {
    { "BLOCKS", { 1, 2 }, "resident blocks per multiprocessor" },
    { "LOADS", { 1, 2, 3 }, "tiles of a block that are being copied" },
    { "LAG", { 1, 3, 4, 6, 8, 12 }, "tiles whose totals are published before an earlier tile is finished" },
  },
  derive = {
    { "SLOTS", "LAG + LOADS + 2" }, -- tiles of a block in shared memory
    { "SMEM", "SLOTS * TILE * NARROW" },
    { "THREADS", "BLOCK + 64" },
    { "ANYWHERE", "align < VEC" },
  },
  require = {
    { "BLOCK + 64 threads exceed the device's threads per block", "THREADS <= dev_threads_block" },
    { "ALG=pipelined needs compute capability 9.0 for bulk copies", "dev_cc >= 90" },
    { "ALG=pipelined needs VEC elements of 16 bytes for bulk copies", "VEC * NARROW == 16" },
    { "ALG=pipelined needs an odd number of vectors per thread: even ones conflict in banks of shared memory",
      "UNITS % 2 == 1" },
    { "BLOCKS blocks exceed the threads or the shared memory of a multiprocessor",
      "BLOCKS * THREADS <= dev_threads_sm and BLOCKS * (SMEM + 2048 + dev_smem_reserved) <= dev_smem_sm" },
    { "slots for LAG + LOADS + 2 tiles exceed the shared memory of a block",
      "SMEM + 2 * WIDE * BLOCK + 1024 <= dev_smem_block" },
    SEVERAL_TILES,
  },
  default = { BLOCKS = 1, LOADS = 2, LAG = 4 },
  source = "scan_pipeline.cu",
  stages = {
    { kernel = "scan", grid = "min(" .. PIPELINED_TILES .. ", BLOCKS * dev_sms)", block = "THREADS",
      smem = "SMEM", early = "EARLY", args = { "n", "x", "y", "words", "counter" } },
  },
}

return {
  name = "scan",
  version = 1,
  brief = "prefix sums, products, maxima or minima of n numbers",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 11; "
    .. "Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "elements" },
    { "kind", { "inclusive", "exclusive" }, default = "inclusive", like = "inclusive",
      brief = "with or without the element itself; the first exclusive result is the identity" },
    { "op", { "sum", "max", "min", "product" }, default = "sum", like = "sum",
      brief = "sums and products of integers wrap" },
    { "dtype", { "i32", "f32", "i64", "f64", "i8", "i16", "f16", "bf16" }, default = "i32",
      like = { f32 = "i32", f64 = "i64", f16 = "i16", bf16 = "i16" },
      brief = "type of the elements; those of f16 and bf16 are combined in f32" },
    { "align", { 16, 8, 4, 2, 1 }, default = 16, brief = "elements that x and y are aligned to" },
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: also whatever n and the alignment" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n",
      fill = { "uniform", bound("-"), bound("+") },
      shift = "sel(align < 16, align, 0) * (" .. NBYTES .. ")" },
    { "y", "dtype", "out", count = "n", brief = "not x itself",
      shift = "sel(align < 16, 3 * align, 0) * (" .. NBYTES .. ")" },
  },

  call = { "kind", "op", "dtype", "n", "x", "y",
    align = "min(pow2div(x // (" .. NBYTES .. "), 16), pow2div(y // (" .. NBYTES .. "), 16))" },

  space = {
    { "ALG",
      { "one_block", "three_launch", "reduce_scan", "chained", "lookback", "gather", "pipelined" },
      "how a tile gets the sum of the tiles before it: see the top of scan.lua" },
    { "SECTION", { "kogge_stone", "double_buffered", "brent_kung", "shuffle" },
      "how the threads of a block are scanned", when = "ALG ~= 'pipelined'" },
    { "BLOCK", { 64, 128, 192, 256, 384, 512, 1024 }, "threads per block" },
    { "ITEMS", { 1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 22, 24, 28, 32, 36, 40, 44, 48, 56, 64, 80, 112 },
      "coarsening factor: neighbouring elements per thread" },
    { "VEC", { 1, 2, 4, 8, 16 }, "elements per load and store" },
    { "EXCHANGE", { "none", "block", "warp" },
      "threads load their own elements, or exchange them in shared memory for coalesced loads and stores",
      when = "ALG ~= 'pipelined'" },
    { "CACHE", { "plain", "streaming" }, "cache operator of loads and stores", when = "ALG ~= 'pipelined'" },
    { "DELAY", { 0, 32, 128, 512 }, "nanoseconds between two reads of the state of a tile that is waited for",
      when = ONE_PASS },
  },

  derive = {
    { "NARROW", NBYTES }, -- bytes of a number in memory
    { "WIDE", "max(4, NARROW)" }, -- and in registers
    { "TILE", "BLOCK * ITEMS" },
    { "UNITS", "ITEMS // VEC" }, -- vectors per thread
    { "ROW", "UNITS + 1 - UNITS % 2" }, -- odd, so that rows of vectors start in different banks
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "ONE_ORDER", ONE_ORDER },
  },

  require = {
    -- lookback sums up totals back to the nearest prefix that is there already, pipelined those since the block's
    -- previous tile, and which tiles a block gets depends on the others. In the other algorithms a tile's number
    -- determines how the sum before it is added up.
    { "reproducible=run and shape exclude ALG=lookback and pipelined on floating-point sums and products",
      "reproducible == 'any' or " .. EXACT .. " or ALG ~= 'lookback' and ALG ~= 'pipelined'" },
    -- Totals of tiles are scanned by ALG, tiles by SECTION; the first tile has no totals before it.
    { "reproducible=shape needs ALG=reduce_scan, or ALG=one_block where n fits a tile",
      "not ONE_ORDER or ALG == 'reduce_scan' or ALG == 'one_block' and n <= TILE" },
    { "reproducible=shape needs SECTION=shuffle, BLOCK=256 and ITEMS=16",
      "not ONE_ORDER or SECTION == 'shuffle' and BLOCK == 256 and ITEMS == 16" },
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "tiles of BLOCK * ITEMS < 512 need n <= 2^20: a longer chain of them is slow and inaccurate",
      "TILE >= 512 or n <= 2^20" },
    { "VEC elements exceed 16 bytes", "VEC * NARROW <= 16" },
    { "ITEMS is not a multiple of VEC", "ITEMS % VEC == 0" },
  },

  default = { ALG = "reduce_scan", SECTION = "shuffle", BLOCK = 256, ITEMS = 16, VEC = 1,
    EXCHANGE = "block", CACHE = "plain", DELAY = 0 },
  untuned = SUGGESTED,

  workspace = {
    { "totals", "u64", "sel(ALG == 'three_launch' or ALG == 'reduce_scan', " .. TILES .. ", 0)" },
    -- States of tiles (tile_state.cuh): a word for every 4 bytes of a number.
    { "words", "u64", "sel(ALG == 'pipelined', " .. PIPELINED_TILES .. ", sel(" .. ONE_PASS .. ", " .. TILES
      .. ", 0)) * WIDE // 4" },
    { "counter", "u64", "sel(ALG == 'pipelined' or " .. ONE_PASS .. ", 1, 0)" },
  },

  algorithms = {
    one_block = ONE_BLOCK,
    three_launch = THREE_LAUNCH,
    reduce_scan = REDUCE_SCAN,
    chained = one_pass { "ALG=chained needs n <= 2^14 tiles of BLOCK * ITEMS", "n <= 2^14 * TILE" },
    lookback = one_pass(),
    gather = one_pass { "ALG=gather needs n <= 4 * BLOCK tiles of BLOCK * ITEMS: each block reads all totals before its own",
      "n <= 4 * BLOCK * TILE" },
    pipelined = PIPELINED,
  },

  reference = {
    workspace = { { "sums", "u64", "ceildiv(n, " .. CHUNK .. ")" } },
    stages = {
      { kernel = "total", grid = "ceildiv(n, 256 * " .. CHUNK .. ")", block = 256,
        args = { "n", { "i64", CHUNK }, "x", "sums" } },
      { kernel = "exclude", grid = "min(n, 1)", block = 1,
        args = { { "i64", "ceildiv(n, " .. CHUNK .. ")" }, "sums" } },
      { kernel = "reference", grid = "ceildiv(n, 256 * " .. CHUNK .. ")", block = 256,
        args = { "n", { "i64", CHUNK }, "x", "y", "sums" } },
    },
    source = "scan_reference.cu",
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  -- Maxima and integers are exact. Of a sum of numbers uniform in [-h, h], of standard deviation
  -- s = h / sqrt(3), a chain of L additions leaves an error of standard deviation
  -- u s sqrt(n L / 6), since roundings are independent of sign and the sums along a chain a random
  -- walk; the chains of the levels (thread, block, tiles) add up their L. Within a tile, and where
  -- totals are added up by a block or a warp, L is below 128: eight standard deviations are below
  -- 2^5 u h sqrt(n). A chain of tiles has L = n / TILE: eight are 1.9 u h n / sqrt(TILE), with
  -- TILE >= 64 up to n = 2^20 less than u h n / 4, and beyond, with TILE >= 512, than u h n / 8.
  -- h is 100, less than 2^7, or for f16 and bf16 2^-3; u is 2^-24, for f64 2^-53. rel is the last
  -- rounding, and of a product those of its n multiplications, u sqrt(n / 3) at one standard deviation. Products in f16
  -- may become subnormal, where the last rounding is by steps of 2^-24.
  tolerance = {
    abs = "sel(" .. EXACT .. ", 0, sel(op == 'product', sel(dtype == 'f16', 2.0^-24, 0), "
      .. "sel(dtype == 'f64', 2.0^-53, 2.0^-24) * sel(" .. HALF
      .. ", 2.0^-3, 2.0^7) * (32 * n^0.5 + n * sel(n <= 2^20, 0.25, 0.125))))",
    rel = "sel(" .. EXACT .. ", 0, sel(dtype == 'f64', 2.0^-52, sel(dtype == 'bf16', 2.0^-7, "
      .. "sel(dtype == 'f16', 2.0^-10, 2.0^-23)))"
      .. " + sel(op == 'product', sel(dtype == 'f64', 2.0^-50, 2.0^-21) * n^0.5, 0))",
  },

  flops = "n",
  bytes = "2 * n * (" .. NBYTES .. ")",

  sizes = {
    emu = { "n=1000", "n=0", "n=1", "n=5003 kind=exclusive", "n=4096 op=max kind=exclusive",
      "n=2777 dtype=f32 align=1", "n=3001 dtype=i64 kind=exclusive align=2", "n=2500 dtype=f64",
      "n=7001 dtype=i8", "n=3000 dtype=i16 op=max", "n=4100 dtype=f16 kind=exclusive",
      "n=2000 dtype=f16 op=max kind=exclusive", "n=3100 dtype=bf16",
      "n=2100 dtype=i8 op=min kind=exclusive", "n=2050 op=product",
      "n=1900 dtype=f32 op=product kind=exclusive" },
    test = { "n=0", "n=1", "n=31 kind=exclusive", "n=1025 op=max", "n=65537", "n=1000003 align=1",
      "n=1000000 kind=exclusive", "n=2^24", "n=16777215 dtype=f32", "n=4194309 dtype=i64",
      "n=1000001 dtype=f64 kind=exclusive", "n=8388611 dtype=i8", "n=3000001 dtype=i16 op=max",
      "n=2^22 dtype=f16", "n=2^22 dtype=bf16 kind=exclusive", "n=1000003 dtype=f32 op=min",
      "n=1000003 dtype=i64 op=product", "n=2^20 dtype=f64 op=product kind=exclusive",
      "n=1000000 dtype=f16 op=product" },
    bench = { "n=2^12", "n=2^16", "n=2^20", "n=2^24", "n=2^28", "n=2^28 dtype=f32",
      "n=2^28 dtype=i8", "n=2^27 dtype=i64", "n=2^28 dtype=f16" },
  },
}
