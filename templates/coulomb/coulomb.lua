-- coulomb: the electric potential of point charges at the points of a grid, added to energy: the sum of q/r over all
-- atoms, or over those within a cutoff.
--
-- ALG is the ladder of the cited book, ch. 18: scatter gives each thread an atom, gather a point, coarse several points
-- of a line, which share what is the same across it. bins, for a cutoff, sorts atoms into cubes first.
-- A pair costs one reciprocal square root by the special function unit, 16 a cycle and multiprocessor, while there is
-- time for eight other instructions and four are needed: MIXED computes some of the roots with the rest.
--
-- The text depends on whether there is a cutoff, and on whether there is one plane (FLAT), not on other sizes.

local POINTS_ALL, HALO = "nx * ny * nz", "(reach + 1)"
local function join(...)
  local all = {}
  for _, list in ipairs { ... } do
    for _, one in ipairs(list) do all[#all + 1] = one end
  end
  return all
end
local GRID = { "nx", "ny", "nz", "spacing", "x0", "y0", "z0" }
local GENERAL = join(GRID, { "soften", "cutoff" })
local SOME = "n > 0 and " .. POINTS_ALL .. " > 0"

-- ---- all pairs ----------------------------------------------------------------------------------

local CHUNKED = "ATOMS == 'constant'"
local COUNT = "sel(" .. CHUNKED .. ", min(CHUNK, n - CHUNK * chunk), n)" -- atoms of a launch
local PART = { constant = "part", from = "atoms", when = CHUNKED, from_at = "16 * CHUNK * chunk",
  nbytes = "16 * " .. COUNT }
-- Parts of the atoms one after the other, if they are in constant memory.
local function chunks(stages)
  return { loop = { times = "CHUNKS", index = "chunk" }, when = SOME, stages = join({ PART }, stages) }
end

local SCATTER = {
  require = {
    { "ALG=scatter reads an atom a thread", "ATOMS == 'global' or " .. CHUNKED },
  },
  source = "coulomb_scatter.cu",
  stages = { chunks { { kernel = "coulomb", grid = "ceildiv(" .. COUNT .. ", BLOCK_X)", block = "BLOCK_X",
    early = "EARLY", args = join(GENERAL, { { "i32", COUNT }, "atoms", "energy" }) } } },
}

-- The launches of gather and coarse where `when` holds, of which one runs; `list` holds the atoms.
local function lines(when, list)
  local args = join(GENERAL, { { "i32", COUNT }, list, { "i64", "PITCH" }, "energy" })
  local pairs_all = "(GROUPS * " .. COUNT .. ")"
  local blocks = "sel(FILL == 0, GROUPS, min(dev_sms * FILL, ceildiv(" .. pairs_all .. ", 32)))"
  local function launch(condition, grid, more)
    return { kernel = "coulomb", when = when .. " and " .. condition, grid = grid, block = { "BLOCK_X", "BLOCK_Y" },
      early = "EARLY", overlap = "EARLY and ATOMS == 'soa'", args = join(args, more) }
  end
  return {
    launch("MAP == 'grid'", { "ceildiv(nx, BLOCK_X * sel(AXIS == 'x', POINTS, 1))",
      "ceildiv(ny, BLOCK_Y * sel(AXIS == 'y', POINTS, 1))", "ceildiv(nz, sel(AXIS == 'z', POINTS, 1))" }, {}),
    launch("MAP == 'flat' and FINISH == 'atomics'", blocks,
      { { "i64", pairs_all }, { "i64", "ceildiv(" .. pairs_all .. ", " .. blocks .. ")" } }),
    launch("MAP == 'flat' and FINISH == 'parts'", "GROUPS * PARTS",
      { { "u32", "GROUPS" }, { "i32", "ceildiv(n, PARTS)" }, "partial" }),
  }
end

local DIRECT = {
  derive = {
    { "COLUMNS", "sel(AXIS == 'x', ceildiv(nx, POINTS), nx) * sel(AXIS == 'y', ceildiv(ny, POINTS), ny) "
      .. "* sel(AXIS == 'z', ceildiv(nz, POINTS), nz)" },
    { "GROUPS", "ceildiv(COLUMNS, BLOCK_X * BLOCK_Y)" },
    { "PITCH", "roundup(n, 4)" },
    -- blocks on a multiprocessor: the compiler takes the registers that they leave
    { "RESIDENT", "max(1, min(sel(FILL == 0, 4, FILL), dev_threads_sm // (BLOCK_X * BLOCK_Y), dev_blocks_sm))" },
    -- of the atoms, with FINISH=parts
    { "PARTS", "max(1, min(ceildiv(n, 32), ceildiv(dev_sms * FILL, max(1, GROUPS))))" },
  },
  require = {
    { "ALG=coarse has several points a thread", "ALG == 'gather' or POINTS > 1" },
    { "a block of MAP=grid is one point thick", "MAP == 'flat' or POINTS == 1 or AXIS ~= 'z' or PLACE == 'adjacent'" },
    { "there are more columns of points than a grid may have", "MAP == 'grid' or COLUMNS < 2^31 - 1024" },
    { "FINISH=parts needs FILL", "FINISH == 'atomics' or FILL > 0" },
    { "FINISH=parts has all atoms in one launch", "FINISH == 'atomics' or ATOMS ~= 'constant'" },
    { "CHUNK atoms exceed the shared memory of a block", "ATOMS ~= 'shared' or CHUNK <= 2048" },
    { "UNROLL * POINTS exceeds 128", "UNROLL * POINTS <= 128" },
    { "MIXED needs UNROLL * POINTS to be a multiple of 16", "MIXED == 0 or UNROLL * POINTS % 16 == 0" },
    { "MIXED and SKIP need ROOT=rsqrt", "ROOT == 'rsqrt' or MIXED == 0 and SKIP == 0" },
  },
  source = "coulomb_direct.cu",
  workspace = {
    { "arrays", "f32", "sel(ATOMS == 'soa', 4 * PITCH, 0)" },
    { "partial", "f32", "sel(FINISH == 'parts' and PARTS > 1, PARTS * " .. POINTS_ALL .. ", 0)" },
  },
  stages = {
    { kernel = "coulomb_split", when = "ATOMS == 'soa' and " .. SOME, grid = "ceildiv(n, 256)", block = 256,
      early = "EARLY", args = { { "i32", "n" }, "atoms", { "i64", "PITCH" }, "arrays" } },
    chunks(join(lines("ATOMS == 'soa'", "arrays"), lines("ATOMS ~= 'soa'", "atoms"))),
    { kernel = "coulomb_finish", when = "FINISH == 'parts' and PARTS > 1 and " .. SOME, overlap = "EARLY",
      grid = "ceildiv(" .. POINTS_ALL .. ", 256)", block = 256,
      args = { { "i64", POINTS_ALL }, { "i32", "PARTS" }, "partial", "energy" } },
  },
}

-- ---- bins ---------------------------------------------------------------------------------------

local function bins_along(n) return ("ceildiv(%s + 2 * %s, SIDE)"):format(n, HALO) end
local function of_atoms(kernel, when, args, overlap)
  return { kernel = kernel, when = SOME .. " and " .. when, overlap = overlap, grid = "ceildiv(n, 256)", block = 256,
    args = join(GRID, { { "i32", HALO }, { "i32", "n" }, "atoms" }, args) }
end
local PACKED, SLOTS = "BINS == 'packed'", "BINS == 'slots'"
local BINS = {
  space = {
    { "BINS", { "packed", "slots" }, "atoms one behind the other, or CAPACITY in each bin and a list of the rest" },
    { "CAPACITY", { 4, 8, 16, 32, 64, 128 }, "atoms that a bin has room for", when = SLOTS },
    { "SIDE", { 2, 4, 6, 8, 12, 16, 24, 32, 64 }, "grid steps of a bin's side" },
    { "WARPS", { 1, 2, 4, 8 }, "warps per block, each with points of its own" },
    { "LANES_X", { 4, 8, 16, 32 }, "threads of a warp along x" },
    { "RESIDENT_WARPS", { 8, 16, 24, 32, 48 }, "warps on a multiprocessor that registers are limited for" },
  },
  default = { BINS = "packed", CAPACITY = 16, SIDE = 8, WARPS = 4, LANES_X = 8, RESIDENT_WARPS = 16 },
  derive = {
    { "RESIDENT", "RESIDENT_WARPS // WARPS" },
    { "BINS_X", bins_along("nx") }, { "BIN_ROWS", bins_along("ny") .. " * " .. bins_along("nz") },
    -- of all bins: where they begin or what they hold
    { "NUMBERS", "(BINS_X + sel(" .. PACKED .. ", 1, 0)) * BIN_ROWS" },
    { "PLACES", "sel(" .. PACKED .. ", n, BINS_X * BIN_ROWS * CAPACITY)" },
    { "BOXES", "ceildiv(nx, LANES_X) * ceildiv(ny, sel(AXIS == 'y', POINTS, 32 // LANES_X)) "
      .. "* ceildiv(nz, sel(AXIS == 'z', POINTS, 32 // LANES_X))" },
  },
  require = {
    { "RESIDENT_WARPS exceeds the blocks or threads of a multiprocessor",
      "RESIDENT <= dev_blocks_sm and 32 * RESIDENT_WARPS <= dev_threads_sm" },
    { "ALG=bins needs a cutoff", "range == 'cutoff'" },
    { "points of ALG=bins are in lines along y or z", "AXIS ~= 'x'" },
    { "points of ALG=bins are adjacent", "PLACE == 'adjacent'" },
    { "there are more than 2^30 bins, or 2^31 places in them", "NUMBERS <= 2^30 and PLACES < 2^31" },
    { "there are more boxes of points than a grid may have", "BOXES < 2^31" },
    { "UNROLL * POINTS exceeds 128", "UNROLL * POINTS <= 128" },
    { "MIXED needs UNROLL * POINTS to be a multiple of 16", "MIXED == 0 or UNROLL * POINTS % 16 == 0" },
    { "reproducible=run needs BINS=packed", "reproducible == 'any' or " .. PACKED },
  },
  source = "coulomb_bins.cu",
  workspace = {
    { "begin", "u32", "NUMBERS + 1" }, -- and a counter of what is taken
    { "rank", "u32", "sel(" .. PACKED .. ", n, 0)" },
    { "sorted", "f32", "4 * PLACES" }, { "spilled", "f32", "sel(" .. PACKED .. ", 0, 4 * n)" },
  },
  stages = {
    { memset = "begin", value = 0, nbytes = "4 * (NUMBERS + 1)", when = SOME },
    of_atoms("coulomb_count", PACKED, { "begin", "rank" }),
    { kernel = "coulomb_layout", when = SOME .. " and " .. PACKED, grid = "ceildiv(BIN_ROWS, 8)", block = 256,
      overlap = "EARLY", args = { { "i32", "BINS_X" }, { "i32", "BIN_ROWS" }, "begin", { "i64", "NUMBERS" } } },
    of_atoms("coulomb_sort", PACKED, { "begin", "rank", "sorted" }, "EARLY"),
    { kernel = "coulomb_order", when = SOME .. " and reproducible ~= 'any'", grid = "ceildiv(NUMBERS, 256)",
      block = 256, overlap = "EARLY", args = { { "i32", "BINS_X" }, { "i64", "NUMBERS" }, "begin", "sorted" } },
    { memset = "sorted", value = 126, nbytes = "16 * PLACES", when = SOME .. " and " .. SLOTS }, -- 8e37
    of_atoms("coulomb_slots", SLOTS, { "begin", { "i64", "NUMBERS" }, "sorted", "spilled" }),
    { kernel = "coulomb", when = SOME, grid = "ceildiv(BOXES, WARPS)", block = "32 * WARPS", overlap = "EARLY",
      args = join(GENERAL, { { "i32", HALO }, "begin", { "i64", "NUMBERS" }, "sorted", "spilled", "energy",
        { "u32", "BOXES" } }) },
  },
}

-- ---- suggestions --------------------------------------------------------------------------------

-- For sizes without a tuned result: lines of points along the last extent that they nearly divide; with a cutoff, bins
-- where all pairs would take longer than binning.
local SUGGESTED = {}
local function suggest(when, config)
  config.when = when
  SUGGESTED[#SUGGESTED + 1] = config
end
local function divides(points, axis)
  return ("(ceildiv(n%s, %d) * %d * 15 <= n%s * 16)"):format(axis, points, points, axis)
end
local MANY = "reach > 0 and n > 512 and " .. POINTS_ALL .. " * n > 2^27 and "
for _, points in ipairs { 8, 4, 2, 1 } do
  local when = MANY .. ("%s >= %d and "):format(POINTS_ALL, points > 1 and points * 2^16 or 0)
  local bins = { ALG = "bins", AXIS = "z", POINTS = points, UNROLL = 16 // points, LANES_X = 8,
    RESIDENT_WARPS = 24 }
  suggest(when .. (points > 1 and divides(points, "z") or "nz > 1"), bins)
  if points > 1 then
    suggest(when .. "nz == 1 and " .. divides(points, "y"),
      { ALG = "bins", AXIS = "y", POINTS = points, UNROLL = 16 // points, LANES_X = 32, RESIDENT_WARPS = 24 })
  end
end
-- Lines of 8 points where there are pairs enough; small blocks where there are few lines.
for _, points in ipairs { 8, 4, 2 } do
  for _, axis in ipairs { "z", "y", "x" } do
    local when = ("n > 64 and %s >= %d and %s * n >= %d and %s"):format(POINTS_ALL, points * 512, POINTS_ALL,
      points * 2^21, divides(points, axis))
    local function lines(condition, block, fill, mixed, finish)
      suggest(when .. condition, { ALG = "coarse", AXIS = axis, POINTS = points,
        PLACE = axis == "x" and "apart" or "adjacent", UNROLL = 32 // points, MAP = "flat", ATOMS = "shared",
        CHUNK = 256, BLOCK_X = block, FILL = fill, MIXED = mixed, FINISH = finish or "atomics" })
    end
    lines((" and %s < %d"):format(POINTS_ALL, points * 2^13), 32, 16, 3)
    lines("", 128, 4, 3)
    lines("", 128, 4, 3, "parts") -- where results are reproducible
    lines("", 128, 0, 0)
  end
end
for _, way in ipairs { { 16, "atomics" }, { 16, "parts" }, { 0, "atomics" } } do
  suggest("n > 64", { ALG = "gather", MAP = "flat", ATOMS = "shared", CHUNK = 256, UNROLL = 8, BLOCK_X = 64,
    FILL = way[1], FINISH = way[2] })
end

local DEPTH = "max(0.5 * nz, 40 * n / max(1, nx * ny))" -- of the box that test data are in, of the density of water
local VOLUME = "(max(1, nx) * max(1, ny) * max(1, 2 * " .. DEPTH .. "))"
-- Pairs that count: the share of pairs of points in a box that are less than the cutoff apart.
local INSIDE = POINTS_ALL .. " * n * sel(reach == 0, 1, max(0, min(1, (4.18879 * reach^3 - 1.5708 * reach^4 * "
  .. "(1 / max(1, nx) + 1 / max(1, ny) + 1 / max(1, nz)) + 0.5333 * reach^5 * (nx + ny + nz) / " .. VOLUME .. ") / "
  .. VOLUME .. ")))"
local ERROR = "(8 + min(n, 16 + 8 * sqrt(n))) * 2^-24"

return {
  name = "coulomb",
  version = 1,
  brief = "adds the electric potential of point charges to the points of a grid",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 18; "
    .. "Rodrigues, Hardy, Stone, Schulten, Hwu, GPU acceleration of cutoff pair potentials, 2008",

  problem = {
    { "nx", 0, 65535, default = 256, brief = "points of a row" },
    { "ny", 0, 65535, default = "nx", brief = "rows" },
    { "nz", 0, 65535, default = 1, brief = "planes" },
    { "n", 0, 2^30, default = "max(1, nx * ny * nz // 80)", brief = "atoms" },
    { "reach", 0, 2^15, default = 0, brief = "grid steps that the cutoff is at most; 0: all pairs count" },
    { "range", { "all", "cutoff" }, default = "sel(reach > 0, 'cutoff', 'all')",
      brief = "all pairs, or those within a cutoff" },
    { "align", { 4, 2, 1 }, default = 4, brief = "floats that atoms is aligned to" },
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: of a point also whatever the rest of the grid "
        .. "and the alignment" },
  },

  args = {
    { "nx", "i32", value = "nx" }, { "ny", "i32", value = "ny" }, { "nz", "i32", value = "nz" },
    { "spacing", "f32", sample = 0.5, brief = "a grid step, above 0" },
    { "x0", "f32", sample = 0.125, brief = "the first point" },
    { "y0", "f32", sample = 0.125 }, { "z0", "f32", sample = 0.125 },
    { "n", "i32", value = "n" },
    { "atoms", "f32", "in", count = "4 * n", brief = "x, y, z and charge of each",
      fill = { "atoms", "water", parts = "xyzq", size = { "max(0.5, 0.5 * nx)", "max(0.5, 0.5 * ny)", DEPTH } } },
    { "cutoff", "f32", sample = "0.5 * reach", brief = "distance up to which pairs count; 0: all do" },
    { "soften", "f32", sample = 0, brief = "is squared and added to squares of distances" },
    { "energy", "f32", "inout", count = POINTS_ALL, brief = "is added to; infinite at an atom, unless softened",
      fill = { "uniform", -1, 1 } },
  },

  call = { "nx", "ny", "nz", "spacing", "x0", "y0", "z0", "n", "atoms", "cutoff", "soften", "energy",
    -- rounded up
    reach = "max(0, cutoff // spacing) + sel(max(0, cutoff // spacing) * spacing < cutoff, 1, 0)",
    range = "sel(cutoff > 0, 'cutoff', 'all')", align = "pow2div(atoms // 4, 4)" },
  call_require = {
    { "spacing is above 0", "spacing > 0" },
    { "cutoff is at least 0", "cutoff >= 0" },
  },

  space = {
    { "ALG", { "scatter", "gather", "coarse", "bins" },
      "an atom a thread, a point, several points, or these with atoms in bins" },
    { "POINTS", { 1, 2, 4, 8, 16 }, "coarsening factor: points a thread", when = "ALG == 'coarse' or ALG == 'bins'" },
    { "AXIS", { "x", "y", "z" }, "what the points of a thread are in a line along", when = "POINTS > 1" },
    { "PLACE", { "adjacent", "apart" }, "the points of a thread: side by side, or those of others between them",
      when = "POINTS > 1" },
    { "MAP", { "grid", "flat" }, "blocks are rectangles of the grid, or take points by their number",
      when = "ALG == 'gather' or ALG == 'coarse'" },
    { "FILL", { 0, 1, 2, 4, 8, 16 },
      "blocks per multiprocessor that share all pairs evenly; 0: a block has all atoms of its points",
      when = "MAP == 'flat'" },
    { "FINISH", { "atomics", "parts" }, "how such blocks' sums meet: by atomics, or added in order by another launch",
      when = "MAP == 'flat'" },
    { "ATOMS", { "global", "constant", "shared", "soa" },
      "the memory that atoms are read from; soa: global, an array for each coordinate", when = "ALG ~= 'bins'" },
    { "CHUNK", { 64, 128, 256, 512, 1024, 2048, 4096 }, "atoms of a launch in constant memory, or of a tile",
      when = "ATOMS == 'constant' or ATOMS == 'shared'" },
    { "BLOCK_X", { 16, 32, 64, 128, 256 }, "threads of a block's row", when = "ALG ~= 'bins'" },
    { "BLOCK_Y", { 1, 2, 4, 8, 16 }, "rows of threads of a block",
      when = "(ALG == 'gather' or ALG == 'coarse') and MAP == 'grid'" },
    { "UNROLL", { 1, 2, 4, 8, 16, 32 }, "atoms of an iteration", when = "ALG ~= 'scatter'" },
    { "MIXED", { 0, 1, 2, 3, 4, 5 }, "of 16 roots, those without the special function unit",
      when = "ALG ~= 'scatter'" },
    { "ROOT", { "rsqrt", "divide" }, "q times the reciprocal root, or divided by the root",
      when = "ALG == 'gather' or ALG == 'coarse'" },
    { "SKIP", { 0, 1 }, "1: no root where all points of a warp are beyond the cutoff",
      when = "range == 'cutoff' and ALG ~= 'scatter'" },
  },

  derive = {
    { "CUT", "range == 'cutoff'" }, { "ALIGN", "align" },
    { "FLAT", "nz == 1 and AXIS ~= 'z' and ATOMS == 'shared'" }, -- one z for all points: computed when a tile is loaded
    { "CHUNKS", "sel(ATOMS == 'constant', max(1, ceildiv(n, CHUNK)), 1)" },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "range=cutoff has a reach, range=all none", "(range == 'cutoff') == (reach > 0)" },
    { "BLOCK_X * BLOCK_Y exceeds the device's threads per block", "BLOCK_X * BLOCK_Y <= dev_threads_block" },
    { "a block has at least a warp of threads", "BLOCK_X * BLOCK_Y >= 32" },
    { "ALG=scatter takes seconds from 2^30 pairs on", "ALG ~= 'scatter' or " .. POINTS_ALL .. " * n < 2^30",
      advice = "search" },
    { "all pairs take a second from 2^40 on, bins do not",
      "ALG == 'bins' or range == 'all' or " .. POINTS_ALL .. " * n < 2^40", advice = "search" },
    { "CHUNK makes more launches than a loop may have", "CHUNKS <= 2048" },
    { "reproducible=run and shape exclude atomics",
      "reproducible == 'any' or ALG ~= 'scatter' and (FILL == 0 or FINISH == 'parts')" },
    -- one order of atoms and of additions
    { "reproducible=shape excludes FILL, bins, constant memory, MIXED, and lines other than along z",
      "reproducible ~= 'shape' or FILL == 0 and ALG ~= 'bins' and ATOMS ~= 'constant' and MIXED == 0 and AXIS == 'z'" },
    { "copies to constant memory need aligned atoms", "ATOMS ~= 'constant' or align == 4" },
  },

  default = { ALG = "gather", POINTS = 1, AXIS = "z", PLACE = "adjacent", MAP = "grid", FILL = 0, FINISH = "atomics",
    ATOMS = "global", CHUNK = 256, BLOCK_X = 128, BLOCK_Y = 1, UNROLL = 1, MIXED = 0, ROOT = "rsqrt", SKIP = 0 },
  -- four points that are blockDim.x apart, atoms in constant memory, charges divided by roots
  textbook = { ALG = "coarse", POINTS = 4, AXIS = "x", PLACE = "apart", MAP = "grid", ATOMS = "constant", CHUNK = 4096,
    BLOCK_X = 32, BLOCK_Y = 4, ROOT = "divide" },
  untuned = SUGGESTED,

  algorithms = { scatter = SCATTER, gather = DIRECT, coarse = DIRECT, bins = BINS },

  reference = {
    workspace = {
      { "magnitude", "f64", POINTS_ALL }, { "next", "i32", "sel(reach > 0, n, 0)" },
      { "head", "i32",
        "sel(reach > 0, (nx // (reach + 1) + 3) * (ny // (reach + 1) + 3) * (nz // (reach + 1) + 3), 0)" },
    },
    stages = {
      { memset = "head", value = 0, when = "reach > 0",
        nbytes = "4 * (nx // (reach + 1) + 3) * (ny // (reach + 1) + 3) * (nz // (reach + 1) + 3)" },
      { kernel = "link", when = "reach > 0 and " .. SOME, grid = "ceildiv(n, 256)", block = 256,
        args = join(GRID, { { "i32", "reach" }, { "i32", "n" }, "atoms", "head", "next" }) },
      { kernel = "slow", when = POINTS_ALL .. " > 0", block = 128,
        grid = "min(65536, ceildiv(" .. POINTS_ALL .. ", 128))",
        args = join(GENERAL, { { "i32", "reach" }, { "i32", "n" }, "atoms", "head", "next", "energy", "magnitude",
          { "f64", "1.25 / (" .. ERROR .. ")" } }) },
    },
    source = "coulomb_reference.cu",
  },

  cases = { {}, { x0 = -1.5, soften = 0.75 } },

  -- Each term is off by 8 * 2^-24 of itself at most (differences, squares, sums, a root of 2^-22.5, a product). A sum is
  -- off by 2^-24 of the magnitudes so far for each term in the worst case; roundings go both ways, so that the error of
  -- many is that of their root.
  tolerance = { bound = "magnitude", factor = ERROR },

  flops = "10 * " .. INSIDE,
  bytes = "16 * n + 8 * " .. POINTS_ALL,
  metrics = { { "gpairs", "flops / 10 / sec / 1e9" } },

  sizes = {
    emu = { "nx=20 ny=9 nz=3 n=50", "nx=17 ny=11 nz=9 n=150 reach=5", "nx=33 ny=5 n=41 align=1", "nx=0 n=5" },
    test = { "nx=1 n=1", "nx=1 n=0", "nx=3 ny=0 n=7", "nx=67 ny=41 n=1009", "nx=50 ny=31 nz=29 n=3001", "nx=7 n=100003",
      "nx=101 ny=97 nz=53 reach=12", "nx=129 ny=65 nz=1 n=5000 reach=24", "nx=40 nz=40 n=2003 reach=100 align=1" },
    bench = { "nx=512 n=40000", "nx=256 nz=256 n=100000", "nx=200 nz=200 reach=24" },
  },
}
