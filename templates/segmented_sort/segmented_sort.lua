-- segmented_sort: the keys of every segment, or keys with values, in ascending or descending order; stable.
--
-- Segments lie between neighbouring offsets. One launch looks at all of them:
--   a group of lanes sorts a segment of up to GROUP * GROUP_ITEMS keys in its registers,
--   a warp one of up to 32 * WARP_ITEMS,
--   all others go on two lists.
-- In a second launch blocks sort segments of up to a tile (BLOCK * ITEMS) in shared memory by digits, least significant
-- first. The tiles of longer segments form one sequence, so a few long segments occupy the device like many: first
-- their digits of all passes are counted, then each pass moves each tile; tiles look back for how many keys of a digit
-- their segment has before them, as in radix_sort's onesweep.
--
-- Groups and warps sort by Batcher's bitonic network: words of a key and its position, so equal keys keep their order.
-- Keys compare as in radix_sort.
--
-- The least memory traffic is each key and value in and out once, if no segment is longer than a tile.

local KEY = "sel(dtype == 'u8' or dtype == 'i8', 1, sel(dtype == 'u16' or dtype == 'i16' or "
  .. "dtype == 'f16' or dtype == 'bf16', 2, sel(dtype == 'u32' or dtype == 'i32' or "
  .. "dtype == 'f32', 4, 8)))"
