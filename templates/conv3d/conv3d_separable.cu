// conv3d_separable.cu -- blocks march through planes. A thread filters each row along x, adds the sums, times taps
// along y, to those of its rows, and these, times taps along z, to the sums of DEEP results.
#include "conv3d_planes.cuh"

@ if FILTER == "constant" then
__constant__ tap constant_down[HIGH], constant_deep[DEEP];
@ end

@ if FILTER == "parameter" then
struct down_by_value {
  tap at[HIGH];
};
struct deep_by_value {
  tap at[DEEP];
};
#define DOWN_ARGUMENT const __grid_constant__ down_by_value fy
#define DEEP_ARGUMENT const __grid_constant__ deep_by_value fz
__device__ __forceinline__ number tap_down(const down_by_value &fy, int j) { return (number)fy.at[j]; }
__device__ __forceinline__ number tap_deep(const deep_by_value &fz, int k) { return (number)fz.at[k]; }
@ else
#define DOWN_ARGUMENT const tap *__restrict__ fy
#define DEEP_ARGUMENT const tap *__restrict__ fz
__device__ __forceinline__ number tap_down(const tap *fy, int j) {
@ if FILTER == "constant" then
  return (number)constant_down[j];
@ else
  return (number)load_constant(fy + j);
@ end
}
__device__ __forceinline__ number tap_deep(const tap *fz, int k) {
@ if FILTER == "constant" then
  return (number)constant_deep[k];
@ else
  return (number)load_constant(fz + k);
@ end
}
@ end

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    conv3d(int nx, int ny, int nz, int mx, int my, int mz, int depth, const stored *__restrict__ x, long long ldx,
           ARGUMENT_OF_TAPS, DOWN_ARGUMENT, DEEP_ARGUMENT, stored *__restrict__ y,
           long long ldy) {
  extern __shared__ uint4 memory[];
  const volume from = {nx, ny, nz, x + pdl_wait(), ldx};
  convolve(from, {mx, my, mz, y, ldy}, depth, reinterpret_cast<stored *>(memory),
           [&](const stored *plane, window &w, int, int) {
             sums inside = {};  // of the plane
#pragma unroll
             for (int row = 0; row < OUT_Y + 2 * RY; row++) {
               line v;
               v.load(plane + row * WIDTH);
               number across[OUT_X] = {};
#pragma unroll
               for (int i = 0; i < WIDE; i++) {
#pragma unroll
                 for (int o = 0; o < OUT_X; o++) across[o] += tap_at(f, i) * v.e[SHIFT + o + i];
               }
#pragma unroll
               for (int o = 0; o < OUT_Y; o++) {
                 if (row - o < 0 || row - o >= HIGH) continue;
#pragma unroll
                 for (int i = 0; i < OUT_X; i++) inside[o][i] += tap_down(fy, row - o) * across[i];
               }
             }
#pragma unroll
             for (int k = 0; k < DEEP; k++) {
               const number weight = tap_deep(fz, DEEP - 1 - k);
#pragma unroll
               for (int i = 0; i < OUT_Y * OUT_X; i++) (&w.sum[k][0][0])[i] += weight * (&inside[0][0])[i];
             }
           });
}
