// merge_sort_tasks.cu -- one launch: blocks take the tiles of all passes in order, and each waits for those of the runs
// that it merges.
#include "ticket.cuh"

#include "merge_runs.cuh"

#include "merge_pass.cuh"

// `done` counts the finished tiles of a run in a pass.
__device__ __forceinline__ void count_done(unsigned *done) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(done, 1);
  }
}

__device__ __forceinline__ void wait_for(const unsigned *done, unsigned count) {
  while (load_acquire(done) != count) __nanosleep(20);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    sort_all(long long n, const key *x, const value *xv, key *y, value *yv, key *other,
             value *other_v, int passes, unsigned *done, unsigned long long *counter) {
  extern __shared__ __align__(16) unsigned char memory[];
  const unsigned runs = (unsigned)((n - 1) / RUN + 1), tiles = (unsigned)((n - 1) / TILE + 1);
  unsigned launch;
  const unsigned task = take_ticket(counter, &launch);
  if (task < runs) {
    make_run(task, n, x, xv, passes % 2 ? other : y, passes % 2 ? other_v : yv, memory);
    count_done(done + task);
    return;
  }
  const unsigned pass = (task - runs) / tiles, tile = (task - runs) % tiles;
  const long long run = (long long)RUN << pass * (WAYS == 4 ? 2 : 1);
  const tile_of t(tile, run, (unsigned)min(0x7fffffffll, WAYS * run / TILE), n);
  if (threadIdx.x < WAYS) {
    const long long count = max(0ll, min(run, n - t.start - threadIdx.x * run));
    const unsigned parts = pass == 0 ? 1 : (unsigned)((count + TILE - 1) / TILE);
    const unsigned *runs_done = done + (long long)pass * runs + t.start / run;
    if (count > 0) wait_for(runs_done + threadIdx.x, (launch + 1) * parts);
  }
  __syncthreads();
  const bool to_other = (passes - 1 - pass) % 2;
  const key *from_keys = to_other ? y : other;
  cut from, to;
  cuts(t, run, from_keys, &from, &to);
  merge_tile(t, from, to, run, n, from_keys, to_other ? yv : other_v, to_other ? other : y,
             to_other ? other_v : yv, memory);
  if (pass + 1 < passes) count_done(done + (long long)(pass + 1) * runs + t.start / (WAYS * run));
}
