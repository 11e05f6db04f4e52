// floats.cuh -- several neighbouring floats, in one access of memory.
#pragma once

template <int N>
struct alignas(4 * N) floats {
  float e[N];
};
