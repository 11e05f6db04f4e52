/* test_unaligned.c -- buffers that begin anywhere within a vector, x at another offset than y:
 *   build/tests/test_unaligned [--device NAME]
 * Results are compared with a loop. Memory around y must not change; memory around x must not be
 * read (the emulator reports it). */
#define _GNU_SOURCE
#include <stdlib.h>

#include "device_fixture.h"

enum { GUARD = 8, SMUDGE = 0x5a5a5a5a }; /* words before and behind y */

typedef struct buffers { /* of 32-bit words, each at a given offset from a multiple of 256 bytes */
  rt_ptr x, y, x_block, y_block;
  size_t n_y;
} buffers;

static buffers put(bed *b, const int32_t *x, size_t n_x, size_t x_behind, size_t n_y,
                   size_t y_behind) {
  const rt_device_ops *ops = b->d->ops;
  buffers m = {.n_y = n_y};
  int32_t *y = calloc(n_y + 2 * GUARD, sizeof *y);
  assert_non_null(y);
  for (size_t i = 0; i < n_y + 2 * GUARD; i++) {
    y[i] = SMUDGE;
  }
  m.x_block = bed_alloc(b, 4 * (x_behind + n_x));
  m.y_block = bed_alloc(b, 4 * (y_behind + n_y + 2 * GUARD));
  m.x = m.x_block + 4 * x_behind;
  m.y = m.y_block + 4 * (y_behind + GUARD);
  assert_ok(ops->copy_in(b->d, m.x, x, 4 * n_x, NULL, &b->e), &b->e);
  assert_ok(ops->copy_in(b->d, m.y - 4 * GUARD, y, 4 * (n_y + 2 * GUARD), NULL, &b->e), &b->e);
  free(y);
  return m;
}

/* The result is as expected, and nothing around it has changed. */
static void assert_made(bed *b, buffers m, const int32_t *expected, const char *what) {
  const size_t n = m.n_y + 2 * GUARD;
  int32_t *y = calloc(n, sizeof *y);
  assert_non_null(y);
  bed_get(b, y, m.y - 4 * GUARD, 4 * n);
  for (size_t i = 0; i < n; i++) {
    const bool inside = i >= GUARD && i < GUARD + m.n_y;
    const int32_t right = inside ? expected[i - GUARD] : SMUDGE;
    if (y[i] != right) {
      fail_msg("%s: element %lld is %d, not %d", what, (long long)i - GUARD, y[i], right);
    }
  }
  free(y);
  bed_free(b, m.x_block);
  bed_free(b, m.y_block);
}

typedef struct kernel {
  bed_kernel k;
  const char *words; /* for messages */
} kernel;

/* config NULL: any of the last algorithm */
static kernel open_kernel(bed *b, const char *family, const char *problem, const char *config) {
  kernel k = {bed_problem_open(b, NULL, family, problem)};
  auto_str words = {0};
  const gen_config c = config ? bed_config(b, &k.k, config) : bed_any_config(b, &k.k, true);
  str_add(&words, " --config ");
  gen_config_text(k.k.t, &c, &words);
  k.words = arena_format(&b->a, "%s%s", problem, str_text(&words));
  assert_ok(bed_load(b, k.k.t, k.k.g, &c, &k.k.l), &b->e);
  return k;
}

/* Launches twice: the second launch finds the workspace as the first has left it. */
static void launch(bed *b, const kernel *k, const void *const *args) {
  assert_ok(rt_loaded_launch(k->k.l, NULL, args, &b->e), &b->e);
  assert_ok(rt_loaded_launch(k->k.l, NULL, args, &b->e), &b->e);
  assert_ok(b->d->ops->stream_sync(b->d, NULL, &b->e), &b->e);
}

static const struct { size_t x, y; } BEHIND[] = {{0, 0}, {1, 1}, {3, 3}, {1, 0}, {0, 2}, {3, 1}};
enum { N_BEHIND = sizeof BEHIND / sizeof *BEHIND };

static int32_t *numbers(size_t n) {
  int32_t *x = calloc(n + 1, sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < n; i++) {
    x[i] = (int32_t)((uint32_t)i * 2654435761u >> 8) - (1 << 23);
  }
  return x;
}

