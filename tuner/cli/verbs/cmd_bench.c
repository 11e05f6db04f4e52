/* cmd_bench.c -- autotune bench: time the kernel that libtuned serves beside the template's default
 * or a vendor's library.
 *
 * All contenders get the same buffers and are timed interleaved, so that clocks, temperature and
 * cache are the same for all; ratios are of medians. An untuned problem is served with a
 * neighbour's configuration or the default; the column `origin` says so. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "break_even.h"
#include "bench_case.h"
#include "bench_report.h"
#include "cli.h"
#include "emu.h"
#include "data_features.h"
#include "problem_list.h"
#include "print.h"
#include "open_device.h"
#include "suite.h"
#include "tuned.h"
#include "verbs.h"

typedef struct bench_run {
  const cli *c;
  arena memory;
  bench_place place;
  suite suite;
  const peer_kind *peer; /* NULL: none */
  tuned_context *served;
  problem_list tuning;
  problem_list_process *tuner; /* NULL: problems are not tuned first */
  const volatile sig_atomic_t *stop;
  int64_t rounds;
  rt_timing how;
  bench_report report;
  bench_row *rows; /* of the suite's problems */
  size_t n_shown, n_failed;
} bench_run;

static const char SERVED[] = "the kernel that is served", PLAIN[] = "the default",
                  GIVEN[] = "the given configuration";

/* ---- contenders ------------------------------------------------------------------------------ */

/* The configuration that libtuned serves, and its origin. */
static int find_served(bench_run *r, const gen_problem *p, tuned_kernel_info *info,
                       gen_config *config, err *e) {
  auto_str canonical = {0}, problem = {0};
  tuned_kernel *kernel;
  tuned_error why = {0};
  gen_problem_text(r->place.t, p, &canonical);
  const char *fields = strchr(str_text(&canonical), ' ');
  str_addf(&problem, "%s%s", r->c->words[0], fields ? fields : "");
  TRY(problem.failed || canonical.failed ? err_nomem(e) : 0);
  int rc = tuned_find(r->served, str_text(&problem), &kernel, &why);
  rc = rc ? rc : tuned_info(kernel, info, &why);
  return rc ? err_at(e, rc, why.place, "%s", why.message)
            : gen_config_parse(r->place.t, info->config, config, e);
}

/* The default replaces a missing peer; for a single problem it is timed as well as the peer. */
static bool wants_plain(const bench_run *r) {
  return !r->peer || r->suite.n == 1;
}

/* A peer that does not support this problem leaves its columns empty. */
static int add_peer(bench_run *r, bench_case *x, err *e) {
  err why = {0};
  int rc = r->peer ? bench_case_add_peer(x, r->peer, &why) : 0;
  if (rc == ERR_USAGE && r->suite.n > 1) {
    fprintf(stderr, "autotune: %s\n", why.message);
    return 0;
  }
  return err_copy(e, rc, &why);
}

static int add_given(bench_run *r, bench_case *x, err *e) {
  gen_config given;
  if (!r->c->config) {
    return 0;
  }
  TRY(gen_config_parse(r->place.t, r->c->config, &given, e));
  TRY(gen_config_check(x->g, &given, e));
  return bench_case_add(x, &given, GIVEN, e);
}

static int add_contenders(bench_run *r, bench_case *x, const gen_config *served, err *e) {
  gen_config plain;
  gen_config_default(r->place.t, &plain);
  TRY(bench_case_add(x, served, SERVED, e));
  if (wants_plain(r) && !gen_config_equal(r->place.t, served, &plain)) {
    TRY(bench_case_add(x, &plain, PLAIN, e));
  }
  TRY(add_given(r, x, e));
  return add_peer(r, x, e);
}

/* ---- one problem ----------------------------------------------------------------------------- */

static bench_time time_of(const bench_entrant *n) {
  return (bench_time){n->times.median, rt_times_spread(&n->times), n->error};
}

