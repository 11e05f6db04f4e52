// What test_emu_cost.c models: accesses to memory, instructions, and blocks that wait or share work.
#define GLOBAL extern "C" __global__ void

GLOBAL stride(float *x, int step) { x[(blockIdx.x * blockDim.x + threadIdx.x) * step] = 1; }

GLOBAL banks(float *x, int step) {
  __shared__ float s[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = i;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 64; i++) sum += s[(threadIdx.x * step + i) & 1023];
  x[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__constant__ float numbers[1024] = {1};
GLOBAL constants(float *x, int step) {
  float sum = 0;
  for (int i = 0; i < 64; i++) sum += numbers[(threadIdx.x / 4 * step + i) & 1023];
  x[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

GLOBAL wide(float4 *x, int merge) {
  __shared__ float4 s[32];
  s[threadIdx.x] = make_float4(threadIdx.x, 1, 2, 3);
  __syncthreads();
  x[threadIdx.x] = s[merge ? threadIdx.x / 2 : threadIdx.x % 16];
}

GLOBAL count(float *x, int step) {
  atomicAdd(x + (blockIdx.x * blockDim.x + threadIdx.x) * step, 1.0f);
}

GLOBAL same(float *x, int apart) {
  atomicAdd(x + threadIdx.x % 32 * apart, 1.0f);
}

GLOBAL fill(float *x, int along) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int e = 0; e < 8; e++) x[along ? i * 8 + e : (i * 8 + e * 1023) % (gridDim.x * 8192)] = e;
}

GLOBAL match(unsigned *x, int n) {
  unsigned m = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 64; i++) m ^= n ? __match_any_sync(~0u, m & n) : __ballot_sync(~0u, m & 1);
  x[blockIdx.x * blockDim.x + threadIdx.x] = m;
}

GLOBAL work(float *x, int n) {
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
#pragma unroll 1
  for (int i = 0; i < n; i++) { a = a * b + c; b = b * c + d; c = c * d + a; d = d * a + b; }
  x[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

// words[0] counts the blocks; each but the first waits for the one before it
GLOBAL wait(volatile unsigned *words, int publish_first) {
  unsigned i = atomicAdd((unsigned *)words, 1u) + 1;
  if (publish_first) words[i] = i;
  if (i > 1) while (!words[i - 1]) __nanosleep(1000);
  if (!publish_first) words[i] = i;
}

GLOBAL arrive(unsigned *words, int adds) {
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicInc(words, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  unsigned sum = 0;
#pragma unroll 1
  for (int i = 0; last && i < adds; i++) sum = sum * 3 + i;
  if (last) words[1 + threadIdx.x] = sum;
}

GLOBAL await(volatile unsigned *words, int unused) {
  if (blockIdx.x) while (!words[blockIdx.x - 1]) {}
  __threadfence();
  words[blockIdx.x] = 1;
}

GLOBAL fetch(unsigned *words, int total) {
  __shared__ int number;
  unsigned sum = 0;
  for (;;) {
    if (threadIdx.x == 0) number = atomicAdd(words, 1u);
    __syncthreads();
    if (number >= total) break;
#pragma unroll 1
    for (int i = 0; i < 1000; i++) sum = sum * 3 + i;
    __syncthreads();
  }
  words[1 + threadIdx.x] = sum;
}

GLOBAL share(unsigned *words, int times) {
  unsigned sum = 0;
#pragma unroll 1
  for (int i = 0; i < times; i++) sum = sum * 3 + i;
  words[1 + threadIdx.x] = sum;
}

GLOBAL alone(unsigned *words, int warps) {
  unsigned sum = 0;
#pragma unroll 1
  for (int i = 0; threadIdx.x / 32 < warps && i < 100000; i++) sum = sum * 3 + i;
  words[1 + threadIdx.x] = sum;
}

GLOBAL uneven(unsigned *words, int times) {
  unsigned sum = 0;
#pragma unroll 1
  for (int i = 0; i < (blockIdx.x ? times : 100 * times); i++) sum = sum * 3 + i;
  words[1 + threadIdx.x] = sum;
}
