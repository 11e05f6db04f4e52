/* test_tune.c -- tuning with candidates that fail in every way: each failure costs one row, the
 * other candidates are measured, and none is measured twice.
 *   build/tests/test_tune [--device NAME] */
#define _GNU_SOURCE
#include "check.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "tune.h"
#include "gen.h"
#include "h200.h"

static const char *device = "emu";

/* y = 2x, in one right way and several wrong ones. */
static const char text[] =
    "return {\n"
    "  name = 'faults', version = 1, brief = 'x', cite = 'x',\n"
    "  problem = { { 'n', 1, 2^20, default = 1000 } },\n"
    "  args = { { 'n', 'i32', value = 'n' }, { 'x', 'f32', 'in', count = 'n', fill = { 'uniform', "
    "-1, 1 } },\n"
    "    { 'y', 'f32', 'out', count = 'n' } },\n"
    "  space = { { 'WAY', { 'right', 'wrong', 'late', 'past', 'input', 'wild', 'broken', 'greedy', "
    "'trap' } },\n"
    "    { 'BLOCK', { 64, 128 } } },\n"
    "  derive = { { 'SMEM', \"sel(WAY == 'greedy', dev_smem_block + 16, 0)\" } }, require = {},\n"
    "  default = { WAY = 'right', BLOCK = 64 },\n"
    "  stages = { { kernel = 'k', grid = 'ceildiv(n, BLOCK)', block = 'BLOCK',\n"
    "    args = { 'n', 'x', 'y' } } },\n"
    "  source = [[\n"
    "extern \"C\" __global__ void k(int n, float *x, float *y) {\n"
    "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "@ if WAY == 'broken' then\n"
    "  int z = nothing;\n"
    "@ elseif WAY == 'greedy' then\n"
    "  __shared__ float much[1 << 20]; much[threadIdx.x] = x[i]; y[i] = much[threadIdx.x ^ 1];\n"
    "@ elseif WAY == 'wild' then\n"
    "  y[(1ll << 40) + i] = 1;\n"
    "@ elseif WAY == 'trap' then\n"
    "  asm(\"trap;\");\n"
    "@ end\n"
    "  if (i < n) y[i] = (WAY == WAY_wrong && i == 7 ? 3 : 2) * x[i];\n"
    "  if (WAY == WAY_late && i == n - 1) y[i] = y[0] / 0.0f - y[0] / 0.0f;\n"
    "  if (WAY == WAY_past && i == 0) y[n] = 1;\n"
    "  if (WAY == WAY_input && i == 0) x[n - 1] = 17;\n"
    "}\n"
    "]],\n"
    "  reference = { stages = { { kernel = 'r', grid = 'ceildiv(n, 256)', block = '256', args = { "
    "'n', 'x', 'y' } } },\n"
    "    source = [[\n"
    "extern \"C\" __global__ void r(int n, const float *x, float *y) {\n"
    "  const int i = blockIdx.x * 256 + threadIdx.x;\n"
    "  if (i < n) y[i] = 2 * x[i];\n"
    "}\n"
    "]] },\n"
    "  tolerance = { abs = 0, rel = 0 }, flops = 'n', bytes = '8 * n',\n"
    "  sizes = { emu = { 'n=1000' }, test = { 'n=1000' }, bench = { 'n=1000' } },\n"
    "}\n";

typedef struct bed {
  char folder[40], path[64], base[64];
  gen_template *t;
  rt_compiler *c;
  db *d;
  tune_session *s;
  gen_problem p;
  volatile sig_atomic_t stop;
  uint64_t stop_after; /* trials; 0: never */
  err e;
} bed;

static void on_report(void *self, const tune_state *s, const db_result *trial) {
  bed *b = self;
  if (trial && b->stop_after && s->tried >= b->stop_after) {
    b->stop = 1;
  }
}

