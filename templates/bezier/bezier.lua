-- bezier: points on quadratic curves, as many on each as its curvature asks for, one curve's behind the other's.
--
-- A curve of control points P0, P1, P2 gets min(max_points, max(4, floor(16 c))) points, c being the distance of P1
-- from the middle between P0 and P2 over the distance of these two, at equal steps of t:
-- B(t) = (1-t)^2 P0 + 2 (1-t) t P1 + t^2 P2. Where a curve's points begin is the sum of the counts before it: blocks
-- count those of BLOCK curves and get the sum of the blocks before by look-back. ALG says who computes points then:
--   flat            the same block, in the same launch: a thread a point, or GROUP lanes a curve
--   block           a second launch, a block a curve
--   device_launch   a second launch with a thread a curve, each of which launches a grid for its points
--   device_streams  the same, each in a stream of its own
-- Grids that kernels launch wait in a pool of POOL; launches beyond it would be lost, so curves come POOL at a time.

local COUNT_BLOCKS = "max(1, ceildiv(curves, BLOCK))"

local function count(early)
  return { kernel = "bezier_flat", grid = COUNT_BLOCKS, block = "BLOCK", early = early,
    args = { "curves", "control", "max_points", "out", "starts", "words", "counter" } }
end

local LINKED = { "launches by kernels need nvJitLink and libcudadevrt.a", "dev_links == 1" }

local LAUNCHED = {
  space = {
    { "CHILD", { 32, 64, 128, 256 }, "threads per block of the grids that kernels launch" },
    { "POOL", { 2048, 4096, 2^14, 2^17 }, "launches by kernels that may be pending" },
    { "ORDER", { "forget", "block" },
      "whether the grids that a block launches run in any order, or one after the other",
      when = "ALG == 'device_launch'" },
  },
  require = { LINKED, { "POOL leaves more than 2^13 launches of the host", "curves <= 2^13 * POOL" } },
  default = { CHILD = 32, POOL = 2048, ORDER = "forget" },
  source = "bezier_launch.cu",
  stages = {
    count(),
    { loop = { times = "ceildiv(curves, POOL)", index = "batch" }, stages = {
      { kernel = "bezier_parent", block = "BLOCK", pool = "POOL",
        grid = "ceildiv(min(POOL, curves - batch * POOL), BLOCK)",
        args = { { "i64", "batch * POOL" }, { "i64", "min(curves, (batch + 1) * POOL)" }, "control", "out",
          "starts" } },
    } },
  },
}

