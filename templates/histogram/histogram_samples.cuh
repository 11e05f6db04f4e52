// histogram_samples.cuh -- a block's samples, counted one by one or several of a bin at once (AGGREGATE).
//
// Counters are an object with these members:
//   NO_BIN              what own() gives for a sample that this block doesn't count
//   own(bin)            a bin in the numbering of this block, or NO_BIN
//   counts(bin)         may add() be called for it?
//   add(bin, by)
//   full(), flush()     true in all threads of a block when counters have to be flushed before the next step
#pragma once
#include "histogram_bins.cuh"
#include "words.cuh"

struct alignas(VEC * sizeof(sample)) vector {
  sample e[VEC];
};

// Consecutive samples of a thread that are in the same bin.
struct run {
  int bin;
  unsigned length;
};

template <typename Counters>
__device__ __forceinline__ void end_run(const Counters &counters, run &r) {
  if constexpr (AGGREGATE == AGGREGATE_run) {
    if (Counters::counts(r.bin)) counters.add(r.bin, r.length);
    r = {Counters::NO_BIN, 0};
  }
}

// Called by all threads of a warp together.
template <typename Counters>
__device__ __forceinline__ void count(const Counters &counters, run &r, int bin) {
  bin = Counters::own(bin);
  if constexpr (AGGREGATE == AGGREGATE_none) {
    if (Counters::counts(bin)) counters.add(bin, 1);
  } else if constexpr (AGGREGATE == AGGREGATE_match) {
    const unsigned same = __match_any_sync(0xffffffff, bin);
    if (Counters::counts(bin) && __ffs(same) - 1 == threadIdx.x % 32)
      counters.add(bin, __popc(same));
  } else {
    if (bin != r.bin) {
      end_run(counters, r);
      r.bin = bin;
    }
    r.length++;
  }
}

struct samples {
  long long n;
  const sample *x;
  long long vectors = n / VEC;
};

template <typename Counters>
__device__ __forceinline__ void count_samples(const samples &all, Counters &counters) {
  const vector *from = reinterpret_cast<const vector *>(all.x);
  run r = {Counters::NO_BIN, 0};
  for (long long step = (long long)blockIdx.x * (BLOCK * COARSE); step < all.vectors;
       step += (long long)gridDim.x * (BLOCK * COARSE)) {
    if (counters.full()) {
      end_run(counters, r);
      counters.flush();
    }
    vector v[COARSE];
    bool some[COARSE];
#pragma unroll
    for (int k = 0; k < COARSE; k++) {
      const long long i = step + (PARTITION == PARTITION_interleaved ? k * BLOCK + threadIdx.x
                                                                     : threadIdx.x * COARSE + k);
      some[k] = i < all.vectors;
      if (some[k]) v[k] = load_plain(from + i);
    }
#pragma unroll
    for (int k = 0; k < COARSE; k++) {
      if constexpr (AGGREGATE == AGGREGATE_match) {  // needs all lanes
#pragma unroll
        for (int e = 0; e < VEC; e++) count(counters, r, some[k] ? bin_of(v[k].e[e]) : BEYOND);
      } else {
        if (!some[k]) continue;
#pragma unroll
        for (int e = 0; e < VEC; e++) count(counters, r, bin_of(v[k].e[e]));
      }
    }
  }
  if (blockIdx.x == 0 && threadIdx.x < 32) {  // the last n % VEC samples
    const long long rest = all.vectors * VEC + threadIdx.x;
    count(counters, r, rest < all.n ? bin_of(all.x[rest]) : BEYOND);
  }
  end_run(counters, r);
}
