#define _GNU_SOURCE
#include "cached_compiler.h"
#include "problem_list.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tuning.h"
#include "worker.h"

typedef struct run_ {
  const problem_list *m;
  arena memory;
  db *db;
  rt_compiler *compiler;
  tune_session *session;
  progress progress;
} run_;

static int tune(run_ *r, const gen_problem *p, err *e) {
  tune_state last;
  int rc = tune_problem(r->session, p, &last, e);
  progress_end(&r->progress);
  return rc;
}

/* ---- a part of the space --------------------------------------------------------------------- */

/* Stored trials of this problem: all, and those inside the subspace. */
static int count(run_ *r, const char *problem, const search_subspace *w, size_t *n,
                 size_t *n_inside, double *sec, err *e) {
  const int64_t t = tune_template_id(r->session), d = tune_device_id(r->session);
  auto_arena a = {0};
  db_result *rows;
  *n_inside = 0;
  TRY(db_results(r->db, t, d, problem, &a, &rows, n, e));
  TRY(db_effort_get(r->db, t, d, problem, sec, e));
  for (size_t i = 0; i < *n; i++) {
    gen_config c;
    *n_inside +=
        !gen_config_parse(r->m->t, rows[i].t.config, &c, NULL) && c.index[w->param] == w->value;
  }
  return 0;
}

/* A session's budget counts all stored trials, here only those inside the subspace count. Initial
 * configurations lie anywhere, so the search is repeated with a larger budget until enough trials
 * lie inside, or nothing new is found. */
static int tune_part(run_ *r, const gen_problem *p, const char *problem, const search_subspace *w,
                     err *e) {
  const tune_budget wanted = r->m->budget;
  size_t n, n_inside, n_before = SIZE_MAX;
  double sec;
  TRY(count(r, problem, w, &n, &n_inside, &sec, e));
  while (n != n_before && !(wanted.trials && n_inside >= wanted.trials)) {
    const tune_budget budget = {.trials = wanted.trials ? wanted.trials + n - n_inside : 0,
                                .sec = wanted.sec > 0 ? wanted.sec + sec : 0};
    tune_narrow(r->session, w, &budget);
    TRY(tune(r, p, e));
    if (wanted.sec > 0) { /* spent */
      return 0;
    }
    n_before = n;
    TRY(count(r, problem, w, &n, &n_inside, &sec, e));
  }
  return 0;
}

static int tune_all_parts(run_ *r, const gen_problem *p, const char *problem, err *e) {
  for (size_t i = 0; i < r->m->n_within; i++) {
    TRY(tune_part(r, p, problem, &r->m->within[i], e));
  }
  return 0;
}

static int tune_parts(run_ *r, const gen_problem *p, err *e) {
  auto_str problem = {0};
  gen_problem_text(r->m->t, p, &problem);
  TRY(problem.failed ? err_nomem(e) : 0);
  return tune_all_parts(r, p, str_text(&problem), e);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int open_run(run_ *r, err *e) {
  tune_options o = {0};
  progress_init(&r->progress, false, r->m->c->quiet || r->m->c->json);
  o.budget = r->m->budget;
  TRY(tune_settings_common(r->m->c, &r->progress, &o, e));
  TRY(cli_open_db(r->m->c, DB_WRITE, &r->db, e));
  TRY(cached_compiler_open(&r->compiler, e));
  return tune_open(r->m->t, r->db, r->compiler, &o, &r->session, e);
}

static void close_run(run_ *r) {
  tune_close(r->session);
  rt_compiler_close(r->compiler);
  db_close(r->db);
  arena_clear(&r->memory);
}

/* The verb itself reports what is wrong with a problem. */
static int tune_one(run_ *r, const gen_problem *p, err *e) {
  err why = {0};
  gen_problem found = *p;
  int rc = tune_features(r->session, &found, &why);
  rc = rc ? rc : r->m->n_within ? tune_parts(r, &found, &why) : tune(r, &found, &why);
  return rc && rc != ERR_USAGE && rc != ERR_NOMEM ? err_copy(e, rc, &why) : 0;
}

int problem_list_tune(const problem_list *m, const gen_problem *p, size_t n, err *e) {
  run_ r = {.m = m};
  int rc = open_run(&r, e);
  for (size_t i = 0; !rc && i < n; i++) {
    rc = tune_one(&r, &p[i], e);
  }
  close_run(&r);
  return rc;
}

/* ---- in a process of its own ----------------------------------------------------------------- */

struct problem_list_process {
  const problem_list *m;
  const gen_problem *p;
  size_t n;
  worker w;
};

static int answer(int fd, const err *why) {
  auto_str frame = {0};
  wire_put_err(&frame, why);
  return wire_send(fd, &frame, NULL);
}

static void serve_one(const problem_list_process *x, run_ *r, const str *request, err *why) {
  wire_reader reader = {.p = str_text(request), .n = request->n};
  const uint64_t i = wire_get_u64(&reader);
  if (i < x->n && !tune_one(r, &x->p[i], why)) {
    tune_pause(r->session, why);
  }
}

static void child_main(int fd, void *setting) {
  const problem_list_process *x = setting;
  run_ r = {.m = x->m};
  auto_str request = {0};
  err why = {0};
  open_run(&r, &why);
  signal(SIGINT, SIG_IGN); /* the terminal sends it to both; the parent forwards it once */
  while (!answer(fd, &why) && !why.code && !wire_receive(fd, &request, NULL)) {
    serve_one(x, &r, &request, &why);
  }
  close_run(&r);
}

/* Forward the first signal that this process gets; the child then answers soon. */
static void await_answer(const worker *w, const volatile sig_atomic_t *stop) {
  enum { LOOK_MS = 200 };
  struct pollfd p = {.fd = w->fd, .events = POLLIN};
  bool forwarded = false;
  while (poll(&p, 1, LOOK_MS) <= 0) {
    if (stop && *stop && !forwarded) {
      kill(w->pid, SIGTERM);
      forwarded = true;
    }
  }
}

static int receive(problem_list_process *x, const volatile sig_atomic_t *stop, err *e) {
  auto_str frame = {0}, how = {0};
  err why = {0};
  await_answer(&x->w, stop);
  int rc = worker_answer(&x->w, &frame, &how, e);
  if (!rc) {
    wire_reader r = {.p = str_text(&frame), .n = frame.n};
    wire_get_err(&r, &why);
    rc = err_copy(e, why.code, &why);
  }
  return rc;
}

int problem_list_open(const problem_list *m, const gen_problem *p, size_t n,
                      problem_list_process **out, err *e) {
  problem_list_process *x = calloc(1, sizeof *x);
  TRY(x ? 0 : err_nomem(e));
  *x = (problem_list_process){.m = m, .p = p, .n = n, .w = {.run = child_main, .setting = x}};
  *out = x;
  TRY(worker_start(&x->w, e));
  return receive(x, NULL, e);
}

int problem_list_tune_one(problem_list_process *x, size_t i, const volatile sig_atomic_t *stop,
                          err *e) {
  auto_str frame = {0};
  wire_put_u64(&frame, i);
  TRY(worker_ask(&x->w, &frame, e));
  return receive(x, stop, e);
}

void problem_list_close(problem_list_process *x) {
  if (x) {
    worker_stop(&x->w);
    free(x);
  }
}
