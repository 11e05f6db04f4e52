/* npp_calls.c -- the peer calls NPP as the template's arguments say. The libraries are
 * tests/fixtures/fakes/fake_npp.c; "device" buffers are on the host. */
#define _GNU_SOURCE
#include "peer_fixture.h"

static void call(bed *b, const peer_kind *k) {
  peer it;
  err e = {0};
  assert_ok(peer_open(k, b->t, &b->p, b->d, &it, &e), &e);
  assert_memory_equal(it.version, "NPP 13.0.3", 10);
  assert_ok(it.contender.launch(it.contender.self, NULL, b->args, &e), &e);
  peer_close(&it);
}

static const uint8_t *bytes(const bed *b, const char *name) {
  return (const uint8_t *)(uintptr_t)value(b, name);
}

static unsigned hundredths(const uint8_t *p) {
  return 21u * p[0] + 72u * p[1] + 7u * p[2];
}

TEST(rgb_to_grey) {
  static const char *const problems[] = {"width=37 height=5", "width=20 height=3 channels=4"};
  for (size_t i = 0; i < 2; i++) {
    bed b;
    lay(&b, "rgb_to_grey", problems[i]);
    call(&b, &peer_npp);
    const int64_t channels = peer_number(b.t, &b.p, "channels", 0);
    for (int64_t y = 0; y < (int32_t)value(&b, "height"); y++) {
      for (int64_t x = 0; x < (int32_t)value(&b, "width"); x++) {
        const uint8_t *p = bytes(&b, "src") + y * value(&b, "src_pitch") + x * channels;
        assert_int_equal(bytes(&b, "dst")[y * value(&b, "dst_pitch") + x], hundredths(p) / 100);
      }
    }
    clear(&b);
  }
}

/* The mean of the pixels around (x, y), with those at the border repeated beyond it. */
static double mean(const bed *b, int64_t x, int64_t y, bool is_float) {
  const int64_t radius = peer_number(b->t, &b->p, "radius", 0), side = 2 * radius + 1;
  const int64_t width = (int32_t)value(b, "width"), height = (int32_t)value(b, "height");
  double sum = 0;
  for (int64_t j = y - radius; j <= y + radius; j++) {
    for (int64_t i = x - radius; i <= x + radius; i++) {
      const int64_t u = i < 0 ? 0 : i < width ? i : width - 1;
      const int64_t v = j < 0 ? 0 : j < height ? j : height - 1;
      const uint8_t *p = bytes(b, "src") + (v * value(b, "src_pitch") + u) * (is_float ? 4 : 1);
      sum += is_float ? *(const float *)(const void *)p : *p;
    }
  }
  return sum / (double)(side * side);
}

TEST(box_blur) {
  static const char *const problems[] = {"width=17 height=7 radius=2 border=replicate",
                                         "width=9 height=5 radius=1 border=replicate dtype=f32"};
  for (size_t i = 0; i < 4; i++) {
    bed b;
    lay(&b, "box_blur", problems[i % 2]);
    call(&b, i < 2 ? &peer_npp : &peer_npp_advanced);
    for (int64_t y = 0; y < (int32_t)value(&b, "height"); y++) {
      for (int64_t x = 0; x < (int32_t)value(&b, "width"); x++) {
        const int64_t at = y * value(&b, "dst_pitch") + x;
        if (i % 2) {
          assert_true(((const float *)(const void *)bytes(&b, "dst"))[at] ==
                      (float)mean(&b, x, y, true));
        } else {
          assert_int_equal(bytes(&b, "dst")[at], (int)mean(&b, x, y, false));
        }
      }
    }
    clear(&b);
  }
}

/* The result of the pixel of x at a column and row. */
static double filtered(const bed *b, int64_t column, int64_t row) {
  const int64_t rx = peer_number(b->t, &b->p, "rx", 0), ry = peer_number(b->t, &b->p, "ry", 0);
  const int64_t nx = (int32_t)value(b, "nx"), ny = (int32_t)value(b, "ny");
  double sum = 0;
  for (int64_t j = -ry; j <= ry; j++) {
    for (int64_t i = -rx; i <= rx; i++) {
      const int64_t u = column + i < 0 ? 0 : column + i < nx ? column + i : nx - 1;
      const int64_t v = row + j < 0 ? 0 : row + j < ny ? row + j : ny - 1;
      sum += (double)number(b, "f", (j + ry) * (2 * rx + 1) + i + rx) *
             number(b, "x", v * value(b, "ldx") + u);
    }
  }
  return sum;
}

TEST(conv2d) {
  static const char *const problems[] = {"nx=9 ny=6 rx=2 ry=1 border=replicate",
                                         "nx=9 ny=6 rx=2 ry=1 border=valid"};
  for (size_t i = 0; i < 2; i++) {
    bed b;
    lay(&b, "conv2d", problems[i]);
    call(&b, &peer_npp);
    const int64_t skip_x = i == 1 ? 2 : 0, skip_y = i == 1 ? 1 : 0;
    for (int64_t y = 0; y < 6 - 2 * skip_y; y++) {
      for (int64_t x = 0; x < 9 - 2 * skip_x; x++) {
        assert_true(number(&b, "y", y * value(&b, "ldy") + x) ==
                    (float)filtered(&b, x + skip_x, y + skip_y));
      }
    }
    clear(&b);
  }
}

TEST(what_it_can_not_do_is_said) {
  bed b;
  peer it;
  size_t src;
  err e = {0};
  lay(&b, "rgb_to_grey", "width=20 height=3 channels=4");
  assert_ok(peer_argument(b.t, "src", &src, &e), &e);
  b.values[src] += 2;
  assert_ok(peer_open(&peer_npp, b.t, &b.p, b.d, &it, &e), &e);
  assert_fails(it.contender.launch(it.contender.self, NULL, b.args, &e), &e, ERR_USAGE,
               "multiple of 4");
  peer_close(&it);
  clear(&b);
  lay(&b, "box_blur", "width=9 height=9 border=mirror");
  assert_fails(peer_open(&peer_npp, b.t, &b.p, b.d, &it, &e), &e, ERR_USAGE, "border=mirror");
  peer_close(&it);
  clear(&b);
}

int main(void) {
  return tests_run();
}
