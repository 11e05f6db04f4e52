// Kernels with one fault each, and kernels without it. "fault: NAME" marks the line that the finding
// has to name; tests/emu/test_emu_checks.c runs all of them.
#define GLOBAL extern "C" __global__ void

GLOBAL bounds_bad(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = 1;  // fault: bounds
}
GLOBAL bounds_good(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 1;
}

GLOBAL freed(float *x, int n) {
  x[threadIdx.x] = n;  // fault: freed
}

GLOBAL null_bad(float *x, int n) {
  float *p = (float *)((unsigned long long)x * (n == 0));
  p[threadIdx.x] = 1;  // fault: null
}

GLOBAL shared_bounds_bad(float *x, int n) {
  extern __shared__ float s[];
  s[threadIdx.x + n] = x[threadIdx.x];  // fault: shared_bounds
  x[threadIdx.x] = s[threadIdx.x + n];
}

GLOBAL local_bounds_bad(float *x, int n) {
  float a[8];
#pragma unroll
  for (int i = 0; i < 8; i++) a[i] = i;
  a[(threadIdx.x + n) & 0xffff] = 3;  // fault: local_bounds
  x[threadIdx.x] = a[(threadIdx.x * 5 + n) & 7];
}

GLOBAL misaligned_bad(float *x, int n) {
  *reinterpret_cast<float4 *>(x + n + 4 * threadIdx.x) = make_float4(1, 2, 3, 4);  // fault: misaligned
}

GLOBAL uninit_shared_bad(float *x, int n) {
  __shared__ float s[64];
  if (threadIdx.x < n) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[threadIdx.x];  // fault: uninit_shared
}

// a value that was never written is read and dropped
GLOBAL uninit_unused_good(float *x, int n) {
  __shared__ float s[64];
  if (threadIdx.x < n) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float a = *(volatile float *)&s[threadIdx.x] * 2 + 1;
  asm volatile("" ::"f"(a));
  bool inside = threadIdx.x < n;
  int less = a < 3.0f, most = 0;
  asm volatile("{.reg .pred p, q; setp.ne.s32 p, %1, 0; setp.ne.and.s32 q, %2, 0, p; selp.b32 %0, 5, 7, q;}"
               : "=r"(most)
               : "r"((int)inside), "r"(less));
  x[threadIdx.x] = inside ? a + most : most;
}
GLOBAL uninit_branch_bad(float *x, int n) {
  __shared__ float s[64];
  if (threadIdx.x < n) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float a = *(volatile float *)&s[threadIdx.x];  // fault: uninit_branch
  if (a * 2 > 1) __nanosleep(1);
}
GLOBAL uninit_address_bad(float *x, int n) {
  __shared__ int s[64];
  if (threadIdx.x < n) s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int at = *(volatile int *)&s[threadIdx.x];  // fault: uninit_address
  x[at & 63] = 1;
}
// shuffled to lanes that drop it, and to one that stores it
GLOBAL uninit_shuffle_good(float *x, int n) {
  __shared__ float s[64];
  if (threadIdx.x < 40) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float a = __shfl_xor_sync(~0u, s[threadIdx.x], 1);
  if (threadIdx.x < 40) x[threadIdx.x] = a;
}
GLOBAL uninit_shuffle_bad(float *x, int n) {
  __shared__ float s[64];
  if (threadIdx.x < 39) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float a = *(volatile float *)&s[threadIdx.x];  // fault: uninit_shuffle
  a = __shfl_xor_sync(~0u, a, 1);
  if (threadIdx.x < 39) x[threadIdx.x] = a;
}
// through a second variable in shared memory, which a store leaves unwritten
GLOBAL uninit_copy_bad(float *x, int n) {
  __shared__ float s[64], t[64];
  if (threadIdx.x < n) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  t[threadIdx.x] = s[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = t[threadIdx.x];  // fault: uninit_copy
}

GLOBAL uninit_global_bad(float *x, int n) {
  x[threadIdx.x] = x[threadIdx.x + n] + 1;  // fault: uninit_global
}

GLOBAL race_bad(float *x, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = 0;
  __syncthreads();
  s[threadIdx.x] = x[threadIdx.x];  // fault: race
  x[threadIdx.x] = s[threadIdx.x ^ 63];
}
GLOBAL race_good(float *x, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[threadIdx.x ^ 63];
}
// within one warp: ordered only by __syncwarp
GLOBAL warp_race_bad(float *x, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[threadIdx.x ^ 1];  // fault: warp_race
}
GLOBAL warp_race_good(float *x, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  x[threadIdx.x] = s[threadIdx.x ^ 1];
}
// a write after another thread's read
GLOBAL war_bad(float *x, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float v = s[threadIdx.x ^ 63];
  if (threadIdx.x >= 32) s[threadIdx.x] = v + 1;  // fault: war
  __syncthreads();
  x[threadIdx.x] = s[threadIdx.x] + v;
}
// all write the same flag: no race
GLOBAL same_value_good(float *x, int n) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (x[threadIdx.x] >= 0) flag = 1;
  __syncthreads();
  x[threadIdx.x] = flag;
}
// warps 0 and 1 meet at a named barrier; so do 2 and 3
GLOBAL named_good(float *x, int n) {
  __shared__ float s[128];
  int id = 1 + threadIdx.x / 64;
  s[threadIdx.x] = threadIdx.x;
  asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
  x[threadIdx.x] = s[threadIdx.x ^ 63];
}
GLOBAL named_bad(float *x, int n) {
  __shared__ float s[128];
  int id = 1 + threadIdx.x / 64;
  s[threadIdx.x] = 0;
  __syncthreads();
  s[threadIdx.x] = threadIdx.x;
  asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
  x[threadIdx.x] = s[threadIdx.x ^ 127];  // fault: named
}
GLOBAL atomic_good(float *x, int n) {
  __shared__ int bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x & 3], 1);
  __syncthreads();
  x[threadIdx.x] = bins[threadIdx.x & 3];
}
GLOBAL atomic_bad(float *x, int n) {
  __shared__ int bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x & 3], 1);
  x[threadIdx.x] = bins[threadIdx.x & 3];  // fault: atomic
}

