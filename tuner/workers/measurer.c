#define _GNU_SOURCE
#include "measurer.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "trial.h"

/* ---- the child ------------------------------------------------------------------------------- */

enum { OP_PROBLEM, OP_TRIAL, OP_RACE, OP_FEATURES };

/* An empty problem frees the buffers. */
static void serve_problem(trial_state *s, wire_reader *r, str *frame) {
  err why = {0};
  const char *problem = wire_get_text(r), *data = wire_get_text(r);
  if (*problem) {
    trial_problem(s, problem, data, &why);
  } else {
    trial_forget(s);
  }
  wire_put_err(frame, &why);
}

static void serve_trial(trial_state *s, wire_reader *r, str *frame) {
  measure_image image = {0};
  measured m = {0};
  double stop_above = wire_get_f64(r), energy_above = wire_get_f64(r);
  measured_get_image(r, &image);
  trial_one(s, &image, isfinite(stop_above) ? stop_above : 0, energy_above, &m);
  measured_put(frame, &m);
}

static void serve_race(trial_state *s, wire_reader *r, str *frame) {
  auto_arena a = {0};
  size_t n = wire_get_u64(r), rounds = wire_get_u64(r);
  measure_image *images = ARENA_ARRAY(&a, measure_image, n);
  measured *out = ARENA_ARRAY(&a, measured, n);
  for (size_t i = 0; i < n; i++) {
    measured_get_image(r, &images[i]);
  }
  trial_race(s, images, n, rounds, out, &a);
  for (size_t i = 0; i < n; i++) {
    measured_put(frame, &out[i]);
  }
}

static void serve_features(trial_state *s, wire_reader *r, str *frame) {
  gen_problem p = {0};
  err why = {0};
  trial_features(s, wire_get_text(r), &p, &why);
  wire_put_err(frame, &why);
  for (size_t i = 0; i < s->t->n_fields; i++) {
    wire_put_u64(frame, (uint64_t)p.values[i].i);
  }
}

static void serve(trial_state *s, const str *request, str *frame) {
  static void (*const ops[])(trial_state *, wire_reader *,
                             str *) = {[OP_PROBLEM] = serve_problem,
                                       [OP_TRIAL] = serve_trial,
                                       [OP_RACE] = serve_race,
                                       [OP_FEATURES] = serve_features};
  wire_reader r = {.p = str_text(request), .n = request->n};
  uint64_t op = wire_get_u64(&r);
  if (op < sizeof ops / sizeof *ops) {
    ops[op](s, &r, frame);
  }
}

static int greet(int fd, const char *name, trial_state *s) {
  auto_str frame = {0};
  err why = {0}, note = {0};
  rt_info none = {0};
  int rc = trial_open(s, name, &note, &why);
  wire_put_err(&frame, &why);
  wire_put_bytes(&frame, rc ? &none : &s->device->info, sizeof none);
  wire_put_text(&frame, note.message);
  int sent = wire_send(fd, &frame, NULL);
  return rc ? rc : sent;
}

static void child_main(int fd, void *setting) {
  measurer *m = setting;
  trial_state s = {.compiler = m->compiler, .t = m->t, .how = m->how};
  str request = {0}, frame = {0};
  if (greet(fd, m->device, &s)) {
    return;
  }
  while (!wire_receive(fd, &request, NULL)) {
    str_reset(&frame);
    serve(&s, &request, &frame);
    if (wire_send(fd, &frame, NULL)) {
      break;
    }
  }
  /* The process ends here, which frees the device and its memory even when its context is dead. */
}

/* ---- the parent ------------------------------------------------------------------------------ */

enum { PATIENCE_SEC = 120 };

/* Wait for an answer that no candidate can delay for long. */
static int await(measurer *m, str *frame, err *e) {
  struct pollfd p = {.fd = m->w.fd, .events = POLLIN};
  double until = now_sec() + PATIENCE_SEC;
  int ready;
  do { /* Ctrl-C interrupts poll(); the answer is still needed for an orderly end */
    double left = until - now_sec();
    ready = poll(&p, 1, left > 0 ? (int)(left * 1000) : 0);
  } while (ready < 0);
  if (!ready) {
    worker_stop(&m->w);
    return err_set(e, ERR_LIMIT, "the measuring process did not answer for %d s and was killed",
                   PATIENCE_SEC);
  }
  auto_str how = {0};
  return worker_answer(&m->w, frame, &how, e);
}

static int start(measurer *m, err *e) {
  auto_str frame = {0};
  err why = {0};
  TRY(worker_start(&m->w, e));
  int rc = await(m, &frame, e);
  if (!rc) {
    wire_reader r = {.p = str_text(&frame), .n = frame.n};
    size_t n;
    wire_get_err(&r, &why);
    const void *info = wire_get_bytes(&r, &n);
    if (why.code) {
      rc = err_copy(e, why.code, &why);
    } else if (n == sizeof m->info) {
      memcpy(&m->info, info, n);
      snprintf(m->note, sizeof m->note, "%s", wire_get_text(&r));
    }
  }
  if (rc) {
    worker_stop(&m->w);
  }
  return rc;
}

