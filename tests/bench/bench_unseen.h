/* bench_unseen.h -- the calls that bench_unseen made: rows, in a file that a later run continues, and
 * as a table of ratios. */
#ifndef BENCH_UNSEEN_H
#define BENCH_UNSEEN_H

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_case.h"
#include "bench_tools.h"
#include "bench_tune.h"
#include "call_draw.h"
#include "file.h"

enum { SLOW_SHOWN = 60, SEEDS_MOST = 16 };

typedef struct row { /* of one call */
  uint64_t seed;
  size_t i;
  bool done, wrong, failed;
  double ours, peer, tuned;       /* seconds; 0: not timed */
  double floor;                   /* the least that bandwidth and peak rate allow; 0: not known */
  double first_ms, peer_first_ms; /* of the first call */
  double error, peer_error;       /* in units of the tolerance */
  double expected_loss;
  char *problem, *call, *origin, *tuned_for, *config, *note; /* in the arena */
} row;

typedef struct bench {
  int argc;
  char **argv;
  const char *device, *vs, *save;
  bool emulated;
  size_t n, n_seeds, of;
  uint64_t seeds[SEEDS_MOST];
  double until, ready_sec;
  bench_tuning tuning;
  char folder[64];
  /* of the family at hand */
  const char *family;
  bench_place place;
  tuned_context *ctx;
  const peer_kind *peer; /* NULL: none */
  char version[64], device_name[128];
  row *rows;
  drawn_call *calls;
  size_t n_rows;
  arena memory, names; /* of the family; of the run */
} bench;

/* ---- rows in a file -------------------------------------------------------------------------- */

static const char HEAD[] =
    "family\tseed\ti\tours_us\tpeer_us\ttuned_us\tfirst_ms\tpeer_first_ms\terror\tpeer_error\t"
    "expected_loss\tverdict\torigin\tpeer\tproblem\tcall\ttuned_for\tconfig\tnote\tfloor_us\n";

static inline void save_row(const bench *b, const row *r) {
  FILE *f = b->save ? fopen(b->save, "a") : NULL;
  if (!b->save) {
    return;
  }
  bench_must(!f, b->save, "cannot be written");
  if (!ftell(f)) {
    fputs(HEAD, f);
  }
  fprintf(f,
          "%s\t%llu\t%zu\t%.5g\t%.5g\t%.5g\t%.4g\t%.4g\t%.3g\t%.3g\t%.3g\t%s\t%s\t%s\t%s\t%s\t%s\t"
          "%s\t%s\t%.4g\n",
          b->family, (unsigned long long)r->seed, r->i, 1e6 * r->ours, 1e6 * r->peer,
          1e6 * r->tuned, r->first_ms, r->peer_first_ms, r->error, r->peer_error, r->expected_loss,
          r->wrong    ? "wrong"
          : r->failed ? "failed"
                      : "right",
          r->origin ? r->origin : "-", b->version, r->problem, r->call,
          r->tuned_for ? r->tuned_for : "", r->config ? r->config : "", r->note, 1e6 * r->floor);
  bench_must(fclose(f), b->save, "cannot be written");
}

static inline row *row_of(const bench *b, uint64_t seed, size_t i) {
  for (size_t k = i < b->n ? i : b->n_rows; k < b->n_rows; k += b->n) {
    if (b->rows[k].seed == seed) {
      return &b->rows[k];
    }
  }
  return NULL;
}

static inline bool is_tuned(const bench *b, const row *r) {
  return b->tuning.sec > 0 && r->i < (b->of + b->n_seeds - 1) / b->n_seeds;
}

