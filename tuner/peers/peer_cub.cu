// peer_cub.cu -- one call of CUB behind a C interface, timed beside our kernels.
//
// peer_cub.c compiles it with the installed toolkit's nvcc against the toolkit's CUB, once for each
// algorithm and types:
//   PEER_REDUCE, PEER_SCAN, ...   the algorithm; exactly one is defined
//   PEER_TYPE                     type of the elements
//   PEER_PAYLOAD                  type of the values that move with the keys, if any
//   PEER_OFFSET                   int, or int64_t for 2^31 elements and more
//   PEER_OPERATOR                 for reductions and scans: peer_sum, peer_max, ...
// A call without temporary storage returns its size, as CUB's calls do.

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cub/version.cuh>
#include <cuda/std/limits>
#include <cuda/std/type_traits>

#include "peer_cub.h"

using T = PEER_TYPE;
using offset = PEER_OFFSET;

template <typename A, typename B>
constexpr bool is = cuda::std::is_same_v<A, B>;

template <typename V>
const V *in(const peer_cub_call *c, int i) {
  return static_cast<const V *>(c->in[i]);
}
template <typename V>
V *out(const peer_cub_call *c, int i) {
  return static_cast<V *>(c->out[i]);
}

struct peer_sum {};
struct peer_max {};
struct peer_min {};
struct peer_product {};
using op = PEER_OPERATOR;

struct larger {
  __device__ __forceinline__ T operator()(const T &a, const T &b) const { return b > a ? b : a; }
};
struct smaller {
  __device__ __forceinline__ T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
struct times {
  __device__ __forceinline__ T operator()(const T &a, const T &b) const {
    return static_cast<T>(a * b);
  }
};

// The maximum of no numbers; the minimum is its negative. Templates, so that only the branch of the
// type is compiled.
template <typename U>
U least_of() {
  using limits = cuda::std::numeric_limits<U>;
  if constexpr (is<U, __half> || is<U, __nv_bfloat16>) {
    return U(-cuda::std::numeric_limits<float>::infinity());
  } else if constexpr (limits::has_infinity) {
    return -limits::infinity();
  } else {
    return limits::lowest();
  }
}
template <typename U>
U most_of() {
  using limits = cuda::std::numeric_limits<U>;
  if constexpr (cuda::std::is_integral_v<U>) {
    return (limits::max)();
  } else {
    return -least_of<U>();
  }
}
[[maybe_unused]] static T least() { return least_of<T>(); }
[[maybe_unused]] static T most() { return most_of<T>(); }

#define SIGNATURE                                                                                  \
  static cudaError_t run(void *temporary, size_t &nbytes, const peer_cub_call *c, cudaStream_t s)

#if defined PEER_REDUCE
#include <cub/device/device_reduce.cuh>

SIGNATURE {
  using reduce = cub::DeviceReduce;
  const offset n = static_cast<offset>(c->n);
  const T *x = in<T>(c, 0);
  T *y = out<T>(c, 0);
  if constexpr (is<op, peer_sum>) {
    return reduce::Sum(temporary, nbytes, x, y, n, s);
  } else if constexpr (is<op, peer_max>) {
    return reduce::Max(temporary, nbytes, x, y, n, s);
  } else if constexpr (is<op, peer_product>) {
    return reduce::Reduce(temporary, nbytes, x, y, n, times{}, T(1), s);
  } else {
    return reduce::Min(temporary, nbytes, x, y, n, s);
  }
}

#elif defined PEER_ARGMAX
#include <cub/device/device_reduce.cuh>

constexpr size_t FOUND = 256;  // the number itself, which is not used; CUB's storage follows

SIGNATURE {
  using reduce = cub::DeviceReduce;
  const T *x = in<T>(c, 0);
  int64_t *y = out<int64_t>(c, 0);
  T *const found = static_cast<T *>(temporary);
  void *const rest = temporary ? static_cast<char *>(temporary) + FOUND : nullptr;
  size_t n_rest = nbytes - FOUND;
  const cudaError_t rc = is<op, peer_max> ? reduce::ArgMax(rest, n_rest, x, found, y, c->n, s)
                                          : reduce::ArgMin(rest, n_rest, x, found, y, c->n, s);
  nbytes = n_rest + FOUND;
  return rc;
}

#elif defined PEER_SCAN
#include <cub/device/device_scan.cuh>

SIGNATURE {
  using scan = cub::DeviceScan;
  const offset n = static_cast<offset>(c->n);
  const T *x = in<T>(c, 0);
  T *y = out<T>(c, 0);
  if constexpr (is<op, peer_sum>) {
    return c->exclusive ? scan::ExclusiveSum(temporary, nbytes, x, y, n, s)
                        : scan::InclusiveSum(temporary, nbytes, x, y, n, s);
  } else if constexpr (is<op, peer_max>) {
    return c->exclusive ? scan::ExclusiveScan(temporary, nbytes, x, y, larger{}, least(), n, s)
                        : scan::InclusiveScan(temporary, nbytes, x, y, larger{}, n, s);
  } else if constexpr (is<op, peer_product>) {
    return c->exclusive ? scan::ExclusiveScan(temporary, nbytes, x, y, times{}, T(1), n, s)
                        : scan::InclusiveScan(temporary, nbytes, x, y, times{}, n, s);
  } else {
    return c->exclusive ? scan::ExclusiveScan(temporary, nbytes, x, y, smaller{}, most(), n, s)
                        : scan::InclusiveScan(temporary, nbytes, x, y, smaller{}, n, s);
  }
}

#elif defined PEER_SEGMENTED_REDUCE
#include <cub/device/device_segmented_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

// The first segment begins at 0 and the last ends at n, whatever `starts` holds.
struct begin_of {
  const int *starts;
  __device__ __forceinline__ int operator()(int i) const { return i > 0 ? starts[i] : 0; }
};
struct end_of {
  const int *starts;
  int n, segments;
  __device__ __forceinline__ int operator()(int i) const {
    return i + 1 < segments ? starts[i + 1] : n;
  }
};

SIGNATURE {
  using reduce = cub::DeviceSegmentedReduce;
  const int n = static_cast<int>(c->n), m = static_cast<int>(c->m);
  const int *starts = in<int>(c, 1);
  const thrust::counting_iterator<int> segment(0);
  const auto begin = thrust::make_transform_iterator(segment, begin_of{starts});
  const auto end = thrust::make_transform_iterator(segment, end_of{starts, n, m});
  const T *x = in<T>(c, 0);
  T *y = out<T>(c, 0);
  if constexpr (is<op, peer_sum>) {
    return reduce::Sum(temporary, nbytes, x, y, m, begin, end, s);
  } else if constexpr (is<op, peer_max>) {
    return reduce::Reduce(temporary, nbytes, x, y, m, begin, end, larger{}, least(), s);
  } else {
    return reduce::Reduce(temporary, nbytes, x, y, m, begin, end, smaller{}, most(), s);
  }
}

#elif defined PEER_SCAN_BY_KEY
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

// An element's key is the index of its segment. The first call computes the keys and stores them in
// front of CUB's storage: reading them is timed, computing them is not.
static __global__ void find_keys(int n, int segments, const int *starts, int *keys) {
  for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += gridDim.x * blockDim.x) {
    int low = 0, high = segments;  // find the last segment that begins at or before it
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      if (starts[middle] <= at) {
        low = middle;
      } else {
        high = middle;
      }
    }
    keys[at] = low;
  }
}

