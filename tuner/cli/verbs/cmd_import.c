/* cmd_import.c -- autotune import: the results in a file of another tool as trials of a problem. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_writer.h"
#include "print.h"
#include "cli.h"
#include "open_device.h"
#include "trial_table.h"
#include "verbs.h"

typedef struct importer {
  const cli *c;
  arena memory;
  trial_table rows;
  gen_template *t;
  gen_problem p;
  str problem;
  gen_instance *g; /* NULL: the device is not here, and its limits are not known */
  db *d;
  int64_t device_id, template_id;
  const char *device_name;
  bool emulated;
  const char **known; /* configurations */
  size_t n_configs;
  size_t n_new, n_known, n_out; /* stored; already in the database; not in the template's space */
  err first_out;
} importer;

/* Columns and parameters must correspond; otherwise the results are of another kernel. */
static int check_columns(const importer *in, err *e) {
  static const char advice[] =
      "; the file is of another kernel: it can be searched as it is, by autotune replay %.200s";
  char text[300];
  snprintf(text, sizeof text, advice, in->rows.path);
  const gen_param *p = in->t->params;
  for (size_t i = 0; i < in->rows.n_params; i++) {
    size_t k = 0;
    while (k < in->t->n_params && strcmp(p[k].name, in->rows.params[i])) {
      k++;
    }
    if (k == in->t->n_params) {
      return err_at(e, ERR_USAGE, in->rows.path, "%s has no parameter '%.60s'%s", in->t->name,
                    in->rows.params[i], text);
    }
  }
  for (size_t k = 0; k < in->t->n_params; k++) {
    size_t i = 0;
    while (i < in->rows.n_params && strcmp(p[k].name, in->rows.params[i])) {
      i++;
    }
    if (i == in->rows.n_params) {
      return err_at(e, ERR_USAGE, in->rows.path, "there is no column '%s', which %s needs%s",
                    p[k].name, in->t->name, text);
    }
  }
  return 0;
}

/* The problem of the command line, else of the file. */
static int open_problem(importer *in, err *e) {
  gen_options o;
  const cli *c = in->c;
  auto_str words = {0};
  TRY(cli_fields(c, &words, e));
  const char *text = c->n_words > 1 ? str_text(&words) : in->rows.origin.problem;
  if (!text) {
    return err_at(e, ERR_USAGE, in->rows.path,
                  "it does not say what it was measured on; name the problem: autotune import "
                  "FILE FAMILY FIELD=VALUE ...; or search it as it is: autotune replay FILE");
  }
  char family[512];
  err why = {0};
  snprintf(family, sizeof family, "%.*s", (int)strcspn(text, " "), text);
  const char *name = family;
  cli rest = *c; /* the words after the file */
  rest.words += rest.n_words > 0;
  rest.n_words -= rest.n_words > 0;
  TRY(rest.n_words ? cli_template_named(&rest, &in->memory, &o, &name, e)
                   : cli_template_options(c, &in->memory, &o, e));
  o.names_only = text == in->rows.origin.problem;
  const int rc = gen_open(&o, name, &in->t, &why);
  if (rc == ERR_USAGE && o.names_only) {
    return err_at(e, rc, in->rows.path,
                  "%s; if you trust it, name it: autotune import FILE TEMPLATE.lua FIELD=VALUE ...",
                  why.message);
  }
  TRY(err_copy(e, rc, &why));
  TRY(gen_problem_parse(in->t, text + strcspn(text, " "), &in->p, e));
  gen_problem_text(in->t, &in->p, &in->problem);
  return in->problem.failed ? err_nomem(e) : 0;
}

/* Files from export-results name their device; others belong to the device of --device. */
static int open_device(importer *in, err *e) {
  const trial_table_origin *o = &in->rows.origin;
  if (o->key && o->device && !in->c->device) {
    in->device_name = o->device;
    in->emulated = rt_key_is_modelled(o->key);
    return db_device_put(in->d, &(db_device){o->key, o->device, o->cc, o->sms}, &in->device_id, e);
  }
  rt_device *device;
  auto_str key = {0};
  TRY(rt_device_open(cli_device(in->c), &device, e));
  rt_device_key(&device->info, &key);
  in->device_name = arena_text(&in->memory, device->info.name);
  in->emulated = device->info.modelled;
  int rc = key.failed ? err_nomem(e) : rt_instance_new(in->t, &in->p, &device->info, &in->g, e);
  rc = rc ? rc
          : db_device_put(
                in->d,
                &(db_device){str_text(&key), device->info.name, device->info.cc, device->info.sms},
                &in->device_id, e);
  device->ops->close(device);
  return rc;
}

static int check_times(const importer *in, err *e) {
  if (in->emulated == in->rows.origin.modelled) {
    return 0;
  }
  return err_at(e, ERR_USAGE, in->rows.path,
                in->emulated ? "its times were measured, and %s is emulated: name the GPU they are "
                               "from with --device"
                             : "its times are a model's, and %s is real: they are not stored as "
                               "measured",
                in->device_name);
}

static int put_time(const importer *in, int64_t trial, double sec, err *e) {
  if (in->emulated) {
    return db_estimate_put(in->d, trial, TUNE_MODEL, sec, e);
  }
  return db_sample_put(
      in->d, trial, &(db_sample){.stage = DB_SCREEN, .median = sec, .launches = 1, .uuid = ""}, e);
}

