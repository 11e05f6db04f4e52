-- tiles: y = 3 x, a matrix copied in tiles by tensor maps. For tests/test_tensor.sh.
return {
  name = "tiles",
  version = 1,
  brief = "y = 3 x by tensor maps",
  cite = "CUDA Driver API, cuTensorMapEncodeTiled",

  problem = {
    { "m", 0, 2^20, default = 100, brief = "elements of a row" },
    { "n", 0, 2^20, default = 20, brief = "rows" },
    { "dtype", { "f32", "u16" }, default = "f32", brief = "of an element" },
  },

  args = {
    { "m", "i32", value = "m" },
    { "n", "i32", value = "n" },
    { "x", "dtype", "in", count = "n * ld", fill = { "uniform", 0, 1000 } },
    { "y", "dtype", "out", count = "n * roundup(m, 8)" },
    { "ld", "i32", sample = "roundup(m, 8)" },
  },

  space = {
    { "WIDE", { 8, 32 }, "elements of a tile's row" },
    { "HIGH", { 1, 4 }, "rows of a tile" },
  },

  require = { { "tensor maps need compute capability 9.0", "dev_cc >= 90" } },

  default = { WIDE = 32, HIGH = 4 },

  stages = {
    { kernel = "tiles", grid = { "ceildiv(m, WIDE)", "ceildiv(n, HIGH)" }, block = 32,
      args = {
        { tensor = "x", dims = { "m", "n" }, strides = { "ld" }, box = { "WIDE", "HIGH" } },
        { tensor = "y", dims = { "m", "n" }, strides = { "roundup(m, 8)" },
          box = { "WIDE", "HIGH" } } } },
  },

  source = [[
@include "ptx.cuh"
@include "ptx90.cuh"
@ local element = dtype == "f32" and "float" or "unsigned short"

extern "C" __global__ void tiles(const __grid_constant__ tensor_map x,
                                 const __grid_constant__ tensor_map y) {
  __shared__ alignas(128) @{element} tile[WIDE * HIGH];
  __shared__ unsigned long long full;
  const unsigned at = shared_address(tile), barrier = shared_address(&full);
  const int first = blockIdx.x * WIDE, row = blockIdx.y * HIGH;
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect(barrier, sizeof tile);
    load_tile(at, x, first, row, barrier);
  }
  __syncwarp();
  mbarrier_wait(barrier, 0);
  for (int i = threadIdx.x; i < WIDE * HIGH; i += 32) tile[i] = 3 * tile[i];
  fence_proxy_async();
  __syncwarp();
  if (threadIdx.x == 0) {
    store_tile(y, first, row, at);
    bulk_commit();
    bulk_wait_read<0>();
  }
}
]],

  reference = {
    stages = {
      { kernel = "reference", grid = { "ceildiv(m + 8, 256)", "n" }, block = 256,
        args = { "m", "n", "x", "y", "ld" } },
    },
    source = [[
@ local element = dtype == "f32" and "float" or "unsigned short"
// Copies fill 16 bytes at a row's end, here with zeros.
extern "C" __global__ void reference(int m, int n, const @{element} *x, @{element} *y, int ld) {
  const int i = blockIdx.x * 256 + threadIdx.x, chunk = 16 / sizeof *x;
  if (i >= (m + chunk - 1) / chunk * chunk) return;
  y[i + (m + 7) / 8 * 8 * blockIdx.y] = i < m ? 3 * x[i + (long long)ld * blockIdx.y] : 0;
}
]],
  },

  cases = { {}, { ld = "roundup(m, 8) + 16" } },

  tolerance = { abs = 0, rel = 0 },

  flops = "m * n",
  bytes = "sel(dtype == 'f32', 8, 4) * m * n",

  sizes = {
    emu = { "m=100 n=20", "m=9 n=3 dtype=u16" },
    test = { "m=1000 n=77", "m=1000 n=77 dtype=u16" },
    bench = { "m=10000 n=1000" },
  },
}
