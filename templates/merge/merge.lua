-- merge: two sorted sequences, a of m keys and b of n, become one, c; keys may have values.
--
-- The merge is stable: of equal keys those of a come first, and each sequence keeps its order. All parts of c are
-- merged in parallel: the co-rank of a place in c says how many keys of a, and so of b, come before it
-- (merge_path.cuh). ALG says how a part is merged:
--   corank      every thread searches and merges in global memory
--   tiled       a block merges a stretch of c in steps; each loads a tile of a and one of b, and merges as many keys
--               as one tile has
--   circular    the same, but keys that were loaded and not merged stay in shared memory
--   merge_path  a block knows where its tile of c starts and ends in a and b, and loads just that (merge_tile.cuh);
--               threads merge serially or in windows (merge_window.cuh), and blocks may be persistent
--               (merge_stream.cuh)
-- merge_order.cuh has the order of keys, and says how to merge by another.

local NBYTES = "sel(dtype == 'i64' or dtype == 'u64' or dtype == 'f64', 8, "
  .. "sel(dtype == 'i8' or dtype == 'u8', 1, sel(dtype == 'i16' or dtype == 'u16', 2, 4)))"
local PARTS = "ceildiv(m + n, STRETCH)" -- of c, one for each block
local ALL_KEYS = "sel(dtype == 'i8' or dtype == 'u8', 256, sel(dtype == 'i16' or dtype == 'u16', 2^16, 2^32))"
local LEAST = "sel(dtype == 'i64' or dtype == 'i32' or dtype == 'i16' or dtype == 'i8', "
  .. "-(keys // 2), sel(dtype == 'f32' or dtype == 'f64', -1000, 0))"
local MOST = "sel(dtype == 'f32' or dtype == 'f64', 1000, " .. LEAST .. " + keys - 1)"

-- For problems without a tuned result, what is fast on an H200: keys aligned to vectors, then any.
local SUGGESTED = { { when = "m + n <= 2^17", ALG = "corank", PARTITION = "thread", BLOCK = 256,
  ITEMS = 2, STORE = "direct" } }
