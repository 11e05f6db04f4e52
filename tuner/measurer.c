#define _GNU_SOURCE
#include "measurer.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "emu.h"
#include "file.h"

/* ---- the child
 * ----------------------------------------------------------------------------------- */

enum { OP_PROBLEM, OP_TRIAL, OP_RACE };

typedef struct bench { /* what the child holds */
  rt_device *device;
  rt_compiler *compiler;
  rt_tools *tools;
  gen_template *t;
  gen_instance *instance;
  rt_bench *buffers;
  measure_how how;
  rt_nvml *nvml; /* NULL: nothing to read */
  rt_health health[MEASURE_RACERS];
} bench;

static void drop_problem(bench *b) {
  rt_bench_free(b->buffers);
  gen_instance_free(b->instance);
  b->buffers = NULL;
  b->instance = NULL;
}

static int take_problem(bench *b, const char *text, err *e) {
  gen_problem p;
  gen_number numbers[RT_NUMBERS];
  drop_problem(b);
  TRY(gen_problem_parse(b->t, text, &p, e));
  rt_numbers(&b->device->info, numbers);
  TRY(gen_instance_new(b->t, &p, numbers, RT_NUMBERS, &b->instance, e));
  if (!b->tools) {
    TRY(rt_tools_new(b->device, b->compiler, &b->tools, e));
  }
  return rt_bench_new(b->device, b->compiler, b->tools, b->t, b->instance, &b->buffers, e);
}

static int load(bench *b, const measure_image *image, arena *a, const gen_plan **plan,
                rt_loaded **out, err *e) {
  TRY(gen_plan_make(b->instance, &image->config, a, plan, e));
  return rt_loaded_new(b->device, image->bytes, image->n, b->t, *plan, out, e);
}

static db_status status_of(int code) {
  switch (code) {
  case 0: return DB_OK;
  case ERR_TEMPLATE:
  case ERR_USAGE: return DB_INVALID;
  case ERR_WRONG: return DB_WRONG;
  default: return DB_LAUNCH;
  }
}

/* A GPU checks any problem in no time. The emulated device would need minutes for a large one,
 * which it models from a few of its blocks instead: such a trial is stored with an unknown error.
 */
static const double EMU_CHECKED_FLOPS = 1 << 26;
enum { EMU_SAMPLED_BLOCKS = 8 };

/* What is far slower than the best is checked in one case only: it wins nothing, and whoever comes
 * to the finals is checked again. */
static int check(bench *b, rt_loaded *l, double flops, double stop_above, double *error, err *e) {
  rt_check found = {0};
  if (rt_emu_is(b->device) && flops > EMU_CHECKED_FLOPS) {
    *error = NAN;
    return 0;
  }
  int rc = rt_bench_check_quick(b->buffers, l, rt_emu_is(b->device) ? 0 : stop_above, &found, e);
  *error = found.error;
  return rc;
}

/* ---- clocks held back: taken again */

enum { RETAKES = 3 };
static const double COOL_SEC = 0.3; /* times the number of the attempt */

static void look(void *self, size_t contender) {
  bench *b = self;
  if (b->nvml) {
    rt_nvml_read(b->nvml, &b->health[contender]);
  }
}

/* Only the clocks that the kernel itself met count: idle ones say nothing. */
static bool is_spoiled(bench *b, size_t n) {
  uint64_t held = 0;
  for (size_t i = 0; i < n; i++) {
    held |= b->health[i].held;
  }
  return held & RT_HELD_BADLY;
}

static void cool_down(uint32_t attempt) {
  const double sec = COOL_SEC * attempt;
  nanosleep(&(struct timespec){(time_t)sec, (long)(1e9 * (sec - (double)(time_t)sec))}, NULL);
}

static int time_on_gpu(bench *b, rt_loaded *l, const rt_timing *how, measured *out) {
  int rc;
  do {
    b->health[0] = (rt_health){0};
    rc = rt_bench_time(b->buffers, l, how, &out->times, &out->why);
    if (b->nvml && b->health[0].clock_mhz > 0) {
      b->health[0].held |= rt_nvml_held(b->nvml);
    }
    if (rc || !is_spoiled(b, 1) || out->retaken == RETAKES) {
      break;
    }
    cool_down(++out->retaken);
  } while (true);
  out->health = b->health[0];
  return rc;
}

static int time_it(bench *b, rt_loaded *l, double stop_above, measured *out) {
  const bool emulated = rt_emu_is(b->device);
  const rt_timing how = {
      .stop_above = stop_above, .replay = b->how.replay, .watch = look, .watcher = b};
  if (!emulated) {
    return time_on_gpu(b, l, &how, out);
  }
  rt_emu_set_checks(b->device, false);
  rt_emu_set_sample(b->device, EMU_SAMPLED_BLOCKS);
  int rc = rt_bench_time(b->buffers, l, &how, &out->times, &out->why);
  rt_emu_set_checks(b->device, true);
  rt_emu_set_sample(b->device, 0);
  return rc;
}

