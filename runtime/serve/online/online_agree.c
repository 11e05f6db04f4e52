#include "online_agree.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Single precision is the common case, and the caller waits: it takes a tenth of the time of the
 * general one. */
static bool agree_f32(const gen_datum *d, const float *x, const float *ref, size_t count) {
  float most = 0;
  for (size_t i = 0; i < count; i++) {
    const float v = fabsf(ref[i]);
    most = v > most && v <= FLT_MAX ? v : most;
  }
  const double absolute = 2 * d->tolerance_abs * (double)most;
  const double relative = 2 * d->tolerance_rel;
  size_t off = 0;
  for (size_t i = 0; i < count; i++) {
    const double a = (double)x[i], b = (double)ref[i];
    const bool same = a == b || (a != a && b != b);
    off += !(same | (fabs(a - b) <= absolute + relative * fabs(b)));
  }
  return !off;
}

static double value_at(dtype type, const unsigned char *p, size_t i) {
  const size_t n = dtype_nbytes(type);
  uint64_t bits = 0;
  memcpy(&bits, p + n * i, n);
  return dtype_decode(type, bits);
}

static double largest(dtype type, const unsigned char *p, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; i++) {
    const double v = fabs(value_at(type, p, i));
    most = v > most && isfinite(v) ? v : most;
  }
  return most;
}

/* Both are results of kernels, so that their errors add. */
static bool agree_together(const gen_datum *d, const unsigned char *x, const unsigned char *ref) {
  double diff2 = 0, ref2 = 0;
  for (size_t i = 0; i < d->count; i++) {
    const double a = value_at(d->type, x, i), b = value_at(d->type, ref, i);
    const bool same = a == b || (isnan(a) && isnan(b));
    diff2 += same ? 0 : (a - b) * (a - b);
    ref2 += isfinite(b) ? b * b : 0;
  }
  const double peak = d->tolerance_abs > 0 ? d->tolerance_abs : largest(d->type, ref, d->count);
  const double allowed = d->error == GEN_ERROR_NORM2
                             ? d->tolerance_rel * sqrt(ref2)
                             : peak / pow(10, d->tolerance_rel / 20) * sqrt((double)d->count);
  return sqrt(diff2) <= 2 * allowed;
}

static bool agree_each(const gen_datum *d, const unsigned char *x, const unsigned char *ref) {
  const double absolute = 2 * d->tolerance_abs * largest(d->type, ref, d->count);
  for (size_t i = 0; i < d->count; i++) {
    const double a = value_at(d->type, x, i), b = value_at(d->type, ref, i);
    const bool same = a == b || (isnan(a) && isnan(b));
    if (!same && !(fabs(a - b) <= absolute + 2 * d->tolerance_rel * fabs(b))) {
      return false;
    }
  }
  return true;
}

/* Without the reference's bounds: the largest result stands for each. */
static gen_datum without_bound(const gen_datum *d) {
  gen_datum out = *d;
  if (d->error == GEN_ERROR_BOUND) {
    out.error = GEN_ERROR_ELEMENT;
    out.tolerance_abs = d->tolerance_abs + d->tolerance_rel;
    out.tolerance_rel = 0;
  }
  return out;
}

bool online_agree(const gen_datum *of, const unsigned char *x, const unsigned char *ref) {
  const gen_datum d = without_bound(of);
  const void *a = x, *b = ref;
  return !memcmp(x, ref, d.count * dtype_nbytes(d.type)) ||
         (gen_error_is_sum(d.error) ? agree_together(&d, x, ref)
          : d.type == DTYPE_f32     ? agree_f32(&d, a, b, d.count)
                                    : agree_each(&d, x, ref));
}
