// cluster.cuh -- blocks of a cluster and each other's shared memory; compute capability 9.0.
#pragma once

// "barrier.cluster": all threads of the cluster's blocks arrive, then wait. What a thread stored to any
// of the blocks' shared memory before it arrived, those that have waited see.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
}
// The same for what it stored to its own block's alone; a fence of that waits for nothing else ("fence",
// .sync_restrict, which compilers before CUDA 12.8 do not know).
__device__ __forceinline__ void cluster_arrive_own() {
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1208
  asm volatile("fence.release.sync_restrict::shared::cta.cluster;" ::: "memory");
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#else
  cluster_arrive();
#endif
}
// The same where others see nothing of it.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_barrier() {
  cluster_arrive();
  cluster_wait();
}

// "mapa", "red": adds to a word of this block's shared memory in another block of the cluster.
__device__ __forceinline__ void add_in_block(unsigned *p, unsigned block, unsigned by) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(there)
      : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(block));
  asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(there), "r"(by)
               : "memory");
}

// "mapa": where something of this block's shared memory is in that of another block of the cluster.
template <typename T>
__device__ __forceinline__ T *in_block(T *p, unsigned block) {
  T *there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(block));
  return there;
}
