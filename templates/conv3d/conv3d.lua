-- conv3d: y = the convolution of a volume with a filter of (2 rx + 1) x (2 ry + 1) x (2 rz + 1) taps, without turning
-- the filter: y[plane][row][column] = sum of f[k][j][i] * x[plane + k - rz][row + j - ry][column + i - rx].
--
-- ALG is the ladder of the cited book, ch. 7, in three dimensions: basic and constant read the volume from global
-- memory; tile_input and tile_output keep a tile with its halo in shared memory, with a thread for each of its elements
-- or for some results; cached_halo leaves the halo to the L2 cache. With register, blocks march through planes, which
-- arrive in shared memory ahead of time, and the sums of the results that a plane is part of slide through registers.
-- ALG=separable does so with a filter that is a product.
--
-- The text depends on the radii, but for ALG=basic, on the border and the types, not on other sizes.

local MOST = 2^31 - 2^17 -- so that an index beyond the volume is an int
local NBYTES = "sel(dtype == 'f64', 8, sel(dtype == 'f32', 4, 2))"
local function extent(axis)
  return ("sel(border == 'valid', max(0, n%s - 2 * r%s), n%s)"):format(axis, axis, axis)
end
local MX, MY, MZ = extent "x", extent "y", extent "z"

local function tiles(across, down, depth)
  return ("ceildiv(MX, %s) * ceildiv(MY, %s) * ceildiv(MZ, %s)"):format(across, down, depth)
end
local function grid_fits(across, down, depth)
  return { "there are more tiles than a grid has blocks", tiles(across, down, depth) .. " < 2^31" }
end

local BLOCK = { "BLOCK_X", "BLOCK_Y", "BLOCK_Z" }
local AXES = { -- the taps of f, fy and fz: their count, and names of the constant and the copy
  f = { "TAPS", "constant_taps", "kept" }, fy = { "(2 * ry + 1)", "constant_down", "kept_down" },
  fz = { "(2 * rz + 1)", "constant_deep", "kept_deep" },
}

