/* test_grey_levels.c -- what rgb_to_grey computes with whole numbers, in hundredths or with weights
 * of 16 bits, are the levels of double precision for all colours. */
#define _GNU_SOURCE
#include "check.h"

#include <math.h>
#include <string.h>

#include "gen.h"

/* What the device code says, of which the functions below are copies. */
static const char *const texts[] = {
    "colour<0>(pixel) * 13763 + colour<1>(pixel) * 47186 + colour<2>(pixel) * 4588 + HALF",
    "HALF = ROUND == ROUND_nearest ? 1u << 15 : 0",
    "21 | 72 << 8 | 7 << 16, HALF = ROUND == ROUND_nearest ? 50 : 0",
    "OF_COLOURS, HALF) * 167773u",
    "ARITH == ARITH_hundredths ? 3 : ARITH == ARITH_fixed ? 2 : 0",
    "0x1p-20 + (ROUND == ROUND_nearest ? 0.5 : 0.0)",
};

TEST(the_device_computes_so) {
  const char *text = NULL;
  for (const gen_file *f = gen_builtin; f->name; f++) {
    text = strcmp(f->name, "rgb_to_grey_level.cuh") ? text : f->text;
  }
  assert_non_null(text);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    assert_non_null(strstr(text, texts[i]));
  }
}

/* Of all colours, those whose levels differ between the hundredths' quotient and the two products. */
static unsigned count_wrong(bool nearest) {
  const unsigned half = nearest ? 50 : 0, half16 = nearest ? 1u << 15 : 0;
  unsigned wrong = 0;
  for (unsigned r = 0; r < 256; r++) {
    for (unsigned g = 0; g < 256; g++) {
      const unsigned hundredths = 21 * r + 72 * g + half, fixed = 13763 * r + 47186 * g + half16;
      for (unsigned b = 0; b < 256; b++) {
        const unsigned sum = hundredths + 7 * b, level = sum / 100;
        wrong += (sum * 167773u >> 24 != level) | ((fixed + 4588 * b) >> 16 != level);
      }
    }
  }
  return wrong;
}

/* The same of double precision, at sums beside a step; others are further from it than rounding
 * reaches. */
static unsigned count_wrong_doubles(bool nearest) {
  const double slack = 0x1p-20 + (nearest ? 0.5 : 0);
  const unsigned half = nearest ? 50 : 0;
  unsigned wrong = 0;
  for (unsigned i = 0; i < 1u << 24; i++) {
    const unsigned r = i >> 16, g = i >> 8 & 255, b = i & 255, sum = 21 * r + 72 * g + 7 * b + half;
    if ((sum + 1) % 100 < 2) {
      wrong += (unsigned)fma(0.07, b, fma(0.72, g, fma(0.21, r, slack))) != sum / 100;
    }
  }
  return wrong;
}

TEST(levels_are_equal_for_all_colours) {
  assert_int_equal(count_wrong(false), 0);
  assert_int_equal(count_wrong(true), 0);
  assert_int_equal(count_wrong_doubles(false), 0);
  assert_int_equal(count_wrong_doubles(true), 0);
}

int main(void) {
  return tests_run();
}
