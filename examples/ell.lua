-- ell.lua -- y = A x, A sparse, by rows as they are, or in ELL, in which all rows have as many entries as the longest.
-- It shows a preparation: a count that the host reads back, buffers whose sizes depend on it, and a stage that runs
-- again when only the values of A change. `uses` says how many products use one preparation.
--
--   autotune ./ell.lua rows=100000 uses=10

-- Rows have mean + mean // 2 and mean - mean // 2 entries in turn.
local ENTRIES = "rows * mean + rows % 2 * (mean // 2)"

return {
  name = "ell", version = 1, brief = "y = A*x, A sparse", cite = "Bell and Garland, SC 2009",
  problem = {
    { "rows", 0, 2^26, default = 2^16 },
    { "mean", 1, 1000, default = 8, brief = "entries of a row" },
    { "uses", { "1", "10", "100", "1000", "many" }, class = true, default = "many" },
  },
  args = {
    { "rows", "i32", value = "rows" },
    { "offsets", "i32", "in", count = "rows + 1",
      fill = { "lua", function(i, n, f) return i * f.mean + i % 2 * (f.mean // 2) end } },
    { "columns", "i32", "in", count = ENTRIES, fill = { "lua", function(i, n, f) return i * 7919 % f.rows end } },
    { "values", "f32", "in", count = ENTRIES },
    { "x", "f32", "in", count = "rows" },
    { "y", "f32", "out", count = "rows" },
  },
  call = { "rows", "mean", "uses", "offsets", "columns", "values", "x", "y" },

  space = {
    { "ALG", { "csr", "ell" } },
    { "BLOCK", { 64, 128, 256 }, "threads per block" },
  },
  default = { ALG = "csr", BLOCK = 256 },
  untuned = { { when = "uses == '1000' or uses == 'many'", ALG = "ell" } },

  algorithms = {
    csr = {
      stages = { { kernel = "by_rows", grid = "ceildiv(rows, BLOCK)", block = "BLOCK",
        args = { "rows", "offsets", "columns", "values", "x", "y" } } },
    },
    ell = {
      prepare = {
        from = { "offsets", "columns" },
        values = { "values" },
        counts = { { "width", of = "longest", most = "4 * mean" } },
        workspace = { { "longest", "u32", 1 } },
        outputs = { { "places", "i32", "rows * width" }, { "entries", "f32", "rows * width" } },
        stages = {
          { kernel = "find_longest", grid = "ceildiv(rows, 256)", block = 256, args = { "rows", "offsets", "longest" } },
          { count = "width" },
          { kernel = "place_columns", grid = "ceildiv(rows, 256)", block = 256,
            args = { "rows", { "i32", "width" }, "offsets", "columns", "places" } },
          { kernel = "place_values", grid = "ceildiv(rows, 256)", block = 256, values_only = true,
            args = { "rows", { "i32", "width" }, "offsets", "values", "entries" } },
        },
      },
      stages = { { kernel = "by_columns", grid = "ceildiv(rows, BLOCK)", block = "BLOCK",
        args = { "rows", { "i32", "width" }, "places", "entries", "x", "y" } } },
    },
  },

  source = [==[
extern "C" __global__ void __launch_bounds__(BLOCK)
    by_rows(int rows, const int *offsets, const int *columns, const float *values, const float *x, float *y) {
  const int row = blockIdx.x * BLOCK + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = offsets[row]; i < offsets[row + 1]; i++) sum += values[i] * x[columns[i]];
  y[row] = sum;
}

extern "C" __global__ void find_longest(int rows, const int *offsets, unsigned *longest) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) atomicMax(longest, offsets[row + 1] - offsets[row]);
}

// column by column; places behind a row's end are -1
extern "C" __global__ void place_columns(int rows, int width, const int *offsets, const int *columns, int *places) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int first = offsets[row], n = offsets[row + 1] - first;
  for (int i = 0; i < width; i++) places[(long long)i * rows + row] = i < n ? columns[first + i] : -1;
}

extern "C" __global__ void place_values(int rows, int width, const int *offsets, const float *values, float *entries) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int first = offsets[row], n = offsets[row + 1] - first;
  for (int i = 0; i < width; i++) entries[(long long)i * rows + row] = i < n ? values[first + i] : 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    by_columns(int rows, int width, const int *places, const float *entries, const float *x, float *y) {
  const int row = blockIdx.x * BLOCK + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < width; i++) {
    const int place = places[(long long)i * rows + row];
    if (place >= 0) sum += entries[(long long)i * rows + row] * x[place];
  }
  y[row] = sum;
}
]==],

  reference = {
    workspace = { { "magnitude", "f64", "rows" } },
    stages = { { kernel = "slow", grid = "ceildiv(rows, 256)", block = 256,
      args = { "rows", "offsets", "columns", "values", "x", "y", "magnitude" } } },
    source = [==[
extern "C" __global__ void slow(int rows, const int *offsets, const int *columns, const float *values, const float *x,
                                float *y, double *magnitude) {
  const int row = blockIdx.x * 256 + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int i = offsets[row]; i < offsets[row + 1]; i++) {
    sum += (double)values[i] * x[columns[i]];
    magnitude[row] += fabs((double)values[i] * x[columns[i]]);
  }
  y[row] = (float)sum;
}
]==],
  },
  tolerance = { bound = "magnitude", factor = "(2 * mean + 2) * 2^-24" },
  flops = "2 * (" .. ENTRIES .. ")", bytes = "8 * (" .. ENTRIES .. ") + 12 * rows",
  sizes = { emu = { "rows=1000" }, test = { "rows=0", "rows=1", "rows=33 mean=1" }, bench = { "rows=2^20 uses=10" } },
}
