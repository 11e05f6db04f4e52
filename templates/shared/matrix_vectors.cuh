// matrix_vectors.cuh -- a matrix times a few vectors: gemv, and a product of matrices one of which is thin.
//
// The matrix is contiguous along the results, or along the sum (ALONG_SUM). A block has LX threads in
// that direction and BLOCK / LX across. In a step each thread loads LOADS_ACROSS x LOADS vectors of VEC
// elements at once, so that enough bytes are in flight for the memory's bandwidth. A block has OUT
// results of each of VECTORS vectors; gridDim.y blocks split the sum, each at most `most` elements, and
// their sums are combined as FINISH says, or in a cluster if CLUSTER_SPLITS > 1.
//
// The file that includes this one defines before: the types stored and wide, widen and narrow between
// them, the epilogue, load_matrix (a load of the matrix), and constants besides the ones above: STEP,
// the elements along the sum of a block's step; SLOTS, the partial sums of a result in shared memory;
// XVEC, the elements per load of a vector; SIDEWAYS, whether results go along the rows of C and vectors
// are rows.
#pragma once
#include "cluster.cuh"
#include "last_block.cuh"
#include "scaled_sum.cuh"
#include "words.cuh"

struct alignas(VEC * sizeof(stored)) elements {
  stored e[VEC];
};

extern __shared__ __align__(16) unsigned char memory[];

// ---- a step of a thread ------------------------------------------------------------------------

struct step {
  elements a[LOADS_ACROSS][LOADS];
  int along, across;  // its first ones

  // Elements beyond the ends are zero; a vector does not cross an edge. WHOLE: there are none, for the
  // whole block. Without conditions all loads of a step are issued before the first is waited for.
  template <bool WHOLE>
  __device__ __forceinline__ void load(const stored *A, long long lda, int along_end,
                                       int across_end) {
#pragma unroll
    for (int j = 0; j < LOADS_ACROSS; j++) {
      const stored *from = A + (across + j) * lda + along;
#pragma unroll
      for (int i = 0; i < LOADS; i++) {
        if (!WHOLE) a[j][i] = elements();
        if (WHOLE || (across + j < across_end && along + i * LX * VEC < along_end)) {
          a[j][i] = load_matrix(reinterpret_cast<const elements *>(from + i * LX * VEC));
        }
      }
    }
  }
};

// ---- the vectors -------------------------------------------------------------------------------

// n vectors: the distance of elements, and of vectors.
struct vectors {
  const stored *x;
  long long step, next;
  int n;
};

// Elements of each vector that a thread takes in a step.
constexpr int TAKEN = ALONG_SUM ? LOADS * VEC : LOADS_ACROSS;

// N numbers of shared memory, 16 bytes at a time.
template <int N>
__device__ __forceinline__ void read_shared(const wide *from, wide (&v)[N]) {
  constexpr int PART = N * sizeof(wide) < 16 ? N : 16 / sizeof(wide);
  struct alignas(PART * sizeof(wide)) part {
    wide e[PART];
  };
#pragma unroll
  for (int i = 0; i < N; i += PART) {
    const part p = *reinterpret_cast<const part *>(from + i);
#pragma unroll
    for (int e = 0; e < PART; e++) v[i + e] = p.e[e];
  }
}

// The block's share of the vectors, in shared memory or where it is. The last vector stands in for those
// up to VECTORS that do not exist; their results are not stored.
struct factors {
  vectors of;
  int begin, end;
  long long most;

  __device__ __forceinline__ factors(const vectors &v, int begin_, int end_, long long most_)
      : of(v), begin(begin_), end(end_), most(most_) {}

  __device__ __forceinline__ const stored *vector(int j) const {
    return of.x + (VECTORS == 1 || j < of.n ? j : of.n - 1) * of.next;
  }

