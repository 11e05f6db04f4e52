/* peer_builds.c -- the CUB peer without a GPU: the toolkit's nvcc compiles every algorithm, which
 * is kept, opened again, and called. `make check-peers`; needs a toolkit with nvcc. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "emu.h"
#include "file.h"
#include "peer.h"
#include "gen.h"

typedef struct bed {
  arena a;
  rt_device *d;
  char folder[32];
} bed;

static int setup(void **state) {
  bed *b = calloc(1, sizeof *b);
  strcpy(b->folder, "/tmp/peers-XXXXXX");
  assert_non_null(mkdtemp(b->folder));
  assert_int_equal(setenv("XDG_CACHE_HOME", b->folder, 1), 0);
  assert_int_equal(rt_emu_open("", &b->d, NULL), 0);
  *state = b;
  return 0;
}

static int teardown(void **state) {
  bed *b = *state;
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", b->folder);
  b->d->ops->close(b->d);
  arena_clear(&b->a);
  free(b);
  return system(command);
}

#define BED_TEST(name) TEST_ON(name, bed, b, state_of, NULL, NULL)

/* Without a GPU CUB itself refuses the problem; with one it asks for temporary storage. */
static void open_one(bed *b, gen_template *t, const gen_problem *p) {
  peer it;
  err e = {0};
  int rc = peer_open(&peer_cub, t, p, b->d, &it, &e);
  if (rc) {
    assert_int_equal(rc, ERR_LAUNCH);
    assert_non_null(strstr(e.message, "CUB refuses the problem"));
  }
  assert_memory_equal(it.version, "CUB ", 4);
  peer_close(&it);
}

static void build(bed *b, const char *family, const char *const *texts, size_t n) {
  gen_options o = {0};
  auto_template *t = NULL;
  gen_problem p[8];
  err e = {0};
  rt_info info = b->d->info;
  snprintf(info.arch, sizeof info.arch, "sm_90");
  snprintf(b->d->info.arch, sizeof b->d->info.arch, "sm_90");
  if (gen_open(&o, family, &t, &e) == ERR_NOTFOUND) {
    print_message("no family %s\n", family);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    assert_ok(gen_problem_parse(t, texts[i], &p[i], &e), &e);
  }
  assert_ok(peer_cub.prepare(t, p, n, &info, &e), &e);
  double from = now_sec();
  for (size_t i = 0; i < n; i++) {
    open_one(b, t, &p[i]);
  }
  assert_true(now_sec() - from < 2.0 * (double)n); /* nothing is compiled again */
}

#define BUILD(family, ...)                                                                         \
  BED_TEST(family##_is_built) {                                                                    \
    static const char *const texts[] = {__VA_ARGS__};                                              \
    build(b, #family, texts, sizeof texts / sizeof *texts);                                        \
  }
BUILD(reduce, "n=1000", "n=2000", "n=1000 op=max dtype=i32", "n=2^31 dtype=f64",
      "n=1000 op=max dtype=bf16", "n=1000 op=min dtype=bf16", "n=1000 dtype=f16 op=product")
BUILD(scan, "n=1000", "n=1000 op=max kind=exclusive dtype=f16",
      "n=1000 op=min dtype=bf16 kind=exclusive")
BUILD(argmax, "n=1000", "n=1000 op=min dtype=i64")
BUILD(segmented_reduce, "n=1000 segments=10", "n=1000 segments=10 op=max dtype=f64")
BUILD(segmented_scan, "n=1000 segments=10", "n=1000 segments=10 op=min kind=exclusive dtype=f32")
BUILD(histogram, "n=1000 dtype=u8", "n=1000 dtype=f32")
BUILD(radix_sort, "n=1000 dtype=u32 end_bit=12", "n=1000 dtype=f64 value_bytes=8")
BUILD(segmented_sort, "n=1000 segments=10", "n=1000 segments=10 order=descending value_bytes=4")
BUILD(merge, "m=1000 dtype=u8", "m=1000 n=10 value=4")
BUILD(merge_sort, "n=1000 dtype=f32", "n=1000 dtype=i64 value=8")
BUILD(quadtree, "n=1000", "n=1000 max_depth=0")
BUILD(vector_add, "n=1000", "n=1000 dtype=bf16", "n=1000 rows=3 dtype=i32")

/* The message of nvcc is reported in one line. */
BED_TEST(a_compile_error_is_told) {
  err e = {0};
  auto_template *t = NULL;
  gen_problem p;
  gen_options o = {0};
  rt_info info = b->d->info;
  snprintf(info.arch, sizeof info.arch, "sm_10");
  assert_ok(gen_open(&o, "reduce", &t, &e), &e);
  assert_ok(gen_problem_parse(t, "n=1000", &p, &e), &e);
  assert_int_equal(peer_cub.prepare(t, &p, 1, &info, &e), ERR_COMPILE);
  assert_non_null(strstr(e.message, "sm_10"));
  assert_null(strchr(e.message, '\n'));
}

BED_TEST(without_nvcc_it_says_so) {
  err e = {0};
  auto_template *t = NULL;
  gen_problem p;
  gen_options o = {0};
  char *path = strdup(getenv("PATH"));
  assert_ok(gen_open(&o, "reduce", &t, &e), &e);
  assert_ok(gen_problem_parse(t, "n=1000", &p, &e), &e);
  setenv("PATH", b->folder, 1);
  setenv("CUDA_HOME", b->folder, 1);
  int rc = peer_cub.prepare(t, &p, 1, &b->d->info, &e);
  if (access("/usr/local/cuda/bin/nvcc", X_OK)) {
    assert_int_equal(rc, ERR_NOTFOUND);
    assert_non_null(strstr(e.message, "install the CUDA toolkit"));
  }
  setenv("PATH", path, 1);
  unsetenv("CUDA_HOME");
  free(path);
}

int main(void) {
  return tests_run_with(NULL, setup, teardown);
}
