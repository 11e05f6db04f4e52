#define _GNU_SOURCE
#include "crew.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "file.h"
#include "threads.h"
#include "tune.h"

enum { MAX_JOBS = 256, TIMEOUT_SEC = 120 };

/* ---- opening -------------------------------------------------------------------------------- */

static int register_device(crew *k, rt_replay replay, err *e) {
  str key = {0};
  tune_device_key(&k->m.info, replay, &key);
  const db_device row = {
      .key = str_text(&key), .name = k->m.info.name, .cc = k->m.info.cc, .sms = k->m.info.sms};
  const int rc = db_device_put(k->db, &row, &k->device_id, e);
  str_clear(&key);
  return rc;
}

static int register_template(crew *k, const gen_template *t, err *e) {
  const db_template row = {
      .family = t->name, .hash = t->hash, .path = t->path, .version = t->version};
  return db_template_put(k->db, &row, &k->template_id, e);
}

static int start_compilers(crew *k, int wanted, err *e) {
  const size_t jobs = wanted > 0 ? (size_t)wanted : threads_cores();
  k->n_jobs = jobs < MAX_JOBS ? jobs : MAX_JOBS;
  k->jobs = calloc(k->n_jobs, sizeof *k->jobs);
  k->slots = calloc(k->n_jobs, sizeof *k->slots);
  if (!k->jobs || !k->slots) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  snprintf(k->setting.arch, sizeof k->setting.arch, "%s", k->m.info.arch);
  k->setting.compiler = k->compiler;
  k->setting.lineinfo = k->setting.registers = k->m.info.format == RT_PTX;
  for (size_t i = 0; i < k->n_jobs; i++) {
    k->jobs[i].run = compile_worker_main;
    k->jobs[i].setting = &k->setting;
    TRY(worker_start(&k->jobs[i], e));
  }
  return 0;
}

int crew_open(crew *k, gen_template *t, db *d, rt_compiler *c, const crew_options *o,
              const crew_owner *owner, err *e) {
  *k = (crew){.db = d,
              .compiler = c,
              .owner = *owner,
              .timeout_sec = o->timeout_sec > 0 ? o->timeout_sec : TIMEOUT_SEC};
  TRY(measurer_start(&k->m, o->device, c, t, &o->how, e));
  TRY(register_device(k, o->how.replay, e));
  TRY(register_template(k, t, e));
  return start_compilers(k, o->jobs, e);
}

void crew_drop(crew *k) {
  for (size_t i = 0; i < k->n_jobs && k->jobs && k->slots; i++) {
    candidate_free(k->slots[i]);
    k->slots[i] = NULL;
    if (k->jobs[i].busy) {
      worker_stop(&k->jobs[i]);
    }
  }
  candidate_drop(&k->ready);
  candidate_free(k->measuring);
  k->measuring = NULL;
}

void crew_close(crew *k) {
  crew_drop(k);
  for (size_t i = 0; i < k->n_jobs && k->jobs; i++) {
    worker_stop(&k->jobs[i]);
  }
  measurer_stop(&k->m);
  free(k->jobs);
  free(k->slots);
  k->jobs = NULL;
  k->slots = NULL;
}

size_t crew_compiling(const crew *k) {
  size_t n = 0;
  for (size_t i = 0; i < k->n_jobs; i++) {
    n += k->slots[i] != NULL;
  }
  return n;
}

/* ---- the end of a candidate ----------------------------------------------------------------- */

static int finish(crew *k, candidate *c, const measured *m, err *e) {
  const int rc = k->owner.finish(k->owner.self, c, m, e);
  candidate_free(c);
  return rc;
}

static int fail(crew *k, candidate *c, db_status status, const err *why, err *e) {
  const measured m = {.status = status, .why = *why};
  return finish(k, c, &m, e);
}

/* ---- compiling ------------------------------------------------------------------------------ */

static int ask_compiler(worker *w, const candidate *c, str *frame, err *e) {
  TRY(w->pid ? 0 : worker_start(w, e));
  compile_worker_request(frame, str_text(&c->source), c->body);
  return worker_ask(w, frame, e);
}

int crew_compile(crew *k, size_t i, candidate *c, err *e) {
  str frame = {0};
  k->slots[i] = c;
  const int rc = ask_compiler(&k->jobs[i], c, &frame, e);
  str_clear(&frame);
  return rc;
}

static int keep_image(crew *k, candidate *c, const compiled *built, err *e) {
  const double from = now_sec();
  const int rc = candidate_built(c, k->db, built, k->setting.arch, rt_compiler_version(k->compiler),
                                 k->m.info.format, e);
  if (k->owner.built) {
    k->owner.built(k->owner.self, built->sec, now_sec() - from);
  }
  return rc;
}

static int take_built(crew *k, candidate *c, const str *frame, err *e) {
  compiled built = {0};
  int rc = compile_worker_result(frame, &built, e);
  if (!rc && built.why.code) {
    return fail(k, c, DB_COMPILE, &built.why, e);
  }
  rc = rc ? rc : keep_image(k, c, &built, e);
  if (rc || c->ahead) {
    candidate_free(c);
    return rc;
  }
  candidate_push(&k->ready, c);
  return 0;
}

