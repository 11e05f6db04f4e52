-- copy: y = x, or every element of y = value: the bandwidth that all else is measured against.
--
-- The kernel moves words of WIDTH bytes, whatever the elements are. Each block takes one tile
-- (BLOCKS 0), or BLOCKS of them per multiprocessor stride over all tiles. Where x and y are not aligned to 16 bytes,
-- ALIGN=y still moves words of 16: it begins at y's first aligned word and shifts the bytes of x into place.

local TOTAL = "(n * size)" -- bytes
local GRID = "sel(BLOCKS == 0, ceildiv(" .. TOTAL .. ", WIDTH * TILE), "
  .. "min(max(1, BLOCKS) * dev_sms, ceildiv(" .. TOTAL .. ", WIDTH * TILE)))"

-- For sizes without a tuned result: the widest words, one per thread. An H200 starts some 830 blocks a microsecond, so
-- what only writes needs large ones.
local SUGGESTED = {}
for _, align in ipairs { "both", "y" } do
  SUGGESTED[#SUGGESTED + 1] = { when = "op == 'fill' and n * size >= 2^26", BLOCK = 1024, BLOCKS = 0, WIDTH = 16,
    COARSE = 1, ALIGN = align, STORE = "streaming" }
  SUGGESTED[#SUGGESTED + 1] = { when = "op == 'copy'", BLOCK = 256, BLOCKS = 0, WIDTH = 16, COARSE = 1,
    ALIGN = align, LOAD = "constant", STORE = "second" }
  SUGGESTED[#SUGGESTED + 1] = { when = "op == 'fill'", BLOCK = 256, BLOCKS = 0, WIDTH = 16, COARSE = 1,
    ALIGN = align, STORE = "second" }
end

return {
  name = "copy",
  version = 1,
  brief = "copies n elements, or sets them to a value",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 6",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "elements" },
    { "size", { 4, 1, 2, 8, 16 }, default = 4, brief = "bytes of an element" },
    { "op", { "copy", "fill" }, default = "copy", brief = "from x, or with the value" },
    { "align", { 16, 8, 4, 2, 1 }, default = 16, brief = "bytes that x and y are aligned to" },
  },

  args = {
    { "n", "i64", value = "n" },
    -- As many bytes of it as an element has; elements of 16 bytes have it twice.
    { "value", "u64", sample = 1234605616436508552 }, -- 0x1122334455667788
    { "x", "u8", "in", count = "sel(op == 'copy', n * size, 0)", fill = { "uniform", 0, 255 },
      shift = "sel(align < 16, align, 0)" },
    { "y", "u8", "out", count = "n * size", shift = "sel(align == 8, 0, sel(align < 8, 3 * align, 0))" },
  },

  call = { "op", "size", "n", "value", "x", "y", align = "min(pow2div(x, 16), pow2div(y, 16))" },

  space = {
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "BLOCKS", { 0, 1, 2, 4, 8, 16, 32 }, "blocks per multiprocessor; 0: one per tile" },
    { "WIDTH", { 1, 2, 4, 8, 16 }, "bytes per load and store" },
    { "COARSE", { 1, 2, 4, 8, 16 }, "coarsening factor: words per thread and step" },
    { "ALIGN", { "both", "y" }, "whose alignment limits words: that of x and y, or none; y's words are aligned" },
    { "ORDER", { "interleaved", "contiguous" },
      "a thread's words: BLOCK apart, or one beside the other" },
    { "LOAD", { "plain", "constant", "second", "streaming" }, "cache operator of loads" },
    { "STORE", { "plain", "second", "streaming" }, "cache operator of stores" },
  },

  derive = {
    { "SIZE", "size" },
    { "TILE", "BLOCK * COARSE" }, -- words
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "BLOCKS blocks exceed the threads of a multiprocessor",
      "BLOCK * BLOCKS <= dev_threads_sm or BLOCKS <= 1" },
    { "x and y are not aligned to WIDTH bytes", "WIDTH <= align or ALIGN == 'y'" },
    { "ALIGN=y needs words of 16 bytes, and x or y not aligned to them",
      "ALIGN == 'both' or WIDTH == 16 and align < 16" },
    { "BLOCKS == 0 needs more blocks than a grid may have",
      "BLOCKS > 0 or n * size < 2^31 * WIDTH * TILE" },
    { "ORDER makes a difference only with COARSE > 1", "COARSE > 1 or ORDER == 'interleaved'" },
    { "LOAD makes a difference only with op=copy", "op == 'copy' or LOAD == 'plain'" },
  },

  default = { BLOCK = 256, BLOCKS = 8, WIDTH = 1, COARSE = 4, ALIGN = "both", ORDER = "interleaved",
    LOAD = "plain", STORE = "plain" },
  base = { { BLOCKS = 4 } }, -- the same image, where a multiprocessor has 1536 threads
  untuned = SUGGESTED,

  stages = {
    { kernel = "copy", grid = GRID, block = "BLOCK", early = "EARLY", args = { "n", "value", "x", "y" } },
  },

  source = "copy.cu",

  -- One thread per byte, in steps of the grid.
  reference = {
    stages = {
      { kernel = "reference", grid = "min(65536, ceildiv(n * size, 256))", block = 256,
        args = { "n", "value", "x", "y" } },
    },
    source = [[
extern "C" __global__ void reference(long long n, unsigned long long value,
                                     const unsigned char *x, unsigned char *y) {
  const long long nbytes = n * @{size};
  for (long long i = blockIdx.x * 256 + threadIdx.x; i < nbytes; i += gridDim.x * 256) {
@ if op == "copy" then
    y[i] = x[i];
@ else
    y[i] = (unsigned char)(value >> i % @{math.min(size, 8)} * 8);
@ end
  }
}
]],
  },

  cases = { {}, { value = 0 } },

  tolerance = { abs = 0, rel = 0 },

  flops = 0,
  bytes = "n * size * sel(op == 'copy', 2, 1)",

  sizes = {
    emu = { "n=1000", "n=0", "n=1 size=1", "n=5003 size=1 align=4", "n=777 size=2 op=fill align=8",
      "n=501 size=16 op=fill align=2", "n=1500 size=8", "n=3001 size=1 op=fill" },
    test = { "n=0", "n=1", "n=1027 size=1", "n=65537 size=2", "n=1000003 align=4", "n=2^22 size=16",
      "n=1000001 op=fill", "n=1000001 op=fill size=16", "n=3000001 op=fill size=1" },
    bench = { "n=2^16", "n=2^20", "n=2^24", "n=2^28", "n=2^30 size=1", "n=2^26 size=16",
      "n=2^28 op=fill" },
  },
}
