/* bench_before.c -- do rewritten templates give kernels of the same results and speed as before?
 *
 *   make machine-code > differing.txt    (it prints a line that begins "differs" for each such row)
 *   build/tests/bench/bench_before --templates DIR [--device 0] [--rounds 31] < differing.txt
 *
 * DIR holds the former templates. For each row the former and the present kernel are compiled, every
 * output of every case is compared as bytes, and both are timed in turns over the same buffers. One
 * line a row: the ratio of the medians (above 1: slower than before), both times with half the width
 * of their middle half, registers, spills. Exit status 1 if outputs differ or a row fails.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "bench_outputs.h"
#include "bench_tools.h"
#include "gen.h"
#include "open_device.h"

enum { FORMER, PRESENT, SIDES };

typedef struct side {
  gen_template *t;
  gen_instance *g;
  rt_loaded *loaded;
  str outputs;
  int regs;
  int64_t spills;
} side;

typedef struct run {
  rt_device *d;
  rt_compiler *c;
  rt_checker *checker;
  gen_number limits[RT_NUMBERS];
  const char *templates;
  size_t rounds;
  side sides[SIDES];
  rt_harness *harness;
  size_t n, n_differ, n_failed;
  err e;
} run;

typedef struct row {
  char *family, *problem, *config;
} row;

/* ---- the kernels of a row ---- */

static void note_registers(side *s, const rt_image *image) {
  for (size_t i = 0; i < image->n_kernels; i++) {
    const rt_kernel_info *k = &image->kernels[i];
    s->regs = k->regs > s->regs ? k->regs : s->regs;
    s->spills += k->spill_stores + k->spill_loads;
  }
}

static int load_image(run *r, side *s, const gen_config *config, const rt_image *image, arena *a) {
  const gen_plan *plan;
  const str *bytes = r->d->info.format == RT_CUBIN ? &image->cubin : &image->ptx;
  note_registers(s, image);
  TRY(gen_plan_make(s->g, config, a, &plan, &r->e));
  return rt_loaded_new(r->d, str_text(bytes), bytes->n, s->t, plan, &s->loaded, &r->e);
}

static int load(run *r, side *s, const gen_config *config, arena *a) {
  str text = {0};
  rt_image image;
  rt_source source = {.arch = r->d->info.arch};
  rt_image_init(&image);
  int rc = gen_source_make(s->g, config, &text, &source.body, &r->e);
  source.text = str_text(&text);
  rc = rc ? rc : rt_compile(r->c, &source, a, &image, &r->e);
  rc = rc ? rc : load_image(r, s, config, &image, a);
  rt_image_clear(&image);
  str_clear(&text);
  return rc;
}

static int open_side(run *r, side *s, const char *folder, const row *x, arena *a) {
  const gen_options from = {.folders = &folder, .n_folders = folder != NULL};
  gen_problem p;
  gen_config config;
  TRY(gen_open(&from, x->family, &s->t, &r->e));
  TRY(gen_problem_parse(s->t, x->problem, &p, &r->e));
  TRY(gen_instance_new(s->t, &p, r->limits, RT_NUMBERS, &s->g, &r->e));
  TRY(gen_config_parse(s->t, x->config, &config, &r->e));
  TRY(gen_config_check(s->g, &config, &r->e));
  return load(r, s, &config, a);
}

static void close_side(side *s) {
  rt_loaded_free(s->loaded);
  gen_instance_free(s->g);
  gen_close(s->t);
  str_clear(&s->outputs);
  *s = (side){0};
}

/* ---- comparing them ---- */

static int compare_outputs(run *r, bool *same) {
  *same = true;
  for (size_t i = 0; i < r->harness->n_cases && *same; i++) {
    for (side *s = r->sides; s < r->sides + SIDES; s++) {
      TRY(bench_outputs(r->harness, s->loaded, &r->harness->cases[i], &s->outputs, &r->e));
    }
    *same = bench_outputs_equal(&r->sides[FORMER].outputs, &r->sides[PRESENT].outputs);
  }
  return 0;
}