  // To shared memory: vector by vector if they are read so, else element by element of all vectors;
  // zeros fill the last step.
  __device__ __forceinline__ void copy() const {
    wide *to = reinterpret_cast<wide *>(memory);
    for (int i = threadIdx.x; i < most; i += BLOCK) {
#pragma unroll
      for (int j = 0; j < VECTORS; j++) {
        to[ALONG_SUM ? j * most + i : (long long)i * VECTORS + j] =
            i < end - begin ? widen(vector(j)[(begin + i) * of.step]) : 0;
      }
    }
    __syncthreads();
  }

  // The elements for a step; beyond the end, unless the step is WHOLE, zeros.
  template <bool WHOLE>
  __device__ __forceinline__ void fetch(const step &s, wide (&f)[TAKEN][VECTORS]) const {
    if constexpr (ALONG_SUM) {
#pragma unroll
      for (int i = 0; i < LOADS; i++) {
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
          wide part[VEC];
          along<WHOLE>(s.along + i * LX * VEC, v, part);
#pragma unroll
          for (int e = 0; e < VEC; e++) f[i * VEC + e][v] = part[e];
        }
      }
    } else {
#pragma unroll
      for (int j = 0; j < LOADS_ACROSS; j++) across<WHOLE>(s.across + j, f[j]);
    }
  }

  // Elements i to i + VEC - 1 of vector j; all of them exist, or none.
  template <bool WHOLE>
  __device__ __forceinline__ void along(int i, int j, wide (&v)[VEC]) const {
    if constexpr (X == X_shared) {
      read_shared(reinterpret_cast<const wide *>(memory) + j * most + (i - begin), v);
    } else {
      struct alignas(XVEC * sizeof(stored)) part {
        stored e[XVEC];
      };
      const stored *from = vector(j);
#pragma unroll
      for (int e = 0; e < VEC; e += XVEC) {
        part p = part();
        if (WHOLE || i < end) {
          p = load_plain(reinterpret_cast<const part *>(from + (i + e) * of.step));
        }
#pragma unroll
        for (int f = 0; f < XVEC; f++) v[e + f] = widen(p.e[f]);
      }
    }
  }

  // Element i of all vectors.
  template <bool WHOLE>
  __device__ __forceinline__ void across(int i, wide (&v)[VECTORS]) const {
    if constexpr (X == X_shared) {
      read_shared(reinterpret_cast<const wide *>(memory) + (long long)(i - begin) * VECTORS, v);
    } else {
#pragma unroll
      for (int j = 0; j < VECTORS; j++) v[j] = WHOLE || i < end ? widen(vector(j)[i * of.step]) : 0;
    }
  }
};

// ---- sums of a thread --------------------------------------------------------------------------

constexpr int MINE = ALONG_SUM ? LOADS_ACROSS : LOADS * VEC;  // results of a thread, per vector
using sums = wide[VECTORS][MINE];

__device__ __forceinline__ void multiply(sums &sum, const step &s,
                                         const wide (&f)[TAKEN][VECTORS]) {
#pragma unroll
  for (int t = 0; t < TAKEN; t++) {
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
#pragma unroll
      for (int i = 0; i < MINE; i++) {
        const stored a = ALONG_SUM ? s.a[i][t / VEC].e[t % VEC] : s.a[t][i / VEC].e[i % VEC];
        sum[v][i] += widen(a) * f[t][v];
      }
    }
  }
}

// Adds up across the lanes of a warp that have the same results.
__device__ __forceinline__ void fold_lanes(sums &sum) {
  constexpr int FIRST = ALONG_SUM ? (LX < 32 ? LX : 32) / 2 : 16, LAST = ALONG_SUM ? 1 : LX;
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
#pragma unroll
    for (int i = 0; i < MINE; i++) {
#pragma unroll
      for (int d = FIRST; d >= LAST; d /= 2) {
        sum[v][i] += __shfl_xor_sync(0xffffffff, sum[v][i], d);
      }
    }
  }
}

