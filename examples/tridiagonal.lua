-- tridiagonal.lua -- systems of equations lower[i]*x[i-1] + middle[i]*x[i] + upper[i]*x[i+1] = right[i].
-- How far a solution may be from the exact one depends on the matrix; a stable algorithm leaves a small
-- residual whatever the matrix is, and that is what is checked.
--
--   autotune ./tridiagonal.lua n=512 systems=10000

return {
  name = "tridiagonal", version = 1, brief = "many small tridiagonal systems",
  cite = "Zhang, Cohen, Owens, Fast tridiagonal solvers on the GPU, PPoPP 2010",
  problem = { { "n", 1, 1024, default = 256, brief = "unknowns of a system" },
              { "systems", 0, 2^20, default = 4096 } },
  args = {
    { "n", "i32", value = "n" }, { "systems", "i32", value = "systems" },
    { "lower", "f32", "in", count = "n * systems" },
    { "middle", "f32", "in", count = "n * systems", fill = { "uniform", 2.1, 4 } },
    { "upper", "f32", "in", count = "n * systems" },
    { "right", "f32", "in", count = "n * systems" },
    { "x", "f32", "out", count = "n * systems" },
  },
  workspace = { { "reduced", "f32", "sel(ALG == 'thomas', n * systems, 0)" } },
  space = {
    { "ALG", { "thomas", "reduction" },
      "elimination by a thread a system; parallel cyclic reduction by a block a system" },
    { "BLOCK", { 32, 64, 128, 256 }, "threads, a system each", when = "ALG == 'thomas'" },
  },
  default = { ALG = "reduction", BLOCK = 64 },
  derive = { { "THREADS", "sel(ALG == 'thomas', BLOCK, roundup(n, 32))" }, { "SIZE", "THREADS" } },
  stages = {
    { kernel = "solve", grid = "sel(ALG == 'thomas', ceildiv(systems, BLOCK), systems)", block = "THREADS",
      args = { "n", "systems", "lower", "middle", "upper", "right", "reduced", "x" } },
  },
  source = [[
struct row {
  float lower, middle, upper, right;
};

__device__ void eliminate(int n, int systems, const float *lower, const float *middle, const float *upper,
                          const float *right, float *reduced, float *x) {
  const long long first = (long long)(blockIdx.x * SIZE + threadIdx.x) * n;
  if (first >= (long long)systems * n) return;
  float last = 0, above = 0;
  for (long long i = first; i < first + n; i++) {
    const float l = i > first ? lower[i] : 0, pivot = 1 / (middle[i] - l * above);
    above = upper[i] * pivot;
    last = (right[i] - l * last) * pivot;
    reduced[i] = above;
    x[i] = last;
  }
  for (long long i = first + n - 2; i >= first; i--) x[i] = last = x[i] - reduced[i] * last;
}

/* Each step couples a row with rows twice as far away, until there are none. */
__device__ void reduce(int n, const float *lower, const float *middle, const float *upper, const float *right,
                       float *x) {
  __shared__ row rows[SIZE];
  const int i = threadIdx.x;
  const long long at = (long long)blockIdx.x * n + i;
  const row none = {0, 1, 0, 0};
  row mine = none;
  if (i < n) mine = {i ? lower[at] : 0, middle[at], i < n - 1 ? upper[at] : 0, right[at]};
  for (int d = 1; d < n; d *= 2) {
    rows[i] = mine;
    __syncthreads();
    const row a = i >= d ? rows[i - d] : none, b = i + d < n ? rows[i + d] : none;
    __syncthreads();
    const float p = -mine.lower / a.middle, q = -mine.upper / b.middle;
    mine = {p * a.lower, mine.middle + p * a.upper + q * b.lower, q * b.upper, mine.right + p * a.right + q * b.right};
  }
  if (i < n) x[at] = mine.right / mine.middle;
}

extern "C" __global__ void __launch_bounds__(SIZE)
solve(int n, int systems, const float *lower, const float *middle, const float *upper, const float *right,
      float *reduced, float *x) {
  if constexpr (ALG == ALG_thomas) {
    eliminate(n, systems, lower, middle, upper, right, reduced, x);
  } else {
    reduce(n, lower, middle, upper, right, x);
  }
}
]],
  reference = { source = [[
extern "C" __global__ void residual(int n, int systems, const float *lower, const float *middle, const float *upper,
                                    const float *right, const float *x, double *sums) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x, k = i % n;
  if (i >= (long long)n * systems) return;
  const double l = k > 0 ? (double)lower[i] * x[i - 1] : 0, m = (double)middle[i] * x[i],
               u = k < n - 1 ? (double)upper[i] * x[i + 1] : 0, r = right[i];
  const double left = r - l - m - u, all = fabs(l) + fabs(m) + fabs(u) + fabs(r);
  atomicAdd(&sums[0], left * left);
  atomicAdd(&sums[1], all * all);
}
]] },
  -- of rows that are dominated by their middle: each step of a reduction adds some roundings of its own
  checks = {
    { "residual", of = "x", residual = "(log2(n) + 2) * 2^-23", kernel = "residual", grid = "ceildiv(n * systems, 256)",
      block = 256, args = { "n", "systems", "lower", "middle", "upper", "right", "x", "sums" } },
  },
  tolerance = { abs = 0, rel = 0 },
  flops = "8 * n * systems", bytes = "20 * n * systems",
  sizes = { emu = { "n=40 systems=9" }, test = { "n=1 systems=3", "n=33 systems=70", "n=64 systems=0" },
            bench = { "n=512 systems=2^14" } },
}
