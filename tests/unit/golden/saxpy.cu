// autotune emit saxpy n=16777216 align=4 --config BLOCK=256,VEC=1,COARSE=1,ORDER=interleaved
// saxpy version 1 of templates/saxpy/saxpy.lua, f01b7fc1edb530b92555f80f32d2a467

constexpr int BLOCK = 256;
constexpr int VEC = 1;
constexpr int COARSE = 1;
enum { ORDER_interleaved, ORDER_contiguous };
constexpr int ORDER = ORDER_interleaved;
constexpr int TILE = 256;
#line 1 "templates/saxpy/saxpy.cu"
// saxpy.cu -- y = a*x + y. A block takes TILE elements, a thread COARSE vectors of VEC of them.

struct alignas(VEC * sizeof(float)) vector {
  float e[VEC];
};

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
#pragma unroll
      for (int e = 0; e < VEC; e++) ys.e[e] = a * xs.e[e] + ys.e[e];
      reinterpret_cast<vector *>(y)[i] = ys;
    }
  }
}
