/* cmd_export_choose.c -- which configuration of a problem autotune export writes. */
#include <stdlib.h>
#include <string.h>

#include "cmd_export.h"
#include "serve_choose.h"

/* The problem's best row; ERR_NOTFOUND without a message: nothing is tuned. A missing database is
 * no error. */
static int find_row(export_run *x, db *d, const char *problem, db_line *row, err *e) {
  db_line *rows;
  size_t n = 0;
  TRY(d ? db_lines(d, x->k.t->name, str_text(&x->device_key), &x->k.memory, &rows, &n, e) : 0);
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(rows[i].template.hash, x->k.t->hash) && !strcmp(rows[i].problem, problem)) {
      *row = rows[i];
      return 0;
    }
  }
  return ERR_NOTFOUND;
}

/* ---- untuned: what libtuned would serve ------------------------------------------------------ */

/* The highest capability among the architectures; images for it run on newer devices, too. */
static int target_cc(const export_run *x) {
  int cc = 0;
  for (size_t i = 0; i < x->archs.n; i++) {
    const char *digits = strchr(x->archs.name[i], '_');
    const int one = digits ? atoi(digits + 1) : 0;
    cc = one > cc ? one : cc;
  }
  return cc;
}

/* A device of the target's capability: this machine's, else one with the limits of an emulated one. No
 * modelled result is served to it. err ERR_NOTFOUND  without a message: none is known */
static int target_device(export_run *x, rt_info *out, str *key) {
  const int cc = target_cc(x);
  *out = x->k.device->info;
  if (out->cc != cc && cli_profile_of(cc, out)) {
    return ERR_NOTFOUND;
  }
  if (out->modelled) {
    out->modelled = false;
    str_addf(key, "sm_%d", cc);
  } else {
    str_add(key, str_text(&x->device_key));
  }
  return 0;
}

static const char *name_of(export_run *x, const char *device_key) {
  return device_key ? arena_text_n(&x->k.memory, device_key, strcspn(device_key, "|")) : NULL;
}

static const char *describe(export_run *x, const serve_pick *pick, const char *problem) {
  const char *device = name_of(x, pick->device_key);
  if (pick->origin == TUNED_DEFAULT) {
    return "the template's suggestion for untuned problems";
  }
  device = device ? device : "another device";
  if (pick->origin == TUNED_PORTFOLIO) {
    return arena_format(&x->k.memory, "of the portfolio measured on %s", device);
  }
  return !strcmp(pick->problem, problem)
             ? arena_format(&x->k.memory, "tuned on %s", device)
             : arena_format(&x->k.memory, "tuned for %s on %s", pick->problem, device);
}

/* What is known of it, as far as serving tells. */
static void fill_row(export_run *x, const serve_pick *pick, const char *problem, choice *out) {
  const char *device = name_of(x, pick->device_key);
  if (device && pick->problem && !strcmp(pick->problem, problem) && pick->sec > 0) {
    out->row = (db_line){.problem = problem,
                         .device = {.name = device, .key = pick->device_key},
                         .kind = pick->measured ? DB_KIND_FINAL : DB_KIND_MODEL,
                         .sec = pick->sec,
                         .when = ""};
  }
}

static int choose_served(export_run *x, db *d, choice *out, err *e) {
  cli_kernel *k = &x->k;
  const char *problem = str_text(&k->problem_text);
  rt_info device;
  auto_str key = {0};
  auto_instance *g = NULL;
  serve_pick pick;
  if (target_device(x, &device, &key)) {
    return 0;
  }
  const serve_sources from = {.device = &device,
                              .device_key = str_text(&key),
                              .db = k->device->info.modelled ? NULL : d,
                              .presets = serve_presets,
                              .portfolios = serve_portfolios};
  TRY(rt_instance_new(k->t, &k->problem, &device, &g, e));
  serve_choose c = {.from = &from,
                    .t = k->t,
                    .p = &k->problem,
                    .g = g,
                    .problem = problem,
                    .known = &x->shipped,
                    .memory = &k->memory};
  TRY(serve_choose_next(&c, &pick, e));
  if (pick.origin == TUNED_DEFAULT && gen_config_equal(k->t, &pick.config, &k->config)) {
    return 0;
  }
  out->config = pick.config;
  out->origin = describe(x, &pick, problem);
  fill_row(x, &pick, problem, out);
  gen_instance *before = k->g; /* of a device that may allow less */
  k->g = g;
  g = before;
  return out->origin ? 0 : err_nomem(e);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void warn_of_default(export_run *x, choice *out) {
  const char *problem = str_text(&x->k.problem_text);
  out->origin = "the template's default";
  if (!x->c->quiet) {
    fprintf(stderr,
            "autotune: warning: nothing near '%s' is tuned for sm_%d: this is the template's "
            "default, which may be many times slower than a tuned kernel; tune it first (autotune "
            "%s), or name a configuration with --config\n",
            problem, target_cc(x), problem);
  }
}

int cmd_export_choose(export_run *x, choice *out, err *e) {
  cli_kernel *k = &x->k;
  auto_db *d = NULL;
  *out = (choice){.config = k->config, .origin = x->c->config ? "--config" : NULL};
  if (x->c->config) {
    return gen_config_check(k->g, &k->config, e);
  }
  TRY(cli_open_db_if_any(x->c, &d, e));
  const int rc = find_row(x, d, str_text(&k->problem_text), &out->row, e);
  if (!rc) {
    out->origin = "tuned";
    return gen_config_parse(k->t, out->row.config, &out->config, e);
  }
  TRY(rc == ERR_NOTFOUND ? choose_served(x, d, out, e) : rc);
  if (!out->origin) {
    warn_of_default(x, out);
  }
  return 0;
}
