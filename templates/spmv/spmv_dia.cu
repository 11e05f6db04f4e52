// spmv_dia.cu -- diagonals: values without columns, each diagonal as long as there are rows (rounded up to STRIDE).
#include "spmv_pack.cuh"
#include "spmv_slots.cuh"
#include "lanes.cuh"
#include "pdl.cuh"

constexpr int MOST = 1024;  // diagonals

// ---- preparation ---------------------------------------------------------------------------------

// A bit for each diagonal that has an entry, from the lowest left corner on.
extern "C" __global__ void __launch_bounds__(256)
    mark_diagonals(long long rows, const offset *ptr, const int *idx, unsigned *marks) {
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  const span s = row < rows ? span{ptr[row], ptr[row + 1]} : span{0, 0};
  for (offset i = s.begin; __any_sync(0xffffffff, i < s.end); i++) {
    const long long at = i < s.end ? idx[i] - row + rows - 1 : -1,
                    before = __shfl_up_sync(0xffffffff, at, 1);
    // The row above has often marked it.
    const bool again = threadIdx.x % 32 > 0 && at == before;
    if (at >= 0 && !again && !(load_relaxed(marks + at / 32) >> at % 32 & 1)) {
      atomicOr(marks + at / 32, 1u << at % 32);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
    list_diagonals(long long words, const unsigned *marks, unsigned *count, unsigned *list) {
  const long long word = blockIdx.x * 256ll + threadIdx.x;
  for (unsigned rest = word < words ? marks[word] : 0; rest; rest &= rest - 1) {
    const unsigned at = atomicAdd(count, 1);
    if (at < MOST) list[at] = (unsigned)(word * 32) + __ffs(rest) - 1;
  }
}

// In order, counted from the main diagonal.
extern "C" __global__ void __launch_bounds__(MOST)
    sort_diagonals(int count, long long rows, const unsigned *list, int *diagonals) {
  const unsigned own = threadIdx.x < count ? list[threadIdx.x] : 0;
  int rank = 0;
  for (int i = 0; i < count; i++) rank += list[i] < own;
  if (threadIdx.x < count) diagonals[rank] = (int)((long long)own - (rows - 1));
}

extern "C" __global__ void __launch_bounds__(256)
    diagonal_values(long long rows, long long stride, int count, const offset *ptr, const int *idx,
                    const stored *val, const int *diagonals, stored *values) {
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  if (row >= stride) return;
  for (int d = 0; d < count; d++) values[d * stride + row] = padding();
  if (row >= rows) return;
  for (offset i = ptr[row]; i < ptr[row + 1]; i++) {
    const int at = (int)(idx[i] - row);
    int low = 0, high = count - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (diagonals[middle] < at) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    stored *to = values + low * stride + row;
    *to = is_padding(*to) ? entry(val[i]) : entry(*to + val[i]);
  }
}

// ---- the product ---------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_diagonals(long long rows, long long stride, int count, double alpha,
                       const int *__restrict__ diagonals, const stored *__restrict__ values,
                       const stored *__restrict__ x, double beta, stored *y) {
  const int zero = pdl_wait();
  diagonals += zero, values += zero, x += zero;
  const long long row = ((long long)blockIdx.x * BLOCK + threadIdx.x) * VEC;
  if (row >= rows) return;
  number sum[VEC] = {};
  values += row;
  x += row;
  for (int d = 0; d < count; d += UNROLL) {
    pack<stored> a[UNROLL];
    stored b[UNROLL][VEC];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      if (d + u < count) {
        a[u] = load_pack(values + (d + u) * stride);
      } else {
#pragma unroll
        for (int e = 0; e < VEC; e++) a[u].e[e] = padding();
      }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      const stored *from = d + u < count ? x + diagonals[d + u] : x;
#pragma unroll
      for (int e = 0; e < VEC; e++) b[u][e] = is_padding(a[u].e[e]) ? 0 : from[e];
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
#pragma unroll
      for (int e = 0; e < VEC; e++) sum[e] += (number)a[u].e[e] * (number)b[u][e];
    }
  }
#pragma unroll
  for (int e = 0; e < VEC; e++) {
    if (row + e < rows) store(y + row + e, sum[e], alpha, beta);
  }
}
