// matrix_vectors.cuh -- the product of a matrix and a few vectors: what gemv is, and a product of
// matrices one of which is thin.
//
// The matrix lies contiguous along the results, or along the sum (ALONG_SUM). A block has LX threads
// in that direction and BLOCK / LX across. In a step each thread loads LOADS_ACROSS x LOADS vectors of VEC
// elements at once: these bytes under way are what memory bandwidth needs. Results of the block are
// OUT times VECTORS; the sum is shared by gridDim.y blocks, `most` elements each, at most, and what
// they found meets by FINISH.
//
// Include numbers, "words.cuh", "last_block.cuh" and "epilogue.cuh" before; "cluster.cuh" if FINISH is.
// Besides the constants named so far, STEP is how far a step of the block goes along the sum, SLOTS
// how many partial sums of a result meet in shared memory; XVEC the elements of a vector per load, if
// they are contiguous. SIDEWAYS: results go along the rows of C, vectors are of rows.

struct alignas(VEC * sizeof(stored)) elements {
  stored e[VEC];
};

extern __shared__ __align__(16) unsigned char memory[];

// ---- a step of a thread ------------------------------------------------------------------------

struct step {
  elements a[LOADS_ACROSS][LOADS];
  int along, across;  // its first ones

  // What lies beyond the ends is zero; vectors do not cross an edge. The whole block must agree on
  // whether anything does: as a branch of its own, all loads of a step start before the first of them
  // is waited for, whatever the compiler thinks of the registers.
  template <bool WHOLE>
  __device__ __forceinline__ void load(const stored *A, long long lda, int along_end, int across_end) {
#pragma unroll
    for (int j = 0; j < LOADS_ACROSS; j++) {
      const stored *from = A + (across + j) * lda + along;
#pragma unroll
      for (int i = 0; i < LOADS; i++) {
        if (!WHOLE) a[j][i] = elements();
        if (WHOLE || (across + j < across_end && along + i * LX * VEC < along_end)) {
          a[j][i] = load_@{LOAD}(reinterpret_cast<const elements *>(from + i * LX * VEC));
        }
      }
    }
  }
};

// ---- the vectors -------------------------------------------------------------------------------

// From an element to the next, from a vector to the next, and how many there are.
struct vectors {
  const stored *x;
  long long step, next;
  int n;
};

constexpr int TAKEN = ALONG_SUM ? LOADS * VEC : LOADS_ACROSS;  // elements of each vector in a step

// Several numbers of shared memory, 16 bytes at a time.
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

// Them from where this block begins: copied to shared memory, or in place. Of vectors that there are
// not, the last one stands in: nobody asks for these results.
struct factors {
  vectors of;
  int begin, end;
  long long most;

  __device__ __forceinline__ factors(const vectors &v, int begin_, int end_, long long most_)
      : of(v), begin(begin_), end(end_), most(most_) {}

  __device__ __forceinline__ const stored *vector(int j) const {
    return of.x + (VECTORS == 1 || j < of.n ? j : of.n - 1) * of.next;
  }

@ if X == "shared" then
  // Along the sum if that is how they are read, else all vectors' elements side by side; whole steps,
  // zeros at the end.
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
@ end

  // What a step takes of them; unless all of it is there (WHOLE), zeros from the end on.
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

  // Of vector j, elements i to i + VEC - 1, all of which exist or none.
  template <bool WHOLE>
  __device__ __forceinline__ void along(int i, int j, wide (&v)[VEC]) const {
@ if X == "shared" then
    read_shared(reinterpret_cast<const wide *>(memory) + j * most + (i - begin), v);
@ else
    struct alignas(XVEC * sizeof(stored)) part {
      stored e[XVEC];
    };
    const stored *from = vector(j);
#pragma unroll
    for (int e = 0; e < VEC; e += XVEC) {
      part p = part();
      if (WHOLE || i < end) p = load_plain(reinterpret_cast<const part *>(from + (i + e) * of.step));
#pragma unroll
      for (int f = 0; f < XVEC; f++) v[e + f] = widen(p.e[f]);
    }
@ end
  }

  // Of all vectors, element i.
  template <bool WHOLE>
  __device__ __forceinline__ void across(int i, wide (&v)[VECTORS]) const {
@ if X == "shared" then
    read_shared(reinterpret_cast<const wide *>(memory) + (long long)(i - begin) * VECTORS, v);
@ else
#pragma unroll
    for (int j = 0; j < VECTORS; j++) v[j] = WHOLE || i < end ? widen(vector(j)[i * of.step]) : 0;
@ end
  }
};

// ---- sums of a thread --------------------------------------------------------------------------

constexpr int MINE = ALONG_SUM ? LOADS_ACROSS : LOADS * VEC;  // results of a thread, per vector
using sums = wide[VECTORS][MINE];

__device__ __forceinline__ void multiply(sums &sum, const step &s, const wide (&f)[TAKEN][VECTORS]) {
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

// The lanes of a warp that have the same results.
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

// A thread's sums to its slot of each result.
__device__ __forceinline__ void put_slots(const sums &sum, wide *slots) {
  const int lane = threadIdx.x % LX;
  const int slot = ALONG_SUM ? lane / 32 : LX < 32 ? threadIdx.x / 32 : threadIdx.x / LX;
  if (ALONG_SUM ? threadIdx.x % (LX < 32 ? LX : 32) > 0 : LX < 32 && threadIdx.x % 32 >= LX) return;
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
#pragma unroll
    for (int i = 0; i < MINE; i++) {
      const int o = ALONG_SUM ? threadIdx.x / LX * LOADS_ACROSS + i : (i / VEC * LX + lane) * VEC + i % VEC;
      slots[(slot * VECTORS + v) * OUT + o] = sum[v][i];
    }
  }
}