static int race(run *r, rt_times times[SIDES]) {
  const rt_contender both[SIDES] = {rt_loaded_contender(r->sides[FORMER].loaded),
                                    rt_loaded_contender(r->sides[PRESENT].loaded)};
  const rt_timing how = {.replay = r->d->info.format == RT_CUBIN ? RT_GRAPH : RT_STREAM};
  return rt_harness_race(r->harness, both, SIDES, r->rounds, &how, times, &r->e);
}

static void print_result(const run *r, const row *x, bool same, const rt_times times[SIDES]) {
  printf("%s %.4f ", same ? "same   " : "differs", times[PRESENT].median / times[FORMER].median);
  for (int i = 0; i < SIDES; i++) {
    printf(" %s%.2f us +-%.1f %%", i ? "-> " : "", times[i].median * 1e6,
           50 * rt_times_spread(&times[i]));
  }
  printf("  registers %d -> %d  spills %lld -> %lld  %s %s\n", r->sides[FORMER].regs,
         r->sides[PRESENT].regs, (long long)r->sides[FORMER].spills,
         (long long)r->sides[PRESENT].spills, x->family, x->problem);
}

static int compare(run *r, const row *x, arena *a) {
  side *present = &r->sides[PRESENT];
  rt_times times[SIDES];
  bool same;
  TRY(open_side(r, &r->sides[FORMER], r->templates, x, a));
  TRY(open_side(r, present, NULL, x, a));
  TRY(rt_harness_new(r->d, r->c, r->checker, present->t, present->g, &r->harness, &r->e));
  TRY(compare_outputs(r, &same));
  TRY(race(r, times));
  print_result(r, x, same, times);
  r->n_differ += !same;
  return 0;
}

static void compare_row(run *r, const row *x) {
  arena a = {0};
  err_clear(&r->e);
  r->n++;
  if (compare(r, x, &a)) {
    printf("failed  %s %s %s: %s%s%s\n", x->family, x->problem, x->config, r->e.place,
           *r->e.place ? ": " : "", r->e.message);
    r->n_failed++;
  }
  rt_harness_free(r->harness);
  r->harness = NULL;
  close_side(&r->sides[FORMER]);
  close_side(&r->sides[PRESENT]);
  arena_clear(&a);
}

/* ---- the list ---- */

/* "differs  registers ... shared 0 -> 0  FAMILY PROBLEM : CONFIG"; false: another line */
static bool split(char *line, row *x) {
  char *shared = strstr(line, "shared "), *colon = strstr(line, " : ");
  int used = 0;
  line[strcspn(line, "\n")] = 0;
  if (strncmp(line, "differs", 7) || !shared || !colon ||
      sscanf(shared, "shared %*d -> %*d %n", &used) || !used) {
    return false;
  }
  x->family = shared + used;
  x->problem = x->family + strcspn(x->family, " ");
  *colon = 0;
  *x->problem++ = 0;
  x->config = colon + 3;
  return true;
}

int main(int argc, char **argv) {
  run r = {.rounds = strtoul(bench_option(argc, argv, "--rounds", "31"), NULL, 10),
           .templates = bench_option(argc, argv, "--templates", NULL)};
  char *line = NULL;
  size_t room = 0;
  row x;
  bench_must(!r.templates || !r.rounds, "--templates DIR", "the folder of the former templates");
  bench_must(rt_device_open(bench_option(argc, argv, "--device", "0"), &r.d, &r.e) ||
                 rt_compiler_open(&r.c, &r.e) || rt_checker_new(r.d, r.c, &r.checker, &r.e),
             "device", r.e.message);
  rt_numbers(&r.d->info, r.limits);
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (getline(&line, &room, stdin) > 0) {
    if (split(line, &x)) {
      compare_row(&r, &x);
    }
  }
  printf("%zu rows, %zu with other outputs, %zu failed\n", r.n, r.n_differ, r.n_failed);
  free(line);
  rt_checker_free(r.checker);
  rt_compiler_close(r.c);
  r.d->ops->close(r.d);
  return r.n_differ || r.n_failed;
}