return {
  name = "bezier",
  version = 1,
  brief = "points on quadratic Bezier curves, as many as each one's curvature asks for",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 21",

  problem = {
    { "curves", 0, 2^26, default = 2^16, brief = "curves" },
    { "max_points", 2, 2^12, default = 32, brief = "points of a curve at most" },
    { "align", { 4, 2, 1 }, default = 4, brief = "floats that out is aligned to" },
    { "shape", { "random", "equal" }, class = true, default = "random", brief = "control points in tests" },
  },

  args = {
    { "curves", "i64", value = "curves" },
    { "control", "f32", "in", count = "6 * curves", brief = "x and y of P0, P1, P2 of each",
      fill = { "uniform", "sel(shape == 'equal', 0.5, -1)", "sel(shape == 'equal', 0.5, 1)" } },
    { "max_points", "i32", value = "max_points" },
    { "out", "f32", "out", count = "2 * curves * max_points", valid = "2 * starts[curves]",
      brief = "x and y of each point; room for curves * max_points",
      shift = "sel(align < 4, 4 * align, 0)" },
    { "starts", "i64", "out", count = "curves + 1",
      brief = "where each curve's points begin; the last: how many there are",
      tolerance = { abs = 0, rel = 0 } },
  },

  call = { "curves", "control", "max_points", "out", "starts", align = "pow2div(out // 4, 4)" },

  space = {
    { "ALG", { "block", "flat", "device_launch", "device_streams" }, "who computes the points of a curve" },
    { "BLOCK", { 64, 128, 256, 512 }, "threads per block of those with a thread a curve" },
  },
  derive = {
    { "WIDE", "8" }, -- bytes of a count (tile_state.cuh)
    { "DELAY", "0" },
    { "EARLY", "dev_cc >= 90" },
  },
  require = { { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" } },
  default = { ALG = "flat", BLOCK = 256 },
  textbook = { { ALG = "device_launch", BLOCK = 64, CHILD = 32, POOL = 2048, ORDER = "block" },
    { ALG = "block", THREADS = 32 } },
  untuned = {
    { when = "align >= 2 and curves <= 2^13", ALG = "flat", BLOCK = 256, GROUP = 4, STORE = 2 },
    { when = "align == 4", ALG = "flat", BLOCK = 256, POINTS = 4, STORE = 4 },
    { when = "align == 2", ALG = "flat", BLOCK = 256, POINTS = 2, STORE = 2 },
    { when = "align == 1", ALG = "flat", BLOCK = 256, POINTS = 2, STORE = 1 },
  },

  options = { { "-rdc=true", when = "ALG == 'device_launch' or ALG == 'device_streams'" } },

  workspace = {
    { "words", "u64", "2 * " .. COUNT_BLOCKS },
    { "counter", "u64", 1 },
  },

  algorithms = {
    flat = {
      space = {
        { "GROUP", { 0, 4, 8, 16, 32 }, "lanes that share a curve; 0: a thread a point, which looks for its curve" },
        { "POINTS", { 1, 2, 4, 8 }, "neighbouring points of a thread that looks for its curve", when = "GROUP == 0" },
        { "STORE", { 1, 2, 4 }, "floats per store" },
      },
      require = {
        { "out is not aligned to STORE floats", "STORE <= align" },
        { "STORE=4 needs GROUP=0: the points of a curve begin anywhere", "STORE < 4 or GROUP == 0" },
        { "STORE=4 needs two POINTS", "STORE < 4 or POINTS > 1" },
      },
      default = { GROUP = 0, POINTS = 1, STORE = 1 },
      source = "bezier_flat.cu",
      stages = { count("EARLY") },
    },
    block = {
      space = { { "THREADS", { 32, 64, 128, 256 }, "threads per block of those with a block a curve" } },
      default = { THREADS = 32 },
      source = "bezier_block.cu",
      stages = {
        count("EARLY"),
        { kernel = "bezier_block", grid = "curves", block = "THREADS", args = { "control", "out", "starts" } },
      },
    },
    device_launch = LAUNCHED,
    device_streams = LAUNCHED,
  },

  reference = {
    workspace = { { "magnitude", "f64", "2 * curves * max_points" } },
    stages = {
      { kernel = "starts", grid = 1, block = 1024, args = { "curves", "control", "max_points", "starts" } },
      { kernel = "reference", grid = "ceildiv(curves, 256)", block = 256,
        args = { "curves", "control", "out", "starts", "magnitude" } },
    },
    source = "bezier_reference.cu",
  },

  -- t and 1 - t have two roundings each, the weights another, and a sum of three products three more: below 8 units of
  -- 2^-24 of the sum of the magnitudes.
  tolerance = { bound = "magnitude", factor = "2.0^-21" },

  -- random control points have 11.3 points in the mean with max_points = 32
  flops = "12 * curves * min(max_points, 11)",
  bytes = "curves * (32 + 8 * min(max_points, 11))",

  sizes = {
    emu = { "curves=300", "curves=0", "curves=1", "curves=97 max_points=2 align=2", "curves=150 max_points=100 align=1",
      "curves=70 shape=equal" },
    test = { "curves=0", "curves=1", "curves=4099", "curves=2^16 max_points=3", "curves=1000003 align=2",
      "curves=2^18 max_points=1000 align=1", "curves=2^20", "curves=10007 shape=equal" },
    bench = { "curves=2^12", "curves=2^14", "curves=2^16", "curves=2^18", "curves=2^20" },
  },
}
