// radix_sort_cluster.cu -- one cluster of blocks sorts all keys in its shared memory.
#include "radix_cluster.cuh"

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(BLOCK)
    sort_cluster(long long n, const key *keys_in, const value *values_in, key *keys_out,
                 value *values_out) {
  sort_in_cluster(n, keys_in, values_in, keys_out, values_out);
}
