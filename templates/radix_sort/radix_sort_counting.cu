// radix_sort_counting.cu -- keys of one or two bytes without values: their number of each kind, a possible key, says
// what is written.
#include "last_block.cuh"
#include "radix_read.cuh"
#include "radix_scan.cuh"

extern __shared__ __align__(16) unsigned char shared[];

// Where the keys of each kind begin, and where the last ones end, by the last block of the launch.
__device__ __forceinline__ void scan_kinds(position n, position *counts, position *begins) {
  constexpr int EACH = KINDS < 8 * BLOCK ? (KINDS + BLOCK - 1) / BLOCK : 8;
  position before = 0;
  for (int first = 0; first < KINDS; first += EACH * BLOCK) {
    position v[EACH];
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      const int kind = first + j * BLOCK + threadIdx.x;
      v[j] = kind < KINDS ? load_second(counts + kind) : 0;
    }
    const position sum = scan_rows<EACH * WARPS>(v);
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      const int kind = first + j * BLOCK + threadIdx.x;
      if (kind < KINDS) {
        begins[kind] = before + v[j];
        counts[kind] = 0;
      }
    }
    before += sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) begins[KINDS] = n;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    count_keys(long long n, const key *__restrict__ keys_in, position *counts, position *begins,
               unsigned *arrived) {
  constexpr int SHARE = KINDS / PARTS;
  const unsigned first = blockIdx.x % PARTS * SHARE;
  unsigned *counters = reinterpret_cast<unsigned *>(shared);
  for (int i = threadIdx.x; i < SHARE * COPIES; i += BLOCK) counters[i] = 0;
  __syncthreads();
  each_key<BLOCK>(keys_in, n, blockIdx.x / PARTS, gridDim.x / PARTS, [&](key k) {
    const unsigned kind = encode(k) - first;
    if (PARTS == 1 || kind < SHARE) atomicAdd(counters + kind * COPIES + threadIdx.x % COPIES, 1);
  });
  __syncthreads();
  for (int kind = threadIdx.x; kind < SHARE; kind += BLOCK) {
    unsigned sum = 0;
#pragma unroll
    for (int c = 0; c < COPIES; c++) sum += counters[kind * COPIES + (c + threadIdx.x) % COPIES];
    if (sum > 0) atomicAdd(counts + first + kind, (position)sum);
  }
  if (is_last_block(arrived, gridDim.x)) scan_kinds((position)n, counts, begins);
}

// The kind of the key at a position, from `least` to `most`.
__device__ __forceinline__ int kind_at(const position *begins, position at, int least, int most) {
  while (least < most) {  // the last that begins no later
    const int middle = (least + most + 1) / 2;
    if (begins[middle] <= at) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least;
}

// 16 bytes of sorted keys from a position on. Mostly they are of one kind, so the next one is searched only behind
// the end of the last.
__device__ __forceinline__ vector keys_from(const position *begins, position at, int least,
                                            int most) {
  constexpr int VEC = 16 / KEY;
  vector v;
  int kind = kind_at(begins, at, least, most);
  position end = begins[kind + 1];
#pragma unroll
  for (int e = 0; e < VEC; e++) {
    if (at + e >= end) {
      kind = kind_at(begins, at + e, kind + 1, most);
      end = begins[kind + 1];
    }
    v.e[e] = decode((key)kind);
  }
  return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    write_keys(long long n, const position *begins, key *keys_out) {
  constexpr int VEC = 16 / KEY;
  const long long head = min(n, (long long)(-(long long)keys_out & 15) / KEY);
  const long long vectors = (n - head) / VEC, first = (long long)blockIdx.x * TILE;
  __shared__ int kinds[2];  // of the block's first and last key
  if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
    const long long at = threadIdx.x == 0 ? first : first + TILE;
    kinds[threadIdx.x / 32] = kind_at(begins, min(head + at * VEC, n - 1), 0, KINDS - 1);
  }
  __syncthreads();
  const int least = kinds[0], most = kinds[1];
  vector *to = reinterpret_cast<vector *>(keys_out + head);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const long long at = first + i * BLOCK + threadIdx.x;
    if (at < vectors) store_plain(to + at, keys_from(begins, head + at * VEC, least, most));
  }
  if (blockIdx.x > 0) return;
  const long long tail = head + vectors * VEC + threadIdx.x;
  if (threadIdx.x < head) {
    keys_out[threadIdx.x] = decode((key)kind_at(begins, threadIdx.x, 0, KINDS - 1));
  }
  if (tail < n) keys_out[tail] = decode((key)kind_at(begins, tail, 0, KINDS - 1));
}
