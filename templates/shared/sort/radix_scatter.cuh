// radix_scatter.cuh -- a ranked tile goes where a pass takes it: straight from registers, or sorted in shared memory
// first, so that keys with equal digits are written one after another.
#pragma once
#include "radix_arrays.cuh"
#include "radix_tile.cuh"

// Where the tile's keys of each digit go, minus their position in the tile.
__shared__ position bases[BINS];

// How many keys of this thread's bins exist. Those from `room` on have the last digit.
__device__ __forceinline__ void real_counts(const unsigned (&count)[BINS_THREAD], long long room,
                                            digit_bits digit, unsigned (&real)[BINS_THREAD]) {
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const bool last = j * BLOCK + threadIdx.x == digit.mask;
    real[j] = count[j] - (last && room < TILE ? TILE - (unsigned)room : 0);
  }
}

// Beside the counters while these are in use, or in their place.
constexpr int STAGED = STAGE_AS_RANKED ? COUNTERS : 0;
__device__ __forceinline__ key *staged_keys() { return reinterpret_cast<key *>(shared + STAGED); }
__device__ __forceinline__ value *staged_values() {
  return reinterpret_cast<value *>(shared + STAGED + TILE * KEY);
}

template <typename T>
__device__ __forceinline__ void store_item(T *p, const T &v) {
  if constexpr (STORE == STORE_streaming) {
    store_streaming(p, v);
  } else {
    store_plain(p, v);
  }
}

__device__ __forceinline__ void store_key(const move &m, position to, key k) {
  store_item(m.to + to, ENCODED && m.last ? decode(k) : k);
}

// Writes a staged tile, whose threads are neighbours in it.
struct lane_writer {
  template <bool WHOLE>
  static __device__ __forceinline__ void write(const move &m, digit_bits digit, int room) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      const int at = i * BLOCK + threadIdx.x;
      if (WHOLE || at < room) {
        const key k = staged_keys()[at];
        const position to = bases[digit.of(k)] + at;
        store_key(m, to, k);
        if constexpr (VALUE > 0) store_item(m.values_to + to, staged_values()[at]);
      }
    }
  }
  static __device__ __forceinline__ void write_tile(const move &m, digit_bits digit,
                                                    long long room) {
    if (room >= TILE) {
      write<true>(m, digit, TILE);
    } else {
      write<false>(m, digit, (int)room);
    }
  }
};

__device__ __forceinline__ void scatter_from_registers(const key (&k)[ITEMS],
                                                       const value (&v)[ITEMS], const ranks &rank,
                                                       const move &m, digit_bits digit,
                                                       long long room) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (item(i) < room) {
      const position to = bases[digit.of(k[i])] + rank.at(i) - 1;
      store_key(m, to, k[i]);
      if constexpr (VALUE > 0) store_item(m.values_to + to, v[i]);
    }
  }
}

// Scatters the tile whose first key is at `first`; find() sets the bases.
template <typename Writer, typename F>
__device__ __forceinline__ void scatter(const key (&k)[ITEMS], value (&v)[ITEMS], const ranks &rank,
                                        const move &m, digit_bits digit, long long first,
                                        long long room, F find) {
  constexpr bool LOADS_VALUES = VALUE > 0 && VALUES == VALUES_late;
  if constexpr (SCATTER == SCATTER_shared) {
    __syncthreads();  // the counters are read, and give way to what is staged
#pragma unroll
    for (int i = 0; i < ITEMS; i++) (staged_keys() - 1)[rank.at(i)] = k[i];
    if constexpr (LOADS_VALUES) get_values(v, m.values_from + first, room);
    if constexpr (VALUE > 0) {
#pragma unroll
      for (int i = 0; i < ITEMS; i++) (staged_values() - 1)[rank.at(i)] = v[i];
    }
    find();
    __syncthreads();
    Writer::write_tile(m, digit, room);
  } else {
    if constexpr (LOADS_VALUES) get_values(v, m.values_from + first, room);
    find();
    __syncthreads();
    scatter_from_registers(k, v, rank, m, digit, room);
  }
}
