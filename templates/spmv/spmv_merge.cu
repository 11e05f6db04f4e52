// spmv_merge.cu -- ends of rows and entries as two sorted lists that are merged: blocks, and the threads of a block, take
// equal parts of the merged list, whatever the lengths of rows, empty ones among them.
// src: Merrill and Garland, Merge-based parallel sparse matrix-vector multiplication
#include "spmv_pack.cuh"
#include "spmv_carry.cuh"
#include "pdl.cuh"

constexpr int PACKS =
    (ITEMS + VEC - 1) / VEC + (VEC > 1);  // of a thread, the tile's first not being aligned

struct tile {
  number sums[TILE];  // products of the tile's entries, then the sums of its rows
  int ends[TILE];     // of rows, counted from the tile's first entry
};

extern __shared__ __align__(128) unsigned char memory[];

// Of the first `diagonal` elements of the merged list, how many are ends of rows; a search by a whole warp, in which every
// step leaves a 32nd.
__device__ __forceinline__ long long rows_before(long long diagonal, long long rows, long long nnz,
                                                 const offset *ptr) {
  long long low = max(0ll, diagonal - nnz), high = min(diagonal, rows);
  while (low < high) {
    const long long step = (high - low + 31) / 32, i = low + threadIdx.x % 32 * step;
    const bool before = i < high && ptr[i + 1] + i < diagonal;
    const int found = __popc(__ballot_sync(0xffffffff, before));
    if (found == 0) break;
    high = min(high, low + found * step);
    low += (found - 1) * step + 1;
  }
  return low;
}

// The same within a tile, by one thread.
__device__ __forceinline__ int ends_before(int diagonal, int rows, int nnz, const int *ends) {
  int low = max(0, diagonal - nnz), high = min(diagonal, rows);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (ends[middle] + middle < diagonal) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Products of the entries [first, first + count).
__device__ __forceinline__ void multiply(number *products, offset first, int count, long long nnz,
                                         const int *idx, const stored *val, const stored *x) {
  const offset aligned = first / VEC * VEC;
  const int begin = (int)(first - aligned), end = begin + count;
  const long long left = nnz - aligned;
  idx += aligned;
  val += aligned;
  pack<int> at[PACKS];
  pack<stored> a[PACKS];
#pragma unroll
  for (int p = 0; p < PACKS; p++) {
    const int i = (p * BLOCK + threadIdx.x) * VEC;
    if (i < end) {
      at[p] = load_pack(idx + i, left - i);
      a[p] = load_pack(val + i, left - i);
    }
  }
#pragma unroll
  for (int p = 0; p < PACKS; p++) {
    stored b[VEC];
    const int i = (p * BLOCK + threadIdx.x) * VEC - begin;
#pragma unroll
    for (int e = 0; e < VEC; e++) b[e] = i + e >= 0 && i + e < count ? x[at[p].e[e]] : 0;
#pragma unroll
    for (int e = 0; e < VEC; e++) {
      if (i + e >= 0 && i + e < count) products[i + e] = (number)a[p].e[e] * (number)b[e];
    }
  }
}

// Each thread has a sum left of a row that a later thread ends: adds these to `sums` of the row. Returns, in the last
// thread, that of the row which the tile does not end, number `rows`.
__device__ __forceinline__ number add_left(int row, number sum, int rows, number *sums) {
  __shared__ number last_sum[BLOCK / 32];
  __shared__ int first_row[BLOCK / 32], last_row[BLOCK / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const number before = __shfl_up_sync(0xffffffff, sum, d);
    const int at = __shfl_up_sync(0xffffffff, row, d);
    if (lane >= d && at == row) sum += before;
  }
  int next = __shfl_down_sync(0xffffffff, row, 1);
  if (lane == 0) first_row[warp] = row;
  if (lane == 31) last_row[warp] = row, last_sum[warp] = sum;
  __syncthreads();
  if (row == first_row[warp]) {
    for (int w = warp - 1; w >= 0 && last_row[w] == row; w--) sum += last_sum[w];
  }
  if (lane == 31) next = warp < BLOCK / 32 - 1 ? first_row[warp + 1] : rows;
  if (row < rows && next != row) sums[row] += sum;
  return sum;
}

// The tile's part [begin, end) of the merged list, whose first element is in row `row`.
__device__ __forceinline__ number merge_tile(tile &t, int rows, int nnz) {
  number *sums = t.sums + nnz;
  const int total = rows + nnz, diagonal = min((int)threadIdx.x * ITEMS, total);
  int row = ends_before(diagonal, rows, nnz, t.ends), entry = diagonal - row;
  int end = row < rows ? t.ends[row] : nnz;
  number sum = 0;
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (diagonal + i < total) {
      if (entry < end) {
        sum += t.sums[entry++];
      } else {
        sums[row++] = sum;
        sum = 0;
        end = row < rows ? t.ends[row] : nnz;
      }
    }
  }
  return add_left(row, sum, rows, sums);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_merge(long long rows, long long nnz, double alpha, const offset *__restrict__ ptr,
                   const int *__restrict__ idx, const stored *__restrict__ val,
                   const stored *__restrict__ x, double beta, stored *y, carry *carries) {
  tile &t = *reinterpret_cast<tile *>(memory);
  __shared__ long long found[2];
  const int zero = pdl_wait();
  ptr += zero, idx += zero, val += zero, x += zero;
  const long long begin = (long long)blockIdx.x * TILE, end = min(begin + TILE, rows + nnz);
  if (threadIdx.x < 64) {
    const long long r = rows_before(threadIdx.x < 32 ? begin : end, rows, nnz, ptr);
    if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = r;
  }
  __syncthreads();
  const long long first_row = found[0];
  const offset first = (offset)(begin - first_row);
  const int count = (int)(found[1] - first_row), entries = (int)(end - begin) - count;
  for (int i = threadIdx.x; i < count; i += BLOCK)
    t.ends[i] = (int)(ptr[first_row + i + 1] - first);
  multiply(t.sums, first, entries, nnz, idx, val, x);
  __syncthreads();
  const number left = merge_tile(t, count, entries);
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += BLOCK) {
    store(y + first_row + i, t.sums[entries + i], alpha, beta);
  }
  if (threadIdx.x == BLOCK - 1) {
    carries[blockIdx.x].sum = left;
    carries[blockIdx.x].row = found[1] < rows ? found[1] : -1;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    multiply_carries(int tiles, double alpha, const carry *carries, stored *y) {
  carries += pdl_wait();
  add_carries(tiles, carries, alpha, y);
}
