// bfs_levels.cu -- a launch or two for each level, the algorithms of the textbook.
//
// push        a thread for each vertex; those of the last level visit their neighbours
// pull        a thread for each vertex; those that are not reached look for a neighbour in the last level
// edge        a thread for each edge; those out of the last level visit its other end
// frontier    a thread for each vertex of the last level, which are in a queue
// privatised  the same; blocks collect vertices in shared memory, and append them to the queue together
// buckets     a thread, a warp or a block for each vertex of the queue, by its degree
// src: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 15
#include "while_loop.cuh"
#include "bfs_graph.cuh"

// The words of a search; the first two are the loop's. The queue holds each reached vertex once, those of the
// last level from FIRST on, and END is where the next one goes.
enum { GO, LEFT, DEPTH, CHANGED, FIRST, SIZE, END };

extern "C" __global__ void __launch_bounds__(BLOCK)
    start(unsigned vertices, unsigned source, unsigned *level, unsigned *parent, unsigned *queue,
          unsigned *state) {
  for (unsigned v = grid_thread(); v < vertices; v += grid_threads()) {
    level[v] = v == source ? 0 : UNREACHED;
    if constexpr (PARENTS) parent[v] = v == source ? v : UNREACHED;
  }
  if (grid_thread() == 0) {
    const bool some = source < vertices;
    state[GO] = state[SIZE] = state[END] = some;
    state[DEPTH] = state[CHANGED] = state[FIRST] = 0;
    if (HAS_QUEUE && some) queue[0] = source;
  }
}

// The vertex that each edge comes from.
extern "C" __global__ void __launch_bounds__(BLOCK)
    origins(unsigned vertices, const int *offsets, int *from) {
  for (unsigned v = grid_thread() / 32; v < vertices; v += grid_threads() / 32) {
    for (int e = offsets[v] + threadIdx.x % 32; e < offsets[v + 1]; e += 32) from[e] = v;
  }
}

// u is a neighbour of v. Several threads may write the same level; only parents need one of them.
__device__ __forceinline__ bool reach(unsigned *level, unsigned *parent, unsigned u, unsigned v,
                                      unsigned depth) {
  if constexpr (PARENTS) {
    if (!claim(level, u, depth)) return false;
    parent[u] = v;
  } else {
    if (level[u] != UNREACHED) return false;
    level[u] = depth;
  }
  return true;
}

