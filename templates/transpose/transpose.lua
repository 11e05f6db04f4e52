-- transpose: y = the transpose of x, rows x cols elements, row-major; or each of a batch of them.
--
-- ALG read and write go straight from memory to memory, so that either loads or stores are not coalesced. ALG tile
-- goes through a tile of TM x TN elements in shared memory, in vectors of VEC elements. ALG shifted does so for
-- matrices whose rows are not aligned to vectors: its tiles follow the sectors of y.

local NBYTES = "sel(dtype == 'u8', 1, sel(dtype == 'f16', 2, sel(dtype == 'f32', 4, 8)))"
local SECTOR = "(32 // NBYTES)" -- elements of a sector
local VEC_MOST = "min(align, pow2div(rows, 16), pow2div(cols, 16))"
local TILES = "ceildiv(rows, TM) * ceildiv(cols, TN)"
local SHIFTED_TILES = "min(rows, 1) * ceildiv(rows + " .. SECTOR .. " - 1, max(1, TM - " .. SECTOR .. ")) * "
  .. "ceildiv(cols, max(1, TN - VEC + 1))"

local function stages(tiles, smem)
  return {
    { kernel = "transpose", grid = { tiles, "min(batch, 65535)" }, block = "BLOCK", smem = smem, early = "EARLY",
      args = { "rows", "cols", "batch", "x", "y" } },
  }
end

-- One element at a time.
local DIRECT = {
  require = {
    { "ALG=read and ALG=write need VEC == 1", "VEC == 1" },
    { "TM * TN is not a multiple of BLOCK", "TM * TN % BLOCK == 0" },
    { "TM x TN tiles need more blocks than a grid may have", TILES .. " < 2^31" },
  },
  source = "transpose_direct.cu",
  stages = stages(TILES),
}

local TILE = {
  derive = {
    { "SQUARES", "TM * TN // (VEC * VEC * BLOCK)" }, -- per thread
    { "ROW", "TM // VEC" }, -- vectors in a row of the transposed tile
    { "SMEM", "(TN * ROW + sel(LAYOUT == 'padded', TN // VEC, 0)) * VEC * NBYTES" },
  },
  require = {
    { "VEC does not divide rows, cols and the alignment of x and y", "VEC <= " .. VEC_MOST },
    { "TM * TN is not a multiple of VEC * VEC * BLOCK",
      "TM * TN >= VEC * VEC * BLOCK and TM * TN % (VEC * VEC * BLOCK) == 0" },
    { "the tile exceeds the shared memory of a block", "SMEM <= dev_smem_block" },
    { "TM x TN tiles need more blocks than a grid may have", TILES .. " < 2^31" },
  },
  source = "transpose_tile.cu",
  stages = stages(TILES, "SMEM"),
}

local SHIFTED = {
  space = {
    { "RESIDENT", { 0, 2, 3, 4, 5, 6, 8, 12, 16 },
      "blocks per multiprocessor that a thread's registers are limited for; 0: depends on TM * TN" },
  },
  derive = {
    { "SMEM", "(TN * TM + TN // VEC) * NBYTES" },
    -- An estimate of a thread's registers, and the blocks that they leave room for. Without a bound the
    -- compiler keeps every address in registers.
    { "REGS", "20 + 7 * TM * TN * max(4, NBYTES) // (16 * BLOCK)" },
    { "BLOCKS", "sel(RESIDENT > 0, RESIDENT, max(1, min(dev_threads_sm // BLOCK, "
      .. "dev_regs_sm // (BLOCK * REGS))))" },
  },
  require = {
    { "ALG=shifted needs rows that are not aligned to 16 bytes", VEC_MOST .. " * NBYTES < 16" },
    { "TM and TN are not multiples of the rows and columns of a step of BLOCK threads",
      "BLOCK % max(1, TN // VEC) == 0 and BLOCK % max(1, TM // VEC) == 0 and TM * TN % (VEC * BLOCK) == 0" },
    { "a step of BLOCK threads is not a multiple of VEC rows, or of a sector of columns",
      "BLOCK // max(1, TN // VEC) % VEC == 0 and BLOCK // max(1, TM // VEC) % " .. SECTOR .. " == 0" },
    { "ALG=shifted needs TM of 4 sectors and TN of 4 vectors: their overlap is loaded twice",
      "TM >= 4 * " .. SECTOR .. " and TN >= 4 * VEC" },
    { "the tile exceeds the shared memory of a block", "SMEM <= dev_smem_block" },
    { "RESIDENT blocks exceed the threads of a multiprocessor", "BLOCK * RESIDENT <= dev_threads_sm" },
    { "RESIDENT blocks exceed the registers of a multiprocessor", "RESIDENT == 0 or "
      .. "BLOCK * RESIDENT * (16 + TM * TN * max(4, NBYTES) // (4 * BLOCK)) <= dev_regs_sm" },
    { "RESIDENT makes a difference only if it leaves a thread at most 128 registers",
      "RESIDENT == 0 or BLOCK * RESIDENT * 128 >= dev_regs_sm" },
    { "RESIDENT blocks exceed the shared memory of a multiprocessor",
      "RESIDENT == 0 or RESIDENT * (SMEM + dev_smem_reserved) <= dev_smem_sm" },
    { "TM x TN tiles need more blocks than a grid may have", SHIFTED_TILES .. " < 2^31" },
  },
  default = { RESIDENT = 0 },
  source = "transpose_shifted.cu",
  stages = stages(SHIFTED_TILES, "SMEM"),
}

