-- edges.lua -- the second derivative of an image by a filter of 3 x 3 weights that add up to 0; pixels
-- outside repeat the border's. What is left is small against what is added up, so no multiple of a
-- result bounds its rounding errors: the reference writes the sum of magnitudes that does.
--
--   autotune ./edges.lua width=4096 height=4096

return {
  name = "edges", version = 1, brief = "Laplacian of an image",
  cite = "Gonzalez, Woods, Digital Image Processing, ch. 3",
  problem = { { "width", 1, 32768, default = 1024 }, { "height", 1, 32768, default = "width" } },
  args = {
    { "width", "i32", value = "width" }, { "height", "i32", value = "height" },
    { "from", "f32", "in", count = "width * height",
      fill = { "image", "noise", width = "width", height = "height" } },
    { "to", "f32", "out", count = "width * height" },
  },
  space = {
    { "BLOCK_X", { 32, 64, 128, 256 } },
    { "ROWS", { 1, 2, 4, 8 }, "coarsening factor: rows of a thread" },
    { "ORDER", { "centre_first", "centre_last" }, "when the centre's product is added to those of its neighbours" },
  },
  default = { BLOCK_X = 128, ROWS = 4, ORDER = "centre_last" },
  stages = {
    { kernel = "edges", grid = { "ceildiv(width, BLOCK_X)", "ceildiv(height, ROWS)" }, block = "BLOCK_X",
      args = { "width", "height", "from", "to" } },
  },
  source = [[
__device__ float pixel(int width, int height, const float *from, int x, int y) {
  return from[(long long)min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1)];
}

extern "C" __global__ void __launch_bounds__(BLOCK_X) edges(int width, int height, const float *from, float *to) {
  const int x = blockIdx.x * BLOCK_X + threadIdx.x;
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const int y = blockIdx.y * ROWS + r;
    if (x >= width || y >= height) return;
    const float centre = -8 * pixel(width, height, from, x, y);
    float sum = ORDER == ORDER_centre_first ? centre : 0;
#pragma unroll
    for (int k = 0; k < 9; k++) {
      if (k != 4) sum += pixel(width, height, from, x + k % 3 - 1, y + k / 3 - 1);
    }
    to[(long long)y * width + x] = ORDER == ORDER_centre_first ? sum : sum + centre;
  }
}
]],
  reference = {
    workspace = { { "magnitude", "f32", "width * height" } },
    stages = {
      { kernel = "slow", grid = "ceildiv(width * height, 256)", block = 256,
        args = { "width", "height", "from", "to", "magnitude" } },
    },
    source = [[
extern "C" __global__ void slow(int width, int height, const float *from, float *to, float *magnitude) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i >= (long long)width * height) return;
  double sum = 0, all = 0;
  for (int k = 0; k < 9; k++) {
    const long long x = min(max(i % width + k % 3 - 1, 0ll), width - 1ll);
    const long long y = min(max(i / width + k / 3 - 1, 0ll), height - 1ll);
    const double product = (k == 4 ? -8.0 : 1.0) * from[y * width + x];
    sum += product;
    all += fabs(product);
  }
  to[i] = (float)sum;
  magnitude[i] = (float)all;
}
]] },
  -- eight sums and the rounding of the reference, each off by 2^-24 of the magnitudes at most
  tolerance = { bound = "magnitude", factor = 10 * 2^-24 },
  flops = "9 * width * height", bytes = "8 * width * height",
  sizes = { emu = { "width=100 height=20" }, test = { "width=1 height=1", "width=257 height=3", "width=2 height=67" },
            bench = { "width=8192" } },
}
