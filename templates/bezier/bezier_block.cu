// bezier_block.cu -- a block a curve.
#include "bezier_counts.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    bezier_block(const float *__restrict__ control, float *__restrict__ out,
                 const long long *__restrict__ starts) {
  const long long curve = blockIdx.x, first = starts[curve];
  bezier_put_curve(control + 6 * curve, out + 2 * first, (int)(starts[curve + 1] - first),
                   threadIdx.x, THREADS);
}
