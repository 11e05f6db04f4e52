// block_sort.cuh -- a block sorts a tile: every thread its own keys in registers by a network of
// exchanges, then all of them merge runs of 1, 2, 4... threads to runs twice as long: in shared
// memory, each thread alone or in windows (MERGE), or, as long as they are a warp's (LANES), by a
// network between its registers.
//
// The template has the parameters SORT_BLOCK, SORT_ITEMS, NETWORK, LANES and MERGE, and includes
// merge_path.cuh, merge_item.cuh and merge_window.cuh before this.

using rows = spread<item, SORT_ITEMS>;

// The thread's items, of which `count` are there. What is not there is last and stays there.
template <bool WHOLE>
__device__ __forceinline__ void sort_own(item (&v)[SORT_ITEMS], int count) {
@ if NETWORK == "odd_even" then
#pragma unroll
  for (int round = 0; round < SORT_ITEMS; round++) {  // exchanges of neighbours alone: stable
#pragma unroll
    for (int i = round % 2; i + 1 < SORT_ITEMS; i += 2) {
      if (WHOLE || i + 1 < count) exchange(v[i], v[i + 1], i);
    }
  }
@ else
  // Batcher's merge exchange: Knuth, The Art of Computer Programming, vol. 3, 5.2.2, algorithm M
@   local half = 1
@   while half < SORT_ITEMS do
@     local far = half
@     while far >= 1 do
@       for j = far % half, SORT_ITEMS - 1 - far, 2 * far do
@         for i = j, math.min(j + far - 1, SORT_ITEMS - 1 - far) do
@           if i // (2 * half) == (i + far) // (2 * half) then
  if (WHOLE || @{i + far} < count) exchange(v[@{i}], v[@{i + far}], @{i});
@           end
@         end
@       end
@       far = far // 2
@     end
@     half = 2 * half
@   end
@ end
}

@ if LANES ~= "merge" then
// Batcher's bitonic merges of the runs of 1, 2, 4, 8, 16 lanes. The run on the right is taken
// backwards, and then halves of ever half the size exchange what is at the same place.
template <int WIDTH>
__device__ __forceinline__ void merge_lanes(item (&v)[SORT_ITEMS]) {
  const int lane = threadIdx.x % 32;
  item other[SORT_ITEMS];
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    other[k] = from_lane(v[SORT_ITEMS - 1 - k], 2 * WIDTH - 1);
  }
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    v[k] = swapped(v[k], other[k]) == !(lane & WIDTH) ? other[k] : v[k];
  }
#pragma unroll
  for (int d = WIDTH / 2; d > 0; d /= 2) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) {
      const item one = from_lane(v[k], d);
      v[k] = swapped(v[k], one) == !(lane & d) ? one : v[k];
    }
  }
#pragma unroll
  for (int d = SORT_ITEMS / 2; d > 0; d /= 2) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) {
      if (!(k & d)) exchange(v[k], v[k + d], k);
    }
  }
}

@   if LANES == "window" then
// The same with exchanges between registers alone, where those between lanes were many: both runs
// are a window.
template <int WIDTH>
__device__ __forceinline__ void merge_in_window(item (&v)[SORT_ITEMS], rows all) {
  using lanes_window = window<SORT_ITEMS, 2 * WIDTH>;
  constexpr int GROUP = 2 * WIDTH, HALF = SORT_ITEMS / 2;
  const int left = lanes_window::start() + lanes_window::lane();
  const int right = lanes_window::start() + HALF * GROUP + GROUP - 1 - lanes_window::lane();
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
  __syncwarp();
#pragma unroll
  for (int k = 0; k < HALF; k++) {
    v[k] = all.nth<GROUP>(right, HALF - 1 - k);
    v[k + HALF] = all.nth<GROUP>(left, k);
  }
  __syncwarp();
  lanes_window::rounds(v, all);
}