/* A successful result at an invalid point is of another kernel, or of another version. */
static int config_of(const importer *in, size_t row, str *out, err *e) {
  gen_config c;
  auto_str text = {0};
  const char **cells = in->rows.cells + row * in->rows.n_params;
  for (size_t i = 0; i < in->rows.n_params; i++) {
    str_addf(&text, "%s%s=%s", i ? "," : "", in->rows.params[i], cells[i]);
  }
  TRY(text.failed ? err_nomem(e) : 0);
  TRY(gen_config_parse(in->t, str_text(&text), &c, e));
  TRY(in->g && in->rows.status[row] == DB_OK ? gen_config_check(in->g, &c, e) : 0);
  gen_config_text(in->t, &c, out);
  return out->failed ? err_nomem(e) : 0;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_known(const importer *in, const char *config) {
  return bsearch(&config, in->known, in->n_configs, sizeof *in->known, by_text) != NULL;
}

/* The stored configurations of this problem, sorted. */
static int load_known(importer *in, err *e) {
  db_result *rows;
  TRY(db_results(in->d, in->template_id, in->device_id, str_text(&in->problem), &in->memory, &rows,
                 &in->n_configs, e));
  in->known = ARENA_ARRAY(&in->memory, const char *, in->n_configs + 1);
  TRY(in->known ? 0 : err_nomem(e));
  for (size_t i = 0; i < in->n_configs; i++) {
    in->known[i] = rows[i].t.config;
  }
  qsort(in->known, in->n_configs, sizeof *in->known, by_text);
  return 0;
}

static int import_row(importer *in, size_t row, err *e) {
  int64_t id;
  auto_str config = {0};
  err out = {0};
  if (config_of(in, row, &config, &out)) {
    in->first_out = in->n_out++ ? in->first_out : out;
    return 0;
  }
  if (is_known(in, str_text(&config))) {
    in->n_known++;
    return 0;
  }
  db_status status = (db_status)in->rows.status[row];
  const char *reason = in->rows.reason[row];
  db_trial trial = {.problem = str_text(&in->problem),
                    .config = str_text(&config),
                    .status = status,
                    .reason = status == DB_OK ? NULL
                              : reason        ? reason
                                              : db_status_name(status)};
  TRY(db_trial_put(in->d, in->template_id, in->device_id, &trial, &id, e));
  TRY(status == DB_OK ? put_time(in, id, in->rows.sec[row], e) : 0);
  in->n_new++;
  return 0;
}

static int store(importer *in, err *e) {
  TRY(cli_open_db(in->c, DB_WRITE, &in->d, e));
  TRY(open_device(in, e));
  TRY(check_times(in, e));
  TRY(db_template_put(in->d, &(db_template){in->t->name, in->t->hash, in->t->path, in->t->version},
                      &in->template_id, e));
  TRY(load_known(in, e));
  for (size_t i = 0; i < in->rows.n; i++) {
    TRY(import_row(in, i, e));
  }
  return 0;
}

static int report(const importer *in, err *e) {
  if (in->c->json) {
    str s = {0};
    jw_event(&s, "import");
    jw_text(&s, "file", in->c->words[0]);
    jw_text(&s, "problem", str_text(&in->problem));
    jw_text(&s, "device", in->device_name);
    jw_integer(&s, "results", (int64_t)in->rows.n);
    jw_integer(&s, "new", (int64_t)in->n_new);
    jw_integer(&s, "known", (int64_t)in->n_known);
    jw_end_line(&s);
    print_str(&s);
  } else if (!in->c->quiet) {
    printf("%s on %s: %zu results, %zu of them new, %zu known already\n", str_text(&in->problem),
           in->device_name, in->rows.n, in->n_new, in->n_known);
  }
  return in->n_out ? err_at(e, ERR_USAGE, in->rows.path,
                            "%s; %zu result%s left out, the others are stored",
                            in->first_out.message, in->n_out, in->n_out == 1 ? " was" : "s were")
                   : 0;
}

static int read_file(importer *in, str *text, err *e) {
  in->rows.memory = &in->memory;
  in->rows.path = in->c->words[0];
  TRY(trial_table_read_file(in->c->words[0], text, e));
  str_add(text, "");
  return text->n ? trial_table_read(&in->rows, text->p, text->n, e)
                 : err_at(e, ERR_USAGE, in->rows.path, "the file is empty");
}

int cmd_import(const cli *c, err *e) {
  importer in = {.c = c};
  auto_str text = {0};
  if (!c->n_words) {
    return err_set(e, ERR_USAGE, "name the file: autotune import FILE [FAMILY FIELD=VALUE ...]");
  }
  int rc = read_file(&in, &text, e);
  rc = rc ? rc : open_problem(&in, e);
  rc = rc ? rc : check_columns(&in, e);
  rc = rc ? rc : store(&in, e);
  rc = rc ? rc : report(&in, e);
  db_close(in.d);
  gen_instance_free(in.g);
  gen_close(in.t);
  trial_table_clear(&in.rows);
  str_clear(&in.problem);
  arena_clear(&in.memory);
  return rc;
}
