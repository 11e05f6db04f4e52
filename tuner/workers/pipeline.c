#define _GNU_SOURCE
#include "pipeline.h"

#include <stdio.h>

#include "file.h"

enum { TIMEOUT_SEC = 120 };

/* ---- opening -------------------------------------------------------------------------------- */

void tune_device_key(const rt_info *info, rt_replay replay, str *key) {
  rt_device_key(info, key);
  str_add(key, replay == RT_GRAPH ? "|graphs" : "");
}

static int register_device(pipeline *k, rt_replay replay, err *e) {
  auto_str key = {0};
  tune_device_key(&k->m.info, replay, &key);
  TRY(key.failed ? err_nomem(e) : 0);
  const db_device row = {
      .key = str_text(&key), .name = k->m.info.name, .cc = k->m.info.cc, .sms = k->m.info.sms};
  return db_device_put(k->db, &row, &k->device_id, e);
}

static int register_template(pipeline *k, const gen_template *t, err *e) {
  const db_template row = {
      .family = t->name, .hash = t->hash, .path = t->path, .version = t->version};
  return db_template_put(k->db, &row, &k->template_id, e);
}

static int start_compilers(pipeline *k, int jobs, err *e) {
  compile_setting s = {.compiler = k->compiler};
  snprintf(s.arch, sizeof s.arch, "%s", k->m.info.arch);
  s.lineinfo = s.registers = k->m.info.format == RT_PTX;
  return worker_pool_open(&k->pool, &s, jobs, e);
}

int pipeline_open(pipeline *k, gen_template *t, db *d, rt_compiler *c, const pipeline_options *o,
                  const pipeline_owner *owner, err *e) {
  *k = (pipeline){.db = d,
                  .compiler = c,
                  .owner = *owner,
                  .timeout_sec = o->timeout_sec > 0 ? o->timeout_sec : TIMEOUT_SEC};
  TRY(measurer_start(&k->m, o->device, c, t, &o->how, e));
  TRY(register_device(k, o->how.replay, e));
  TRY(register_template(k, t, e));
  return start_compilers(k, o->jobs, e);
}

void pipeline_drop(pipeline *k) {
  for (size_t i = 0; i < k->pool.n; i++) {
    candidate_free(worker_pool_kill(&k->pool, i));
  }
  candidate_drop(&k->ready);
  candidate_free(k->measuring);
  k->measuring = NULL;
}

void pipeline_close(pipeline *k) {
  pipeline_drop(k);
  worker_pool_close(&k->pool);
  measurer_stop(&k->m);
}

/* ---- the end of a candidate ----------------------------------------------------------------- */

static int finish(pipeline *k, candidate *c, const measured *m, err *e) {
  const int rc = k->owner.finish(k->owner.self, c, m, e);
  candidate_free(c);
  return rc;
}

static int fail(pipeline *k, candidate *c, db_status status, const err *why, err *e) {
  const measured m = {.status = status, .why = *why};
  return finish(k, c, &m, e);
}

/* ---- compiling ------------------------------------------------------------------------------ */

candidate *pipeline_compiling(const pipeline *k, size_t i) {
  return k->pool.jobs[i];
}

int pipeline_compile(pipeline *k, size_t i, candidate *c, err *e) {
  return worker_pool_start(&k->pool, i, &c->source, c->body, c, e);
}

static int store_image(pipeline *k, candidate *c, const compiled *built, bool whole, err *e) {
  return candidate_built(c, k->db, built, k->pool.setting.arch, rt_compiler_version(k->compiler),
                         k->m.info.format, whole, e);
}

static int take_built(pipeline *k, candidate *c, const compiled *built, err *e) {
  const double from = now_sec();
  const int rc = store_image(k, c, built, false, e);
  if (k->owner.built) {
    k->owner.built(k->owner.self, built->sec, now_sec() - from);
  }
  if (rc || c->ahead) {
    candidate_free(c);
    return rc;
  }
  candidate_push(&k->ready, c);
  return 0;
}

static int take_compiled(pipeline *k, size_t i, err *e) {
  candidate *c = pipeline_compiling(k, i);
  auto_str frame = {0};
  compiled built;
  int rc = worker_pool_take(&k->pool, i, &frame, &built, e);
  if (rc) {
    candidate_free(c);
  } else if (built.why.code) {
    rc = fail(k, c, built.died ? DB_CRASHED : DB_COMPILE, &built.why, e);
  } else {
    rc = take_built(k, c, &built, e);
  }
  return rc;
}

int pipeline_compile_now(pipeline *k, candidate *c, err *e) {
  auto_str frame = {0};
  compiled built;
  TRY(worker_pool_compile(&k->pool, &c->source, c->body, k->timeout_sec, &frame, &built, e));
  return store_image(k, c, &built, true, e);
}

/* ---- measuring ------------------------------------------------------------------------------ */

int pipeline_measure(pipeline *k, candidate *c, double stop_above, double energy_above, err *e) {
  const measure_image image = {.config = c->config, .bytes = str_text(&c->image), .n = c->image.n};
  k->measuring = c;
  return measurer_ask(&k->m, &image, stop_above, energy_above, e);
}

static int restart(pipeline *k, double from, err *e) {
  TRY(measurer_restart(&k->m, e));
  if (k->owner.restarted) {
    k->owner.restarted(k->owner.self, now_sec() - from);
  }
  return 0;
}

/* The device gets its next candidate before the last result is stored. */
static int take_measured(pipeline *k, err *e) {
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

/* Kill each compilation or measurement that exceeds its time limit: it becomes a row. */
static int kill_overdue(pipeline *k, err *e) {
  const double now = now_sec();
  err why = {0};
  err_set(&why, ERR_LIMIT, "took longer than %.0f s", k->timeout_sec);
  for (size_t i = 0; i < k->pool.n; i++) {
    if (pipeline_compiling(k, i) && now - k->pool.workers[i].since > k->timeout_sec) {
      TRY(fail(k, worker_pool_kill(&k->pool, i), DB_TIMEOUT, &why, e));
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

int pipeline_wait(pipeline *k, int msec, int *answers, double *sec, err *e) {
  struct pollfd fds[1 + WORKER_POOL_MOST];
  size_t which[1 + WORKER_POOL_MOST], n_measuring = 0;
  if (k->measuring) { /* served first: an idle device costs most */
    fds[n_measuring++] = (struct pollfd){.fd = k->m.w.fd, .events = POLLIN};
  }
  const size_t n = worker_pool_poll(&k->pool, fds, which, n_measuring);
  const double from = now_sec();
  *answers = poll(fds, n, msec);
  *sec += now_sec() - from;
  if (*answers < 0) {
    return 0; /* a signal: the owner checks its flag */
  }
  for (size_t i = 0; i < n; i++) {
    if (fds[i].revents) {
      TRY(i < n_measuring ? take_measured(k, e) : take_compiled(k, which[i], e));
    }
  }
  return kill_overdue(k, e);
}
