/* test_nvrtc_cache.c -- fixtures/nvrtc_cache.c answers as NVRTC does, from its folder where it
 * can. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "compile.h"
#include "file.h"
#include "gen.h"

static const char kernel[] = "extern \"C\" __global__ void k(float *x) { x[threadIdx.x] *= 2; }\n";
static const char broken[] = "#line 7 \"x.lua\"\nextern \"C\" __global__ void k() { nothing; }\n";
static const char warns[] = "extern \"C\" __global__ void k(float *x) { int unused; x[0] = 1; }\n";

typedef struct answer {
  int rc;
  rt_image image;
  err e;
} answer;

typedef struct bed {
  char folder[PATH_MAX], shim[PATH_MAX], entry[PATH_MAX];
  arena a;
} bed;

static void shim_path(char out[PATH_MAX]) {
  char program[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  assert_true(n > 0);
  program[n] = 0;
  *strrchr(program, '/') = 0;
  assert_true(snprintf(out, PATH_MAX, "%s/../nvrtc/lib/libnvrtc_cache.so", program) < PATH_MAX);
}

static int set_up(void **state) {
  bed *b = calloc(1, sizeof *b);
  *state = b;
  shim_path(b->shim);
  strcpy(b->folder, "/tmp/nvrtc_cache.XXXXXX");
  assert_non_null(mkdtemp(b->folder));
  setenv("NVRTC_CACHE", b->folder, 1);
  unsetenv("AUTOTUNE_NVRTC");
  return 0;
}

static int tear_down(void **state) {
  bed *b = *state;
  char command[PATH_MAX + 16];
  snprintf(command, sizeof command, "rm -rf %s", b->folder);
  assert_int_equal(system(command), 0);
  arena_clear(&b->a);
  free(b);
  return 0;
}

#define BED_TEST(name) TEST_ON(name, bed, b, state_of, set_up, tear_down)

/* Compiles with the NVRTC at `library`, or with the installed one. */
static answer compile(bed *b, const char *library, const char *text, const char *arch) {
  rt_compiler *c;
  answer r = {0};
  rt_source s = {.text = text, .arch = arch};
  if (library) {
    setenv("AUTOTUNE_NVRTC", library, 1);
  } else {
    unsetenv("AUTOTUNE_NVRTC");
  }
  if (rt_compiler_open(&c, &r.e)) {
    skip_because("%s", r.e.message);
  }
  rt_image_init(&r.image);
  r.rc = rt_compile(c, &s, &b->a, &r.image, &r.e);
  rt_compiler_close(c);
  return r;
}

static void assert_str(const str *a, const str *b) {
  assert_int_equal(a->n, b->n);
  assert_memory_equal(str_text(a), str_text(b), a->n);
}

/* ptxas ends its report on a kernel with the time it took, which varies. */
static void cut_times(str *log) {
  static const char words[] = "Compile time = ";
  char *at = log->n ? strstr(log->p, words) : NULL;
  while (at) {
    char *end = at + strcspn(at, "\n");
    memmove(at, end, strlen(end) + 1);
    log->n -= (size_t)(end - at);
    at = strstr(at, words);
  }
}

static void assert_same(const answer *a, const answer *b) {
  assert_int_equal(a->rc, b->rc);
  assert_string_equal(a->e.message, b->e.message);
  assert_string_equal(a->e.place, b->e.place);
  assert_string_equal(a->image.key, b->image.key);
  assert_str(&a->image.ptx, &b->image.ptx);
  assert_str(&a->image.cubin, &b->image.cubin);
  assert_str(&a->image.log, &b->image.log);
  assert_int_equal(a->image.n_kernels, b->image.n_kernels);
}

/* The number of entries; the path of the last goes to b->entry. */
static int count_entries(bed *b) {
  int n = 0;
  DIR *top = opendir(b->folder);
  for (struct dirent *d; (d = readdir(top));) {
    char below[PATH_MAX];
    if (strlen(d->d_name) != 2 || !strcmp(d->d_name, "..")) {
      continue;
    }
    assert_true(snprintf(below, sizeof below, "%s/%s", b->folder, d->d_name) < PATH_MAX);
    DIR *folder = opendir(below);
    for (struct dirent *f; (f = readdir(folder));) {
      if (f->d_name[0] != '.') {
        assert_true(snprintf(b->entry, sizeof b->entry, "%s/%s", below, f->d_name) < PATH_MAX);
        n++;
      }
    }
    closedir(folder);
  }
  closedir(top);
  return n;
}

/* The answers of NVRTC itself, of the cache at first, and of the cache from its folder. */
static void same_three_times(bed *b, const char *text, const char *arch, int rc) {
  answer fresh = compile(b, NULL, text, arch), first = compile(b, b->shim, text, arch),
         again = compile(b, b->shim, text, arch);
  assert_int_equal(fresh.rc, rc);
  cut_times(&fresh.image.log);
  cut_times(&first.image.log);
  cut_times(&again.image.log);
  assert_same(&fresh, &first);
  assert_same(&fresh, &again);
  rt_image_clear(&fresh.image);
  rt_image_clear(&first.image);
  rt_image_clear(&again.image);
}

BED_TEST(test_same_answer) {
  same_three_times(b, kernel, "sm_90", 0);
  assert_int_equal(count_entries(b), 1);
  same_three_times(b, kernel, "compute_90", 0); /* options are part of the key */
  assert_int_equal(count_entries(b), 2);
  same_three_times(b, warns, "sm_90", 0);
  assert_int_equal(count_entries(b), 3);
}

BED_TEST(test_same_error) {
  same_three_times(b, broken, "sm_90", ERR_COMPILE);
  assert_true(count_entries(b) > 0);
}

/* Replaces `from` in the only entry and cuts bytes off its end. */
static void change_entry(bed *b, const char *from, const char *to, size_t cut) {
  auto_str file = {0};
  assert_int_equal(count_entries(b), 1);
  assert_int_equal(file_read(b->entry, 1 << 30, &file, NULL), 0);
  char *at = memmem(file.p, file.n, from, strlen(from));
  assert_non_null(at);
  memcpy(at, to, strlen(to));
  assert_int_equal(file_write(b->entry, file.p, file.n - cut, NULL), 0);
}

static bool ptx_has(bed *b, const char *words) {
  answer r = compile(b, b->shim, kernel, "compute_90");
  assert_int_equal(r.rc, 0);
  const bool has = strstr(str_text(&r.image.ptx), words);
  rt_image_clear(&r.image);
  return has;
}

/* A stored answer is returned; a damaged one is made again. */
BED_TEST(test_stored) {
  assert_true(ptx_has(b, ".visible .entry k("));
  change_entry(b, ".visible .entry k(", ".visible .entry j(", 0);
  assert_true(ptx_has(b, ".visible .entry j("));
  change_entry(b, ".visible .entry j(", ".visible .entry j(", 1);
  assert_true(ptx_has(b, ".visible .entry k("));
  assert_true(ptx_has(b, ".visible .entry k("));
}

/* Without a folder the library only forwards. */
BED_TEST(test_no_folder) {
  unsetenv("NVRTC_CACHE");
  same_three_times(b, kernel, "sm_90", 0);
  assert_int_equal(count_entries(b), 0);
}

/* Processes that compile one text at the same time leave one complete entry. */
BED_TEST(test_processes) {
  for (int i = 0; i < 4; i++) {
    if (fork() == 0) {
      _exit(!ptx_has(b, ".visible .entry k("));
    }
  }
  for (int i = 0, status; i < 4; i++) {
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
  }
  assert_int_equal(count_entries(b), 1);
}

int main(void) {
  return tests_run();
}