GLOBAL global_race_bad(float *x, int n) {
  x[threadIdx.x] = blockIdx.x;  // fault: global_race
}
GLOBAL global_race_good(float *x, int n) {
  x[threadIdx.x] = n;
}
// blocks that pass a value on with a fence and an atomic
__device__ int turn;
GLOBAL ordered_good(float *x, int n) {
  if (threadIdx.x == 0) {
    while (atomicAdd(&turn, 0) % (int)gridDim.x != (int)blockIdx.x) {
    }
    __threadfence();
    x[0] = blockIdx.x;
    __threadfence();
    atomicAdd(&turn, 1);
  }
}

GLOBAL divergent_bad(float *x, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < n) {
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x];
  }
  __syncthreads();
  x[threadIdx.x] += s[threadIdx.x ^ 1];
}
// the tree of CUDA by Example, ch. 5, and its "optimisation", the barrier within the condition: that ends only since
// threads that have exited are not waited for
template <bool BARRIER_WITHIN>
__device__ void tree(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x];
  __syncthreads();
  for (int i = 32; i != 0; i /= 2) {
    if (threadIdx.x < i) {
      s[threadIdx.x] += s[threadIdx.x + i];
      if (BARRIER_WITHIN) __syncthreads();
    }
    if (!BARRIER_WITHIN) __syncthreads();
  }
  if (threadIdx.x == 0) x[0] = s[0];
}
GLOBAL tree_within(float *x, int n) { tree<true>(x); }
GLOBAL tree_good(float *x, int n) { tree<false>(x); }
// a barrier does not wait for threads that exit, before or after the others arrive
GLOBAL early_exit_good(float *x, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < n) {
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x ^ 1];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    x[threadIdx.x ^ 1] = s[threadIdx.x];
  }
}
// warps that have exited do not delay the others
GLOBAL divergent_good(float *x, int n) {
  __shared__ float s[64];
  if (threadIdx.x >= 32) return;
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[threadIdx.x ^ 1];
}
GLOBAL deadlock_bad(float *x, int n) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // fault: deadlock
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
  x[threadIdx.x] = n;
}

GLOBAL shuffle_bad(float *x, int n) {
  float v = x[threadIdx.x];
  if (threadIdx.x < n) {
    v = __shfl_down_sync((1u << n) - 1, v, 8);  // fault: shuffle
    x[threadIdx.x] = v;
  }
}
GLOBAL shuffle_good(float *x, int n) {
  float v = x[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (threadIdx.x % 32 == 0) x[threadIdx.x] = v;
}
// lanes that diverge and meet at the shuffle
GLOBAL shuffle_meet_good(float *x, int n) {
  float v = x[threadIdx.x];
  if (threadIdx.x % 3 == 0) {
    for (int i = 0; i < (int)threadIdx.x; i++) v = v * 1.5f + i;
  } else {
    v = -v;
  }
  x[threadIdx.x] = __shfl_xor_sync(0xffffffff, v, 1);
}
GLOBAL never_bad(float *x, int n) {
  if (threadIdx.x < n) {
    x[threadIdx.x] = __shfl_xor_sync(0xffffffff, x[threadIdx.x], 1);  // fault: never
  } else {
    while (atomicAdd((int *)x + 63, 0) != 12345) {
    }
  }
}

__device__ __forceinline__ void copy16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
               : "memory");
}
GLOBAL async_bad(float *x, int n) {
  __shared__ __align__(16) float s[256];
  copy16(s + 4 * threadIdx.x, x + 4 * threadIdx.x);
  asm volatile("cp.async.commit_group;" ::: "memory");
  __syncthreads();
  x[threadIdx.x] = s[4 * threadIdx.x + 1];  // fault: async
}
GLOBAL async_good(float *x, int n) {
  __shared__ __align__(16) float s[256];
  copy16(s + 4 * threadIdx.x, x + 4 * threadIdx.x);
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  x[threadIdx.x] = s[4 * ((threadIdx.x + 1) & 31) + 1];
}