-- For sizes without a tuned result: vectors as long as sizes and alignment allow, and tiles of 16 to 32 KB
-- in blocks of few threads, several of which fit a multiprocessor.
local SUGGESTED = {}
for _, shape in ipairs { { 1, 16, 128, 64 }, { 1, 8, 128, 128 }, { 1, 4, 64, 128 }, { 2, 8, 64, 64 },
  { 2, 4, 64, 128 }, { 4, 4, 64, 128 }, { 4, 2, 64, 256 }, { 8, 2, 32, 128 } } do
  local nbytes, vec, side, block = table.unpack(shape)
  SUGGESTED[#SUGGESTED + 1] = { when = "NBYTES == " .. nbytes, ALG = "tile", TM = side, TN = side,
    BLOCK = block, VEC = vec, LAYOUT = "padded", LOAD = "streaming", STORE = "streaming" }
end
for _, shape in ipairs { { 2, 8, 256, 32, 128 }, { 2, 8, 32, 256, 128 }, { 4, 4, 128, 32, 128 },
  { 4, 4, 32, 128, 128 } } do -- few columns, few rows
  local nbytes, vec, high, wide, block = table.unpack(shape)
  SUGGESTED[#SUGGESTED + 1] = { when = "NBYTES == " .. nbytes, ALG = "tile", TM = high, TN = wide,
    BLOCK = block, VEC = vec, LAYOUT = "padded", LOAD = "streaming", STORE = "streaming" }
end
for _, shape in ipairs { { 1, 4, 128, 128, 1024 }, { 2, 4, 128, 64, 512 }, { 4, 4, 64, 128, 256 },
  { 8, 2, 64, 32, 256 } } do -- large enough that the overlap of tiles costs little
  local nbytes, vec, high, wide, block = table.unpack(shape)
  SUGGESTED[#SUGGESTED + 1] = { when = "NBYTES == " .. nbytes .. " and rows >= 256 and cols >= 64", ALG = "shifted",
    TM = high, TN = wide, BLOCK = block, VEC = vec, LAYOUT = "plain", RASTER = "down", STORE = "streaming" }
end
SUGGESTED[#SUGGESTED + 1] = { when = "true", ALG = "tile", TM = 32, TN = 32, BLOCK = 256, VEC = 1,
  LAYOUT = "padded" }

