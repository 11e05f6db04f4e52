// mbarriers, warp roles, named barriers and the faults of wgmma; tests/emu/test_emu_hopper.c has the
// list. A thread stores 1 in ok[threadIdx.x] if it has seen what it should. "fault: NAME" marks the
// line that the finding has to name.
typedef unsigned long long u64;
#define GLOBAL extern "C" __global__ void
#define DEVICE __device__ __forceinline__

DEVICE unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

DEVICE void init(u64 *m, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(m)), "r"(count) : "memory");
}
DEVICE u64 arrive(u64 *m) {
  u64 state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(shared(m)) : "memory");
  return state;
}
DEVICE void expect(u64 *m, unsigned nbytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared(m)), "r"(nbytes) : "memory");
}
DEVICE void complete(u64 *m, unsigned nbytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared(m)), "r"(nbytes) : "memory");
}
DEVICE bool try_parity(u64 *m, unsigned parity) {
  unsigned ok;
  asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(ok) : "r"(shared(m)), "r"(parity) : "memory");
  return ok;
}
DEVICE bool test_parity(u64 *m, unsigned parity) {
  unsigned ok;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(ok) : "r"(shared(m)), "r"(parity) : "memory");
  return ok;
}
DEVICE bool test_state(u64 *m, u64 state) {
  unsigned ok;
  asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(ok) : "r"(shared(m)), "l"(state) : "memory");
  return ok;
}
DEVICE void wait(u64 *m, unsigned parity) {
  while (!try_parity(m, parity)) {
  }
}
DEVICE void inval(u64 *m) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared(m)) : "memory");
}
DEVICE void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void warpgroup_arrive() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
DEVICE void wait_groups() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

// 64 x 8 x 8, no swizzle: a at `a`, b at `b`
DEVICE u64 plain(const void *p, unsigned leading, unsigned stride) {
  return (shared(p) >> 4 & 0x3fff) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32;
}
DEVICE void multiply(float (&c)[4], const float *a, const float *b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, 1, 1, 1;"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "l"(plain(a, 1024, 128)), "l"(plain(b, 128, 128)));
}
// element (r, k) of an operand of `rows` rows
DEVICE int at(int r, int k, int rows) { return k / 4 * (rows * 4) + r / 8 * 32 + r % 8 * 4 + k % 4; }

// a state and a parity name the same phase; arrivals with a count; two phases
GLOBAL phases(int *ok, const float *data) {
  __shared__ u64 m;
  const int t = threadIdx.x;
  if (t == 0) init(&m, 64);
  __syncthreads();
  bool fine = !test_parity(&m, 0) && test_parity(&m, 1);
  __syncthreads();
  u64 state = arrive(&m);
  while (!test_state(&m, state)) {
  }
  fine &= test_parity(&m, 0) && !test_parity(&m, 1);
  __syncthreads();
  if (t < 2) asm volatile("{.reg .b64 s; mbarrier.arrive.release.cta.shared::cta.b64 s, [%0], 32;}" ::"r"(shared(&m)) : "memory");
  wait(&m, 1);
  __syncthreads();
  if (t == 0) inval(&m);
  ok[t] = fine;
}

// warps 0 to 3 produce, warps 4 to 7 consume, through two stages of a ring
GLOBAL roles(int *ok, const float *data) {
  __shared__ float s[2][128];
  __shared__ u64 full[2], empty[2];
  const int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 2; i++) {
      init(&full[i], 128);
      init(&empty[i], 128);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    for (int i = 0; i < 8; i++) {
      wait(&empty[i % 2], (i / 2 & 1) ^ 1);
      s[i % 2][t] = data[i * 128 + t];
      arrive(&full[i % 2]);
    }
    ok[t] = 1;
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float sum = 0, want = 0;
    for (int i = 0; i < 8; i++) {
      wait(&full[i % 2], i / 2 & 1);
      sum += s[i % 2][(t + 1) % 128];
      want += data[i * 128 + (t + 1) % 128];
      arrive(&empty[i % 2]);
    }
    ok[t] = sum == want;
  }
}

// warp 0 passes data to warps 1 and 2 with two named barriers
GLOBAL named(int *ok, const float *data) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  if (t < 32) {
    s[t] = data[t];
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    asm volatile("barrier.cta.arrive 2, 64;" ::: "memory");
    ok[t] = 1;
  } else if (t < 64) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    ok[t] = s[t - 32] == data[t - 32];
  } else {
    asm volatile("barrier.cta.sync 2, 64;" ::: "memory");
    ok[t] = s[t - 64] == data[t - 64];
  }
}

