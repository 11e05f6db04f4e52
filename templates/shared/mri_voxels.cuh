// mri_voxels.cuh -- where voxels are, and where their sums go: to the outputs, or where blocks share samples (SPLIT) to
// where those of all meet.
#pragma once

struct volume {
  int nx, ny, nz;
  const float *x, *y, *z;              // of places=points
  float x0, y0, z0, dx, dy, dz;        // of places=grid
  __device__ long long size() const { return (long long)nx * ny * nz; }
};

// Voxel i, or one of those beyond the last, whose sums nobody keeps.
__device__ __forceinline__ float3 place_of(const volume &v, long long i) {
  if constexpr (PLACES == PLACES_grid) {
    const long long line = i / v.nx;
    const int x = (int)(i - line * v.nx), y = (int)(line % v.ny), z = (int)(line / v.ny);
    return {fmaf((float)x, v.dx, v.x0), fmaf((float)y, v.dy, v.y0), fmaf((float)z, v.dz, v.z0)};
  }
  return i < v.size() ? float3{v.x[i], v.y[i], v.z[i]} : float3{};
}

// Of the samples of a launch, those of this block: the grid's rows share them.
struct part_of_samples {
  int begin, end;
};
__device__ __forceinline__ part_of_samples samples_of_block(int count) {
  const int rows = gridDim.y, each = (int)(((long long)count + rows - 1) / rows);
  const long long begin = (long long)each * blockIdx.y;
  return {(int)(begin < count ? begin : count), (int)(begin + each < count ? begin + each : count)};
}

struct results {
  float *re, *im, *partial;
  bool add;  // to what is there
};

__device__ __forceinline__ void keep(const results &to, long long n, long long i, float2 sum) {
  if (i >= n) return;
  if (SPLIT == SPLIT_none || gridDim.y == 1) {
    to.re[i] = to.add ? to.re[i] + sum.x : sum.x;
    to.im[i] = to.add ? to.im[i] + sum.y : sum.y;
  } else if (SPLIT == SPLIT_atomic) {
    atomicAdd(to.re + i, sum.x);
    atomicAdd(to.im + i, sum.y);
  } else {
    float *const at = to.partial + 2 * n * blockIdx.y + i;
    at[0] = sum.x;
    at[n] = sum.y;
  }
}

// Calls keep(v, sum) for each of N voxels of a thread, by one of the PARTS threads of a block that share them; these
// share the additions, too. By all threads.
template <int N, typename F>
__device__ __forceinline__ void keep_all(const float2 (&sum)[N], F keep) {
  if constexpr (PARTS == 1) {
#pragma unroll
    for (int v = 0; v < N; v++) keep(v, sum[v]);
    return;
  }
  constexpr int MOST = 2048 / BLOCK, LEAST = PARTS < N ? PARTS : N;
  constexpr int ROUND = LEAST < MOST ? LEAST : MOST;  // voxels at a time
  __shared__ float2 parts[ROUND][BLOCK];
  const int slot = threadIdx.x % GROUP, part = threadIdx.x / GROUP;
#pragma unroll
  for (int first = 0; first < N; first += ROUND) {
    __syncthreads();
#pragma unroll
    for (int v = 0; v < ROUND && first + v < N; v++) parts[v][threadIdx.x] = sum[first + v];
    __syncthreads();
    if (part >= ROUND || first + part >= N) continue;
    float2 all = parts[part][slot];
    for (int p = 1; p < PARTS; p++) {
      all.x += parts[part][p * GROUP + slot].x;
      all.y += parts[part][p * GROUP + slot].y;
    }
    keep(first + part, all);
  }
}

@ if SPLIT == "two_launch" then
extern "C" __global__ void __launch_bounds__(256)
finish(long long n, int rows, const float *partial, float *re, float *im) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  float2 sum = {};
#pragma unroll 4
  for (int row = 0; row < rows; row++) {
    sum.x += partial[2 * n * row + i];
    sum.y += partial[2 * n * row + n + i];
  }
  re[i] = ADDS ? re[i] + sum.x : sum.x;
  im[i] = ADDS ? im[i] + sum.y : sum.y;
}
@ end