// Stores a thread's sums to shared memory, each to a slot of its result.
__device__ __forceinline__ void put_slots(const sums &sum, wide *slots) {
  const int lane = threadIdx.x % LX;
  const int slot = ALONG_SUM ? lane / 32 : LX < 32 ? threadIdx.x / 32 : threadIdx.x / LX;
  if (ALONG_SUM ? threadIdx.x % (LX < 32 ? LX : 32) > 0 : LX < 32 && threadIdx.x % 32 >= LX) return;
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
#pragma unroll
    for (int i = 0; i < MINE; i++) {
      const int o =
          ALONG_SUM ? threadIdx.x / LX * LOADS_ACROSS + i : (i / VEC * LX + lane) * VEC + i % VEC;
      slots[(slot * VECTORS + v) * OUT + o] = sum[v][i];
    }
  }
}

// ---- from sums to the results ------------------------------------------------------------------

struct results {
  wide alpha, beta;
  stored *y;
  long long step, next;  // distance of results, and of the first results of two vectors
  int n, vectors;
  const stored *scales, *biases;

  // The vector and index of the block's result o.
  __device__ __forceinline__ static int vector(int o) { return VECTORS == 1 ? 0 : o / OUT; }
  __device__ __forceinline__ static int result(int o) {
    return blockIdx.x * OUT + (VECTORS == 1 ? o : o % OUT);
  }
  __device__ __forceinline__ bool exists(int o) const {
    return result(o) < n && (VECTORS == 1 || vector(o) < vectors);
  }

  template <typename T>
  __device__ __forceinline__ static void add(T *to, wide v) {
    atomicAdd(to, v);
  }

  __device__ __forceinline__ void put(wide sum, int o) const {
    const int i = result(o), v = vector(o);
    stored *to = y + i * step + v * next;
    if constexpr (FINISH == FINISH_atomic) {
      if (gridDim.y > 1) {
        add(to, alpha * sum);
        return;
      }
    }
    const wide before = beta == 0 ? 0 : widen(*to);
    *to = narrow(epilogue(scaled(alpha, sum, beta, before), SIDEWAYS ? v : i, SIDEWAYS ? i : v,
                          scales, biases));
  }
};

// Where a split stores its sum of result o.
__device__ __forceinline__ long long found_at(int split, int o, int n) {
  return ((long long)split * VECTORS + results::vector(o)) * n + results::result(o);
}

// Adds up the sums of all splits, in global memory, for this block's results. With ONE_ORDER one thread adds up a
// result, whatever OUT is.
__device__ __forceinline__ void finish(const results &to, int splits, const wide *partial) {
  constexpr int ALL = OUT * VECTORS;
  constexpr int SIDE = ALL < BLOCK ? ALL : BLOCK;       // threads on different results
  constexpr int GROUPS = ONE_ORDER ? 1 : BLOCK / SIDE;  // threads on the same one
  wide *shared = reinterpret_cast<wide *>(memory);
#pragma unroll 1
  for (int o = threadIdx.x % SIDE; o < ALL; o += SIDE) {
    wide sum = 0;
    if ((!ONE_ORDER || threadIdx.x < SIDE) && to.exists(o)) {
#pragma unroll 8
      for (int s = threadIdx.x / SIDE; s < splits; s += GROUPS)
        sum += partial[found_at(s, o, to.n)];
    }
    if (GROUPS > 1) {
      shared[threadIdx.x] = sum;
#pragma unroll
      for (int d = GROUPS / 2; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d * SIDE) shared[threadIdx.x] = sum += shared[threadIdx.x + d * SIDE];
      }
    }
    if (threadIdx.x < SIDE && to.exists(o)) to.put(sum, o);
  }
}

