// sample_overflow.cuh -- a block whose range has too many keys for its shared memory sorts it in global memory.
#pragma once
#include "sample_exchange.cuh"
#include "sample_inbox.cuh"

// Copies all keys of the block's range from x to `to`.
__device__ __forceinline__ void gather_range(unsigned n, const key *x, const list &to) {
  const stretch_of_keys own(block_rank(), block_rank() + 1);
  if (threadIdx.x == 0) lower = 0;
  __syncthreads();
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < n; i += SORT_BLOCK) {
    const key k = x[i];
    if (!own.starts_after(k, i) && own.ends_after(k, i)) to.put(atomicAdd(&lower, 1), k, i);
  }
  __syncthreads();
}

// Sorts runs of as many keys as shared memory holds.
__device__ __forceinline__ void sort_runs_of(unsigned count, const list &keys) {
#pragma unroll 1
  for (unsigned first = 0; first < count; first += INBOX) {
    const unsigned some = min(count - first, (unsigned)INBOX);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < some; i += SORT_BLOCK) {
      inbox().put(i, keys.keys[first + i], keys.place(first + i));
    }
    sort_inbox<false>(some,
                      [&](unsigned i, key k, unsigned place) { keys.put(first + i, k, place); });
    __syncthreads();
  }
}

// How many keys of the run start..end come before a key of the neighbouring run.
__device__ __forceinline__ unsigned rank_in_run(const list &keys, unsigned start, unsigned end,
                                                key k, unsigned number) {
  unsigned least = start, most = end;
  while (least < most) {
    const unsigned i = (least + most) / 2;
    if (comes_before(keys.keys[i], keys.number(i), k, number))
      least = i + 1;
    else
      most = i;
  }
  return least - start;
}

__device__ __forceinline__ void merge_neighbours(unsigned run, unsigned count, const list &from,
                                                 const list &to) {
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < count; i += SORT_BLOCK) {
    const unsigned start = i - i % (2 * run), middle = min(start + run, count);
    const unsigned end = min(middle + run, count), first = i < middle ? middle : start;
    const key k = from.keys[i];
    const unsigned others = rank_in_run(from, first, i < middle ? end : middle, k, from.number(i));
    to.put(i - (i < middle ? 0 : middle - start) + others, k, from.place(i));
  }
  __syncthreads();
}

template <typename Put>
__device__ __noinline__ void sort_in_memory(unsigned n, const key *x, unsigned count, list from,
                                            list to, Put put) {
  gather_range(n, x, from);
  sort_runs_of(count, from);
#pragma unroll 1
  for (unsigned run = INBOX; run < count; run *= 2) {
    merge_neighbours(run, count, from, to);
    const list was = from;
    from = to;
    to = was;
  }
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < count; i += SORT_BLOCK) put(i, from.keys[i], from.place(i));
}