local arrays = { "keys_in", "values_in", "keys_out", "values_out" }
local function with(...)
  local all = {}
  for _, list in ipairs({ ... }) do
    for _, entry in ipairs(list) do all[#all + 1] = entry end
  end
  return all
end

-- The reference merges runs of 1, 2, 4, ... keys of a segment, from keys_out to `was` and back, as often as a segment
-- of n keys needs, and ends in keys_out.
local REFERENCE_PASSES = "sel(n <= 1, 0, log2(max(1, n - 1)) + 1)"
local REFERENCE_GRID = "min(65536, ceildiv(n, 256))"
local out, was = { "keys_out", "values_out" }, { "was", "was_values" }
local reference_stages = {
  { kernel = "find_segments", grid = REFERENCE_GRID, block = 256,
    args = { "n", "segments", "offsets", "segment" } },
}
for odd = 0, 1 do
  reference_stages[#reference_stages + 1] = { kernel = "take", grid = REFERENCE_GRID, block = 256,
    when = REFERENCE_PASSES .. " % 2 == " .. odd,
    args = with({ "n", "segment", "keys_in", "values_in" }, odd == 1 and was or out) }
end
for pass = 0, 30 do
  for odd = 0, 1 do
    reference_stages[#reference_stages + 1] = { kernel = "pass", grid = REFERENCE_GRID, block = 256,
      when = REFERENCE_PASSES .. " > " .. pass .. " and (" .. REFERENCE_PASSES .. " - 1 - " .. pass
        .. ") % 2 == " .. odd,
      args = with({ "n", { "i64", 1 << pass }, "offsets", "segment" }, odd == 1 and out or was,
        odd == 1 and was or out) }
  end
end

return {
  name = "segmented_sort",
  version = 1,
  brief = "stable sort of every segment's keys, or of its keys with values",
  cite = "Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs; "
    .. "Batcher, Sorting networks and their applications",

  problem = {
    { "n", 0, 2^31 - 1, default = 2^22, brief = "keys" },
    { "segments", 0, 2^31 - 2, default = "n // 64", brief = "segments; any lengths" },
    { "dtype", { "u32", "i32", "f32", "u64", "i64", "f64", "u16", "i16", "f16", "bf16", "u8", "i8" },
      default = "u32",
      like = { i32 = "u32", f32 = "u32", i64 = "u64", f64 = "u64", i16 = "u16", f16 = "u16", bf16 = "u16", i8 = "u8" },
      brief = "type of the keys" },
    { "value_bytes", { 0, 4, 8 }, default = 0, brief = "bytes of the value of each key; 0: none" },
    { "order", { "ascending", "descending" }, default = "ascending", like = "ascending",
      brief = "equal keys stay in their order" },
    { "words", { 1, 2, 3, 4, 5, 6, 16, 64 }, default = 1, -- of tests and timing
      brief = "random words whose bitwise and is a key; 64: all keys are 0" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "segments", "i64", value = "segments" },
    { "offsets", "i32", "in", count = "segments + 1", fill = { "sorted", 0, "n" },
      brief = "where segments begin, ascending, and where the last ends; keys outside stay unwritten" },
    { "keys_in", "dtype", "in", count = "n", fill = { "bits", "words" } },
    { "values_in", "u32", "in", count = "n * (value_bytes // 4)", fill = { "ramp", 0, 1 },
      brief = "n values of value_bytes" },
    { "keys_out", "dtype", "out", count = "n", brief = "not keys_in itself" },
    { "values_out", "u32", "out", count = "n * (value_bytes // 4)" },
  },

  call = { "dtype", "order", "value_bytes", "n", "segments", "offsets", "keys_in", "keys_out",
    "values_in", "values_out" },
  call_require = {
    { "values of 8 bytes have to be aligned to 8",
      "value_bytes ~= 8 or values_in % 8 == 0 and values_out % 8 == 0" },
  },

  space = {
    { "GROUP", { 4, 8, 16, 32 }, "lanes that sort the shortest segments" },
    { "GROUP_ITEMS", { 1, 2, 4, 8 }, "keys of each of them" },
    { "WARP_ITEMS", { 1, 2, 4, 8, 16 }, "keys per lane where a warp sorts a segment" },
    { "RADIX", { 4, 5, 6, 7, 8 }, "bits of a digit at most" },
    { "BLOCK", { 64, 128, 256, 384, 512, 768, 1024 }, "threads per block" },
    { "ITEMS", { 4, 6, 8, 10, 12, 16, 20, 24, 28, 32 }, "coarsening factor: keys per thread" },
    { "RANK", { "ballot", "ballot_mad", "match", "or" },
      "how a warp finds equal digits: a ballot per bit, inverted by logic or by a multiplication; "
        .. "__match_any_sync; atomics on masks in shared memory" },
    { "COUNTER", { 32, 16 }, "bits of a warp's counters of digits" },
    { "LOOK", { 1, 4, 8 }, "states of tiles that look-back loads at a time" },
    { "RESIDENT", { 1, 2, 3, 4, 6, 8 }, "blocks per multiprocessor that a thread's registers are limited for" },
    { "OVERLAP", { "off", "on" }, "blocks of the second launch start while the last blocks of the first run" },
  },

  derive = {
    { "KEY", KEY }, -- bytes
    { "VALUE", "value_bytes" },
    { "BITS", "8 * KEY" },
    { "PASSES", "ceildiv(BITS, RADIX)" },
    { "DIGIT", "ceildiv(BITS, PASSES)" }, -- bits
    { "BINS", "1 << DIGIT" },
    { "ROW", "max(8, BINS)" }, -- counters of a warp
    { "WARPS", "BLOCK // 32" },
    { "TILE", "BLOCK * ITEMS" },
    { "BINS_THREAD", "ceildiv(BINS, BLOCK)" },
    { "COUNTERS", "WARPS * ROW * (COUNTER // 8 + sel(RANK == 'or', 4, 0))" }, -- bytes
    { "SMEM", "max(COUNTERS, TILE * (KEY + VALUE), 4 * PASSES * BINS)" },
    { "BLOCKS", "dev_sms * RESIDENT" },
    { "LONGS", "n // (TILE + 1)" }, -- segments longer than a tile, at most
    { "TILES", "n // TILE + LONGS" }, -- theirs, at most
    { "REGS", "ITEMS * (max(4, KEY) // 4 + 1 + VALUE // 4) + 20" },
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "a smaller RADIX needs as many passes", "RADIX == DIGIT or RADIX == 8" },
    { "WARP_ITEMS needs 32 * WARP_ITEMS > GROUP * GROUP_ITEMS", "32 * WARP_ITEMS > GROUP * GROUP_ITEMS" },
    { "ITEMS needs BLOCK * ITEMS > 32 * WARP_ITEMS", "TILE > 32 * WARP_ITEMS" },
    { "BLOCK * ITEMS keys are less than two per digit", "TILE >= 2 * BINS" },
    { "COUNTER=16 needs BLOCK * ITEMS < 65536", "COUNTER == 32 or TILE < 65536" },
    { "COUNTER=16 makes a difference only if counters of 32 bits need more memory than a tile",
      "COUNTER == 32 or 4 * WARPS * ROW > TILE * (KEY + VALUE)" },
    { "OVERLAP=on needs compute capability 9.0", "OVERLAP == 'off' or dev_cc >= 90" },
    { "ITEMS keys and values exceed the registers of a thread", "REGS <= 255" },
    { "RESIDENT blocks exceed the registers of a multiprocessor",
      "BLOCK * RESIDENT * REGS <= dev_regs_sm" },
    { "RESIDENT blocks exceed the threads of a multiprocessor", "BLOCK * RESIDENT <= dev_threads_sm" },
    { "the tile or the counters exceed the shared memory of a block", "SMEM + 4096 <= dev_smem_block" },
    { "RESIDENT blocks exceed the shared memory of a multiprocessor",
      "RESIDENT * (SMEM + 4096 + dev_smem_reserved) <= dev_smem_sm" },
  },

  default = { GROUP = 8, GROUP_ITEMS = 4, WARP_ITEMS = 8, RADIX = 8, BLOCK = 256, ITEMS = 8,
    RANK = "ballot", COUNTER = 32, LOOK = 4, RESIDENT = 2, OVERLAP = "off" },
  base = { { GROUP_ITEMS = 2, WARP_ITEMS = 2, ITEMS = 4 } }, -- half the machine code
  -- Eight lanes are for the very short ones.
  untuned = { { when = "n >= 6 * segments", GROUP = 32, GROUP_ITEMS = 2, WARP_ITEMS = 4 } },

  workspace = {
    { "keys_tmp", "u8", "sel(LONGS > 0 and PASSES > 1, n * KEY, 0)" },
    { "values_tmp", "u8", "sel(LONGS > 0 and PASSES > 1, n * VALUE, 0)" },
    { "work", "u32", "6" }, -- struct work
    { "middle", "i32", "min(segments, n // (32 * WARP_ITEMS + 1) + 1)" },
    { "longs", "u64", "LONGS + 1" },
    -- Of each long segment, pass and digit: how many keys, and where they begin.
    { "counts", "u32", "LONGS * PASSES * BINS" },
    { "begins", "u32", "LONGS * PASSES * BINS" },
    { "states", "u64", "TILES * BINS" }, -- of tiles
    { "arrived", "u32", "LONGS + 1" },
    { "done", "u32", "LONGS + 1" }, -- tiles of a long segment, in all passes
  },

  stages = {
    { kernel = "sort_short", block = 256, grid = "ceildiv(segments * GROUP, 256)",
      args = with({ "segments", "offsets" }, arrays, { "work", "middle", "longs" }) },
    { kernel = "sort_long", block = "BLOCK", grid = "min(segments, BLOCKS)", smem = "SMEM",
      overlap = "OVERLAP == 'on'",
      args = with({ "offsets" }, arrays, { "keys_tmp", "values_tmp", "work", "middle", "longs",
        "counts", "begins", "states", "arrived", "done" }) },
  },

  source = "segmented_sort.cu",

  reference = {
    workspace = {
      { "was", "u8", "n * (" .. KEY .. ")" },
      { "was_values", "u8", "n * value_bytes" },
      { "segment", "i32", "n" },
    },
    stages = reference_stages,
    source = "segmented_sort_reference.cu",
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  tolerance = { abs = 0, rel = 0 },

  flops = "n",
  bytes = "2 * n * (" .. KEY .. " + value_bytes)",

  sizes = {
    emu = { "n=3001 segments=40", "n=0 segments=3", "n=500 segments=300 dtype=f32 value_bytes=4",
      "n=9000 segments=3 dtype=i16 order=descending value_bytes=8",
      "n=4000 segments=60 value_bytes=4 words=16" },
    test = { "n=0", "n=1 segments=1", "n=1000 segments=0", "n=100000 segments=30000 value_bytes=4",
      "n=300000 segments=700 dtype=f32 order=descending value_bytes=8",
      "n=500000 segments=20 dtype=i64 value_bytes=4", "n=200003 segments=2000 dtype=u8",
      "n=200000 segments=1 dtype=f64 value_bytes=4", "n=100000 segments=300000 dtype=f16",
      "n=200000 segments=3000 words=16 value_bytes=4", "n=150000 segments=2 words=64 value_bytes=4" },
    bench = { "n=2^22 segments=2^12", "n=2^22 segments=2^16", "n=2^22 segments=2^20",
      "n=2^26 segments=2^12", "n=2^26 segments=2^16", "n=2^26 segments=2^20",
      "n=2^26 segments=16", "n=2^26 segments=2^16 value_bytes=4" },
  },
}
