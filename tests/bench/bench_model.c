/* bench_model.c -- how well the cost model of the emulated device ranks what a GPU measured.
 *
 *   build/tests/bench/bench_model [--cache DIR] [--part K/N] [--blocks N] [--device emu:h200]
 *                                 [--rows FILE] [--least RHO] TRIALS...
 *
 * A file holds what `autotune FAMILY ... --strategy random --json` printed on the card, or lines of
 * problem, configuration, status and seconds with tabs between them. Every trial that was timed
 * there is modelled here; --part takes every N-th of them, beginning with the K-th, so that a model
 * can be fitted to some trials and tested on others. --least: exit status 1 where the correlation
 * of a problem is lower. Prints for every problem Spearman's rank correlation, what the best of the
 * model's first 5 % loses against the best of all, and quantiles of modelled over measured seconds;
 * --rows gets a line for each trial. --cache keeps compiled PTX. */
#define _GNU_SOURCE
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "emu.h"
#include "file.h"
#include "gen.h"
#include "hash.h"
#include "open_device.h"
#include "run.h"

enum { TRIALS_MAX = 4096 };

typedef struct trial {
  char *problem, *config;
  double measured, modelled;
} trial;

typedef struct modeller {
  rt_device *d;
  rt_compiler *c;
  rt_checker *checker;
  gen_number limits[RT_NUMBERS];
  const char *cache, *rows;
  int part, parts;
  double least;
  bool below;
  trial *trials;
  size_t n;
  err e;
} modeller;

static void need(modeller *m, int rc) {
  if (rc) {
    fprintf(stderr, "bench_model: %s%s%s\n", m->e.place, m->e.place[0] ? ": " : "", m->e.message);
    exit(1);
  }
}

/* ---- what was measured ---- */

static void take_trial(modeller *m, const char *problem, const char *config, double sec,
                       size_t *seen) {
  if ((*seen)++ % (size_t)m->parts == (size_t)m->part && m->n < TRIALS_MAX) {
    m->trials[m->n++] = (trial){strdup(problem), strdup(config), sec, NAN};
  }
}

static void take_json(modeller *m, const char *line, size_t *seen) {
  json_t *j = json_loads(line, 0, NULL);
  const char *event = json_string_value(json_object_get(j, "event"));
  const char *status = json_string_value(json_object_get(j, "status"));
  const char *problem = json_string_value(json_object_get(j, "problem"));
  const char *config = json_string_value(json_object_get(j, "config"));
  if (event && !strcmp(event, "trial") && status && !strcmp(status, "ok") && problem && config) {
    take_trial(m, problem, config, json_number_value(json_object_get(j, "seconds")), seen);
  }
  json_decref(j);
}

static void take_line(modeller *m, const char *line, size_t *seen) {
  char problem[256], config[1024], status[16];
  double sec;
  if (*line == '{') {
    take_json(m, line, seen);
  } else if (sscanf(line, "%255[^\t]\t%1023[^\t]\t%15[^\t]\t%lf", problem, config, status, &sec) ==
                 4 &&
             !strcmp(status, "ok")) {
    take_trial(m, problem, config, sec, seen);
  }
}

