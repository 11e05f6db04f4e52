// merge_tiled.cu -- a block merges a stretch of c in TILES steps. For each it needs up to a tile of a and one of b,
// of which it merges as many keys as one tile has. ALG=tiled then loads both anew; ALG=circular keeps what was not
// merged, in buffers that wrap around.
#include "merge_key.cuh"
#include "merge_sequences.cuh"

constexpr bool INPUT_IS_CONSTANT = true;
#include "merge_store.cuh"

// TILE keys, of which `start` is the first.
struct buffer {
  const key *keys;
  int start;

  __device__ __forceinline__ const key &operator[](int i) const {
    const int at = start + i;
    return keys[at < TILE ? at : at - TILE];
  }
};

struct buffers {  // a's keys, then those of b
  buffer a, b;
  int a_count;

  __device__ __forceinline__ const key &operator[](int i) const {
    return i < a_count ? a[i] : b[i - a_count];
  }
};

// Adds `count` keys behind the `kept` ones that are in the buffer.
__device__ __forceinline__ void refill(key *keys, int start, int kept, const key *from, int count) {
  for (int i = threadIdx.x; i < count; i += BLOCK) {
    const int at = start + kept + i;
    keys[at < TILE ? at : at - TILE] = from[i];
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
merge(long long m, long long n, const key *__restrict__ a, const key *__restrict__ b,
      key *__restrict__ c, const value *__restrict__ av, const value *__restrict__ bv,
      value *__restrict__ cv, const long long *splits) {
  extern __shared__ __align__(16) unsigned char memory[];
  key *const a_keys = reinterpret_cast<key *>(memory), *const b_keys = a_keys + TILE;
  const sequences s = {m, n, a, b, c, av, bv, cv};
  const long long stretch = (long long)blockIdx.x * STRETCH, end = min(stretch + STRETCH, m + n);
  long long i, i_end;  // the next key of a, and where the stretch ends in a
  split(stretch, end, s, splits, &i, &i_end);
  long long j = stretch - i;
  const long long j_end = end - i_end;
  int a_start = 0, b_start = 0, a_kept = 0, b_kept = 0;
  for (long long first = stretch; first < end; first += TILE) {
    const int a_count = (int)min(i_end - i, (long long)TILE);
    const int b_count = (int)min(j_end - j, (long long)TILE);
    refill(a_keys, a_start, a_kept, a + i + a_kept, a_count - a_kept);
    refill(b_keys, b_start, b_kept, b + j + b_kept, b_count - b_kept);
    __syncthreads();
    const int count = (int)min(end - first, (long long)TILE);
    const buffers all = {{a_keys, a_start}, {b_keys, b_start}, a_count};
    const int used = co_rank(count, all.a, a_count, all.b, b_count);  // of a; the same in all threads
    const int d = min((int)threadIdx.x * ITEMS, count);
    const int at = co_rank(d, all.a, a_count, all.b, b_count);
    key v[ITEMS];
    int source[ITEMS];
    const int both = a_count + b_count;
    merger<key, buffers> from(all, at, a_count, a_count + d - at, both, both - 1);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) v[k] = from.next(&source[k]);
    store_tile(v, c + first, count, memory);
    if constexpr (VALUE > 0) take_values(source, count, memory, fetch{s, first, i, j, a_count});
    __syncthreads();  // all have merged before the buffers are filled again
    if constexpr (ALG == ALG_circular) {
      a_start = (a_start + used) % TILE;
      b_start = (b_start + count - used) % TILE;
      a_kept = a_count - used;
      b_kept = b_count - (count - used);
    }
    i += used;
    j += count - used;
  }
}

@ if PARTITION == "launch" then
#include "merge_split.cuh"
@ end
