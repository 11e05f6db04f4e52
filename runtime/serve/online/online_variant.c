#include "online_variant.h"

#include <string.h>

#include "serve_kernel.h"

static void keep_image(online_variant *v, const rt_image *image, rt_format format) {
  const str *bytes = format == RT_CUBIN ? &image->cubin : &image->ptx;
  str_add_n(&v->image, bytes->p, bytes->n);
  memcpy(v->key, image->key, sizeof v->key);
  for (size_t i = 0; i < image->n_kernels; i++) {
    const rt_kernel_info *k = &image->kernels[i];
    const int64_t spill = k->spill_stores + k->spill_loads;
    v->regs = k->regs > v->regs ? k->regs : v->regs;
    v->spill = spill > v->spill ? spill : v->spill;
    v->smem = k->smem_static > v->smem ? k->smem_static : v->smem;
  }
}

static int compile(online_variant *v, rt_compiler *compiler, const rt_source *source,
                   rt_format format) {
  auto_arena a = {0};
  rt_image image;
  rt_image_init(&image);
  const int rc = rt_compile(compiler, source, &a, &image, NULL);
  if (!rc) {
    keep_image(v, &image, format);
  }
  rt_image_clear(&image);
  return rc;
}

static int load_kernel(const tuned_kernel *k, gen_instance *g, online_variant *v, arena *a) {
  const serve_pick pick = {.config = v->config,
                           .origin = TUNED_ONLINE,
                           .problem = k->info.problem,
                           .device_key = k->owner->sources.device_key};
  serve_parts parts = {.owner = k->owner,
                       .family = k->family,
                       .t = k->t,
                       .name = k->name,
                       .problem = k->info.problem,
                       .g = g,
                       .pick = &pick,
                       .spill = v->spill};
  TRY(gen_plan_make(g, &v->config, a, &parts.plan, NULL));
  TRY(rt_loaded_new(k->owner->device, str_text(&v->image), v->image.n, k->t, parts.plan,
                    &parts.loaded, NULL));
  return serve_kernel_new(&parts, &v->kernel, NULL);
}

static int load(const tuned_kernel *k, gen_instance *g, online_variant *v) {
  serve *s = k->owner;
  auto_arena a = {0};
  pthread_mutex_lock(&s->lock);
  serve_turn_take(s);
  const int rc = load_kernel(k, g, v, &a);
  serve_turn_end(s);
  if (!rc) {
    v->kernel->next = s->newest;
    s->newest = v->kernel;
  }
  pthread_mutex_unlock(&s->lock);
  return rc;
}

int online_variant_make(online_chooser *c, gen_instance *g, rt_compiler *compiler,
                        online_variant *v) {
  rt_source source = {0};
  TRY(online_chooser_next(c, &v->config, &v->place, &v->source, &source));
  if (compile(v, compiler, &source, c->s->device->info.format)) {
    return ERR_COMPILE;
  }
  return load(c->k, g, v) ? ERR_LAUNCH : 0;
}

void online_variant_clear(online_variant *v) {
  str_clear(&v->source);
  str_clear(&v->image);
  *v = (online_variant){0};
}
