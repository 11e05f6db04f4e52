// merge_order.cuh -- the order in which merge and merge_sort put keys: does x come before y?
//
// For another order copy merge.lua or merge_sort.lua into a folder of your own and this file beside it, change
// the one line, and call the template by its path: `autotune mine/merge_sort.lua n=1000`.
//
// The order has to be a strict weak one. Two keys are equal if neither comes before the other. Where equal keys
// can differ and have no values, only NETWORK=odd_even with MERGE=serial keeps their order: remove the other
// values from the space of your copy, and the sorting networks from ALG. (Of floats, -0 and +0 are such keys.)
#pragma once

__device__ __forceinline__ bool before(key x, key y) { return x < y; }
