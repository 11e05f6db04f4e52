// merge_reference.cu -- one thread per key: it comes behind the keys of its own sequence that are before it, and
// behind those of the other sequence that go before it.
#include "merge_key.cuh"

// How many of n keys go before x; with ties, also those that equal it.
__device__ long long rank(key x, const key *keys, long long n, bool ties) {
  long long least = 0, most = n;
  while (least < most) {
    const long long i = (least + most) / 2;
    if (ties ? !before(x, keys[i]) : before(keys[i], x)) {
      least = i + 1;
    } else {
      most = i;
    }
  }
  return least;
}

__device__ void put(long long to, key x, const value *v, long long from, key *c, value *cv) {
  c[to] = x;
  if (VALUE > 0) cv[to] = v[from];
}

extern "C" __global__ void reference(long long m, long long n, const key *a, const key *b, key *c,
                                     const value *av, const value *bv, value *cv) {
  for (long long t = blockIdx.x * 256ll + threadIdx.x; t < m + n; t += gridDim.x * 256ll) {
    if (t < m)
      put(t + rank(a[t], b, n, false), a[t], av, t, c, cv);
    else
      put(t - m + rank(b[t - m], a, m, true), b[t - m], bv, t - m, c, cv);
  }
}
