-- quadtree: n points in a box, sorted into a tree of quadrants.
--
-- A node of more than min_points points, less than max_depth levels below the root, has four children, one for each
-- quadrant of its box; a point on the line between two belongs to the right or upper one. Boxes are those of a grid of
-- 2^max_depth by 2^max_depth cells, so that the bits of a point's cell, those of x and y in turn, name its way down
-- from the root. A node is four numbers: its way (1, then two bits a level: 2 for the upper half, 1 for the right one),
-- the first of its points in `permutation`, how many there are, and the first of its children, or -1. The order of
-- nodes and of a leaf's points is up to the algorithm (ALG):
--   device_launch  a block a node, which counts quadrants, moves its points and launches a grid for its children
--   levels         three launches a level: THICK points a block are counted, places given out, points moved
--   morton         points are sorted by their way; then, level by level, nodes look for where quadrants begin

local INNER = "max(1, n // (min_points + 1))" -- nodes of a level that have children, at most
local SPLITS = {} -- of all levels
for level = 0, 14 do
  SPLITS[#SPLITS + 1] = ("sel(max_depth > %d, min(%d, %s), 0)"):format(level, 4^level, INNER)
end
SPLITS = "(" .. table.concat(SPLITS, " + ") .. ")"
local NODES = "(1 + 4 * " .. SPLITS .. ")"
local OF_LEVEL = "min(2^(2 * level), 4 * " .. INNER .. ")" -- nodes of a level, at most
local SORTS = "max(1, ceildiv(2 * max_depth, 8))" -- passes of 8 bits
local TILES = "ceildiv(n, TILE)"
local CHUNKS = "(n // THICK + " .. INNER .. ")" -- of a level's nodes, at most

local function POINTS(part)
  return { "points", "cluster", parts = part, size = { 1, 1 }, seed = 1, clusters = "sel(density == 'cluster', 16, 1)",
    spread = "sel(density == 'uniform', 1, sel(density == 'equal', 0, 0.02))" }
end

local WAYS = { kernel = "quadtree_ways", grid = "max(1, min(ceildiv(n, BLOCK), 16 * dev_sms))", block = "BLOCK",
  args = { "n", "x", "y", "max_depth", "left", "bottom", "width", "height", "ways", "points", "state", "nodes",
    "node_count" } }

local DEVICE_LAUNCH = {
  space = {
    { "POOL", { 2048, 2^14, 2^17 }, "launches by kernels that may be pending" },
    { "LAUNCH", { "forget", "tail" },
      "whether grids start when they can, or one after the other when the launching grid has ended" },
  },
  derive = { { "SPLITS", SPLITS } },
  require = {
    { "launches by kernels need nvJitLink and libcudadevrt.a", "dev_links == 1" },
    { "POOL is below the nodes that may have children", "SPLITS <= POOL" },
    { "the root is one block's work: other algorithms are for n > 2^22", "n <= 2^22" },
  },
  default = { POOL = 2048, LAUNCH = "forget" },
  source = "quadtree_launch.cu",
  stages = {
    { memset = "state", value = 0 },
    WAYS,
    { kernel = "quadtree_node", grid = 1, block = "BLOCK", pool = "POOL",
      args = { { "i32", 0 }, { "i32", 0 }, "n", "min_points", "max_depth", "state", "ways", "points", "nodes",
        "node_count", "permutation" } },
  },
}

local LEVELS = {
  space = { { "THICK", { 1024, 2048, 4096, 8192 }, "points that a block counts and moves" } },
  default = { THICK = 2048 },
  source = "quadtree_levels.cu",
  workspace = {
    { "active", "u32", "2 * " .. INNER }, -- nodes with children, of this level and the next
    { "cursors", "u32", "4 * " .. INNER }, -- where the points of each quadrant go
    { "chunks", "u32", "4 * " .. CHUNKS }, -- (place in active, part) of this level and the next
  },
  stages = {
    { memset = "state", value = 0 },
    WAYS,
    { kernel = "quadtree_root", grid = "max(1, min(ceildiv(n, BLOCK), 16 * dev_sms))", block = "BLOCK",
      args = { "n", "min_points", "max_depth", "state", "nodes", "node_count", "permutation", "active", "chunks" } },
    { loop = { times = "max_depth", index = "level" }, stages = {
      { kernel = "quadtree_count", grid = "max(1, min(" .. CHUNKS .. ", 64 * dev_sms))", block = "BLOCK",
        args = { { "i32", "level" }, "n", "max_depth", { "i32", INNER }, { "i32", CHUNKS }, "ways", "nodes", "active",
          "chunks", "state" } },
      { kernel = "quadtree_places", block = "BLOCK",
        grid = "max(1, min(ceildiv(min(2^(2 * level), " .. INNER .. "), BLOCK), 8 * dev_sms))",
        args = { { "i32", "level" }, "min_points", "max_depth", { "i32", INNER }, { "i32", CHUNKS }, "nodes",
          "node_count", "active", "state", "cursors", "chunks" } },
      { kernel = "quadtree_move", grid = "max(1, min(" .. CHUNKS .. ", 64 * dev_sms))", block = "BLOCK",
        args = { { "i32", "level" }, "n", "max_depth", { "i32", INNER }, { "i32", CHUNKS }, "ways", "points", "nodes",
          "active", "cursors", "chunks", "state", "permutation" } },
    } },
  },
}

local MORTON = {
  space = {
    { "ITEMS", { 4, 8, 10, 12, 16 }, "points of a thread that sorts" },
    { "RESIDENT", { 1, 2, 3 }, "blocks on a multiprocessor that registers must suffice for while sorting" },
    { "LOOK", { 1, 4, 8 }, "tiles before its own that a block looks at together" },
    { "LANES", { 4, 8, 16, 32 }, "lanes that look for a node's quadrants" },
    { "BUILD", { "launches", "grid" }, "a launch a level, or one with barriers of all blocks" },
  },
  derive = {
    { "TILE", "BLOCK * ITEMS" },
    { "SMEM", "8 * TILE" },
    { "WIDE", "4" }, -- bytes of a count (tile_state.cuh)
    { "DELAY", "0" },
  },
  require = {
    { "ALG=morton needs BLOCK >= 256, a thread a digit", "BLOCK >= 256" },
    { "the tile exceeds the shared memory of a block", "SMEM + 32 * BLOCK + 2048 <= dev_smem_block" },
    { "RESIDENT blocks exceed the threads or the shared memory of a multiprocessor",
      "RESIDENT * BLOCK <= dev_threads_sm and "
        .. "RESIDENT * (SMEM + 32 * BLOCK + 2048 + dev_smem_reserved) <= dev_smem_sm" },
    { "BUILD=grid needs two blocks of BLOCK threads on a multiprocessor",
      "BUILD == 'launches' or 2 * BLOCK <= dev_threads_sm" },
  },
  default = { ITEMS = 8, RESIDENT = 1, LOOK = 4, LANES = 8, BUILD = "launches" },
  source = "quadtree_morton.cu",
  workspace = {
    { "words", "u64", "256 * " .. TILES },
    { "counter", "u64", 1 },
    { "barrier", "u64", 1 },
  },
  stages = {
    { memset = "state", value = 0 },
    WAYS,
    { loop = { times = SORTS, index = "pass" }, stages = {
      { kernel = "quadtree_sort", grid = TILES, block = "BLOCK", smem = "SMEM", overlap = "EARLY",
        args = { { "i32", "pass" }, { "i32", SORTS }, "n", "ways", "points", "permutation", "state", "words",
          "counter" } },
    } },
    { loop = { times = "max_depth + 1", index = "level" }, when = "BUILD == 'launches'", stages = {
      { kernel = "quadtree_split", block = "BLOCK", overlap = "EARLY",
        grid = "sel(level == max_depth, 1, min(ceildiv(" .. OF_LEVEL .. " * LANES, BLOCK), 16 * dev_sms))",
        args = { { "i32", "level" }, { "i32", SORTS }, "n", "min_points", "max_depth", "ways", "nodes", "node_count",
          "state" } },
    } },
    { kernel = "quadtree_split_all", when = "BUILD == 'grid'", block = "BLOCK", cooperative = true,
      grid = "min(ceildiv(4 * " .. INNER .. " * LANES, BLOCK), 2 * dev_sms)",
      args = { { "i32", SORTS }, "n", "min_points", "max_depth", "ways", "nodes", "node_count", "state", "barrier" } },
  },
}

return {
  name = "quadtree",
  version = 1,
  brief = "n points in a box, sorted into a tree of quadrants",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 21",

  problem = {
    { "n", 0, 2^28, default = 2^20, brief = "points" },
    { "min_points", 1, 2^20, default = 32, brief = "points of a leaf at most, above max_depth" },
    { "max_depth", 0, 15, default = 12, brief = "levels below the root at most" },
    { "density", { "uniform", "cluster", "equal" }, class = true, default = "uniform", brief = "points in tests" },
  },

  args = {
    { "n", "i32", value = "n" },
    { "x", "f32", "in", count = "n", fill = POINTS "x" },
    { "y", "f32", "in", count = "n", fill = POINTS "y" },
    { "min_points", "i32", value = "min_points" },
    { "max_depth", "i32", value = "max_depth" },
    { "left", "f32", sample = 0, brief = "of the box; points outside of it are taken to be in the nearest cell" },
    { "bottom", "f32", sample = 0 },
    { "width", "f32", sample = 1 },
    { "height", "f32", sample = 1 },
    { "nodes", "i32", "out", count = "4 * " .. NODES,
      brief = "way, first point, points, first child of each; the root first. Room for 1 + 4 s, s being the sum of "
        .. "min(4^l, n / (min_points + 1)) over l < max_depth" },
    { "node_count", "i32", "out", count = 1, brief = "-1, and no tree, if a coordinate is not a number" },
    { "permutation", "i32", "out", count = "n", brief = "which points are in leaf after leaf" },
  },

  call = { "n", "x", "y", "min_points", "max_depth", "left", "bottom", "width", "height", "nodes", "node_count",
    "permutation" },

  space = {
    { "ALG", { "device_launch", "levels", "morton" }, "how nodes are made" },
    { "BLOCK", { 128, 256, 512 }, "threads per block" },
  },
  derive = {
    { "PAIRS", "ALG ~= 'morton'" }, -- the first launch writes numbers of points beside their ways
    { "DIGITS", "sel(ALG == 'morton', 4, 0)" }, -- else counts of digits, for so many passes
    { "EARLY", "dev_cc >= 90" },
  },
  require = { { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" } },
  default = { ALG = "morton", BLOCK = 256 },
  textbook = { { ALG = "device_launch", BLOCK = 128, POOL = 2048, LAUNCH = "forget" },
    { ALG = "device_launch", BLOCK = 128, POOL = 2^17, LAUNCH = "forget" }, { ALG = "levels", BLOCK = 128 } },
  untuned = {
    { when = "n <= 2^18", ALG = "morton", BLOCK = 256, ITEMS = 8, LOOK = 8, LANES = 32, BUILD = "grid" },
    { when = "n <= 2^22", ALG = "morton", BLOCK = 512, ITEMS = 8, RESIDENT = 2, LANES = 8, BUILD = "grid" },
    { when = "n > 2^22", ALG = "morton", BLOCK = 512, ITEMS = 12, RESIDENT = 2, LANES = 8 },
  },

  options = { { "-rdc=true", when = "ALG == 'device_launch'" } },

  workspace = {
    { "ways", "u32", "2 * n" }, -- two buffers, of ways and of points
    { "points", "u32", "2 * n" },
    { "state", "u32", "128 + 256 * DIGITS" }, -- quadtree_ways.cuh
  },

  algorithms = { device_launch = DEVICE_LAUNCH, levels = LEVELS, morton = MORTON },

  -- Any order of nodes and of a leaf's points is right.
  reference = { source = "quadtree_checks.cu" },
  checks = {
    { "each point once", of = "permutation", workspace = { { "times", "u32", "n" } }, stages = {
      { kernel = "mark_points", grid = "ceildiv(n, 256)", block = 256,
        args = { "n", "permutation", "times", "wrong" } },
      { kernel = "are_one", grid = "ceildiv(n, 256)", block = 256, args = { "n", "times", "wrong" } } } },
    { "counts of children add up", of = { "nodes", "node_count" },
      workspace = { { "parents", "u32", NODES }, { "inner", "u32", 1 } }, stages = {
      { kernel = "check_nodes", grid = "8 * dev_sms", block = 256,
        args = { "n", "min_points", "max_depth", "nodes", "node_count", "parents", "inner", "wrong" } },
      { kernel = "check_parents", grid = "8 * dev_sms", block = 256,
        args = { "node_count", "parents", "inner", "wrong" } } } },
    { "points are in their boxes", of = { "nodes", "node_count", "permutation" }, kernel = "check_boxes",
      grid = "ceildiv(n, 256)", block = 256,
      args = { "n", "x", "y", "max_depth", "left", "bottom", "width", "height", "nodes", "node_count", "permutation",
        "wrong" } },
  },
  cases = { {}, { left = -0.5, bottom = 0.25, width = 2, height = 0.5 } },

  tolerance = { abs = 0, rel = 0 },
  flops = "0",
  -- coordinates and permutation, and the nodes of a full tree
  bytes = "12 * n + 16 * min(" .. NODES .. ", 4 * n // min_points)",

  sizes = {
    emu = { "n=900", "n=0", "n=300 min_points=1 max_depth=4 density=cluster", "n=100 density=equal max_depth=3",
      "n=40 max_depth=0" },
    test = { "n=0", "n=1", "n=33", "n=10007", "n=2^16 density=cluster",
      "n=65537 min_points=1 max_depth=15 density=cluster", "n=100000 density=equal", "n=1000003 max_depth=8", "n=2^22",
      "n=1000 max_depth=0" },
    bench = { "n=2^16", "n=2^20", "n=2^24", "n=2^26", "n=2^20 density=cluster", "n=2^24 density=cluster" },
  },
}