static void check_scan(bed *b, size_t n, bool inclusive) {
  const char *const problem =
      arena_format(&b->a, "n=%zu align=1 kind=%s", n, inclusive ? "inclusive" : "exclusive");
  kernel k = open_kernel(b, "scan", problem,
                         "ALG=pipelined,BLOCK=64,ITEMS=12,VEC=4,BLOCKS=1,LOADS=2,LAG=3");
  int32_t *x = numbers(n), *y = numbers(n);
  for (size_t i = 0, sum = 0; i < n; sum += (size_t)x[i++]) {
    y[i] = (int32_t)(uint32_t)(sum + (inclusive ? (size_t)x[i] : 0));
  }
  for (size_t i = 0; i < N_BEHIND; i++) {
    buffers m = put(b, x, n, BEHIND[i].x, n, BEHIND[i].y);
    const void *args[] = {NULL, &m.x, &m.y};
    launch(b, &k, args);
    assert_made(b, m, y, problem);
  }
  free(x);
  free(y);
  bed_kernel_close(&k.k);
}

BED_TEST(scans_begin_anywhere) {
  bed_needs(b, 90);
  check_scan(b, 769, true);
  check_scan(b, 768 * 40, true);
  check_scan(b, 768 * 171 + 765, false);
}

/* Words for n elements of a size; the rest of the last word must not change. */
static size_t words_of(size_t n, size_t size) {
  return (n * size + 3) / 4;
}

static void turn(const char *x, char *y, size_t rows, size_t cols, size_t size) {
  for (size_t i = 0; i < rows * cols; i++) {
    memcpy(y + (i % cols * rows + i / cols) * size, x + i * size, size);
  }
}

static void check_transpose(bed *b, const kernel *k, size_t rows, size_t cols, size_t size) {
  const size_t n = words_of(rows * cols, size), step = size > 4 ? 2 : 1; /* words to an alignment */
  int32_t *x = numbers(n), *y = numbers(n);
  if (n) {
    y[n - 1] = SMUDGE;
  }
  turn((char *)x, (char *)y, rows, cols, size);
  for (size_t i = 0; i < N_BEHIND; i++) {
    buffers m = put(b, x, n, step * BEHIND[i].x, n, step * BEHIND[i].y);
    const void *args[] = {NULL, NULL, NULL, &m.x, &m.y};
    launch(b, k, args);
    assert_made(b, m, y, k->words);
  }
  free(x);
  free(y);
}

BED_TEST(transposes_begin_anywhere) {
  static const struct {
    const char *problem, *config;
    size_t rows, cols;
  } cases[] = {
      {"rows=101 cols=67 align=1", "ALG=shifted,TM=32,TN=64,BLOCK=128,VEC=4,LAYOUT=plain", 101, 67},
      {"rows=25 cols=61 align=1", "ALG=shifted,TM=32,TN=64,BLOCK=128,VEC=4,LAYOUT=plain", 25, 61},
      {"rows=114 cols=95 align=1",
       "ALG=shifted,TM=64,TN=32,BLOCK=256,VEC=2,LAYOUT=plain,RASTER=down", 114, 95},
      {"rows=65 cols=33 align=1",
       "ALG=shifted,TM=64,TN=32,BLOCK=256,VEC=2,LAYOUT=plain,RASTER=down", 65, 33}};
  bed_needs(b, 90);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    kernel k = open_kernel(b, "transpose", cases[i].problem, cases[i].config);
    check_transpose(b, &k, cases[i].rows, cases[i].cols, 4);
    bed_kernel_close(&k.k);
  }
}

/* Random odd sizes and types, with any configuration that shifts. */
BED_TEST(transposes_of_odd_sizes) {
  static const struct {
    const char *type;
    size_t size;
  } types[] = {{"f32", 4}, {"u8", 1}, {"f16", 2}, {"f64", 8}};
  bed_needs(b, 90);
  const bool emu = b->d->info.format == RT_PTX;
  const size_t most = emu ? 130 : 1500;
  for (size_t i = 0; i < (emu ? 8u : 24u); i++) {
    const size_t rows = 129 + 2 * random_below(&b->random, most),
                 cols = 65 + 2 * random_below(&b->random, most);
    kernel k = open_kernel(
        b, "transpose",
        arena_format(&b->a, "rows=%zu cols=%zu dtype=%s align=1", rows, cols, types[i % 4].type),
        NULL);
    check_transpose(b, &k, rows, cols, types[i % 4].size);
    bed_kernel_close(&k.k);
    arena_clear(&b->a);
  }
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
