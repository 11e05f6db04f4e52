-- spmv: y = alpha A x + beta y, A sparse, in compressed rows (CSR) or as entries with their rows (COO), sorted by row.
--
-- What decides is where the entries of a row go (ALG). A thread, lanes of a warp or a block take a row (csr_scalar,
-- csr_vector, csr_block); a block brings the entries of its rows to shared memory first (csr_staged), or multiplies an equal
-- share of entries and ends of rows, whatever the lengths of rows (csr_merge). Rows may be binned by length (csr_bins).
--
-- Of f32, 8 bytes an entry and 12 a row (its end, x and y) have to be moved: on an H200, which reads 4.6 TB/s, 393 us for
-- 27 diagonals of 200^3 rows.

local NBYTES = "sel(dtype == 'f64', 8, 4)"
local WIDE = "sel(dtype == 'f64' or sums == 'f64', 8, 4)" -- bytes of a sum
local MEAN = "(nnz // max(1, rows))"
local ENTRIES = { "align is less than VEC", "VEC <= align" }
local CSR = { "ALG=csr_... other than csr_scalar needs format=csr", "format == 'csr'" }
local COO = { "ALG=coo_... needs format=coo", "format == 'coo'" }

local function with(first, ...)
  local all = { first }
  for _, one in ipairs { ... } do all[#all + 1] = one end
  return all
end

-- `width` threads for each row.
local function rows_by(width, require)
  return {
    derive = { { "WIDTH", width } },
    require = require,
    source = "spmv_rows.cu",
    stages = { { kernel = "multiply_rows", grid = "ceildiv(rows, BLOCK // WIDTH)", block = "BLOCK", early = "EARLY",
      args = { "rows", "nnz", "alpha", "ptr", "row", "idx", "val", "x", "beta", "y" } } },
  }
end

local STAGED = {
  space = {
    { "CHUNK", { 512, 1024, 2048, 3072, 4096, 6144, 8192 }, "entries in shared memory at a time" },
    { "GATHER", { "rows", "entries" }, "elements of x are read in the order of rows, or of entries" },
  },
  derive = { { "SMEM", "CHUNK * (4 + NBYTES)" } },
  require = with(CSR,
    { "SMEM exceeds a block's shared memory", "SMEM <= dev_smem_block" },
    { "GATHER=entries rounds products to the type of the values", "GATHER == 'rows' or sums == 'same'" },
    { "the rows of a block have more than four times CHUNK entries", "BLOCK // LANES * " .. MEAN .. " <= 4 * CHUNK",
      advice = true },
    { "the rows of a block have less than a quarter of CHUNK entries", "CHUNK == 512 or 4 * (BLOCK // LANES) * ("
      .. MEAN .. " + 1) >= CHUNK", advice = true }),
  default = { CHUNK = 1024, GATHER = "rows" },
  source = "spmv_staged.cu",
  stages = { { kernel = "multiply_staged", grid = "ceildiv(rows, BLOCK // LANES)", block = "BLOCK", smem = "SMEM",
    early = "EARLY", args = { "rows", "nnz", "alpha", "ptr", "idx", "val", "x", "beta", "y" } } },
}

local BINS = {
  space = {
    { "LONG", { 64, 256, 1024, 4096 }, "entries of a row above which a block takes it" },
    { "BLOCKS", { 1, 2, 4, 8 }, "blocks per multiprocessor for long rows" },
  },
  require = with(CSR, { "BLOCKS blocks exceed the threads of a multiprocessor", "BLOCK * BLOCKS <= dev_threads_sm" }),
  default = { LONG = 256, BLOCKS = 2 },
  source = "spmv_bins.cu",
  workspace = {
    { "count", "u32", 1 },
    { "list", "i32", "nnz // LONG + 1" },
    { "arrived", "u32", 1 },
  },
  stages = {
    { kernel = "multiply_short", grid = "ceildiv(rows, BLOCK // LANES)", block = "BLOCK", early = "EARLY",
      args = { "rows", "nnz", "alpha", "ptr", "idx", "val", "x", "beta", "y", "count", "list" } },
    { kernel = "multiply_long", grid = "BLOCKS * dev_sms", block = "BLOCK", overlap = "EARLY",
      args = { "nnz", "alpha", "ptr", "idx", "val", "x", "beta", "y", "count", "list", "arrived" } },
  },
}

local TILES = "max(1, ceildiv(rows + nnz, BLOCK * ITEMS))"
local MERGE = {
  derive = {
    { "TILE", "BLOCK * ITEMS" },
    { "SMEM", "TILE * (4 + " .. WIDE .. ")" },
  },
  require = with(CSR,
    { "two warps search for a tile's rows", "BLOCK >= 64" },
    { "SMEM exceeds a block's shared memory", "SMEM + 1024 <= dev_smem_block" }),
  source = "spmv_merge.cu",
  stages = {
    { kernel = "multiply_merge", grid = TILES, block = "BLOCK", smem = "SMEM", early = "EARLY",
      args = { "rows", "nnz", "alpha", "ptr", "idx", "val", "x", "beta", "y", "carries" } },
    { kernel = "multiply_carries", grid = "ceildiv(" .. TILES .. ", 256)", block = 256, overlap = "EARLY",
      args = { { "i32", TILES }, "alpha", "carries", "y" } },
  },
}

local SCALE = { kernel = "scale", grid = "ceildiv(rows, 256)", block = 256, early = "EARLY",
  args = { "rows", "beta", "y" } }

local COO_ATOMIC = {
  require = with(COO, { "reproducible=run excludes atomics", "reproducible == 'any'" }),
  source = "spmv_coo.cu",
  stages = { SCALE, { kernel = "multiply_entries", grid = "ceildiv(nnz, BLOCK * ITEMS)", block = "BLOCK", overlap = "EARLY",
    args = { "nnz", "alpha", "row", "idx", "val", "x", "y" } } },
}

local WARPS = "ceildiv(nnz, 32 * ITEMS)"
local COO_SEGMENTED = {
  require = with(COO),
  source = "spmv_coo.cu",
  stages = {
    SCALE,
    { kernel = "multiply_segments", grid = "ceildiv(nnz, BLOCK * ITEMS)", block = "BLOCK", overlap = "EARLY",
      args = { "nnz", "alpha", "row", "idx", "val", "x", "y", "carries" } },
    { kernel = "multiply_carries", grid = "ceildiv(" .. WARPS .. ", 128)", block = 256, overlap = "EARLY",
      args = { { "i64", "2 * (" .. WARPS .. ")" }, "alpha", "carries", "y" } },
  },
}

return {
  name = "spmv",
  version = 1,
  brief = "y = alpha A x + beta y, A sparse",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 14; Bell and Garland, Implementing sparse "
    .. "matrix-vector multiplication on throughput-oriented processors; Merrill and Garland, Merge-based parallel sparse "
    .. "matrix-vector multiplication; Greathouse and Daga, Efficient sparse matrix-vector multiplication on GPUs using the "
    .. "CSR storage format",

  problem = {
    { "rows", 0, 2^31 - 2^16, default = 2^20, brief = "rows of A" },
    { "cols", 0, 2^31 - 1, default = "rows", brief = "columns of A" },
    { "nnz", 0, 2^40, default = "16 * rows", brief = "entries; columns of a row may come in any order and repeat" },
    { "format", { "csr", "coo" }, default = "csr", brief = "compressed rows, or entries sorted by row" },
    { "dtype", { "f32", "f64" }, default = "f32", brief = "type of the values, x and y" },
    { "sums", { "same", "f64" }, default = "same", brief = "type of sums: that of the values, or f64" },
    { "ptype", { "i32", "i64" }, default = "i32", like = { i64 = "i32" }, brief = "type of ptr and row" },
    { "align", { 4, 2, 1 }, default = 4, brief = "elements that idx and val are aligned to" },
    { "alpha_is", { "1", "any" }, default = "1", class = true,
      brief = "alpha that kernels are tuned with; they compute with every alpha" },
    { "beta_is", { "0", "1", "any" }, default = "0", class = true, brief = "beta, likewise; y is read unless it is 0" },
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: of a row also whatever surrounds it" },
  },

  args = {
    { "rows", "i64", value = "rows" },
    { "nnz", "i64", value = "nnz" },
    { "alpha", "f64", sample = "sel(alpha_is == '1', 1, -0.75)" },
    { "ptr", "ptype", "in", count = "sel(format == 'csr', rows + 1, 0)", optional = "format == 'coo'",
      fill = { "lua", function(index, _, fields) return fields.nnz * (index / fields.rows) ^ 3 // 1 end },
      brief = "the first entry of each row, and their number" },
    { "row", "ptype", "in", count = "sel(format == 'coo', nnz, 0)", optional = "format == 'csr'",
      fill = { "lua", function(index, count, fields) return fields.rows * (index / count) ^ (1 / 3) // 1 end },
      brief = "the row of each entry, not descending" },
    { "idx", "i32", "in", count = "nnz", fill = { "uniform", 0, "cols - 1" }, shift = "sel(align < 4, align, 0) * 4",
      brief = "the column of each entry" },
    { "val", "dtype", "in", count = "nnz", fill = { "uniform", -1, 1 },
      shift = "sel(align < 4, align, 0) * (" .. NBYTES .. ")" },
    { "x", "dtype", "in", count = "cols", fill = { "uniform", -1, 1 } },
    { "beta", "f64", sample = "sel(beta_is == '0', 0, sel(beta_is == '1', 1, 0.5))" },
    { "y", "dtype", "inout", count = "rows", fill = { "uniform", -1, 1 }, overwritten = "beta == 0",
      brief = "with beta 0, y is not read" },
  },

  call = { "format", "dtype", "sums", "ptype", "rows", "cols", "nnz", "alpha", "ptr", "row", "idx", "val", "x", "beta", "y",
    align = "min(pow2div(idx // 4, 4), pow2div(val // (" .. NBYTES .. "), 4))",
    alpha_is = "sel(alpha == 1, '1', 'any')",
    beta_is = "sel(beta == 0, '0', sel(beta == 1, '1', 'any'))" },

  space = {
    { "ALG", { "csr_scalar", "csr_vector", "csr_block", "csr_staged", "csr_bins", "csr_merge", "coo_atomic",
      "coo_segmented" },
      "a thread, lanes or a block for a row; rows in shared memory; by length; equal shares; entries with atomics or sums" },
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "LANES", { 1, 2, 4, 8, 16, 32 }, "lanes for a row",
      when = "ALG == 'csr_vector' or ALG == 'csr_staged' or ALG == 'csr_bins'" },
    { "VEC", { 1, 2, 4 }, "columns and values per load", when = "ALG ~= 'coo_atomic' and ALG ~= 'coo_segmented'" },
    { "UNROLL", { 1, 2, 4, 8 }, "loads under way per thread",
      when = "ALG ~= 'csr_merge' and ALG ~= 'coo_atomic' and ALG ~= 'coo_segmented'" },
    { "ITEMS", { 4, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23 }, "ends of rows and entries per thread",
      when = "ALG == 'csr_merge' or ALG == 'coo_atomic' or ALG == 'coo_segmented'" },
    { "LOAD", { "plain", "streaming" }, "cache operator of columns and values",
      when = "ALG ~= 'csr_staged' and ALG ~= 'coo_atomic' and ALG ~= 'coo_segmented'" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "ONE_ORDER", "reproducible == 'shape'" }, -- additions of a row in one order
  },

  require = {
    { "reproducible=shape needs ALG=csr_scalar and VEC=1", "not ONE_ORDER or ALG == 'csr_scalar' and VEC == 1" },
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    ENTRIES,
    { "UNROLL loads of VEC entries exceed the registers", "UNROLL * VEC * (4 + 2 * NBYTES) <= 384" },
  },

  default = { ALG = "csr_scalar", BLOCK = 128, LANES = 8, VEC = 1, UNROLL = 1, ITEMS = 7, LOAD = "plain" },
  untuned = {
    { when = "format == 'coo'", ALG = "coo_segmented", BLOCK = 256, ITEMS = 9 },
    { when = "reproducible == 'shape'", ALG = "csr_scalar" },
    { when = MEAN .. " > 256 and align == 4", ALG = "csr_merge", BLOCK = 256, ITEMS = 9, VEC = 4 },
    { when = MEAN .. " > 256", ALG = "csr_merge", BLOCK = 256, ITEMS = 9, VEC = 1 },
  },

  algorithms = {
    csr_scalar = rows_by("sel(ONE_ORDER, 8, 1)", {}),
    csr_vector = rows_by("LANES", with(CSR, { "ALG=csr_vector needs LANES > 1", "LANES > 1" },
      { "LANES packs of VEC entries exceed four times the mean row",
        "LANES == 2 and VEC == 1 or LANES * VEC * UNROLL <= 4 * (" .. MEAN .. " + 4)", advice = true })),
    csr_block = rows_by("BLOCK", with(CSR)),
    csr_staged = STAGED,
    csr_bins = BINS,
    csr_merge = MERGE,
    coo_atomic = COO_ATOMIC,
    coo_segmented = COO_SEGMENTED,
  },

  workspace = {
    -- A number and a row each: of each tile, or two of each warp.
    { "carries", "u64", "sel(ALG == 'csr_merge', 2 * (" .. TILES .. "), sel(ALG == 'coo_segmented', 4 * (" .. WARPS .. "), 0))" },
  },

  reference = {
    workspace = { { "bound", "f64", "rows" } },
    stages = { { kernel = "reference", grid = "rows", block = 32,
      args = { "rows", "nnz", "alpha", "ptr", "row", "idx", "val", "x", "beta", "y", "bound" } } },
    source = "spmv_reference.cu",
  },

  cases = { {}, { alpha = -0.75, beta = 0.5 }, { alpha = 0, beta = "sel(beta_is == '0', 1, 0)" } },

  -- A row of n entries is rounded n times at most, and thrice more by alpha, beta and the store; `bound` is n + 3 times
  -- the sum of |a x|. The reference, which adds up in f64, errs likewise where sums are f64.
  tolerance = { bound = "bound", factor = "sel(dtype == 'f64', 2.0^-52, 2.0^-24)" },

  flops = "2 * nnz",
  bytes = "nnz * (4 + NBYTES) + rows * (sel(ptype == 'i64', 8, 4) + NBYTES * sel(beta_is == '0', 1, 2)) + cols * NBYTES",

  sizes = {
    emu = { "rows=300 nnz=2000", "rows=100 nnz=3001 cols=70 dtype=f64 ptype=i64 align=1 beta_is=any",
      "rows=200 nnz=1500 format=coo", "rows=90 nnz=2000 sums=f64 align=2 alpha_is=any", "rows=500 nnz=100" },
    test = { "rows=0 nnz=0", "rows=1 nnz=0", "rows=1 nnz=100003 cols=1000", "rows=100003 nnz=0", "rows=2^16",
      "rows=2^16 format=coo dtype=f64", "rows=70001 cols=1 nnz=400000 ptype=i64 align=1" },
    bench = { "rows=2^20", "rows=2^22" },
  },
}
