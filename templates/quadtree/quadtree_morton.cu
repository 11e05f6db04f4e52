// quadtree_morton.cu -- points sorted by their ways, 8 bits a pass, then quadrants found by searching.
#include "grid_barrier.cuh"
#include "pdl.cuh"
#include "ticket.cuh"

#include "quadtree_ways.cuh"

#include "quadtree_sort.cuh"

constexpr unsigned GROUP_MASK = LANES == 32 ? 0xffffffff : (1u << LANES % 32) - 1;

// The lanes of the warp that are in this lane's group.
__device__ __forceinline__ unsigned group_lanes() {
  return GROUP_MASK << threadIdx.x % 32 / LANES * LANES;
}

// Where quadrants 1, 2 and 3 of a node begin, among the `count` ways from `first` on.
struct quad_starts {
  int at[3];
};

// For each of three ways the first of [first, end) that is not below it, by LANES lanes; `end` if there is
// none. The three look at the same time.
__device__ __forceinline__ quad_starts search(const unsigned *ways, int first, int end,
                                              unsigned way, int shift) {
  int low[3] = {first, first, first}, high[3] = {end, end, end};
  const int lane = threadIdx.x % LANES;
  while (low[0] < high[0] || low[1] < high[1] || low[2] < high[2]) {
    bool below[3];
    int step[3];
#pragma unroll
    for (int q = 0; q < 3; q++) {
      step[q] = (high[q] - low[q]) / (LANES + 1) + 1;
      const int at = low[q] + (lane + 1) * step[q] - 1;
      below[q] = at < high[q] && ways[at] < (way + q + 1) << shift;
    }
#pragma unroll
    for (int q = 0; q < 3; q++) {
      low[q] += step[q] * __popc(__ballot_sync(group_lanes(), below[q]));
      high[q] = min(high[q], low[q] + step[q] - 1);
    }
  }
  return {{low[0], low[1], low[2]}};
}

// Of few points: read at once and counted, quadrants 0, 0 and 1, and 0 to 2 in ten bits each.
enum { FEW = 16 };
__device__ __forceinline__ quad_starts count_few(const unsigned *ways, int first, int count,
                                                 int shift) {
  const int lane = threadIdx.x % LANES;
  unsigned all = 0, way[FEW];
#pragma unroll
  for (int k = 0; k < FEW; k++) {
    way[k] = lane + k * LANES < count ? ways[first + lane + k * LANES] : 0xffffffff;
  }
#pragma unroll
  for (int k = 0; k < FEW; k++) {
    const unsigned q = way[k] >> shift & 3;
    all += (q < 1) + ((q < 2) << 10) + ((q < 3) << 20);
  }
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2) all += __shfl_xor_sync(group_lanes(), all, d);
  return {{first + (int)(all & 1023), first + (int)(all >> 10 & 1023), first + (int)(all >> 20)}};
}

__device__ __forceinline__ quad_starts find_starts(const unsigned *ways, const quad_node &node,
                                                   int level, int shift) {
  if (node.count <= FEW * LANES) return count_few(ways, node.first, node.count, shift);
  return search(ways, node.first, node.first + node.count,
                ((unsigned)node.way ^ 1u << 2 * level) * 4, shift);
}

struct share {
  int before, all;
};

// How many of the block's groups before this one want something, and how many in all.
__device__ __forceinline__ share count_groups(bool wants) {
  __shared__ int warps[BLOCK / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned mask = __ballot_sync(0xffffffff, wants && lane % LANES == 0);
  if (lane == 0) warps[warp] = __popc(mask);
  __syncthreads();
  share s = {__popc(mask & ((1u << lane / LANES * LANES) - 1)), 0};
#pragma unroll
  for (int w = 0; w < BLOCK / 32; w++) {
    s.before += w < warp ? warps[w] : 0;
    s.all += warps[w];
  }
  return s;
}

// Lane q of a group writes child q; the last one tells the node.
__device__ __forceinline__ void put_children(int *nodes, int index, int child, const quad_node &node,
                                             const quad_starts &s) {
  const int q = threadIdx.x % LANES, end = node.first + node.count;
  const int from = q == 0 ? node.first : q == 1 ? s.at[0] : q == 2 ? s.at[1] : s.at[2],
            to = q == 0 ? s.at[0] : q == 1 ? s.at[1] : q == 2 ? s.at[2] : end;
  if (q < 4) quad_put(nodes, child + q, {node.way * 4 + q, from, to - from, -1});
  if (q == 3) nodes[4ll * index + 3] = child;
}

// The `here` nodes of a level, of which the first is node `begin`; LANES lanes each.
__device__ __forceinline__ void split_level(int level, int begin, int here, int min_points,
                                            int max_depth, const unsigned *ways, int *nodes,
                                            unsigned *state) {
  constexpr int GROUPS = BLOCK / LANES;
  __shared__ int taken;
  for (int from = blockIdx.x * GROUPS; from < here; from += gridDim.x * GROUPS) {
    const int i = from + (int)threadIdx.x / LANES, index = begin + i;
    quad_node node = {0, 0, 0, 0};
    if (i < here) node = quad_get(nodes, index);
    const bool splits = i < here && node.count > min_points && level < max_depth;
    const share s = count_groups(splits);
    if (threadIdx.x == 0 && s.all) {
      taken = (int)atomicAdd(&state[STATE_LEVELS + level + 1], 4 * s.all);
    }
    quad_starts starts = {};
    if (splits) starts = find_starts(ways, node, level, 2 * (max_depth - level - 1));
    __syncthreads();
    if (splits) put_children(nodes, index, begin + here + taken + 4 * s.before, node, starts);
    __syncthreads();
  }
}

// Those of one level; the call for level max_depth tells how many nodes there are.
extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_split(int level, int passes, int n, int min_points, int max_depth,
                   const unsigned *ways, int *nodes, int *node_count, unsigned *state) {
  pdl_wait();
  const bool bad = state[STATE_BAD];
  int begin = 0;
  for (int l = 0; l < level; l++) begin += (int)state[STATE_LEVELS + l];
  const int here = bad ? 0 : (int)state[STATE_LEVELS + level];
  split_level(level, begin, here, min_points, max_depth, ways + (passes % 2 ? n : 0), nodes, state);
  if (level == max_depth && blockIdx.x == 0 && threadIdx.x == 0) {
    *node_count = bad ? -1 : begin + here;
  }
}

@ if BUILD == "grid" then
// All levels; blocks wait for each other after each.
extern "C" __global__ void __launch_bounds__(BLOCK, 2)
    quadtree_split_all(int passes, int n, int min_points, int max_depth, const unsigned *ways,
                       int *nodes, int *node_count, unsigned *state, unsigned long long *barrier) {
  ways += passes % 2 ? n : 0;
  const bool bad = state[STATE_BAD];
  int begin = 0;
  for (int level = 0; level <= max_depth && !bad; level++) {
    const int here = (int)__ldcg(&state[STATE_LEVELS + level]);
    if (here == 0) break;
    split_level(level, begin, here, min_points, max_depth, ways, nodes, state);
    begin += here;
    if (level < max_depth) grid_barrier(barrier);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *node_count = bad ? -1 : begin;
}
@ end
