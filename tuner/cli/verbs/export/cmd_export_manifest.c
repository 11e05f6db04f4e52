/* cmd_export_manifest.c -- what was exported, and from what, as JSON. */
#include <string.h>

#include "cmd_export.h"
#include "print.h"

static void add_member(str *s, const char *name, const char *text) {
  str_addf(s, ",\n  \"%s\": ", name);
  if (text) {
    str_add_json(s, text);
  } else {
    str_add(s, "null");
  }
}

static void add_files(const export_run *x, str *s) {
  const struct {
    const char *name, *path;
  } files[] = {{"cubin", x->c->cubin},   {"fatbin", x->c->fatbin}, {"ptx", x->c->ptx},
               {"source", x->c->source}, {"header", x->c->header}, {"embed", x->c->embed}};
  const char *between = "";
  str_add(s, ",\n  \"files\": {");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    if (files[i].path) {
      str_addf(s, "%s\"%s\": ", between, files[i].name);
      str_add_json(s, files[i].path);
      between = ", ";
    }
  }
  str_add(s, "}");
}

static void add_template(const export_run *x, str *s) {
  const gen_template *t = x->k.t;
  str_addf(s, ",\n  \"template\": {\"family\": ");
  str_add_json(s, t->name);
  str_addf(s, ", \"version\": %lld, \"hash\": \"%s\"}", (long long)t->version, t->hash);
}

static void add_archs(const export_run *x, str *s) {
  str_add(s, ",\n  \"archs\": [");
  for (size_t i = 0; i < x->archs.n; i++) {
    str_add(s, i ? ", " : "");
    str_add_json(s, x->archs.name[i]);
  }
  str_add(s, "]");
}

/* A modelled time is not called seconds. */
static void add_measured(const db_line *row, str *s) {
  if (!row->problem) {
    str_add(s, ",\n  \"measured\": null");
    return;
  }
  const bool modelled = row->kind == DB_KIND_MODEL;
  str_addf(s, ",\n  \"%s\": {\"%s\": %.9g", modelled ? "modelled" : "measured",
           modelled ? "modelled_seconds" : "seconds", row->sec);
  str_add(s, ", \"device\": ");
  str_add_json(s, row->device.name);
  str_add(s, ", \"device_key\": ");
  str_add_json(s, row->device.key);
  if (row->when[0]) { /* of this database; else it is shipped with the library */
    str_addf(s, ", \"spread\": %.3g, \"launches\": %lld, \"final\": %s", row->spread,
             (long long)row->launches, row->kind == DB_KIND_FINAL ? "true" : "false");
    str_addf(s, ", \"driver\": %d, \"nvrtc\": %d, \"when\": ", row->driver, row->nvrtc);
    str_add_json(s, row->when);
  }
  str_add(s, "}");
}

/* A device's key begins with its name. */
const char *cmd_export_device(export_run *x) {
  const char *key = x->shipped.portfolio_device;
  const char *name = key ? arena_text_n(&x->k.memory, key, strcspn(key, "|")) : NULL;
  return name ? name : x->k.device->info.name;
}

static void add_portfolio(export_run *x, const portfolio *c, str *s) {
  str_addf(s,
           ",\n  \"portfolio\": {\"configs\": %zu, \"sizes\": %zu, \"asked_loss\": %.4g, "
           "\"expected_loss\": %.4g, \"worst_loss\": %.4g, \"device\": ",
           c->n_configs, c->n_sizes, c->asked, c->expected, c->worst);
  str_add_json(s, cmd_export_device(x));
  str_add(s, ", \"device_key\": ");
  str_add_json(s, x->shipped.portfolio_device ? x->shipped.portfolio_device
                                              : str_text(&x->device_key));
  str_add(s, "}");
}

int cmd_export_manifest(export_run *x, const export_info *what, const choice *ch,
                        const portfolio *pf, err *e) {
  str s = {0};
  str_addf(&s, "{\n  \"autotune\": \"%s\"", TUNED_VERSION);
  add_member(&s, "problem", what->problem);
  add_member(&s, "config", what->config);
  add_member(&s, "origin", ch->origin);
  add_member(&s, "command", what->command);
  if (what->options) {
    add_member(&s, "compiler_options", what->options);
  }
  add_template(x, &s);
  add_archs(x, &s);
  str_addf(&s, ",\n  \"compiled_by_nvrtc\": %d", what->nvrtc);
  if (pf) {
    add_portfolio(x, pf, &s);
  } else {
    add_measured(&ch->row, &s);
  }
  add_files(x, &s);
  str_add(&s, "\n}\n");
  return print_file(x->c->manifest, &s, e);
}
