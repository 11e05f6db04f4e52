-- conv2d: y = the convolution of an image with a filter of (2 rx + 1) x (2 ry + 1) taps, without turning the filter:
-- y[row][column] = sum of f[j][i] * x[row + j - ry][column + i - rx].
--
-- ALG is the ladder of the cited book, ch. 7: basic and constant read the image from global memory; tile_input and
-- tile_output keep a tile with its halo in shared memory, with a thread for each of its elements or for each result;
-- cached_halo leaves the halo to the L2 cache. With register, threads march down columns, and sums slide through their
-- registers; taps in constant memory are operands of the FMAs. With stream, rows come to shared memory ahead of
-- blocks that march together. ALG=separable does so with a filter that is a product.
-- With accuracy=fp32, ALG=fft multiplies spectra of tiles, whatever the radius: 17 x 17 taps take 578 operations a
-- result as sums of products, and about 130 so.
--
-- The text depends on the radii, but for ALG=basic, on the border and the types, not on other sizes.

local MOST = 2^31 - 2^17 -- so that an index beyond the image is an int
local NBYTES = "sel(dtype == 'f64', 8, sel(dtype == 'f32', 4, 2))"
local MX, MY = "sel(border == 'valid', max(0, nx - 2 * rx), nx)", "sel(border == 'valid', max(0, ny - 2 * ry), ny)"

local AXES = { -- the taps of f and fy: their count, and names of the constant and the copy
  f = { "TAPS", "constant_taps", "kept" }, fy = { "(2 * ry + 1)", "constant_down", "kept_down" },
}

