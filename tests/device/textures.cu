// textures.cu -- kernels of test_texture.c and test_surface.c: each thread reads at a coordinate of its own.

extern "C" __global__ void fetch_f32(cudaTextureObject_t t, const int *x, int n, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tex1Dfetch<float4>(t, x[i]);
}

extern "C" __global__ void fetch_u32(cudaTextureObject_t t, const int *x, int n, uint4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tex1Dfetch<uint4>(t, x[i]);
}

extern "C" __global__ void at_1d(cudaTextureObject_t t, const float3 *x, int n, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tex1D<float4>(t, x[i].x);
}

extern "C" __global__ void at_2d(cudaTextureObject_t t, const float3 *x, int n, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tex2D<float4>(t, x[i].x, x[i].y);
}

extern "C" __global__ void at_3d(cudaTextureObject_t t, const float3 *x, int n, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tex3D<float4>(t, x[i].x, x[i].y, x[i].z);
}

// the layer is z
extern "C" __global__ void at_a1d(cudaTextureObject_t t, const float3 *x, int n, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tex1DLayered<float4>(t, x[i].x, (int)x[i].z);
}

extern "C" __global__ void at_a2d(cudaTextureObject_t t, const float3 *x, int n, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tex2DLayered<float4>(t, x[i].x, x[i].y, (int)x[i].z);
}

extern "C" __global__ void lod_2d(cudaTextureObject_t t, const float3 *x, int n, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tex2DLod<float4>(t, x[i].x, x[i].y, x[i].z);
}

extern "C" __global__ void halves_2d(cudaTextureObject_t t, const float3 *x, int n, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    asm volatile("{.reg .b16 h<4>; tex.2d.v4.f16.f32 {h0, h1, h2, h3}, [%4, {%5, %6}]; cvt.f32.f16 %0, h0;\n"
                 "cvt.f32.f16 %1, h1; cvt.f32.f16 %2, h2; cvt.f32.f16 %3, h3;}"
                 : "=f"(y[i].x), "=f"(y[i].y), "=f"(y[i].z), "=f"(y[i].w)
                 : "l"(t), "f"(x[i].x), "f"(x[i].y));
}

extern "C" __global__ void gather(cudaTextureObject_t t, const float3 *x, int n, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tex2Dgather<float4>(t, x[i].x, x[i].y, 1);
}

extern "C" __global__ void whole_2d(cudaTextureObject_t t, const float3 *x, int n, uint4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = tex2D<uint4>(t, x[i].x, x[i].y);
}

// two textures, chosen by the thread
extern "C" __global__ void either(cudaTextureObject_t a, cudaTextureObject_t b, int n, float *y) {
  int i = threadIdx.x;
  if (i < n)
    y[i] = tex2D<float>(i % 3 ? a : b, (i % 4) + 0.5f, 0.5f);
}

extern "C" __global__ void stale(cudaTextureObject_t t, float *memory, float *y) {
  memory[threadIdx.x] = 2;
  __syncthreads();
  y[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x ^ 1); // fault: stale
}

extern "C" __global__ void sizes(cudaTextureObject_t t, int *y) {
  asm("txq.width.b32 %0, [%1];" : "=r"(y[0]) : "l"(t));
  asm("txq.height.b32 %0, [%1];" : "=r"(y[1]) : "l"(t));
  asm("txq.depth.b32 %0, [%1];" : "=r"(y[2]) : "l"(t));
}

// ---- surfaces: x counts bytes

extern "C" __global__ void fill(cudaSurfaceObject_t s, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h)
    surf2Dwrite<ushort4>(make_ushort4(x, y, x + y, x * y), s, 8 * x, y);
}

extern "C" __global__ void read_back(cudaSurfaceObject_t s, int w, int h, ushort4 *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h)
    out[y * w + x] = surf2Dread<ushort4>(s, 8 * x, y);
}

extern "C" __global__ void edges(cudaSurfaceObject_t s, int *out) {
  int x = (int)threadIdx.x - 4;
  out[threadIdx.x] = surf2Dread<int>(s, 4 * x, -1, cudaBoundaryModeClamp);
  out[threadIdx.x + 32] = surf2Dread<int>(s, 4 * x, 0, cudaBoundaryModeZero);
}

extern "C" __global__ void write_zero(cudaSurfaceObject_t s) {
  surf2Dwrite<int>(1000 + threadIdx.x, s, 4 * ((int)threadIdx.x - 4), 1, cudaBoundaryModeZero);
}

extern "C" __global__ void beyond(cudaSurfaceObject_t s, int *out) {
  *out = surf2Dread<int>(s, 4 * threadIdx.x, 0); // fault: beyond
}

extern "C" __global__ void skewed(cudaSurfaceObject_t s, int *out) {
  *out = surf2Dread<int>(s, 4 * threadIdx.x + 2, 0); // fault: skewed
}

extern "C" __global__ void volume(cudaSurfaceObject_t s, unsigned char *out) {
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  surf3Dwrite<unsigned char>(x + 10 * y + 50 * z, s, x, y, z);
}

extern "C" __global__ void layers(cudaSurfaceObject_t s) {
  surf2DLayeredwrite<float2>(make_float2(threadIdx.x, blockIdx.x), s, 8 * threadIdx.x, threadIdx.y,
                             blockIdx.x);
}

extern "C" __global__ void reduce(cudaSurfaceObject_t s) {
  int x = 4 * (threadIdx.x % 4), y = 0, v = threadIdx.x;
  asm volatile("sured.b.add.2d.u32.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(y), "r"(v));
  y = 1;
  asm volatile("sured.b.max.2d.s32.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(y), "r"(v));
}

extern "C" __global__ void reduce_formatted(cudaSurfaceObject_t s) {
  int x = threadIdx.x % 4, y = 0, v = threadIdx.x;
  asm volatile("sured.p.add.2d.b32.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(y), "r"(v));
}

extern "C" __global__ void formatted(cudaSurfaceObject_t s) {
  float v = 0.5f + threadIdx.x;
  int x = threadIdx.x, y = 0;
  asm volatile("sust.p.2d.b32.trap [%0, {%1, %2}], {%3};" ::"l"(s), "r"(x), "r"(y), "f"(v));
}