// a phase needs its bytes as well as its arrivals, in whichever order they come
GLOBAL bytes_and_arrivals(int *ok, const float *data) {
  __shared__ u64 m;
  const int t = threadIdx.x;
  if (t == 0) {
    init(&m, 1);
    expect(&m, 96);
    ok[0] = !test_parity(&m, 0);
    complete(&m, 32);
    ok[0] &= !test_parity(&m, 0);
    complete(&m, 64);
    ok[0] &= test_parity(&m, 0);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 16;" ::"r"(shared(&m)) : "memory");
    complete(&m, 16);
    ok[0] &= !test_parity(&m, 1);
    arrive(&m);
    ok[0] &= test_parity(&m, 1);
  } else {
    ok[t] = 1;
  }
}

// try_wait may return false: it polls the next stage before the current one is released
GLOBAL peeks(int *ok, const float *data) {
  __shared__ u64 full, empty;
  __shared__ float s[32];
  const int t = threadIdx.x;
  if (t == 0) {
    init(&full, 32);
    init(&empty, 32);
  }
  __syncthreads();
  if (t < 32) {
    for (int i = 0; i < 4; i++) {
      wait(&empty, (i & 1) ^ 1);
      s[t] = data[32 * i + t];
      arrive(&full);
    }
    ok[t] = 1;
  } else {
    bool fine = true, there = try_parity(&full, 0);
    for (int i = 0; i < 4; i++) {
      if (!there) wait(&full, i & 1);
      fine &= s[63 - t] == data[32 * i + 63 - t];
      there = i < 3 && try_parity(&full, (i + 1) & 1);  // before the stage is given back
      arrive(&empty);
    }
    ok[t] = fine;
  }
}

GLOBAL elects(int *ok, const float *data) {
  unsigned is, leader;
  asm volatile("{.reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p;}" : "=r"(leader), "=r"(is));
  ok[threadIdx.x] = leader < 32 && __popc(__ballot_sync(~0u, is)) == 1 && is == (threadIdx.x % 32 == leader);
}

// one group stays in flight while the next is issued; the accumulator goes around a loop
GLOBAL pipelined(int *ok, const float *data) {
  __shared__ __align__(1024) float a[2][512], b[2][64];
  const int t = threadIdx.x;
  float c[4] = {};
  for (int s = 0; s < 2; s++) {
    for (int i = t; i < 512; i += 128) a[s][at(i / 8, i % 8, 64)] = data[s * 512 + i];
    if (t < 64) b[s][at(t / 8, t % 8, 8)] = data[t];
  }
  fence();
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < 4; i++) {
    warpgroup_arrive();
    multiply(c, a[i & 1], b[i & 1]);
    commit();
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  wait_groups();
  bool fine = true;
  for (int i = 0; i < 4; i++) {
    const int row = t / 32 * 16 + t % 32 / 4 + i / 2 * 8, column = t % 4 * 2 + i % 2;
    float want = 0;
    for (int k = 0; k < 8; k++) want += 2 * (data[row * 8 + k] + data[512 + row * 8 + k]) * data[column * 8 + k];
    fine &= c[i] == want;
  }
  ok[t] = fine;
}

// cp.async copies that arrive at an mbarrier for their thread
GLOBAL cp_async_arrives(int *ok, const float *data) {
  __shared__ float s[64];
  __shared__ u64 m;
  const int t = threadIdx.x;
  if (t == 0) init(&m, 64);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&s[t])), "l"(data + t) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared(&m)) : "memory");
  wait(&m, 0);
  ok[t] = s[63 - t] == data[63 - t];
}

// ---- faults ----

GLOBAL no_init_bad(int *ok, const float *data) {
  __shared__ u64 m;
  arrive(&m);
}

GLOBAL too_many_bad(int *ok, const float *data) {
  __shared__ u64 m;
  if (threadIdx.x == 0) {
    init(&m, 2);
    expect(&m, 16);
    arrive(&m);
    arrive(&m);
  }
}