static double joules(void *self) {
  return rt_nvml_joules(self);
}

static int measure_energy(bench *b, rt_loaded *l, double sec, measured *out) {
  const rt_meter meter = {joules, b->nvml};
  return rt_bench_energy(b->buffers, l, &meter, sec, &out->energy_j, &out->why);
}

static double lap(double *at) {
  double before = *at;
  *at = now_sec();
  return *at - before;
}

static void try_one(bench *b, const measure_image *image, double stop_above, double energy_above,
                    measured *out) {
  arena a = {0};
  rt_loaded *l = NULL;
  const gen_plan *plan;
  double at = now_sec();
  int rc = load(b, image, &a, &plan, &l, &out->why);
  out->load_sec = lap(&at);
  rc = rc ? rc : check(b, l, plan->flops, stop_above, &out->error, &out->why);
  out->check_sec = lap(&at);
  rc = rc ? rc : time_it(b, l, stop_above, out);
  if (!rc && b->how.energy_sec > 0 && out->times.median <= energy_above) {
    rc = measure_energy(b, l, b->how.energy_sec, out);
  }
  out->time_sec = lap(&at);
  out->status = status_of(rc);
  out->dead = b->device->dead;
  rt_loaded_free(l);
  out->load_sec += lap(&at); /* unloading */
  arena_clear(&a);
}

/* ---- finals */

typedef struct final { /* those that take part */
  rt_loaded **loaded;
  rt_contender *contenders;
  rt_times *times;
  size_t *who, n;
} final;

static bool final_room(final *f, size_t n, arena *a) {
  f->loaded = ARENA_ARRAY(a, rt_loaded *, n + 1);
  f->contenders = ARENA_ARRAY(a, rt_contender, n + 1);
  f->times = ARENA_ARRAY(a, rt_times, n + 1);
  f->who = ARENA_ARRAY(a, size_t, n + 1);
  return f->loaded && f->contenders && f->times && f->who;
}

/* Loads again, and is right in every case. */
static void enter(bench *b, final *f, const measure_image *image, size_t i, measured *out,
                  arena *a) {
  const gen_plan *plan;
  rt_check found;
  int rc = load(b, image, a, &plan, &f->loaded[i], &out->why);
  rc = rc ? rc : rt_bench_check(b->buffers, f->loaded[i], &found, &out->why);
  out->status = status_of(rc);
  if (!rc) {
    out->error = found.error;
    f->who[f->n] = i;
    f->contenders[f->n++] = rt_loaded_contender(f->loaded[i]);
  }
}

static int run_final(bench *b, final *f, size_t rounds, uint32_t *retaken, err *e) {
  const rt_timing how = {.replay = b->how.replay, .watch = look, .watcher = b};
  int rc;
  do {
    memset(b->health, 0, sizeof b->health);
    rc = rt_bench_race(b->buffers, f->contenders, f->n, rounds, &how, f->times, e);
    if (rc || !is_spoiled(b, f->n) || *retaken == RETAKES) {
      return rc;
    }
    cool_down(++*retaken);
  } while (true);
}

enum { ENERGY_FINAL = 3 }; /* times as long as a first look at the joules */

static void race(bench *b, const measure_image *images, size_t n, size_t rounds, measured *out,
                 arena *a) {
  final f = {0};
  err why = {0};
  uint32_t retaken = 0;
  if (!final_room(&f, n, a)) {
    return;
  }
  for (size_t i = 0; i < n; i++) {
    enter(b, &f, &images[i], i, &out[i], a);
  }
  int rc = run_final(b, &f, rounds, &retaken, &why);
  for (size_t i = 0; i < f.n; i++) {
    measured *m = &out[f.who[i]];
    m->times = f.times[i];
    m->health = b->health[i];
    m->retaken = retaken;
    m->why = why;
    if (!rc && b->how.energy_sec > 0) {
      rc = measure_energy(b, f.loaded[f.who[i]], ENERGY_FINAL * b->how.energy_sec, m);
    }
    m->status = status_of(rc);
  }
  for (size_t i = 0; i < n; i++) {
    out[i].dead = b->device->dead;
    rt_loaded_free(f.loaded[i]);
  }
}

static void put_image(str *s, const measure_image *image) {
  wire_put_bytes(s, &image->config, sizeof image->config);
  wire_put_bytes(s, image->bytes, image->n);
}