-- A launch of conv3d over `grid`. Of its args, `filters` come by the address of the caller's or, of those in the host's
-- memory, of a copy, or by value; constant ones are copied before.
local function stages(grid, block, smem, first, filters, constant)
  local function launch(early, when, pass)
    local args = {}
    for _, a in ipairs(first) do args[#args + 1] = a end
    for _, f in ipairs(filters) do args[#args + 1] = pass(f) end
    args[#args + 1], args[#args + 2] = "y", "ldy"
    return { kernel = "conv3d", grid = grid, block = block, smem = smem, early = early, args = args,
      when = "MX * MY * MZ > 0 and " .. when }
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
local RESULT = { { "i32", "MX" }, { "i32", "MY" }, { "i32", "MZ" } }
local function with(list, ...)
  local all = { "nx", "ny", "nz" }
  for _, part in ipairs { list, RESULT, { ... }, { "x", "ldx" } } do
    for _, a in ipairs(part) do all[#all + 1] = a end
  end
  return all
end
local function tiled(across, down, depth, smem)
  return stages(tiles(across, down, depth), BLOCK, smem, with {}, { "f" }, true)
end

local MARCHES = "ALG == 'register' or ALG == 'separable'"
local WHOLE = { "rank=separable needs ALG=basic, which multiplies the taps, or ALG=separable", "rank == 'full'" }
local ONE_EACH = { "a thread has one result: OUT_X and OUT_Y are 1", "OUT_X == 1 and OUT_Y == 1" }

local BASIC = {
  require = { ONE_EACH, grid_fits("BLOCK_X", "BLOCK_Y", "BLOCK_Z"),
    { "ALG=basic reads the filter from global memory", "FILTER == 'global'" } },
  source = "conv3d_basic.cu",
  stages = stages(tiles("BLOCK_X", "BLOCK_Y", "BLOCK_Z"), BLOCK, nil, with { "rx", "ry", "rz" }, { "f", "fy", "fz" }),
}
local CONSTANT = {
  require = { WHOLE, ONE_EACH, grid_fits("BLOCK_X", "BLOCK_Y", "BLOCK_Z"),
    { "ALG=constant reads the filter from constant memory", "FILTER == 'constant' or FILTER == 'parameter'" } },
  source = "conv3d_constant.cu", stages = tiled("BLOCK_X", "BLOCK_Y", "BLOCK_Z"),
}
local TILE_INPUT = {
  require = { WHOLE, ONE_EACH,
    { "a block of BLOCK_X x BLOCK_Y x BLOCK_Z threads has no results beside its halo",
      "BLOCK_X > 2 * rx and BLOCK_Y > 2 * ry and BLOCK_Z > 2 * rz" },
    grid_fits("max(1, BLOCK_X - 2 * rx)", "max(1, BLOCK_Y - 2 * ry)", "max(1, BLOCK_Z - 2 * rz)") },
  source = "conv3d_tile_input.cu",
  stages = tiled("(BLOCK_X - 2 * rx)", "(BLOCK_Y - 2 * ry)", "(BLOCK_Z - 2 * rz)"),
}
local TILE_OUTPUT = {
  space = { { "OUT_Z", { 1, 2, 4, 8 }, "and along z" } },
  derive = {
    { "SMEM", "(BLOCK_X * OUT_X + 2 * rx + PAD) * (BLOCK_Y * OUT_Y + 2 * ry) * (BLOCK_Z * OUT_Z + 2 * rz) * WIDE_NBYTES" },
  },
  default = { OUT_Z = 1 },
  require = { WHOLE,
    { "the tile exceeds the shared memory of a block",
      "SMEM + sel(FILTER == 'shared', TAPS * TAP_NBYTES, 0) <= dev_smem_block - 16" },
    { "OUT_X * OUT_Y * OUT_Z sums exceed the registers", "OUT_X * OUT_Y * OUT_Z * WIDE_NBYTES <= 256" },
    grid_fits("(BLOCK_X * OUT_X)", "(BLOCK_Y * OUT_Y)", "(BLOCK_Z * OUT_Z)") },
  source = "conv3d_tile_output.cu",
  stages = tiled("(BLOCK_X * OUT_X)", "(BLOCK_Y * OUT_Y)", "(BLOCK_Z * OUT_Z)", "SMEM"),
}
local CACHED_HALO = {
  require = { WHOLE, ONE_EACH, grid_fits("BLOCK_X", "BLOCK_Y", "BLOCK_Z") },
  source = "conv3d_cached_halo.cu", stages = tiled("BLOCK_X", "BLOCK_Y", "BLOCK_Z"),
}

-- What register and separable share (conv3d_planes.cuh).
local BEFORE = "(rx - sel(border == 'valid', rx, 0))"
local SHIFT = ("((VEC - %s %% VEC) %% VEC)"):format(BEFORE)
local MARCH_DERIVE = {
  { "HELD", "dev_sms * RESIDENT" }, -- blocks that the device holds at a time
  { "TILES_XY", "ceildiv(MX, BLOCK_X * OUT_X) * ceildiv(MY, BLOCK_Y * OUT_Y)" },
  { "PLANE_COUNT", ("(BLOCK_X * OUT_X - OUT_X + ceildiv(%s + OUT_X + 2 * rx, VEC) * VEC)"):format(SHIFT)
    .. " * (BLOCK_Y * OUT_Y + 2 * ry)" },
  { "SMEM", "(PREFETCH + 1) * PLANE_COUNT * NBYTES" },
  { "SMEM_TAPS", "sel(FILTER == 'shared', (2 * ry + 1) * (2 * rz + 1) * roundup((2 * rx + 1) * WIDE_NBYTES, 16), 0)" },
  -- a thread's registers at least
  { "REGS", "24 + WIDE_NBYTES // 4 * (OUT_X * OUT_Y * (2 * rz + 1) + OUT_X + 2 * rx "
    .. "+ sel(FILTER == 'global' and UNROLL > 2 * ry and rank == 'full', TAPS, 0))" },
}
-- With Z_DEPTH=0 parts are as deep as has the least to do: for 1 to WAVES parts of each block that the device holds,
-- the time of all is that of so many rounds of parts, which begin 2 rz planes before their own.
local WAVES = 6
local function derive(name, text, ...)
  MARCH_DERIVE[#MARCH_DERIVE + 1] = { name, text:format(...) }
end
local least, chosen = {}, "DEPTH_1"
for w = 1, WAVES do
  derive("DEPTH_" .. w, "max(1, ceildiv(MZ, max(1, %d * HELD // max(1, TILES_XY))))", w)
  derive("TIME_" .. w, "ceildiv(TILES_XY * ceildiv(MZ, DEPTH_%d), HELD) * (DEPTH_%d + 2 * rz)", w, w)
  least[w] = "TIME_" .. w
end
derive("LEAST", "min(%s)", table.concat(least, ", "))
for w = WAVES, 1, -1 do chosen = ("sel(TIME_%d == LEAST, DEPTH_%d, %s)"):format(w, w, chosen) end
derive("PART_PLANES", "sel(Z_DEPTH > 0, Z_DEPTH, %s)", chosen)
derive("PARTS", "TILES_XY * ceildiv(MZ, PART_PLANES)")

local function marching(source, more, filters)
  local require = {
    { "the planes exceed the shared memory of a block",
      "SMEM + SMEM_TAPS <= dev_smem_block - 16" },
    { "RESIDENT blocks exceed the shared memory of a multiprocessor",
      "RESIDENT * (SMEM + SMEM_TAPS + dev_smem_reserved) <= dev_smem_sm" },
    { "RESIDENT blocks exceed the threads of a multiprocessor", "BLOCK_X * BLOCK_Y * RESIDENT <= dev_threads_sm" },
    { "RESIDENT blocks exceed the registers",
      "REGS <= 255 and REGS * BLOCK_X * BLOCK_Y * RESIDENT <= dev_regs_sm" },
    { "there may be more parts than a grid has blocks", "TILES_XY * MZ < 2^31" },
  }
  for _, r in ipairs(more) do require[#require + 1] = r end
  return { derive = MARCH_DERIVE, require = require, source = source,
    stages = stages("PARTS", { "BLOCK_X", "BLOCK_Y" }, "SMEM", with({}, { "i32", "PART_PLANES" }), filters, true) }
end
local REGISTER = marching("conv3d_register.cu", { WHOLE,
  { "the filter exceeds 40 KB of shared memory", "SMEM_TAPS <= 40 * 1024" },
  { "the FMAs of UNROLL rows exceed the instruction cache",
    "min(UNROLL, 2 * ry + 1) * (2 * rx + 1) * (2 * rz + 1) * OUT_X * OUT_Y <= 4200" },
  { "OUT_X * OUT_Y of more than 32 spare hardly any loads", "OUT_X * OUT_Y <= 32" },
  { "FILTER=global reads taps from memory again and again unless UNROLL covers the rows of the filter",
    "FILTER ~= 'global' or UNROLL > 2 * ry", advice = true },
}, { "f" })
local SEPARABLE = marching("conv3d_separable.cu", {
  { "ALG=separable needs rank=separable", "rank == 'separable'" },
  { "ALG=separable does not keep taps in shared memory", "FILTER ~= 'shared'" },
  { "ALG=separable unrolls all taps: UNROLL is 1", "UNROLL == 1" },
  { "the FMAs of a plane exceed the instruction cache",
    "((OUT_Y + 2 * ry) * (2 * rx + 1) + OUT_Y * (2 * ry + 2 * rz + 2)) * OUT_X <= 4096" },
}, { "f", "fy", "fz" })

-- For sizes without a tuned result: marching blocks; large filters loop over rows. The first
-- that is valid counts.
local SUGGESTED = {}
local function suggest(when, config)
  for _, vec in ipairs { 4, 2, 1 } do
    local one = { when = ("min(align, 16 // NBYTES) >= %d and (%s)"):format(vec, when), VEC = vec, OUT_X = 4,
      BLOCK_Z = 1, Z_DEPTH = 0 }
    for name, value in pairs(config) do one[name] = value end
    SUGGESTED[#SUGGESTED + 1] = one
  end
end
local function march(when, config)
  config.ALG = config.ALG or "register"
  if config.BLOCK_X then return suggest(when, config) end
  for _, shape in ipairs { { "MX > 64", 32, 1 }, { "MX <= 64", 16, 2 } } do
    local one = { BLOCK_X = shape[2] }
    for name, value in pairs(config) do one[name] = value end
    one.BLOCK_Y = config.BLOCK_Y * shape[3]
    suggest("(" .. shape[1] .. ") and (" .. when .. ")", one)
  end
end
-- The code has all taps.
local function march_whole(when, config)
  for _, unroll in ipairs { { "ry == 0", 1 }, { "ry == 1", 4 }, { "ry > 1", 8 } } do
    local one = { UNROLL = unroll[2] }
    for name, value in pairs(config) do one[name] = value end
    march(unroll[1] .. " and " .. when, one)
  end
end
local FULL = "rank == 'full'"
local SMALL, LARGE = FULL .. " and MX * MY * MZ < 2^21", FULL .. " and MX * MY * MZ >= 2^21"
march_whole(SMALL .. " and TAPS <= 27", { FILTER = "global", BLOCK_Y = 4, OUT_Y = 2, PREFETCH = 2, RESIDENT = 4 })
march(SMALL .. " and TAPS <= 343",
  { FILTER = "shared", BLOCK_Y = 4, OUT_Y = 2, UNROLL = 1, PREFETCH = 2, RESIDENT = 4 })
march_whole(LARGE .. " and TAPS <= 27", { FILTER = "shared", BLOCK_X = 32, BLOCK_Y = 8, OUT_Y = 4, PREFETCH = 2, RESIDENT = 2 })
march_whole(LARGE .. " and TAPS <= 27", { FILTER = "constant", BLOCK_Y = 8, OUT_Y = 4, PREFETCH = 3, RESIDENT = 2 })
march_whole(FULL .. " and MX * MY * MZ >= 2^26 and TAPS <= 125",
  { FILTER = "constant", BLOCK_X = 32, BLOCK_Y = 8, OUT_Y = 4, PREFETCH = 2, RESIDENT = 2 })
march_whole(LARGE .. " and TAPS <= 125",
  { FILTER = "constant", BLOCK_X = 16, BLOCK_Y = 8, OUT_Y = 4, PREFETCH = 2, RESIDENT = 3 })
march(FULL .. " and MX * MY * MZ >= 2^26 and TAPS <= 343", { FILTER = "shared", BLOCK_X = 16, BLOCK_Y = 8, OUT_Y = 4,
  UNROLL = 1, PREFETCH = 1, RESIDENT = 2 })
march(LARGE .. " and TAPS <= 343", { FILTER = "shared", BLOCK_X = 16, BLOCK_Y = 8, OUT_Y = 2,
  UNROLL = 1, PREFETCH = 2, RESIDENT = 4 })
for _, out in ipairs { 4, 2, 1 } do
  march(FULL, { FILTER = "shared", BLOCK_Y = 8, OUT_Y = out, UNROLL = 1, PREFETCH = 2, RESIDENT = 1 })
end
march(FULL, { FILTER = "constant", BLOCK_Y = 8, OUT_Y = 1, UNROLL = 1, PREFETCH = 2, RESIDENT = 1 })
for _, out in ipairs { 4, 2, 1 } do
  march("rank == 'separable'", { ALG = "separable", FILTER = "constant", BLOCK_Y = 8, OUT_Y = out, UNROLL = 1,
    PREFETCH = 2, RESIDENT = 2 })
  march("rank == 'separable'", { ALG = "separable", FILTER = "constant", BLOCK_Y = 8, OUT_Y = out, UNROLL = 1,
    PREFETCH = 2, RESIDENT = 1 })
end
SUGGESTED[#SUGGESTED + 1] = { when = FULL, ALG = "tile_output", FILTER = "constant", BLOCK_X = 16, BLOCK_Y = 8,
  BLOCK_Z = 1, OUT_X = 2, OUT_Y = 2, OUT_Z = 4 }
SUGGESTED[#SUGGESTED + 1] = { when = FULL, ALG = "constant", FILTER = "constant", BLOCK_X = 32, BLOCK_Y = 8, BLOCK_Z = 1 }

return {
  name = "conv3d",
  version = 1,
  brief = "convolves a volume with a filter",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 7 and 8",

  problem = {
    { "nx", 0, MOST, default = 256, brief = "columns of x" },
    { "ny", 0, MOST, default = "nx", brief = "rows of x" },
    { "nz", 0, MOST, default = "nx", brief = "planes of x" },
    { "rx", 0, 127, default = 1, brief = "radius: the filter has 2 rx + 1 columns" },
    { "ry", 0, 127, default = "rx", brief = "2 ry + 1 rows" },
    { "rz", 0, 127, default = "rx", brief = "and 2 rz + 1 planes" },
    { "border", { "zero", "replicate", "mirror", "valid" }, default = "zero",
      like = { replicate = "zero", mirror = "zero", valid = "zero" },
      brief = "what elements beyond x count as; valid: only results that need none" },
    { "dtype", { "f32", "f64", "f16" }, default = "f32", brief = "type of the elements; sums of f16 are f32" },
    { "ftype", { "f32", "f64" }, default = "sel(dtype == 'f64', 'f64', 'f32')", brief = "type of the filter" },
    { "rank", { "full", "separable" }, default = "full",
      brief = "separable: the filter is the product of f, fy and fz" },
    { "taps", { "device", "host" }, default = "device", like = { host = "device" },
      brief = "whose memory f, fy and fz are in" },
    { "align", { 8, 4, 2, 1 }, default = "pow2div(max(nx, 1), 8)",
      brief = "elements that x, y, ldx and ldy are aligned to" },
  },

  args = {
    { "nx", "i32", value = "nx" },
    { "ny", "i32", value = "ny" },
    { "nz", "i32", value = "nz" },
    { "rx", "i32", value = "rx" },
    { "ry", "i32", value = "ry" },
    { "rz", "i32", value = "rz" },
    { "x", "dtype", "in", count = "ldx * max(0, ny * nz - 1) + nx", fill = { "uniform", -1, 1 },
      brief = "a plane has ny rows" },
    { "ldx", "i64", sample = "roundup(max(1, nx), align)", brief = "elements from a row of x to the next" },
    { "f", "ftype", "in", count = "(2 * rx + 1) * sel(rank == 'full', (2 * ry + 1) * (2 * rz + 1), 1)",
      fill = { "uniform", -1, 1 }, host = "taps == 'host'",
      brief = "plane by plane, row by row; separable: 2 rx + 1 taps along x" },
    { "fy", "ftype", "in", count = "sel(rank == 'full', 0, 2 * ry + 1)", fill = { "uniform", -1, 1 },
      host = "taps == 'host'", brief = "separable: 2 ry + 1 taps along y" },
    { "fz", "ftype", "in", count = "sel(rank == 'full', 0, 2 * rz + 1)", fill = { "uniform", -1, 1 },
      host = "taps == 'host'", brief = "separable: 2 rz + 1 taps along z" },
    { "y", "dtype", "out", count = "ldy * max(0, " .. MY .. " * " .. MZ .. " - 1) + " .. MX, brief = "not x itself" },
    { "ldy", "i64", sample = "roundup(max(1, " .. MX .. "), align)" },
  },

  call = { "nx", "ny", "nz", "rx", "ry", "rz", "border", "dtype", "rank", "taps", "x", "ldx", "f", "fy", "fz", "y", "ldy",
    ftype = "sel(dtype == 'f64', 'f64', 'f32')",
    align = "min(pow2div(x // (" .. NBYTES .. "), 8), pow2div(y // (" .. NBYTES .. "), 8), "
      .. "pow2div(ldx, 8), pow2div(ldy, 8))" },
  call_require = {
    { "ldx is less than the columns of x", "ldx >= max(1, nx)" },
    { "ldy is less than the columns of y", "ldy >= max(1, " .. MX .. ")" },
  },

  space = {
    { "ALG", { "basic", "constant", "tile_input", "tile_output", "cached_halo", "register", "separable" },
      "where threads read the volume from, and how many results each has" },
    { "FILTER", { "global", "constant", "parameter", "shared" }, "where the taps are read from; parameter: by value" },
    { "BLOCK_X", { 8, 16, 32, 64, 128 }, "threads of a block along x" },
    { "BLOCK_Y", { 1, 2, 4, 8, 16, 32 }, "along y" },
    { "BLOCK_Z", { 1, 2, 4, 8, 16 }, "and along z", when = "not (" .. MARCHES .. ")" },
    { "OUT_X", { 1, 2, 4, 8 }, "results of a thread along x" },
    { "OUT_Y", { 1, 2, 3, 4, 8 }, "and along y" },
    { "UNROLL", { 1, 2, 4, 8 }, "unrolled rows of the filter" },
    { "PAD", { 0, 1 }, "elements between rows of a tile in shared memory",
      when = "ALG == 'tile_input' or ALG == 'tile_output' or ALG == 'cached_halo'" },
    { "READ", { "plain", "nc" }, "how the volume is loaded: .nc takes it for constant", when = "not (" .. MARCHES .. ")" },
    { "VEC", { 1, 2, 4, 8 }, "elements per copy to shared memory, and per store", when = MARCHES },
    { "PREFETCH", { 1, 2, 3, 4 }, "planes copied ahead", when = MARCHES },
    { "RESIDENT", { 1, 2, 3, 4, 6 }, "blocks of a multiprocessor at least", when = MARCHES },
    { "Z_DEPTH", { 0, 16, 32, 64, 128, 256 }, "planes of a block's part; 0: as suit the device", when = MARCHES },
    { "STORE", { "plain", "streaming" }, "cache operator of stores", when = MARCHES },
    { "ENDS", { "exact", "all" },
      "taps that the first and last 2 rz planes of a part are multiplied with: those of its results, or all",
      when = "ALG == 'register'" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "WIDE_NBYTES", "sel(dtype == 'f64', 8, 4)" }, -- of a number in registers
    { "TAP_NBYTES", "sel(ftype == 'f64', 8, 4)" },
    { "MX", MX }, -- results
    { "MY", MY },
    { "MZ", MZ },
    { "RX", "rx" },
    { "RY", "ry" },
    { "RZ", "rz" },
    { "TAPS", "(2 * rx + 1) * sel(rank == 'full', (2 * ry + 1) * (2 * rz + 1), 1)" }, -- of f
    { "COPIED", "taps == 'host' and (FILTER == 'global' or FILTER == 'shared')" }, -- taps, to the device
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "a block has 32 threads at least", "BLOCK_X * BLOCK_Y * BLOCK_Z >= 32" },
    { "BLOCK_X * BLOCK_Y * BLOCK_Z exceeds the device's threads per block",
      "BLOCK_X * BLOCK_Y * BLOCK_Z <= dev_threads_block" },
    { "BLOCK_X is at least twice the columns of y", "BLOCK_X // 2 < max(MX, 32)" },
    { "BLOCK_Y is at least twice the rows of y", "BLOCK_Y // 2 < max(MY, 8)" },
    { "BLOCK_Z is at least twice the planes of y", "BLOCK_Z // 2 < max(MZ, 4)" },
    { "the filter exceeds constant memory of 64 KB", "FILTER ~= 'constant' or TAPS * TAP_NBYTES <= 65536" },
    { "FILTER=parameter needs taps=host", "FILTER ~= 'parameter' or taps == 'host'" },
    { "the filter exceeds the parameters of a kernel",
      "FILTER ~= 'parameter' or (TAPS + sel(rank == 'full', 0, 2 * ry + 2 * rz + 2)) * TAP_NBYTES <= 32000" },
    { "the filter exceeds 32 KB of shared memory", "FILTER ~= 'shared' or TAPS * TAP_NBYTES <= 32768" },
    { "the tile and the filter exceed 48 KB",
      "ALG ~= 'tile_input' and ALG ~= 'cached_halo' or (BLOCK_X + PAD) * BLOCK_Y * BLOCK_Z * WIDE_NBYTES "
        .. "+ sel(FILTER == 'shared', TAPS * TAP_NBYTES, 0) <= 46 * 1024" },
    { "VEC does not divide OUT_X", "OUT_X % VEC == 0" },
    { "VEC elements exceed 16 bytes", "VEC * NBYTES <= 16" },
    { "x, y, ldx and ldy are not aligned to VEC elements", "VEC <= align" },
    { "UNROLL exceeds the rows of the filter", "UNROLL < 2 * (2 * ry + 1)" },
    { "UNROLL rows of taps are too many",
      MARCHES .. " or UNROLL == 1 or UNROLL * (2 * rx + 1) * OUT_X * OUT_Y <= 4096" },
  },

  default = { ALG = "basic", FILTER = "global", BLOCK_X = 32, BLOCK_Y = 4, BLOCK_Z = 1, OUT_X = 1, OUT_Y = 1,
    UNROLL = 1, PAD = 0, READ = "plain", VEC = 1, PREFETCH = 2, RESIDENT = 1, Z_DEPTH = 0, STORE = "plain",
    ENDS = "exact" },
  untuned = SUGGESTED,
  workspace = {
    { "kept", "ftype", "sel(COPIED, TAPS, 0)" },
    { "kept_down", "ftype", "sel(COPIED and rank == 'separable', 2 * ry + 1, 0)" },
    { "kept_deep", "ftype", "sel(COPIED and rank == 'separable', 2 * rz + 1, 0)" },
  },

  algorithms = { basic = BASIC, constant = CONSTANT, tile_input = TILE_INPUT, tile_output = TILE_OUTPUT,
    cached_halo = CACHED_HALO, register = REGISTER, separable = SEPARABLE },

  reference = {
    stages = {
      { kernel = "reference", grid = "max(1, min(65536, ceildiv(MX * MY * MZ, 256)))", block = 256,
        args = { "nx", "ny", "nz", "rx", "ry", "rz", { "i32", "MX" }, { "i32", "MY" }, { "i32", "MZ" }, "x", "ldx", "f",
          "fy", "fz", "y", "ldy", "magnitude" } },
    },
    workspace = { { "magnitude", "f64", "(roundup(max(1, MX), align) + 128) * max(0, MY * MZ - 1) + MX" } },
    source = "conv3d_reference.cu",
  },

  cases = { {}, { ldx = "roundup(max(1, nx), align) + align", ldy = "roundup(max(1, " .. MX .. "), align) + align" } },

  -- Each of the products and sums rounds by at most half a unit of the sum of magnitudes, products of three taps by two
  -- more; of an f16, both results round once more.
  tolerance = { bound = "magnitude", abs = "sel(dtype == 'f16', 2^-24, 0)",
    factor = "((2 * rx + 1) * (2 * ry + 1) * (2 * rz + 1) + 4) * sel(dtype == 'f64', 2^-52, 2^-24) "
      .. "+ sel(dtype == 'f16', 2^-10, 0)" },

  flops = "2 * sel(rank == 'full', TAPS, 2 * rx + 2 * ry + 2 * rz + 3) * MX * MY * MZ",
  bytes = "(nx * ny * nz + MX * MY * MZ) * NBYTES",

  sizes = {
    emu = { "nx=40 ny=9 nz=7 ry=0", "nx=3 ny=2 nz=2 rx=3 border=mirror", "nx=0 ny=5 nz=3",
      "nx=21 ny=12 nz=8 rx=1 ry=2 rz=0 border=valid dtype=f16",
      "nx=24 ny=9 nz=7 rx=2 ry=1 rz=1 rank=separable taps=host",
      "nx=20 ny=7 nz=5 rx=0 ry=1 rz=2 border=replicate dtype=f64 rank=separable" },
    test = { "nx=1 ny=1 nz=1", "nx=5 ny=0", "nx=4 ny=9 nz=3 rx=2 border=valid", "nx=101 ny=77 nz=53",
      "nx=128 ny=60 nz=40 rx=3 border=mirror taps=host", "nx=65 ny=64 nz=63 rx=2 rz=4 border=valid",
      "nx=99 ny=51 nz=37 rx=3 ry=1 border=replicate dtype=f64", "nx=160 ny=120 nz=80 dtype=f16",
      "nx=100 ny=90 nz=80 rx=4 rank=separable" },
    bench = { "nx=256 rx=1", "nx=256 rx=2", "nx=256 rx=3", "nx=512 rx=1", "nx=512 rx=2", "nx=512 rx=3" },
  },
}
