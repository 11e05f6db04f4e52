/* fill_check.cu -- the runtime's own kernels: they fill test data and check results.
 *
 * Compiled once per device. The host prepends one `#define DTYPE_name number` per element type and
 * the GEN_FILL_ kinds. No header is needed: 16-bit floats are handled as bits.
 *
 * Fills depend on seed and index alone and use only integers and single roundings, so that a GPU and
 * the emulator write the same bytes.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

__device__ constexpr u64 NONE = ~0ull;

static __device__ u64 thread_id() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ u64 n_threads() { return (u64)gridDim.x * blockDim.x; }

/* ---- one instruction each ------------------------------------------------------------------ */

/* PTX ISA, "Data Movement and Conversion Instructions: cvt" */
static __device__ float float_of_half(u16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
static __device__ u16 half_of_float(float value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

/* ---- elements of any type ------------------------------------------------------------------ */

static __device__ bool is_float(int type) {
  return type == DTYPE_f16 || type == DTYPE_bf16 || type == DTYPE_f32 || type == DTYPE_f64;
}

static __device__ bool is_signed(int type) {
  return type == DTYPE_i8 || type == DTYPE_i16 || type == DTYPE_i32 || type == DTYPE_i64;
}

static __device__ int log2_size(int type) {
  switch (type) {
  case DTYPE_i8: case DTYPE_u8: return 0;
  case DTYPE_i16: case DTYPE_u16: case DTYPE_f16: case DTYPE_bf16: return 1;
  case DTYPE_i32: case DTYPE_u32: case DTYPE_f32: return 2;
  default: return 3;
  }
}

static __device__ u64 load(int type, const void *p, u64 i) {
  switch (log2_size(type)) {
  case 0: return ((const u8 *)p)[i];
  case 1: return ((const u16 *)p)[i];
  case 2: return ((const u32 *)p)[i];
  default: return ((const u64 *)p)[i];
  }
}

static __device__ void store(int type, void *p, u64 i, u64 bits) {
  switch (log2_size(type)) {
  case 0: ((u8 *)p)[i] = (u8)bits; break;
  case 1: ((u16 *)p)[i] = (u16)bits; break;
  case 2: ((u32 *)p)[i] = (u32)bits; break;
  default: ((u64 *)p)[i] = bits; break;
  }
}

static __device__ double float_value(int type, u64 bits) {
  switch (type) {
  case DTYPE_f16: return float_of_half((u16)bits);
  case DTYPE_bf16: return __uint_as_float((u32)bits << 16);
  case DTYPE_f32: return __uint_as_float((u32)bits);
  default: return __longlong_as_double((i64)bits);
  }
}

/* Round to nearest even; a fill's values are ordinary numbers. */
static __device__ u64 float_bits(int type, double value) {
  u32 single = __float_as_uint((float)value);
  switch (type) {
  case DTYPE_f16: return half_of_float((float)value);
  case DTYPE_bf16: return (single + 0x7fff + (single >> 16 & 1)) >> 16;
  case DTYPE_f32: return single;
  default: return (u64)__double_as_longlong(value);
  }
}

static __device__ i64 signed_value(int type, u64 bits) {
  int unused = 64 - (8 << log2_size(type));
  return (i64)(bits << unused) >> unused;
}

/* ---- filling ------------------------------------------------------------------------------- */

/* The finalizer of SplitMix64 over a Weyl sequence: Steele, Lea, Flood, "Fast splittable
 * pseudorandom number generators", OOPSLA 2014. */
static __device__ u64 random_bits(u64 seed, u64 i) {
  u64 z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

/* In [0, 1), 53 bits. */
static __device__ double unit(u64 bits) {
  return (double)(bits >> 11) * 0x1p-53;
}

/* The sum of twelve uniform numbers less six: mean 0, variance 1, bell-shaped up to 6 deviations.
 * Twelve numbers of 32 bits, summed as whole numbers: no rounding before the last step. */
static __device__ double random_normal(u64 seed, u64 i) {
  u64 sum = 0;
  for (int k = 0; k < 6; k++) {
    u64 z = random_bits(seed + k * 0x632be59bd9b4e019ull, i);
    sum += (z & 0xffffffff) + (z >> 32);
  }
  return (double)sum * 0x1p-32 - 6.0;
}

/* The i-th of n ascending numbers, distributed like sorted uniform ones. Bisects the indices from..to-1
 * until one is left: the value that divides c of them lies in the middle of their range, with the
 * standard deviation of the median of c uniform numbers, 1 / (2 sqrt(c)). */
static __device__ u64 random_sorted(u64 seed, u64 i, u64 n) {
  u64 from = 0, to = n, least = 0, most = ~0ull;
  while (to - from > 1) {
    u64 middle = from + (to - from) / 2, r = random_bits(seed, middle);
    double triangle = (double)((r & 0xffffffff) + (r >> 32)) * 0x1p-32 - 1.0;
    double reach = fmin(1.2247 / sqrt((double)(to - from)), 0.45);
    double part = __fma_rn(triangle, reach, 0.5);
    u64 value = least + __umul64hi(most - least, (u64)(part * 0x1p63) * 2);
    (i < middle ? to : from) = middle;
    (i < middle ? most : least) = value;
  }
  return least + __umul64hi(most - least, random_bits(~seed, i));
}

struct filling {
  int type, kind;
  u64 bits;      /* constant: the element; uniform, sorted integers: the least value; ramp: the first */
  u64 span;      /* of such integers: how many values, 0 for all 2^64; bits: words; ramp: step */
  double offset; /* floats, and normal integers: value = offset + scale * random, or index */
  double scale;
  u64 seed;
};

/* Each bit is 1 with a probability of 2^-words: fewer and fewer distinct keys. Thearling and Smith,
 * "An improved supercomputer sorting benchmark", Supercomputing 1992. */
static __device__ u64 random_and(u64 seed, u64 words, u64 i) {
  u64 bits = ~0ull;
  for (u64 k = 0; k < words; k++) {
    bits &= random_bits(seed + k * 0x632be59bd9b4e019ull, i);
  }
  return bits;
}

static __device__ u64 element(const filling &f, u64 i, u64 n) {
  if (f.kind == GEN_FILL_CONSTANT) {
    return f.bits;
  }
  if (f.kind == GEN_FILL_BITS) {
    return random_and(f.seed, f.span, i);
  }
  if (f.kind == GEN_FILL_RAMP) {
    return is_float(f.type) ? float_bits(f.type, __fma_rn(f.scale, (double)i, f.offset))
                            : f.bits + i * f.span;
  }
  double r;
  if (f.kind == GEN_FILL_NORMAL) {
    r = random_normal(f.seed, i);
  } else {
    u64 bits = f.kind == GEN_FILL_SORTED ? random_sorted(f.seed, i, n) : random_bits(f.seed, i);
    if (!is_float(f.type)) {
      return f.bits + (f.span ? __umul64hi(bits, f.span) : bits);
    }
    r = unit(bits);
  }
  double value = __fma_rn(f.scale, r, f.offset);
  return is_float(f.type) ? float_bits(f.type, value) : (u64)__double2ll_rn(value);
}

extern "C" __global__ void fill(void *out, u64 n, filling f) {
  for (u64 i = thread_id(); i < n; i += n_threads()) {
    store(f.type, out, i, element(f, i, n));
  }
}

/* ---- checking ------------------------------------------------------------------------------- */

struct finding {
  u64 n;           /* how many are wrong */
  u64 first, last; /* their indices; NONE and 0 when none is */
  u64 worst;       /* the largest error, as the bits of a double that is not negative */
};

/* Every thread of a block must call this. */
static __device__ void report(finding *out, finding mine) {
  __shared__ finding all;
  if (threadIdx.x == 0) {
    all = finding{0, NONE, 0, 0};
  }
  __syncthreads();
  if (mine.n) {
    atomicAdd(&all.n, mine.n);
    atomicMin(&all.first, mine.first);
    atomicMax(&all.last, mine.last);
  }
  if (mine.worst) {
    atomicMax(&all.worst, mine.worst);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&out->n, all.n);
    atomicMin(&out->first, all.first);
    atomicMax(&out->last, all.last);
    atomicMax(&out->worst, all.worst);
  }
}

static __device__ void note(finding &f, u64 i) {
  f.n++;
  f.first = i < f.first ? i : f.first;
  f.last = i > f.last ? i : f.last;
}

/* |x - y| of two integers of the same type, exact before it becomes a double. */
static __device__ double integer_distance(int type, u64 x, u64 y) {
  bool less = is_signed(type) ? signed_value(type, x) < signed_value(type, y) : x < y;
  u64 d = is_signed(type) ? (u64)signed_value(type, x) - (u64)signed_value(type, y) : x - y;
  return (double)(less ? 0 - d : d);
}

static __device__ double magnitude(int type, u64 bits) {
  return is_float(type) ? fabs(float_value(type, bits))
         : is_signed(type) ? fabs((double)signed_value(type, bits))
                           : (double)bits;
}

static __device__ double distance(int type, u64 x, u64 y) {
  return is_float(type) ? fabs(float_value(type, x) - float_value(type, y))
                        : integer_distance(type, x, y);
}

/* |x - ref| in units of the tolerance, whose relative part is of `scale`, |ref| or a bound. Equal
 * bits are right; a NaN is right only where the reference is NaN, an infinity only where the
 * reference is the same one. Nothing is right where a finite reference has no finite bound. */
static __device__ double error_of(int type, u64 x, u64 ref, double tolerance_abs,
                                  double tolerance_rel, double scale) {
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  double m = magnitude(type, ref), d = distance(type, x, ref);
  if (m < infinity && !(scale >= 0 && scale < infinity)) {
    return infinity;
  }
  if (x == ref || d == 0) {
    return 0;
  }
  if (m != m) {
    return magnitude(type, x) != magnitude(type, x) ? 0 : infinity;
  }
  double allowed = tolerance_abs + tolerance_rel * scale;
  return d < infinity && allowed > 0 ? d / allowed : infinity;
}

/* An element that the reference left poisoned must stay poisoned. */
extern "C" __global__ void compare(const void *x, const void *ref, u64 n, int type,
                                   double tolerance_abs, double tolerance_rel, const void *bound,
                                   int bound_type, u64 poison, int poisoned, finding *out) {
  finding f = {0, NONE, 0, 0};
  for (u64 i = thread_id(); i < n; i += n_threads()) {
    u64 a = load(type, x, i), b = load(type, ref, i);
    bool touched = poisoned && b == poison && a != b;
    double scale = bound ? float_value(bound_type, load(bound_type, bound, i)) : magnitude(type, b);
    double error = error_of(type, a, b, tolerance_abs, tolerance_rel, scale);
    u64 bits = touched ? 0 : (u64)__double_as_longlong(error);
    f.worst = bits > f.worst ? bits : f.worst;
    if (touched || error > 1) {
      note(f, i);
    }
  }
  report(out, f);
}

struct sums { /* as a finding on the host */
  u64 n, first;      /* elements that are not numbers where the reference is one, or the reverse */
  double diff2, ref2; /* sums of squares of the others */
};

static __device__ void add_square(sums &s, double d, double m, u64 i) {
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  if (d < infinity && m < infinity) {
    s.diff2 += d * d;
    s.ref2 += m * m;
  } else {
    s.n++;
    s.first = i < s.first ? i : s.first;
  }
}

/* Sums of squares of the errors and of the reference. */
extern "C" __global__ void sum_errors(const void *x, const void *ref, u64 n, int type, u64 poison,
                                      int poisoned, sums *out) {
  __shared__ double diff2, ref2;
  sums mine = {0, NONE, 0, 0};
  if (threadIdx.x == 0) {
    diff2 = ref2 = 0;
  }
  __syncthreads();
  for (u64 i = thread_id(); i < n; i += n_threads()) {
    u64 a = load(type, x, i), b = load(type, ref, i);
    const double infinity = __longlong_as_double(0x7ff0000000000000ll);
    bool touched = poisoned && b == poison && a != b;
    double m = magnitude(type, b);
    if (a != b && !(m != m && magnitude(type, a) != magnitude(type, a) && !touched)) {
      add_square(mine, touched ? infinity : distance(type, a, b), m, i);
    } else if (m < infinity) {
      mine.ref2 += m * m;
    }
  }
  atomicAdd(&diff2, mine.diff2);
  atomicAdd(&ref2, mine.ref2);
  if (mine.n) {
    atomicAdd(&out->n, mine.n);
    atomicMin(&out->first, mine.first);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&out->diff2, diff2);
    atomicAdd(&out->ref2, ref2);
  }
}

/* splitmix64: two numbers that have little to do with the record's bytes, or with each other */
static __device__ void add_record(const u8 *p, u64 nbytes, u64 sign, u64 &a, u64 &b) {
  u64 h = 0x9e3779b97f4a7c15ull;
  for (u64 i = 0; i < nbytes; i++) {
    h = (h ^ p[i]) * 0xbf58476d1ce4e5b9ull;
    h ^= h >> 29;
  }
  h = (h ^ h >> 27) * 0x94d049bb133111ebull;
  a += sign * (h ^ h >> 31);
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
  b += sign * (h ^ h >> 32);
}

/* Sums over records, which come to 0 if the two arrays have the same ones in any order. */
extern "C" __global__ void sum_records(const u8 *x, const u8 *ref, u64 n, u64 nbytes,
                                       finding *out) {
  u64 a = 0, b = 0;
  for (u64 i = thread_id(); i < n; i += n_threads()) {
    add_record(x + i * nbytes, nbytes, 1, a, b);
    add_record(ref + i * nbytes, nbytes, ~0ull, a, b);
  }
  atomicAdd(&out->last, a);
  atomicAdd(&out->worst, b);
}

/* Find the bytes that differ. Eight at a time where both addresses are aligned to that. */
extern "C" __global__ void find_differences(const u8 *a, const u8 *b, u64 nbytes, finding *out) {
  finding f = {0, NONE, 0, 0};
  const u64 words = ((u64)a | (u64)b) % 8 ? 0 : nbytes / 8;
  for (u64 i = thread_id(); i < nbytes - 7 * words; i += n_threads()) {
    if (i >= words) {
      u64 at = words * 8 + (i - words);
      if (a[at] != b[at]) {
        note(f, at);
      }
    } else if (((const u64 *)a)[i] != ((const u64 *)b)[i]) {
      for (u64 at = i * 8; at < i * 8 + 8; at++) {
        if (a[at] != b[at]) {
          note(f, at);
        }
      }
    }
  }
  report(out, f);
}

struct zone {
  u64 at, nbytes;
};

/* One block per zone: find the bytes that are no longer `canary`. */
extern "C" __global__ void check_canaries(const zone *zones, u32 canary, finding *out) {
  finding f = {0, NONE, 0, 0};
  const u8 *p = (const u8 *)zones[blockIdx.x].at;
  for (u64 i = threadIdx.x; i < zones[blockIdx.x].nbytes; i += blockDim.x) {
    if (p[i] != canary) {
      note(f, i);
    }
  }
  report(&out[blockIdx.x], f);
}
