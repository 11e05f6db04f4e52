// cluster.cuh -- blocks of a cluster and each other's shared memory; compute capability 9.0.

// "barrier.cluster": all threads of the cluster's blocks arrive, then wait. What a thread stored to any
// of the blocks' shared memory before it arrived, those that have waited see.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_barrier() {
  cluster_arrive();
  cluster_wait();
}

// "mapa": where something of this block's shared memory is in that of another block of the cluster.
template <typename T>
__device__ __forceinline__ T *in_block(T *p, unsigned block) {
  T *there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(block));
  return there;
}
