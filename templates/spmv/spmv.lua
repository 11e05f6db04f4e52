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
local IN_SLICES = "ALG == 'sell' or ALG == 'bsr' or ALG == 'jds_sections'"
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

-- ---- formats that a preparation converts to ---------------------------------------------------------------------------

local ROWS = "ceildiv(rows, 256)" -- blocks with a thread for each row
local USES = { "a converted format needs format=csr", "format == 'csr'" }

-- Launches that replace n numbers by the sums of those before, and write the total.
local function scan(numbers, n, parts, total)
  local blocks = "ceildiv(" .. n .. ", 4096)"
  return {
    { kernel = "scan_parts", grid = blocks, block = 512, args = { { "i64", n }, numbers, parts } },
    { kernel = "scan_totals", grid = 1, block = 512, args = { { "i32", blocks }, parts } },
    { kernel = "scan_numbers", grid = blocks, block = 512, args = { { "i64", n }, numbers, parts, total } },
  }
end

local function joined(...)
  local all = {}
  for _, list in ipairs { ... } do
    for _, one in ipairs(list) do all[#all + 1] = one end
  end
  return all
end

-- Launches that sort rows by length: `longest` is a count, `of_length`, `longer` and `next` have an element for each length
-- up to it.
local function by_length(p, when, sorted)
  return {
    { kernel = "longest_row", when = when, grid = ROWS, block = 256, args = { "rows", "ptr", p .. "most" } },
    { count = p .. "longest", when = when },
    { kernel = "count_lengths", when = when, grid = ROWS, block = 256, args = { "rows", "ptr", p .. "of" } },
    { kernel = "count_longer", when = when, grid = 1, block = 1024,
      args = { { "i64", p .. "longest" }, p .. "of", p .. "longer" } },
    { copy = p .. "next", from = p .. "longer", nbytes = "8 * (" .. p .. "longest + 1)", when = when },
    { kernel = "place_rows", when = when, grid = ROWS, block = 256, args = { "rows", "ptr", p .. "next", sorted } },
  }
end

local function length_scratch(p)
  return { { p .. "most", "u64", 1 }, { p .. "of", "u64", p .. "longest + 1" }, { p .. "longer", "u64", p .. "longest + 1" },
    { p .. "next", "u64", p .. "longest + 1" } }
end

-- Slices of SLICE units of SIDE rows, whose order is that of their lengths within windows (SIGMA) or, with
-- ALG=jds_sections, in all.
local UNITS = "ceildiv(rows, SIDE)"
local SLICES = "ceildiv(" .. UNITS .. ", SLICE)"
local UNIT_COUNT, SLICE_COUNT = { "i64", UNITS }, { "i64", SLICES }
local SLOTS = "ceildiv(" .. SLICES .. " * SLICE, 256)"

local function slice_columns(name, type)
  return { kernel = "slice_columns", when = "COLUMNS == '" .. type .. "'", grid = SLOTS, block = 256,
    args = { "rows", UNIT_COUNT, SLICE_COUNT, "ptr", "idx", "unit_order", "starts", name, "bases" } }
end

local function multiply_slices(name, type)
  return { kernel = "multiply_slices", when = "COLUMNS == '" .. type .. "'",
    grid = "ceildiv(" .. UNITS .. ", BLOCK // SPLIT * VEC)", block = "BLOCK", early = "EARLY",
    args = { "rows", "cols", UNIT_COUNT, "alpha", "starts", "unit_order", name, "bases", "slots", "x", "beta", "y" } }
end

local SLICED = {
  derive = { { "SORTED", "SIGMA > 1 or ALG == 'jds_sections'" } },
  require = {
    USES,
    { "ALG=bsr needs SIDE > 1", "ALG ~= 'bsr' or SIDE > 1" },
    { "SPLIT warps for a slice exceed the block", "32 * SPLIT <= BLOCK" },
    { "SLICE is less than the units of a warp", "32 * VEC <= SLICE" },
    { "UNROLL blocks of SIDE^2 values exceed the registers", "UNROLL * VEC * SIDE^2 * NBYTES <= 288" },
    { "units of more than one row have VEC=1", "SIDE == 1 or VEC == 1" },
  },
  source = "spmv_sell.cu",
  prepare = {
    from = { "ptr", "idx" }, values = { "val" },
    counts = {
      { "sec_longest", of = "sec_most", at = 0, most = 2^24 },
      { "padded", of = "totals", at = 0, most = "8 * nnz // SIDE^2 + 2^18" },
      { "span", of = "totals", at = 1, most = "sel(COLUMNS == 'u16', 65535, 2^32)" },
      { "mixed", of = "totals", at = 2, most = 0 }, -- columns that do not ascend, where SIDE > 1
    },
    outputs = {
      { "unit_order", "i32", "sel(SORTED, " .. UNITS .. ", 0)" },
      { "starts", "i64", SLICES .. " + 1" },
      { "columns16", "u16", "sel(COLUMNS == 'u16', padded, 0)" },
      { "columns", "i32", "sel(COLUMNS == 'u16', 0, padded)" },
      { "bases", "i32", "sel(COLUMNS == 'u16', padded // 32, 0)" },
      { "slots", "dtype", "padded * SIDE^2" },
    },
    workspace = joined({
      { "length", "i32", "sel(SIDE > 1 or SORTED, " .. UNITS .. ", 0)" },
      { "parts", "i64", "ceildiv(" .. SLICES .. ", 4096)" },
      { "totals", "u64", 3 },
    }, length_scratch("sec_")),
    stages = joined(by_length("sec_", "ALG == 'jds_sections'", "unit_order"), {
      { kernel = "unit_lengths", when = "SIDE > 1 or SORTED", grid = "ceildiv(" .. UNITS .. ", 256)", block = 256,
        args = { "rows", UNIT_COUNT, "ptr", "idx", "length", "totals" } },
      { kernel = "sort_window", when = "SIGMA > 1", grid = "ceildiv(" .. UNITS .. ", SIGMA)", block = 512,
        args = { UNIT_COUNT, "length", "unit_order" } },
      { kernel = "slice_slots", grid = "ceildiv(" .. SLICES .. ", 8)", block = 256,
        args = { "rows", UNIT_COUNT, SLICE_COUNT, "ptr", "length", "unit_order", "starts" } },
    }, scan("starts", SLICES, "parts", "totals"), {
      { kernel = "slice_spans", when = "COLUMNS == 'u16'", grid = SLOTS, block = 256,
        args = { "rows", UNIT_COUNT, SLICE_COUNT, "ptr", "idx", "unit_order", "starts", "totals" } },
      { count = { "padded", "span", "mixed" } },
      slice_columns("columns16", "u16"),
      slice_columns("columns", "i32"),
      { kernel = "slice_values", values_only = true, grid = SLOTS, block = 256,
        args = { "rows", UNIT_COUNT, SLICE_COUNT, "ptr", "idx", "val", "unit_order", "starts", "slots" } },
    }),
  },
  stages = { multiply_slices("columns16", "u16"), multiply_slices("columns", "i32") },
}

local JDS = {
  require = { USES },
  source = "spmv_jds.cu",
  prepare = {
    from = { "ptr", "idx" }, values = { "val" },
    counts = { { "jds_longest", of = "jds_most", at = 0, most = 2^24 } },
    outputs = {
      { "jds_order", "i32", "rows" },
      { "jds_starts", "i64", "jds_longest + 1" },
      { "jds_columns", "i32", "nnz" },
      { "jds_values", "dtype", "nnz" },
    },
    workspace = length_scratch("jds_"),
    stages = joined(by_length("jds_", nil, "jds_order"), {
      { kernel = "column_starts", grid = 1, block = 1024, args = { { "i64", "jds_longest" }, "jds_longer", "jds_starts" } },
      { kernel = "jagged_columns", grid = ROWS, block = 256,
        args = { "rows", "ptr", "idx", "jds_order", "jds_starts", "jds_columns" } },
      { kernel = "jagged_values", values_only = true, grid = ROWS, block = 256,
        args = { "rows", "ptr", "val", "jds_order", "jds_starts", "jds_values" } },
    }),
  },
  stages = { { kernel = "multiply_jagged", grid = "ceildiv(rows, BLOCK)", block = "BLOCK", early = "EARLY",
    args = { "rows", { "i32", "jds_longest" }, "alpha", "jds_order", "jds_starts", "jds_columns", "jds_values", "x", "beta",
      "y" } } },
}

local STRIDE = "roundup(rows, 64)"
local PACKS = "ceildiv(rows, BLOCK * VEC)"
local WHOLE = "ceildiv(" .. STRIDE .. ", 256)"

local DIA = {
  require = { USES },
  source = "spmv_dia.cu",
  prepare = {
    from = { "ptr", "idx" }, values = { "val" },
    counts = { { "diagonals", of = "dia_count", at = 0, most = "min(1024, max(64, 2 * nnz // max(1, rows)))" } },
    outputs = { { "dia_offsets", "i32", "diagonals" }, { "dia_values", "dtype", "diagonals * " .. STRIDE } },
    workspace = { { "dia_marks", "u32", "(rows + cols) // 32 + 1" }, { "dia_list", "u32", 1024 }, { "dia_count", "u32", 1 } },
    stages = {
      { kernel = "mark_diagonals", grid = ROWS, block = 256, args = { "rows", "ptr", "idx", "dia_marks" } },
      { kernel = "list_diagonals", grid = "ceildiv((rows + cols) // 32 + 1, 256)", block = 256,
        args = { { "i64", "(rows + cols) // 32 + 1" }, "dia_marks", "dia_count", "dia_list" } },
      { count = "diagonals" },
      { kernel = "sort_diagonals", grid = 1, block = 1024,
        args = { { "i32", "diagonals" }, "rows", "dia_list", "dia_offsets" } },
      { kernel = "diagonal_values", values_only = true, grid = WHOLE, block = 256,
        args = { "rows", { "i64", STRIDE }, { "i32", "diagonals" }, "ptr", "idx", "val", "dia_offsets", "dia_values" } },
    },
  },
  stages = { { kernel = "multiply_diagonals", grid = PACKS, block = "BLOCK", early = "EARLY",
    args = { "rows", { "i64", STRIDE }, { "i32", "diagonals" }, "alpha", "dia_offsets", "dia_values", "x", "beta", "y" } } },
}

-- Rows padded to `width`; with ALG=hybrid entries behind have their rows, as in COO.
local SHAPE = { "rows", { "i64", STRIDE }, { "i32", "width" } }
local IS_HYBRID = "ALG == 'hybrid'"
local REST_WARPS = "ceildiv(rest, 32 * ITEMS)"

local function of_hybrid(stages)
  for _, stage in ipairs(stages) do stage.when = IS_HYBRID end
  return stages
end

local PADDED = {
  require = { USES },
  source = "spmv_ell.cu",
  prepare = {
    from = { "ptr", "idx" }, values = { "val" },
    counts = {
      { "width", of = "chosen", at = 0, most = "min(2^31 // max(1, rows), max(4096, 64 * (nnz // max(1, rows))))" },
      { "rest", of = "rest_total", at = 0, most = "nnz" },
    },
    outputs = {
      { "pad_columns", "i32", "width * " .. STRIDE },
      { "pad_values", "dtype", "width * " .. STRIDE },
      { "rest_starts", "i64", "sel(" .. IS_HYBRID .. ", rows + 1, 0)" },
      { "rest_row", "i32", "rest" },
      { "rest_idx", "i32", "rest" },
      { "rest_val", "dtype", "rest" },
    },
    workspace = {
      { "lengths", "u32", "sel(" .. IS_HYBRID .. ", 2048, 0)" },
      { "chosen", "u64", 1 },
      { "rest_total", "i64", 1 },
      { "rest_parts", "i64", "sel(" .. IS_HYBRID .. ", ceildiv(rows, 4096), 0)" },
    },
    stages = joined({
      { kernel = "longest_row", when = "ALG == 'ell'", grid = ROWS, block = 256, args = { "rows", "ptr", "chosen" } },
    }, of_hybrid(joined({
      { kernel = "count_rows", grid = "min(" .. ROWS .. ", 8 * dev_sms)", block = 256, args = { "rows", "ptr", "lengths" } },
      { kernel = "choose_width", grid = 1, block = 32, args = { "rows", "lengths", "chosen" } },
      { kernel = "rest_lengths", grid = ROWS, block = 256, args = { "rows", "ptr", "chosen", "rest_starts" } },
    }, scan("rest_starts", "rows", "rest_parts", "rest_total"))), {
      { count = { "width", "rest" } },
      { kernel = "padded_columns", grid = WHOLE, block = 256, args = joined(SHAPE, { "ptr", "idx", "pad_columns" }) },
      { kernel = "padded_values", values_only = true, grid = WHOLE, block = 256,
        args = joined(SHAPE, { "ptr", "val", "pad_values" }) },
      { kernel = "rest_entries", when = IS_HYBRID, values_only = true, grid = "ceildiv(rows, 8)", block = 256,
        args = { "rows", { "i32", "width" }, "ptr", "idx", "val", "rest_starts", "rest_row", "rest_idx", "rest_val" } },
    }),
  },
  stages = {
    { kernel = "multiply_padded", grid = PACKS, block = "BLOCK", early = "EARLY",
      args = joined(SHAPE, { "alpha", "pad_columns", "pad_values", "x", "beta", "y" }) },
    { kernel = "multiply_rest", when = IS_HYBRID, grid = "ceildiv(rest, BLOCK * ITEMS)", block = "BLOCK", overlap = "EARLY",
      args = { { "i64", "rest" }, "alpha", "rest_row", "rest_idx", "rest_val", "x", "y", "carries" } },
    { kernel = "multiply_carries", when = IS_HYBRID, grid = "ceildiv(" .. REST_WARPS .. ", 128)", block = 256,
      overlap = "EARLY", args = { { "i64", "2 * " .. REST_WARPS }, "alpha", "carries", "y" } },
  },
}

-- ---- entries with their rows -------------------------------------------------------------------------------------------

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
    { "uses", { "1", "10", "100", "1000", "many" }, class = true, default = "many",
      brief = "products that a converted matrix is for" },
    { "align", { 4, 2, 1 }, default = 4, brief = "elements that idx and val are aligned to" },
    { "alpha_is", { "1", "any" }, default = "1", class = true,
      brief = "alpha that kernels are tuned with; they compute with every alpha" },
    { "beta_is", { "0", "1", "any" }, default = "0", class = true, brief = "beta, likewise; y is read unless it is 0" },
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: of a row also whatever surrounds it" },
  },

  matrix = { rows = "rows", columns = "cols", entries = "nnz" },

  args = {
    { "rows", "i64", value = "rows" },
    { "cols", "i64", value = "cols" },
    { "nnz", "i64", value = "nnz" },
    { "alpha", "f64", sample = "sel(alpha_is == '1', 1, -0.75)" },
    { "ptr", "ptype", "in", count = "sel(format == 'csr', rows + 1, 0)", optional = "format == 'coo'",
      fill = { "matrix", part = "offsets" },
      brief = "the first entry of each row, and their number" },
    { "row", "ptype", "in", count = "sel(format == 'coo', nnz, 0)", optional = "format == 'csr'",
      fill = { "matrix", part = "rows" },
      brief = "the row of each entry, not descending" },
    { "idx", "i32", "in", count = "nnz", fill = { "matrix", part = "columns" }, shift = "sel(align < 4, align, 0) * 4",
      brief = "the column of each entry" },
    { "val", "dtype", "in", count = "nnz", fill = { "matrix", part = "values" },
      shift = "sel(align < 4, align, 0) * (" .. NBYTES .. ")" },
    { "x", "dtype", "in", count = "cols", fill = { "uniform", -1, 1 } },
    { "beta", "f64", sample = "sel(beta_is == '0', 0, sel(beta_is == '1', 1, 0.5))" },
    { "y", "dtype", "inout", count = "rows", fill = { "uniform", -1, 1 }, overwritten = "beta == 0",
      brief = "with beta 0, y is not read" },
  },

  call = { "format", "dtype", "sums", "ptype", "rows", "cols", "nnz", "uses", "alpha", "ptr", "row", "idx", "val", "x", "beta", "y",
    align = "min(pow2div(idx // 4, 4), pow2div(val // (" .. NBYTES .. "), 4))",
    -- The plan does not know alpha and beta.
    alpha_is = "'1'", beta_is = "'0'" },

  space = {
    { "ALG", { "csr_scalar", "csr_vector", "csr_block", "csr_staged", "csr_bins", "csr_merge", "sell", "bsr",
      "dia", "ell", "hybrid", "jds", "jds_sections", "coo_atomic", "coo_segmented" },
      "a thread, lanes or a block for a row; rows in shared memory; by length; equal shares; formats that rows are converted "
        .. "to; entries with atomics or sums" },
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "LANES", { 1, 2, 4, 8, 16, 32 }, "lanes for a row",
      when = "ALG == 'csr_vector' or ALG == 'csr_staged' or ALG == 'csr_bins'" },
    { "VEC", { 1, 2, 4 }, "entries per load, or neighbouring rows of a thread",
      when = "ALG ~= 'coo_atomic' and ALG ~= 'coo_segmented' and ALG ~= 'jds'" },
    { "UNROLL", { 1, 2, 4, 8 }, "loads under way per thread",
      when = "ALG ~= 'csr_merge' and ALG ~= 'coo_atomic' and ALG ~= 'coo_segmented'" },
    { "ITEMS", { 4, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23 }, "ends of rows and entries per thread",
      when = "ALG == 'csr_merge' or ALG == 'coo_atomic' or ALG == 'coo_segmented' or ALG == 'hybrid'" },
    { "LOAD", { "plain", "streaming" }, "cache operator of columns and values",
      when = "ALG ~= 'csr_staged' and ALG ~= 'coo_atomic' and ALG ~= 'coo_segmented' and ALG ~= 'jds'" },
    { "SLICE", { 32, 64, 128, 256, 1024, 4096 }, "units that are padded to the same length", when = IN_SLICES },
    { "SIGMA", { 1, 256, 1024, 4096 }, "units that are sorted by length", when = "ALG == 'sell' or ALG == 'bsr'" },
    { "SIDE", { 1, 2, 3, 4, 5, 6, 8 }, "rows and columns of a block", when = "ALG == 'bsr'" },
    { "COLUMNS", { "i32", "u16" }, "columns, or how far they are from the least of 32", when = IN_SLICES },
    { "SPLIT", { 1, 2, 4, 8 }, "warps that share the columns of a slice", when = IN_SLICES },
    { "PERCENT", { 0, 50, 66, 75, 80, 90, 95, 99, 100 },
      "rows, in percent, that fit the width; 0: wider as long as over two thirds of the rows are longer",
      when = "ALG == 'hybrid'" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "ONE_ORDER", "reproducible == 'shape'" }, -- additions of a row in one order
  },

  require = {
    { "reproducible=shape needs ALG=csr_scalar and VEC=1", "not ONE_ORDER or ALG == 'csr_scalar' and VEC == 1" },
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { ENTRIES[1], "ALG ~= 'csr_scalar' and ALG ~= 'csr_vector' and ALG ~= 'csr_block' and ALG ~= 'csr_staged' and ALG ~= "
      .. "'csr_bins' and ALG ~= 'csr_merge' or VEC <= align" },
    { "UNROLL loads of VEC entries exceed the registers", "UNROLL * VEC * (4 + 2 * NBYTES) <= 384" },
  },

  default = { ALG = "csr_scalar", BLOCK = 128, LANES = 8, VEC = 1, UNROLL = 1, ITEMS = 7, LOAD = "plain",
    SLICE = 32, SIGMA = 1, SIDE = 1, COLUMNS = "i32", SPLIT = 1, PERCENT = 0 },
  untuned = {
    { when = "format == 'coo'", ALG = "coo_segmented", BLOCK = 256, ITEMS = 9 },
    { when = "reproducible == 'shape'", ALG = "csr_scalar" },
    -- Lengths are unknown, and one long row would hold up what takes a row at a time.
    { when = "rows + nnz < 2^20 and align >= 2", ALG = "csr_merge", BLOCK = 128, ITEMS = 5, VEC = 2 },
    { when = "rows + nnz < 2^20", ALG = "csr_merge", BLOCK = 128, ITEMS = 5, VEC = 1 },
    { when = "align >= 2", ALG = "csr_merge", BLOCK = 512, ITEMS = 5, VEC = 2, LOAD = "streaming" },
    { when = "nnz >= 0", ALG = "csr_merge", BLOCK = 512, ITEMS = 5, VEC = 1, LOAD = "streaming" },
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
    sell = SLICED,
    bsr = SLICED,
    dia = DIA,
    ell = PADDED,
    hybrid = PADDED,
    jds = JDS,
    jds_sections = SLICED,
    coo_atomic = COO_ATOMIC,
    coo_segmented = COO_SEGMENTED,
  },

  workspace = {
    -- A number and a row each: of each tile, or two of each warp.
    { "carries", "u64", "sel(ALG == 'csr_merge', 2 * (" .. TILES .. "), sel(ALG == 'coo_segmented' or ALG == 'hybrid', 4 * (" .. WARPS .. "), 0))" },
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
    emu = { "matrix=uniform rows=300 entries=2000", "matrix=zipf rows=150 columns=70 dtype=f64 ptype=i64 align=1 beta_is=any",
      "matrix=empty rows=200 degree=9 share=0.5 format=coo", "matrix=stencil5 side=9 sums=f64 align=2 alpha_is=any",
      "matrix=hub rows=120 degree=3", "matrix=fem rows=90 mean=15" },
    test = { "rows=0 nnz=0", "rows=1 nnz=0", "rows=1 nnz=100003 cols=200000", "rows=100003 nnz=0", "matrix=rmat scale=14",
      "matrix=uniform rows=65536 entries=1000000 format=coo dtype=f64", "rows=70001 cols=1 nnz=40000 ptype=i64 align=1",
      "matrix=stencil27 side=20", "matrix=fem rows=9999 mean=40 dtype=f64", "matrix=arrow rows=5000" },
    bench = { "matrix=stencil27 side=100", "matrix=uniform rows=1048576 degree=16", "matrix=zipf rows=1048576" },
  },
}