static cudaError_t by_key(void *temporary, size_t &nbytes, const int *keys, const peer_cub_call *c,
                          cudaStream_t s) {
  using scan = cub::DeviceScan;
  const auto same = cuda::std::equal_to<int>{};
  const int n = static_cast<int>(c->n);
  const T *x = in<T>(c, 0);
  T *y = out<T>(c, 0);
  if constexpr (is<op, peer_sum>) {
    return c->exclusive ? scan::ExclusiveSumByKey(temporary, nbytes, keys, x, y, n, same, s)
                        : scan::InclusiveSumByKey(temporary, nbytes, keys, x, y, n, same, s);
  } else {
    using combine = cuda::std::conditional_t<is<op, peer_max>, larger, smaller>;
    const T none = is<op, peer_max> ? least() : most();
    return c->exclusive
               ? scan::ExclusiveScanByKey(temporary, nbytes, keys, x, y, combine{}, none, n, same, s)
               : scan::InclusiveScanByKey(temporary, nbytes, keys, x, y, combine{}, n, same, s);
  }
}

SIGNATURE {
  const size_t n_keys = (4 * static_cast<size_t>(c->n) + 255) / 256 * 256;
  int *const keys = static_cast<int *>(temporary);
  void *const rest = temporary ? static_cast<char *>(temporary) + n_keys : nullptr;
  size_t n_rest = nbytes - n_keys;
  if (temporary && c->first) {
    find_keys<<<4096, 256, 0, s>>>(static_cast<int>(c->n), static_cast<int>(c->m), in<int>(c, 1),
                                   keys);
  }
  const cudaError_t rc = by_key(rest, n_rest, keys, c, s);
  nbytes = n_rest + n_keys;
  return rc;
}

#elif defined PEER_HISTOGRAM
#include <cub/device/device_histogram.cuh>

SIGNATURE {
  using level = cuda::std::conditional_t<is<T, float>, float, int>;
  return cub::DeviceHistogram::HistogramEven(
      temporary, nbytes, in<T>(c, 0), out<unsigned>(c, 0), static_cast<int>(c->bins + 1),
      static_cast<level>(c->lower), static_cast<level>(c->upper), static_cast<offset>(c->n), s);
}

