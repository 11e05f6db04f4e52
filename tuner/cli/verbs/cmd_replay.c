/* cmd_replay.c -- autotune replay: compare strategies on recorded spaces, without a GPU. */
#include <string.h>

#include "cli.h"
#include "json_writer.h"
#include "print.h"
#include "replay.h"
#include "verbs.h"

enum { DEFAULT_RUNS = 50, MAX_STRATEGIES = 64 };

/* Numbers of trials that the tables show. */
static const int marks[] = {25, 50, 100, 150, 200, 300, 400};
enum { MARKS = sizeof marks / sizeof *marks };

typedef struct bench {
  const cli *c;
  arena memory;
  replay_options o;
  recorded **spaces;
  size_t n_spaces;
  const search_strategy *strategies[MAX_STRATEGIES];
  size_t n_strategies;
  replay_curve *means,
      *curves; /* mean over the spaces, by strategy; of the current strategy, by space */
} bench;

static int parse(bench *b, err *e) {
  const cli *c = b->c;
  TRY(cli_number("runs", c->runs, 1, 100000, DEFAULT_RUNS, &b->o.runs, e));
  TRY(cli_number("seed", c->seed, 0, INT32_MAX, 1, &b->o.seed, e));
  TRY(cli_number("jobs", c->jobs, 1, 256, 1, &b->o.jobs, e));
  TRY(cli_number("ahead", c->ahead, 1, 256, 1, &b->o.ahead, e));
  b->o.stop = cli_catch_signals();
  if (c->strategy && strcmp(c->strategy, "all")) {
    b->n_strategies = 1;
    return search_strategy_find(c->strategy, &b->strategies[0], e);
  }
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    b->strategies[b->n_strategies++] = *s;
  }
  return 0;
}

static int load(bench *b, err *e) {
  if (!b->c->n_words) {
    return err_set(e, ERR_USAGE, "name the recordings: autotune replay FILE.csv.gz ...");
  }
  b->spaces = ARENA_ARRAY(&b->memory, recorded *, b->c->n_words);
  b->curves = ARENA_ARRAY(&b->memory, replay_curve, b->c->n_words);
  b->means = ARENA_ARRAY(&b->memory, replay_curve, b->n_strategies);
  TRY(b->spaces && b->curves && b->means ? 0 : err_nomem(e));
  for (size_t i = 0; i < b->c->n_words; i++) {
    TRY(recorded_open(b->c->words[i], &b->spaces[i], e));
    b->n_spaces++;
  }
  return 0;
}

/* ---- the tables ---------------- */

static void add_head(str *s, int width, const char *title) {
  str_addf(s, "%-*s", width, title);
  for (size_t i = 0; i < MARKS; i++) {
    str_addf(s, "  %5d", marks[i]);
  }
  str_add(s, "   ms a trial\n");
}

static void add_row(str *s, int width, const char *name, const replay_curve *c) {
  str_addf(s, "%-*s", width, name);
  for (size_t i = 0; i < MARKS; i++) {
    str_addf(s, "  %5.3f", c->fraction[marks[i] - 1]);
  }
  str_addf(s, "   %8.3f\n", 1e3 * c->ask_sec);
}

static void add_json(str *s, const bench *b, const char *strategy, const char *space,
                     const replay_curve *c) {
  jw_event(s, "replay");
  jw_text(s, "strategy", strategy);
  jw_text(s, "space", space);
  jw_integer(s, "runs", b->o.runs);
  jw_integer(s, "seed", b->o.seed);
  jw_integer(s, "ahead", b->o.ahead);
  jw_open(s, "fraction");
  for (size_t i = 0; i < MARKS; i++) {
    char mark[16];
    snprintf(mark, sizeof mark, "%d", marks[i]);
    jw_fixed(s, mark, 5, c->fraction[marks[i] - 1]);
  }
  jw_close(s);
  jw_fixed(s, "ask_ms", 4, 1e3 * c->ask_sec);
  jw_end_line(s);
}

static const char *base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int width_of(const bench *b) {
  size_t width = 12;
  for (size_t i = 0; i < b->n_spaces && b->n_strategies == 1; i++) {
    size_t n = strlen(base(b->spaces[i]->path));
    width = n > width ? n : width;
  }
  return (int)width;
}

static void announce(const bench *b) {
  str s = {0};
  for (size_t i = 0; i < b->n_spaces; i++) {
    str_addf(&s, "%s: ", base(b->spaces[i]->path));
    format_count(&s, (double)b->spaces[i]->view.n);
    str_add(&s, " configurations, ");
    format_count(&s, (double)b->spaces[i]->n_failed);
    str_add(&s, " failures, best ");
    format_sec(&s, b->spaces[i]->best);
    str_add(&s, "\n");
  }
  str_addf(&s, "mean fraction of the optimum after N trials, %lld runs\n\n", (long long)b->o.runs);
  add_head(&s, width_of(b), b->n_strategies == 1 ? "space" : "strategy");
  print_str(&s);
  fflush(stdout);
}

/* One strategy: a row for each space, and the mean. Several: a row for the mean of each. */
static void print(const bench *b, size_t k) {
  const char *name = b->strategies[k]->name;
  str s = {0};
  for (size_t i = 0; i < b->n_spaces; i++) {
    const char *space = base(b->spaces[i]->path);
    if (b->c->json) {
      add_json(&s, b, name, space, &b->curves[i]);
    } else if (b->n_strategies == 1) {
      add_row(&s, width_of(b), space, &b->curves[i]);
    }
  }
  if (b->c->json) {
    add_json(&s, b, name, "mean", &b->means[k]);
  } else {
    add_row(&s, width_of(b), b->n_strategies == 1 ? "mean" : name, &b->means[k]);
  }
  print_str(&s);
  fflush(stdout);
}

/* ---- running ---------------- */

static int run_strategy(bench *b, size_t k, err *e) {
  replay_curve *mean = &b->means[k];
  for (size_t i = 0; i < b->n_spaces; i++) {
    TRY(replay(b->spaces[i], b->strategies[k], &b->o, &b->curves[i], e));
    for (size_t j = 0; j < REPLAY_EVALUATIONS; j++) {
      mean->fraction[j] += b->curves[i].fraction[j] / (double)b->n_spaces;
    }
    mean->ask_sec += b->curves[i].ask_sec / (double)b->n_spaces;
  }
  print(b, k);
  return 0;
}

static int plot(const bench *b, err *e) {
  replay_line lines[MAX_STRATEGIES];
  auto_str s = {0}, title = {0};
  for (size_t k = 0; k < b->n_strategies; k++) {
    lines[k] = (replay_line){b->strategies[k]->name, &b->means[k]};
  }
  str_addf(&title, "Fraction of the optimum: mean over %zu spaces, %lld runs", b->n_spaces,
           (long long)b->o.runs);
  replay_plot(lines, b->n_strategies, str_text(&title), &s);
  return print_file(b->c->plot, &s, e);
}

static int run(bench *b, err *e) {
  TRY(parse(b, e));
  TRY(load(b, e));
  if (!b->c->json) {
    announce(b);
  }
  for (size_t k = 0; k < b->n_strategies; k++) {
    TRY(run_strategy(b, k, e));
  }
  return b->c->plot ? plot(b, e) : 0;
}

int cmd_replay(const cli *c, err *e) {
  bench b = {.c = c};
  int rc = run(&b, e);
  for (size_t i = 0; i < b.n_spaces; i++) {
    recorded_close(b.spaces[i]);
  }
  arena_clear(&b.memory);
  return rc;
}
