-- ripple: waves around the middle of a square image, a frame of an animation.
--
-- Either each thread computes its own pixels, or those of a quadrant or an octant are computed and stored four or
-- eight times. A frame needs no more than what is written, 4 bytes a pixel, so what counts is that a pixel takes few
-- instructions: TERMS=folded has neither divisions nor a conversion, and COSINE=polynomial needs no special functions.
-- And that blocks are few: an H200 starts some 830 in a microsecond, and 256 pixels are written in half of that time.

-- For sizes without a tuned result: of small images a thread has a pixel.
local SUGGESTED = { { when = "dim <= 512", VEC = 1, BLOCK_X = 32, BLOCK_Y = 8, ROWS = 1 } }
for _, vec in ipairs { 4, 2, 1 } do
  local function suggest(condition, config)
    config.when, config.VEC = condition, vec
    SUGGESTED[#SUGGESTED + 1] = config
  end
  suggest("dim <= 1024", { BLOCK_X = 32, BLOCK_Y = 4, ROWS = 1 })
  suggest("dim <= 2048", { BLOCK_X = 32, BLOCK_Y = 8, ROWS = 2 })
  suggest("dim > 2048", { BLOCK_X = 16 * (4 // vec), BLOCK_Y = 4 * vec, ROWS = 4 })
end

return {
  name = "ripple",
  version = 1,
  brief = "an image of waves around its middle, in grey",
  cite = "Sanders and Kandrot, CUDA by Example, ch. 5",

  problem = {
    { "dim", 0, 2^16, default = 4096, brief = "rows, and pixels of a row" },
    { "accuracy", { "full", "fast" }, default = "full", like = { fast = "full" },
      brief = "of the cosine: within 2^-22, or the hardware's" },
    { "align", { 4, 2, 1 }, default = "pow2div(dim, 4)", brief = "pixels that rows are aligned to" },
  },

  args = {
    { "dim", "i32", value = "dim" },
    { "ticks", "i32", sample = 3 },
    { "out", "u32", "out", count = "dim * dim", brief = "red, green, blue and 255, a byte each, in this order" },
  },

  call = { "dim", "ticks", "out", align = "min(pow2div(out // 4, 4), pow2div(dim, 4))" },

  space = {
    { "ALG", { "direct", "quadrants", "octants" }, "what is computed: all pixels, or those of a quadrant or an octant" },
    { "TERMS", { "printed", "folded" }, "divisions and a square root as printed, or reciprocals and turns of the circle" },
    { "COSINE", { "library", "polynomial", "hardware" } },
    { "BLOCK_X", { 8, 16, 32, 64, 128, 256, 512 }, "threads of a block's row" },
    { "BLOCK_Y", { 1, 2, 4, 8, 16, 32 }, "rows of threads of a block" },
    { "VEC", { 1, 2, 4 }, "pixels a store", when = "ALG == 'direct'" },
    { "ROWS", { 1, 2, 4, 8 }, "rows a thread", when = "ALG ~= 'octants'" },
    { "STORE", { "plain", "second", "streaming" }, "cache operator of stores" },
  },

  derive = {
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "HALF", "dim // 2 + 1" },
    { "TILES", "ceildiv(HALF, 32)" }, -- of ALG=octants, in a row
  },

  require = {
    { "BLOCK_X * BLOCK_Y exceeds the device's threads per block", "BLOCK_X * BLOCK_Y <= dev_threads_block" },
    { "a block has at least a warp of threads", "BLOCK_X * BLOCK_Y >= 32" },
    { "out is not aligned to VEC pixels", "VEC <= align" },
    { "ALG=octants takes tiles of 32 columns", "ALG ~= 'octants' or BLOCK_X == 32" },
    { "a grid has at most 65535 rows of blocks", "dim <= 65535 * BLOCK_Y * ROWS" },
    { "COSINE=hardware needs accuracy=fast", "COSINE ~= 'hardware' or accuracy == 'fast'" },
    { "TERMS=printed calls a function", "TERMS == 'folded' or COSINE ~= 'polynomial'" },
  },

  default = { ALG = "direct", TERMS = "folded", COSINE = "polynomial", BLOCK_X = 32, BLOCK_Y = 8, VEC = 1, ROWS = 4,
    STORE = "plain" },
  textbook = { TERMS = "printed", COSINE = "library", BLOCK_X = 16, BLOCK_Y = 16, ROWS = 1 },
  untuned = SUGGESTED,

  stages = {
    { kernel = "ripple", when = "dim > 0", early = "EARLY",
      grid = {
        "sel(ALG == 'octants', TILES * (TILES + 1) // 2, ceildiv(sel(ALG == 'direct', dim, HALF), BLOCK_X * VEC))",
        "sel(ALG == 'octants', 1, ceildiv(sel(ALG == 'direct', dim, HALF), BLOCK_Y * ROWS))",
      },
      block = { "BLOCK_X", "BLOCK_Y" }, args = { "dim", "ticks", "out" } },
  },

  source = "ripple.cu",

  -- Counts pixels that are no grey, not opaque, or more than one level from the exact one.
  reference = {
    workspace = { { "wrong", "u64", 1 } },
    counts = "wrong",
    stages = {
      { kernel = "reference", grid = "min(65536, ceildiv(dim * dim, 256))", block = 256,
        args = { "dim", "ticks", "out", "wrong" } },
    },
    source = [[
extern "C" __global__ void reference(int dim, int ticks, const unsigned *out, unsigned long long *wrong) {
  for (long long i = blockIdx.x * 256 + threadIdx.x; i < (long long)dim * dim; i += gridDim.x * 256) {
    const double x = i % dim - dim / 2, y = i / dim - dim / 2, d = sqrt(x * x + y * y);
    const int grey = (int)(128 + 127 * cos(d / 10 - ticks / 7.0) / (d / 10 + 1));
    const int level = out[i] & 255;
    if (abs(level - grey) > 1 || out[i] != (255u << 24 | level << 16 | level << 8 | level)) atomicAdd(wrong, 1ull);
  }
}
]],
  },

  cases = { {}, { ticks = 0 }, { ticks = -2147483648 }, { ticks = 2147483647 } },

  tolerance = { abs = 0, rel = 0 }, -- nothing is compared

  flops = "12 * dim * dim",
  bytes = "4 * dim * dim",

  sizes = {
    emu = { "dim=33", "dim=64 accuracy=fast" },
    test = { "dim=0", "dim=1", "dim=2", "dim=97", "dim=256", "dim=1000 accuracy=fast", "dim=1001 align=1" },
    bench = { "dim=256", "dim=1024", "dim=4096", "dim=16384" },
  },
}
