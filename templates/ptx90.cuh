// ptx90.cuh -- instructions of compute capability 9.0 and 9.0a (Hopper), as ptx.cuh has others.

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

// "setmaxnreg": registers per thread of this warpgroup from now on; compute capability 9.0a. The
// block's threads together have no more than it was launched with.
template <int REGISTERS>
__device__ __forceinline__ void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
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
