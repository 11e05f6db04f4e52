/* cudnn_calls.c -- the peer calls cuDNN as the template's arguments say. The library is
 * tests/fixtures/fakes/fake_cudnn.c; "device" buffers are on the host. */
#define _GNU_SOURCE
#include "check.h"

#include <stdlib.h>

#include "emu.h"
#include "peer.h"

enum { ARGS = 16 };

typedef struct bed {
  rt_device *d;
  gen_template *t;
  gen_problem p;
  gen_instance *g;
  const gen_data *data;
  arena a;
  uint64_t values[ARGS];
  const void *args[ARGS];
} bed;

static void lay(bed *b, const char *family, const char *problem) {
  gen_options o = {0};
  gen_number limits[RT_NUMBERS];
  err e = {0};
  *b = (bed){0};
  assert_ok(rt_emu_open("", &b->d, &e), &e);
  rt_numbers(&b->d->info, limits);
  assert_ok(gen_open(&o, family, &b->t, &e), &e);
  assert_ok(gen_problem_parse(b->t, problem, &b->p, &e), &e);
  assert_ok(gen_instance_new(b->t, &b->p, limits, RT_NUMBERS, &b->g, &e), &e);
  assert_ok(gen_data_make(b->g, 0, &b->a, &b->data, &e), &e);
  for (size_t i = 0; i < b->t->n_args; i++) {
    const gen_datum *m = &b->data->args[i];
    b->values[i] = m->bits;
    b->args[i] = &b->values[i];
    if (b->t->args[i].dir != GEN_SCALAR) {
      uint8_t *buffer = arena_new(&b->a, m->count * 4 + 4);
      for (uint64_t k = 0; k < m->count; k++) {
        ((float *)(void *)buffer)[k] = (float)(rand() % 99);
      }
      b->values[i] = (uintptr_t)buffer;
    }
  }
}

static void clear(bed *b) {
  b->d->ops->close(b->d);
  gen_instance_free(b->g);
  arena_clear(&b->a);
  gen_close(b->t);
}

static int64_t value(const bed *b, const char *name, int64_t other) {
  size_t at;
  return peer_argument(b->t, name, &at, NULL) ? other : (int64_t)b->values[at];
}

static float *numbers(const bed *b, const char *name) {
  return (float *)(uintptr_t)value(b, name, 0);
}

/* Of border=zero; a line is an image of one row. */
static float define(const bed *b, int64_t column, int64_t row) {
  const int64_t rx = peer_number(b->t, &b->p, "rx", 0), ry = peer_number(b->t, &b->p, "ry", 0);
  const int64_t nx = peer_number(b->t, &b->p, "nx", 0), ny = peer_number(b->t, &b->p, "ny", 1);
  double sum = 0;
  for (int64_t j = -ry; j <= ry; j++) {
    for (int64_t i = -rx; i <= rx; i++) {
      const int64_t u = column + i, v = row + j;
      if (u >= 0 && u < nx && v >= 0 && v < ny) {
        sum += (double)numbers(b, "f")[(j + ry) * (2 * rx + 1) + i + rx] *
               (double)numbers(b, "x")[v * value(b, "ldx", nx) + u];
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
        assert_true(numbers(&b, "y")[y * value(&b, "ldy", nx) + x] ==
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
