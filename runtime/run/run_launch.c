/* run_launch.c -- launches of what rt_loaded_new made. A launch fills an array of pointers on its own
 * stack (a few nanoseconds), so several threads may launch at once. */
#include <string.h>

#include "loaded.h"

size_t rt_loaded_workspace_nbytes(const rt_loaded *l) {
  return l->workspace_nbytes;
}

int rt_loaded_reserve(rt_loaded *l, err *e) {
  if (l->workspace || l->workspace_nbytes == 0) {
    return 0;
  }
  rt_ptr p;
  TRY(l->d->ops->alloc(l->d, l->workspace_nbytes, &p, e));
  int rc = l->d->ops->set(l->d, p, 0, l->workspace_nbytes, NULL, e);
  rc = rc ? rc : l->d->ops->stream_sync(l->d, NULL, e);
  if (rc) {
    l->d->ops->release(l->d, p);
    return rc;
  }
  l->workspace = p;
  return 0;
}

rt_ptr rt_loaded_workspace(const rt_loaded *l, size_t i) {
  return l->workspace + l->offsets[i];
}

/* The tensor maps of this launch: address and strides are the caller's. */
static int describe(rt_loaded *l, const stage *s, const void *const *args, const rt_ptr *workspaces,
                    rt_tensor_map *maps, err *e) {
  for (size_t i = 0; i < s->n_tensors; i++) {
    const tensor *x = &s->tensors[i];
    rt_tensor t = x->fixed;
    memcpy(&t.at, loaded_pointer(&x->at, args, workspaces), sizeof t.at);
    for (int d = 0; d + 1 < t.rank; d++) {
      uint64_t bits = 0;
      memcpy(&bits, loaded_pointer(&x->strides[d], args, workspaces),
             dtype_nbytes(x->stride_types[d]));
      t.strides[d] = bits * dtype_nbytes(t.type);
    }
    TRY(l->d->ops->tensor_map(l->d, &t, &maps[i], e));
  }
  return 0;
}

static void fill_rest(const stage *s, const void *const *args, const rt_ptr *workspaces,
                      rt_tensor_map *maps, const rt_object *objects, const void **params) {
  for (size_t i = 0; i < s->n_rest; i++) {
    const operand *o = &s->rest[i];
    params[s->rest_at[i]] = o->from == CONTENTS  ? *(const void *const *)args[o->index]
                            : o->from == TENSOR  ? (const void *)&maps[o->index]
                            : o->from == TEXTURE ? (const void *)&objects[o->index]
                                                 : &workspaces[o->index];
  }
}

static int copy(rt_loaded *l, const stage *s, rt_ptr to, rt_ptr from, rt_stream stream, err *e) {
  const rt_device_ops *ops = l->d->ops;
  to += s->at[0];
  from += s->at[1];
  if (s->way == FROM_HOST) {
    return (ops->upload ? ops->upload : ops->copy_in)(l->d, to, (const void *)(uintptr_t)from,
                                                      s->nbytes, stream, e);
  }
  return s->way == TO_HOST ? (ops->download ? ops->download : ops->copy_out)(
                                 l->d, (void *)(uintptr_t)to, from, s->nbytes, stream, e)
                           : ops->copy(l->d, to, from, s->nbytes, stream, e);
}

static int run_memory(rt_loaded *l, const stage *s, rt_stream stream, const void **params, err *e) {
  const rt_device_ops *ops = l->d->ops;
  const rt_ptr at = *(const rt_ptr *)params[0];
  if (s->symbol) {
    return l->copy == COPY_NEVER ? 0 : copy(l, s, s->symbol, at, stream, e);
  }
  return s->copies ? copy(l, s, at, *(const rt_ptr *)params[1], stream, e)
                   : ops->set(l->d, at, s->fill, s->nbytes, stream, e);
}

static inline __attribute__((always_inline)) int run(rt_loaded *l, const stage *s, rt_stream stream,
                                                     const void **params, err *e) {
  const rt_device_ops *ops = l->d->ops;
  if (!s->function) {
    return run_memory(l, s, stream, params, e);
  }
  rt_launch *launch = s->overlap       ? ops->launch_overlapping
                      : s->cooperative ? ops->launch_cooperative
                                       : ops->launch;
  return launch(l->d, s->function, s->grid, s->block, s->smem, stream, (void **)params, e);
}

/* With contents, workspaces, tensor maps or textures: a function of its own keeps the other path short. */
static __attribute__((noinline)) int run_with_rest(rt_loaded *l, const stage *s, rt_stream stream,
                                                   const void *const *args, rt_ptr workspace,
                                                   const void **params, err *e) {
  rt_ptr workspaces[LOADED_WORKSPACES];
  rt_tensor_map maps[LOADED_TENSORS];
  rt_object objects[LOADED_TENSORS];
  for (size_t i = 0; i < l->n_workspaces; i++) {
    workspaces[i] = workspace + l->offsets[i];
  }
  TRY(s->n_tensors ? describe(l, s, args, workspaces, maps, e) : 0);
  TRY(s->n_textures ? loaded_textures_bind(l, s, stream, args, workspaces, objects, e) : 0);
  fill_rest(s, args, workspaces, maps, objects, params);
  return run(l, s, stream, params, e);
}

static inline __attribute__((always_inline)) int launch_stage(rt_loaded *l, const stage *s,
                                                              rt_stream stream,
                                                              const void *const *args,
                                                              rt_ptr workspace, err *e) {
  const void *params[LOADED_OPERANDS];
  for (size_t i = 0; i < s->n_operands; i += LOADED_CHUNK) {
    memcpy(&params[i], &s->params[i], LOADED_CHUNK * sizeof *params);
  }
  for (const given *g = s->given, *end = g + s->n_given; g < end; g++) {
    params[g->at] = args[g->index];
  }
  return s->n_rest ? run_with_rest(l, s, stream, args, workspace, params, e)
                   : run(l, s, stream, params, e);
}

int loaded_launch_stage(rt_loaded *l, const stage *s, rt_stream stream, const void *const *args,
                        rt_ptr workspace, err *e) {
  return launch_stage(l, s, stream, args, workspace, e);
}

int rt_loaded_launch_in(rt_loaded *l, rt_stream s, const void *const *args, rt_ptr workspace,
                        err *e) {
  if (__builtin_expect(l->in_steps, 0)) {
    return loaded_launch_steps(l, s, args, workspace, e);
  }
  for (const stage *now = l->stages, *end = now + l->n_stages; now < end; now++) {
    TRY(launch_stage(l, now, s, args, workspace, e));
  }
  return 0;
}

int rt_loaded_launch(rt_loaded *l, rt_stream s, const void *const *args, err *e) {
  if (!l->workspace) {
    TRY(rt_loaded_reserve(l, e));
  }
  TRY(rt_loaded_launch_in(l, s, args, l->workspace, e));
  l->copy = l->copy == COPY_ONCE ? COPY_NEVER : l->copy;
  return 0;
}

void rt_loaded_hold(rt_loaded *l, bool hold) {
  l->copy = hold && !l->refills ? COPY_ONCE : COPY_ALWAYS;
}

static int launch_contender(void *self, rt_stream s, const void *const *args, err *e) {
  return rt_loaded_launch(self, s, args, e);
}

static void hold_contender(void *self, bool hold) {
  rt_loaded_hold(self, hold);
}

static int finished_contender(void *self, err *e) {
  return rt_loaded_finished(self, e);
}

rt_contender rt_loaded_contender(rt_loaded *l) {
  return (rt_contender){launch_contender, l, hold_contender, l && l->blocks, finished_contender};
}