static void read_trials(modeller *m, const char *path) {
  str text = {0};
  char *rest = NULL;
  size_t seen = 0;
  need(m, file_read(path, 64 << 20, &text, &m->e));
  for (char *line = strtok_r(text.p, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    take_line(m, line, &seen);
  }
  str_clear(&text);
}

/* ---- what is modelled ---- */

static int compile(modeller *m, gen_instance *g, const gen_config *config, str *ptx) {
  char key[HASH_TEXT], path[600];
  str text = {0};
  rt_image image;
  arena a = {0};
  rt_source s = {.arch = m->d->info.arch, .lineinfo = 1, .registers = 1};
  int rc = gen_source_make(g, config, &text, &s.body, &m->e);
  s.text = str_text(&text);
  rt_image_init(&image);
  if (!rc) {
    rt_image_key(m->c, &s, key);
    snprintf(path, sizeof path, "%s/%s.ptx", m->cache ? m->cache : ".", key);
  }
  if (!rc && (!m->cache || file_read(path, 64 << 20, ptx, NULL))) {
    ptx->n = 0;
    rc = rt_compile(m->c, &s, &a, &image, &m->e);
    str_add_n(ptx, str_text(&image.ptx), image.ptx.n);
    if (!rc && m->cache) {
      rc = file_write(path, ptx->p, ptx->n, &m->e);
    }
  }
  rt_image_clear(&image);
  arena_clear(&a);
  str_clear(&text);
  return rc;
}

static int model(modeller *m, gen_template *t, gen_instance *g, rt_harness *bench, trial *x) {
  gen_config config;
  str ptx = {0};
  arena a = {0};
  const gen_plan *plan;
  rt_loaded *l = NULL;
  rt_timing how = {0};
  rt_times times;
  int rc = gen_config_parse(t, x->config, &config, &m->e);
  rc = rc ? rc : compile(m, g, &config, &ptx);
  rc = rc ? rc : gen_plan_make(g, &config, &a, &plan, &m->e);
  rc = rc ? rc : rt_loaded_new(m->d, str_text(&ptx), ptx.n, t, plan, &l, &m->e);
  rc = rc ? rc : rt_harness_time(bench, l, &how, &times, &m->e);
  x->modelled = rc ? NAN : times.median;
  rt_loaded_free(l);
  str_clear(&ptx);
  arena_clear(&a);
  return rc;
}

/* ---- ranks ---- */

static const double *ranked;

static int by_rank(const void *a, const void *b) {
  double x = ranked[*(const size_t *)a], y = ranked[*(const size_t *)b];
  return x < y ? -1 : x > y;
}

/* ranks of v, ties sharing their mean; order[i] is the i-th smallest */
static void rank(const double *v, size_t n, double *ranks, size_t *order) {
  for (size_t i = 0; i < n; i++) {
    order[i] = i;
  }
  ranked = v;
  qsort(order, n, sizeof *order, by_rank);
  for (size_t i = 0; i < n;) {
    size_t j = i;
    while (j < n && v[order[j]] == v[order[i]]) {
      j++;
    }
    for (size_t k = i; k < j; k++) {
      ranks[order[k]] = (double)(i + j - 1) / 2;
    }
    i = j;
  }
}

static double correlation(const double *x, const double *y, size_t n) {
  double mean = (double)(n - 1) / 2, xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < n; i++) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static void report(modeller *m, const char *problem, const double *measured, const double *modelled,
                   size_t n) {
  static double rx[TRIALS_MAX], ry[TRIALS_MAX], ratio[TRIALS_MAX];
  static size_t by_measured[TRIALS_MAX], by_modelled[TRIALS_MAX], by_ratio[TRIALS_MAX];
  size_t top = (n + 19) / 20;
  double best = INFINITY;
  for (size_t i = 0; i < n; i++) {
    ratio[i] = modelled[i] / measured[i];
  }
  rank(ratio, n, rx, by_ratio);
  rank(measured, n, rx, by_measured);
  rank(modelled, n, ry, by_modelled);
  for (size_t i = 0; i < top; i++) {
    best = fmin(best, measured[by_modelled[i]]);
  }
  double rho = correlation(rx, ry, n);
  m->below |= !(rho >= m->least);
  printf("%-60s n %3zu  Spearman %.3f  top 5 %% loses %4.1f %%  modelled/measured %.2f %.2f %.2f\n",
         problem, n, rho, 100 * (best / measured[by_measured[0]] - 1), ratio[by_ratio[n / 10]],
         ratio[by_ratio[n / 2]], ratio[by_ratio[n - 1 - n / 10]]);
}

/* ---- problem after problem ---- */

static void model_problem(modeller *m, size_t first, size_t last, FILE *rows) {
  static double measured[TRIALS_MAX], modelled[TRIALS_MAX];
  char family[64];
  gen_template *t;
  gen_instance *g;
  gen_problem p;
  rt_harness *bench;
  const char *problem = m->trials[first].problem, *words = strchr(problem, ' ');
  size_t n = 0;
  snprintf(family, sizeof family, "%.*s", (int)strcspn(problem, " "), problem);
  need(m, gen_open(NULL, family, &t, &m->e));
  need(m, gen_problem_parse(t, words ? words : "", &p, &m->e));
  need(m, gen_instance_new(t, &p, m->limits, RT_NUMBERS, &g, &m->e));
  need(m, rt_harness_new(m->d, m->c, m->checker, t, g, &bench, &m->e));
  for (size_t i = first; i < last; i++) {
    trial *x = &m->trials[i];
    if (model(m, t, g, bench, x)) {
      fprintf(stderr, "%s --config %s: %s\n", x->problem, x->config, m->e.message);
      err_clear(&m->e);
      continue;
    }
    rt_emu_stats s;
    rt_emu_last_stats(m->d, &s);
    measured[n] = x->measured;
    modelled[n++] = x->modelled;
    if (rows) {
      fprintf(rows, "%s\t%.6g\t%.6g\t%s\t%d\t%d\t%.3g\t%s\n", x->problem, x->measured, x->modelled,
              s.bound, s.regs, s.blocks_sm, s.waves, x->config);
    }
  }
  if (n) {
    report(m, problem, measured, modelled, n);
  }
  fflush(stdout);
  rt_harness_free(bench);
  gen_instance_free(g);
  gen_close(t);
}

static void take_options(modeller *m, int argc, char **argv, const char **device, long *blocks) {
  for (int i = 1; i < argc; i++) {
    bool valued = i + 1 < argc;
    if (!strcmp(argv[i], "--cache") && valued) {
      m->cache = argv[++i];
    } else if (!strcmp(argv[i], "--part") && valued &&
               sscanf(argv[i + 1], "%d/%d", &m->part, &m->parts) == 2) {
      i++;
    } else if (!strcmp(argv[i], "--blocks") && valued) {
      *blocks = strtol(argv[++i], NULL, 10);
    } else if (!strcmp(argv[i], "--device") && valued) {
      *device = argv[++i];
    } else if (!strcmp(argv[i], "--rows") && valued) {
      m->rows = argv[++i];
    } else if (!strcmp(argv[i], "--least") && valued) {
      m->least = strtod(argv[++i], NULL);
    } else {
      read_trials(m, argv[i]);
    }
  }
}

int main(int argc, char **argv) {
  modeller m = {.parts = 1, .least = -1};
  const char *device = "emu:h200";
  long blocks = 8;
  m.trials = calloc(TRIALS_MAX, sizeof *m.trials);
  if (!m.trials) {
    return 1;
  }
  take_options(&m, argc, argv, &device, &blocks);
  if (m.cache) {
    mkdir(m.cache, 0755);
  }
  need(&m, rt_device_open(device, &m.d, &m.e));
  need(&m, rt_compiler_open(&m.c, &m.e));
  need(&m, rt_checker_new(m.d, m.c, &m.checker, &m.e));
  rt_numbers(&m.d->info, m.limits);
  rt_emu_set_checks(m.d, false);
  rt_emu_set_sample(m.d, blocks);
  FILE *rows = m.rows ? fopen(m.rows, "w") : NULL;
  for (size_t i = 0; i < m.n;) {
    size_t end = i;
    while (end < m.n && !strcmp(m.trials[end].problem, m.trials[i].problem)) {
      end++;
    }
    model_problem(&m, i, end, rows);
    i = end;
  }
  if (rows) {
    fclose(rows);
  }
  for (size_t i = 0; i < m.n; i++) {
    free(m.trials[i].problem);
    free(m.trials[i].config);
  }
  free(m.trials);
  rt_checker_free(m.checker);
  rt_compiler_close(m.c);
  m.d->ops->close(m.d);
  return m.below;
}
