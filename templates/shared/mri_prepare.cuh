// mri_prepare.cuh -- the kernel that writes samples as the next one reads them (PACK).
#pragma once

@ if PACK then
extern "C" __global__ void __launch_bounds__(256)
prepare(int m, const float *kx, const float *ky, const float *kz, const float *r, const float *i, const float *rd,
        const float *id, float *packed) {
  const long long s = blockIdx.x * 256ll + threadIdx.x;
  if (s >= m) return;
  const sample p = prepared_sample({kx, ky, kz, r, i, rd, id, nullptr, m}, s);
  if constexpr (LAYOUT == LAYOUT_soa) {
    packed[s] = p.x;
    packed[m + s] = p.y;
    packed[2ll * m + s] = p.z;
    if constexpr (POLAR) packed[3ll * m + s] = p.phase;
  } else {
    record &to = reinterpret_cast<record *>(packed)[s];
    to.x = p.x;
    to.y = p.y;
    to.z = p.z;
@   if POLAR then
    to.w = p.phase;
@   elseif REAL then
    to.w = p.a;
@   end
  }
  if constexpr (!(REAL && LAYOUT == LAYOUT_aos)) packed[(POLAR ? 4ll : 3ll) * m + s] = p.a;
  if constexpr (!POLAR && !REAL) packed[4ll * m + s] = p.b;
}
@ end
