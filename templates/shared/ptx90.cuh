// ptx90.cuh -- instructions of compute capability 9.0 and 9.0a (Hopper), as ptx.cuh has others.
#pragma once

// "mbarrier": a barrier in shared memory that counts arrivals, in phases of parity 0, 1, 0, ...;
// compute capability 8.0, waiting for a parity 9.0.
__device__ __forceinline__ void mbarrier_init(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void mbarrier_arrive(unsigned barrier) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier)
               : "memory");
}
// Until the phase of that parity is over.
__device__ __forceinline__ void mbarrier_wait(unsigned barrier, int parity) {
  int over;
  do {
    asm volatile(
        "{ .reg .pred over; mbarrier.try_wait.parity.shared.b64 over, [%1], %2;"
        " selp.b32 %0, 1, 0, over; }"
        : "=r"(over)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!over);
}
// "cp.async.mbarrier.arrive": once this thread's copies so far are there; one of the arrivals that
// the barrier was made for.
__device__ __forceinline__ void cp_async_mbarrier_arrive(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
// "fence.proxy.async": what this thread stored to shared memory, tensor cores and bulk copies see.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// "barrier.sync": of the first THREADS threads of the block, whole warps; barrier 0 is __syncthreads'.
template <int THREADS>
__device__ __forceinline__ void sync_some() {
  asm volatile("barrier.sync 1, %0;" ::"n"(THREADS) : "memory");
}

// "setmaxnreg": registers per thread of this warpgroup from now on; compute capability 9.0a. The
// block's threads together have no more than it was launched with. Code for 9.0 keeps what it has.
template <int REGISTERS>
__device__ __forceinline__ void release_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}
template <int REGISTERS>
__device__ __forceinline__ void take_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}

// "Asynchronous warpgroup level matrix instructions"; compute capability 9.0a.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int NEWEST>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(NEWEST) : "memory");
}
// "Matrix descriptor": rows of 128 bytes in shared memory, swizzled, eight of them (aligned to 1024
// bytes) behind the next.
__device__ __forceinline__ unsigned long long swizzled_128(unsigned address) {
  return (address & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}
// The same of an operand of 16-bit numbers that is contiguous across k: per eight elements along k
// eight rows of 128 bytes, which hold 64 rows of the operand; the next 64 are `leading` bytes behind.
__device__ __forceinline__ unsigned long long swizzled_128_across(unsigned address,
                                                                  unsigned leading) {
  return (address & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16 |
         (1024ull >> 4) << 32 | 1ull << 62;
}

// "stmatrix": four 8 x 8 matrices of 16-bit elements, as accumulators lie in the lanes; lane i gives
// the address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void store_matrices(unsigned address, const unsigned (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

// CUtensorMap; a kernel takes it as a const __grid_constant__ parameter.
struct alignas(64) tensor_map {
  unsigned long long words[16];
};

// "prefetch.tensormap": it will soon be used.
__device__ __forceinline__ void prefetch_map(const tensor_map &map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// "mbarrier.arrive.expect_tx": an arrival; and the phase takes that many bytes of copies, too.
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned barrier, unsigned nbytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(nbytes)
               : "memory");
}
// "fence.mbarrier_init": what was initialized, copies and the cluster see.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// "cp.async.bulk.tensor": a tile from x, y on to shared memory, zeros beyond the tensor; its bytes
// count for the barrier. `blocks` is a set of blocks of the cluster: each gets it at that address.
__device__ __forceinline__ void load_tile(unsigned to, const tensor_map &map, int x, int y,
                                          unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void load_tile(unsigned to, const tensor_map &map, int x, int y,
                                          unsigned barrier, unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(blocks)
      : "memory");
}
// The other way, in a bulk group of this thread; what lies beyond the tensor is not written.
__device__ __forceinline__ void store_tile(const tensor_map &map, int x, int y, unsigned from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
          &map),
      "r"(x), "r"(y), "r"(from)
      : "memory");
}
__device__ __forceinline__ void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until no more than the NEWEST latest groups of this thread still read shared memory.
template <int NEWEST>
__device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(NEWEST) : "memory");
}

// "%cluster_ctarank": this block's number in its cluster.
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// "mapa" and "mbarrier.arrive" in another block of the cluster. (.release.cluster would wait until
// the whole device sees what this thread wrote: on an H200 a third of a matrix product's time.)
__device__ __forceinline__ void mbarrier_arrive_at(unsigned barrier, unsigned block) {
  asm volatile(
      "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
      " mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(barrier),
      "r"(block)
      : "memory");
}
// "barrier.cluster": for all threads of all blocks of the cluster, which then see barriers that were
// initialized (fence_mbarrier_init), but nothing else: .release would wait for the whole device.
__device__ __forceinline__ void cluster_sync_barriers() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}