GLOBAL plain_store_bad(int *ok, const float *data) {
  __shared__ u64 m;
  if (threadIdx.x == 0) {
    init(&m, 1);
    *(volatile u64 *)&m = 0;  // fault: plain_store
  }
}

GLOBAL unsynchronised_bad(int *ok, const float *data) {
  __shared__ u64 m;
  if (threadIdx.x == 0) init(&m, 64);
  arrive(&m);
}

GLOBAL no_wait_bad(int *ok, const float *data) {
  __shared__ u64 m;
  __shared__ float s[32];
  const int t = threadIdx.x;
  if (t == 0) init(&m, 32);
  __syncthreads();
  if (t < 32) {
    s[t] = data[t];
    arrive(&m);
  } else {
    ok[t] = s[t - 32] == 1;  // fault: no_wait
  }
}

GLOBAL never_bad(int *ok, const float *data) {
  __shared__ u64 m;
  if (threadIdx.x == 0) init(&m, 65);
  __syncthreads();
  arrive(&m);
  wait(&m, 0);
}

#define MATRICES                                            \
  __shared__ __align__(1024) float a[512], b[64];           \
  const int t = threadIdx.x;                                \
  float c[4] = {};                                          \
  for (int i = t; i < 512; i += 128) a[i] = 1;              \
  if (t < 64) b[t] = 1;

GLOBAL early_read_bad(int *ok, const float *data) {
  MATRICES
  fence();
  __syncthreads();
  warpgroup_arrive();
  multiply(c, a, b);
  commit();
  ok[t] = c[0] + c[1] == 16;
}

GLOBAL overwrite_bad(int *ok, const float *data) {
  MATRICES
  fence();
  __syncthreads();
  warpgroup_arrive();
  multiply(c, a, b);
  commit();
  __syncthreads();
  a[t] = 2;  // fault: overwrite
  wait_groups();
  ok[t] = c[0] == 8;
}

// A product whose operand a is described so; the finding names the line of the kernel.
#define PRODUCT(name, before, described)                                                                              \
  GLOBAL name(int *ok, const float *data) {                                                                           \
    MATRICES                                                                                                          \
    before;                                                                                                           \
    __syncthreads();                                                                                                  \
    warpgroup_arrive();                                                                                               \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, 1, 1, 1;"              \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(described), "l"(plain(b, 128, 128)));         \
    commit();                                                                                                         \
    wait_groups();                                                                                                    \
    ok[t] = c[0] == 8;                                                                                                \
  }
PRODUCT(no_fence_bad, , plain(a, 1024, 128))  // fault: no_fence
PRODUCT(far_descriptor_bad, fence(), plain(a, 131072, 128))  // fault: far_descriptor
// each warp points at its own rows, which the instruction does
PRODUCT(own_rows_bad, fence(), plain(a + t / 32 * 64, 1024, 128))  // fault: own_rows
PRODUCT(half_group_bad, fence(), plain(a, 1024, 128))  // fault: half_group

// ---- clusters and bulk copies ----

DEVICE unsigned rank() {
  unsigned r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
DEVICE unsigned there(const void *p, unsigned block) {
  unsigned a;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(shared(p)), "r"(block));
  return a;
}
DEVICE void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
DEVICE void load_bulk(void *to, const void *from, unsigned nbytes, u64 *m) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(shared(to)), "l"(from), "r"(nbytes), "r"(shared(m)) : "memory");
}
#define CLUSTER(n) extern "C" __global__ void __cluster_dims__(n, 1, 1)

// each block reads its neighbour's shared memory, adds to it, and arrives at its mbarrier
CLUSTER(2) neighbours(int *ok, const float *data) {
  __shared__ int s[64];
  __shared__ int sum;
  __shared__ u64 m;
  const int t = threadIdx.x, other = rank() ^ 1;
  s[t] = 1000 * rank() + t;
  if (t == 0) {
    sum = 0;
    init(&m, 64);
  }
  cluster_sync();
  int v, old;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(there(&s[63 - t], other)) : "memory");
  asm volatile("atom.shared::cluster.add.s32 %0, [%1], %2;" : "=r"(old) : "r"(there(&sum, other)), "r"(t) : "memory");
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there(&m, other)) : "memory");
  wait(&m, 0);
  cluster_sync();
  unsigned n, id;
  asm volatile("mov.u32 %0, %%cluster_nctarank; mov.u32 %1, %%clusterid.x;" : "=r"(n), "=r"(id));
  ok[blockIdx.x * 64 + t] = v == 1000 * other + 63 - t && sum == 2016 && n == 2 && id == blockIdx.x / 2;
}