__device__ __forceinline__ void note(unsigned *state, bool changed) {
  if (__syncthreads_or(changed) && threadIdx.x == 0) atomicOr(&state[CHANGED], 1u);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    push(unsigned vertices, const int *offsets, const int *targets, unsigned *level,
         unsigned *parent, unsigned *state) {
  const unsigned v = grid_thread(), depth = state[DEPTH];
  bool changed = false;
  if (state[GO] && v < vertices && level[v] == depth) {
    for (int e = offsets[v]; e < offsets[v + 1]; e++) {
      changed |= reach(level, parent, targets[e], v, depth + 1);
    }
  }
  note(state, changed);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    pull(unsigned vertices, const int *offsets, const int *targets, unsigned *level,
         unsigned *parent, unsigned *state) {
  const unsigned v = grid_thread(), depth = state[DEPTH];
  bool changed = false;
  if (state[GO] && v < vertices && level[v] == UNREACHED) {
    for (int e = offsets[v]; e < offsets[v + 1] && !changed; e++) {
      const unsigned u = targets[e];
      changed = level[u] == depth;
      if (changed && PARENTS) parent[v] = u;
    }
    if (changed) level[v] = depth + 1;
  }
  note(state, changed);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    edge(unsigned edges, const int *from, const int *targets, unsigned *level, unsigned *parent,
         unsigned *state) {
  const unsigned e = grid_thread(), depth = state[DEPTH];
  bool changed = false;
  if (state[GO] && e < edges && level[from[e]] == depth) {
    changed = reach(level, parent, targets[e], from[e], depth + 1);
  }
  note(state, changed);
}

// After push, pull and edge.
extern "C" __global__ void decide(while_loop w, unsigned *state) {
  if (!state[GO]) return;
  state[GO] = state[CHANGED];
  state[CHANGED] = 0;
  state[DEPTH]++;
  while_go_on(w, state);
}

// ---- queues ------------------------------------------------------------------------------------

__device__ __forceinline__ bool reach_one(unsigned *level, unsigned *parent, unsigned u, unsigned v,
                                          unsigned depth) {
  const bool first = claim(level, u, depth);
  if (PARENTS && first) parent[u] = v;
  return first;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    frontier(const int *offsets, const int *targets, unsigned *level, unsigned *parent,
             unsigned *queue, unsigned *state) {
  if (!state[GO]) return;
  const unsigned depth = state[DEPTH] + 1, *last = queue + state[FIRST], size = state[SIZE];
  for (unsigned i = grid_thread(); i < size; i += grid_threads()) {
    const unsigned v = last[i];
    for (int e = offsets[v]; e < offsets[v + 1]; e++) {
      const unsigned u = targets[e];
      if (reach_one(level, parent, u, v, depth)) queue[atomicAdd(&state[END], 1u)] = u;
    }
  }
}

// A block's part of the next level; what it does not hold goes straight to the queue.
struct block_queue {
  unsigned *list, *n;

  __device__ void append(unsigned u, unsigned *queue, unsigned *state) const {
    const unsigned at = atomicAdd(n, 1u);
    if (at < QUEUE) {
      list[at] = u;
    } else {
      queue[atomicAdd(&state[END], 1u)] = u;
    }
  }

  __device__ void flush(unsigned *queue, unsigned *state) const {
    __shared__ unsigned begin;
    __syncthreads();
    const unsigned held = min(*n, (unsigned)QUEUE);
    if (threadIdx.x == 0 && held) begin = atomicAdd(&state[END], held);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < held; i += BLOCK) queue[begin + i] = list[i];
  }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    privatised(const int *offsets, const int *targets, unsigned *level, unsigned *parent,
               unsigned *queue, unsigned *state) {
  __shared__ unsigned list[QUEUE], n;
  if (!state[GO]) return;
  const block_queue mine = {list, &n};
  const unsigned depth = state[DEPTH] + 1, *last = queue + state[FIRST], size = state[SIZE];
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  for (unsigned i = grid_thread(); i < size; i += grid_threads()) {
    const unsigned v = last[i];
    for (int e = offsets[v]; e < offsets[v + 1]; e++) {
      const unsigned u = targets[e];
      if (reach_one(level, parent, u, v, depth)) mine.append(u, queue, state);
    }
  }
  mine.flush(queue, state);
}

// The edges of v from the first on, every step-th; THREAD, WARP or BLOCK together.
__device__ __forceinline__ void visit(const int *offsets, const int *targets, unsigned *level,
                                      unsigned *parent, unsigned *queue, unsigned *state,
                                      const block_queue &mine, unsigned v, unsigned depth,
                                      int first, int step) {
  for (int e = offsets[v] + first; e < offsets[v + 1]; e += step) {
    const unsigned u = targets[e];
    if (reach_one(level, parent, u, v, depth)) mine.append(u, queue, state);
  }
}

// Each block goes through its share of the level three times: a thread for each vertex of fewer than SMALL edges,
// a warp up to LARGE, the block above. src: Merrill, Garland, Scalable GPU graph traversal, 2012
extern "C" __global__ void __launch_bounds__(BLOCK)
    buckets(const int *offsets, const int *targets, unsigned *level, unsigned *parent,
            unsigned *queue, unsigned *state) {
  __shared__ unsigned list[QUEUE], n, kept[BLOCK], n_large;
  if (!state[GO]) return;
  const block_queue mine = {list, &n};
  const unsigned depth = state[DEPTH] + 1, *last = queue + state[FIRST], size = state[SIZE];
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x == 0) n = 0;
  for (unsigned base = blockIdx.x * BLOCK; base < size; base += gridDim.x * BLOCK) {
    if (threadIdx.x == 0) n_large = 0;
    __syncthreads();
    const bool some = base + threadIdx.x < size;
    const unsigned v = some ? last[base + threadIdx.x] : 0;
    const int degree = some ? offsets[v + 1] - offsets[v] : 0;
    if (degree < SMALL) {
      if (some) visit(offsets, targets, level, parent, queue, state, mine, v, depth, 0, 1);
    } else if (degree >= LARGE) {
      kept[atomicAdd(&n_large, 1u)] = v;
    }
    for (unsigned rest = __ballot_sync(~0u, degree >= SMALL && degree < LARGE); rest;
         rest &= rest - 1) {
      const unsigned one = __shfl_sync(~0u, v, __ffs(rest) - 1);
      visit(offsets, targets, level, parent, queue, state, mine, one, depth, lane, 32);
      __syncwarp();
    }
    __syncthreads();
    for (unsigned k = 0; k < n_large; k++) {
      visit(offsets, targets, level, parent, queue, state, mine, kept[k], depth, threadIdx.x,
            BLOCK);
    }
    __syncthreads();
  }
  __syncthreads();
  mine.flush(queue, state);
}

// After those with queues.
extern "C" __global__ void advance(while_loop w, unsigned *state) {
  if (!state[GO]) return;
  state[FIRST] += state[SIZE];
  state[SIZE] = state[END] - state[FIRST];
  state[GO] = state[SIZE] > 0;
  state[DEPTH]++;
  while_go_on(w, state);
}
