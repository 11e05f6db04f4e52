// quadtree_levels.cu -- all nodes of a level together: count, give out places, move.
#include "quadtree_ways.cuh"

// The first of `each` numbers for every lane that wants some, by one atomic a warp. All lanes come here.
__device__ __forceinline__ int claim(unsigned *counter, bool wants, int each) {
  const unsigned all = __ballot_sync(0xffffffff, wants), lane = threadIdx.x % 32;
  unsigned first = 0;
  if (all && lane == __ffs(all) - 1) first = atomicAdd(counter, __popc(all) * each);
  first = __shfl_sync(0xffffffff, first, all ? __ffs(all) - 1 : 0);
  return (int)first + each * __popc(all & ((1u << lane) - 1));
}

// A lane's own number of entries, `each` >= 0.
__device__ __forceinline__ int claim_some(unsigned *counter, int each) {
  const int lane = threadIdx.x % 32;
  int sum = each;
  for (int d = 1; d < 32; d *= 2) {
    const int left = __shfl_up_sync(0xffffffff, sum, d);
    if (lane >= d) sum += left;
  }
  const int total = __shfl_sync(0xffffffff, sum, 31);
  unsigned first = 0;
  if (lane == 31 && total) first = atomicAdd(counter, (unsigned)total);
  return (int)__shfl_sync(0xffffffff, first, 31) + sum - each;
}

__device__ __forceinline__ int parts_of(int count) { return (count + THICK - 1) / THICK; }

__device__ __forceinline__ void add_chunks(unsigned *chunks, int at, unsigned slot, int parts) {
  for (int p = 0; p < parts; p++) {
    chunks[2ll * (at + p)] = slot;
    chunks[2ll * (at + p) + 1] = (unsigned)p;
  }
}

// Of a root with children, its chunks; else the permutation.
extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_root(int n, int min_points, int max_depth, unsigned *state, int *nodes,
                  int *node_count, int *permutation, unsigned *active, unsigned *chunks) {
  const int i = blockIdx.x * BLOCK + threadIdx.x, stride = gridDim.x * BLOCK;
  if (state[STATE_BAD]) {
    if (i == 0) *node_count = -1, state[STATE_LEVELS] = 0;
    return;
  }
  if (n <= min_points || max_depth == 0) {
    for (long long k = i; k < n; k += stride) permutation[k] = (int)k;
    if (i == 0) state[STATE_LEVELS] = 0;
    return;
  }
  for (int p = i; p < parts_of(n); p += stride) {
    chunks[2ll * p] = 0;
    chunks[2ll * p + 1] = (unsigned)p;
  }
  if (i == 0) {
    active[0] = 0;
    state[STATE_CHUNKS] = parts_of(n);
    nodes[3] = 1;
    *node_count = 5;
    for (int q = 0; q < 4; q++) quad_put(nodes, 1 + q, {4 + q, 0, 0, -1});
  }
}

// The points of a chunk, [first, end), and its node.
struct chunk {
  int slot, first, end;
  quad_node node;
  __device__ __forceinline__ chunk(const unsigned *chunks, int i, const unsigned *active,
                                   const int *nodes) {
    slot = (int)chunks[2ll * i];
    node = quad_get(nodes, (int)active[slot]);
    first = node.first + (int)chunks[2ll * i + 1] * THICK;
    end = min(first + THICK, node.first + node.count);
  }
};

