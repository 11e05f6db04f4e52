// mri_q_reference.cu -- a voxel in f64, one thread each, and how far f32 may be off, in units of 2^-24 of the
// magnitudes of samples: by sums, sines and squares; and by the phase, of which each turn is rounded in coordinates,
// products and sums, and by the hardware's sine.
extern "C" __global__ void reference(int m, const float *kx, const float *ky, const float *kz,
                                     const float *r, const float *i, int nx, int ny, int nz,
                                     const float *x, const float *y, const float *z, float x0,
                                     float y0, float z0, float dx, float dy, float dz, float *re,
                                     float *im, double *re_bound, double *im_bound) {
  const long long n = blockIdx.x * 128ll + threadIdx.x;
  if (n >= (long long)nx * ny * nz) return;
  constexpr bool GRID = PLACES == PLACES_grid;
  const double column = (double)(n % nx), row = (double)(n / nx % ny),
               slice = (double)(n / nx / ny);
  const double at[3] = {GRID ? x0 + column * dx : x[n], GRID ? y0 + row * dy : y[n],
                        GRID ? z0 + slice * dz : z[n]};
  // what a coordinate is made of
  const double parts[3] = {GRID ? fabs(x0) + (column + 32) * fabs(dx) : fabs(x[n]),
                           GRID ? fabs(y0) + row * fabs(dy) : fabs(y[n]),
                           GRID ? fabs(z0) + slice * fabs(dz) : fabs(z[n])};
  constexpr double SINES = ACCURACY == ACCURACY_fast ? 160 : 64, TURN = 60;
  double a = 0, b = 0, error = 0;
  for (int s = 0; s < m; s++) {
    const double size = (double)r[s] * r[s] + (double)i[s] * i[s];
    double sine, cosine;
    sincospi(2 * (kx[s] * at[0] + ky[s] * at[1] + kz[s] * at[2]), &sine, &cosine);
    a += size * cosine;
    b += size * sine;
    const double turns = fabs((double)kx[s]) * parts[0] + fabs((double)ky[s]) * parts[1] +
                         fabs((double)kz[s]) * parts[2];
    error += size * (m + SINES + TURN * turns);
  }
  re_bound[n] = im_bound[n] = error;
  re[n] = (float)a;
  im[n] = (float)b;
}
