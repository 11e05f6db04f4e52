/* bench_spec.c -- constructing the spaces of T1 files: as autotune does it, as a decision diagram,
 * and by trying every point in the same Lua.
 *
 *   make build/tests/bench/bench_spec && build/tests/bench/bench_spec FILE.json ...
 */
#include <stdio.h>
#include <stdlib.h>

#include "file.h"
#include "gen_diagram.h"
#include "gen_space.h"
#include "spec.h"

static int fail(const err *e) {
  fprintf(stderr, "bench_spec: %s: %s\n", e->place, e->message);
  return 1;
}

static int open_as(const char *path, bool brute, gen_template **t, gen_instance **g, err *e) {
  static const gen_number device[] = {
#define LIMIT(name, brief) {#name, 0},
      GEN_DEVICE_LIST(LIMIT)
#undef LIMIT
  };
  str text = {0}, lua = {0};
  gen_problem p;
  int rc = file_read(path, 1 << 26, &text, e);
  rc = rc ? rc : spec_template(path, str_text(&text), text.n, brute, &lua, e);
  rc = rc ? rc : gen_open_text(NULL, path, lua.p, lua.n, t, e);
  rc = rc ? rc : gen_problem_parse(*t, "", &p, e);
  rc = rc ? rc : gen_instance_new(*t, &p, device, sizeof device / sizeof *device, g, e);
  str_clear(&text);
  str_clear(&lua);
  return rc;
}

/* The best of three runs, to exclude other load on the machine. */
static int time_list(const char *path, bool brute, double *candidates, size_t *n, double *sec,
                     err *e) {
  gen_template *t = NULL;
  gen_instance *g = NULL;
  *sec = 1e9;
  TRY(open_as(path, brute, &t, &g, e));
  for (int i = 0; i < 3; i++) {
    gen_space *space = NULL;
    double from = now_sec();
    TRY((brute ? gen_space_by_loops : gen_space_new)(g, &space, e));
    *sec = now_sec() - from < *sec ? now_sec() - from : *sec;
    *candidates = gen_space_tally(space)->candidates;
    *n = gen_space_count(space);
    gen_space_free(space);
  }
  gen_instance_free(g);
  gen_close(t);
  return 0;
}

static int time_diagram(const char *path, size_t *n, double *sec, err *e) {
  gen_template *t = NULL;
  gen_instance *g = NULL;
  *sec = 1e9;
  TRY(open_as(path, false, &t, &g, e));
  double *rejected = calloc(t->n_search_requirements + 1, sizeof *rejected);
  for (int i = 0; i < 3; i++) {
    gen_diagram *d;
    double from = now_sec();
    TRY(gen_diagram_new(g, rejected, &d, e));
    *sec = now_sec() - from < *sec ? now_sec() - from : *sec;
    *n = gen_diagram_count(d);
    gen_diagram_free(d);
  }
  free(rejected);
  gen_instance_free(g);
  gen_close(t);
  return 0;
}

static int compare(const char *path, err *e) {
  double candidates, sec, brute_sec, diagram_sec;
  size_t n, brute_n, diagram_n;
  TRY(time_list(path, false, &candidates, &n, &sec, e));
  TRY(time_list(path, true, &candidates, &brute_n, &brute_sec, e));
  TRY(time_diagram(path, &diagram_n, &diagram_sec, e));
  if (n != brute_n || n != diagram_n) {
    return err_at(e, ERR_WRONG, path, "%zu, %zu and %zu valid points", n, brute_n, diagram_n);
  }
  const char *base = path;
  for (const char *p = path; *p; p++) {
    base = *p == '/' ? p + 1 : base;
  }
  printf("%-26s %12.0f %10zu %10.2f %10.2f %12.2f %8.1f\n", base, candidates, n, 1e3 * sec,
         1e3 * diagram_sec, 1e3 * brute_sec, brute_sec / sec);
  return 0;
}

int main(int argc, char **argv) {
  printf("%-26s %12s %10s %10s %10s %12s %8s\n", "T1 file", "points", "valid", "list ms",
         "diagram ms", "all tried ms", "x");
  for (int i = 1; i < argc; i++) {
    err e = {0};
    if (compare(argv[i], &e)) {
      return fail(&e);
    }
  }
  return 0;
}
