/* generate.cu -- inputs with a structure: images, points, atoms, paths through k-space. It follows
 * fill_check.cu in one text, and keeps to its rule: integers and single roundings only, so that
 * every device writes the same bytes. The host prepends the GEN_ names.
 */

struct generator { /* as gen_generator of gen.h */
  double numbers[8];
  i64 pattern, seed;
  char parts[8];
};

struct generating {
  u64 seed;
  generator g;
  int type, n_parts;
};

/* ---- sine and cosine ------------------------------------------------------------------------ */

static __device__ double wrapped(double v) {
  return __dsub_rn(v, floor(v));
}

static __device__ double series(const double *c, int n, double x2) {
  double sum = c[n - 1];
  for (int k = n - 2; k >= 0; k--) {
    sum = __fma_rn(sum, x2, c[k]);
  }
  return sum;
}

/* Sine and cosine of t turns, t not negative; the same bits everywhere. */
static __device__ void turn(double t, double &sine, double &cosine) {
  const double c[8] = {1,          -1. / 2,       1. / 24,        -1. / 720,
                       1. / 40320, -1. / 3628800, 1. / 479001600, -1. / 87178291200.};
  const double s[8] = {1,           -1. / 6,        1. / 120,         -1. / 5040,
                       1. / 362880, -1. / 39916800, 1. / 6227020800., -1. / 1307674368000.};
  const double quarter = floor(__fma_rn(t, 4.0, 0.5));
  const double x = __dmul_rn(__fma_rn(-0.25, quarter, t), 6.283185307179586), x2 = __dmul_rn(x, x);
  const double a = __dmul_rn(x, series(s, 8, x2)), b = series(c, 8, x2);
  const int q = (int)((u64)quarter % 4);
  sine = q == 0 ? a : q == 1 ? b : q == 2 ? -a : -b;
  cosine = q == 0 ? b : q == 1 ? -a : q == 2 ? -b : a;
}

/* ---- a phantom ------------------------------------------------------------------------------ */

struct rn { /* a number whose operations round once each: products and sums are not contracted */
  double v;
};
static __device__ rn operator+(rn a, rn b) {
  return {__dadd_rn(a.v, b.v)};
}
static __device__ rn operator-(rn a, rn b) {
  return {__dsub_rn(a.v, b.v)};
}
static __device__ rn operator*(rn a, rn b) {
  return {__dmul_rn(a.v, b.v)};
}
static __device__ rn operator/(rn a, rn b) {
  return {__ddiv_rn(a.v, b.v)};
}

/* A head between -1 and 1: what ellipsoids add, half their axes, their middle, and how the first two
 * axes are turned.
 * src: Shepp, Logan, The Fourier reconstruction of a head section, IEEE Trans. Nucl. Sci. 21, 1974;
 * contrasts: Toft, The Radon transform, thesis, Technical University of Denmark, 1996 */
struct ellipsoid {
  double adds, axes[3], middle[3], cosine, sine;
};
enum { ELLIPSOIDS = 10 };
static __device__ const ellipsoid head[ELLIPSOIDS] = {
    {1, {0.69, 0.92, 0.81}, {0, 0, 0}, 1, 0},
    {-0.8, {0.6624, 0.874, 0.78}, {0, -0.0184, 0}, 1, 0},
    {-0.2, {0.11, 0.31, 0.22}, {0.22, 0, 0}, 0.9510565162951535, -0.3090169943749474},
    {-0.2, {0.16, 0.41, 0.28}, {-0.22, 0, 0}, 0.9510565162951535, 0.3090169943749474},
    {0.1, {0.21, 0.25, 0.41}, {0, 0.35, -0.15}, 1, 0},
    {0.1, {0.046, 0.046, 0.05}, {0, 0.1, 0.25}, 1, 0},
    {0.1, {0.046, 0.046, 0.05}, {0, -0.1, 0.25}, 1, 0},
    {0.1, {0.046, 0.023, 0.05}, {-0.08, -0.605, 0}, 1, 0},
    {0.1, {0.023, 0.023, 0.02}, {0, -0.606, 0}, 1, 0},
    {0.1, {0.023, 0.046, 0.02}, {0.06, -0.605, 0}, 1, 0}};