GLOBAL steps_bad(float *x, int n) {
  volatile float *p = x;
  while (p[0] != -1) {  // fault: steps
  }
}

GLOBAL trap_bad(float *x, int n) {
  if (threadIdx.x == 5) __trap();  // fault: trap
  x[threadIdx.x] = n;
}

__device__ __noinline__ int deep(int n) { return n == 0 ? 1 : n + deep(n - 1) * 3; }
GLOBAL stack_bad(float *x, int n) {
  x[threadIdx.x] = deep(1 << 20);
}
GLOBAL stack_good(float *x, int n) {
  x[threadIdx.x] = deep(threadIdx.x & 15);
}

__constant__ float table[4] = {1, 2, 3, 4};
GLOBAL constant_bad(float *x, int n) {
  float *p;
  asm volatile("mov.u64 %0, %1;" : "=l"(p) : "l"(table));  // so that NVRTC does not see it
  p[threadIdx.x & 3] = n;  // fault: constant
  x[threadIdx.x] = p[(threadIdx.x + n) & 3];
}

// The last block adds what the others have stored in x[32 b + t], b > 0, and announced at x[0].
enum { NOTHING, FENCE, FENCE_ALL, ACQ_REL, RELEASE_RED, IN_BLOCK, TOO_LATE };
template <int HOW> __device__ void last_block(float *x) {
  __shared__ bool last;
  unsigned *count = reinterpret_cast<unsigned *>(x), old;
  float *partial = x + 32 + 32 * blockIdx.x;
  partial[threadIdx.x] = threadIdx.x;  // fault: stored
  if (HOW == FENCE_ALL) __threadfence();
  if (HOW == IN_BLOCK) __threadfence_block();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (HOW == FENCE) __threadfence();
    if (HOW == ACQ_REL) asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(count) : "memory");
    else if (HOW == RELEASE_RED) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
      while (*(volatile unsigned *)count < 0x3f800000 + gridDim.x) {
      }
      old = 0x3f800000 + gridDim.x - 1;
    } else old = atomicAdd(count, 1);
    last = old - 0x3f800000 == gridDim.x - 1;
  }
  __syncthreads();
  if (HOW == TOO_LATE) __threadfence();
  float sum = 0;
  for (int b = 0; last && b < gridDim.x; b++) sum += __ldcg(&x[32 + 32 * b + threadIdx.x]);  // fault: unfenced
  if (last && HOW != RELEASE_RED) x[200 + threadIdx.x] = sum;
}
GLOBAL unfenced_bad(float *x, int n) { last_block<NOTHING>(x); }
GLOBAL fenced_in_block_bad(float *x, int n) { last_block<IN_BLOCK>(x); }
GLOBAL late_fence_bad(float *x, int n) { last_block<TOO_LATE>(x); }
GLOBAL fenced_good(float *x, int n) { last_block<FENCE>(x); }
GLOBAL all_fenced_good(float *x, int n) { last_block<FENCE_ALL>(x); }
GLOBAL acq_rel_good(float *x, int n) { last_block<ACQ_REL>(x); }
GLOBAL release_good(float *x, int n) { last_block<RELEASE_RED>(x); }

// a chain: each block waits for the flag of the block before it, and reads what that stored
template <bool FENCED, bool EARLY> __device__ void chain(float *x) {
  volatile float *flag = x;
  if (threadIdx.x == 0) {
    if (blockIdx.x)
      while (flag[blockIdx.x - 1] != -1) {
      }
    float before = blockIdx.x ? x[64 + blockIdx.x - 1] : 0;  // fault: chain
    if (EARLY) __threadfence();
    x[64 + blockIdx.x] = before + 1;
    if (FENCED) __threadfence();
    flag[blockIdx.x] = -1;
  }
}
GLOBAL chain_good(float *x, int n) { chain<true, false>(x); }
GLOBAL chain_bad(float *x, int n) { chain<false, false>(x); }
GLOBAL early_fence_bad(float *x, int n) { chain<false, true>(x); }
// stored after the announcement, and read by no block that has looked at it
GLOBAL counted_good(float *x, int n) {
  unsigned ticket = atomicAdd(reinterpret_cast<unsigned *>(x), 1) - 0x3f800000;
  x[32 + ticket] = 1;
  if (x[32 + (ticket ^ 32)] == 7) x[31] = 1;
}
