/* run_loaded.c -- an image and its plan, prepared so that a launch costs little more than the
 * driver's.
 *
 * A kernel parameter comes from one of three places: a constant of the plan, an argument of the
 * caller, a workspace. rt_loaded_new finds out which; run_launch.c launches.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "launch_check.h"
#include "loaded.h"

/* ---- from plan to stages ------------------------------------------------------------------- */

static int copy_workspaces(rt_loaded *l, const gen_plan *plan, err *e) {
  l->n_workspaces = plan->n_workspaces;
  l->offsets = ARENA_ARRAY(&l->memory, uint64_t, plan->n_workspaces + 1);
  if (!l->offsets) {
    return err_nomem(e);
  }
  if (plan->n_workspaces > LOADED_WORKSPACES) {
    return err_set(e, ERR_LIMIT, "%zu workspaces; at most %d", plan->n_workspaces,
                   LOADED_WORKSPACES);
  }
  for (size_t i = 0; i < plan->n_workspaces; i++) {
    l->offsets[i] = l->workspace_nbytes;
    l->workspace_nbytes +=
        (plan->workspaces[i] + LOADED_ALIGNMENT - 1) / LOADED_ALIGNMENT * LOADED_ALIGNMENT;
  }
  return 0;
}

static int constant(rt_loaded *l, uint64_t bits, operand *out, err *e) {
  uint64_t *value = arena_new(&l->memory, sizeof *value);
  if (!value) {
    return err_nomem(e);
  }
  *value = bits; /* little-endian: a shorter type reads its low bytes */
  *out = (operand){.from = CONSTANT, .constant = value};
  return 0;
}

static int resolve(rt_loaded *l, const gen_template *t, const gen_plan *plan, const gen_operand *o,
                   operand *out, err *e) {
  const size_t at = o->from == GEN_FROM_PREPARED ? t->n_args + o->index : o->index;
  if ((o->from == GEN_FROM_ARG || o->from == GEN_FROM_PREPARED) && l->n_loops) {
    l->arg_nbytes[at] = (uint8_t)(o->nbytes ? o->nbytes : sizeof(rt_ptr));
  }
  if (o->from == GEN_FROM_VALUE) {
    return constant(l, o->bits, out, e);
  }
  if (o->from == GEN_FROM_LOOP) {
    return loaded_while_operand(l, o, out, e);
  }
  if (o->from == GEN_FROM_CONTENTS) {
    *out = (operand){.from = CONTENTS, .index = o->index};
    return 0;
  }
  if (o->from == GEN_FROM_WORKSPACE && !l->workspace_nbytes) {
    return constant(l, 0, out, e); /* all of them are empty */
  }
  if (o->from == GEN_FROM_WORKSPACE) {
    *out = (operand){.from = WORKSPACE, .index = o->index};
    return 0;
  }
  if (o->from == GEN_FROM_EXPECTED || o->from == GEN_FROM_PREPARED) { /* behind the arguments */
    *out = (operand){.from = ARGUMENT, .index = (uint32_t)t->n_args + o->index};
    return 0;
  }
  const gen_arg *arg = &t->args[o->index];
  if (arg->dir == GEN_SCALAR && arg->value) {
    return constant(l, plan->values[o->index], out, e);
  }
  *out = (operand){.from = ARGUMENT, .index = o->index};
  return 0;
}

static int stride(rt_loaded *l, const gen_template *t, const gen_plan *plan, const gen_operand *o,
                  operand *out, dtype *type, err *e) {
  *type = DTYPE_i64;
  if (o->from == GEN_FROM_ARG && !dtype_parse(t->args[o->index].type, type)) {
    return err_set(e, ERR_TEMPLATE, "%s: a stride has type %s", t->name, t->args[o->index].type);
  }
  return resolve(l, t, plan, o, out, e);
}

static int copy_tensor(rt_loaded *l, const gen_template *t, const gen_plan *plan,
                       const gen_tensor *from, tensor *x, err *e) {
  x->fixed =
      (rt_tensor){.type = from->type, .rank = (int)from->rank, .swizzle = (int)from->swizzle};
  memcpy(x->fixed.dims, from->dims, sizeof x->fixed.dims);
  memcpy(x->fixed.box, from->box, sizeof x->fixed.box);
  for (size_t i = 0; i + 1 < from->rank; i++) {
    TRY(stride(l, t, plan, &from->strides[i], &x->strides[i], &x->stride_types[i], e));
  }
  return resolve(l, t, plan, &from->at, &x->at, e);
}

