#include "online_store.h"

#include <math.h>

#include "serve_former.h"
#include "serve_kernel.h"

typedef struct result {
  const tuned_kernel *served;
  const online_variant *best;
  const rt_info *info; /* of the device */
  double sec;
  int launches, nvrtc;
} result;

static int put_time(const result *r, db *d, int64_t trial, err *e) {
  const db_sample sample = {.stage = DB_SCREEN,
                            .median = r->sec,
                            .launches = r->launches,
                            .driver = r->info->driver,
                            .uuid = r->info->uuid};
  return r->info->modelled ? db_estimate_put(d, trial, "emulator 1", r->sec, e)
                           : db_sample_put(d, trial, &sample, e);
}

static int put_image(const result *r, db *d, err *e) {
  const online_variant *v = r->best;
  db_image image = {.key = v->key,
                    .arch = r->info->arch,
                    .source = str_text(&v->source),
                    .log = "",
                    .nvrtc = r->nvrtc,
                    .regs = v->regs,
                    .spill = v->spill,
                    .smem = v->smem};
  if (r->info->format == RT_CUBIN) {
    image.cubin = v->image.p;
    image.n_cubin = v->image.n;
  } else {
    image.ptx = v->image.p;
    image.n_ptx = v->image.n;
  }
  return db_image_put(d, &image, e);
}

static int put_all(const result *r, db *d, err *e) {
  const gen_template *t = r->served->t;
  const db_device device = {.key = r->served->owner->sources.device_key,
                            .name = r->info->name,
                            .cc = r->info->cc,
                            .sms = r->info->sms};
  const db_template template = {
      .family = t->name, .hash = t->hash, .path = t->path, .version = t->version};
  const db_trial row = {.problem = r->served->info.problem,
                        .config = r->served->info.config,
                        .status = DB_OK,
                        .image = r->best->kernel ? r->best->key : NULL,
                        .error = NAN}; /* compared with another kernel, not with the reference */
  int64_t device_id, template_id, trial;
  TRY(db_device_put(d, &device, &device_id, e));
  TRY(db_template_put(d, &template, &template_id, e));
  if (row.image) {
    TRY(put_image(r, d, e));
  }
  TRY(db_trial_put(d, template_id, device_id, &row, &trial, e));
  return put_time(r, d, trial, e);
}

void online_store(const tuned_kernel *served, const online_variant *best, double sec, int launches,
                  int nvrtc) {
  const serve *s = served->owner;
  const result r = {.served = served,
                    .best = best,
                    .info = &s->device->info,
                    .sec = sec,
                    .launches = launches,
                    .nvrtc = nvrtc};
  db *d;
  if (s->db_path && !db_open(s->db_path, DB_WRITE, &d, NULL)) {
    if (!serve_follow(d, NULL)) {
      put_all(&r, d, NULL);
    }
    db_close(d);
  }
}