-- Launches of conv2d over `grid`, one of which applies. Of their arguments, `filters` come by the address of the caller's
-- or, of those in the host's memory, of a copy, or by value; constant ones are copied before.
local function launches(grid, smem, first, filters, constant)
  local function launch(early, when, pass)
    local args = {}
    for _, a in ipairs(first) do args[#args + 1] = a end
    for _, f in ipairs(filters) do args[#args + 1] = pass(f) end
    args[#args + 1], args[#args + 2] = "y", "ldy"
    return { kernel = "conv2d", grid = grid, block = { "BLOCK_X", "BLOCK_Y" }, smem = smem, early = early,
      when = "MX * MY > 0 and " .. when, args = args }
  end
  local list = {}
  for _, f in ipairs(filters) do
    local nbytes = AXES[f][1] .. " * TAP_NBYTES"
    if constant then
      list[#list + 1] = { constant = AXES[f][2], from = f, nbytes = nbytes, when = "FILTER == 'constant'" }
    end
    list[#list + 1] = { copy = AXES[f][3], from = f, nbytes = nbytes,
      when = "COPIED" .. (f == "f" and "" or " and rank == 'separable'") }
  end
  list[#list + 1] = launch("EARLY and FILTER ~= 'constant'", "taps == 'device'", function(f) return f end)
  list[#list + 1] = launch(nil, "taps == 'host' and FILTER ~= 'parameter'", function(f) return AXES[f][3] end)
  if constant then
    list[#list + 1] = launch("EARLY", "FILTER == 'parameter'",
      function(f) return { parameter = f, count = AXES[f][1] } end)
  end
  return list
end
local IMAGE = { "nx", "ny", { "i32", "MX" }, { "i32", "MY" }, "x", "ldx" }
local function stages(across, down, smem, filters)
  return launches("ceildiv(MX, " .. across .. ") * ceildiv(MY, " .. down .. ")", smem, IMAGE, filters or { "f" }, true)
end
local function grid_fits(across, down)
  return { "there are more tiles than a grid has blocks",
    "ceildiv(MX, " .. across .. ") * ceildiv(MY, " .. down .. ") < 2^31" }
end

local MARCHES = "ALG == 'register' or ALG == 'separable' or ALG == 'stream'"
local STRICT = "ALG ~= 'fft'" -- an element depends on its window only
local WHOLE = { "rank=separable needs ALG=basic, which multiplies the taps, or ALG=separable", "rank == 'full'" }
local ONE_EACH = { "a thread has one result: OUT_X and OUT_Y are 1", "OUT_X == 1 and OUT_Y == 1" }

local BASIC = {
  require = { ONE_EACH, grid_fits("BLOCK_X", "BLOCK_Y"),
    { "ALG=basic reads the filter from global memory", "FILTER == 'global'" } },
  source = "conv2d_basic.cu",
  stages = launches("ceildiv(MX, BLOCK_X) * ceildiv(MY, BLOCK_Y)", nil,
    { "nx", "ny", "rx", "ry", { "i32", "MX" }, { "i32", "MY" }, "x", "ldx" }, { "f", "fy" }),
}
local CONSTANT = {
  require = { WHOLE, ONE_EACH, grid_fits("BLOCK_X", "BLOCK_Y"),
    { "ALG=constant reads the filter from constant memory", "FILTER == 'constant' or FILTER == 'parameter'" } },
  source = "conv2d_constant.cu", stages = stages("BLOCK_X", "BLOCK_Y"),
}
local TILE_INPUT = {
  require = { WHOLE, ONE_EACH,
    { "a block of BLOCK_X x BLOCK_Y threads has no results beside its halo", "BLOCK_X > 2 * rx and BLOCK_Y > 2 * ry" },
    { "the tile exceeds 48 KB", "(BLOCK_X + PAD) * BLOCK_Y * WIDE_NBYTES <= 46 * 1024" },
    grid_fits("max(1, BLOCK_X - 2 * rx)", "max(1, BLOCK_Y - 2 * ry)") },
  source = "conv2d_tile_input.cu", stages = stages("(BLOCK_X - 2 * rx)", "(BLOCK_Y - 2 * ry)"),
}
local TILE_OUTPUT = {
  derive = {
    { "SMEM", "(BLOCK_X * OUT_X + 2 * rx + PAD) * (BLOCK_Y * OUT_Y + 2 * ry) * WIDE_NBYTES" },
  },
  require = { WHOLE,
    { "the tile exceeds the shared memory of a block",
      "SMEM + sel(FILTER == 'shared', TAPS * TAP_NBYTES, 0) <= dev_smem_block - 16" },
    { "OUT_X * OUT_Y sums exceed the registers", "OUT_X * OUT_Y * WIDE_NBYTES <= 256" },
    grid_fits("(BLOCK_X * OUT_X)", "(BLOCK_Y * OUT_Y)") },
  source = "conv2d_tile_output.cu", stages = stages("(BLOCK_X * OUT_X)", "(BLOCK_Y * OUT_Y)", "SMEM"),
}
local CACHED_HALO = {
  require = { WHOLE, ONE_EACH, grid_fits("BLOCK_X", "BLOCK_Y") },
  source = "conv2d_cached_halo.cu", stages = stages("BLOCK_X", "BLOCK_Y"),
}
local REGISTER = {
  space = {
    { "SUMS", { "slide", "stay", "whole" },
      "sums of all results that a row is part of slide through registers, or OUT_Y stay; whole: without a loop" },
  },
  derive = {
    { "SUMS_ROWS", "sel(SUMS == 'slide', 2 * ry + 1, OUT_Y)" },
    { "FETCHES", "SUMS == 'whole' and PREFETCH == 1" },
    { "AHEAD", "dev_sms * max(1, 896 // (BLOCK_X * BLOCK_Y))" }, -- blocks that are there at a time, of 72 registers
  },
  default = { SUMS = "slide" },
  require = { WHOLE,
    { "sums and a row exceed the registers",
      "(SUMS_ROWS * OUT_X + sel(SUMS == 'whole', 1, 1 + PREFETCH) * UNROLL * (OUT_X + 2 * rx)) * WIDE_NBYTES <= 900" },
    { "UNROLL rows of FMAs exceed the instruction cache",
      "SUMS == 'whole' or UNROLL * SUMS_ROWS * (2 * rx + 1) * OUT_X <= 2400" },
    { "SUMS=stay with few sums reads the image too often", "SUMS == 'slide' or OUT_Y * OUT_X >= 4", advice = true },
    { "SUMS=whole has no loop: UNROLL is 1", "SUMS ~= 'whole' or UNROLL == 1" },
    { "a thread's FMAs exceed the instruction cache", "SUMS ~= 'whole' or TAPS * OUT_X * OUT_Y <= 6000" },
    { "taps in registers: FILTER=global exceeds them", "FILTER ~= 'global' or TAPS <= 64" },
    grid_fits("(BLOCK_X * OUT_X)", "(BLOCK_Y * OUT_Y)") },
  source = "conv2d_register.cu", stages = stages("(BLOCK_X * OUT_X)", "(BLOCK_Y * OUT_Y)"),
}
local STREAM = {
  space = {
    { "STAGES", { 2, 3, 4, 5, 8 }, "rows in shared memory: that of the FMAs, and those that are copied ahead" },
    { "RESIDENT", { 1, 2, 3, 4, 5, 6, 8 }, "blocks of a multiprocessor at least" },
  },
  default = { STAGES = 3, RESIDENT = 1 },
  derive = {
    { "HELD", "dev_sms * RESIDENT" }, -- blocks that the device holds at a time
    { "STRIPS", "ceildiv(MX, BLOCK_X * OUT_X)" },
    { "SMEM", "STAGES * (BLOCK_X * OUT_X - OUT_X + ceildiv((VEC - (rx - sel(border == 'valid', rx, 0)) % VEC) % VEC "
      .. "+ OUT_X + 2 * rx, VEC) * VEC) * NBYTES" },
    { "REGS", "28 + WIDE_NBYTES // 4 * ((2 * ry + 2) * OUT_X + 2 * rx)" }, -- of a thread at least
    -- rows of a part, for one or two rounds of parts: the one that has the least to do, of parts and 2 ry rows before
    { "ROWS_1", "max(1, ceildiv(MY, max(1, HELD // max(1, STRIPS))))" },
    { "ROWS_2", "max(1, ceildiv(MY, max(1, 2 * HELD // max(1, STRIPS))))" },
    { "TIME_1", "ceildiv(STRIPS * ceildiv(MY, ROWS_1), HELD) * (ROWS_1 + 2 * ry)" },
    { "TIME_2", "ceildiv(STRIPS * ceildiv(MY, ROWS_2), HELD) * (ROWS_2 + 2 * ry)" },
    { "PART_ROWS", "sel(TIME_1 <= TIME_2, ROWS_1, ROWS_2)" },
  },
  require = { WHOLE,
    { "blocks of ALG=stream are rows of threads with OUT_Y of 1", "BLOCK_Y == 1 and OUT_Y == 1" },
    { "ALG=stream copies plainly, one row at a time: READ is plain, UNROLL 1", "READ == 'plain' and UNROLL == 1" },
    { "ALG=stream does not keep taps in shared memory", "FILTER ~= 'shared'" },
    { "taps in registers: FILTER=global exceeds them", "FILTER ~= 'global' or TAPS <= 64" },
    { "a row of FMAs exceeds the instruction cache", "TAPS * OUT_X <= 4800" },
    { "rows exceed the shared memory of a block", "SMEM <= dev_smem_block - 16" },
    { "RESIDENT blocks exceed the shared memory of a multiprocessor", "RESIDENT * (SMEM + dev_smem_reserved) <= dev_smem_sm" },
    { "RESIDENT blocks exceed the threads of a multiprocessor", "BLOCK_X * RESIDENT <= dev_threads_sm" },
    { "RESIDENT blocks exceed the registers", "REGS <= 255 and REGS * BLOCK_X * RESIDENT <= dev_regs_sm" },
    { "there may be more parts than a grid has blocks", "STRIPS * MY < 2^31" } },
  source = "conv2d_stream.cu",
  stages = launches("STRIPS * ceildiv(MY, PART_ROWS)", "SMEM",
    { "nx", "ny", { "i32", "MX" }, { "i32", "MY" }, "x", "ldx", { "i32", "PART_ROWS" } }, { "f" }, true),
}
local SEPARABLE = {
  require = {
    { "ALG=separable needs rank=separable", "rank == 'separable'" },
    { "ALG=separable does not keep taps in shared memory", "FILTER ~= 'shared'" },
    { "sums and a row exceed the registers",
      "((2 * ry + 1) * OUT_X + (1 + PREFETCH) * UNROLL * (OUT_X + 2 * rx)) * WIDE_NBYTES <= 900" },
    { "UNROLL rows of FMAs exceed the instruction cache", "UNROLL * (2 * rx + 2 * ry + 2) * OUT_X <= 4096" },
    { "taps in registers: FILTER=global exceeds them", "FILTER ~= 'global' or 2 * rx + 2 * ry + 2 <= 64" },
    grid_fits("(BLOCK_X * OUT_X)", "(BLOCK_Y * OUT_Y)") },
  source = "conv2d_separable.cu", stages = stages("(BLOCK_X * OUT_X)", "(BLOCK_Y * OUT_Y)", nil, { "f", "fy" }),
}
local FFT = {
  space = {
    { "TILE", { 16, 32, 64 }, "elements of a tile along x and y; as many threads have a column of two of them each" },
    { "REGISTERS", { 64, 96, 128, 168, 204, 255 }, "of a thread, at most" },
  },
  derive = {
    { "FETCHES", "PREFETCH == 1" },
    { "AHEAD", "dev_sms * min(32, 65536 // (TILE * REGISTERS))" }, -- blocks that are there at a time
  },
  default = { TILE = 64, REGISTERS = 255 },
  require = {
    { "ALG=fft needs accuracy=fp32", "accuracy == 'fp32'" },
    { "ALG=fft computes in f32", "dtype ~= 'f64' and ftype == 'f32'" },
    { "the filter exceeds the tile", "2 * rx < TILE and 2 * ry < TILE" },
    { "most of a tile is halo", "TILE == 64 or 4 * max(rx, ry) < TILE" },
    { "a column of two tiles exceeds REGISTERS", "2 * TILE + 16 <= REGISTERS" },
    { "REGISTERS exceeds what TILE takes", "REGISTERS <= 4 * TILE" },
    { "there are more tiles than a grid has blocks",
      "ceildiv(MX, max(1, TILE - 2 * rx)) * ceildiv(MY, max(1, 2 * (TILE - 2 * ry))) < 2^31" },
  },
  source = "conv2d_fft.cu",
  workspace = { { "spectrum", "f32", "2 * TILE * TILE" } },
  stages = {
    { copy = "kept", from = "f", nbytes = "TAPS * TAP_NBYTES", when = "COPIED" },
    { copy = "kept_down", from = "fy", nbytes = "(2 * ry + 1) * TAP_NBYTES", when = "COPIED and rank == 'separable'" },
    { kernel = "conv2d_spectrum", grid = 1, block = "TILE", early = "EARLY", when = "MX * MY > 0 and taps == 'device'",
      args = { "f", "fy", "spectrum" } },
    { kernel = "conv2d_spectrum", grid = 1, block = "TILE", when = "MX * MY > 0 and taps == 'host'",
      args = { "kept", "kept_down", "spectrum" } },
    { kernel = "conv2d", grid = "ceildiv(MX, TILE - 2 * rx) * ceildiv(MY, 2 * (TILE - 2 * ry))", block = "TILE",
      early = "EARLY", when = "MX * MY > 0",
      args = { "nx", "ny", { "i32", "MX" }, { "i32", "MY" }, "x", "ldx", "spectrum", "y", "ldy" } },
  },
}

-- For sizes without a tuned result: rows slide through registers, with as many rows for a thread as leave each
-- multiprocessor about 512 threads; where a filter is too large for that, a tile in shared memory.
local SUGGESTED = {}
local function suggest(when, config)
  if config.ALG ~= "fft" then -- taps in the host's memory come by value
    local host = { when = "taps == 'host' and " .. when, FILTER = "parameter" }
    for name, value in pairs(config) do host[name] = host[name] or value end
    SUGGESTED[#SUGGESTED + 1] = host
  end
  config.when = when
  SUGGESTED[#SUGGESTED + 1] = config
end
-- On an H200, products of spectra take the time of about 100 taps.
suggest("accuracy == 'fp32' and dtype ~= 'f64' and ftype == 'f32' and MX * MY >= 2^20 and max(rx, ry) <= 24 and "
  .. "sel(rank == 'full', (2 * rx + 1) * (2 * ry + 1) >= 100, rx + ry > 20)", { ALG = "fft" })
for _, vec in ipairs { 4, 2, 1 } do
  local aligned = "rank == 'full' and min(align, 16 // NBYTES) >= " .. vec
  -- The fastest of what was tuned on an H200: small filters are bound by memory, and large images have the threads for
  -- sums that slide through registers from 17 x 17 taps on.
  suggest(aligned .. " and MX * MY > 2^17 and TAPS <= 9",
    { ALG = "register", SUMS = "stay", FILTER = "global", BLOCK_X = 16, BLOCK_Y = 8, OUT_X = 4, OUT_Y = 2, UNROLL = 8,
      READ = "nc", VEC = vec })
  suggest(aligned .. " and MX * MY >= 2^26 and TAPS > 25 and TAPS <= 49 and NBYTES == 4",
    { ALG = "stream", FILTER = "constant", BLOCK_X = 128, BLOCK_Y = 1, OUT_X = 8, OUT_Y = 1, VEC = vec, STAGES = 8,
      RESIDENT = 4 })
  for _, size in ipairs { { 8, 26 }, { 4, 20 }, { 2, 17 } } do
    local rows, large = size[1], aligned .. " and MX * MY > 2^" .. size[2]
    suggest(large .. " and TAPS <= 49", { ALG = "register", SUMS = "whole", FILTER = "global", BLOCK_X = 32, BLOCK_Y = 4,
      OUT_X = 4, OUT_Y = rows, READ = "nc", VEC = vec })
    suggest(large .. " and TAPS <= 225 and " .. rows .. " <= 4", { ALG = "register", SUMS = "whole", FILTER = "constant",
      BLOCK_X = 32, BLOCK_Y = 4, OUT_X = 4, OUT_Y = rows, READ = "nc", VEC = vec })
  end
  suggest(aligned .. " and MX * MY >= 2^26 and TAPS > 81 and 28 + (2 * ry + 2) * 4 + 2 * rx <= 128 and NBYTES <= 4",
    { ALG = "stream", FILTER = "constant", BLOCK_X = 128, BLOCK_Y = 1, OUT_X = 4, OUT_Y = 1, VEC = vec, STAGES = 3,
      RESIDENT = 4 })
  for _, rows in ipairs { 128, 64, 32, 16, 8, 4 } do
    local large = aligned .. " and MX * MY >= dev_sms * 2048 * " .. rows
    suggest(large .. " and TAPS <= 400",
      { ALG = "register", FILTER = "constant", BLOCK_X = 32, BLOCK_Y = 4, OUT_X = 4, OUT_Y = rows, VEC = vec })
  end
  for _, rows in ipairs { 128, 64, 32, 16, 8, 4 } do
    local large = "min(align, 16 // NBYTES) >= " .. vec .. " and MX * MY >= dev_sms * 2048 * " .. rows
    suggest("rank == 'separable' and " .. large,
      { ALG = "separable", FILTER = "constant", BLOCK_X = 32, BLOCK_Y = 4, OUT_X = 4, OUT_Y = rows, VEC = vec })
  end
  suggest(aligned .. " and MX * MY <= 2^17 and TAPS <= 49",
    { ALG = "register", BLOCK_X = 32, BLOCK_Y = 2, OUT_X = vec, OUT_Y = 1, VEC = vec })
end
for _, vec in ipairs { 4, 2, 1 } do
  for _, rows in ipairs { 4, 2, 1 } do
    suggest("rank == 'full' and min(align, 16 // NBYTES) >= " .. vec, { ALG = "register", SUMS = "stay",
      FILTER = "constant", BLOCK_X = 32, BLOCK_Y = 4, OUT_X = 4, OUT_Y = rows, VEC = vec })
  end
end
-- Small images, filters for which four columns of sums exceed the registers, and those in f64.
for _, size in ipairs { { 19, 16 }, { 0, 8 } } do
  for _, vec in ipairs { 4, 2, 1 } do
    for _, out in ipairs { 4, 2, 1 } do
      if out >= vec then
        suggest(("rank == 'separable' and MX * MY >= 2^%d and min(align, 16 // NBYTES) >= %d"):format(size[1], vec),
          { ALG = "separable", FILTER = "constant", BLOCK_X = 32, BLOCK_Y = 2, OUT_X = out, OUT_Y = size[2], VEC = vec })
      end
    end
  end
end
suggest("rank == 'full'",
  { ALG = "tile_output", FILTER = "constant", BLOCK_X = 32, BLOCK_Y = 8, OUT_X = 4, OUT_Y = 4 })
suggest("rank == 'full'", { ALG = "tile_output", BLOCK_X = 32, BLOCK_Y = 8, OUT_X = 2, OUT_Y = 2 })

return {
  name = "conv2d",
  version = 1,
  brief = "convolves an image with a filter",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 7; "
    .. "van Werkhoven et al., Optimizing convolution operations on GPUs using adaptive tiling, 2014",

  problem = {
    { "nx", 0, MOST, default = 4096, brief = "columns of x" },
    { "ny", 0, MOST, default = "nx", brief = "rows of x" },
    { "rx", 0, 127, default = 2, brief = "radius: the filter has 2 rx + 1 columns" },
    { "ry", 0, 127, default = "rx", brief = "and 2 ry + 1 rows" },
    { "border", { "zero", "replicate", "mirror", "valid" }, default = "zero",
      like = { replicate = "zero", mirror = "zero", valid = "zero" },
      brief = "what elements beyond x count as; valid: only results that need none" },
    { "dtype", { "f32", "f64", "f16" }, default = "f32", brief = "type of the elements; sums of f16 are f32" },
    { "ftype", { "f32", "f64" }, default = "sel(dtype == 'f64', 'f64', 'f32')", brief = "type of the filter" },
    { "rank", { "full", "separable" }, default = "full", brief = "separable: the filter is the product of f and fy" },
    { "align", { 8, 4, 2, 1 }, default = "pow2div(max(nx, 1), 8)",
      brief = "elements that x, y, ldx and ldy are aligned to" },
    { "accuracy", { "strict", "fp32" }, default = "strict",
      brief = "error allowed: strict, of a sum of products in f32; fp32, of sums with elements up to 64 columns and 128 "
        .. "rows away, from which NaN and infinities spread" },
    { "taps", { "device", "host" }, default = "device",
      brief = "whose memory f and fy are in" },
  },

  args = {
    { "nx", "i32", value = "nx" },
    { "ny", "i32", value = "ny" },
    { "rx", "i32", value = "rx" },
    { "ry", "i32", value = "ry" },
    { "x", "dtype", "in", count = "ldx * max(0, ny - 1) + nx", fill = { "uniform", -1, 1 } },
    { "ldx", "i64", sample = "roundup(max(1, nx), align)", brief = "elements from a row of x to the next" },
    { "f", "ftype", "in", count = "(2 * rx + 1) * sel(rank == 'full', 2 * ry + 1, 1)", fill = { "uniform", -1, 1 },
      host = "taps == 'host'", brief = "row by row; separable: 2 rx + 1 taps along x" },
    { "fy", "ftype", "in", count = "sel(rank == 'full', 0, 2 * ry + 1)", fill = { "uniform", -1, 1 },
      host = "taps == 'host'", brief = "separable: 2 ry + 1 taps along y" },
    { "y", "dtype", "out", count = "ldy * max(0, " .. MY .. " - 1) + " .. MX, brief = "not x itself" },
    { "ldy", "i64", sample = "roundup(max(1, " .. MX .. "), align)" },
  },

  call = { "nx", "ny", "rx", "ry", "border", "dtype", "rank", "x", "ldx", "f", "fy", "y", "ldy",
    ftype = "sel(dtype == 'f64', 'f64', 'f32')",
    align = "min(pow2div(x // (" .. NBYTES .. "), 8), pow2div(y // (" .. NBYTES .. "), 8), "
      .. "pow2div(ldx, 8), pow2div(ldy, 8))" },
  call_require = {
    { "ldx is less than the columns of x", "ldx >= max(1, nx)" },
    { "ldy is less than the columns of y", "ldy >= max(1, " .. MX .. ")" },
  },

  space = {
    { "ALG", { "basic", "constant", "tile_input", "tile_output", "cached_halo", "register", "stream", "separable", "fft" },
      "where threads read the image from, and how many results each has" },
    { "FILTER", { "global", "constant", "shared", "parameter" }, "where the taps are read from; parameter: by value",
      when = STRICT },
    { "BLOCK_X", { 8, 16, 32, 64, 128, 256 }, "threads of a block along x", when = STRICT },
    { "BLOCK_Y", { 1, 2, 4, 8, 16, 32 }, "and along y", when = STRICT },
    { "OUT_X", { 1, 2, 4, 8 }, "results of a thread along x", when = STRICT },
    { "OUT_Y", { 1, 2, 4, 8, 16, 32, 64, 128, 256 }, "and along y", when = STRICT },
    { "UNROLL", { 1, 2, 4, 8 }, "unrolled rows: of the filter; with ALG=register and separable rows loaded together",
      when = STRICT },
    { "PAD", { 0, 1 }, "elements between rows of a tile in shared memory",
      when = "ALG == 'tile_input' or ALG == 'tile_output' or ALG == 'cached_halo'" },
    { "READ", { "plain", "nc" }, "how the image is loaded: .nc takes it for constant", when = STRICT },
    { "VEC", { 1, 2, 4, 8 }, "elements per load and store", when = MARCHES },
    { "PREFETCH", { 0, 1 }, "groups of UNROLL rows loaded ahead of the FMAs; with SUMS=whole and ALG=fft, tiles of a block "
      .. "to come that are brought to the L2 cache", when = "ALG == 'register' or ALG == 'separable' or ALG == 'fft'" },
    { "STORE", { "plain", "streaming" }, "cache operator of stores", when = MARCHES .. " or ALG == 'fft'" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "WIDE_NBYTES", "sel(dtype == 'f64', 8, 4)" }, -- of a number in registers
    { "TAP_NBYTES", "sel(ftype == 'f64', 8, 4)" },
    { "MX", MX }, -- results
    { "MY", MY },
    { "RX", "rx" },
    { "RY", "ry" },
    { "TAPS", "(2 * rx + 1) * sel(rank == 'full', 2 * ry + 1, 1)" }, -- of f
    { "COPIED", "taps == 'host' and (FILTER == 'global' or FILTER == 'shared')" }, -- taps, to the device
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "a block has 32 threads at least", "BLOCK_X * BLOCK_Y >= 32" },
    { "BLOCK_X * BLOCK_Y exceeds the device's threads per block", "BLOCK_X * BLOCK_Y <= dev_threads_block" },
    { "BLOCK_X is at least twice the columns of y", "BLOCK_X // 2 < max(MX, 32)" },
    { "BLOCK_Y is at least twice the rows of y", "BLOCK_Y // 2 < max(MY, 8)" },
    { "the filter exceeds constant memory of 64 KB",
      "FILTER ~= 'constant' or TAPS * TAP_NBYTES <= 65536" },
    { "FILTER=parameter needs taps=host", "FILTER ~= 'parameter' or taps == 'host'" },
    { "the filter exceeds the parameters of a kernel",
      "FILTER ~= 'parameter' or (TAPS + sel(rank == 'full', 0, 2 * ry + 1)) * TAP_NBYTES <= 32000" },
    { "the filter exceeds 32 KB of shared memory", "FILTER ~= 'shared' or TAPS * TAP_NBYTES <= 32768" },
    { "VEC does not divide OUT_X", "OUT_X % VEC == 0" },
    { "VEC elements exceed 16 bytes", "VEC * NBYTES <= 16" },
    { "x, y, ldx and ldy are not aligned to VEC elements", "VEC <= align" },
    { "OUT_Y is at least twice the rows of y", "OUT_Y // 2 < max(MY, 8)" },
    { "UNROLL exceeds the rows of the filter", MARCHES .. " or UNROLL < 2 * (2 * ry + 1)" },
    { "UNROLL rows of taps are too many",
      MARCHES .. " or UNROLL == 1 or UNROLL * (2 * rx + 1) * OUT_X * OUT_Y <= 4096" },
  },

  default = { ALG = "basic", FILTER = "global", BLOCK_X = 32, BLOCK_Y = 4, OUT_X = 1, OUT_Y = 1, UNROLL = 1, PAD = 0,
    READ = "plain", VEC = 1, PREFETCH = 0, STORE = "plain" },
  untuned = SUGGESTED,
  workspace = {
    { "kept", "ftype", "sel(COPIED, TAPS, 0)" },
    { "kept_down", "ftype", "sel(COPIED and rank == 'separable', 2 * ry + 1, 0)" },
  },

  algorithms = { basic = BASIC, constant = CONSTANT, tile_input = TILE_INPUT, tile_output = TILE_OUTPUT,
    cached_halo = CACHED_HALO, register = REGISTER, stream = STREAM, separable = SEPARABLE, fft = FFT },

  reference = {
    stages = {
      { kernel = "reference", grid = "max(1, min(65536, ceildiv(MX * MY, 256)))", block = 256,
        args = { "nx", "ny", "rx", "ry", { "i32", "MX" }, { "i32", "MY" }, "x", "ldx", "f", "fy", "y", "ldy",
          "magnitude" } },
    },
    -- as many as elements of y whose rows have up to 128 elements between them
    workspace = { { "magnitude", "f64", "(roundup(max(1, MX), align) + 128) * max(0, MY - 1) + MX" } },
    source = "conv2d_reference.cu",
  },

  cases = { {}, { ldx = "roundup(max(1, nx), align) + align", ldy = "roundup(max(1, " .. MX .. "), align) + align" } },

  -- Transforms of two tiles of n = 64^2 elements, of a root mean square of 0.6, leave an error of about 2^-24 log2(n) / 2
  -- of the root of the sums of squares of elements and taps, 0.6 (2 n)^0.5 and 0.6 TAPS^0.5, over that of n, from
  -- rounding them: 2^-23 TAPS^0.5, and the largest of many six times that.
  -- Each of TAPS products and sums rounds by at most half a unit of the sum of magnitudes; an f16
  -- result once more, here and in the reference.
  tolerance = { bound = "magnitude",
    abs = "sel(dtype == 'f16', 2^-24, 0) + sel(accuracy == 'fp32', 2^-19 * ((2 * rx + 1) * (2 * ry + 1))^0.5, 0)",
    factor = "((2 * rx + 1) * (2 * ry + 1) + 3) * sel(dtype == 'f64', 2^-52, 2^-24) + sel(dtype == 'f16', 2^-10, 0)" },

  flops = "2 * sel(rank == 'full', TAPS, 2 * rx + 2 * ry + 2) * MX * MY",
  bytes = "(nx * ny + MX * MY) * NBYTES",

  sizes = {
    emu = { "nx=64 ny=37", "nx=3 ny=2 rx=3 border=mirror", "nx=33 ny=20 rx=1 ry=2 border=valid dtype=f16", "nx=0 ny=5",
      "nx=40 ny=25 rx=2 ry=1 rank=separable taps=host",
      "nx=20 ny=7 rx=0 ry=1 border=replicate dtype=f64 rank=separable",
      "nx=50 ny=40 rx=3 ry=2 border=mirror accuracy=fp32" },
    test = { "nx=1 ny=1", "nx=5 ny=0", "nx=4 ny=9 rx=2 border=valid", "nx=1001 ny=777",
      "nx=1024 ny=300 rx=4 border=mirror taps=host", "nx=512 ny=512 rx=8 border=valid",
      "nx=999 ny=501 rx=3 ry=1 border=replicate dtype=f64",
      "nx=640 ny=480 rx=1 dtype=f16", "nx=1000 ny=700 rx=15 border=replicate accuracy=fp32" },
    bench = { "nx=4096 rx=1", "nx=4096 rx=4", "nx=16384 rx=1", "nx=16384 rx=2", "nx=16384 rx=3", "nx=16384 rx=4",
      "nx=16384 rx=8", "nx=16384 rx=8 accuracy=fp32", "nx=16384 rx=15 accuracy=fp32" },
  },
}
