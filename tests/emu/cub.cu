// The CUDA toolkit's own block and warp primitives, on 128 threads with 4 items each.
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#define GLOBAL extern "C" __global__ void
constexpr int THREADS = 128, ITEMS = 4;

template <cub::BlockReduceAlgorithm A>
__device__ void reduce(const int *in, int *out) {
  using Reduce = cub::BlockReduce<int, THREADS, A>;
  __shared__ typename Reduce::TempStorage temp;
  int items[ITEMS];
  for (int i = 0; i < ITEMS; i++) items[i] = in[threadIdx.x * ITEMS + i];
  int sum = Reduce(temp).Sum(items);
  if (threadIdx.x == 0) out[0] = sum;
}
GLOBAL reduce_raking(const int *in, int *out) { reduce<cub::BLOCK_REDUCE_RAKING>(in, out); }
GLOBAL reduce_warps(const int *in, int *out) { reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, out); }

template <cub::BlockScanAlgorithm A>
__device__ void scan(const int *in, int *out) {
  using Scan = cub::BlockScan<int, THREADS, A>;
  __shared__ typename Scan::TempStorage temp;
  int items[ITEMS];
  for (int i = 0; i < ITEMS; i++) items[i] = in[threadIdx.x * ITEMS + i];
  Scan(temp).ExclusiveSum(items, items);
  for (int i = 0; i < ITEMS; i++) out[threadIdx.x * ITEMS + i] = items[i];
}
GLOBAL scan_raking(const int *in, int *out) { scan<cub::BLOCK_SCAN_RAKING>(in, out); }
GLOBAL scan_warps(const int *in, int *out) { scan<cub::BLOCK_SCAN_WARP_SCANS>(in, out); }

GLOBAL sort(const int *in, int *out) {
  using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, THREADS, ITEMS>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Sort::TempStorage sort;
  } temp;
  int items[ITEMS];
  Load(temp.load).Load(in, items);
  __syncthreads();
  Sort(temp.sort).Sort(items);
  __syncthreads();
  Store(temp.store).Store(out, items);
}

struct Less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
// reads one item past the end of what it merges, and drops it
GLOBAL merge_sort(const int *in, int *out) {
  using Sort = cub::BlockMergeSort<int, THREADS, ITEMS>;
  __shared__ typename Sort::TempStorage temp;
  int items[ITEMS];
  for (int i = 0; i < ITEMS; i++) items[i] = in[threadIdx.x * ITEMS + i];
  Sort(temp).Sort(items, Less());
  for (int i = 0; i < ITEMS; i++) out[threadIdx.x * ITEMS + i] = items[i];
}

template <cub::BlockHistogramAlgorithm A>
__device__ void histogram(const int *in, int *out) {
  using Histogram = cub::BlockHistogram<unsigned char, THREADS, ITEMS, 64, A>;
  __shared__ typename Histogram::TempStorage temp;
  __shared__ unsigned bins[64];
  unsigned char items[ITEMS];
  for (int i = 0; i < ITEMS; i++) items[i] = in[threadIdx.x * ITEMS + i] & 63;
  Histogram(temp).Histogram(items, bins);
  __syncthreads();
  if (threadIdx.x < 64) out[threadIdx.x] = bins[threadIdx.x];
}
GLOBAL histogram_atomic(const int *in, int *out) { histogram<cub::BLOCK_HISTO_ATOMIC>(in, out); }
GLOBAL histogram_sort(const int *in, int *out) { histogram<cub::BLOCK_HISTO_SORT>(in, out); }

GLOBAL exchange(const int *in, int *out) {
  using Exchange = cub::BlockExchange<int, THREADS, ITEMS>;
  __shared__ typename Exchange::TempStorage temp;
  int items[ITEMS];
  for (int i = 0; i < ITEMS; i++) items[i] = in[threadIdx.x * ITEMS + i];
  Exchange(temp).BlockedToStriped(items, items);
  for (int i = 0; i < ITEMS; i++) out[i * THREADS + threadIdx.x] = items[i];
}

GLOBAL warp_sums(const int *in, int *out) {
  using Reduce = cub::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage temp[THREADS / 32];
  int sum = Reduce(temp[threadIdx.x / 32]).Sum(in[threadIdx.x]);
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum;
}
GLOBAL warp_scan16(const int *in, int *out) {
  using Scan = cub::WarpScan<int, 16>;
  __shared__ typename Scan::TempStorage temp[THREADS / 16];
  int v;
  Scan(temp[threadIdx.x / 16]).InclusiveSum(in[threadIdx.x], v);
  out[threadIdx.x] = v;
}