__device__ __forceinline__ void count_quadrants(const chunk &c, const unsigned *way, int level,
                                                int max_depth, int *counts) {
  int mine[4] = {0, 0, 0, 0};
  for (int i = c.first + (int)threadIdx.x; i < c.end; i += BLOCK) {
    const int to = quad_of(way[i], level, max_depth);
#pragma unroll
    for (int q = 0; q < 4; q++) mine[q] += to == q;
  }
#pragma unroll
  for (int q = 0; q < 4; q++) {
    const int sum = __reduce_add_sync(0xffffffff, mine[q]);
    if (threadIdx.x % 32 == 0 && sum) atomicAdd(&counts[q], sum);
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_count(int level, int n, int max_depth, int inner, int most, const unsigned *ways,
                   int *nodes, const unsigned *active, const unsigned *chunks,
                   const unsigned *state) {
  __shared__ int counts[4];
  const unsigned *way = ways + (level % 2 ? n : 0);
  active += level % 2 ? inner : 0;
  chunks += level % 2 ? 2ll * most : 0;
  for (int i = blockIdx.x; i < (int)state[STATE_CHUNKS + level]; i += gridDim.x) {
    const chunk c(chunks, i, active, nodes);
    if (threadIdx.x < 4) counts[threadIdx.x] = 0;
    __syncthreads();
    count_quadrants(c, way, level, max_depth, counts);
    __syncthreads();
    if (threadIdx.x < 4 && counts[threadIdx.x]) {
      atomicAdd(&nodes[4ll * (c.node.child + (int)threadIdx.x) + 2], counts[threadIdx.x]);
    }
    __syncthreads();
  }
}

// A thread a node: where its quadrants begin, and of those with children the next level's entries.
extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_places(int level, int min_points, int max_depth, int inner, int most, int *nodes,
                    int *node_count, unsigned *active, unsigned *state, unsigned *cursors,
                    unsigned *chunks) {
  const unsigned *now = active + (level % 2 ? inner : 0);
  unsigned *next = active + (level % 2 ? 0 : inner), *parts = chunks + (level % 2 ? 0 : 2ll * most);
  const int n = (int)state[STATE_LEVELS + level];
  for (int from = blockIdx.x * BLOCK; from < n; from += gridDim.x * BLOCK) {
    const int slot = from + (int)threadIdx.x;
    const bool here = slot < n;
    quad_node node = {0, 0, 0, 0};
    if (here) node = quad_get(nodes, (int)now[slot]);
    int first = node.first;
    for (int q = 0; q < 4; q++) {
      const int child = node.child + q, count = here ? nodes[4ll * child + 2] : 0;
      const bool splits = count > min_points && level + 1 < max_depth;
      const int to = claim(&state[STATE_LEVELS + level + 1], splits, 1),
                grandchild = claim((unsigned *)node_count, splits, 4),
                at = claim_some(&state[STATE_CHUNKS + level + 1], splits ? parts_of(count) : 0);
      if (here) {
        cursors[4ll * slot + q] = (unsigned)first;
        quad_put(nodes, child, {node.way * 4 + q, first, count, splits ? grandchild : -1});
      }
      if (splits) {
        next[to] = (unsigned)child;
        add_chunks(parts, at, (unsigned)to, parts_of(count));
        for (int k = 0; k < 4; k++) quad_put(nodes, grandchild + k, {0, 0, 0, -1});
      }
      first += count;
    }
  }
}

// Points of leaves go to the permutation, others to the other buffer.
extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_move(int level, int n, int max_depth, int inner, int most, unsigned *ways,
                  unsigned *points, const int *nodes, const unsigned *active, unsigned *cursors,
                  const unsigned *chunks, const unsigned *state, int *permutation) {
  __shared__ int counts[4];
  __shared__ bool leaf[4];
  const unsigned *way = ways + (level % 2 ? n : 0), *point = points + (level % 2 ? n : 0);
  unsigned *way_to = ways + (level % 2 ? 0 : n), *point_to = points + (level % 2 ? 0 : n);
  active += level % 2 ? inner : 0;
  chunks += level % 2 ? 2ll * most : 0;
  for (int i = blockIdx.x; i < (int)state[STATE_CHUNKS + level]; i += gridDim.x) {
    const chunk c(chunks, i, active, nodes);
    if (threadIdx.x < 4) counts[threadIdx.x] = 0;
    __syncthreads();
    count_quadrants(c, way, level, max_depth, counts);
    __syncthreads();
    if (threadIdx.x < 4) {
      counts[threadIdx.x] =
          (int)atomicAdd(&cursors[4ll * c.slot + threadIdx.x], counts[threadIdx.x]);
      leaf[threadIdx.x] = nodes[4ll * (c.node.child + (int)threadIdx.x) + 3] < 0;
    }
    __syncthreads();
    for (int k = c.first + (int)threadIdx.x; k < c.end; k += BLOCK) {
      const unsigned w = way[k], p = point[k];
      const int q = quad_of(w, level, max_depth), at = atomicAdd(&counts[q], 1);
      if (leaf[q]) {
        permutation[at] = (int)p;
      } else {
        way_to[at] = w;
        point_to[at] = p;
      }
    }
    __syncthreads();
  }
}
