// lane_sort.cuh -- lanes sort items in their registers, by Batcher's bitonic network.
//
// What includes this defines, for what is sorted,
//   bool later(T x, T y)          must x come after y?
//   T from_lane(T x, int mask)    the x of the lane whose number differs by the mask

template <typename T>
__device__ __forceinline__ void exchange(T &x, T &y) {
  const bool yes = later(x, y);
  const T first = yes ? y : x, second = yes ? x : y;
  x = first;
  y = second;
}

// LANES neighbouring lanes' items, of which lane l has the (l * EACH)-th and those after it. Runs twice
// as long are made of two by taking the second one backwards, so all exchanges are in the same direction.
template <int LANES, int EACH, typename T>
__device__ __forceinline__ void sort_lanes(T (&v)[EACH]) {
  const int lane = threadIdx.x % LANES;
#pragma unroll
  for (int size = 2; size <= EACH; size *= 2) {
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      if ((i & size / 2) == 0) exchange(v[i], v[i ^ (size - 1)]);
    }
#pragma unroll
    for (int stride = size / 4; stride > 0; stride /= 2) {
#pragma unroll
      for (int i = 0; i < EACH; i++) {
        if ((i & stride) == 0) exchange(v[i], v[i | stride]);
      }
    }
  }
#pragma unroll
  for (int lanes = 2; lanes <= LANES; lanes *= 2) {
    T other[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) other[i] = from_lane(v[EACH - 1 - i], lanes - 1);
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      v[i] = (lane & lanes / 2 ? later(other[i], v[i]) : later(v[i], other[i])) ? other[i] : v[i];
    }
#pragma unroll
    for (int d = lanes / 4; d > 0; d /= 2) {
#pragma unroll
      for (int i = 0; i < EACH; i++) {
        const T one = from_lane(v[i], d);
        v[i] = (lane & d ? later(one, v[i]) : later(v[i], one)) ? one : v[i];
      }
    }
#pragma unroll
    for (int stride = EACH / 2; stride > 0; stride /= 2) {
#pragma unroll
      for (int i = 0; i < EACH; i++) {
        if ((i & stride) == 0) exchange(v[i], v[i | stride]);
      }
    }
  }
}