static size_t count_operands(const gen_launch *l, gen_from which) {
  size_t n = 0;
  for (size_t i = 0; i < l->n_operands; i++) {
    n += l->operands[i].from == which;
  }
  return n;
}

static int copy_tensors(rt_loaded *l, const gen_template *t, const gen_plan *plan,
                        const gen_launch *from, stage *to, err *e) {
  const size_t n = count_operands(from, GEN_FROM_TENSOR);
  if (n > LOADED_TENSORS) {
    return err_set(e, ERR_LIMIT, "kernel %s takes %zu tensors; at most %d", from->kernel, n,
                   LOADED_TENSORS);
  }
  to->tensors = n ? ARENA_ARRAY(&l->memory, tensor, n) : NULL;
  if (n && !to->tensors) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < from->n_operands; i++) {
    if (from->operands[i].from == GEN_FROM_TENSOR) {
      to->operands[i] = (operand){.from = TENSOR, .index = (uint32_t)to->n_tensors};
      TRY(copy_tensor(l, t, plan, from->operands[i].tensor, &to->tensors[to->n_tensors++], e));
    }
  }
  return 0;
}

/* Launches of plans that fill variables or arrays take turns. */
static int share_image(rt_loaded *l, err *e) {
  loaded_image *m = l->image;
  int rc = 0;
  l->fills = true;
  pthread_mutex_lock(&m->turn);
  if (!m->done && l->d->ops->stream_wait) {
    rc = l->d->ops->event_new(l->d, &m->done, e);
  }
  pthread_mutex_unlock(&m->turn);
  return rc;
}

static int copy_texture(rt_loaded *l, const gen_template *t, const gen_plan *plan,
                        const gen_texture *from, texture *x, err *e) {
  x->rank = (int)from->rank;
  memcpy(x->dims, from->dims, sizeof x->dims);
  x->fixed = (rt_texture){.type = from->type,
                          .channels = (int)from->channels,
                          .width = from->dims[0],
                          .height = from->rank > 1 ? from->dims[1] : 0,
                          .linear = from->how.linear,
                          .normalized_coords = from->how.normalized_coords,
                          .normalized = from->how.normalized};
  for (int k = 0; k < GEN_TEXTURE_RANK; k++) {
    x->fixed.edge[k] = (rt_edge)from->how.edge[k];
  }
  for (size_t i = 0; i + 1 < from->rank; i++) {
    TRY(stride(l, t, plan, &from->strides[i], &x->strides[i], &x->stride_types[i], e));
  }
  TRY(resolve(l, t, plan, &from->at, &x->at, e));
  TRY(from->array ? share_image(l, e) : 0);
  return from->array ? loaded_textures_array(l->d, x, e) : 0;
}

static int copy_textures(rt_loaded *l, const gen_template *t, const gen_plan *plan,
                         const gen_launch *from, stage *to, err *e) {
  const size_t n = count_operands(from, GEN_FROM_TEXTURE);
  if (n > LOADED_TENSORS || (n && (!l->d->ops->texture_new || !l->image))) {
    return err_set(e, n > LOADED_TENSORS ? ERR_LIMIT : ERR_LAUNCH,
                   "kernel %s takes %zu textures; at most %d, of a device that has them",
                   from->kernel, n, LOADED_TENSORS);
  }
  to->textures = n ? ARENA_ARRAY(&l->memory, texture, n) : NULL;
  if (n && !to->textures) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < from->n_operands; i++) {
    if (from->operands[i].from == GEN_FROM_TEXTURE) {
      to->operands[i] = (operand){.from = TEXTURE, .index = (uint32_t)to->n_textures};
      TRY(copy_texture(l, t, plan, from->operands[i].texture, &to->textures[to->n_textures++], e));
    }
  }
  return 0;
}

