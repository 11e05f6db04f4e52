/* cudnn_calls.c -- the peer calls cuDNN as the template's arguments say. The library is
 * tests/fixtures/fakes/fake_cudnn.c; "device" buffers are on the host. */
#define _GNU_SOURCE
#include "peer_fixture.h"

/* Of border=zero; a line is an image of one row. */
static float define(const bed *b, int64_t column, int64_t row) {
  const int64_t rx = peer_number(b->t, &b->p, "rx", 0), ry = peer_number(b->t, &b->p, "ry", 0);
  const int64_t nx = peer_number(b->t, &b->p, "nx", 0), ny = peer_number(b->t, &b->p, "ny", 1);
  double sum = 0;
  for (int64_t j = -ry; j <= ry; j++) {
    for (int64_t i = -rx; i <= rx; i++) {
      const int64_t u = column + i, v = row + j;
      if (u >= 0 && u < nx && v >= 0 && v < ny) {
        sum += (double)number(b, "f", (j + ry) * (2 * rx + 1) + i + rx) *
               (double)number(b, "x", v * value_or(b, "ldx", nx) + u);
      }
    }
  }
  return (float)sum;
}

static void assert_convolves(const char *family, const char *problem, int64_t skip_x,
                             int64_t skip_y) {
  bed b;
  peer it;
  err e = {0};
  lay(&b, family, problem);
  assert_ok(peer_open(&peer_cudnn, b.t, &b.p, b.d, &it, &e), &e);
  assert_string_equal(it.version, "cuDNN 9.19.0");
  for (int turns = 0; turns < 2; turns++) {
    assert_ok(peer_turn(&peer_cudnn, b.t, &b.p, b.d, &it, &e), &e);
    assert_ok(it.contender.launch(it.contender.self, NULL, b.args, &e), &e);
    const int64_t nx = peer_number(b.t, &b.p, "nx", 0), ny = peer_number(b.t, &b.p, "ny", 1);
    for (int64_t y = 0; y < ny - 2 * skip_y; y++) {
      for (int64_t x = 0; x < nx - 2 * skip_x; x++) {
        assert_true(number(&b, "y", y * value_or(&b, "ldy", nx) + x) ==
                    define(&b, x + skip_x, y + skip_y));
      }
    }
  }
  peer_close(&it);
  clear(&b);
}

TEST(conv1d) {
  assert_convolves("conv1d", "nx=23 rx=3", 0, 0);
  assert_convolves("conv1d", "nx=23 rx=3 border=valid", 3, 0);
}

TEST(conv2d) {
  assert_convolves("conv2d", "nx=11 ny=7 rx=2 ry=1 align=4", 0, 0);
  assert_convolves("conv2d", "nx=11 ny=7 rx=1 ry=2 border=valid align=1", 1, 2);
}

TEST(what_it_can_not_do_is_said) {
  static const struct {
    const char *family, *problem, *reason;
  } cases[] = {{"conv2d", "nx=9 border=mirror", "not mirror"},
               {"conv2d", "nx=9 dtype=f16", "no convolution of f16"},
               {"conv2d", "nx=9 rank=separable", "no separable filters"},
               {"conv2d", "nx=9 taps=host", "taps=device"},
               {"conv2d", "nx=3 rx=2 border=valid", "no empty convolutions"},
               {"conv2d", "nx=65536 ny=65536", "in 32 bits"},
               {"conv3d", "nx=2147352576", "in 32 bits"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    auto_template *t = NULL;
    gen_options o = {0};
    gen_problem p;
    peer it = {0};
    err e = {0};
    assert_ok(gen_open(&o, cases[i].family, &t, &e), &e);
    assert_ok(gen_problem_parse(t, cases[i].problem, &p, &e), &e);
    assert_fails(peer_open(&peer_cudnn, t, &p, NULL, &it, &e), &e, ERR_USAGE, cases[i].reason);
    peer_close(&it);
  }
}

int main(void) {
  return tests_run();
}