// the largest cluster: each block reads the shared memory of the next
CLUSTER(16) ring(int *ok, const float *data) {
  __shared__ int s[64];
  const int t = threadIdx.x, other = (rank() + 1) % 16;
  s[t] = 1000 * rank() + t;
  cluster_sync();
  int v;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(there(&s[t], other)) : "memory");
  cluster_sync();
  ok[blockIdx.x * 64 + t] = v == 1000 * other + t;
}

// plain bytes in, doubled, and out again
GLOBAL bulk_bytes(int *ok, float *data) {
  __shared__ __align__(128) float s[256];
  __shared__ u64 m;
  const int t = threadIdx.x;
  if (t == 0) {
    init(&m, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t == 0) {
    expect(&m, 1024);
    load_bulk(s, data, 512, &m);
    load_bulk(s + 128, data + 128, 512, &m);
  }
  wait(&m, 0);
  bool fine = true;
  for (int i = t; i < 256; i += 64) {
    fine &= s[i] == i % 50;
    s[i] *= 2;
  }
  fence();
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(data + 512), "r"(shared(s)), "r"(1024) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    for (int i = 0; i < 256; i++) fine &= __ldcg(data + 512 + i) == 2 * (i % 50);
  }
  ok[t] = fine;
}

// block 0 copies to both blocks
CLUSTER(2) multicast(int *ok, const float *data) {
  __shared__ __align__(128) float s[64];
  __shared__ u64 m;
  const int t = threadIdx.x;
  if (t == 0) {
    init(&m, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    expect(&m, 256);
  }
  cluster_sync();
  if (t == 0 && rank() == 0) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;"
                 ::"r"(shared(s)), "l"(data), "r"(shared(&m)), "h"((unsigned short)3) : "memory");
  }
  wait(&m, 0);
  ok[blockIdx.x * 64 + t] = s[t] == t % 50;
  cluster_sync();
}

// ---- faults ----

GLOBAL bulk_no_wait_bad(int *ok, const float *data) {
  __shared__ __align__(128) float s[64];
  __shared__ u64 m;
  if (threadIdx.x == 0) {
    init(&m, 1);
    expect(&m, 256);
    load_bulk(s, data, 256, &m);
    ok[0] = s[5] == 5;  // fault: bulk_no_wait
  }
}

