// spmv_jds.cu -- rows by their lengths, the longest first: the t-th entries of all rows that have one lie next to each
// other, from starts[t] on.
#include "spmv_pack.cuh"
#include "spmv_lengths.cuh"
#include "pdl.cuh"

// ---- preparation ---------------------------------------------------------------------------------

// By one block: starts[t] of t up to the longest row's length.
extern "C" __global__ void __launch_bounds__(1024)
    column_starts(long long longest, const unsigned long long *longer, long long *starts) {
  __shared__ long long sums[1024];
  const long long share = (longest + 1023) / 1024, first = threadIdx.x * share,
                  end = min(longest, first + share);
  long long sum = 0;
  for (long long t = first; t < end; t++) sum += (long long)longer[t];
  sums[threadIdx.x] = sum;
  __syncthreads();
  long long at = 0;
  for (int t = 0; t < threadIdx.x; t++) at += sums[t];
  for (long long t = first; t < end; t++) {
    starts[t] = at;
    at += (long long)longer[t];
  }
  if (threadIdx.x == 1023) starts[longest] = at;
}

extern "C" __global__ void __launch_bounds__(256)
    jagged_columns(long long rows, const offset *ptr, const int *idx, const int *order,
                   const long long *starts, int *columns) {
  const long long slot = blockIdx.x * 256ll + threadIdx.x;
  if (slot >= rows) return;
  const offset begin = ptr[order[slot]], end = ptr[order[slot] + 1];
  for (offset i = begin; i < end; i++) columns[starts[i - begin] + slot] = idx[i];
}

extern "C" __global__ void __launch_bounds__(256)
    jagged_values(long long rows, const offset *ptr, const stored *val, const int *order,
                  const long long *starts, stored *values) {
  const long long slot = blockIdx.x * 256ll + threadIdx.x;
  if (slot >= rows) return;
  const offset begin = ptr[order[slot]], end = ptr[order[slot] + 1];
  for (offset i = begin; i < end; i++) values[starts[i - begin] + slot] = val[i];
}

// ---- the product ---------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_jagged(long long rows, int longest, double alpha, const int *__restrict__ order,
                    const long long *__restrict__ starts, const int *__restrict__ columns,
                    const stored *__restrict__ values, const stored *__restrict__ x, double beta,
                    stored *y) {
  const int zero = pdl_wait();
  order += zero, starts += zero, columns += zero, values += zero, x += zero;
  const long long slot = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (slot >= rows) return;
  number sum = 0;
  for (int t = 0; t < longest; t += UNROLL) {
    int at[UNROLL];
    stored a[UNROLL], b[UNROLL];
    bool is[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      is[u] = t + u < longest && slot < starts[t + u + 1] - starts[t + u];
      at[u] = is[u] ? columns[starts[t + u] + slot] : 0;
      a[u] = is[u] ? values[starts[t + u] + slot] : 0;
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) b[u] = is[u] ? x[at[u]] : 0;
#pragma unroll
    for (int u = 0; u < UNROLL; u++) sum += (number)a[u] * (number)b[u];
    if (!is[UNROLL - 1]) break;
  }
  store(y + order[slot], sum, alpha, beta);
}