static void open_session(bed *b, uint64_t trials) {
  tune_options o = {.device = device,
                    .jobs = 2,
                    .seed = 1,
                    .strategy = &search_random,
                    .budget = {.trials = trials},
                    .stop = &b->stop,
                    .report = on_report,
                    .report_self = b};
  assert_ok(db_open(b->base, DB_WRITE, &b->d, &b->e), &b->e);
  assert_ok(tune_open(b->t, b->d, b->c, &o, &b->s, &b->e), &b->e);
}

static void close_session(bed *b) {
  tune_close(b->s);
  db_close(b->d);
  b->s = NULL;
  b->d = NULL;
}

static int lay(void **state) {
  bed *b = calloc(1, sizeof *b);
  strcpy(b->folder, "/tmp/tuned-tune-XXXXXX");
  assert_non_null(mkdtemp(b->folder));
  snprintf(b->path, sizeof b->path, "%s/faults.lua", b->folder);
  snprintf(b->base, sizeof b->base, "%s/tuned.db", b->folder);
  assert_ok(file_write(b->path, text, sizeof text - 1, &b->e), &b->e);
  gen_options o = {0};
  assert_ok(gen_open(&o, b->path, &b->t, &b->e), &b->e);
  assert_ok(gen_problem_parse(b->t, "", &b->p, &b->e), &b->e);
  assert_ok(rt_compiler_open(&b->c, &b->e), &b->e);
  *state = b;
  return 0;
}

static int clear(void **state) {
  bed *b = *state;
  char command[80];
  snprintf(command, sizeof command, "rm -r %s", b->folder);
  rt_compiler_close(b->c);
  gen_close(b->t);
  free(b);
  return system(command);
}

#define BED_TEST(name) TEST_ON(name, bed, b, state_of, lay, clear)

static db_result *rows_of(bed *b, arena *a, size_t *n) {
  db_result *rows;
  auto_str problem = {0};
  gen_problem_text(b->t, &b->p, &problem);
  assert_ok(db_results(b->d, tune_template_id(b->s), tune_device_id(b->s), str_text(&problem), a,
                       &rows, n, &b->e),
            &b->e);
  return rows;
}

static void expect(const db_result *rows, size_t n, const char *way, db_status status,
                   const char *words) {
  size_t seen = 0;
  char text_of[32];
  snprintf(text_of, sizeof text_of, "WAY=%s,", way);
  for (size_t i = 0; i < n; i++) {
    if (strncmp(rows[i].t.config, text_of, strlen(text_of))) {
      continue;
    }
    seen++;
    const char *reason = rows[i].t.reason ? rows[i].t.reason : "";
    if (rows[i].t.status != status || !strstr(reason, words)) {
      fail_msg("%s is '%s', %s; wanted '%s', %s", way, db_status_name(rows[i].t.status), reason,
               db_status_name(status), words);
    }
  }
  assert_int_equal(seen, 2);
}

BED_TEST(every_fault_costs_its_own_row) {
  auto_arena a = {0};
  tune_state last;
  size_t n;
  open_session(b, 1000);
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  assert_int_equal(last.tried, 18);
  db_result *rows = rows_of(b, &a, &n);
  assert_int_equal(n, 18);
  expect(rows, n, "right", DB_OK, "");
  expect(rows, n, "wrong", DB_WRONG, "y[7]");
  expect(rows, n, "late", DB_WRONG, "y[999]");
  expect(rows, n, "broken", DB_COMPILE, "nothing");
  assert_true(rows[0].t.status == DB_OK && rows[1].t.status == DB_OK);
  for (size_t i = 2; i < n; i++) { /* each of these fails some check */
    assert_true(rows[i].t.status != DB_OK);
    assert_true(rows[i].t.reason && rows[i].t.reason[0]);
  }
  close_session(b);
}

