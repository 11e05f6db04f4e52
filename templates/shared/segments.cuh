// segments.cuh -- where segments lie that are told by their starts, and how their numbers combine: for
// segmented_reduce and segmented_scan. Their references spell all this in words of their own.
@ local stored = { f32 = "float", f64 = "double", i32 = "int", i64 = "long long" }
@ local whole = dtype == "i32" or dtype == "i64"
@ local value = (whole and op == "sum" and "unsigned " or "") .. stored[dtype]  -- it wraps
@ local wide = not whole and op == "sum" and "double" or value
@ local infinity = { f32 = "__int_as_float(0x7f800000)", f64 = "__longlong_as_double(0x7ffll << 52)" }
@ local most = { i32 = "2147483647", i64 = "9223372036854775807ll" }
@ local largest = infinity[dtype] or most[dtype]
@ local smallest = infinity[dtype] and "-" .. largest or "-" .. largest .. " - 1"
@ local identity = { sum = "0", min = largest, max = smallest }
@ local combined = { sum = "a + b", max = "a > b ? a : b", min = "a < b ? a : b" }

using stored = @{stored[dtype]};
using value = @{value};  // of what is combined at a time
using wide = @{wide};    // of what that is added to

#define IDENTITY (@{identity[op]})
template <typename T>
__device__ __forceinline__ T combine(T a, T b) {
  return @{combined[op]};
}

struct segment {
  long long begin, end;
};

// The first begins at 0 and the last ends at n. Beyond the last there is nothing.
__device__ __forceinline__ segment segment_of(long long i, long long n, long long segments,
                                              const int *starts) {
  if (i >= segments) return {0, 0};
  return {i > 0 ? starts[i] : 0, i + 1 < segments ? starts[i + 1] : n};
}

// The first segment but the first that begins at `at` or behind it, by a warp: each look leaves a 32nd.
__device__ __forceinline__ long long first_from(long long at, long long segments,
                                                const int *starts) {
  long long low = 1, high = segments;
  while (low < high) {
    const long long step = (high - low + 31) / 32, i = low + threadIdx.x % 32 * step;
    const int ahead = __popc(__ballot_sync(0xffffffff, i < high && starts[i] < at));
    if (ahead == 0) break;
    high = min(high, low + ahead * step);
    low += (ahead - 1) * step + 1;
  }
  return low;
}
