-- rows.lua -- y = the sums of a sparse matrix's rows. It shows matrices that problems name, and features: numbers computed
-- from the data, by kernels, that choose a configuration where counts are not enough.
--
--   autotune ./rows.lua matrix=zipf rows=2^20 exponent=1.8
--   autotune ./rows.lua matrix=file:a.mtx

return {
  name = "rows", version = 1, brief = "y[i] = sum of row i, of a sparse matrix",
  cite = "Saad, Iterative Methods for Sparse Linear Systems, 3.4",
  problem = {
    { "rows", 0, 2^31 - 2, default = 4096 },
    { "entries", 0, 2^31 - 1, default = "min(8, rows) * rows" },
    { "row_mean", 0, 2^40, feature = "lengths", at = 0, scale = 16, default = "16 * entries // max(1, rows)",
      brief = "mean length of rows, in sixteenths" },
    { "row_cv", 0, 2^40, feature = "lengths", at = 1, scale = 64,
      brief = "standard deviation of lengths over their mean, in 64ths" },
    { "row_max", 0, 2^31, feature = "lengths", at = 2, brief = "the longest row" },
  },
  matrix = { rows = "rows", entries = "entries" },
  features = {
    workspace = { { "lengths", "f64", 3 }, { "counted", "u64", 4 } },
    stages = {
      { kernel = "count", grid = "min(ceildiv(rows, 256), 1024)", block = 256, args = { "rows", "offsets", "counted" } },
      { kernel = "finish", grid = 1, block = 1, args = { "rows", "counted", "lengths" } },
    },
    source = [==[
typedef unsigned long long u64;

extern "C" __global__ void count(int rows, const int *offsets, u64 *counted) {
  u64 sum = 0, squares = 0, most = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < rows; i += gridDim.x * 256) {
    const u64 n = offsets[i + 1] - offsets[i];
    sum += n;
    squares += n * n;
    most = max(most, n);
  }
  atomicAdd(&counted[0], sum);
  atomicAdd(&counted[1], squares);
  atomicMax(&counted[2], most);
}

extern "C" __global__ void finish(int rows, const u64 *counted, double *lengths) {
  const double mean = (double)counted[0] / rows, square = (double)counted[1] / rows;
  lengths[0] = mean;
  lengths[1] = mean > 0 ? sqrt(max(0.0, square - mean * mean)) / mean : 0;
  lengths[2] = counted[2];
}
]==],
  },
  args = {
    { "rows", "i32", value = "rows" },
    { "offsets", "i32", "in", count = "rows + 1", fill = { "matrix", part = "offsets" } },
    { "values", "f32", "in", count = "entries", fill = { "matrix", part = "values" } },
    { "y", "f32", "out", count = "rows" },
  },

  space = {
    { "BLOCK", { 64, 128, 256, 512 }, "threads per block" },
    { "LANES", { 1, 2, 4, 8, 16, 32 }, "threads that add up a row" },
  },
  default = { BLOCK = 256, LANES = 1 },
  untuned = {
    { when = "row_mean >= 16 * 32", BLOCK = 256, LANES = 32 },
    { when = "row_cv >= 64", BLOCK = 256, LANES = 8 },
  },

  stages = { { kernel = "add_rows", grid = "ceildiv(rows, BLOCK // LANES)", block = "BLOCK",
    args = { "rows", "offsets", "values", "y" } } },
  source = [==[
extern "C" __global__ void __launch_bounds__(BLOCK)
    add_rows(int rows, const int *offsets, const float *values, float *y) {
  const int row = (blockIdx.x * BLOCK + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
  float sum = 0;
  if (row < rows)
    for (int i = offsets[row] + lane; i < offsets[row + 1]; i += LANES) sum += values[i];
#pragma unroll
  for (int far = LANES / 2; far > 0; far /= 2) sum += __shfl_xor_sync(0xffffffff, sum, far);
  if (row < rows && lane == 0) y[row] = sum;
}
]==],

  reference = {
    workspace = { { "magnitude", "f64", "rows" } },
    stages = { { kernel = "slow", grid = "ceildiv(rows, 256)", block = 256,
      args = { "rows", "offsets", "values", "y", "magnitude" } } },
    source = [==[
extern "C" __global__ void slow(int rows, const int *offsets, const float *values, float *y, double *magnitude) {
  const int row = blockIdx.x * 256 + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int i = offsets[row]; i < offsets[row + 1]; i++) {
    sum += values[i];
    magnitude[row] += fabs((double)values[i]);
  }
  y[row] = (float)sum;
}
]==],
  },
  -- A row of n entries is rounded n times at most, and once more when it is stored.
  tolerance = { bound = "magnitude", factor = "(min(entries, rows) + 2) * 2^-24" },

  flops = "entries",
  bytes = "4 * entries + 8 * rows",
  sizes = {
    emu = { "matrix=zipf rows=300" },
    test = { "rows=0", "rows=1", "matrix=hub rows=1000", "matrix=empty rows=1000", "matrix=path rows=777" },
    bench = { "matrix=stencil27 side=200", "matrix=zipf rows=2^20", "matrix=uniform rows=2^22" },
  },
}
