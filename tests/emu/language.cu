// CUDA C++: calls, variables, parameters, divergence, atomics, printf.
#define GLOBAL extern "C" __global__ void

__device__ int counter;
__device__ int numbers[4] = {3, 1, 4, 1};
__device__ int *pointer = &numbers[2];
__constant__ float weights[3] = {0.5f, 0.25f, 0.125f};

GLOBAL variables(int *out) {
  out[threadIdx.x] = numbers[threadIdx.x & 3] + *pointer;
  if (threadIdx.x == 0) pointer = &numbers[0];
  out[32 + threadIdx.x] = (int)(weights[threadIdx.x % 3] * 16);
}

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
GLOBAL recursion(int *out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 4); }

using function = int (*)(int);
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ function table[2] = {twice, square};
GLOBAL indirect(int *out) { out[threadIdx.x] = table[threadIdx.x % 2](threadIdx.x); }

struct block_of_data {
  char c;
  double d;
  short s[5];
  int i;
};
GLOBAL structs(int *out, char tag, block_of_data data, short last) {
  out[threadIdx.x] = tag + data.c + (int)data.d + data.s[threadIdx.x % 5] + data.i + last;
}

GLOBAL local_array(int *out, int n) {
  int a[32];
  for (int i = 0; i < 32; i++) a[i] = i * i;
  for (int i = 0; i < n; i++) a[(i * 7 + threadIdx.x) % 32] += a[(i * 3) % 32];
  int sum = 0;
  for (int i = 0; i < 32; i++) sum = sum * 3 + a[i];
  out[threadIdx.x] = sum;
}

// each lane leaves the loop in a different iteration; one path has a switch
GLOBAL divergence(int *out) {
  int v = threadIdx.x, steps = 0;
  while (v != 1 && v != 0) {
    switch (v % 4) {
      case 0: v = v / 4; break;
      case 2: v = v / 2; break;
      default: v = 3 * v + 1;
    }
    steps++;
  }
  out[threadIdx.x] = steps;
}

GLOBAL atomics(int *out, float *fout, unsigned long long *lout) {
  int old = atomicAdd(&counter, 1);
  if (old < 0) out[0] = -1;
  atomicMax(&out[1], (int)threadIdx.x);
  atomicMin(&out[2], (int)threadIdx.x - 5);
  atomicXor(&out[3], 1 << (threadIdx.x % 32));
  atomicInc((unsigned *)&out[4], 6);
  atomicAdd(fout, 0.5f);
  atomicAdd(lout, 1ull << 33);
  int expected, seen = out[5];
  do {
    expected = seen;
    seen = atomicCAS(&out[5], expected, expected + 2);
  } while (seen != expected);
}
GLOBAL count(int *out) { out[0] = counter; }

// a lock that lanes of one warp take from each other: needs independent progress
__device__ int lock;
GLOBAL spin(int *out) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      atomicExch(out, atomicAdd(out, 0) + 1);
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}

// all blocks must be resident at the same time
__device__ unsigned arrived;
GLOBAL grid_barrier(int *out) {
  if (threadIdx.x == 0) {
    atomicAdd(&arrived, 1u);
    while (atomicAdd(&arrived, 0u) < gridDim.x) {
    }
    atomicAdd(out, 1);
  }
}

GLOBAL shape(int *out) {
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int lane, warp;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%warpid;" : "=r"(warp));
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = (warp * 32 + lane) * 100 + block;
}

GLOBAL votes(int *out) {
  int t = threadIdx.x;
  out[t] = __ballot_sync(~0u, t % 3 == 0);
  out[32 + t] = __match_any_sync(~0u, t / 4);
  out[64 + t] = __reduce_add_sync(~0u, t);
  out[96 + t] = __any_sync(~0u, t == 40) * 2 + __all_sync(~0u, t < 32);
  out[128 + t] = __syncthreads_count(t & 1) + __syncthreads_and(t < 31) + __syncthreads_or(t == 3);
  if (t < 16) out[160 + t] = __shfl_sync(0xffff, t, 15 - t, 16);
}

GLOBAL print(int n) {
  if (threadIdx.x == 3) printf("%d %5.2f|%-6s|%c %llx %%\n", n, 2.5, "text", 'z', 0x123456789abcull);
}
GLOBAL verify(int n) { assert(n == 1); }

// 128 bits with the carry flag: out = a b, a b + (b, a), and (b, a) - a b
GLOBAL carry(unsigned long long *out, unsigned long long a, unsigned long long b) {
  unsigned long long lo = a * b, hi = __umul64hi(a, b);
  asm("mad.lo.cc.u64 %0, %2, %3, %2; madc.hi.u64 %1, %2, %3, %3;" : "=&l"(out[2]), "=l"(out[3]) : "l"(a), "l"(b));
  asm("sub.cc.u64 %0, %2, %4; subc.u64 %1, %3, %5;" : "=&l"(out[4]), "=l"(out[5]) : "l"(a), "l"(b), "l"(lo), "l"(hi));
  out[0] = lo;
  out[1] = hi;
  unsigned x = a, y = b, sum, carry;
  asm("add.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;" : "=&r"(sum), "=r"(carry) : "r"(x), "r"(y));
  out[6] = (unsigned long long)carry << 32 | sum;
}

GLOBAL heap(int *out) {
  int *p = (int *)malloc(64);
  for (int i = 0; i < 16; i++) p[i] = threadIdx.x + i;
  int sum = 0;
  for (int i = 0; i < 16; i++) sum += p[i];
  free(p);
  out[threadIdx.x] = sum;
}

// generic addresses of all state spaces
__device__ __noinline__ int through(const int *p) { return *p; }
GLOBAL generic(int *out, int n) {
  __shared__ int s[32];
  int local[4] = {n, n + 1, n + 2, n + 3};
  s[threadIdx.x] = threadIdx.x * 10;
  __syncwarp();
  const int *p = threadIdx.x % 3 == 0 ? &s[threadIdx.x] : threadIdx.x % 3 == 1 ? &local[threadIdx.x & 3] : &numbers[threadIdx.x & 3];
  out[threadIdx.x] = through(p);
}
