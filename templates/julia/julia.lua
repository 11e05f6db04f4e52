-- julia: how many steps z = z^2 + c each point of the plane stays within a circle: pictures of Julia sets.
--
-- Points beside each other take different numbers of steps, and a warp lasts as long as the last of its points
-- (ALG=pixels), unless lanes whose points have left take others (ALG=queue). A step is 6 instructions, or 4 with
-- fused ones; the test whether a point has left and the count are as much again, unless STEPS steps share a test.
-- z and -z take the same steps, so half of the image is enough (SYMMETRY=point).

-- For sizes without a tuned result: the longer points may last, the longer lanes wait for others, but a lane that takes
-- one point after the other needs an image of many times as many points as the device has threads; small images need
-- all threads there are, and large ones few blocks, since some 830 of them start in a microsecond on an H200.
local SUGGESTED = {}
for _, round in ipairs { "fused", "each" } do -- fused where it is valid
  local function suggest(condition, config)
    config.when, config.ROUND = condition, round
    SUGGESTED[#SUGGESTED + 1] = config
  end
  suggest("iterations > 400 and width * height >= 2^24", { ALG = "queue", STEPS = 8, REFILL = 12, ROWS = 16,
    BLOCK_X = 32, BLOCK_Y = 4 })
  suggest("width * height <= 2^17", { SYMMETRY = "none", BLOCK_X = 16, BLOCK_Y = 16 })
  suggest("width * height > 2^22", { ROWS = 4 })
  suggest("width * height <= 2^22", { STEPS = 8, BLOCK_X = 8 })
end

return {
  name = "julia",
  version = 1,
  brief = "an image of how long z = z^2 + c stays small",
  cite = "Sanders and Kandrot, CUDA by Example, ch. 4",

  problem = {
    { "width", 0, 2^16, default = 4096, brief = "pixels of a row" },
    { "height", 0, 2^16, default = "width", brief = "rows" },
    { "iterations", 0, 2^30, default = 200, brief = "steps at most" },
    { "accuracy", { "strict", "fma" }, default = "strict", like = { fma = "strict" },
      brief = "single precision, each operation rounded or with fused ones" },
  },

  args = {
    { "width", "i32", value = "width" },
    { "height", "i32", value = "height" },
    { "iterations", "i32", value = "iterations" },
    { "cr", "f32", sample = -0.8, brief = "the real part of c, -100 to 100" },
    { "ci", "f32", sample = 0.156, brief = "its imaginary part" },
    { "scale", "f32", sample = 1.5, brief = "half of the image's height in the plane; its middle is 0" },
    { "out", "i32", "out", count = "width * height",
      brief = "steps until |z|^2 is above 1000, or iterations" },
  },

  call = { "width", "height", "iterations", "cr", "ci", "scale", "out" },
  call_require = {
    { "cr and ci are between -100 and 100", "cr >= -100 and cr <= 100 and ci >= -100 and ci <= 100" },
  },

  space = {
    { "ALG", { "pixels", "queue" }, "a thread's points until all have left, or lanes that take others then" },
    { "SYMMETRY", { "none", "point" }, "all points, or one of z and -z" },
    { "ROUND", { "each", "fused" }, "each operation rounds, or fused ones" },
    { "COUNT", { "each", "kept", "redo" },
      "a point's last steps: counted one by one, from the norms of the last STEPS, or by repeating these" },
    { "STEPS", { 1, 2, 4, 8, 16 }, "steps between tests" },
    { "BLOCK_X", { 8, 16, 32, 64, 128 }, "threads of a block's row" },
    { "BLOCK_Y", { 1, 2, 4, 8, 16, 32 }, "rows of threads of a block" },
    { "PIXELS", { 1, 2, 4, 8 }, "points a thread", when = "ALG == 'pixels'" },
    { "ROWS", { 1, 2, 4, 8, 16, 32 },
      "rows a thread, one after the other; of ALG=queue those of the tiles that a warp takes, of 32 columns" },
    { "REFILL", { 1, 4, 8, 12, 16, 24, 32 }, "lanes without a point before they get another", when = "ALG == 'queue'" },
    { "BLOCKS", { 2, 4, 8, 16 }, "blocks per multiprocessor", when = "ALG == 'queue'" },
  },

  derive = {
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "COLUMNS", "sel(SYMMETRY == 'none', width, width // 2 * 2 + 1)" },
    { "LINES", "sel(SYMMETRY == 'none', height, height // 2 + 1)" },
    { "THREADS", "BLOCK_X * BLOCK_Y" },
    { "WORK", "ceildiv(ceildiv(COLUMNS, 32) * ceildiv(LINES, ROWS), THREADS / 32)" }, -- blocks that a queue occupies
  },

  require = {
    { "BLOCK_X * BLOCK_Y exceeds the device's threads per block", "THREADS <= dev_threads_block" },
    { "a block has at least a warp of threads", "THREADS >= 32" },
    { "a grid has at most 65535 rows of blocks", "ALG == 'queue' or height <= 65535 * BLOCK_Y * ROWS" },
    { "ALG=queue needs ROWS >= 4, ALG=pixels ROWS <= 8", "sel(ALG == 'queue', ROWS >= 4, ROWS <= 8)" },
    { "ALG=queue takes rows of 32 lanes", "ALG == 'pixels' or BLOCK_X == 32" },
    { "BLOCKS blocks exceed the threads of a multiprocessor", "ALG == 'pixels' or THREADS * BLOCKS <= dev_threads_sm" },
    { "ROUND=fused needs accuracy=fma", "ROUND == 'each' or accuracy == 'fma'" },
    { "COUNT=kept takes one point at a time", "COUNT ~= 'kept' or PIXELS == 1" },
    { "COUNT makes a difference only with STEPS > 1", "STEPS > 1 or COUNT == 'kept' or PIXELS > 1 and COUNT == 'each'" },
    { "PIXELS * STEPS exceeds 64", "PIXELS * STEPS <= 64" },
  },

  default = { ALG = "pixels", SYMMETRY = "point", ROUND = "each", COUNT = "kept", STEPS = 4, BLOCK_X = 16, BLOCK_Y = 16,
    PIXELS = 1, ROWS = 1, REFILL = 16, BLOCKS = 8 },
  textbook = { SYMMETRY = "none", STEPS = 1, BLOCK_X = 16, BLOCK_Y = 16 },
  untuned = SUGGESTED,

  workspace = { { "queue", "u32", "sel(ALG == 'queue', 1, 0)" } },

  stages = {
    { kernel = "julia", when = "ALG == 'pixels' and width * height > 0", early = "EARLY",
      grid = { "ceildiv(COLUMNS, BLOCK_X * PIXELS)", "ceildiv(LINES, BLOCK_Y * ROWS)" }, block = { "BLOCK_X", "BLOCK_Y" },
      args = { "width", "height", "iterations", "cr", "ci", "scale", "out" } },
    { kernel = "julia", when = "ALG == 'queue' and width * height > 0", early = "EARLY",
      grid = "min(WORK, dev_sms * BLOCKS)", block = { "BLOCK_X", "BLOCK_Y" },
      args = { "width", "height", "iterations", "cr", "ci", "scale", "out", "queue" } },
  },

  source = "julia.cu",

  -- Counts are those of single precision without fused operations. Near the set the last bit decides within some
  -- steps: fused operations give other counts to few points of a set with an inside, and to 1 to 5 % of the points of
  -- one that is dust. So such counts are compared with those of double precision: no more of them may differ than of
  -- the strict ones, but for a few.
  reference = {
    workspace = { { "wrong", "u64", 1 }, { "strict", "u64", 1 }, { "fused", "u64", 1 } },
    counts = "wrong",
    stages = {
      { kernel = "count", grid = "min(65536, ceildiv(width * height, 128))", block = 128,
        args = { "width", "height", "iterations", "cr", "ci", "scale", "out", "wrong", "strict", "fused" } },
      { kernel = "judge", when = "accuracy == 'fma'", grid = 1, block = 1,
        args = { "width", "height", "wrong", "strict", "fused" } },
    },
    source = [[
__device__ int exact(double x, double y, int iterations, float cr, float ci) {
  int n = 0;
  for (; n < iterations && x * x + y * y <= 1000; n++) {
    const double t = x * x - y * y + cr;
    y = 2 * x * y + ci;
    x = t;
  }
  return n;
}

__device__ int single(float x, float y, int iterations, float cr, float ci) {
  int n = 0;
  for (; n < iterations && __fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)) <= 1000; n++) {
    const float t = __fadd_rn(__fsub_rn(__fmul_rn(x, x), __fmul_rn(y, y)), cr);
    y = __fadd_rn(__fmul_rn(2, __fmul_rn(x, y)), ci);
    x = t;
  }
  return n;
}

extern "C" __global__ void count(int width, int height, int iterations, float cr, float ci, float scale,
                                 const int *out, unsigned long long *wrong, unsigned long long *strict,
                                 unsigned long long *fused) {
  const float pitch = __fdiv_rn(2 * scale, (float)height);
  for (long long i = blockIdx.x * 128 + threadIdx.x; i < (long long)width * height; i += gridDim.x * 128) {
    const float x = __fmul_rn((float)((int)(i % width) - width / 2), pitch);
    const float y = __fmul_rn((float)((int)(i / width) - height / 2), pitch);
    const int n = single(x, y, iterations, cr, ci);
    if (ACCURACY == ACCURACY_strict) {
      if (out[i] != n) atomicAdd(wrong, 1ull);
    } else {
      const int right = exact(x, y, iterations, cr, ci);
      if (n != right) atomicAdd(strict, 1ull);
      if (out[i] != right) atomicAdd(fused, 1ull);
    }
  }
}

extern "C" __global__ void judge(int width, int height, unsigned long long *wrong, const unsigned long long *strict,
                                 const unsigned long long *fused) {
  const double few = 8 + 1e-4 * width * height;
  if (*fused > 1.25 * *strict + few) *wrong = *fused;
}
]],
  },

  -- dust, filled sets, and other extents
  cases = { {}, { cr = -0.123, ci = 0.745 }, { cr = 0.25, ci = 0, scale = 1 }, { cr = -90, ci = 99, scale = 20 },
    { scale = 0 } },

  tolerance = { abs = 0, rel = 0 }, -- nothing is compared

  -- 24 steps is the mean of the sample
  flops = "7 * width * height * min(iterations, 24)",
  bytes = "4 * width * height",

  sizes = {
    emu = { "width=37 height=21 iterations=60", "width=32 height=24 accuracy=fma iterations=40" },
    test = { "width=0", "width=1", "width=2 height=1", "width=1 height=50", "width=300 height=200 iterations=0",
      "width=97 height=101 iterations=1000", "width=640 height=480", "width=501 accuracy=fma" },
    bench = { "width=1024", "width=4096", "width=8192", "width=8192 iterations=1000" },
  },
}