BED_TEST(what_is_known_is_not_measured_again) {
  tune_state last;
  open_session(b, 5);
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  assert_int_equal(last.tried, 5);
  close_session(b);
  open_session(b, 5);
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  assert_int_equal(last.tried, 0);
  assert_int_equal(last.known, 5);
  assert_true(last.best_sec < 1); /* the default came first */
  close_session(b);
  open_session(b, 9);
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  assert_int_equal(last.tried, 4);
  close_session(b);
}

BED_TEST(an_interrupted_search_goes_on) {
  tune_state last;
  b->stop_after = 3;
  open_session(b, 12);
  assert_fails(tune_problem(b->s, &b->p, &last, &b->e), &b->e, ERR_INTERRUPTED, "the same command");
  uint64_t first = last.tried;
  assert_true(first >= 3 && first < 12);
  close_session(b);
  b->stop_after = b->stop = 0;
  err_clear(&b->e);
  open_session(b, 12);
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  assert_int_equal(last.known, first);
  assert_int_equal(last.known + last.tried, 12);
  close_session(b);
}

BED_TEST(the_default_is_tried_first) {
  auto_arena a = {0};
  tune_state last;
  size_t n;
  open_session(b, 1);
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  db_result *rows = rows_of(b, &a, &n);
  assert_int_equal(n, 1);
  assert_string_equal(rows[0].t.config, "WAY=right,BLOCK=64");
  close_session(b);
}

/* A result of another size, as an earlier run would have left it. */
static void tuned_before(bed *b, const char *problem, const char *config) {
  int64_t trial;
  const db_trial row = {.problem = problem, .config = config, .status = DB_OK};
  assert_ok(db_trial_put(b->d, tune_template_id(b->s), tune_device_id(b->s), &row, &trial, &b->e),
            &b->e);
  assert_ok(db_estimate_put(b->d, trial, TUNE_MODEL, 1e-6, &b->e), &b->e);
  assert_ok(db_sample_put(b->d, trial, &(db_sample){.median = 1e-6, .launches = 1}, &b->e), &b->e);
}

static bool is_known(const db_result *rows, size_t n, const char *config) {
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(rows[i].t.config, config)) {
      return true;
    }
  }
  return false;
}

/* The default, which may be slow, comes after the first result to compare it with. */
BED_TEST(the_best_of_the_nearest_size_comes_first) {
  auto_arena a = {0};
  tune_state last;
  size_t n;
  open_session(b, 1);
  tuned_before(b, "faults n=900000", "WAY=wild,BLOCK=128");
  tuned_before(b, "faults n=2000", "WAY=late,BLOCK=128");
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  db_result *rows = rows_of(b, &a, &n);
  assert_int_equal(n, 1);
  assert_string_equal(rows[0].t.config, "WAY=late,BLOCK=128");
  close_session(b);
  open_session(b, 3);
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  rows = rows_of(b, &a, &n);
  assert_int_equal(n, 3);
  assert_true(is_known(rows, n, "WAY=right,BLOCK=64"));
  assert_true(is_known(rows, n, "WAY=late,BLOCK=128"));
  assert_true(is_known(rows, n, "WAY=wild,BLOCK=128"));
  assert_in_range(last.settled, 0, 2); /* those known already, or the first to be compiled */
  close_session(b);
}

/* Another size has the same source: the images of its neighbour are tried without a compiler. */
BED_TEST(a_neighbours_images_are_used) {
  tune_state last;
  open_session(b, 18);
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  assert_true(last.phases.compile > 0);
  close_session(b);
  open_session(b, 2);
  assert_ok(gen_problem_parse(b->t, "n=999", &b->p, &b->e), &b->e);
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  assert_int_equal(last.tried, 2);
  assert_int_equal(last.failed[DB_OK], 2);
  assert_true(last.phases.compile == 0);
  close_session(b);
}