static int compile_answer(crew *k, size_t i, err *e) {
  str frame = {0}, how = {0};
  candidate *c = k->slots[i];
  int rc;
  k->slots[i] = NULL;
  if (worker_answer(&k->jobs[i], &frame, &how, NULL)) {
    err why = {0};
    err_set(&why, ERR_COMPILE, "the compiler died: %s", str_text(&how));
    rc = fail(k, c, DB_CRASHED, &why, e);
  } else {
    rc = take_built(k, c, &frame, e);
  }
  str_clear(&frame);
  str_clear(&how);
  return rc;
}

static int wait_for_compiler(crew *k, worker *w, str *frame, err *e) {
  str how = {0};
  struct pollfd p = {.fd = w->fd, .events = POLLIN};
  if (poll(&p, 1, (int)(1000 * k->timeout_sec)) <= 0) {
    worker_stop(w);
    return err_set(e, ERR_COMPILE, "compiling took longer than %.0f s", k->timeout_sec);
  }
  const int rc = worker_answer(w, frame, &how, NULL);
  str_clear(&how);
  return rc ? err_set(e, ERR_COMPILE, "the compiler died") : 0;
}

int crew_compile_now(crew *k, candidate *c, err *e) {
  str frame = {0};
  compiled built = {0};
  int rc = ask_compiler(&k->jobs[0], c, &frame, e);
  rc = rc ? rc : wait_for_compiler(k, &k->jobs[0], &frame, e);
  rc = rc ? rc : compile_worker_result(&frame, &built, e);
  if (!rc && built.why.code) {
    rc = err_set(e, ERR_COMPILE, "%s", built.why.message);
  }
  rc = rc ? rc
          : candidate_built(c, k->db, &built, k->setting.arch, rt_compiler_version(k->compiler),
                            k->m.info.format, e);
  str_clear(&frame);
  return rc;
}

/* ---- measuring ------------------------------------------------------------------------------ */

int crew_measure(crew *k, candidate *c, double stop_above, double energy_above, err *e) {
  const measure_image image = {.config = c->config, .bytes = str_text(&c->image), .n = c->image.n};
  k->measuring = c;
  return measurer_ask(&k->m, &image, stop_above, energy_above, e);
}

static int restart(crew *k, double from, err *e) {
  TRY(measurer_restart(&k->m, e));
  if (k->owner.restarted) {
    k->owner.restarted(k->owner.self, now_sec() - from);
  }
  return 0;
}

/* The device gets its next candidate before the books are kept on the last one. */
static int measured_answer(crew *k, err *e) {
  measured m;
  candidate *c = k->measuring;
  k->measuring = NULL;
  const double from = now_sec();
  int rc = measurer_answer(&k->m, &m, e);
  if (!rc && m.dead) {
    rc = restart(k, from, e);
  }
  rc = rc ? rc : k->owner.next(k->owner.self, &m, e);
  if (rc) {
    candidate_free(c);
    return rc;
  }
  return finish(k, c, &m, e);
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Nobody waits for ever: a compiler or kernel past its time is killed and becomes a row. */
static int watch(crew *k, err *e) {
  const double now = now_sec();
  err why = {0};
  err_set(&why, ERR_LIMIT, "took longer than %.0f s", k->timeout_sec);
  for (size_t i = 0; i < k->n_jobs; i++) {
    if (k->slots[i] && now - k->jobs[i].since > k->timeout_sec) {
      candidate *c = k->slots[i];
      k->slots[i] = NULL;
      worker_stop(&k->jobs[i]);
      TRY(fail(k, c, DB_TIMEOUT, &why, e));
    }
  }
  if (k->measuring && now - k->m.w.since > k->timeout_sec) {
    candidate *c = k->measuring;
    k->measuring = NULL;
    TRY(fail(k, c, DB_TIMEOUT, &why, e));
    return restart(k, now, e);
  }
  return 0;
}

/* Who is asked: the measuring process first, since an idle device is what costs. */
static nfds_t list_busy(const crew *k, struct pollfd *fds, size_t *who) {
  nfds_t n = 0;
  if (k->measuring) {
    who[n] = k->n_jobs;
    fds[n++] = (struct pollfd){.fd = k->m.w.fd, .events = POLLIN};
  }
  for (size_t i = 0; i < k->n_jobs; i++) {
    if (k->slots[i]) {
      who[n] = i;
      fds[n++] = (struct pollfd){.fd = k->jobs[i].fd, .events = POLLIN};
    }
  }
  return n;
}

int crew_wait(crew *k, int msec, int *answers, double *sec, err *e) {
  struct pollfd fds[MAX_JOBS + 1];
  size_t who[MAX_JOBS + 1];
  const nfds_t n = list_busy(k, fds, who);
  const double from = now_sec();
  *answers = poll(fds, n, msec);
  *sec += now_sec() - from;
  if (*answers < 0) {
    return 0; /* a signal; the owner looks at the flag */
  }
  for (nfds_t i = 0; i < n; i++) {
    if (fds[i].revents) {
      TRY(who[i] == k->n_jobs ? measured_answer(k, e) : compile_answer(k, who[i], e));
    }
  }
  return watch(k, e);
}
