#include "online_scratch.h"

#include <stdlib.h>

#include "online_agree.h"

enum { GUARD = 4096, GUARD_BYTE = 0xa5, OUTPUTS_MOST = 64 << 20 };

static bool is_output(const gen_template *t, size_t i) {
  return t->args[i].dir == GEN_OUT || t->args[i].dir == GEN_INOUT;
}

static rt_ptr address_of(const void *arg) {
  return *(const rt_ptr *)arg;
}

int online_scratch_init(online_scratch *s, rt_device *device, const gen_template *t, arena *a,
                        err *e) {
  *s = (online_scratch){.device = device,
                        .t = t,
                        .at = ARENA_ARRAY(a, rt_ptr, t->n_args + 1),
                        .nbytes = ARENA_ARRAY(a, size_t, t->n_args + 1)};
  return s->at && s->nbytes ? 0 : err_nomem(e);
}

/* ---- on the device -------------------------------------------------------------------------- */

void online_scratch_release(online_scratch *s) {
  for (size_t i = 0; s->at && i < s->t->n_args; i++) {
    s->device->ops->release(s->device, s->at[i]);
    s->at[i] = 0;
  }
}

static size_t output_nbytes(const gen_template *t, const gen_data *data, size_t i) {
  return is_output(t, i) ? data->args[i].count * dtype_nbytes(data->args[i].type) : 0;
}

static int take_one(online_scratch *s, size_t i, size_t nbytes, err *e) {
  if (s->at[i] && s->nbytes[i] == nbytes) {
    return 0;
  }
  s->device->ops->release(s->device, s->at[i]);
  s->at[i] = 0;
  TRY(s->device->ops->alloc(s->device, nbytes + 2 * GUARD, &s->at[i], e));
  s->nbytes[i] = nbytes;
  return 0;
}

int online_scratch_take(online_scratch *s, const gen_data *data, err *e) {
  size_t all = 0;
  for (size_t i = 0; i < s->t->n_args; i++) {
    all += output_nbytes(s->t, data, i);
    if (is_output(s->t, i) && data->args[i].host) {
      return err_set(e, ERR_LIMIT, "%s is in the host's memory", s->t->args[i].name);
    }
  }
  if (all > OUTPUTS_MOST) {
    return err_set(e, ERR_LIMIT, "outputs of %zu bytes are not copied", all);
  }
  for (size_t i = 0; i < s->t->n_args; i++) {
    if (is_output(s->t, i)) {
      TRY(take_one(s, i, output_nbytes(s->t, data, i), e));
    }
  }
  return 0;
}

static int fill_one(online_scratch *s, rt_stream stream, rt_ptr at, rt_ptr real, size_t n, err *e) {
  const rt_device_ops *ops = s->device->ops;
  TRY(ops->set(s->device, at, GUARD_BYTE, GUARD, stream, e));
  TRY(ops->set(s->device, at + GUARD + n, GUARD_BYTE, GUARD, stream, e));
  return n ? ops->copy(s->device, at + GUARD, real, n, stream, e) : 0;
}

int online_scratch_fill(online_scratch *s, rt_stream stream, const void *const *args, err *e) {
  for (size_t i = 0; i < s->t->n_args; i++) {
    if (is_output(s->t, i)) {
      TRY(fill_one(s, stream, s->at[i], address_of(args[i]), s->nbytes[i], e));
    }
  }
  return 0;
}

const void *const *online_scratch_args(const online_scratch *s, const void *const *args, arena *a) {
  const size_t n = s->t->n_args;
  const void **own = ARENA_ARRAY(a, const void *, n + 1);
  rt_ptr *at = ARENA_ARRAY(a, rt_ptr, n + 1);
  for (size_t i = 0; own && at && i < n; i++) {
    at[i] = s->at[i] + GUARD;
    own[i] = is_output(s->t, i) ? (const void *)&at[i] : args[i];
  }
  return at ? own : NULL;
}

/* ---- what came of it ------------------------------------------------------------------------ */

static bool guards_hold(const unsigned char *p, size_t nbytes) {
  for (size_t i = 0; i < GUARD; i++) {
    if (p[i] != GUARD_BYTE || p[GUARD + nbytes + i] != GUARD_BYTE) {
      return false;
    }
  }
  return true;
}

static int compare_one(const online_scratch *s, const gen_data *data, size_t i, rt_ptr real,
                       bool *same, err *e) {
  const rt_device_ops *ops = s->device->ops;
  const size_t n = s->nbytes[i];
  unsigned char *x = malloc(n + 2 * GUARD), *ref = malloc(n + 1);
  int rc = x && ref ? 0 : err_nomem(e);
  rc = rc ? rc : ops->copy_out(s->device, x, s->at[i], n + 2 * GUARD, NULL, e);
  rc = rc || !n ? rc : ops->copy_out(s->device, ref, real, n, NULL, e);
  *same = !rc && guards_hold(x, n) && online_agree(&data->args[i], x + GUARD, ref);
  free(x);
  free(ref);
  return rc;
}

int online_scratch_compare(const online_scratch *s, const gen_data *data, const void *const *args,
                           bool *same, err *e) {
  *same = true;
  for (size_t i = 0; i < s->t->n_args && *same; i++) {
    if (is_output(s->t, i)) {
      TRY(compare_one(s, data, i, address_of(args[i]), same, e));
    }
  }
  return 0;
}
