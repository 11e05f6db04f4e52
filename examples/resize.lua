-- resize.lua -- an image at another size, each pixel between the four around it. It shows textures: of
-- rows in memory, and of an array that each launch fills; both interpolate in hardware, in 256 steps.
--
--   autotune ./resize.lua width=1920 height=1080 to_width=1280 to_height=720

local function image(array)
  return { texture = "image", dims = { "width", "height" }, strides = { "pitch" }, array = array,
    filter = "linear", address = "clamp" }
end
local function launch(kernel, when, from)
  return { kernel = kernel, when = when, grid = { "ceildiv(to_width, BLOCK_X)", "ceildiv(to_height, BLOCK_Y)" },
    block = { "BLOCK_X", "BLOCK_Y" }, args = { "width", "height", "pitch", from, "to_width", "to_height", "out" } }
end

return {
  name = "resize", version = 1, brief = "an image at another size, bilinear",
  cite = "CUDA C++ Programming Guide, chapter Texture Fetching",
  problem = {
    { "width", 1, 2^16, default = 1920 }, { "height", 1, 65000, default = 1080 },
    { "to_width", 1, 2^16, default = 1280 }, { "to_height", 1, 2^16, default = 720 },
  },
  args = {
    { "width", "i32", value = "width" }, { "height", "i32", value = "height" },
    { "pitch", "i32", value = "roundup(width, 8)" },
    { "image", "f32", "in", count = "roundup(width, 8) * height", fill = { "uniform", 0, 1 } },
    { "to_width", "i32", value = "to_width" }, { "to_height", "i32", value = "to_height" },
    { "out", "f32", "out", count = "to_width * to_height" },
  },
  space = {
    { "READ", { "loads", "rows", "array" }, "four loads, a texture of the rows, or one of an array" },
    { "BLOCK_X", { 16, 32, 64 } }, { "BLOCK_Y", { 4, 8, 16 } },
  },
  default = { READ = "loads", BLOCK_X = 32, BLOCK_Y = 8 },
  stages = {
    launch("by_loads", "READ == 'loads'", "image"),
    launch("by_texture", "READ ~= 'loads'", image("READ == 'array'")),
  },
  source = [[
// where the pixel i of n is in the image, from 0 to size
__device__ float place(int i, int n, int size) {
  return (i + 0.5f) * size / n;
}

__device__ int inside(int i, int n) {
  return min(max(i, 0), n - 1);
}

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
by_loads(int width, int height, int pitch, const float *image, int to_width, int to_height, float *out) {
  const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
  if (i >= to_width || j >= to_height) return;
  const float x = place(i, to_width, width) - 0.5f, y = place(j, to_height, height) - 0.5f;
  const float a = x - floorf(x), b = y - floorf(y);
  const int left = inside((int)floorf(x), width), right = inside((int)floorf(x) + 1, width);
  const float *upper = image + (long long)inside((int)floorf(y), height) * pitch;
  const float *lower = image + (long long)inside((int)floorf(y) + 1, height) * pitch;
  out[(long long)j * to_width + i] = (1 - b) * ((1 - a) * upper[left] + a * upper[right])
                                   + b * ((1 - a) * lower[left] + a * lower[right]);
}

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
by_texture(int width, int height, int pitch, cudaTextureObject_t image, int to_width, int to_height, float *out) {
  const int i = blockIdx.x * BLOCK_X + threadIdx.x, j = blockIdx.y * BLOCK_Y + threadIdx.y;
  if (i < to_width && j < to_height)
    out[(long long)j * to_width + i] = tex2D<float>(image, place(i, to_width, width), place(j, to_height, height));
}
]],
  reference = {
    stages = { { kernel = "slow", grid = { "ceildiv(to_width, 32)", "to_height" }, block = 32,
      args = { "width", "height", "pitch", "image", "to_width", "out" } } },
    source = [[
__device__ double pixel(int width, int height, int pitch, const float *image, double x, double y) {
  const int i = (int)fmin(fmax(x, 0.0), width - 1.0), j = (int)fmin(fmax(y, 0.0), height - 1.0);
  return image[(long long)j * pitch + i];
}

extern "C" __global__ void slow(int width, int height, int pitch, const float *image, int to_width, float *out) {
  const int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y;
  if (i >= to_width) return;
  const double x = (i + 0.5) * width / to_width - 0.5, y = (j + 0.5) * height / gridDim.y - 0.5;
  const double u = floor(x), v = floor(y), a = x - u, b = y - v;
  const double upper =
      (1 - a) * pixel(width, height, pitch, image, u, v) + a * pixel(width, height, pitch, image, u + 1, v);
  const double lower = (1 - a) * pixel(width, height, pitch, image, u, v + 1)
                     + a * pixel(width, height, pitch, image, u + 1, v + 1);
  out[(long long)j * to_width + i] = (float)((1 - b) * upper + b * lower);
}
]] },
  -- a fraction of either coordinate is off by half a step of 1/256 and the rounding of the place, and
  -- pixels differ by at most 1
  tolerance = { abs = "2 * (2^-9 + max(width, height) * 2^-22)", rel = 0 },
  flops = "9 * to_width * to_height", bytes = "4 * (width * height + to_width * to_height)",
  sizes = { emu = { "width=100 height=60 to_width=64 to_height=48" },
            test = { "width=1 height=1 to_width=3 to_height=2", "width=33 height=17 to_width=50 to_height=11" },
            bench = { "width=3840 height=2160 to_width=1920 to_height=1080" } },
}