local function suggest(condition, config)
  config.when = condition
  SUGGESTED[#SUGGESTED + 1] = config
end
for _, nbytes in ipairs { 1, 2, 4, 8 } do
  local vec = 16 // nbytes
  local aligned = "dev_cc >= 80 and value == 0 and NBYTES == " .. nbytes .. " and align >= "
  local function suggest_for(most, wide, config)
    config.VEC = math.min(vec, wide)
    suggest(aligned .. config.VEC .. " and m + n <= " .. most, config)
  end
  suggest_for("2^21", 4, { PARTITION = "block", BLOCK = 128, ITEMS = 12, STORE = "block",
    CACHE = "streaming" })
  if nbytes == 1 then
    suggest_for("2^37", 4, { PARTITION = "block", BLOCK = 128, ITEMS = 28, LOADER = "cp_async",
      STORE = "direct", CACHE = "streaming" })
  elseif nbytes <= 4 then
    suggest_for("2^25", 16, { PARTITION = "block", BLOCK = 256, ITEMS = 32, MERGE = "network",
      LOADER = "cp_async", STORE = "warp" })
    suggest_for("2^37 and dev_cc >= 90", 4, { BLOCK = 512, ITEMS = 20, LOADER = "cp_async",
      STORE = "warp", OVERLAP = "on" })
  else
    suggest_for("2^37 and dev_cc >= 90", 2, { BLOCK = 384, ITEMS = 24, LOADER = "cp_async",
      STORE = "warp", OVERLAP = "on" })
  end
end
suggest("m + n <= 2^21", { PARTITION = "block", BLOCK = 128, ITEMS = 9, STORE = "warp" })
suggest("value > 0", { BLOCK = 256, ITEMS = 5 })
suggest("m + n > 2^17", { BLOCK = 256, ITEMS = 15, STORE = "warp" })

local function merge_stage(block, smem, grid, overlap)
  return { kernel = "merge", grid = grid, block = block, smem = smem, overlap = overlap,
    args = { "m", "n", "a", "b", "c", "av", "bv", "cv", "splits" } }
end
local function split_stage()
  return { kernel = "merge_split", when = "PARTITION == 'launch'", block = 128,
    grid = "sel(m + n == 0, 0, ceildiv((" .. PARTS .. " + 1) * SEARCH_LANES, 128))",
    args = { "m", "n", "a", "b", { "i64", PARTS }, "splits" } }
end

local CORANK = {
  require = {
    { "ALG=corank needs PARTITION=thread", "PARTITION == 'thread'" },
    { "ALG=corank needs STORE=direct", "STORE == 'direct'" },
  },
  stages = { merge_stage("BLOCK", 0, PARTS) },
  source = "merge_corank.cu",
}

local TILED = {
  space = { { "TILES", { 1, 2, 4, 8, 16 }, "tiles in a block's part of c" } },
  default = { TILES = 1 },
  derive = { { "SHARED", "2 * TILE * NBYTES" } },
  require = {
    { "PARTITION=thread needs ALG=corank", "PARTITION ~= 'thread'" },
    { "TILES == 1 is ALG=merge_path", "TILES > 1" },
    { "ALG=tiled and circular need STORE=direct: shared memory holds the keys to be merged", "STORE == 'direct'" },
    { "ITEMS < 4 needs m + n <= 2^18: threads mostly search", "ITEMS >= 4 or m + n <= 2^18" },
    { "two tiles exceed the shared memory of a block", "SHARED + 256 <= dev_smem_block" },
  },
  stages = { split_stage(), merge_stage("BLOCK", "SHARED", PARTS) },
  source = "merge_tiled.cu",
}

local MERGE_PATH = {
  space = {
    { "MERGE", { "serial", "network" },
      "how threads merge in shared memory: each its own part serially, or in groups by a bitonic network" },
    { "IMAD_EXCHANGES", { 0, 1, 2 },
      "of every three exchanges, those that compute the larger key by multiply-adds, in another pipe than comparisons",
      when = "MERGE == 'network'" },
    { "VEC", { 1, 2, 4, 8, 16 }, "keys per load and store" },
    { "LOADER", { "register", "cp_async", "bulk" },
      "global to shared memory: through registers, by cp.async, by bulk copies (TMA)" },
    { "STAGES", { 1, 2, 3 },
      "tiles in a block's shared memory; more than one makes blocks persistent, with a warp that loads tiles ahead" },
    { "RESIDENT", { 1, 2, 3, 4, 5, 6, 8 }, "persistent blocks per multiprocessor", when = "STAGES > 1" },
    { "OVERLAP", { "off", "on" }, "let merge start while merge_split ends", when = "PARTITION == 'launch'" },
  },
  default = { MERGE = "serial", IMAD_EXCHANGES = 0, VEC = 1, LOADER = "register", STAGES = 1, RESIDENT = 1,
    OVERLAP = "off" },

  derive = {
    -- The tile's keys, with up to VEC - 1 more at both ends of its parts of a and b.
    { "ROOM", "TILE + 4 * VEC" },
    { "ITEM", "sel(value == 0, NBYTES, 2 * max(2, NBYTES))" }, -- bytes of a key and where it came from
    { "ROWS", "sel(MERGE == 'network', roundup(TILE * ITEM + sel(ITEMS % 2 == 0, "
      .. "ceildiv(TILE * ITEM, 128) * max(4, ITEM), 0), 16), 0)" },
    { "TILE_SMEM", "max(max(ROOM * NBYTES, ROWS), sel(STORE == 'direct', 0, "
      .. "max(BLOCK * ROW * VEC * NBYTES, sel(value > 0, BLOCK * (ITEMS + 1) * 4, 0))))" },
    { "STAGE", "roundup(TILE_SMEM, 128)" },
    { "SHARED", "STAGES * STAGE" },
    { "THREADS", "BLOCK + sel(STAGES > 1, 32, 0)" },
  },

  require = {
    { "PARTITION=thread needs ALG=corank", "PARTITION ~= 'thread'" },
    { "STAGES > 1 needs LOADER=bulk", "STAGES == 1 or LOADER == 'bulk'" },
    { "STAGES > 1 needs BLOCK + 32 threads per block", "STAGES == 1 or BLOCK < dev_threads_block" },
    { "RESIDENT blocks exceed the shared memory, the threads or the registers of a multiprocessor", "STAGES == 1 or "
      .. "RESIDENT * (SHARED + 256 * STAGES + dev_smem_reserved) <= dev_smem_sm and "
      .. "RESIDENT * THREADS <= dev_threads_sm and RESIDENT * THREADS * "
      .. "(ITEMS * max(4, NBYTES) // 4 * sel(value > 0, 2, 1) + 24) <= dev_regs_sm" },
    { "OVERLAP needs compute capability 9.0", "OVERLAP == 'off' or dev_cc >= 90" },
    { "a, b and c are not aligned to VEC keys", "VEC <= align" },
    { "VEC keys exceed 16 bytes", "VEC * NBYTES <= 16" },
    { "ITEMS is not a multiple of VEC", "ITEMS % VEC == 0" },
    { "ITEMS < 4 needs m + n <= 2^18: threads mostly search", "ITEMS >= 4 or m + n <= 2^18" },
    { "LOADER=cp_async needs compute capability 8.0", "LOADER ~= 'cp_async' or dev_cc >= 80" },
    { "LOADER=cp_async needs VEC keys of 4, 8 or 16 bytes", "LOADER ~= 'cp_async' or VEC * NBYTES >= 4" },
    { "LOADER=bulk needs compute capability 9.0", "LOADER ~= 'bulk' or dev_cc >= 90" },
    { "LOADER=bulk needs VEC keys of 16 bytes", "LOADER ~= 'bulk' or VEC * NBYTES == 16" },
    { "IMAD_EXCHANGES needs 4-byte keys without values", "IMAD_EXCHANGES == 0 or value == 0 and NBYTES == 4" },
    { "MERGE=network needs a power of two >= 4 for ITEMS", "MERGE == 'serial' or ispow2(ITEMS) and ITEMS >= 4" },
    { "the tiles exceed the shared memory of a block", "SHARED + 256 * STAGES <= dev_smem_block" },
  },

  stages = {
    split_stage(),
    merge_stage("THREADS", "SHARED", "min(" .. PARTS .. ", sel(STAGES > 1, RESIDENT * dev_sms, 2^31))",
      "OVERLAP == 'on'"),
  },
  source = "merge_path.cu",
}

return {
  name = "merge",
  version = 1,
  brief = "merges two sorted sequences, stable",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 12; "
    .. "Green, McColl, Bader, GPU merge path",

  problem = {
    { "m", 0, 2^36, default = 2^23, brief = "keys of a" },
    { "n", 0, 2^36, default = "m", brief = "keys of b" },
    { "dtype", { "i32", "u32", "i64", "u64", "f32", "f64", "i16", "u16", "i8", "u8" },
      default = "i32", like = { u32 = "i32", f32 = "i32", u64 = "i64", f64 = "i64", u16 = "i16", u8 = "i8" },
      brief = "type of the keys; floats must not be NaN" },
    { "value", { 0, 4, 8 }, default = 0, brief = "bytes of the value of each key" },
    { "align", { 16, 8, 4, 2, 1 }, default = 16, brief = "keys to which a, b and c are aligned" },
    { "keys", 1, 2^32, default = ALL_KEYS,
      brief = "number of different integer keys in tests and timing" },
  },

  args = {
    { "m", "i64", value = "m" },
    { "n", "i64", value = "n" },
    { "a", "dtype", "in", count = "m", fill = { "sorted", LEAST, MOST },
      shift = "sel(align < 16, align, 0) * (" .. NBYTES .. ")" },
    { "b", "dtype", "in", count = "n", fill = { "sorted", LEAST, MOST } },
    { "c", "dtype", "out", count = "m + n",
      shift = "sel(align < 16, 3 * align, 0) * (" .. NBYTES .. ")" },
    { "av", "u8", "in", count = "m * value", fill = { "uniform", 0, 255 }, brief = "values of a" },
    { "bv", "u8", "in", count = "n * value", fill = { "uniform", 0, 255 }, brief = "values of b" },
    { "cv", "u8", "out", count = "(m + n) * value", brief = "values of c" },
  },

  call = { "dtype", "value", "m", "n", "a", "av", "b", "bv", "c", "cv",
    align = "min(min(pow2div(a // (" .. NBYTES .. "), 16), pow2div(b // (" .. NBYTES .. "), 16)), "
      .. "pow2div(c // (" .. NBYTES .. "), 16))",
    keys = ALL_KEYS },
  call_require = {
    { "values have to be aligned to their size",
      "value == 0 or av % max(1, value) == 0 and bv % max(1, value) == 0 and cv % max(1, value) == 0" },
  },

  space = {
    { "ALG", { "corank", "tiled", "circular", "merge_path" }, "how a part of c is merged: see the top of merge.lua" },
    { "PARTITION", { "launch", "block", "thread" },
      "what finds the co-ranks of parts: a launch before, two warps of the block, or each thread" },
    { "SEARCH_LANES", { 1, 4, 8, 32 },
      "lanes per search of PARTITION=launch: more make fewer dependent loads, but more loads",
      when = "PARTITION == 'launch'" },
    { "BLOCK", { 64, 128, 192, 256, 384, 512, 1024 }, "threads per block" },
    { "ITEMS", { 1, 2, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 28, 32 },
      "coarsening factor: keys of c per thread and tile" },
    { "STORE", { "direct", "block", "warp" },
      "threads store their own keys, or exchange them in a block's or a warp's shared memory for coalesced stores" },
    { "CACHE", { "plain", "streaming" }, "cache operator of stores to c" },
  },
  order = { "ALG", "PARTITION", "SEARCH_LANES", "BLOCK", "ITEMS", "TILES", "MERGE", "IMAD_EXCHANGES", "VEC", "LOADER",
    "STAGES", "RESIDENT", "STORE", "CACHE", "OVERLAP" },

  derive = {
    { "NBYTES", NBYTES },
    { "VALUE", "value" },
    { "TILE", "BLOCK * ITEMS" },
    { "STRETCH", "TILE * TILES" }, -- keys of c per block
    { "UNITS", "ITEMS // VEC" }, -- vectors of c per thread and tile
    { "ROW", "UNITS + 1 - UNITS % 2" }, -- odd, so that rows of vectors start in different banks
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "ITEMS keys exceed 192 bytes of registers per thread", "ITEMS * max(4, NBYTES) <= 192" },
    { "BLOCK * ITEMS keys exceed the registers of a block",
      "BLOCK * (ITEMS * max(4, NBYTES) // 4 * sel(value > 0, 2, 1) + 28) <= dev_regs_block" },
    { "more parts of c than a grid may have blocks", PARTS .. " < 2^31" },
  },

  default = { ALG = "merge_path", PARTITION = "launch", SEARCH_LANES = 1, BLOCK = 256, ITEMS = 8, STORE = "block",
    CACHE = "plain" },
  untuned = SUGGESTED,

  workspace = {
    { "splits", "i64", "sel(PARTITION == 'launch', " .. PARTS .. " + 1, 0)" },
  },

  algorithms = { corank = CORANK, tiled = TILED, circular = TILED, merge_path = MERGE_PATH },

  reference = {
    stages = {
      { kernel = "reference", grid = "min(65536, ceildiv(m + n, 256))", block = 256,
        args = { "m", "n", "a", "b", "c", "av", "bv", "cv" } },
    },
    source = "merge_reference.cu",
  },

  cases = { {} },

  tolerance = { abs = 0, rel = 0 },

  flops = "m + n",
  bytes = "2 * (m + n) * (" .. NBYTES .. " + value)",

  kinds = { "sorted,equal,small", when = "keys == " .. ALL_KEYS },

  sizes = {
    emu = { "m=1000", "m=0 n=700", "m=1111 n=2222 keys=50 value=4 align=1",
      "m=2000 n=900 dtype=f64 value=8 align=2", "m=5000 n=3000 dtype=u8" },
    test = { "m=0 n=0", "m=1 n=0", "m=1 n=1", "m=65537 n=1000", "m=1000003 n=999999 align=1",
      "m=3000000 n=17 keys=3", "m=2^22 dtype=f32", "m=2^20 n=2^21 value=4 keys=1000",
      "m=1500000 n=1500001 dtype=u64 value=8 keys=5", "m=2^22 dtype=i8", "m=2^21 n=2^20 dtype=u16",
      "m=2^21 dtype=f64" },
    bench = { "m=2^15", "m=2^19", "m=2^23", "m=2^26", "m=2^26 dtype=f32", "m=2^27 dtype=i64",
      "m=2^27 dtype=i8", "m=2^25 value=4", "m=2^24 n=50331648" },
  },
}
