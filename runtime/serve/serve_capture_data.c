/* serve_capture_data.c -- TUNED_CAPTURE_DATA: what the first launch of a problem reads, in a file.
 *
 * A launch costs one more load while there is a capture; the first one of a problem an instance of
 * the template (how many elements are these?), a copy of its arguments, and a file. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "context.h"
#include "hash.h"
#include "run_captured.h"

enum { RECORD_NOT, RECORD_BUSY, RECORD_DONE, RECORD_FAILED }; /* of tuned_kernel.recorded */
enum { UNTOLD_CAPTURING, UNTOLD_FAILED };                     /* of serve_capture.told */

static void tell_once(tuned_kernel *k, int what, const char *why) {
  if (!atomic_exchange(&k->owner->capture->told[what], true)) {
    fprintf(stderr, "libtuned: TUNED_CAPTURE_DATA: %s: %s\n", k->t->name, why);
  }
}

static void add_path(const tuned_kernel *k, str *out) {
  char digest[HASH_TEXT];
  str problem = {0};
  serve_capture_problem(k, &problem);
  hash_bytes(str_text(&problem), problem.n, digest);
  str_addf(out, "%s/%s-%s.data", k->owner->capture->folder, k->t->name, digest);
  out->failed = out->failed || problem.failed;
  str_clear(&problem);
}

void serve_capture_data_path(const tuned_kernel *k, str *out) {
  if (atomic_load(&k->recorded) == RECORD_DONE) {
    add_path(k, out);
  }
}

/* ---- the arguments -------------------------------------------------------------------------- */

static rt_ptr address_of(const void *arg) {
  return arg ? *(const rt_ptr *)arg : 0;
}

static int describe_locked(tuned_kernel *k, const void *const *args, arena *a,
                           const gen_data **data, err *e) {
  gen_problem p;
  gen_instance *g;
  gen_number limits[RT_NUMBERS];
  gen_template *t = (gen_template *)k->t;
  rt_numbers(&k->owner->device->info, limits);
  TRY(gen_problem_parse(t, k->info.problem, &p, e));
  TRY(gen_instance_new(t, &p, limits, RT_NUMBERS, &g, e));
  const int rc = serve_call_data(k, g, args, a, data, e);
  gen_instance_free(g);
  return rc;
}

static int describe(tuned_kernel *k, const void *const *args, arena *a, const gen_data **data,
                    err *e) {
  pthread_mutex_lock(&k->owner->lock);
  const int rc = describe_locked(k, args, a, data, e);
  pthread_mutex_unlock(&k->owner->lock);
  return rc;
}

/* A buffer without an address is reached through others, which hold addresses of this process. */
static int check(const tuned_kernel *k, const void *const *args, const gen_data *data, err *e) {
  uint64_t nbytes;
  for (size_t i = 0; i < k->t->n_args; i++) {
    if (k->t->args[i].dir != GEN_SCALAR && data->args[i].count && !address_of(args[i])) {
      return err_set(e, ERR_USAGE, "%s is NULL: what only addresses lead to is not kept",
                     k->t->args[i].name);
    }
  }
  return rt_captured_nbytes(k->t, data, &nbytes, e);
}

static int copy_one(tuned_kernel *k, tuned_stream stream, rt_ptr at, size_t nbytes,
                    unsigned char **out, err *e) {
  rt_device *d = k->owner->device;
  if (!(*out = malloc(nbytes + 1))) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  serve_turn_take(k->owner);
  const int rc = d->ops->copy_out(d, *out, at, nbytes, stream, e);
  serve_turn_end(k->owner);
  return rc;
}

static int copy_all(tuned_kernel *k, tuned_stream stream, const void *const *args,
                    const gen_data *data, unsigned char **bytes, err *e) {
  for (size_t i = 0; i < k->t->n_args; i++) {
    if (k->t->args[i].dir != GEN_SCALAR && rt_captured_keeps(k->t, data, i)) {
      const gen_datum *d = &data->args[i];
      TRY(copy_one(k, stream, address_of(args[i]), d->count * dtype_nbytes(d->type), &bytes[i], e));
    }
  }
  return 0;
}

/* ---- the file ------------------------------------------------------------------------------- */

static int write_data(tuned_kernel *k, const gen_data *data, unsigned char *const *bytes, err *e) {
  str path = {0};
  add_path(k, &path);
  const int rc = path.failed
                     ? err_set(e, ERR_NOMEM, "out of host memory")
                     : rt_captured_write(str_text(&path), k->t, k->info.problem, data, bytes, e);
  str_clear(&path);
  return rc;
}

static int record(tuned_kernel *k, tuned_stream stream, const void *const *args, arena *a, err *e) {
  const gen_data *data;
  unsigned char **bytes = ARENA_ARRAY(a, unsigned char *, k->t->n_args + 1);
  if (!bytes) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  TRY(describe(k, args, a, &data, e));
  TRY(check(k, args, data, e));
  int rc = copy_all(k, stream, args, data, bytes, e);
  rc = rc ? rc : write_data(k, data, bytes, e);
  for (size_t i = 0; i < k->t->n_args; i++) {
    free(bytes[i]);
  }
  return rc;
}

/* A line that is written has no data yet. */
static void note(tuned_kernel *k) {
  serve *s = k->owner;
  pthread_mutex_lock(&s->lock);
  k->told = false;
  serve_capture_write(s);
  pthread_mutex_unlock(&s->lock);
}

static void take(tuned_kernel *k, tuned_stream stream, const void *const *args) {
  arena a = {0};
  err why = {0};
  const int rc = record(k, stream, args, &a, &why);
  arena_clear(&a);
  atomic_store(&k->recorded, rc ? RECORD_FAILED : RECORD_DONE);
  if (rc) {
    tell_once(k, UNTOLD_FAILED, why.message);
  } else {
    note(k);
  }
}

void serve_capture_data(tuned_kernel *k, tuned_stream stream, const void *const *args) {
  rt_device *d = k->owner->device;
  int not = RECORD_NOT;
  if (!k->owner->capture->folder || atomic_load_explicit(&k->recorded, memory_order_relaxed)) {
    return;
  }
  if (d->ops->capturing && d->ops->capturing(d, stream)) {
    tell_once(k, UNTOLD_CAPTURING,
              "the stream is being captured into a graph; a launch outside of one is waited for");
  } else if (atomic_compare_exchange_strong(&k->recorded, &not, RECORD_BUSY)) {
    take(k, stream, args);
  }
}