static size_t whole_chunks(size_t n) {
  return (n + LOADED_CHUNK - 1) / LOADED_CHUNK * LOADED_CHUNK;
}

/* Sorted by source, so that a launch does not branch on each operand. */
static int sort_operands(rt_loaded *l, stage *s, err *e) {
  given *list = ARENA_ARRAY(&l->memory, given, s->n_operands + 1);
  s->params = ARENA_ARRAY(&l->memory, const void *, whole_chunks(s->n_operands) + 1);
  s->rest = ARENA_ARRAY(&l->memory, operand, s->n_operands + 1);
  s->rest_at = ARENA_ARRAY(&l->memory, uint8_t, s->n_operands + 1);
  if (!list || !s->params || !s->rest || !s->rest_at) {
    return err_nomem(e);
  }
  for (uint8_t i = 0; i < s->n_operands; i++) {
    const operand *o = &s->operands[i];
    if (o->from == ARGUMENT) {
      list[s->n_given++] = (given){.at = i, .index = (uint8_t)o->index};
    } else if (o->from <= LOOP) {
      s->params[i] = o->constant;
    } else {
      s->rest_at[s->n_rest] = i;
      s->rest[s->n_rest++] = *o;
    }
  }
  s->given = list;
  return 0;
}

static int copy_operands(rt_loaded *l, const gen_template *t, const gen_plan *plan,
                         const gen_launch *from, stage *to, err *e) {
  if (from->n_operands > LOADED_OPERANDS) {
    return err_set(e, ERR_LIMIT, "kernel %s takes %zu arguments; at most %d", from->kernel,
                   from->n_operands, LOADED_OPERANDS);
  }
  to->n_operands = (uint8_t)from->n_operands;
  to->operands = ARENA_ARRAY(&l->memory, operand, from->n_operands + 1);
  if (!to->operands) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < from->n_operands; i++) {
    if (from->operands[i].from < GEN_FROM_TENSOR) {
      TRY(resolve(l, t, plan, &from->operands[i], &to->operands[i], e));
    }
  }
  TRY(copy_tensors(l, t, plan, from, to, e));
  TRY(copy_textures(l, t, plan, from, to, e));
  return sort_operands(l, to, e);
}

/* ---- kernels and variables ------------------------------------------------------------------ */

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static void merge_info(rt_function_info *all, const rt_function_info *one) {
  all->regs = (int)larger(all->regs, one->regs);
  all->smem_static = larger(all->smem_static, one->smem_static);
  all->local_nbytes = larger(all->local_nbytes, one->local_nbytes);
  if (all->threads_max == 0 || one->threads_max < all->threads_max) {
    all->threads_max = one->threads_max;
  }
}

static int find_function(rt_loaded *l, const gen_template *t, const gen_launch *from, stage *to,
                         err *e) {
  err why = {0};
  if (!l->image) {
    return err_set(e, ERR_NOTFOUND, "no image to find kernel %s in", from->kernel);
  }
  const int rc = l->d->ops->function(l->d, l->image->module, from->kernel, &to->function, &why);
  return rc == ERR_NOTFOUND ? launch_no_kernel(l->bytes, l->nbytes, t, from, e)
                            : err_copy(e, rc, &why);
}

static int find_kernel(rt_loaded *l, const gen_template *t, const gen_launch *from, stage *to,
                       err *e) {
  const rt_device_ops *ops = l->d->ops;
  rt_function_info f;
  TRY(find_function(l, t, from, to, e));
  TRY(launch_check_args(l->d, to->function, t, from, e));
  TRY(ops->function_info(l->d, to->function, &f, e));
  TRY(loaded_fits(l, from, &f, e));
  merge_info(&l->info, &f);
  /* The limit is the kernel's, and another stage or another plan over the same image may need more:
   * allow all that the device has. */
  bool opt_in = f.smem_static + from->smem > l->d->info.smem_static;
  int64_t most = l->d->info.smem_block - f.smem_static;
  TRY(opt_in ? ops->function_smem(l->d, to->function, most, e) : 0);
  return loaded_fits_at_once(l, from, to->function, &f, e);
}