// Adds up the sums of the cluster's blocks; each block takes a part of the results.
__device__ __forceinline__ void finish_cluster(const results &to, wide *found) {
  cluster_barrier();
#pragma unroll 1
  for (int o = blockIdx.y * BLOCK + threadIdx.x; o < OUT * VECTORS; o += CLUSTER_SPLITS * BLOCK) {
    if (!to.exists(o)) continue;
    wide sum = 0;
#pragma unroll
    for (int s = 0; s < CLUSTER_SPLITS; s++) sum += in_block(found, s)[o];
    to.put(sum, o);
  }
  cluster_barrier();  // other blocks may still read this one's shared memory
}

// The work of a block. `wait` returns when the results may be written.
template <typename Wait>
__device__ __forceinline__ void multiply_vectors(const stored *A, long long lda, const vectors &x,
                                                 int depth, const results &to, long long most,
                                                 wide *partial, unsigned *arrived, Wait wait) {
  if (x.n == 0) return;
  const int begin = min((long long)depth, blockIdx.y * most);
  const int end = min((long long)depth, begin + most);
  const int along_end = ALONG_SUM ? end : to.n, across_end = ALONG_SUM ? to.n : end;
  const bool has_all = to.n - (int)blockIdx.x * OUT >= OUT;  // of its results
  const factors all(x, begin, end, most);
  // Loads of the vectors are issued with those of the matrix, so that their latencies overlap.
  const auto load = [&](step &s, wide(&f)[TAKEN][VECTORS], int at) {
    if (has_all && end - at >= STEP) {
      if (X == X_cached) all.fetch<true>(s, f);
      s.load<true>(A, lda, along_end, across_end);
    } else {
      if (X == X_cached) all.fetch<false>(s, f);
      s.load<false>(A, lda, along_end, across_end);
    }
  };
  sums sum = {};
  step now;
  now.along = (ALONG_SUM ? begin : (int)blockIdx.x * OUT) + threadIdx.x % LX * VEC;
  now.across = (ALONG_SUM ? (int)blockIdx.x * OUT : begin) + threadIdx.x / LX * LOADS_ACROSS;
  wide f[TAKEN][VECTORS];
  load(now, f, begin);
  if constexpr (X == X_shared) all.copy();
#pragma unroll 1
  for (int at = begin; at < end; at += STEP) {
    step next = now;
    next.along += ALONG_SUM ? STEP : 0;
    next.across += ALONG_SUM ? 0 : STEP;
    wide next_f[TAKEN][VECTORS];
    if constexpr (AHEAD == 1) load(next, next_f, at + STEP);
    if (X == X_shared) all.fetch<true>(now, f);
    multiply(sum, now, f);
    if constexpr (AHEAD == 1) {
#pragma unroll
      for (int t = 0; t < TAKEN; t++) {
#pragma unroll
        for (int v = 0; v < VECTORS; v++) f[t][v] = next_f[t][v];
      }
    } else {
      if (at + STEP < end) load(next, f, at + STEP);
    }
    now = next;
  }
  fold_lanes(sum);
  wide *slots = reinterpret_cast<wide *>(memory);
  if (X == X_shared) __syncthreads();  // the vectors are there until now
  put_slots(sum, slots);
  __syncthreads();
  wait();
#pragma unroll 1
  for (int o = threadIdx.x; o < OUT * VECTORS; o += BLOCK) {
    wide found = 0;
#pragma unroll
    for (int s = 0; s < SLOTS; s++) found += slots[s * OUT * VECTORS + o];
    if (!to.exists(o)) continue;
    if constexpr (CLUSTER_SPLITS > 1) {
      slots[o] = found;
    } else if (FINISH != FINISH_atomic && gridDim.y > 1) {
      partial[found_at(blockIdx.y, o, to.n)] = found;
    } else {
      to.put(found, o);
    }
  }
  if constexpr (CLUSTER_SPLITS > 1) {
    finish_cluster(to, slots);
  } else if constexpr (FINISH == FINISH_last_block) {
    if (gridDim.y == 1 || !is_last_block(arrived + blockIdx.x, gridDim.y)) return;
    finish(to, gridDim.y, partial);
  }
}
