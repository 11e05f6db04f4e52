// bulk.cuh -- bulk copies between global and shared memory, compute capability 9.0, as ptx90.cuh has
// other instructions, and a barrier for some of a block's threads. Addresses and sizes of copies are
// multiples of 16 bytes.
#pragma once

// "mbarrier.arrive", with .expect_tx: arrives, and the phase also lasts until that many bytes have
// been copied.
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned barrier, int nbytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(nbytes)
               : "memory");
}

// "cp.async.bulk": global to shared memory; the barrier is told how many bytes have come.
__device__ __forceinline__ void bulk_load(unsigned to, const void *from, int nbytes,
                                          unsigned barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(nbytes), "r"(barrier)
      : "memory");
}
// And back, what a fence.proxy.async has made visible to copies, in a bulk group of this thread:
// bulk_commit and bulk_wait_read of ptx90.cuh, which comes first.
__device__ __forceinline__ void bulk_store(void *to, unsigned from, int nbytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(nbytes)
               : "memory");
}
// "barrier.sync": of the first THREADS threads of the block, whole warps; barrier 0 is __syncthreads'.
template <int THREADS>
__device__ __forceinline__ void sync_first() {
  asm volatile("barrier.sync 1, %0;" ::"n"(THREADS) : "memory");
}
