// quadtree_morton.cu -- points sorted by their ways, 8 bits a pass, then quadrants found by searching.
#include "ticket.cuh"

#include "quadtree_sort.cuh"
#include "quadtree_ways.cuh"

// Nodes of the levels before this one, and of this one.
__device__ __forceinline__ int nodes_before(const unsigned *level_counts, int level) {
  int sum = 0;
  for (int l = 0; l < level; l++) sum += (int)level_counts[l];
  return sum;
}

// The first of [low, high) whose way is not below, by LANES lanes; `high` if there is none.
__device__ __forceinline__ int search(const unsigned *__restrict__ ways, int low, int high,
                                      unsigned way) {
  const int lane = threadIdx.x % LANES;
  const unsigned group =
      LANES == 32 ? 0xffffffffu : ((1u << LANES % 32) - 1) << threadIdx.x % 32 / LANES * LANES;
  while (low < high) {
    const int step = (high - low) / (LANES + 1) + 1, at = low + (lane + 1) * step - 1;
    const bool below = at < high && ways[at] < way;
    const int n = LANES == 1 ? below : __popc(__ballot_sync(group, below));
    low += n * step;
    high = min(high, low + step - 1);
  }
  return low;
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

// Nodes of one level; LANES lanes each.
extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_split(int level, int passes, int n, int min_points, int max_depth, const unsigned *bad,
                   const unsigned *__restrict__ ways, int *nodes, int *node_count,
                   unsigned *level_counts) {
  constexpr int GROUPS = BLOCK / LANES;
  __shared__ int taken;
  if (*bad) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *node_count = -1;
    return;
  }
  ways += passes % 2 ? n : 0;
  const int begin = nodes_before(level_counts, level), here = (int)level_counts[level],
            below = begin + here, shift = 2 * (max_depth - level - 1);
  for (int from = blockIdx.x * GROUPS; from < here; from += gridDim.x * GROUPS) {
    const int i = from + (int)threadIdx.x / LANES, index = begin + i;
    quad_node node = {0, 0, 0, 0};
    if (i < here) node = quad_get(nodes, index);
    const bool splits = i < here && node.count > min_points && level < max_depth;
    const share s = count_groups(splits);
    if (threadIdx.x == 0 && s.all) {
      taken = (int)atomicAdd(&level_counts[level + 1], 4 * s.all);
      atomicAdd(node_count, 4 * s.all);
    }
    __syncthreads();
    if (splits) {
      const unsigned way = ((unsigned)node.way ^ 1u << 2 * level) * 4;
      const int end = node.first + node.count;
      int at[5];
      at[0] = node.first;
      at[4] = end;
      at[2] = search(ways, node.first, end, way + 2 << shift);
      at[1] = search(ways, node.first, at[2], way + 1 << shift);
      at[3] = search(ways, at[2], end, way + 3 << shift);
      const int child = below + taken + 4 * s.before;
      if (threadIdx.x % LANES == 0) {
#pragma unroll
        for (int q = 0; q < 4; q++) {
          quad_put(nodes, child + q, {node.way * 4 + q, at[q], at[q + 1] - at[q], -1});
        }
        nodes[4ll * index + 3] = child;
      }
    }
    __syncthreads();
  }
}
