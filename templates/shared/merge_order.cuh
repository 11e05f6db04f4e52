// merge_order.cuh -- the order in which merge and merge_sort put keys: does x come before y?
//
// For another order copy the template (merge.lua or merge_sort.lua) into a folder of your own and this
// file beside it, change the one line, and call it by its path: `autotune mine/merge_sort.lua n=1000`.
// It has to be a strict weak order. Keys neither of which comes before the other tie. Where such keys
// can differ and have no values, their order is kept only with NETWORK=odd_even and MERGE=serial:
// leave the others out of your copy's space. (Of floats -0 and +0 are such keys.)

__device__ __forceinline__ bool before(key x, key y) { return x < y; }
