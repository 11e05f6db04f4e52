#include "serve_kernel.h"

#include <math.h>
#include <stdlib.h>

static int describe_args(tuned_kernel *k, gen_instance *g, err *e) {
  const gen_data *data;
  auto_arena scratch = {0};
  serve_need *needs = ARENA_ARRAY(&k->memory, serve_need, k->t->n_args + 1);
  int rc = needs ? gen_data_make(g, 0, &scratch, &data, e) : err_nomem(e);
  if (!rc) {
    serve_args_describe(k->t, data, needs, &k->addresses);
    k->needs = needs;
    k->is_empty = serve_args_nothing(k->t, data);
  }
  return rc;
}

static int describe_config(tuned_kernel *k, const serve_pick *pick, err *e) {
  auto_str text = {0};
  gen_config_text(k->t, &pick->config, &text);
  k->info.config = arena_text(&k->memory, str_text(&text));
  const bool ok = !text.failed && k->info.config;
  return ok ? 0 : err_nomem(e);
}

static char *copy_or_null(arena *a, const char *text) {
  return text ? arena_text(a, text) : NULL;
}

static int describe_origin(tuned_kernel *k, const serve_pick *pick, err *e) {
  tuned_kernel_info *info = &k->info;
  info->origin = pick->origin;
  info->measured = pick->measured;
  info->adapted = pick->changed;
  info->expected_sec = pick->sec;
  info->expected_loss = pick->loss;
  info->tuned_problem = copy_or_null(&k->memory, pick->problem);
  info->tuned_device = copy_or_null(&k->memory, pick->device_key);
  return !info->tuned_problem == !pick->problem && !info->tuned_device == !pick->device_key
             ? 0
             : err_nomem(e);
}

/* A time scaled down to a small problem must allow for the launch: no GPU starts and ends a kernel
 * within a microsecond. */
static const double LAUNCH_LEAST_SEC = 1e-6;

static int describe_load(tuned_kernel *k, const gen_plan *plan, int64_t spill, err *e) {
  rt_function_info f = {0};
  uint32_t dynamic = 0;
  TRY(rt_loaded_info(k->loaded, &f, e));
  for (size_t i = 0; i < plan->n; i++) {
    dynamic = plan->launches[i].smem > dynamic ? plan->launches[i].smem : dynamic;
  }
  k->is_empty = k->is_empty || !plan->n;
  if (k->info.expected_sec > 0 && k->info.origin != TUNED_EXACT) {
    k->info.expected_sec = fmax(k->info.expected_sec, LAUNCH_LEAST_SEC * gen_plan_launches(plan));
  }
  k->info.workspace_nbytes = (int64_t)rt_loaded_workspace_nbytes(k->loaded);
  k->has_workspace = k->info.workspace_nbytes;
  k->info.blocking = rt_loaded_blocks(k->loaded);
  k->info.registers = f.regs;
  k->info.spill_nbytes = spill;
  k->info.shared_nbytes = f.smem_static + dynamic;
  return 0;
}

static int describe(tuned_kernel *k, const serve_parts *parts, err *e) {
  k->owner = parts->owner;
  k->family = parts->family;
  k->t = parts->t;
  k->name = parts->name;
  k->loaded = parts->loaded;
  if (!(k->info.problem = arena_text(&k->memory, parts->problem))) {
    return err_nomem(e);
  }
  TRY(describe_args(k, parts->g, e));
  TRY(gen_prepares(parts->g, &parts->pick->config, &k->prepares, e));
  TRY(describe_config(k, parts->pick, e));
  TRY(describe_origin(k, parts->pick, e));
  return describe_load(k, parts->plan, parts->spill, e);
}

int serve_kernel_new(const serve_parts *parts, tuned_kernel **out, err *e) {
  tuned_kernel *k = calloc(1, sizeof *k);
  if (!k) {
    rt_loaded_free(parts->loaded);
    return err_nomem(e);
  }
  const int rc = describe(k, parts, e);
  if (rc) {
    serve_kernel_free(k);
    return rc;
  }
  *out = k;
  return 0;
}

void serve_kernel_free(tuned_kernel *k) {
  rt_loaded_free(k->loaded);
  arena_clear(&k->memory);
  free(k);
}

void serve_kernel_unload(tuned_kernel *k) {
  rt_loaded_free(k->loaded);
  k->loaded = NULL;
}
