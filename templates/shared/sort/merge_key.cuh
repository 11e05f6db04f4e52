// merge_key.cuh -- keys and values of merge and merge_sort, and the order of keys.
#pragma once
#include "elements.cuh"

using key = element<DTYPE>::stored;
using value = choose<VALUE == 8, uint2,
                     choose<VALUE == 4, unsigned, unsigned char>>;  // bits; VALUE == 0: unused

#include "merge_order.cuh"