/* What was not tuned when it should have been is run again; its later line counts. */
static inline void read_row(bench *b, const char *line) {
  unsigned long long seed;
  size_t i;
  int end = 0;
  row v = {0};
  char family[80], verdict[12], origin[40];
  if (sscanf(line, "%79s %llu %zu %lf %lf %lf %lf %lf %lf %lf %lf %11s %39[^\t]%n", family, &seed,
             &i, &v.ours, &v.peer, &v.tuned, &v.first_ms, &v.peer_first_ms, &v.error, &v.peer_error,
             &v.expected_loss, verdict, origin, &end) < 13 ||
      strcmp(family, b->family)) {
    return;
  }
  row *r = row_of(b, seed, i);
  const char *problem = r ? strstr(line + end, r->problem) : NULL;
  if (!problem || problem[strlen(r->problem)] != '\t') {
    return;
  }
  sscanf(line + end, "\t%63[^\t]", b->version);
  v.ours *= 1e-6;
  v.peer *= 1e-6;
  v.tuned *= 1e-6;
  *r = (row){.seed = seed,
             .i = i,
             .done = !is_tuned(b, r) || v.tuned > 0,
             .wrong = !strcmp(verdict, "wrong"),
             .failed = !strcmp(verdict, "failed"),
             .ours = v.ours,
             .peer = v.peer,
             .tuned = v.tuned,
             .floor = 1e-6 * atof(strrchr(line, '\t')),
             .first_ms = v.first_ms,
             .peer_first_ms = v.peer_first_ms,
             .error = v.error,
             .peer_error = v.peer_error,
             .expected_loss = v.expected_loss,
             .problem = r->problem,
             .call = r->call,
             .note = "",
             .origin = arena_text(&b->memory, origin)};
}

static inline void read_rows(bench *b) {
  auto_str text = {0};
  if (b->save && !file_read(b->save, 1 << 28, &text, NULL)) {
    char *rest = (char *)str_text(&text);
    for (char *line; (line = strsep(&rest, "\n"));) {
      read_row(b, line);
    }
  }
}

/* ---- the table ------------------------------------------------------------------------------- */

static inline int by_ratio(const void *a, const void *b) {
  const row *x = *(row *const *)a, *y = *(row *const *)b;
  const double p = x->peer / x->ours, q = y->peer / y->ours;
  return (p > q) - (p < q);
}

static inline double mean_of(const double *list, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += log(list[i]);
  }
  return n ? exp(sum / (double)n) : NAN;
}

/* The rows of a seed, of all seeds if 0, that have both times, slowest first. */
static inline size_t compared(const bench *b, uint64_t seed, row **list) {
  size_t n = 0;
  for (size_t i = 0; i < b->n_rows; i++) {
    row *r = &b->rows[i];
    if ((!seed || r->seed == seed) && r->ours > 0 && r->peer > 0) {
      list[n++] = r;
    }
  }
  qsort(list, n, sizeof *list, by_ratio);
  return n;
}

static inline size_t count(const bench *b, uint64_t seed, size_t field) {
  size_t n = 0;
  for (size_t i = 0; i < b->n_rows; i++) {
    const row *r = &b->rows[i];
    n += (!seed || r->seed == seed) && *((const bool *)r + field);
  }
  return n;
}
#define COUNT(b, seed, what) count(b, seed, offsetof(row, what))

static inline void print_line(const bench *b, uint64_t seed) {
  row **list = calloc(b->n_rows + 1, sizeof *list);
  double *ratios = calloc(b->n_rows + 1, sizeof *ratios);
  const size_t n = compared(b, seed, list);
  size_t ahead = 0;
  for (size_t i = 0; i < n; i++) {
    ratios[i] = list[i]->peer / list[i]->ours;
    ahead += ratios[i] >= 1;
  }
  char name[24] = "all";
  if (seed) {
    snprintf(name, sizeof name, "%llu", (unsigned long long)seed);
  }
  printf("%-14s %-14s %5zu %8zu", b->family, name, COUNT(b, seed, done), n);
  if (n) {
    printf(" %8.2f %6.2f %6.2f %6.2f %6.2f %6.1f %%", mean_of(ratios, n), ratios[n / 2],
           ratios[n / 10], ratios[n / 20], ratios[0], 100.0 * (double)ahead / (double)n);
  } else {
    printf(" %8s %6s %6s %6s %6s %8s", "-", "-", "-", "-", "-", "-");
  }
  printf(" %6zu %6zu\n", COUNT(b, seed, wrong), COUNT(b, seed, failed));
  free(list);
  free(ratios);
}

static inline void print_first_calls(const bench *b) {
  double *ours = calloc(b->n_rows + 1, sizeof *ours),
         *theirs = calloc(b->n_rows + 1, sizeof *theirs);
  size_t n = 0, m = 0;
  for (size_t i = 0; i < b->n_rows; i++) {
    if (b->rows[i].first_ms > 0) {
      ours[n++] = b->rows[i].first_ms;
      theirs[m] = b->rows[i].peer_first_ms;
      m += theirs[m] > 0;
    }
  }
  if (n) {
    const double median = bench_median(ours, n), median_theirs = bench_median(theirs, m);
    printf("first calls: median %.3g ms, worst %.3g ms", median, ours[n - 1]);
    if (m) {
      printf("; the peer's %.3g, %.3g ms", median_theirs, theirs[m - 1]);
    }
    printf("\n");
  }
  free(ours);
  free(theirs);
}

