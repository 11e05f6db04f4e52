// placement.cu -- what placement_claims.c runs on memory that lies in different places.

// Reads 16 bytes at every step-th multiple of 16, and so all for a step of 1.
extern "C" __global__ void __launch_bounds__(256)
read_words(const uint4 *x, unsigned long long n, unsigned long long step, unsigned *sum) {
  const unsigned long long threads = (unsigned long long)gridDim.x * 256;
  unsigned all = 0;
  for (unsigned long long i = (unsigned long long)blockIdx.x * 256 + threadIdx.x; i < n; i += 4 * threads) {
    uint4 v[4] = {};
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (i + k * threads < n) v[k] = x[(i + k * threads) * step];
    }
#pragma unroll
    for (int k = 0; k < 4; k++) all ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (all == 0x9e3779b9u) *sum = all; // the loads are needed
}

// A kernel about as long as the copy of its data over PCI Express.
extern "C" __global__ void __launch_bounds__(256)
iterate(float *x, unsigned long long n, int times) {
  const unsigned long long i = (unsigned long long)blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < times; k++) v = v * 0.99f + 0.01f;
  x[i] = v;
}
