// merge_reference.cu -- one thread per key: it comes behind the keys of its own sequence that are before it, and
// behind those of the other sequence that go before it.
#include "reference_rank.cuh"

extern "C" __global__ void reference(long long m, long long n, const key *a, const key *b, key *c,
                                     const value *av, const value *bv, value *cv) {
  for (long long t = blockIdx.x * 256ll + threadIdx.x; t < m + n; t += gridDim.x * 256ll) {
    if (t < m)
      put(t + rank(a[t], b, n, false), a[t], av, t, c, cv);
    else
      put(t - m + rank(b[t - m], a, m, true), b[t - m], bv, t - m, c, cv);
  }
}