static inline void print_loss(const bench *b) {
  double *loss = calloc(b->n_rows + 1, sizeof *loss), *ratio = calloc(b->n_rows + 1, sizeof *ratio);
  size_t n = 0, m = 0, least = 0;
  for (size_t i = 0; i < b->n_rows; i++) {
    const row *r = &b->rows[i];
    if (r->tuned > 0 && r->ours > 0) {
      loss[n++] = r->ours / r->tuned;
      ratio[m] = r->peer / r->tuned;
      m += r->peer > 0;
    }
  }
  if (n) {
    const double mean = mean_of(loss, n), tuned = mean_of(ratio, m);
    qsort(loss, n, sizeof *loss, bench_by_value);
    for (size_t i = 0; i < m; i++) {
      least += ratio[i] >= 1;
    }
    printf("served against %g s of tuning of %zu of these: %.1f %% slower in the mean, %.1f %% at "
           "worst",
           b->tuning.sec, n, 100 * (mean - 1), 100 * (loss[n - 1] - 1));
    if (m) {
      printf("; tuned %.2f x the peer, at least as fast in %zu of %zu", tuned, least, m);
    }
    printf("\n");
  }
  free(loss);
  free(ratio);
}

/* How far the calls are from the floor: those at least as fast as the peer, and the slower ones. */
static inline void print_floor(const bench *b) {
  row **list = calloc(b->n_rows + 1, sizeof *list);
  double *over[2] = {calloc(b->n_rows + 1, sizeof(double)), calloc(b->n_rows + 1, sizeof(double))};
  size_t n[2] = {0};
  const size_t all = compared(b, 0, list);
  for (size_t i = 0; i < all; i++) {
    const bool slower = list[i]->peer < list[i]->ours;
    if (list[i]->floor > 0) {
      over[slower][n[slower]++] = list[i]->ours / list[i]->floor;
    }
  }
  if (n[0] + n[1]) {
    printf("x floor (bytes / bandwidth, operations / peak rate): %.2f; slower ones %.2f\n",
           mean_of(over[0], n[0]), mean_of(over[1], n[1]));
  }
  free(over[0]);
  free(over[1]);
  free(list);
}

static inline void print_slow(const bench *b) {
  row **list = calloc(b->n_rows + 1, sizeof *list);
  const size_t n = compared(b, 0, list);
  size_t slow = 0;
  while (slow < n && list[slow]->peer < list[slow]->ours) {
    slow++;
  }
  if (slow) {
    printf("slower (us: ours, peer, tuned, floor; ours / floor):\n");
  }
  for (size_t i = 0; i < slow && i < SLOW_SHOWN; i++) {
    const row *r = list[i];
    printf("  %5.2f %9.4g %9.4g %9.4g %9.4g %6.3g  %-9s %s\n", r->peer / r->ours, 1e6 * r->ours,
           1e6 * r->peer, 1e6 * r->tuned, 1e6 * r->floor, r->floor > 0 ? r->ours / r->floor : 0,
           r->origin, r->call);
  }
  free(list);
}

static inline void print_wrong(const bench *b) {
  for (size_t i = 0; i < b->n_rows; i++) {
    if (b->rows[i].wrong) {
      printf("wrong: %s: %s\n", b->rows[i].call, b->rows[i].note);
    }
  }
}

static inline void print_family(const bench *b) {
  printf("%s on %s, %s; warm, %s\n", b->family, b->device_name, b->peer ? b->version : "no peer",
         b->emulated ? "times are modelled" : "ours and the peer's launches interleaved");
  printf("%-14s %-14s %5s %8s %8s %6s %6s %6s %6s %8s %6s %6s\n", "family", "seed", "calls",
         "compared", "geo mean", "median", "10th", "5th", "worst", "as fast", "wrong", "failed");
  for (size_t s = 0; s < b->n_seeds; s++) {
    print_line(b, b->seeds[s]);
  }
  if (b->n_seeds > 1) {
    print_line(b, 0);
  }
  print_first_calls(b);
  print_loss(b);
  print_floor(b);
  print_slow(b);
  print_wrong(b);
  printf("\n");
  fflush(stdout);
}

#endif
