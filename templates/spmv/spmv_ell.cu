// spmv_ell.cu -- rows padded to WIDTH entries, stored column by column; with ALG=hybrid those behind are entries with
// their rows, added to y by a second launch.
#include "spmv_pack.cuh"
#include "spmv_slots.cuh"
@ if ALG == "hybrid" then
#include "spmv_scan.cuh"
#include "spmv_carry.cuh"
#include "spmv_entries.cuh"
@ end
#include "pdl.cuh"

// ---- preparation ---------------------------------------------------------------------------------

@ if ALG == "ell" then
extern "C" __global__ void __launch_bounds__(256)
    longest_row(long long rows, const offset *ptr, unsigned long long *longest) {
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  unsigned long long length = row < rows ? ptr[row + 1] - ptr[row] : 0;
#pragma unroll
  for (int d = 16; d > 0; d /= 2) length = max(length, __shfl_xor_sync(0xffffffff, length, d));
  if (threadIdx.x % 32 == 0 && length > 0) atomicMax(longest, length);
}
@ else

constexpr int LENGTHS = 2048;  // longer rows count as of this length

extern "C" __global__ void __launch_bounds__(256)
    count_rows(long long rows, const offset *ptr, unsigned *of_length) {
  __shared__ unsigned own[LENGTHS];
  for (int i = threadIdx.x; i < LENGTHS; i += 256) own[i] = 0;
  __syncthreads();
  for (long long row = blockIdx.x * 256ll + threadIdx.x; row < rows; row += gridDim.x * 256ll) {
    atomicAdd(own + min((long long)(ptr[row + 1] - ptr[row]), (long long)LENGTHS - 1), 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < LENGTHS; i += 256) {
    if (own[i]) atomicAdd(of_length + i, own[i]);
  }
}

// The least width that PERCENT of the rows fit; or, PERCENT=0, the text's: one more costs every row two numbers and spares
// three for each longer row, so it pays while more than two thirds of the rows are longer.
extern "C" __global__ void __launch_bounds__(32)
    choose_width(long long rows, const unsigned *of_length, unsigned long long *width) {
  if (threadIdx.x > 0) return;
  long long fit = 0;
  int w = 0;
  for (; w < LENGTHS - 1; w++) {
    fit += of_length[w];
    if (PERCENT == 0 ? 3 * (rows - fit) <= 2 * rows : 100 * fit >= PERCENT * rows) break;
  }
  *width = w;
}

extern "C" __global__ void __launch_bounds__(256)
    rest_lengths(long long rows, const offset *ptr, const unsigned long long *width, long long *starts) {
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  if (row < rows) starts[row] = max(0ll, (long long)(ptr[row + 1] - ptr[row]) - (long long)*width);
}

// The entries behind WIDTH, with their rows. Without columns: their values.
extern "C" __global__ void __launch_bounds__(256)
    rest_entries(long long rows, int width, const offset *ptr, const int *idx, const stored *val,
                 const long long *starts, int *rest_row, int *rest_idx, stored *rest_val) {
  const long long row = (blockIdx.x * 256ll + threadIdx.x) / 32;
  if (row >= rows) return;
  const long long first = starts[row], n = starts[row + 1] - first;
  for (long long i = threadIdx.x % 32; i < n; i += 32) {
    const offset from = ptr[row] + width + i;
    rest_row[first + i] = (int)row;
    rest_idx[first + i] = idx[from];
    rest_val[first + i] = val[from];
  }
}
@ end

extern "C" __global__ void __launch_bounds__(256)
    padded_columns(long long rows, long long stride, int width, const offset *ptr, const int *idx, int *columns) {
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  if (row >= stride) return;
  const span s = row < rows ? span{ptr[row], ptr[row + 1]} : span{0, 0};
  for (int t = 0; t < width; t++) columns[t * stride + row] = s.begin + t < s.end ? idx[s.begin + t] : 0;
}

extern "C" __global__ void __launch_bounds__(256)
    padded_values(long long rows, long long stride, int width, const offset *ptr, const stored *val, stored *values) {
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  if (row >= stride) return;
  const span s = row < rows ? span{ptr[row], ptr[row + 1]} : span{0, 0};
  for (int t = 0; t < width; t++) {
    values[t * stride + row] = s.begin + t < s.end ? entry(val[s.begin + t]) : padding();
  }
}

// ---- the product ---------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_padded(long long rows, long long stride, int width, double alpha,
                    const int *__restrict__ columns, const stored *__restrict__ values,
                    const stored *__restrict__ x, double beta, stored *y) {
  const int zero = pdl_wait();
  columns += zero, values += zero, x += zero;
  const long long row = ((long long)blockIdx.x * BLOCK + threadIdx.x) * VEC;
  if (row >= rows) return;
  number sum[VEC] = {};
  columns += row;
  values += row;
  for (int t = 0; t < width; t += UNROLL) {
    pack<int> at[UNROLL];
    pack<stored> a[UNROLL];
    stored b[UNROLL][VEC];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      if (t + u < width) {
        at[u] = load_pack(columns + (t + u) * stride);
        a[u] = load_pack(values + (t + u) * stride);
      } else {
#pragma unroll
        for (int e = 0; e < VEC; e++) a[u].e[e] = padding();
      }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
#pragma unroll
      for (int e = 0; e < VEC; e++) b[u][e] = is_padding(a[u].e[e]) ? 0 : x[at[u].e[e]];
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

@ if ALG == "hybrid" then
extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_rest(long long rest, double alpha, const int *__restrict__ row_of, const int *__restrict__ idx,
                  const stored *__restrict__ val, const stored *__restrict__ x, stored *y, carry *carries) {
  const int zero = pdl_wait();
  add_entries<ITEMS>(rest, alpha, row_of + zero, idx, val, x, y, carries);
}

extern "C" __global__ void __launch_bounds__(256)
    multiply_carries(long long count, double alpha, const carry *carries, stored *y) {
  carries += pdl_wait();
  add_carries(count, carries, alpha, y);
}
@ end