return {
  name = "transpose",
  version = 1,
  brief = "transposes matrices",
  cite = "Ruetsch and Micikevicius, Optimizing matrix transpose in CUDA; "
    .. "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 6.1",

  problem = {
    { "rows", 0, 2^31 - 1, default = 4096, brief = "rows of x, columns of y" },
    { "cols", 0, 2^31 - 1, default = "rows", brief = "columns of x, rows of y" },
    { "batch", 1, 2^20, default = 1, brief = "matrices, one behind the other" },
    { "dtype", { "f32", "u8", "f16", "f64" }, default = "f32", brief = "type of the elements" },
    { "align", { 16, 8, 4, 2, 1 }, default = 16, brief = "elements that x and y are aligned to" },
  },

  args = {
    { "rows", "i32", value = "rows" },
    { "cols", "i32", value = "cols" },
    { "batch", "i32", value = "batch" },
    { "x", "dtype", "in", count = "batch * rows * cols",
      fill = { "uniform", "sel(dtype == 'u8', 0, -1000)", "sel(dtype == 'u8', 255, 1000)" },
      shift = "sel(align < 16, align, 0) * (" .. NBYTES .. ")" },
    { "y", "dtype", "out", count = "batch * rows * cols", brief = "not x itself",
      shift = "sel(align < 16, 3 * align, 0) * (" .. NBYTES .. ")" },
  },

  call = { "dtype", "rows", "cols", "batch", "x", "y",
    align = "min(pow2div(x // (" .. NBYTES .. "), 16), pow2div(y // (" .. NBYTES .. "), 16))" },

  space = {
    { "ALG", { "read", "write", "tile", "shifted" },
      "coalesced loads only, coalesced stores only, or both by a tile; shifted: a tile for unaligned rows" },
    { "TM", { 8, 16, 32, 64, 128, 256 }, "rows of x per block" },
    { "TN", { 8, 16, 32, 64, 128, 256 }, "columns of x per block" },
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "VEC", { 1, 2, 4, 8, 16 }, "elements per load and store" },
    { "LAYOUT", { "plain", "padded", "swizzled" }, "of the tile in shared memory" },
    { "RASTER", { "across", "down", "diagonal", "bands" }, "the order in which blocks take tiles" },
    { "LOAD", { "plain", "streaming" }, "cache operator of loads" },
    { "STORE", { "plain", "streaming" }, "cache operator of stores" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "VEC elements exceed 16 bytes", "VEC * NBYTES <= 16" },
    { "TM and TN differ more than eightfold", "TM <= 8 * TN and TN <= 8 * TM" },
    { "TM is at least twice the rows of x", "TM // 2 < max(rows, 32)" },
    { "TN is at least twice the columns of x", "TN // 2 < max(cols, 32)" },
    { "TM * TN elements exceed the registers of BLOCK threads", "TM * TN * NBYTES <= 256 * BLOCK" },
    { "TM or TN elements are less than a sector of 32 bytes",
      "TM * NBYTES >= 32 and TN * NBYTES >= 32 or TM >= 32 and TN >= 32" },
    { "LAYOUT makes a difference only with ALG=tile", "ALG == 'tile' or LAYOUT == 'plain'" },
    { "RASTER makes a difference only with several tiles in both directions",
      "RASTER == 'across' or ceildiv(rows, TM) > 1 and ceildiv(cols, TN) > 1" },
  },

  default = { ALG = "tile", TM = 32, TN = 32, BLOCK = 256, VEC = 1, LAYOUT = "padded",
    RASTER = "across", LOAD = "plain", STORE = "plain" },
  untuned = SUGGESTED,

  algorithms = { read = DIRECT, write = DIRECT, tile = TILE, shifted = SHIFTED },

  -- One thread per element, in steps of the grid.
  reference = {
    stages = {
      { kernel = "reference", grid = "min(65536, ceildiv(batch * rows * cols, 256))", block = 256,
        args = { "rows", "cols", "batch", "x", "y" } },
    },
    source = [[
#include "elements.cuh"

using stored = element<DTYPE>::stored;

extern "C" __global__ void reference(int rows, int cols, int batch, const stored *x, stored *y) {
  const long long one = (long long)rows * cols;
  for (long long i = blockIdx.x * 256 + threadIdx.x; i < batch * one; i += gridDim.x * 256) {
    const long long m = i / one, row = i / cols % rows, column = i % cols;
    y[(m * cols + column) * rows + row] = x[i];
  }
}
]],
  },

  cases = { {} },

  tolerance = { abs = 0, rel = 0 },

  flops = 0,
  bytes = "2 * batch * rows * cols * (" .. NBYTES .. ")",

  sizes = {
    emu = { "rows=64 cols=96", "rows=0 cols=5", "rows=1 cols=70", "rows=33 cols=47 dtype=u8",
      "rows=80 cols=112 dtype=u8", "rows=40 cols=72 batch=3 dtype=f16", "rows=50 cols=36 dtype=f64",
      "rows=257 cols=5 align=1", "rows=131 cols=67" },
    test = { "rows=1 cols=1", "rows=5 cols=0", "rows=1 cols=100003", "rows=1023 cols=1025",
      "rows=1000 cols=1000 dtype=u8", "rows=2048 cols=1024 dtype=f16", "rows=777 cols=555 dtype=f64",
      "rows=100 cols=60 batch=70000 dtype=u8", "rows=100000 cols=32" },
    bench = { "rows=4096", "rows=16384", "rows=16383", "rows=16384 dtype=u8", "rows=16384 dtype=f16",
      "rows=16384 dtype=f64", "rows=1000000 cols=32", "rows=32 cols=1000000",
      "rows=64 cols=3136 batch=256 dtype=f16" },
  },
}
