// autotune emit saxpy n=1000000 align=4 --config BLOCK=128,VEC=4,COARSE=2,ORDER=contiguous
// saxpy version 1 of templates/saxpy/saxpy.lua, 1d6a09d497d919a415080bd3220d4616

constexpr int BLOCK = 128;
constexpr int VEC = 4;
constexpr int COARSE = 2;
enum { ORDER_interleaved, ORDER_contiguous };
constexpr int ORDER = ORDER_contiguous;
constexpr int TILE = 1024;
#line 68 "templates/saxpy/saxpy.lua"
using vector = float4;

extern "C" __global__ void __launch_bounds__(BLOCK)
saxpy(long long n, float a, const float *__restrict__ x, float *__restrict__ y) {
  const long long tile = (long long)blockIdx.x * (TILE / VEC);
#pragma unroll
  for (int c = 0; c < COARSE; c++) {
    const long long i =
        tile + (ORDER == ORDER_interleaved ? c * BLOCK + threadIdx.x : threadIdx.x * COARSE + c);
    if (i * VEC < n) {
      const vector xs = reinterpret_cast<const vector *>(x)[i];
      vector ys = reinterpret_cast<vector *>(y)[i];
#line 82
      ys.x = a * xs.x + ys.x;
#line 82
      ys.y = a * xs.y + ys.y;
#line 82
      ys.z = a * xs.z + ys.z;
#line 82
      ys.w = a * xs.w + ys.w;
#line 85
      reinterpret_cast<vector *>(y)[i] = ys;
    }
  }
}
