// coulomb_reference.cu -- a thread a point, in double. With a cutoff, atoms are in lists of cubes whose sides are as
// long as it, of which a point's neighbours are looked at.

struct cubes {
  int nx, ny, nz, side;  // in steps

  __device__ int along(double x, int n) const {
    return min(max((int)floor(x / side) + 1, 0), n - 1);
  }
  __device__ long long at(int x, int y, int z) const { return ((long long)z * ny + y) * nx + x; }
};

__device__ cubes cubes_of(int nx, int ny, int nz, int reach) {
  const int side = reach + 1;
  return {(nx - 1) / side + 3, (ny - 1) / side + 3, (nz - 1) / side + 3, side};
}

// What is far from the grid comes into the outer cubes, too.
extern "C" __global__ void link(int nx, int ny, int nz, float spacing, float x0, float y0, float z0,
                                int reach, int n, const float *atoms, int *head, int *next) {
  const cubes c = cubes_of(nx, ny, nz, reach);
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const double x = (atoms[4 * i] - (double)x0) / spacing,
               y = (atoms[4 * i + 1] - (double)y0) / spacing,
               z = (atoms[4 * i + 2] - (double)z0) / spacing;
  next[i] = atomicExch(head + c.at(c.along(x, c.nx), c.along(y, c.ny), c.along(z, c.nz)), i + 1);
}

struct sums {
  double energy, magnitude;
};

// A pair whose distance is the cutoff within rounding may count or not: its magnitude times `slack`
// allows for an error of its energy and more.
__device__ void add(sums &s, double x, double y, double z, const float *a, double soft,
                    double cutoff, double slack) {
  const double dx = x - a[0], dy = y - a[1], dz = z - a[2];
  double r2 = dx * dx + dy * dy + dz * dz + soft * soft;
  if (r2 < 0x1p-126) r2 = 0;
  const double part = a[3] / sqrt(r2);
  if (!CUT) {
    s.energy += part, s.magnitude += fabs(part);
    return;
  }
  const double most = cutoff * cutoff + soft * soft;
  const bool close = fabs(r2 - most) <= 0x1p-20 * most;
  if (r2 <= most) s.energy += part;
  if (r2 <= most || close) s.magnitude += fabs(part) * (close ? slack : 1);
}

extern "C" __global__ void slow(int nx, int ny, int nz, float spacing, float x0, float y0, float z0,
                                float soften, float cutoff, int reach, int n, const float *atoms,
                                const int *head, const int *next, float *energy, double *magnitude,
                                double slack) {
  const cubes c = cubes_of(nx, ny, nz, reach);
  for (long long i = blockIdx.x * 128ll + threadIdx.x; i < (long long)nx * ny * nz;
       i += gridDim.x * 128ll) {
    const int ix = i % nx, iy = i / nx % ny, iz = i / nx / ny;
    const float x = fmaf((float)ix, spacing, x0), y = fmaf((float)iy, spacing, y0),
                z = fmaf((float)iz, spacing, z0);
    sums s = {energy[i], fabs((double)energy[i])};
    if (!CUT) {
      for (int a = 0; a < n; a++) add(s, x, y, z, atoms + 4ll * a, soften, cutoff, slack);
    } else {
      for (int k = 0; k < 27; k++) {
        const long long cube =
            c.at(ix / c.side + k % 3, iy / c.side + k / 3 % 3, iz / c.side + k / 9);
        for (int a = head[cube]; a > 0; a = next[a - 1])
          add(s, x, y, z, atoms + 4ll * (a - 1), soften, cutoff, slack);
      }
    }
    energy[i] = (float)s.energy;
    magnitude[i] = s.magnitude;
  }
}