/* The squared length of (x, y, z) along the ellipsoid's axes, multiplied or divided by halves of them. */
static __device__ rn squared(const ellipsoid &e, rn x, rn y, rn z, bool multiply) {
  const rn cosine = {e.cosine}, sine = {e.sine};
  const rn along[3] = {cosine * x + sine * y, cosine * y - sine * x, z};
  rn sum = {0};
  for (int k = 0; k < 3; k++) {
    const rn axis = {e.axes[k]}, part = multiply ? along[k] * axis : along[k] / axis;
    sum = sum + part * part;
  }
  return sum;
}

static __device__ double head_at(rn x, rn y, rn z) {
  rn sum = {0};
  for (int i = 0; i < ELLIPSOIDS; i++) {
    const ellipsoid &e = head[i];
    const rn adds = {e.adds};
    if (squared(e, x - rn{e.middle[0]}, y - rn{e.middle[1]}, z - rn{e.middle[2]}, false).v <= 1) {
      sum = sum + adds;
    }
  }
  return sum.v;
}

/* (sin K - K cos K) / K^3, where K is a number of turns. */
static __device__ rn ball(double turns) {
  const rn K = rn{turns} * rn{6.283185307179586}, K2 = K * K;
  double sine, cosine;
  if (turns < 0.02) {
    return rn{1. / 3} - K2 * (rn{1. / 30} - K2 * (rn{1. / 840} - K2 * rn{1. / 45360}));
  }
  turn(turns, sine, cosine);
  return (rn{sine} - K * rn{cosine}) / (K2 * K);
}

/* The Fourier transform at k, in cycles per half of the box. That of a box full of ones is 1 at 0. */
static __device__ void head_transform(rn x, rn y, rn z, double &real, double &imag) {
  rn sums[2] = {{0}, {0}};
  for (int i = 0; i < ELLIPSOIDS; i++) {
    const ellipsoid &e = head[i];
    const rn K2 = squared(e, x, y, z, true);
    const rn volume = rn{e.adds} * rn{e.axes[0]} * rn{e.axes[1]} * rn{e.axes[2]};
    const rn size = volume * rn{1.5707963267948966} * ball(__dsqrt_rn(K2.v)); /* 4 pi / 8 */
    const rn phase = x * rn{e.middle[0]} + y * rn{e.middle[1]} + z * rn{e.middle[2]};
    double sine, cosine;
    turn(wrapped(phase.v), sine, cosine);
    sums[0] = sums[0] + size * rn{cosine};
    sums[1] = sums[1] - size * rn{sine};
  }
  real = sums[0].v;
  imag = sums[1].v;
}

/* ---- images -------------------------------------------------------------------------------- */

struct pixel {
  u64 x, y, z, channel;
};

/* A share s of t between the darkest and the brightest value. */
static __device__ u64 shade(const generating &f, u64 s, u64 t) {
  const double least = f.g.numbers[GEN_IMAGE_LEAST], most = f.g.numbers[GEN_IMAGE_MOST];
  if (!is_float(f.type)) {
    const u64 span = (u64)(i64)(most - least);
    return (u64)(i64)least + (t ? span * s / t : 0);
  }
  const double share = t ? __ddiv_rn((double)s, (double)t) : 0;
  return float_bits(f.type, __fma_rn(__dsub_rn(most, least), share, least));
}

static __device__ u64 noise(const generating &f, u64 bits) {
  const double least = f.g.numbers[GEN_IMAGE_LEAST], most = f.g.numbers[GEN_IMAGE_MOST];
  return is_float(f.type) ? float_bits(f.type, __fma_rn(__dsub_rn(most, least), unit(bits), least))
                          : (u64)(i64)least + __umul64hi(bits, (u64)(i64)(most - least) + 1);
}

/* The middle of a pixel, from -1 to 1. */
static __device__ rn middle_of(u64 i, double n) {
  return rn{(double)(2 * i + 1)} / rn{n} - rn{1};
}

static __device__ u64 phantom(const generating &f, const pixel &p) {
  const double *g = f.g.numbers;
  const rn least = {g[GEN_IMAGE_LEAST]}, most = {g[GEN_IMAGE_MOST]};
  const rn at = {head_at(middle_of(p.x, g[GEN_IMAGE_WIDTH]), middle_of(p.y, g[GEN_IMAGE_HEIGHT]),
                         middle_of(p.z, g[GEN_IMAGE_DEPTH]))};
  const double v = (least + (most - least) * at).v;
  return is_float(f.type) ? float_bits(f.type, v) : (u64)__double2ll_rn(v);
}

