// Kernels that launch kernels, compiled with -rdc=true; tests/emu/test_emu_toolkit.c runs them.
#define KERNEL extern "C" __global__ void

KERNEL add(int *x, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by;
}
struct pair { int *x; short by; };
KERNEL times(pair p) { *p.x *= p.by; }

// fire and forget, an ordered stream, one of the kernel's own, and a tail launch, which comes last
KERNEL parent(int *x, int n) {
  if (threadIdx.x == 0) {
    times<<<1, 1, 0, cudaStreamTailLaunch>>>(pair{x, 10});
    add<<<(n + 63) / 64, 64>>>(x, n, 1);
    add<<<(n + 63) / 64, 64, 0, cudaStreamFireAndForget>>>(x, n, 2);
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    add<<<1, 64, 0, s>>>(x, 64, 4);
    cudaStreamDestroy(s);
    int device = 7;
    cudaGetDevice(&device);
    if (cudaGetLastError() != cudaSuccess || device) x[1] = -1;
  }
}
// a grid of 2^depth leaves, one launch each
KERNEL tree(int *x, int depth, int at) {
  __shared__ int s[32];
  s[threadIdx.x] = at;
  __syncthreads();
  if (depth == 0 && threadIdx.x == 0) x[at] = s[31] + 1;
  if (depth > 0 && threadIdx.x < 2) tree<<<1, 32>>>(x, depth - 1, 2 * at + threadIdx.x);
}
// a chain of tail launches
KERNEL chain(int *x, int n) {
  if (threadIdx.x) return;
  x[0]++;
  if (n > 1) chain<<<1, 1, 0, cudaStreamTailLaunch>>>(x, n - 1);
}
KERNEL many(int *x, int n) {
  if (threadIdx.x) return;
  for (int i = 0; i < n; i++) add<<<1, 32>>>(x, 32, 1);  // fault: many
}
KERNEL deep(int *x, int n) {
  if (threadIdx.x) return;
  x[0]++;
  if (n > 1) deep<<<1, 1>>>(x, n - 1);  // fault: deep
}
KERNEL wide(int *x, int n) {
  if (threadIdx.x) return;
  add<<<1, n>>>(x, n, 1);  // fault: wide
}
KERNEL beyond(int *x, int n) {  // n elements from the end
  if (threadIdx.x == 0) add<<<1, 64>>>(x + 128 - n, 32, 1);
}
extern "C" __device__ __cudart_builtin__ void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value);
KERNEL condition(cudaGraphConditionalHandle handle, int n) { cudaGraphSetConditional(handle, n < 3); }