static void get_image(wire_reader *r, measure_image *image) {
  size_t n;
  const void *config = wire_get_bytes(r, &n);
  if (n == sizeof image->config) {
    memcpy(&image->config, config, n);
  } else {
    r->failed = true;
  }
  image->bytes = wire_get_bytes(r, &image->n);
}

static void put_measured(str *s, const measured *m) {
  wire_put_u64(s, m->status);
  wire_put_err(s, &m->why);
  wire_put_f64(s, m->error);
  wire_put_bytes(s, &m->times, sizeof m->times);
  wire_put_bytes(s, &m->health, sizeof m->health);
  wire_put_u64(s, m->retaken);
  wire_put_f64(s, m->energy_j);
  wire_put_f64(s, m->load_sec);
  wire_put_f64(s, m->check_sec);
  wire_put_f64(s, m->time_sec);
  wire_put_u64(s, m->dead);
}

static void get_measured(wire_reader *r, measured *m) {
  size_t n;
  m->status = (db_status)wire_get_u64(r);
  wire_get_err(r, &m->why);
  m->error = wire_get_f64(r);
  const void *times = wire_get_bytes(r, &n);
  if (n == sizeof m->times) {
    memcpy(&m->times, times, n);
  }
  const void *health = wire_get_bytes(r, &n);
  if (n == sizeof m->health) {
    memcpy(&m->health, health, n);
  }
  m->retaken = (uint32_t)wire_get_u64(r);
  m->energy_j = wire_get_f64(r);
  m->load_sec = wire_get_f64(r);
  m->check_sec = wire_get_f64(r);
  m->time_sec = wire_get_f64(r);
  m->dead = wire_get_u64(r);
}

static void serve_problem(bench *b, wire_reader *r, str *frame) {
  err why = {0};
  take_problem(b, wire_get_text(r), &why);
  wire_put_err(frame, &why);
}

static void serve_trial(bench *b, wire_reader *r, str *frame) {
  measure_image image = {0};
  measured m = {0};
  double stop_above = wire_get_f64(r), energy_above = wire_get_f64(r);
  get_image(r, &image);
  try_one(b, &image, isfinite(stop_above) ? stop_above : 0, energy_above, &m);
  put_measured(frame, &m);
}

static void serve_race(bench *b, wire_reader *r, str *frame) {
  arena a = {0};
  size_t n = wire_get_u64(r), rounds = wire_get_u64(r);
  measure_image *images = ARENA_ARRAY(&a, measure_image, n);
  measured *out = ARENA_ARRAY(&a, measured, n);
  for (size_t i = 0; i < n; i++) {
    get_image(r, &images[i]);
  }
  race(b, images, n, rounds, out, &a);
  for (size_t i = 0; i < n; i++) {
    put_measured(frame, &out[i]);
  }
  arena_clear(&a);
}

static void serve(bench *b, const str *request, str *frame) {
  static void (*const ops[])(bench *, wire_reader *, str *) = {
      [OP_PROBLEM] = serve_problem, [OP_TRIAL] = serve_trial, [OP_RACE] = serve_race};
  wire_reader r = {.p = str_text(request), .n = request->n};
  uint64_t op = wire_get_u64(&r);
  if (op < sizeof ops / sizeof *ops) {
    ops[op](b, &r, frame);
  }
}

/* What the session asks for must be there; what is only good to know may be missing. */
static int open_all(bench *b, const char *name, err *note, err *e) {
  TRY(rt_device_open(name, &b->device, e));
  const bool emulated = rt_emu_is(b->device);
  if (b->how.replay == RT_GRAPH && emulated) {
    return err_set(e, ERR_USAGE, "%s has no graphs: --timing graph needs a GPU",
                   b->device->info.name);
  }
  if (!emulated) {
    rt_nvml_open(b->device->info.uuid, &b->nvml, note);
  }
  if (b->how.energy_sec > 0 && (!b->nvml || rt_nvml_joules(b->nvml) < 0)) {
    return err_set(e, ERR_USAGE, "%s tells no energy%s%s: only --objective time can be had",
                   b->device->info.name, note->code ? "; " : "", note->message);
  }
  return 0;
}

static int greet(int fd, const char *name, bench *b) {
  str frame = {0};
  err why = {0}, note = {0};
  rt_info none = {0};
  int rc = open_all(b, name, &note, &why);
  wire_put_err(&frame, &why);
  wire_put_bytes(&frame, rc ? &none : &b->device->info, sizeof none);
  wire_put_text(&frame, note.message);
  int sent = wire_send(fd, &frame, NULL);
  str_clear(&frame);
  return rc ? rc : sent;
}

static void child_main(int fd, void *setting) {
  measurer *m = setting;
  bench b = {.compiler = m->compiler, .t = m->t, .how = m->how};
  str request = {0}, frame = {0};
  if (greet(fd, m->device, &b)) {
    return;
  }
  while (!wire_receive(fd, &request, NULL)) {
    str_reset(&frame);
    serve(&b, &request, &frame);
    if (wire_send(fd, &frame, NULL)) {
      break;
    }
  }
  /* The process ends here: the system takes device and memory back, even those of a dead context.
   */
}

