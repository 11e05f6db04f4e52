// segments.cuh -- where segments lie that are told by their starts.
@ -- What leaves a number as it is.
@ function identity_of(op, dtype)
@   local infinity = { f32 = "__int_as_float(0x7f800000)", f64 = "__longlong_as_double(0x7ffll << 52)" }
@   local most = { i32 = "2147483647", i64 = "9223372036854775807ll" }
@   if op == "sum" then return "0" end
@   if op == "min" then return infinity[dtype] or most[dtype] end
@   return infinity[dtype] and "-" .. infinity[dtype] or "-" .. most[dtype] .. " - 1"
@ end

struct segment {
  long long begin, end;
};

// The first begins at 0 and the last ends at n. Beyond the last there is nothing.
__device__ __forceinline__ segment segment_of(long long i, long long n, long long segments,
                                              const int *starts) {
  if (i >= segments) return {0, 0};
  return {i > 0 ? starts[i] : 0, i + 1 < segments ? starts[i + 1] : n};
}