// ---- from sums to the results ------------------------------------------------------------------

struct results {
  wide alpha, beta;
  stored *y;
  long long step, next;  // from a result to the next, and from one vector's to the next one's
  int n, vectors;
  const stored *scales, *biases;

  // The o-th of this block.
  __device__ __forceinline__ static int vector(int o) { return VECTORS == 1 ? 0 : o / OUT; }
  __device__ __forceinline__ static int result(int o) {
    return blockIdx.x * OUT + (VECTORS == 1 ? o : o % OUT);
  }
  __device__ __forceinline__ bool exists(int o) const {
    return result(o) < n && (VECTORS == 1 || vector(o) < vectors);
  }

  __device__ __forceinline__ void put(wide sum, int o) const {
    const int i = result(o), v = vector(o);
    stored *to = y + i * step + v * next;
@ if FINISH == "atomic" then
    if (gridDim.y > 1) {
      atomicAdd(to, alpha * sum);
      return;
    }
@ end
    const wide before = beta == 0 ? 0 : beta * widen(*to);
    *to = narrow(epilogue(alpha * sum + before, SIDEWAYS ? v : i, SIDEWAYS ? i : v, scales, biases));
  }
};

@ if FINISH == "last_block" or FINISH == "two_launch" then
// Where a split leaves what it found.
__device__ __forceinline__ long long found_at(int split, int o, int n) {
  return ((long long)split * VECTORS + results::vector(o)) * n + results::result(o);
}

// Adds up what all splits found for this block's results.
__device__ __forceinline__ void finish(const results &to, int splits, const wide *partial) {
  constexpr int ALL = OUT * VECTORS;
  constexpr int SIDE = ALL < BLOCK ? ALL : BLOCK;  // threads on different results
  constexpr int GROUPS = BLOCK / SIDE;             // threads on the same one
  wide *shared = reinterpret_cast<wide *>(memory);
#pragma unroll 1
  for (int o = threadIdx.x % SIDE; o < ALL; o += SIDE) {
    wide sum = 0;
    if (to.exists(o)) {
#pragma unroll 8
      for (int s = threadIdx.x / SIDE; s < splits; s += GROUPS) sum += partial[found_at(s, o, to.n)];
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

@ end
@ if FINISH == "cluster" then
// Adds up what the cluster's blocks found, each a part of the results.
__device__ __forceinline__ void finish(const results &to, wide *found) {
  cluster_barrier();
#pragma unroll 1
  for (int o = blockIdx.y * BLOCK + threadIdx.x; o < OUT * VECTORS; o += CLUSTER * BLOCK) {
    if (!to.exists(o)) continue;
    wide sum = 0;
#pragma unroll
    for (int s = 0; s < CLUSTER; s++) sum += in_block(found, s)[o];
    to.put(sum, o);
  }
  cluster_barrier();  // others may still read here
}

@ end
// A whole block's work. `wait` returns when the results may be written.
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
  // Factors come from memory together with a step, lest one wait follow another.
  const auto load = [&](step &s, wide (&f)[TAKEN][VECTORS], int at) {
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
@ if X == "shared" then
  all.copy();
@ end
#pragma unroll 1
  for (int at = begin; at < end; at += STEP) {
    step next = now;
    next.along += ALONG_SUM ? STEP : 0;
    next.across += ALONG_SUM ? 0 : STEP;
@ if AHEAD == 1 then
    wide next_f[TAKEN][VECTORS];
    load(next, next_f, at + STEP);
@ end
    if (X == X_shared) all.fetch<true>(now, f);
    multiply(sum, now, f);
@ if AHEAD == 1 then
#pragma unroll
    for (int t = 0; t < TAKEN; t++) {
#pragma unroll
      for (int v = 0; v < VECTORS; v++) f[t][v] = next_f[t][v];
    }
@ else
    if (at + STEP < end) load(next, f, at + STEP);
@ end
    now = next;
  }
  fold_lanes(sum);
  wide *slots = reinterpret_cast<wide *>(memory);
  if (X == X_shared) __syncthreads();  // the vectors were there
  put_slots(sum, slots);
  __syncthreads();
  wait();
#pragma unroll 1
  for (int o = threadIdx.x; o < OUT * VECTORS; o += BLOCK) {
    wide found = 0;
#pragma unroll
    for (int s = 0; s < SLOTS; s++) found += slots[s * OUT * VECTORS + o];
    if (!to.exists(o)) continue;
@ if FINISH == "cluster" then
    slots[o] = found;
@ else
@   if FINISH ~= "atomic" then
    if (gridDim.y > 1) {
      partial[found_at(blockIdx.y, o, to.n)] = found;
      continue;
    }
@   end
    to.put(found, o);
@ end
  }
@ if FINISH == "last_block" then
  if (gridDim.y == 1 || !is_last_block(arrived + blockIdx.x, gridDim.y)) return;
  finish(to, gridDim.y, partial);
@ elseif FINISH == "cluster" then
  finish(to, slots);
@ end
}
