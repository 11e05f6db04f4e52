// merge_tile.cuh -- a block's tile of a merged sequence: two pieces come from global memory, are
// merged in shared memory, and the tile goes back.
//
// The template says in Lua how keys are loaded (load_keys, of words.cuh), and has the parameters and
// derived values BLOCK, ITEMS, VEC, UNITS, ROW, LOADER, STORE and CACHE.

struct alignas(VEC * sizeof(key)) vector {
  key e[VEC];
};

// Of n sorted keys, aligned to VEC: `count` from the one numbered `first`.
struct piece {
  const key *keys;
  long long n, first;
  int count;
};

// The keys of a among `count` of the merged sequence, if a's part is that from..to. What is not sorted
// may have its parts in any order, but nobody leaves the sequences.
__device__ __forceinline__ int keys_of_a(long long from, long long to, int count) {
  return (int)max(0ll, min(to - from, (long long)count));
}

// ---- from global to shared memory --------------------------------------------------------------

// The pieces as whole vectors: those of a, then those of b.
struct windows {
  const key *a, *b;  // where the vectors would start if they all were a's, or all b's
  int a_units, units;  // vectors of a, and of both
  int a_at, b_at;      // where in shared memory the pieces start
  long long a_end, b_end;  // keys that exist, counted as the vectors are

  __device__ __forceinline__ windows(const piece &pa, const piece &pb) {
    const int a_head = (int)(pa.first % VEC), b_head = (int)(pb.first % VEC);
    a_units = (a_head + pa.count + VEC - 1) / VEC;
    units = a_units + (b_head + pb.count + VEC - 1) / VEC;
    a_at = a_head;
    b_at = a_units * VEC + b_head;
    a = pa.keys + (pa.first - a_at);
    b = pb.keys + (pb.first - b_at);
    a_end = pa.n - (pa.first - a_at);
    b_end = pb.n - (pb.first - b_at);
  }

  __device__ __forceinline__ bool whole() const {
    return a_units * VEC <= a_end && units * VEC <= b_end;
  }
  __device__ __forceinline__ const key *from(int u) const {
    return (u < a_units ? a : b) + u * VEC;
  }
  __device__ __forceinline__ int room(int u) const {
    return (int)min((u < a_units ? a_end : b_end) - u * VEC, (long long)VEC);
  }
};

template <bool WHOLE>
__device__ __forceinline__ vector load_vector(const windows &w, int u) {
  vector v;
  if (WHOLE || w.room(u) == VEC) return @{load_keys}(reinterpret_cast<const vector *>(w.from(u)));
#pragma unroll
  for (int e = 0; e < VEC; e++) v.e[e] = e < w.room(u) ? w.from(u)[e] : key();
  return v;
}

template <bool WHOLE>
__device__ __forceinline__ void load_windows(vector *to, const windows &w) {
  constexpr int STEPS = UNITS + (VEC > 1);  // for what lies around the pieces in their vectors
@ if LOADER == "cpasync" then
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u < w.units && (WHOLE || w.room(u) == VEC)) {
      cp_async<sizeof(vector)>(shared_address(to + u), w.from(u), sizeof(vector));
    } else if (u < w.units) {
      store_plain(to + u, load_vector<false>(w, u));
    }
  }
  cp_async_commit();
  cp_async_wait<0>();
@ else
  vector v[STEPS];
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u < w.units) v[k] = load_vector<WHOLE>(w, u);
  }
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u < w.units) store_plain(to + u, v[k]);
  }
@ end
}

// This thread's ITEMS keys of the merged pieces, and where they came from: counted from the start
// of a's piece, and on into b's.
__device__ __forceinline__ void merge_pieces(key *shared, const piece &a, const piece &b,
                                             key (&v)[ITEMS], int (&source)[ITEMS]) {
  const windows w(a, b);
  vector *vectors = reinterpret_cast<vector *>(shared);
  if (w.whole()) {
    load_windows<true>(vectors, w);
  } else {
    load_windows<false>(vectors, w);
  }
  __syncthreads();
  const int d = min((int)threadIdx.x * ITEMS, a.count + b.count);
  const int i = co_rank(d, shared + w.a_at, a.count, shared + w.b_at, b.count);
  merger<key, const key *> from(shared, w.a_at + i, w.a_at + a.count, w.b_at + d - i,
                                w.b_at + b.count, w.units * VEC - 1);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    v[k] = from.next(&source[k]);
    source[k] -= source[k] < w.b_at ? w.a_at : w.b_at - a.count;
  }
}

// ---- from registers to global memory -----------------------------------------------------------

// The tile's vector that this thread stores k-th.
__device__ __forceinline__ int unit(int k) {
  const int lane = threadIdx.x % 32;
  return STORE == STORE_direct  ? threadIdx.x * UNITS + k
         : STORE == STORE_block ? k * BLOCK + threadIdx.x
                                : (threadIdx.x - lane) * UNITS + k * 32 + lane;
}

// Each thread's ITEMS neighbouring keys, the first `count` of the tile. The memory is all threads',
// who have to be done with it.
__device__ __forceinline__ void store_tile(const key (&v)[ITEMS], key *to, int count,
                                           unsigned char *memory) {
  vector out[UNITS];
#pragma unroll
  for (int k = 0; k < ITEMS; k++) out[k / VEC].e[k % VEC] = v[k];
@ if STORE ~= "direct" then
  vector *rows = reinterpret_cast<vector *>(memory);
#pragma unroll
  for (int k = 0; k < UNITS; k++) store_plain(rows + threadIdx.x * ROW + k, out[k]);
  @{STORE == "block" and "__syncthreads" or "__syncwarp"}();
#pragma unroll
  for (int k = 0; k < UNITS; k++) {
    out[k] = load_plain(rows + unit(k) / UNITS * ROW + unit(k) % UNITS);
  }
@ end
#pragma unroll
  for (int k = 0; k < UNITS; k++) {
    const int u = unit(k);
    if ((u + 1) * VEC <= count) {
      store_@{CACHE}(reinterpret_cast<vector *>(to) + u, out[k]);
    } else {
#pragma unroll
      for (int e = 0; e < VEC; e++) {
        if (u * VEC + e < count) to[u * VEC + e] = out[k].e[e];
      }
    }
  }
}

@ if value > 0 then
// Lets take(place, source) fetch the value of each place of the tile: neighbouring threads fetch
// neighbouring ones.
template <typename Take>
__device__ __forceinline__ void take_values(const int (&source)[ITEMS], int count,
                                            unsigned char *memory, const Take &take) {
@   if STORE == "direct" then
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const int place = threadIdx.x * ITEMS + k;
    if (place < count) take(place, source[k]);
  }
@   else
  constexpr int WIDTH = ITEMS + 1 - ITEMS % 2;  // odd, for the banks
  int *rows = reinterpret_cast<int *>(memory);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) rows[threadIdx.x * WIDTH + k] = source[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const int place = k * BLOCK + threadIdx.x;
    if (place < count) take(place, rows[place / ITEMS * WIDTH + place % ITEMS]);
  }
@   end
}

@ end