/* ---- the parent
 * ---------------------------------------------------------------------------------- */

enum { PATIENCE_SEC = 120 };

/* Wait for an answer to a request that no candidate can delay for long. */
static int await(measurer *m, str *frame, err *e) {
  struct pollfd p = {.fd = m->w.fd, .events = POLLIN};
  double until = now_sec() + PATIENCE_SEC;
  int ready;
  do { /* Ctrl-C interrupts poll, not the wait: the answer is needed to stop in good order */
    double left = until - now_sec();
    ready = poll(&p, 1, left > 0 ? (int)(left * 1000) : 0);
  } while (ready < 0);
  if (!ready) {
    worker_stop(&m->w);
    return err_set(e, ERR_LIMIT, "the measuring process did not answer for %d s and was ended",
                   PATIENCE_SEC);
  }
  str how = {0};
  int rc = worker_answer(&m->w, frame, &how, e);
  str_clear(&how);
  return rc;
}

static int start(measurer *m, err *e) {
  str frame = {0};
  err why = {0};
  TRY(worker_start(&m->w, e));
  int rc = await(m, &frame, e);
  if (!rc) {
    wire_reader r = {.p = str_text(&frame), .n = frame.n};
    size_t n;
    wire_get_err(&r, &why);
    const void *info = wire_get_bytes(&r, &n);
    if (why.code) {
      rc = err_at(e, why.code, why.place, "%s", why.message);
    } else if (n == sizeof m->info) {
      memcpy(&m->info, info, n);
      snprintf(m->note, sizeof m->note, "%s", wire_get_text(&r));
    }
  }
  str_clear(&frame);
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
}

static int send_problem(measurer *m, const char *problem, err *e) {
  str frame = {0};
  err why = {0};
  wire_put_u64(&frame, OP_PROBLEM);
  wire_put_text(&frame, problem);
  int rc = worker_ask(&m->w, &frame, e);
  if (!rc) {
    rc = await(m, &frame, e);
  }
  if (!rc) {
    wire_reader r = {.p = str_text(&frame), .n = frame.n};
    wire_get_err(&r, &why);
    rc = why.code ? err_at(e, why.code, why.place, "%s", why.message) : 0;
  }
  str_clear(&frame);
  return rc;
}

int measurer_problem(measurer *m, const char *problem, err *e) {
  str_reset(&m->problem);
  TRY(send_problem(m, problem, e));
  str_add(&m->problem, problem);
  return 0;
}

int measurer_restart(measurer *m, err *e) {
  worker_stop(&m->w);
  TRY(start(m, e));
  return m->problem.n ? send_problem(m, m->problem.p, e) : 0;
}

int measurer_ask(measurer *m, const measure_image *image, double stop_above, double energy_above,
                 err *e) {
  str frame = {0};
  wire_put_u64(&frame, OP_TRIAL);
  wire_put_f64(&frame, stop_above);
  wire_put_f64(&frame, energy_above);
  put_image(&frame, image);
  int rc = worker_ask(&m->w, &frame, e);
  str_clear(&frame);
  return rc;
}

int measurer_answer(measurer *m, measured *out, err *e) {
  str frame = {0}, how = {0};
  *out = (measured){0};
  if (worker_answer(&m->w, &frame, &how, NULL)) {
    out->status = DB_CRASHED;
    out->dead = true;
    err_set(&out->why, ERR_LAUNCH, "took the measuring process with it: %s", str_text(&how));
  }
  wire_reader r = {.p = str_text(&frame), .n = frame.n};
  if (out->status != DB_CRASHED) {
    get_measured(&r, out);
  }
  str_clear(&frame);
  str_clear(&how);
  return r.failed ? err_set(e, ERR_IO, "the measuring process's answer makes no sense") : 0;
}

int measurer_race(measurer *m, const measure_image *images, size_t n, size_t rounds, measured *out,
                  err *e) {
  str frame = {0};
  wire_put_u64(&frame, OP_RACE);
  wire_put_u64(&frame, n);
  wire_put_u64(&frame, rounds);
  for (size_t i = 0; i < n; i++) {
    put_image(&frame, &images[i]);
  }
  int rc = worker_ask(&m->w, &frame, e);
  if (!rc) {
    rc = await(m, &frame, e);
  }
  wire_reader r = {.p = str_text(&frame), .n = frame.n};
  for (size_t i = 0; i < n && !rc; i++) {
    get_measured(&r, &out[i]);
  }
  str_clear(&frame);
  return rc;
}