static __device__ u64 image(const generating &f, u64 i) {
  const double *g = f.g.numbers;
  const u64 width = (u64)g[GEN_IMAGE_WIDTH], height = (u64)g[GEN_IMAGE_HEIGHT],
            depth = (u64)g[GEN_IMAGE_DEPTH], channels = (u64)g[GEN_IMAGE_CHANNELS],
            pitch = (u64)g[GEN_IMAGE_PITCH], cell = (u64)g[GEN_IMAGE_CELL];
  const u64 row = i / pitch, column = i % pitch;
  const pixel p = {column / channels, row % height, row / height, column % channels};
  if (p.x >= width || p.z >= depth) {
    return ~0ull; /* between the rows: NaN */
  }
  const u64 far = width + height + depth - 3, near = p.x + p.y + p.z;
  const bool middle = p.x == width / 2 && p.y == height / 2 && p.z == depth / 2;
  switch (f.g.pattern) {
  case GEN_IMAGE_NOISE:
    return noise(f, random_bits(f.seed, (row * width + p.x) * channels + p.channel));
  case GEN_IMAGE_RAMP: return shade(f, p.channel % 2 ? far - near : near, far);
  case GEN_IMAGE_CHECKER:
    return shade(f, (p.x / cell + p.y / cell + p.z / cell + p.channel) % 2, 1);
  case GEN_IMAGE_PHANTOM: return phantom(f, p);
  default: return shade(f, middle, 1);
  }
}

/* ---- places -------------------------------------------------------------------------------- */

struct place {
  double v[4]; /* x, y, z in shares of the size, and a charge */
};

static __device__ u64 random_of(u64 seed, u64 record, u64 k) {
  return random_bits(seed + k * 0x632be59bd9b4e019ull, record);
}

static __device__ place uniform_place(const generating &f, u64 r) {
  place p = {};
  for (int k = 0; k < 3; k++) {
    p.v[k] = unit(random_of(f.seed, r, k));
  }
  return p;
}

static __device__ place cluster_place(const generating &f, u64 r) {
  const u64 which = __umul64hi(random_of(f.seed, r, 3), (u64)f.g.numbers[GEN_PLACE_CLUSTERS]);
  place p = {};
  for (int k = 0; k < 3; k++) {
    const double centre = unit(random_of(~f.seed, which, k));
    p.v[k] = wrapped(__fma_rn(f.g.numbers[GEN_PLACE_SPREAD],
                              random_normal(random_of(f.seed, 0, 4 + k), r), centre));
  }
  return p;
}

/* Molecules in a lattice of cells, each somewhere in the middle of its own and turned in one of 48
 * ways: an atom of oxygen and two of hydrogen, 0.0957 nm from it, 104.5 degrees apart.
 * src: Jorgensen et al., Comparison of simple potential functions for simulating liquid water,
 * J. Chem. Phys. 79, 1983 (TIP3P) */
static __device__ place water(const generating &f, u64 r, u64 n) {
  const double *g = f.g.numbers;
  const u64 molecule = r / 3, molecules = (n + 2) / 3, turned = random_of(f.seed, molecule, 3);
  const u64 cells[3] = {(u64)g[GEN_PLACE_CELLS], (u64)g[GEN_PLACE_CELLS + 1],
                        (u64)g[GEN_PLACE_CELLS + 2]};
  const u64 all = cells[0] * cells[1] * cells[2];
  const u64 cell = molecule * all / molecules;
  const u64 at[3] = {cell % cells[0], cell / cells[0] % cells[1], cell / cells[0] / cells[1]};
  const double bond[3] = {r % 3 == 1 ? 0.756950 : -0.756950, 0.585882, 0};
  place p = {};
  for (int k = 0; k < 3; k++) {
    const double moved = __fma_rn(0.5, unit(random_of(f.seed, molecule, k)), 0.25);
    p.v[k] = __ddiv_rn(__dadd_rn((double)at[k], moved), (double)cells[k]);
    if (r % 3) {
      const double along = bond[(turned % 3 + (turned >> 8 & 1 ? 3 - k : k)) % 3];
      const double by = turned >> (16 + k) & 1 ? -along : along;
      p.v[k] = wrapped(__dadd_rn(p.v[k], __ddiv_rn(by, g[GEN_PLACE_SIZE + k])));
    }
  }
  p.v[3] = r % 3 ? 0.417 : -0.834;
  return p;
}

/* ---- paths --------------------------------------------------------------------------------- */

__device__ constexpr double GOLDEN = 0.6180339887498949;

