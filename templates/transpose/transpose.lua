-- transpose: y = the transpose of x, rows x cols elements, row-major; or each of a batch of them.
--
-- Without a tile (ALG read and write) either loads or stores of a warp are far apart. With one,
-- both are in order: a block loads TM x TN elements, turns them in shared memory and stores them.
-- A thread takes little squares of VEC x VEC elements: VEC vectors along the rows of x that it
-- turns in registers into VEC vectors along the rows of y; shared memory holds vectors.
--
-- Where rows are of an odd number of elements they begin anywhere within a vector. There (ALG shifted) a
-- block loads all vectors that lie in TM x TN elements in part, and stores of every row of y what begins
-- with a sector and ends with one: all stores are of whole vectors, no sector is written in two parts,
-- and tiles overlap by some rows and columns of x.

local SECTOR = "(32 // NBYTES)" -- elements of a sector
local TILES = "sel(ALG == 'shifted', min(rows, 1) * ceildiv(rows + " .. SECTOR .. " - 1, "
  .. "max(1, TM - " .. SECTOR .. ")) * ceildiv(cols, max(1, TN - VEC + 1)), "
  .. "ceildiv(rows, TM) * ceildiv(cols, TN))"
local NBYTES = "sel(dtype == 'u8', 1, sel(dtype == 'f16', 2, sel(dtype == 'f32', 4, 8)))"
local VEC_MOST = "min(align, pow2div(rows, 16), pow2div(cols, 16))"