static int find_variable(rt_loaded *l, const gen_launch *from, stage *to, err *e) {
  size_t nbytes;
  if (!l->image || !l->d->ops->variable) {
    return err_set(e, ERR_NOTFOUND, "there is no __constant__ variable %s", from->symbol);
  }
  TRY(l->d->ops->variable(l->d, l->image->module, from->symbol, &to->symbol, &nbytes, e));
  TRY(share_image(l, e));
  return from->at[0] + from->nbytes <= nbytes
             ? 0
             : err_set(e, ERR_LAUNCH,
                       "the __constant__ variable %s has %zu bytes; it would get %llu",
                       from->symbol, nbytes, (unsigned long long)(from->at[0] + from->nbytes));
}

static bool is_host(const gen_plan *plan, const gen_operand *o) {
  return plan->on_host && o->from == GEN_FROM_ARG && plan->on_host[o->index];
}

static void copy_memory(const gen_plan *plan, const gen_launch *from, stage *to) {
  to->copies = from->copy;
  to->fill = from->fill;
  to->nbytes = from->nbytes;
  memcpy(to->at, from->at, sizeof to->at);
  if (from->copy || from->symbol) {
    to->way = is_host(plan, &from->operands[from->copy])        ? FROM_HOST
              : from->copy && is_host(plan, &from->operands[0]) ? TO_HOST
                                                                : WITHIN_DEVICE;
  }
}

static int allow_launches(rt_loaded *l, const gen_launch *from, err *e) {
  if (!from->pool) {
    return 0;
  }
  return l->d->ops->pending_launches
             ? l->d->ops->pending_launches(l->d, from->pool, e)
             : err_set(e, ERR_LAUNCH, "kernels of this device cannot launch kernels, as %s does",
                       from->kernel);
}

static int make_stage(rt_loaded *l, const gen_template *t, const gen_plan *plan,
                      const gen_launch *from, stage *to, err *e) {
  memcpy(to->grid, from->grid, sizeof to->grid);
  memcpy(to->block, from->block, sizeof to->block);
  to->smem = from->smem;
  to->overlap = from->overlap && l->d->ops->launch_overlapping;
  to->cooperative = from->cooperative;
  copy_memory(plan, from, to);
  TRY(copy_operands(l, t, plan, from, to, e));
  TRY(allow_launches(l, from, e));
  return from->kernel   ? find_kernel(l, t, from, to, e)
         : from->symbol ? find_variable(l, from, to, e)
                        : 0;
}

static size_t count_loops(const gen_plan *plan) {
  size_t n = 0;
  for (size_t i = 0; i < plan->n; i++) {
    n += plan->launches[i].loop && (!i || plan->launches[i - 1].loop != plan->launches[i].loop);
  }
  return n;
}

static int copy_loops(rt_loaded *l, const gen_template *t, const gen_plan *plan, err *e) {
  l->n_args = t->n_args + t->n_prepared;
  if (l->n_args > LOADED_OPERANDS) {
    return err_set(e, ERR_LIMIT, "%s has %zu arguments; at most %d", t->name, l->n_args,
                   LOADED_OPERANDS);
  }
  l->loops = ARENA_ARRAY(&l->memory, loaded_loop, count_loops(plan) + 1);
  l->arg_nbytes = ARENA_ARRAY(&l->memory, uint8_t, l->n_args + 1);
  if (!l->loops || !l->arg_nbytes) {
    return err_nomem(e);
  }
  memset(l->arg_nbytes, 0, l->n_args + 1);
  for (size_t i = 0; i < plan->n; i++) {
    const gen_loop *from = plan->launches[i].loop;
    if (from && (!i || plan->launches[i - 1].loop != from)) {
      l->loops[l->n_loops++] =
          (loaded_loop){.first = i,
                        .n = from->n,
                        .n_odd = from->n_odd,
                        .times = from->times,
                        .graph = from->graph,
                        .is_while = from->is_while,
                        .word = from->word,
                        .word_name = from->is_while ? arena_text(&l->memory, from->word_name) : "",
                        .batch = from->batch};
      if (!l->loops[l->n_loops - 1].word_name) {
        return err_nomem(e);
      }
    }
  }
  return 0;
}

