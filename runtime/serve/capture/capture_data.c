#define _GNU_SOURCE
#include "capture_data.h"

#include <stdlib.h>
#include <string.h>

#include "run_captured.h"
#include "serve_context.h"
#include "serve_kernel.h"

static rt_ptr address_of(const void *arg) {
  return arg ? *(const rt_ptr *)arg : 0;
}

static int describe_locked(tuned_kernel *k, const void *const *args, arena *a,
                           const gen_data **data, err *e) {
  gen_problem p;
  gen_instance *g;
  gen_template *t = (gen_template *)k->t;
  TRY(gen_problem_parse(t, k->info.problem, &p, e));
  TRY(rt_instance_new(t, &p, &k->owner->device->info, &g, e));
  const int rc = serve_args_data(k->t, k->needs, g, args, a, data, e);
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

static int copy_one(tuned_kernel *k, tuned_stream stream, rt_ptr at, const gen_datum *what,
                    unsigned char **out, err *e) {
  rt_device *d = k->owner->device;
  const size_t nbytes = what->count * dtype_nbytes(what->type);
  if (!(*out = malloc(nbytes + 1))) {
    return err_nomem(e);
  }
  serve_turn_take(k->owner);
  const int rc = what->host ? d->ops->stream_sync(d, stream, e)
                            : d->ops->copy_out(d, *out, at, nbytes, stream, e);
  serve_turn_end(k->owner);
  if (!rc && what->host && nbytes) {
    memcpy(*out, (const void *)(uintptr_t)at, nbytes);
  }
  return rc;
}

static int copy_all(tuned_kernel *k, tuned_stream stream, const void *const *args,
                    const gen_data *data, unsigned char **bytes, err *e) {
  for (size_t i = 0; i < k->t->n_args; i++) {
    if (k->t->args[i].dir != GEN_SCALAR && rt_captured_keeps(k->t, data, i)) {
      TRY(copy_one(k, stream, address_of(args[i]), &data->args[i], &bytes[i], e));
    }
  }
  return 0;
}

static int write_all(tuned_kernel *k, tuned_stream stream, const void *const *args,
                     const char *path, arena *a, err *e) {
  const gen_data *data;
  unsigned char **bytes = ARENA_ARRAY(a, unsigned char *, k->t->n_args + 1);
  if (!bytes) {
    return err_nomem(e);
  }
  TRY(describe(k, args, a, &data, e));
  TRY(check(k, args, data, e));
  int rc = copy_all(k, stream, args, data, bytes, e);
  rc = rc ? rc : rt_captured_write(path, k->t, k->info.problem, data, bytes, e);
  for (size_t i = 0; i < k->t->n_args; i++) {
    free(bytes[i]);
  }
  return rc;
}

int capture_data_write(tuned_kernel *k, tuned_stream stream, const void *const *args,
                       const char *path, err *e) {
  auto_arena a = {0};
  return write_all(k, stream, args, path, &a, e);
}