int measurer_start(measurer *m, const char *device, rt_compiler *c, gen_template *t,
                   const measure_how *how, err *e) {
  *m = (measurer){.device = device, .compiler = c, .t = t, .how = *how};
  m->w.run = child_main;
  m->w.setting = m;
  return start(m, e);
}

void measurer_stop(measurer *m) {
  worker_stop(&m->w);
  str_clear(&m->problem);
  str_clear(&m->data);
}

int measurer_ready(measurer *m, err *e) {
  auto_str frame = {0};
  err why = {0};
  m->opening = false;
  int rc = await(m, &frame, e);
  if (!rc) {
    wire_reader r = {.p = str_text(&frame), .n = frame.n};
    wire_get_err(&r, &why);
    rc = err_copy(e, why.code, &why);
  }
  if (rc) {
    str_reset(&m->problem);
  }
  return rc;
}

static int send_problem(measurer *m, err *e) {
  auto_str frame = {0};
  if (m->opening) { /* receive the answer of the last problem first */
    measurer_ready(m, NULL);
  }
  wire_put_u64(&frame, OP_PROBLEM);
  wire_put_text(&frame, str_text(&m->problem));
  wire_put_text(&frame, str_text(&m->data));
  const int rc = worker_ask(&m->w, &frame, e);
  m->opening = !rc;
  return rc;
}

int measurer_features(measurer *m, gen_problem *p, err *e) {
  auto_str frame = {0}, text = {0}, answer = {0};
  err why = {0};
  if (m->opening) {
    measurer_ready(m, NULL);
  }
  gen_problem_full_text(m->t, p, &text);
  wire_put_u64(&frame, OP_FEATURES);
  wire_put_text(&frame, str_text(&text));
  TRY(text.failed ? err_nomem(e) : worker_ask(&m->w, &frame, e));
  TRY(await(m, &answer, e));
  wire_reader r = {.p = str_text(&answer), .n = answer.n};
  wire_get_err(&r, &why);
  TRY(err_copy(e, why.code, &why));
  for (size_t i = 0; i < m->t->n_fields; i++) {
    const int64_t v = (int64_t)wire_get_u64(&r);
    p->values[i].i = m->t->fields[i].feature ? v : p->values[i].i;
  }
  p->open = 0;
  return r.failed ? err_set(e, ERR_IO, "the measuring process's answer is malformed") : 0;
}

int measurer_begin(measurer *m, const char *problem, const char *data, err *e) {
  str_reset(&m->problem);
  str_reset(&m->data);
  str_add(&m->problem, problem);
  str_add(&m->data, data ? data : "");
  return send_problem(m, e);
}

int measurer_problem(measurer *m, const char *problem, err *e) {
  TRY(measurer_begin(m, problem, NULL, e));
  return measurer_ready(m, e);
}

int measurer_forget(measurer *m, err *e) {
  return measurer_problem(m, "", e);
}

int measurer_restart(measurer *m, err *e) {
  worker_stop(&m->w);
  m->opening = false;
  TRY(start(m, e));
  if (!m->problem.n) {
    return 0;
  }
  TRY(send_problem(m, e));
  return measurer_ready(m, e);
}

int measurer_ask(measurer *m, const measure_image *image, double stop_above, double energy_above,
                 err *e) {
  auto_str frame = {0};
  wire_put_u64(&frame, OP_TRIAL);
  wire_put_f64(&frame, stop_above);
  wire_put_f64(&frame, energy_above);
  measured_put_image(&frame, image);
  return worker_ask(&m->w, &frame, e);
}

int measurer_answer(measurer *m, measured *out, err *e) {
  auto_str frame = {0}, how = {0};
  *out = (measured){0};
  if (worker_answer(&m->w, &frame, &how, NULL)) {
    out->status = DB_CRASHED;
    out->dead = true;
    err_set(&out->why, ERR_LAUNCH, "crashed the measuring process: %s", str_text(&how));
  }
  wire_reader r = {.p = str_text(&frame), .n = frame.n};
  if (out->status != DB_CRASHED) {
    measured_get(&r, out);
  }
  return r.failed ? err_set(e, ERR_IO, "the measuring process's answer is malformed") : 0;
}

int measurer_race(measurer *m, const measure_image *images, size_t n, size_t rounds, measured *out,
                  err *e) {
  auto_str frame = {0};
  wire_put_u64(&frame, OP_RACE);
  wire_put_u64(&frame, n);
  wire_put_u64(&frame, rounds);
  for (size_t i = 0; i < n; i++) {
    measured_put_image(&frame, &images[i]);
  }
  TRY(worker_ask(&m->w, &frame, e));
  TRY(await(m, &frame, e));
  wire_reader r = {.p = str_text(&frame), .n = frame.n};
  for (size_t i = 0; i < n; i++) {
    measured_get(&r, &out[i]);
  }
  return 0;
}