/* Straight lines through the middle, each turned by the golden angle against the one before. */
static __device__ place radial(const generating &f, u64 line, u64 lines, double along) {
  place p = {};
  double sine, cosine, plane = 1;
  const bool flat = f.g.numbers[GEN_PLACE_DIMS] == 2;
  const double up = flat ? 0 : __ddiv_rn((double)line + 0.5, (double)lines);
  plane = flat ? 1 : __dsqrt_rn(__fma_rn(-up, up, 1.0));
  turn(wrapped(__dmul_rn((double)line, flat ? GOLDEN / 2 : GOLDEN)), sine, cosine);
  const double u = __dsub_rn(along, 0.5);
  p.v[0] = __dmul_rn(u, __dmul_rn(plane, cosine));
  p.v[1] = __dmul_rn(u, __dmul_rn(plane, sine));
  p.v[2] = __dmul_rn(u, up);
  return p;
}

/* Spirals from the middle; in three dimensions one in each plane. */
static __device__ place spiral(const generating &f, u64 line, u64 lines, double along) {
  place p = {};
  double sine, cosine;
  const bool flat = f.g.numbers[GEN_PLACE_DIMS] == 2;
  const double first =
      flat ? __ddiv_rn((double)line, (double)lines) : wrapped(__dmul_rn((double)line, GOLDEN));
  turn(wrapped(__fma_rn(f.g.numbers[GEN_PLACE_TURNS], along, first)), sine, cosine);
  p.v[0] = __dmul_rn(__dmul_rn(0.5, along), cosine);
  p.v[1] = __dmul_rn(__dmul_rn(0.5, along), sine);
  p.v[2] = flat ? 0 : __dsub_rn(__ddiv_rn((double)line + 0.5, (double)lines), 0.5);
  return p;
}

static __device__ place sample(const generating &f, u64 r, u64 n) {
  const u64 lines = (u64)f.g.numbers[GEN_PLACE_LINES], per = (n + lines - 1) / lines;
  const double along = __ddiv_rn((double)(r % per) + 0.5, (double)per);
  if (f.g.pattern == GEN_KSPACE_RADIAL) {
    return radial(f, r / per, lines, along);
  }
  if (f.g.pattern == GEN_KSPACE_SPIRAL) {
    return spiral(f, r / per, lines, along);
  }
  place p = uniform_place(f, r);
  for (int k = 0; k < 3; k++) {
    p.v[k] = __dsub_rn(p.v[k], 0.5);
  }
  return p;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static __device__ place place_of(const generating &f, u64 r, u64 n) {
  switch (f.g.pattern) {
  case GEN_POINTS_UNIFORM: return uniform_place(f, r);
  case GEN_POINTS_CLUSTER: return cluster_place(f, r);
  case GEN_POINTS_EQUAL: return place{{0.375, 0.375, 0.375, 0}};
  case GEN_ATOMS_WATER: return water(f, r, n);
  default: return sample(f, r, n);
  }
}

/* Of the phantom in a box of side 1 around 0: k is in cycles per side. */
static __device__ double transform(const generating &f, const place &p, bool imag) {
  rn k[3];
  double out[2];
  for (int i = 0; i < 3; i++) {
    k[i] = rn{p.v[i]} * rn{f.g.numbers[GEN_PLACE_SIZE + i]} * rn{0.5};
  }
  head_transform(k[0], k[1], k[2], out[0], out[1]);
  return out[imag];
}

/* A coordinate of 0 or more stays below the size when it is rounded to 32 bits. */
static __device__ u64 part(const generating &f, u64 i, u64 n) {
  const int which = f.g.parts[i % f.n_parts], k = which == 'q' ? 3 : which - 'x';
  const place p = place_of(f, i / f.n_parts, n / f.n_parts);
  if (which == 'r' || which == 'i') {
    return float_bits(f.type, transform(f, p, which == 'i'));
  }
  const double below = 1 - 0x1p-22;
  const bool flat = k == 2 && f.g.numbers[GEN_PLACE_DIMS] == 2;
  return float_bits(f.type,
                    k == 3 ? p.v[3]
                    : flat ? 0
                           : __dmul_rn(p.v[k], __dmul_rn(below, f.g.numbers[GEN_PLACE_SIZE + k])));
}

extern "C" __global__ void generate(void *out, u64 n, generating f) {
  for (u64 i = thread_id(); i < n; i += n_threads()) {
    store(f.type, out, i, f.g.pattern < GEN_POINTS_UNIFORM ? image(f, i) : part(f, i, n));
  }
}