@   end
template <int WIDTH>
__device__ __forceinline__ void sort_lanes(item (&v)[SORT_ITEMS], rows all) {
  if constexpr (WIDTH < 32) {
@   if LANES == "window" then
    if constexpr (WIDTH > 2 && 2 * WIDTH <= SORT_ITEMS) merge_in_window<WIDTH>(v, all);
    else merge_lanes<WIDTH>(v);
@   else
    merge_lanes<WIDTH>(v);
@   end
    sort_lanes<2 * WIDTH>(v, all);
  }
}

@ end
// Runs of `width` threads' items become runs of twice as many; `count` items are in the tile.
__device__ __forceinline__ void merge_runs(item (&v)[SORT_ITEMS], int count, rows all, int width) {
  const int in = threadIdx.x & (2 * width - 1), start = (threadIdx.x - in) * SORT_ITEMS;
  const int there = max(start, count);
  const int middle = min(start + width * SORT_ITEMS, there);
  const int end = min(start + 2 * width * SORT_ITEMS, there);
  const int na = middle - start, nb = end - middle;
  const int d = min(in * SORT_ITEMS, na + nb);
  const int i = co_rank(d, sequence_of<rows>{all, start}, na, sequence_of<rows>{all, middle}, nb);
  // up to 32 threads are merging on their own
  const int last = (width < 32 ? (threadIdx.x / 32 + 1) * 32 * SORT_ITEMS : RUN) - 1;
  merger<item, rows> from(all, start + i, middle, middle + d - i, end, last);
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    int ignored;
    v[k] = from.next(&ignored);
  }
}

@ if MERGE == "network" then
// The same in windows, for runs of whole warps. All threads have read when they come back.
__device__ __forceinline__ void sync_block() { __syncthreads(); }

__device__ __forceinline__ void merge_windows(item (&v)[SORT_ITEMS], int count, rows all,
                                              int width) {
  using tile_window = window<SORT_ITEMS>;
  const int place = tile_window::start();
  const int run = width * SORT_ITEMS, start = place & ~(2 * run - 1), middle = start + run;
  const int na = max(0, min(run, count - start)), nb = max(0, min(run, count - middle));
  const int d = min(place - start, na + nb), end = min(d + tile_window::WINDOW, na + nb);
  const pair_of_ranks i = co_ranks<tile_window::GROUP>(
      d, end, sequence_of<rows>{all, start}, na, sequence_of<rows>{all, middle}, nb);
  const stretches both = stretches_between(i, d, end, start, middle);
  const tile_window here = {end - d};
  here.merge<sync_block, false>(v, both, stretches(), item_rows<SORT_ITEMS>{all}, all);
}

@ end
// Runs of `from` up to `to` threads.
__device__ __forceinline__ void merge_widths(item (&v)[SORT_ITEMS], int count, rows all, int from,
                                             int to) {
#pragma unroll 1
  for (int width = from; width < to; width *= 2) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
    if (to <= 32) __syncwarp();
    else __syncthreads();
    merge_runs(v, count, all, width);
    if (to <= 32) __syncwarp();
    else __syncthreads();
  }
}

// The tile's first `count` items, each thread's neighbours in v; they end up in shared memory.
__device__ __forceinline__ void sort_tile(item (&v)[SORT_ITEMS], int count, rows all) {
  if (count == RUN) {
    sort_own<true>(v, SORT_ITEMS);
  } else {
    sort_own<false>(v, count - (int)threadIdx.x * SORT_ITEMS);
  }
@ if LANES ~= "merge" then
  if (count == RUN) {
    sort_lanes<1>(v, all);
  } else {
    merge_widths(v, count, all, 1, 32);
  }
@ else
  merge_widths(v, count, all, 1, 32);
@ end
@ if MERGE == "network" then
#pragma unroll 1
  for (int width = 32; width < SORT_BLOCK; width *= 2) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
    __syncthreads();
    merge_windows(v, count, all, width);
  }
@ else
  merge_widths(v, count, all, 32, SORT_BLOCK);
@ end
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
  __syncthreads();
}