#elif defined PEER_RADIX_SORT
#include <cub/device/device_radix_sort.cuh>

SIGNATURE {
  using sort = cub::DeviceRadixSort;
  const offset n = static_cast<offset>(c->n);
  const T *keys = in<T>(c, 0);
  T *sorted = out<T>(c, 0);
  const int from = c->begin_bit, to = c->end_bit;
#ifdef PEER_PAYLOAD
  const auto *with = in<PEER_PAYLOAD>(c, 2);
  auto *moved = out<PEER_PAYLOAD>(c, 1);
  return c->descending
             ? sort::SortPairsDescending(temporary, nbytes, keys, sorted, with, moved, n, from, to, s)
             : sort::SortPairs(temporary, nbytes, keys, sorted, with, moved, n, from, to, s);
#else
  return c->descending ? sort::SortKeysDescending(temporary, nbytes, keys, sorted, n, from, to, s)
                       : sort::SortKeys(temporary, nbytes, keys, sorted, n, from, to, s);
#endif
}

#elif defined PEER_SEGMENTED_SORT
#include <cub/device/device_segmented_sort.cuh>

SIGNATURE {
  using sort = cub::DeviceSegmentedSort;
  const T *keys = in<T>(c, 0);
  T *sorted = out<T>(c, 0);
  const int *from = in<int>(c, 1), *to = from + 1;
  const offset n = static_cast<offset>(c->n), m = static_cast<offset>(c->m);
#ifdef PEER_PAYLOAD
  const auto *with = in<PEER_PAYLOAD>(c, 2);
  auto *moved = out<PEER_PAYLOAD>(c, 1);
  return c->descending ? sort::StableSortPairsDescending(temporary, nbytes, keys, sorted, with, moved,
                                                         n, m, from, to, s)
                       : sort::StableSortPairs(temporary, nbytes, keys, sorted, with, moved, n, m,
                                               from, to, s);
#else
  return c->descending
             ? sort::StableSortKeysDescending(temporary, nbytes, keys, sorted, n, m, from, to, s)
             : sort::StableSortKeys(temporary, nbytes, keys, sorted, n, m, from, to, s);
#endif
}

#elif defined PEER_MERGE
#include <cub/device/device_merge.cuh>
#include <cuda/std/functional>

SIGNATURE {
  const offset m = static_cast<offset>(c->m), n = static_cast<offset>(c->n);
  const auto before = cuda::std::less<T>{};
#ifdef PEER_PAYLOAD
  return cub::DeviceMerge::MergePairs(temporary, nbytes, in<T>(c, 0), in<PEER_PAYLOAD>(c, 2), m,
                                      in<T>(c, 1), in<PEER_PAYLOAD>(c, 3), n, out<T>(c, 0),
                                      out<PEER_PAYLOAD>(c, 1), before, s);
#else
  return cub::DeviceMerge::MergeKeys(temporary, nbytes, in<T>(c, 0), m, in<T>(c, 1), n,
                                     out<T>(c, 0), before, s);
#endif
}

#elif defined PEER_MERGE_SORT
#include <cub/device/device_merge_sort.cuh>
#include <cuda/std/functional>

// For pairs, only the call that does not promise stability keeps its input; it is the same stable
// merge sort.
SIGNATURE {
  const offset n = static_cast<offset>(c->n);
  const auto before = cuda::std::less<T>{};
#ifdef PEER_PAYLOAD
  return cub::DeviceMergeSort::SortPairsCopy(temporary, nbytes, in<T>(c, 0), in<PEER_PAYLOAD>(c, 2),
                                             out<T>(c, 0), out<PEER_PAYLOAD>(c, 1), n, before, s);
#else
  return cub::DeviceMergeSort::StableSortKeysCopy(temporary, nbytes, in<T>(c, 0), out<T>(c, 0), n,
                                                  before, s);
#endif
}

#elif defined PEER_TRANSFORM
#include <cub/device/device_transform.cuh>
#include <cuda/std/functional>
#include <cuda/std/tuple>

SIGNATURE {
  return cub::DeviceTransform::Transform(temporary, nbytes,
                                         cuda::std::make_tuple(in<T>(c, 0), in<T>(c, 1)),
                                         out<T>(c, 0), static_cast<offset>(c->n),
                                         cuda::std::plus<T>{}, s);
}

#elif defined PEER_QUADTREE
#include <cub/device/device_radix_sort.cuh>