static bool fills_again(const rt_loaded *l) {
  for (size_t i = 0; i < l->n_stages; i++) {
    for (size_t k = 0; k < i && l->stages[i].symbol; k++) {
      if (l->stages[k].symbol == l->stages[i].symbol) {
        return true;
      }
    }
  }
  return false;
}

static int copy_plan(rt_loaded *l, const gen_template *t, const gen_plan *plan, err *e) {
  TRY(copy_workspaces(l, plan, e));
  TRY(copy_loops(l, t, plan, e));
  l->stages = ARENA_ARRAY(&l->memory, stage, plan->n + 1);
  if (!l->stages) {
    return err_nomem(e);
  }
  for (; l->n_stages < plan->n; l->n_stages++) {
    TRY(make_stage(l, t, plan, &plan->launches[l->n_stages], &l->stages[l->n_stages], e));
  }
  l->refills = fills_again(l);
  TRY(loaded_graphs_check(l, plan, e));
  TRY(loaded_order_new(l, plan, e));
  l->in_steps = l->fills || l->n_loops || l->order || l->whiles.flag;
  l->blocks = gen_plan_blocks(plan);
  return 0;
}

/* ---- making and freeing -------------------------------------------------------------------- */

static int load_image(rt_device *d, const void *bytes, size_t nbytes, loaded_image **out, err *e) {
  *out = NULL;
  if (!bytes || nbytes == 0) {
    return 0;
  }
  loaded_image *image = calloc(1, sizeof *image);
  if (!image) {
    return err_nomem(e);
  }
  int rc = d->ops->module_load(d, bytes, nbytes, &image->module, e);
  if (rc) {
    free(image);
    return rc;
  }
  pthread_mutex_init(&image->turn, NULL);
  *out = image;
  return 0;
}

static void drop_image(rt_device *d, loaded_image *image) {
  if (image && atomic_fetch_sub(&image->users, 1) == 1) {
    if (image->done) {
      d->ops->event_free(d, image->done);
    }
    d->ops->module_unload(d, image->module);
    pthread_mutex_destroy(&image->turn);
    free(image);
  }
}

/* Adds a user to the image; drops it again on failure. */
static int make(rt_device *d, loaded_image *image, const void *bytes, size_t nbytes,
                const gen_template *t, const gen_plan *plan, rt_loaded **out, err *e) {
  if (image) {
    atomic_fetch_add(&image->users, 1);
  }
  rt_loaded *l = calloc(1, sizeof *l);
  if (!l) {
    drop_image(d, image);
    return err_nomem(e);
  }
  pthread_mutex_init(&l->graphs.turn, NULL);
  pthread_mutex_init(&l->turn, NULL);
  pthread_mutex_init(&l->objects.turn, NULL);
  pthread_mutex_init(&l->whiles.turn, NULL);
  l->d = d;
  l->image = image;
  l->bytes = bytes;
  l->nbytes = nbytes;
  int rc = copy_plan(l, t, plan, e);
  l->bytes = NULL;
  if (rc) {
    rt_loaded_free(l);
    return rc;
  }
  *out = l;
  return 0;
}

int rt_loaded_new(rt_device *d, const void *image, size_t nbytes, const gen_template *t,
                  const gen_plan *plan, rt_loaded **out, err *e) {
  loaded_image *loaded;
  *out = NULL;
  TRY(load_image(d, image, nbytes, &loaded, e));
  return make(d, loaded, image, nbytes, t, plan, out, e);
}

int rt_loaded_new_from(rt_loaded *same, const gen_template *t, const gen_plan *plan,
                       rt_loaded **out, err *e) {
  *out = NULL;
  return make(same->d, same->image, NULL, 0, t, plan, out, e);
}

void rt_loaded_free(rt_loaded *l) {
  if (l) {
    loaded_graphs_free(l);
    loaded_whiles_free(l);
    loaded_order_free(l);
    loaded_textures_free(l);
    l->d->ops->release(l->d, l->workspace);
    drop_image(l->d, l->image);
    arena_clear(&l->memory);
    free(l);
  }
}

bool rt_loaded_blocks(const rt_loaded *l) {
  return l->blocks;
}

int rt_loaded_info(rt_loaded *l, rt_function_info *info, err *e) {
  (void)e;
  *info = l->info;
  return 0;
}