-- For problems that nobody tuned: vectors as long as sizes and alignment allow, and tiles of 16 to 32 KB
-- by blocks of few threads, of which a multiprocessor has several.
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
  { 8, 2, 64, 32, 256 } } do -- rows that begin anywhere; of a size to make up for what is loaded twice
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
      fill = { "uniform", "sel(dtype == 'u8', 0, -1000)", "sel(dtype == 'u8', 255, 1000)" } },
    { "y", "dtype", "out", count = "batch * rows * cols", brief = "not x itself" },
  },

  call = { "dtype", "rows", "cols", "batch", "x", "y",
    align = "min(pow2div(x // (" .. NBYTES .. "), 16), pow2div(y // (" .. NBYTES .. "), 16))" },

  space = {
    { "ALG", { "read", "write", "tile", "shifted" },
      "what is in order: loads, stores, or by a tile both; shifted: to where rows of y begin" },
    { "TM", { 8, 16, 32, 64, 128, 256 }, "rows of x per block" },
    { "TN", { 8, 16, 32, 64, 128, 256 }, "columns of x per block" },
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "VEC", { 1, 2, 4, 8, 16 }, "elements per load and store" },
    { "LAYOUT", { "plain", "padded", "swizzled" }, "of the tile in shared memory" },
    { "RASTER", { "across", "down", "diagonal", "bands" }, "the order of tiles" },
    { "LOAD", { "plain", "streaming" }, "cache operator of loads" },
    { "STORE", { "plain", "streaming" }, "cache operator of stores" },
    { "RESIDENT", { 0, 2, 3, 4, 5, 6, 8, 12, 16 }, "blocks a multiprocessor has registers for; 0: as many "
      .. "as need not store any elsewhere", when = "ALG == 'shifted'" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "SQUARES", "TM * TN // (VEC * VEC * BLOCK)" }, -- of a thread
    { "ROW", "TM // VEC" }, -- vectors in a row of the turned tile
    { "PADS", "sel(LAYOUT == 'padded', TN // VEC, 0)" }, -- vectors between rows
    { "SMEM", "sel(ALG == 'tile', (TN * ROW + PADS) * VEC * NBYTES, "
      .. "sel(ALG == 'shifted', (TN * TM + TN // VEC) * NBYTES, 0))" },
    -- Registers for a thread's elements and some more, and how many blocks have them. Left to itself the
    -- compiler keeps every address.
    { "REGS", "20 + 7 * TM * TN * max(4, NBYTES) // (16 * BLOCK)" },
    { "BLOCKS", "sel(RESIDENT > 0, RESIDENT, max(1, min(dev_threads_sm // BLOCK, "
      .. "dev_regs_sm // (BLOCK * REGS))))" },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel ahead ends
  },

  require = {
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "vectors wider than the alignment or across an edge", "VEC <= " .. VEC_MOST .. " or ALG == 'shifted'" },
    { "vectors of more than 16 bytes", "VEC * NBYTES <= 16" },
    { "vectors need a tile to turn in", "VEC == 1 or ALG == 'tile' or ALG == 'shifted'" },
    { "a tile is no whole number of squares a thread",
      "TM * TN >= VEC * VEC * BLOCK and TM * TN % (VEC * VEC * BLOCK) == 0 or ALG == 'shifted'" },
    { "a shifted tile is no whole number of rows or columns a step",
      "BLOCK % max(1, TN // VEC) == 0 and BLOCK % max(1, TM // VEC) == 0 and TM * TN % (VEC * BLOCK) == 0 "
        .. "or ALG ~= 'shifted'" },
    { "rows of a shifted tile's steps begin elsewhere in a vector or sector",
      "BLOCK // max(1, TN // VEC) % VEC == 0 and BLOCK // max(1, TM // VEC) % " .. SECTOR .. " == 0 "
        .. "or ALG ~= 'shifted'" },
    { "more than a quarter of a shifted tile would be loaded twice",
      "TM >= 4 * " .. SECTOR .. " and TN >= 4 * VEC or ALG ~= 'shifted'" },
    { "rows that begin with vectors need no shift",
      VEC_MOST .. " * NBYTES < 16 or ALG ~= 'shifted'" },
    { "a tile's sides differ more than eightfold", "TM <= 8 * TN and TN <= 8 * TM" },
    { "the tile is more than twice as high as x", "TM // 2 < max(rows, 32)" },
    { "the tile is more than twice as wide as x", "TN // 2 < max(cols, 32)" },
    { "a thread's elements exceed the registers", "TM * TN * NBYTES <= 256 * BLOCK" },
    { "what is in order is shorter than a sector", "TM * NBYTES >= 32 and TN * NBYTES >= 32 "
      .. "or TM >= 32 and TN >= 32" },
    { "without a tile there is no layout", "ALG == 'tile' or LAYOUT == 'plain'" },
    { "so few tiles have no order",
      "RASTER == 'across' or ceildiv(rows, TM) > 1 and ceildiv(cols, TN) > 1" },
    { "more shared memory than a block may have", "SMEM <= dev_smem_block" },
    { "that many blocks exceed a multiprocessor's threads", "BLOCK * RESIDENT <= dev_threads_sm" },
    { "that many blocks exceed a multiprocessor's registers", "RESIDENT == 0 or "
      .. "BLOCK * RESIDENT * (16 + TM * TN * max(4, NBYTES) // (4 * BLOCK)) <= dev_regs_sm" },
    { "so few blocks need no bound", "RESIDENT == 0 or BLOCK * RESIDENT * 128 >= dev_regs_sm" },
    { "that many blocks exceed a multiprocessor's shared memory",
      "RESIDENT == 0 or RESIDENT * (SMEM + dev_smem_reserved) <= dev_smem_sm" },
    { "more tiles than a grid may have", TILES .. " < 2^31" },
  },

  default = { ALG = "tile", TM = 32, TN = 32, BLOCK = 256, VEC = 1, LAYOUT = "padded",
    RASTER = "across", LOAD = "plain", STORE = "plain", RESIDENT = 0 },
  untuned = SUGGESTED,

  stages = {
    { kernel = "transpose", grid = { TILES, "min(batch, 65535)" }, block = "BLOCK", smem = "SMEM",
      early = "EARLY", args = { "rows", "cols", "batch", "x", "y" } },
  },

  source = [[
@ local types = { u8 = "unsigned char", f16 = "unsigned short", f32 = "unsigned", f64 = "uint2" }
@include "pdl.cuh"
@include "words.cuh"

using element = @{types[dtype]};  // bits

struct alignas(VEC * sizeof(element)) vector {
  element e[VEC];
};

@ if ALG == "tile" and VEC * NBYTES >= 4 and VEC > 1 then
// The rows of a square, in words.
union square {
  vector row[VEC];
  unsigned word[VEC][VEC * NBYTES / 4];

  // By halves: what is above the diagonal changes places with what is below, for squares within the
  // square of ever half the size; from a word on downwards in bytes of a pair of words.
  __device__ __forceinline__ void turn() {
#pragma unroll
    for (int half = VEC / 2; half > 0; half /= 2) {
#pragma unroll
      for (int a = 0; a < VEC; a++) {
        if (a & half) continue;
#pragma unroll
        for (int j = 0; j < VEC * NBYTES / 4; j++) swap(a, a + half, j, half * NBYTES);
      }
    }
  }

  __device__ __forceinline__ void swap(int a, int b, int j, int nbytes) {
    const int far = j + nbytes / 4;
    if (nbytes >= 4 && j & nbytes / 4) return;
    const unsigned above = word[a][far], below = word[b][j];
    if (nbytes >= 4) {
      word[a][far] = below;
      word[b][j] = above;
    } else {
      word[a][j] = __byte_perm(above, below, nbytes == 2 ? 0x5410 : 0x6240);
      word[b][j] = __byte_perm(above, below, nbytes == 2 ? 0x7632 : 0x7351);
    }
  }
};
@ else
struct square {
  vector row[VEC];

  __device__ __forceinline__ void turn() {
#pragma unroll
    for (int a = 1; a < VEC; a++) {
#pragma unroll
      for (int b = 0; b < a; b++) {
        const element v = row[a].e[b];
        row[a].e[b] = row[b].e[a];
        row[b].e[a] = v;
      }
    }
  }
};
@ end

@ if ALG == "shifted" then
constexpr int SECTOR = 32 / NBYTES, MORE = SECTOR - 1;  // elements; rows of x before a tile's own
constexpr int DOWN = TM - SECTOR, ALONG = TN - VEC + 1;  // from tile to tile
@ else
constexpr int MORE = 0, DOWN = TM, ALONG = TN;
@ end

struct corner {  // of the block's tile in x
  int row, column;

  __device__ corner(int rows, int cols) {
    const unsigned high = (unsigned)(rows - 1 + MORE) / DOWN + 1;
    const unsigned wide = (unsigned)(cols - 1) / ALONG + 1;
    const unsigned t = blockIdx.x;
@ if RASTER == "across" then
    const unsigned r = t / wide, c = t % wide;
@ elseif RASTER == "down" then
    const unsigned r = t % high, c = t / high;
@ elseif RASTER == "diagonal" then
    const unsigned r = t % high, c = (t / high + r) % wide;
@ else  -- bands of 8 rows of tiles, down within a band first
    const unsigned band = t / (8 * wide) * 8, in = t % (8 * wide);
    const unsigned height = min(high - band, 8u);
    const unsigned r = band + in % height, c = in / height;
@ end
    row = (int)r * DOWN - MORE;
    column = (int)c * ALONG;
  }
};

@ if ALG == "tile" then
// Where vector r of row c of the turned tile lies in shared memory. Threads that write next to each
// other write the same r of rows VEC apart: these have to be in different banks.
__device__ __forceinline__ int place(int c, int r) {
@   if LAYOUT == "plain" then
  return c * ROW + r;
@   elseif LAYOUT == "padded" then
  return c * ROW + c / VEC + r;
@   else
  return c * ROW + (r ^ c / VEC % ROW);
@   end
}

// Squares of this thread, from x to registers.
__device__ __forceinline__ void load(square (&v)[SQUARES], const element *x, int rows, int cols,
                                     corner tile) {
#pragma unroll
  for (int s = 0; s < SQUARES; s++) {
    const int i = s * BLOCK + threadIdx.x;
    const int row = tile.row + i / (TN / VEC) * VEC, column = tile.column + i % (TN / VEC) * VEC;
    if (row < rows && column < cols) {
#pragma unroll
      for (int a = 0; a < VEC; a++) {
        v[s].row[a] = load_@{LOAD}(
            reinterpret_cast<const vector *>(x + (long long)(row + a) * cols + column));
      }
    }
  }
}

// Turned, to shared memory; squares outside of x are not written, and not read later.
__device__ __forceinline__ void turn(square (&v)[SQUARES], vector *shared, int rows,
                                     int cols, corner tile) {
#pragma unroll
  for (int s = 0; s < SQUARES; s++) {
    const int i = s * BLOCK + threadIdx.x;
    const int r = i / (TN / VEC), c = i % (TN / VEC) * VEC;
    if (tile.row + r * VEC < rows && tile.column + c < cols) {
      v[s].turn();
#pragma unroll
      for (int b = 0; b < VEC; b++) store_plain(shared + place(c + b, r), v[s].row[b]);
    }
  }
}

__device__ __forceinline__ void store(const vector *shared, element *y, int rows, int cols,
                                      corner tile) {
#pragma unroll
  for (int s = 0; s < SQUARES * VEC; s++) {
    const int i = s * BLOCK + threadIdx.x, c = i / ROW, r = i % ROW;
    const int row = tile.row + r * VEC, column = tile.column + c;
    if (row < rows && column < cols) {
      store_@{STORE}(reinterpret_cast<vector *>(y + (long long)column * rows + row),
                   load_plain(shared + place(c, r)));
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
transpose(int rows, int cols, int batch, const element *__restrict__ x,
          element *__restrict__ y) {
  extern __shared__ __align__(16) unsigned char tile_memory[];
  vector *shared = reinterpret_cast<vector *>(tile_memory);
  const corner tile(rows, cols);
  x += pdl_wait();
  for (long long m = blockIdx.y; m < batch; m += gridDim.y) {
    const long long matrix = m * rows * cols;
    square v[SQUARES];
    load(v, x + matrix, rows, cols, tile);
    turn(v, shared, rows, cols, tile);
    __syncthreads();
    store(shared, y + matrix, rows, cols, tile);
    __syncthreads();
  }
}
@ elseif ALG == "shifted" then
// In steps of whole squares of sectors every row of x that a thread loads from, and every row of y that it
// stores to, begins as far from the beginning of a vector or sector as its first one.
constexpr int PER_ROW = TN / VEC, PER_COLUMN = TM / VEC;               // vectors
constexpr int ROWS = BLOCK / PER_ROW, COLUMNS = BLOCK / PER_COLUMN;    // of x, of a step
constexpr int LOADS = TM / ROWS, STORES = TN / COLUMNS;

// Where element r of row c of the turned tile lies in shared memory. Threads that write next to each
// other write rows VEC apart, and threads that read next to each other read elements VEC apart.
__device__ __forceinline__ int place(int c, int r) {
  return c * TM + c / VEC + r % VEC * PER_COLUMN + r / VEC;
}

// Elements that one, `far` from p, is behind the beginning of a vector or sector of N.
template <int N>
__device__ __forceinline__ int behind(const element *p, long long far) {
  return (int)(((unsigned long long)p / NBYTES + far) % N);
}

// The first vector that this thread loads: its row and column in the tile; the vector may begin before
// the tile does.
struct source {
  int r, c;
  const element *from;

  __device__ __forceinline__ source(const element *x, int cols, corner tile) {
    r = threadIdx.x / PER_ROW;
    const long long first = (long long)(tile.row + r) * cols + tile.column;
    c = (int)threadIdx.x % PER_ROW * VEC - behind<VEC>(x, first);
    from = x + first + c;
  }
};

// The vectors that rows of the tile touch, to registers. At the ends of x not every one is whole.
template <bool WHOLE>
__device__ __forceinline__ void load(vector (&v)[LOADS], const source &s, const element *begin,
                                     const element *end, int rows, int cols, corner tile) {
  const long long step = (long long)ROWS * cols;
#pragma unroll
  for (int k = 0; k < LOADS; k++) {
    const int row = tile.row + s.r + k * ROWS;
    const element *from = s.from + k * step;
    if (!WHOLE && (row < 0 || row >= rows || s.c >= cols - tile.column)) continue;
    if (WHOLE || VEC == 1 || (from >= begin && end - from >= VEC)) {
      v[k] = load_@{LOAD}(reinterpret_cast<const vector *>(from));
    } else {
#pragma unroll
      for (int e = 0; e < VEC; e++) {
        if (from + e >= begin && from + e < end) v[k].e[e] = from[e];
      }
    }
  }
}

template <bool WHOLE>
__device__ __forceinline__ void turn(const vector (&v)[LOADS], const source &s, element *shared,
                                     int rows, int cols, corner tile) {
  const int width = WHOLE ? ALONG : min(ALONG, cols - tile.column);
#pragma unroll
  for (int e = 0; e < VEC; e++) {
    if (s.c + e < 0 || s.c + e >= width) continue;
    element *to = shared + place(s.c + e, s.r);
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
      const int row = tile.row + s.r + k * ROWS;
      if (WHOLE || (row >= 0 && row < rows)) to[k * (ROWS / VEC)] = v[k].e[e];
    }
  }
}

template <bool WHOLE>
__device__ __forceinline__ void store(const element *shared, element *y, int rows, int cols,
                                      corner tile) {
  const int k = threadIdx.x % PER_COLUMN * VEC, c = threadIdx.x / PER_COLUMN;
  const int width = WHOLE ? ALONG : min(ALONG, cols - tile.column);
  const long long start = (long long)(tile.column + c) * rows, step = (long long)COLUMNS * rows;
  const int r = MORE - behind<SECTOR>(y, start) + k, row = tile.row + r;
  if (k >= DOWN || (!WHOLE && (row >= rows || row <= -VEC))) return;
#pragma unroll
  for (int s = 0; s < STORES; s++) {
    if (c + s * COLUMNS >= width) break;
    const element *from = shared + s * place(COLUMNS, 0);
    element *to = y + start + row + s * step;
    if (WHOLE || (row >= 0 && row + VEC <= rows)) {
      vector v;
#pragma unroll
      for (int e = 0; e < VEC; e++) v.e[e] = from[place(c, r + e)];
      store_@{STORE}(reinterpret_cast<vector *>(to), v);
    } else {
#pragma unroll
      for (int e = 0; e < VEC; e++) {
        if (row + e >= 0 && row + e < rows) to[e] = from[place(c, r + e)];
      }
    }
  }
}

template <bool WHOLE>
__device__ __forceinline__ void move(element *shared, const element *x, element *y,
                                     const element *begin, const element *end, int rows, int cols,
                                     corner tile) {
  vector v[LOADS];
  const source s(x, cols, tile);
  load<WHOLE>(v, s, begin, end, rows, cols, tile);
  turn<WHOLE>(v, s, shared, rows, cols, tile);
  __syncthreads();
  store<WHOLE>(shared, y, rows, cols, tile);
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
transpose(int rows, int cols, int batch, const element *__restrict__ x,
          element *__restrict__ y) {
  extern __shared__ __align__(16) unsigned char tile_memory[];
  element *shared = reinterpret_cast<element *>(tile_memory);
  const corner tile(rows, cols);
  // The row above is there, so that vectors may begin in it.
  const bool whole = tile.row > 0 && tile.row + TM <= rows && tile.column + TN <= cols;
  x += pdl_wait();
  const element *end = x + (long long)batch * rows * cols;
  for (long long m = blockIdx.y; m < batch; m += gridDim.y) {
    const long long matrix = m * rows * cols;
    if (whole) move<true>(shared, x + matrix, y + matrix, x, end, rows, cols, tile);
    else move<false>(shared, x + matrix, y + matrix, x, end, rows, cols, tile);
  }
}
@ else
extern "C" __global__ void __launch_bounds__(BLOCK)
transpose(int rows, int cols, int batch, const element *__restrict__ x,
          element *__restrict__ y) {
  const corner tile(rows, cols);
  x += pdl_wait();
  for (long long m = blockIdx.y; m < batch; m += gridDim.y) {
    const long long matrix = m * rows * cols;
#pragma unroll
    for (int s = 0; s < SQUARES; s++) {
      const int i = s * BLOCK + threadIdx.x;
@   if ALG == "read" then
      const int row = tile.row + i / TN, column = tile.column + i % TN;
@   else
      const int row = tile.row + i % TM, column = tile.column + i / TM;
@   end
      if (row < rows && column < cols) {
        const element v = load_@{LOAD}(x + matrix + (long long)row * cols + column);
        store_@{STORE}(y + matrix + (long long)column * rows + row, v);
      }
    }
  }
}
@ end
]],

  -- One thread per element, in steps of the grid.
  reference = {
    stages = {
      { kernel = "reference", grid = "min(65536, ceildiv(batch * rows * cols, 256))", block = 256,
        args = { "rows", "cols", "batch", "x", "y" } },
    },
    source = [[
@ local types = { u8 = "unsigned char", f16 = "unsigned short", f32 = "float", f64 = "double" }
extern "C" __global__ void reference(int rows, int cols, int batch, const @{types[dtype]} *x,
                                     @{types[dtype]} *y) {
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
