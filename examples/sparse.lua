-- sparse.lua -- y = A x, A sparse, by rows. It shows data from a file of Matrix Market: each buffer takes a part of the
-- matrix. Another matrix is a file of this name in the folder of --data, with its numbers of rows and entries:
--
--   autotune ./sparse.lua rows=4 columns=4 entries=8

local function part(name)
  return { "file", "sparse.mtx", part = name }
end

return {
  name = "sparse", version = 1, brief = "y = A*x, A sparse",
  cite = "Saad, Iterative Methods for Sparse Linear Systems, 3.4",
  problem = {
    { "rows", 0, 2^26, default = 4 },
    { "columns", 0, 2^26, default = 4 },
    { "entries", 0, 2^31 - 1, default = 8, brief = "nonzeros, those that symmetry leaves out of the file among them" },
  },
  args = {
    { "rows", "i32", value = "rows" },
    { "offsets", "i32", "in", count = "rows + 1", fill = part("offsets") },
    { "indices", "i32", "in", count = "entries", fill = part("columns") },
    { "values", "f32", "in", count = "entries", fill = part("values") },
    { "x", "f32", "in", count = "columns" },
    { "y", "f32", "out", count = "rows" },
  },

  space = {
    { "BLOCK", { 64, 128, 256, 512 }, "threads per block" },
    { "LANES", { 1, 2, 4, 8, 16, 32 }, "threads that add up a row" },
  },
  default = { BLOCK = 256, LANES = 1 },

  stages = { { kernel = "multiply", grid = "ceildiv(rows, BLOCK // LANES)", block = "BLOCK",
    args = { "rows", "offsets", "indices", "values", "x", "y" } } },
  source = [==[
extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply(int rows, const int *offsets, const int *indices, const float *values, const float *x, float *y) {
  const int row = (blockIdx.x * BLOCK + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
  float sum = 0;
  if (row < rows)
    for (int i = offsets[row] + lane; i < offsets[row + 1]; i += LANES) sum += values[i] * x[indices[i]];
#pragma unroll
  for (int far = LANES / 2; far > 0; far /= 2) sum += __shfl_xor_sync(0xffffffff, sum, far);
  if (row < rows && lane == 0) y[row] = sum;
}
]==],

  reference = {
    workspace = { { "magnitude", "f64", "rows" } },
    stages = { { kernel = "slow", grid = "ceildiv(rows, 256)", block = 256,
      args = { "rows", "offsets", "indices", "values", "x", "y", "magnitude" } } },
    source = [==[
extern "C" __global__ void slow(int rows, const int *offsets, const int *indices, const float *values, const float *x,
                                float *y, double *magnitude) {
  const int row = blockIdx.x * 256 + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int i = offsets[row]; i < offsets[row + 1]; i++) {
    sum += (double)values[i] * x[indices[i]];
    magnitude[row] += fabs((double)values[i] * x[indices[i]]);
  }
  y[row] = (float)sum;
}
]==],
  },
  -- A row of n entries is rounded n times at most, and once more when it is stored.
  tolerance = { bound = "magnitude", factor = "(min(entries, columns) + 2) * 2^-24" },

  flops = "2 * entries",
  bytes = "8 * entries + 4 * (2 * rows + 1 + columns)",
  sizes = { emu = { "rows=4" }, test = { "rows=4" }, bench = { "rows=4" } },
}
