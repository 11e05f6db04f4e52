/* expression_math.h -- the helpers of templates' expressions, for expressions written as C:
 * integers of 64 bits, as in Lua. Typed calls include it, and exported portfolios contain its
 * text. */
#ifndef EXPRESSION_MATH_H
#define EXPRESSION_MATH_H

#include <stdbool.h>
#include <stdint.h>

static inline int64_t tuned_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t tuned_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}
static inline int64_t tuned_abs(int64_t a) {
  return a < 0 ? -a : a;
}
static inline int64_t tuned_ceildiv(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}
static inline int64_t tuned_roundup(int64_t a, int64_t b) {
  return tuned_ceildiv(a, b) * b;
}
static inline bool tuned_ispow2(int64_t a) {
  return a > 0 && (a & (a - 1)) == 0;
}
static inline int64_t tuned_log2(int64_t a) {
#ifdef __GNUC__
  return a > 0 ? 63 - __builtin_clzll((uint64_t)a) : 0;
#else
  int64_t n = 0;
  for (; a > 1; a /= 2) {
    n++;
  }
  return n;
#endif
}

/* the largest power of two that divides a and is at most `most` */
static inline int64_t tuned_pow2div(int64_t a, int64_t most) {
  const int64_t top = INT64_C(1) << tuned_log2(most), bits = a | top;
  return bits & -bits;
}

#endif
