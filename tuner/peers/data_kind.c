#include "data_kind.h"

#include <math.h>
#include <string.h>

const char *const data_kind_names[] = {"uniform", "equal",  "sorted", "reversed", "few",
                                       "small",   "nearly", "zipf",   NULL};
enum { UNIFORM, EQUAL, SORTED, REVERSED, FEW, SMALL, NEARLY, ZIPF, KINDS };

enum { FEW_VALUES = 16, SMALL_SHARE = 1024, ONE_IN = 64 };
static const double ZIPF_RANKS = 1 << 20;

static int kind_of(const char *name) {
  int i = 0;
  while (data_kind_names[i] && strcmp(data_kind_names[i], name)) {
    i++;
  }
  return i;
}

/* src: Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014 */
static double unit(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Where in the range the element lies, 0 to 1.
 *   in  r   random, 0 to 1; of data that ascend its place
 *       at  its place, 0 to 1
 *       s   for further random numbers */
static double place(int kind, double r, double at, uint64_t *s) {
  switch (kind) {
  case EQUAL: return 0.375;
  case SORTED: return at;
  case REVERSED: return 1 - at;
  case FEW: return floor(r * FEW_VALUES) / FEW_VALUES;
  case SMALL: return r / SMALL_SHARE;
  case NEARLY: return unit(s) < 1.0 / ONE_IN ? r : at;
  case ZIPF: return (floor(exp(r * log(ZIPF_RANKS))) - 1) / ZIPF_RANKS;
  default: return r;
  }
}

/* Bits whose order as keys is that of u. */
static uint64_t key_bits(dtype t, double u) {
  const unsigned bits = 8 * (unsigned)dtype_nbytes(t);
  const uint64_t top = UINT64_C(1) << (bits - 1), all = top | (top - 1);
  const uint64_t x = (uint64_t)(u * 0x1p53) << 11 >> (64 - bits);
  if (dtype_is_float(t)) {
    return x & top ? x ^ top : ~x & all;
  }
  return dtype_is_signed(t) ? x ^ top : x;
}

static uint64_t number_bits(const gen_datum *m, double u) {
  if (dtype_is_float(m->type)) {
    return dtype_encode(m->type, m->a + u * (m->b - m->a));
  }
  const double v = floor(m->a + u * (m->b - m->a + 1));
  return dtype_encode(m->type, v < m->b ? v : m->b);
}

bool data_kind_applies(const char *kind, const gen_datum *m) {
  const int k = kind_of(kind);
  return k != UNIFORM && k < KINDS &&
         (m->fill == GEN_FILL_UNIFORM || m->fill == GEN_FILL_BITS || m->fill == GEN_FILL_SORTED);
}

bool data_kind_fill(const char *kind, const gen_datum *m, uint64_t seed, unsigned char *bytes) {
  const size_t size = dtype_nbytes(m->type);
  const bool ascends = m->fill == GEN_FILL_SORTED;
  int k = kind_of(kind);
  if (!data_kind_applies(kind, m)) {
    return false;
  }
  k = ascends && (k == REVERSED || k == NEARLY) ? SORTED : k;
  for (uint64_t i = 0; i < m->count; i++) {
    const double at = ((double)i + 0.5) / (double)m->count, r = unit(&seed);
    const double u = place(k, ascends ? at : r, at, &seed);
    const uint64_t bits = m->fill == GEN_FILL_BITS ? key_bits(m->type, u) : number_bits(m, u);
    memcpy(bytes + i * size, &bits, size);
  }
  return true;
}