GLOBAL bulk_no_group_bad(int *ok, float *data) {
  __shared__ __align__(128) float s[64];
  s[threadIdx.x] = 1;
  fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(data), "r"(shared(s)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
}

GLOBAL bulk_no_fence_bad(int *ok, float *data) {
  __shared__ __align__(128) float s[64];
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(data), "r"(shared(s)) : "memory");  // fault: bulk_no_fence
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// a tile that is read and then copied to again: a fence by the readers, or by the copying thread
DEVICE void copy_again(int *ok, const float *data, bool readers_fence, bool copier_fences) {
  __shared__ __align__(128) float s[64];
  __shared__ u64 m;
  const int t = threadIdx.x;
  if (t == 0) {
    init(&m, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  bool fine = true;
  for (int i = 0; i < 2; i++) {
    __syncthreads();
    if (t == 0) {
      if (copier_fences) fence();
      expect(&m, 256);
      load_bulk(s, data + 64 * i, 256, &m);
    }
    wait(&m, i);
    fine &= s[t] == (64 * i + t) % 50;
    if (readers_fence) fence();
  }
  ok[t] = fine;
}
GLOBAL readers_fence(int *ok, const float *data) { copy_again(ok, data, true, false); }
GLOBAL copier_fences(int *ok, const float *data) { copy_again(ok, data, false, true); }
GLOBAL copy_again_bad(int *ok, const float *data) { copy_again(ok, data, false, false); }

GLOBAL bulk_bounds_bad(int *ok, float *data) {
  __shared__ __align__(128) float s[64];
  __shared__ u64 m;
  if (threadIdx.x == 0) {
    init(&m, 1);
    expect(&m, 256);
    load_bulk(s, data + 1004, 256, &m);
  }
}

GLOBAL bulk_size_bad(int *ok, float *data) {
  __shared__ __align__(128) float s[64];
  __shared__ u64 m;
  if (threadIdx.x == 0) {
    init(&m, 1);
    load_bulk(s, data, 20, &m);
  }
}

CLUSTER(2) ended_bad(int *ok, const float *data) {
  __shared__ int s[64];
  s[threadIdx.x] = 1;
  cluster_sync();
  if (rank() == 1) {
    for (int i = 0; i < 10000; i++) asm volatile("" ::: "memory");
    __nanosleep(100);
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(ok[0]) : "r"(there(s, 0)) : "memory");  // fault: ended
  }
}

// Each block reads its neighbour's shared memory; kernels with one barrier of the cluster too few.
DEVICE int take(const void *p, unsigned block) {
  int v;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(there(p, block)) : "memory");  // fault: take
  return v;
}
CLUSTER(2) far_read_bad(int *ok, const float *data) {
  __shared__ int s[64];
  cluster_sync();
  s[threadIdx.x] = 1;
  __syncthreads();
  ok[blockIdx.x * 64 + threadIdx.x] = take(&s[63 - threadIdx.x], rank() ^ 1);  // fault: far_read
  cluster_sync();
}
CLUSTER(2) far_write_bad(int *ok, const float *data) {
  __shared__ int s[64];
  s[threadIdx.x] = 0;
  cluster_sync();
  asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(there(&s[threadIdx.x], rank() ^ 1)), "r"(rank() + 1) : "memory");
  __syncthreads();
  ok[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
  cluster_sync();
}
CLUSTER(2) far_overwrite_bad(int *ok, const float *data) {
  __shared__ int s[64];
  s[threadIdx.x] = 0;
  cluster_sync();
  ok[blockIdx.x * 64 + threadIdx.x] = take(&s[63 - threadIdx.x], rank() ^ 1);
  __syncthreads();
  s[threadIdx.x] = 1;
  cluster_sync();
}
CLUSTER(3) far_third_bad(int *ok, const float *data) {  // two blocks use the memory of the third
  __shared__ int s[64];
  s[threadIdx.x] = 0;
  cluster_sync();
  if (rank() == 1) take(&s[threadIdx.x], 0);
  if (rank() == 2) asm volatile("st.shared::cluster.s32 [%0], 1;" ::"r"(there(&s[threadIdx.x], 0)) : "memory");
  cluster_sync();
}
CLUSTER(2) relaxed_bad(int *ok, const float *data) {
  __shared__ int s[64];
  s[threadIdx.x] = 1;
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  ok[blockIdx.x * 64 + threadIdx.x] = take(&s[63 - threadIdx.x], rank() ^ 1);  // fault: relaxed
  cluster_sync();
}
CLUSTER(2) no_end_bad(int *ok, const float *data) {
  __shared__ int s[64];
  s[threadIdx.x] = 1;
  cluster_sync();
  ok[blockIdx.x * 64 + threadIdx.x] = take(&s[63 - threadIdx.x], rank() ^ 1);  // fault: no_end
}
CLUSTER(2) no_start_bad(int *ok, const float *data) {
  __shared__ int s[64];
  asm volatile("st.shared::cluster.s32 [%0], 1;" ::"r"(there(&s[threadIdx.x], rank() ^ 1)) : "memory");  // fault: no_start
  cluster_sync();
  ok[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}
CLUSTER(2) late_barrier_bad(int *ok, const float *data) {  // the store is after the arrival
  __shared__ int s[64];
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  s[threadIdx.x] = 1;
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
  ok[blockIdx.x * 64 + threadIdx.x] = take(&s[threadIdx.x], rank() ^ 1);  // fault: late_barrier
  cluster_sync();
}

// Orders without the cluster's barrier: an mbarrier of the reading block, and fences with flags.
CLUSTER(2) far_mbarrier(int *ok, const float *data) {
  __shared__ int s[64];
  __shared__ u64 m;
  if (threadIdx.x == 0) init(&m, 64);
  cluster_sync();
  s[threadIdx.x] = 1 + rank();
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there(&m, rank() ^ 1)) : "memory");
  wait(&m, 0);
  ok[blockIdx.x * 64 + threadIdx.x] = take(&s[63 - threadIdx.x], rank() ^ 1) == 2 - rank();
  cluster_sync();
}
CLUSTER(2) far_flag(int *ok, const float *data) {
  __shared__ int s[64], flag;
  if (threadIdx.x == 0) flag = 0;
  cluster_sync();
  s[threadIdx.x] = 1 + rank();
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
  asm volatile("red.relaxed.cluster.shared::cluster.add.s32 [%0], 1;" ::"r"(there(&flag, rank() ^ 1)) : "memory");
  while (*(volatile int *)&flag < 64) {
  }
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
  ok[blockIdx.x * 64 + threadIdx.x] = take(&s[63 - threadIdx.x], rank() ^ 1) == 2 - rank();
  cluster_sync();
}
// the neighbour's data pass from warp to warp by a barrier of the block
CLUSTER(2) far_passed_on(int *ok, const float *data) {
  __shared__ int s[64];
  __shared__ u64 m;
  if (threadIdx.x == 0) init(&m, 64);
  cluster_sync();
  s[threadIdx.x] = 1 + rank();
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there(&m, rank() ^ 1)) : "memory");
  if (threadIdx.x < 32) wait(&m, 0);
  __syncthreads();
  ok[blockIdx.x * 64 + threadIdx.x] = take(&s[63 - threadIdx.x], rank() ^ 1) == 2 - rank();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

