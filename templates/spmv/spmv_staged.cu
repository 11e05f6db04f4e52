// spmv_staged.cu -- a block's rows lie next to each other, so their entries are one range: it comes to shared memory by
// copies of 16 bytes, CHUNK entries at a time, whatever the lengths of rows. Then LANES lanes add up each row. Neighbouring
// rows often have neighbouring columns: with GATHER=rows lanes of a warp that take a row each read neighbouring elements of
// x. With GATHER=entries all threads multiply first, each every BLOCK-th entry, whatever its row.
#include "spmv.cuh"
#include "pdl.cuh"

extern __shared__ __align__(128) unsigned char memory[];

constexpr int ROWS = BLOCK / LANES;

struct chunk {
  stored val[CHUNK];
  int idx[CHUNK];
};

// VEC elements by copies of at most 16 bytes.
template <typename T>
__device__ __forceinline__ void copy_pack(T *to, const T *from) {
  constexpr int NBYTES = VEC * sizeof(T) > 16 ? 16 : VEC * sizeof(T);
#pragma unroll
  for (int i = 0; i < VEC; i += NBYTES / sizeof(T)) {
    cp_async<NBYTES>(shared_address(to + i), from + i, NBYTES);
  }
}

// The range [first, first + CHUNK) as far as it lies below `end`; `first` is a multiple of VEC.
__device__ __forceinline__ void fetch(chunk &t, offset first, offset end, long long nnz,
                                      const int *idx, const stored *val) {
  const int count = (int)min((offset)CHUNK, end - first);
  idx += first;
  val += first;
  for (int i = threadIdx.x * VEC; i < count; i += BLOCK * VEC) {
    if (VEC == 1 || first + i + VEC <= nnz) {
      copy_pack(t.idx + i, idx + i);
      copy_pack(t.val + i, val + i);
    } else {
      for (int e = i; e < count; e++) t.idx[e] = idx[e], t.val[e] = val[e];
    }
  }
  cp_async_commit();
  cp_async_wait<0>();
}

// Products in place of values.
__device__ __forceinline__ void multiply(chunk &t, int begin, int end, const stored *x) {
  for (int i = begin + threadIdx.x; i < end; i += BLOCK * UNROLL) {
    stored b[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) b[u] = i + u * BLOCK < end ? x[t.idx[i + u * BLOCK]] : 0;
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      if (i + u * BLOCK < end) t.val[i + u * BLOCK] *= b[u];
    }
  }
}

// The part [begin, end) of a row.
__device__ __forceinline__ number sum_part(const chunk &t, int begin, int end, const stored *x) {
  number sum = 0;
  for (int i = begin + threadIdx.x % LANES; i < end; i += LANES * UNROLL) {
    stored a[UNROLL], b[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      const bool is = i + u * LANES < end;
      a[u] = is ? t.val[i + u * LANES] : 0;
      b[u] = !is ? 0 : GATHER == GATHER_rows ? x[t.idx[i + u * LANES]] : 1;
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) sum += (number)a[u] * (number)b[u];
  }
  return sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_staged(long long rows, long long nnz, double alpha, const offset *__restrict__ ptr,
                    const int *__restrict__ idx, const stored *__restrict__ val,
                    const stored *__restrict__ x, double beta, stored *y) {
  chunk &t = *reinterpret_cast<chunk *>(memory);
  const int zero = pdl_wait();
  ptr += zero, idx += zero, val += zero, x += zero;
  const long long first_row = (long long)blockIdx.x * ROWS, row = first_row + threadIdx.x / LANES;
  const offset end = ptr[min(first_row + ROWS, rows)];
  const span s = row < rows ? span{ptr[row], ptr[row + 1]} : span{end, end};
  offset at = ptr[first_row];
  const offset begin = at;
  number sum = 0;
  for (at = at / VEC * VEC; at < end; at += CHUNK) {
    if (at > begin) __syncthreads();
    fetch(t, at, end, nnz, idx, val);
    __syncthreads();
    if constexpr (GATHER == GATHER_entries) {
      multiply(t, (int)max((offset)0, begin - at), (int)min((offset)CHUNK, end - at), x);
      __syncthreads();
    }
    const offset chunk_end = at + CHUNK;
    if (s.begin < chunk_end && s.end > at) {
      sum += sum_part(t, (int)(max(s.begin, at) - at), (int)(min(s.end, chunk_end) - at), x);
    }
  }
  sum = sum_lanes<LANES>(sum);
  if (threadIdx.x % LANES == 0 && row < rows) store(y + row, sum, alpha, beta);
}
