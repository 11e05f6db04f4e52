// block_sort.cuh -- a block sorts a tile: every thread its own keys in registers by a network of
// exchanges, then all of them merge, in shared memory, runs of 1, 2, 4... threads to runs twice as long.
//
// The template has the parameters SORT_BLOCK, SORT_ITEMS and NETWORK, includes merge_path.cuh before
// this, and defines item, what is sorted, with bool before(item x, item y) and bool swapped(item x,
// item y): must x, which is on the left, go to the right of y?

// Keys of different threads' rows in different banks: 4 bytes left out every 128.
struct padded {
  static constexpr int LINE = 128 / sizeof(item);
  static constexpr int GAP = sizeof(item) < 4 ? 4 / sizeof(item) : 1;
  item *p;

  static __device__ __forceinline__ int at(int i) {
    return SORT_ITEMS % 2 == 0 ? i + i / LINE * GAP : i;
  }
  __device__ __forceinline__ item &operator[](int i) const { return p[at(i)]; }
  __device__ __forceinline__ item &own(int k) const { return (*this)[threadIdx.x * SORT_ITEMS + k]; }
};

struct padded_from {  // a sequence that starts there
  padded all;
  int first;
  __device__ __forceinline__ item operator[](int i) const { return all[first + i]; }
};

__device__ __forceinline__ void exchange(item &x, item &y) {
  const bool yes = swapped(x, y);
  const item left = yes ? y : x, right = yes ? x : y;
  x = left;
  y = right;
}

// The thread's items, of which `count` are there. What is not there is last and stays there.
template <bool WHOLE>
__device__ __forceinline__ void sort_own(item (&v)[SORT_ITEMS], int count) {
@ if NETWORK == "odd_even" then
#pragma unroll
  for (int round = 0; round < SORT_ITEMS; round++) {  // exchanges of neighbours alone: stable
#pragma unroll
    for (int i = round % 2; i + 1 < SORT_ITEMS; i += 2) {
      if (WHOLE || i + 1 < count) exchange(v[i], v[i + 1]);
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
  if (WHOLE || @{i + far} < count) exchange(v[@{i}], v[@{i + far}]);
@           end
@         end
@       end
@       far = far // 2
@     end
@     half = 2 * half
@   end
@ end
}

// Runs of `width` threads' items become runs of twice as many; `count` items are in the tile.
__device__ __forceinline__ void merge_runs(item (&v)[SORT_ITEMS], int count, padded all, int width) {
  const int in = threadIdx.x & (2 * width - 1), start = (threadIdx.x - in) * SORT_ITEMS;
  const int there = max(start, count);
  const int middle = min(start + width * SORT_ITEMS, there);
  const int end = min(start + 2 * width * SORT_ITEMS, there);
  const int na = middle - start, nb = end - middle;
  const int d = min(in * SORT_ITEMS, na + nb);
  const int i = co_rank(d, padded_from{all, start}, na, padded_from{all, middle}, nb);
  // up to 32 threads are merging on their own
  const int last = (width < 32 ? (threadIdx.x / 32 + 1) * 32 * SORT_ITEMS : RUN) - 1;
  merger<item, padded> from(all, start + i, middle, middle + d - i, end, last);
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    int ignored;
    v[k] = from.next(&ignored);
  }
}

// The tile's first `count` items, each thread's neighbours in v; they end up in shared memory.
template <bool WHOLE>
__device__ __forceinline__ void sort_tile(item (&v)[SORT_ITEMS], int count, padded all) {
  sort_own<WHOLE>(v, count - (int)threadIdx.x * SORT_ITEMS);
#pragma unroll 1
  for (int width = 1; width < min(SORT_BLOCK, 32); width *= 2) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
    __syncwarp();
    merge_runs(v, count, all, width);
    __syncwarp();
  }
#pragma unroll 1
  for (int width = 32; width < SORT_BLOCK; width *= 2) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
    __syncthreads();
    merge_runs(v, count, all, width);
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
  __syncthreads();
}