CLUSTER(2) cluster_deadlock_bad(int *ok, const float *data) {
  if (rank() == 0) asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  else asm volatile("bar.sync 1, 128;" ::: "memory");
}

// ---- tensor maps: tests/emu/test_emu_hopper.c describes the tensor ----

struct __align__(64) map { u64 words[16]; };

#define LOAD(dims, coordinates, ...)                                                                                 \
  asm volatile("cp.async.bulk.tensor." dims ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" \
               coordinates "}], [%2];" ::"r"(shared(s)), "l"(&tensor), "r"(shared(&m)), __VA_ARGS__ : "memory")
#define STORE(dims, coordinates, ...)                                                                              \
  asm volatile("cp.async.bulk.tensor." dims ".global.shared::cta.tile.bulk_group [%0, {" coordinates "}], [%1];" :: \
               "l"(&other), "r"(shared(s)), __VA_ARGS__ : "memory")

// copies the tile at (x, y, z), as it is laid out in shared memory, to out; then stores it to `other` if `store`
GLOBAL tile(const __grid_constant__ map tensor, const __grid_constant__ map other, int dims, int x, int y, int z,
            unsigned nbytes, unsigned *out, int store) {
  __shared__ __align__(1024) unsigned s[4096];
  __shared__ u64 m;
  const int t = threadIdx.x;
  if (t == 0) {
    init(&m, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    expect(&m, nbytes);
    if (dims == 1) LOAD("1d", "%3", "r"(x));
    if (dims == 2) LOAD("2d", "%3, %4", "r"(x), "r"(y));
    if (dims == 3) LOAD("3d", "%3, %4, %5", "r"(x), "r"(y), "r"(z));
  }
  __syncthreads();
  wait(&m, 0);
  for (int i = t; i < nbytes / 4; i += 32) out[i] = s[i];
  fence();
  __syncthreads();
  if (t == 0 && store) {
    if (dims == 1) STORE("1d", "%2", "r"(x));
    if (dims == 2) STORE("2d", "%2, %3", "r"(x), "r"(y));
    if (dims == 3) STORE("3d", "%2, %3, %4", "r"(x), "r"(y), "r"(z));
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// copies a column of pixels from (c, x, y, image) on, moved by (dx, dy), to out; may store it unmoved to `other`
GLOBAL column(const __grid_constant__ map tensor, const __grid_constant__ map other, int c, int x, int y, int image,
              unsigned short dx, unsigned short dy, unsigned nbytes, unsigned *out, int store) {
  __shared__ __align__(1024) unsigned s[4096];
  __shared__ u64 m;
  const int t = threadIdx.x;
  if (t == 0) {
    init(&m, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    expect(&m, nbytes);
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(shared(s)), "l"(&tensor), "r"(shared(&m)), "r"(c),
                 "r"(x), "r"(y), "r"(image), "h"(dx), "h"(dy) : "memory");
  }
  __syncthreads();
  wait(&m, 0);
  for (int i = t; i < nbytes / 4; i += 32) out[i] = s[i];
  fence();
  __syncthreads();
  if (t == 0 && store) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::
                 "l"(&other), "r"(shared(s)), "r"(c), "r"(x), "r"(y), "r"(image) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}
