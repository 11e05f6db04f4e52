// cub_thrust.cu -- a program of make check-programs: Thrust's sort and reduction and CUB's scan, by their own dispatch.
#include <cstdio>
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

int main() {
  const int n = 10000;
  thrust::host_vector<unsigned> h(n);
  for (int i = 0; i < n; i++) {
    h[i] = (i * 2654435761u) % 1000;
  }
  thrust::device_vector<unsigned> v = h;
  thrust::sort(v.begin(), v.end());
  const unsigned sum = thrust::reduce(v.begin(), v.end());
  unsigned *sums;
  void *workspace = nullptr;
  size_t nbytes = 0;
  cudaMallocManaged(&sums, n * sizeof *sums);
  cub::DeviceScan::InclusiveSum(workspace, nbytes, thrust::raw_pointer_cast(v.data()), sums, n);
  cudaMallocAsync(&workspace, nbytes, 0);
  cub::DeviceScan::InclusiveSum(workspace, nbytes, thrust::raw_pointer_cast(v.data()), sums, n);
  cudaDeviceSynchronize();
  const bool ok = sums[n - 1] == sum && v[0] <= v[n / 2] && v[n / 2] <= v[n - 1];
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return !ok;
}