BED_TEST(the_phases_add_up) {
  tune_state last;
  open_session(b, 6);
  assert_ok(tune_problem(b->s, &b->p, &last, &b->e), &b->e);
  const tune_phases *p = &last.phases;
  const double here = p->setup + p->generate + p->search + p->store + p->wait + p->finals;
  assert_true(p->compile > 0 && p->check > 0 && p->measure > 0 && p->load > 0);
  assert_true(here > 0.9 * last.sec && here <= last.sec * 1.001);
  assert_true(p->load + p->check + p->measure <= last.sec);
  assert_int_equal(p->jobs, 2);
  close_session(b);
}

/* ---- objectives ------------------------------------------------------------------------------- */

typedef struct goals { /* an objective of saxpy */
  gen_template *t;
  gen_instance *g;
  arena a;
  tune_objective o;
  scorer s;
  err e;
} goals;

static int goals_open(goals *x, const char *objective) {
  gen_problem p;
  *x = (goals){.t = NULL};
  assert_ok(gen_open(NULL, "saxpy", &x->t, &x->e), &x->e);
  assert_ok(gen_problem_parse(x->t, "n=1000", &p, &x->e), &x->e);
  assert_ok(gen_instance_new(x->t, &p, h200, N_H200, &x->g, &x->e), &x->e);
  TRY(tune_objective_parse(x->t, objective, &x->a, &x->o, &x->e));
  return scorer_init(&x->s, &x->o, x->t, x->g, &x->e);
}

static void goals_close(goals *x) {
  gen_instance_free(x->g);
  gen_close(x->t);
  arena_clear(&x->a);
}

static double goals_score(goals *x, double sec, double joules, double registers) {
  gen_config c;
  const double values[GEN_MEASURED] = {[GEN_MEASURED_sec] = sec,
                                       [GEN_MEASURED_joules] = joules,
                                       [GEN_MEASURED_registers] = registers};
  gen_config_default(x->t, &c);
  return scorer_score(&x->s, &c, values, NULL);
}

TEST(test_objectives_score) {
  static const struct {
    const char *text;
    double score; /* of 0.5 s, 4 J, 16 registers; saxpy has 2 operations an element */
    bool is_time;
  } cases[] = {{"time", 0.5, true},
               {"energy", 4, false},
               {"edp", 2, false},
               {"flops/joules", 1.0 / 500, false},
               {"min flops/joules", 500, false},
               {"sec, registers", 2.8284271247461903, false},
               {"max(sec, joules), energy", 4, false},
               {"max BLOCK", 1.0 / 256, false},
               {"min spill", 1e-12, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    goals x;
    assert_ok(goals_open(&x, cases[i].text), &x.e);
    assert_true(fabs(goals_score(&x, 0.5, 4, 16) / cases[i].score - 1) < 1e-9);
    assert_int_equal(tune_objective_is_time(&x.o), cases[i].is_time);
    goals_close(&x);
  }
}

TEST(test_objectives_that_mean_nothing) {
  static const char *const wrong[][2] = {{"speed", "there is no 'speed'"},
                                         {"BLOCK", "write \"min BLOCK\" or \"max BLOCK\""},
                                         {"joules / sec", "\"min joules / sec\""},
                                         {"time,", "an expression is empty"},
                                         {"sec,sec,sec,sec,sec", "more than 4"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    goals x;
    assert_fails(goals_open(&x, wrong[i][0]), &x.e, ERR_USAGE, wrong[i][1]);
    goals_close(&x);
  }
}

TEST(test_what_nothing_beats_is_the_front) {
  static const double values[][OBJECTIVE_MOST] = {{1, 5}, {2, 5}, {2, 9}, {3, 9}, {1, 5}, {0.5, 1}};
  static const bool wanted[] = {true, false, true, false, true, true};
  bool front[6];
  goals x;
  assert_ok(goals_open(&x, "time, flops/sec"), &x.e);
  pareto_front(&x.s, values, 6, front);
  assert_memory_equal(front, wanted, sizeof wanted);
  goals_close(&x);
}

int main(int argc, char **argv) {
  device = device_argument(argc, argv, "emu");
  return tests_run();
}