static void fill_times(bench_run *r, const bench_case *x, bench_row *row) {
  row->ours = time_of(&x->e[0]);
  for (size_t i = 1; i < x->n; i++) {
    const bench_entrant *n = &x->e[i];
    *(n->is_peer ? &row->peer : n->name == GIVEN ? &row->given : &row->plain) = time_of(n);
    if (n->is_peer) {
      r->report.version = arena_text(&r->memory, n->peer.version);
      row->differs = n->differs ? arena_text(&r->memory, n->differs) : NULL;
    }
  }
  if (wants_plain(r) && !(row->plain.sec > 0)) { /* the served kernel is the default */
    row->plain = row->ours;
  }
}

static int fill_texts(bench_run *r, const gen_problem *p, const tuned_kernel_info *info,
                      bench_row *row, err *e) {
  auto_str problem = {0};
  gen_problem_text(r->place.t, p, &problem);
  row->problem = problem.failed ? NULL : arena_text(&r->memory, str_text(&problem));
  row->origin = tuned_origin_name(info->origin);
  row->config = info->config;
  row->tuned_for = info->tuned_problem;
  return row->problem ? 0 : err_nomem(e);
}

static int run_case(bench_run *r, bench_case *x, gen_problem *p, bench_row *row, err *e) {
  tuned_kernel_info info;
  gen_config config;
  bool compute;
  TRY(rt_features_find(r->place.device, r->place.compiler, r->place.t, p, e));
  TRY(find_served(r, p, &info, &config, e));
  TRY(fill_texts(r, p, &info, row, e));
  TRY(bench_case_open(x, &r->place, p, e));
  TRY(add_contenders(r, x, &config, e));
  TRY(bench_case_check(x, e));
  TRY(bench_case_race(x, r->rounds, &r->how, e));
  fill_times(r, x, row);
  row->floor_sec = rate_floor(&r->place.device->info, x->flops, x->bytes, &compute);
  return 0;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void add_detail(const bench_run *r, const char *name, const bench_time *t, const char *what,
                       double flops, double bytes, str *s) {
  auto_str time = {0};
  const size_t start = s->n;
  if (!(t->sec > 0)) {
    return;
  }
  format_sec(&time, t->sec);
  str_addf(s, "  %-8s %9s +-%4.1f %%  ", name, str_text(&time), 50 * t->spread);
  str_reset(&time);
  format_rate(&time, &r->place.device->info, flops, bytes, t->sec);
  str_addf(s, "%-28s", str_text(&time));
  if (!isnan(t->error)) {
    str_addf(s, "  error %.2g", t->error);
  }
  str_addf(s, "  %s\n", what ? what : "");
  fit_line(s, start);
}

static void print_origin(const bench_run *r, const bench_row *row, str *s) {
  if (strcmp(row->origin, "exact")) {
    str_addf(s, "  not tuned yet: served by the %s%s%s; autotune %s%s\n", row->origin,
             row->tuned_for ? " " : "", row->tuned_for ? row->tuned_for : "", r->c->words[0],
             row->problem + strcspn(row->problem, " "));
  }
}

static void add_config(const bench_run *r, const bench_case *x, const bench_row *row,
                       const char *name, const bench_time *t, const char *config, str *s) {
  auto_str words = {0};
  if (t->sec > 0) {
    config_words(r->place.t, &r->place.device->info, row->problem, config, &words);
    add_detail(r, name, t, str_text(&words), x->flops, x->bytes, s);
  }
}

static void add_preparations(const bench_case *x, str *s) {
  prepared_time list[BENCH_ENTRANTS];
  for (size_t i = 0; i < x->n; i++) {
    const rt_times *t = &x->e[i].times;
    list[i] = (prepared_time){x->e[i].name, t->median, t->prepare_sec};
  }
  break_even_text(list, x->n, gen_uses(x->place->t, &x->problem), s);
}

/* For a single problem, print the configurations of the contenders. */
static void print_alone(bench_run *r, const bench_case *x, const bench_row *row) {
  str s = {0};
  str_addf(&s, "%s on %s, %s L2%s%s\n", row->problem, r->report.device, r->c->hot ? "hot" : "cold",
           r->report.graph ? ", in CUDA graphs" : "",
           r->report.modelled ? " (emulated: times are modelled)" : "");
  add_config(r, x, row, "ours", &row->ours, row->config, &s);
  add_config(r, x, row, "default", &row->plain, "", &s);
  add_config(r, x, row, "given", &row->given, r->c->config, &s);
  add_detail(r, r->peer ? r->peer->name : "", &row->peer, r->report.version, x->flops, x->bytes,
             &s);
  if (row->peer.sec > 0) {
    bench_report_differs(&r->report, row, &s);
    str_addf(&s, "  %.2f x %s\n", row->peer.sec / row->ours.sec, r->peer->name);
  }
  str_addf(&s, "  %.2f x the default\n", row->plain.sec / row->ours.sec);
  if (row->given.sec > 0) {
    str_addf(&s, "  %.2f x the given one\n", row->given.sec / row->ours.sec);
  }
  add_preparations(x, &s);
  print_origin(r, row, &s);
  print_str(&s);
}

static void print_row(bench_run *r, const bench_case *x, const bench_row *row) {
  str s = {0};
  if (r->c->json) {
    bench_report_row_json(&r->report, row, &s);
  } else if (r->suite.n == 1) {
    print_alone(r, x, row);
  } else {
    if (!r->n_shown++) {
      bench_report_head(&r->report, &s);
    }
    bench_report_row(&r->report, row, &s);
  }
  print_str(&s);
  fflush(stdout);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* A failure of one problem (too large for the memory, say) is reported, and the others continue,
 * unless the device is lost. */
static int bench_one(bench_run *r, size_t i, err *e) {
  bench_case x = {0};
  err why = {0};
  const char *text = r->rows[i].label = r->suite.texts[i];
  TRY(r->tuner ? problem_list_tune_one(r->tuner, i, r->stop, e) : 0);
  int rc = run_case(r, &x, &r->suite.p[i], &r->rows[i], &why);
  if (!rc) {
    bench_report_count(&r->report, &r->rows[i]);
    print_row(r, &x, &r->rows[i]);
  }
  bench_case_close(&x);
  if (rc == ERR_INTERRUPTED) {
    return err_set(e, rc, "%s", why.message);
  }
  if (rc && (r->suite.n == 1 || r->place.device->dead)) {
    return err_at(e, rc, why.place, "%s: %s", text, why.message);
  }
  if (rc) {
    fprintf(stderr, "autotune: %s: %s%s%s\n", text, why.place, why.place[0] ? ": " : "",
            why.message);
    r->n_failed += rc != ERR_USAGE; /* an empty problem, say */
  }
  return 0;
}

static int plot(const bench_run *r, err *e) {
  str s = {0};
  bench_report_plot(&r->report, r->rows, r->suite.n, &s);
  return print_file(r->c->plot, &s, e);
}

/* Announce what may take long; it can be interrupted. */
static void foresee(const bench_run *r) {
  if (rt_emu_is(r->place.device)) {
    rt_emu_set_stop(r->place.device, r->stop);
    if (!r->c->quiet && isatty(STDERR_FILENO)) {
      fprintf(stderr,
              "emu: all but large problems run on the CPU and are checked, which takes minutes for "
              "millions of elements; times are modelled\n");
    }
  }
}

static int bench_all(bench_run *r, err *e) {
  str s = {0};
  foresee(r);
  for (size_t i = 0; i < r->suite.n; i++) {
    if (*r->stop) {
      return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    TRY(bench_one(r, i, e));
  }
  if (r->c->json) {
    bench_report_end_json(&r->report, &s);
  } else if (r->suite.n > 1) {
    bench_report_end(&r->report, &s);
  }
  print_str(&s);
  TRY(r->c->plot ? plot(r, e) : 0);
  return r->n_failed
             ? err_set(e, ERR_LIMIT, "%zu of %zu problems were not timed", r->n_failed, r->suite.n)
             : 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int one_problem(bench_run *r, err *e) {
  auto_str text = {0};
  TRY(cli_fields(r->c, &text, e));
  const char *texts[] = {str_text(&text)};
  return suite_of(r->place.t, texts, 1, &r->memory, &r->suite, e);
}

static bool is_emulated(const cli *c) {
  return rt_names_emulator(cli_device(c));
}

static int open_suite(bench_run *r, err *e) {
  gen_template *t = r->place.t;
  const bool emu = is_emulated(r->c);
  if (r->c->suite && r->c->n_words > 1) {
    return err_set(e, ERR_USAGE, "a suite has its own problems: leave out '%s' or --suite",
                   r->c->words[1]);
  }
  if (r->c->suite) {
    return suite_open(t, r->c->suite, &r->memory, &r->suite, e);
  }
  if (r->c->n_words > 1) {
    return one_problem(r, e);
  }
  return suite_of(t, emu ? t->sizes_emu : t->sizes_bench, emu ? t->n_sizes_emu : t->n_sizes_bench,
                  &r->memory, &r->suite, e);
}

/* libtuned opens the device and the database itself, as in a program. */
static int open_served(bench_run *r, err *e) {
  tuned_error why = {0};
  auto_str folders = {0};
  const char *variable = secure_getenv("TUNED_TEMPLATES");
  str_addf(&folders, "%s%s%s", r->c->templates ? r->c->templates : "",
           r->c->templates && variable ? ":" : "", variable ? variable : "");
  tuned_options o = {
      .device = cli_device(r->c), .database = r->c->db, .templates = str_text(&folders), .wait = 1};
  int rc = tuned_open(&r->served, &o, &why);
  return rc ? err_at(e, rc, why.place, "%s", why.message) : 0;
}

static void open_report(bench_run *r) {
  const rt_info *info = &r->place.device->info;
  r->report = (bench_report){.device = info->name,
                             .family = r->place.t->name,
                             .peer = r->peer ? r->peer->name : NULL,
                             .modelled = info->modelled,
                             .hot = r->how.hot,
                             .graph = r->how.replay == RT_GRAPH,
                             .errors = r->c->error != NULL,
                             .width = 7};
  for (size_t i = 0; i < r->suite.n; i++) {
    int n = (int)strlen(r->suite.texts[i]);
    r->report.width = n > r->report.width ? n : r->report.width;
  }
}

/* Called before this process opens the device. Each problem is tuned in its turn, so that finished
 * rows are printed. */
static int open_tuner(bench_run *r, err *e) {
  r->tuning = (problem_list){.c = r->c, .t = r->place.t};
  if (!r->c->tune) {
    return 0;
  }
  TRY(budget_parse("tune", r->c->tune, &r->memory, &r->tuning.budget, e));
  return problem_list_open(&r->tuning, r->suite.p, r->suite.n, &r->tuner, e);
}

/* Before any tuning, which may take long. */
static int find_peer(bench_run *r, err *e) {
  if (!r->c->vs) {
    return 0;
  }
  TRY(peer_find(r->c->vs, r->place.t, &r->peer, e));
  if (is_emulated(r->c) && !r->peer->config) {
    return err_set(e, ERR_USAGE,
                   "%s needs a GPU, and %s is emulated: bench without --vs, or with --device 0",
                   r->peer->name, cli_device(r->c));
  }
  return r->peer->prepare ? r->peer->prepare(r->place.t, NULL, 0, NULL, e) : 0;
}

static int open_all(bench_run *r, err *e) {
  const cli *c = r->c;
  TRY(cli_race(c, 25, &r->rounds, &r->how, e));
  TRY(cli_open_template(c, &r->memory, &r->place.t, e));
  TRY(open_suite(r, e));
  if (c->config && r->suite.n != 1) {
    return err_set(e, ERR_USAGE, "--config is for one problem: bench %s FIELD=VALUE ...",
                   c->words[0]);
  }
  TRY(find_peer(r, e));
  r->rows = ARENA_ARRAY(&r->memory, bench_row, r->suite.n + 1);
  TRY(r->rows ? 0 : err_nomem(e));
  TRY(open_tuner(r, e));
  TRY(bench_place_open(&r->place, cli_device(c), e));
  TRY(r->peer ? peer_prepare(r->peer, r->place.t, r->suite.p, r->suite.n, r->place.device, e) : 0);
  TRY(open_served(r, e));
  open_report(r);
  return 0;
}

int cmd_bench(const cli *c, err *e) {
  bench_run r = {.c = c, .stop = cli_catch_signals()};
  int rc = open_all(&r, e);
  rc = rc ? rc : bench_all(&r, e);
  problem_list_close(r.tuner);
  tuned_close(r.served);
  bench_place_close(&r.place);
  arena_clear(&r.memory);
  return rc;
}