// CUB sorts; the tree is built on top, level by level, a thread a node.
namespace {

struct node {
  int way, first, count, child;
};

__device__ unsigned cell(float v, float from, float size, int depth) {
  const float cells = (float)(1 << depth), at = (v - from) / size * cells;
  return at >= cells - 1 ? (1u << depth) - 1 : at > 0 ? (unsigned)at : 0;
}

__global__ void ways(int n, const float *x, const float *y, int depth, float left, float bottom,
                     float width, float height, unsigned *keys, int *values, int *nodes,
                     unsigned *levels) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i == 0) {
    nodes[0] = 1, nodes[1] = 0, nodes[2] = n, nodes[3] = -1;
    levels[0] = 1;
  }
  if (i >= n) return;
  unsigned way = 0;
  const unsigned column = cell(x[i], left, width, depth), row = cell(y[i], bottom, height, depth);
  for (int b = 0; b < depth; b++) way |= (column >> b & 1) << 2 * b | (row >> b & 1) << (2 * b + 1);
  keys[i] = way;
  values[i] = i;
}

__device__ int lower_bound(const unsigned *keys, int low, int high, unsigned key) {
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void split(int level, int min_points, int max_depth, const unsigned *keys, int *nodes,
                      int *node_count, unsigned *levels) {
  int begin = 0;
  for (int l = 0; l < level; l++) begin += (int)levels[l];
  const int here = (int)levels[level];
  if (level == max_depth && blockIdx.x + threadIdx.x == 0) *node_count = begin + here;
  for (int from = blockIdx.x * 256; from < here && level < max_depth; from += gridDim.x * 256) {
    const int i = from + threadIdx.x, lane = threadIdx.x % 32;
    node v = {0, 0, 0, 0};
    if (i < here) {
      const int *p = nodes + 4ll * (begin + i);
      v = {p[0], p[1], p[2], p[3]};
    }
    const bool splits = v.count > min_points;
    const unsigned all = __ballot_sync(~0u, splits);
    int first = 0;
    if (lane == 0 && all) first = (int)atomicAdd(&levels[level + 1], 4 * __popc(all));
    first = __shfl_sync(~0u, first, 0) + 4 * __popc(all & ((1u << lane) - 1));
    if (!splits) continue;
    const int child = begin + here + first, shift = 2 * (max_depth - level - 1);
    int at = v.first;
    nodes[4ll * (begin + i) + 3] = child;
    for (unsigned q = 0; q < 4; q++) {
      const unsigned next = ((unsigned)v.way ^ 1u << 2 * level) * 4 + q + 1;
      const int end = q == 3 ? v.first + v.count
                             : lower_bound(keys, at, v.first + v.count, next << shift);
      int *p = nodes + 4ll * (child + (int)q);
      p[0] = v.way * 4 + (int)q, p[1] = at, p[2] = end - at, p[3] = -1;
      at = end;
    }
  }
}

}  // namespace

SIGNATURE {
  const int n = static_cast<int>(c->n), bits = c->max_depth ? 2 * c->max_depth : 1;
  const size_t array = (4 * c->n + 255) / 256 * 256;
  char *at = static_cast<char *>(temporary);
  unsigned *keys = reinterpret_cast<unsigned *>(at), *sorted = keys + array / 4,
           *levels = sorted + array / 2;
  int *values = reinterpret_cast<int *>(at + 2 * array), *nodes = out<int>(c, 0);
  size_t sort = 0;
  cudaError_t rc = cub::DeviceRadixSort::SortPairs(nullptr, sort, keys, sorted, values,
                                                   out<int>(c, 2), n, 0, bits, s);
  if (!temporary || rc) {
    nbytes = 3 * array + 256 + sort;
    return rc;
  }
  cudaMemsetAsync(levels, 0, 256, s);
  ways<<<(n + 256) / 256, 256, 0, s>>>(n, in<float>(c, 0), in<float>(c, 1), c->max_depth, c->box[0],
                                       c->box[1], c->box[2], c->box[3], keys, values, nodes, levels);
  rc = cub::DeviceRadixSort::SortPairs(at + 3 * array + 256, sort, keys, sorted, values,
                                       out<int>(c, 2), n, 0, bits, s);
  long long most = 1;
  for (int level = 0; level <= c->max_depth; level++, most = most < n ? 4 * most : most) {
    const long long blocks = (most + 255) / 256;
    split<<<blocks < 2112 ? (int)blocks : 2112, 256, 0, s>>>(level, c->min_points, c->max_depth,
                                                            sorted, nodes, out<int>(c, 1), levels);
  }
  return rc ? rc : cudaGetLastError();
}
#endif

extern "C" int peer_cub_run(void *temporary, size_t *nbytes, const peer_cub_call *c, void *stream) {
  return run(temporary, *nbytes, c, static_cast<cudaStream_t>(stream));
}

extern "C" const char *peer_cub_error(int code) {
  return cudaGetErrorString(static_cast<cudaError_t>(code));
}

extern "C" int peer_cub_version(void) { return CUB_VERSION; }
