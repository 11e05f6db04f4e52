/* cli_open.c -- open the database, or all that verbs about one kernel need. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cached_compiler.h"
#include "cli.h"
#include "data_features.h"
#include "db_trust.h"
#include "emu.h"
#include "open_device.h"
#include "pipeline.h"
#include "serve_former.h"

/* The folder of a database that the user names; "": it is there, or it is the default. */
static void missing_folder(const cli *c, str *out) {
  const char *path = c->db ? c->db : secure_getenv("TUNED_DB");
  const char *slash = path ? strrchr(path, '/') : NULL;
  struct stat st;
  if (slash && slash > path) {
    str_add_n(out, path, (size_t)(slash - path));
  }
  if (out->n && !stat(str_text(out), &st)) {
    str_reset(out);
  }
}

int cli_open_db(const cli *c, db_mode mode, db **out, err *e) {
  auto_arena a = {0};
  auto_db *d = NULL;
  auto_str folder = {0};
  const char *path = c->db;
  *out = NULL;
  TRY(path ? 0 : db_default_path(&a, &path, e));
  TRY(strcmp(path, ":memory:") ? db_check_trust(path, db_trusts_all(), e) : 0);
  missing_folder(c, &folder);
  TRY(db_open(path, mode, &d, e));
  if (folder.n && !c->quiet) {
    fprintf(stderr, "autotune: created the folder %s for the database\n", str_text(&folder));
  }
  TRY(serve_follow(d, e));
  if (db_note(d)) {
    fprintf(stderr, "autotune: %s\n", db_note(d));
  }
  *out = d;
  d = NULL;
  return 0;
}

int cli_open_db_if_any(const cli *c, db **out, err *e) {
  err why = {0};
  const int rc = cli_open_db(c, DB_READ, out, &why);
  return rc == ERR_NOTFOUND ? 0 : err_copy(e, rc, &why);
}

static int choose_problem(const cli *c, bool runs, cli_kernel *k, err *e) {
  const bool small = runs && c->n_words == 1 && rt_emu_is(k->device) && k->t->n_sizes_emu;
  return small ? gen_problem_parse(k->t, k->t->sizes_emu[0], &k->problem, e)
               : cli_problem(c, k->t, &k->problem, e);
}

/* Kernels compute them on the device. */
static int find_features(cli_kernel *k, err *e) {
  rt_compiler *compiler;
  if (!k->problem.open || !k->problem.input) {
    return 0;
  }
  TRY(cached_compiler_open(&compiler, e));
  const int rc = rt_features_find(k->device, compiler, k->t, &k->problem, e);
  rt_compiler_close(compiler);
  return rc;
}

static int open_parts(const cli *c, bool runs, cli_kernel *k, err *e) {
  *k = (cli_kernel){0};
  TRY(cli_open_template(c, &k->memory, &k->t, e));
  TRY(rt_device_open(cli_device(c), &k->device, e));
  TRY(choose_problem(c, runs, k, e));
  TRY(find_features(k, e));
  gen_problem_text(k->t, &k->problem, &k->problem_text);
  TRY(k->problem_text.failed ? err_nomem(e) : 0);
  TRY(rt_instance_new(k->t, &k->problem, &k->device->info, &k->g, e));
  return gen_config_parse(k->t, c->config ? c->config : "", &k->config, e);
}

int cli_kernel_open(const cli *c, cli_kernel *k, err *e) {
  return open_parts(c, false, k, e);
}

int cli_kernel_open_to_run(const cli *c, cli_kernel *k, err *e) {
  return open_parts(c, true, k, e);
}

void cli_kernel_close(cli_kernel *k) {
  gen_instance_free(k->g);
  if (k->device) {
    k->device->ops->close(k->device);
  }
  gen_close(k->t);
  str_clear(&k->problem_text);
  arena_clear(&k->memory);
}

int cli_kernel_compile(const cli *c, cli_kernel *k, const gen_config *config, rt_compiler *compiler,
                       bool registers, str *source, size_t *body, rt_image *image, err *e) {
  TRY(gen_source_make(k->g, config, source, body, e));
  rt_source s = {.text = str_text(source),
                 .body = *body,
                 .arch = c->arch ? c->arch : k->device->info.arch,
                 .lineinfo = !c->arch && k->device->info.format == RT_PTX,
                 .registers = registers};
  return rt_compile(compiler, &s, &k->memory, image, e);
}

static int find_ids(const cli *c, const cli_kernel *k, db *d, int64_t *template_id,
                    int64_t *device_id, err *e) {
  rt_replay replay;
  auto_str key = {0};
  err why = {0};
  TRY(cli_timing(c, &replay, e));
  tune_device_key(&k->device->info, replay, &key);
  TRY(key.failed ? err_nomem(e) : 0);
  int rc = db_device_find(d, str_text(&key), device_id, &why);
  rc = rc ? rc : db_template_find(d, k->t->hash, template_id, &why);
  return rc == ERR_NOTFOUND
             ? err_set(e, rc,
                       "nothing is tuned with this template on %s; autotune %s ... tunes a problem",
                       k->device->info.name, c->words[0])
             : err_copy(e, rc, &why);
}

int cli_kernel_results(const cli *c, cli_kernel *k, db *d, size_t top, db_result **rows, size_t *n,
                       err *e) {
  const char *problem = str_text(&k->problem_text);
  int64_t device, template;
  TRY(find_ids(c, k, d, &template, &device, e));
  TRY(top ? db_results_top(d, template, device, problem, top, &k->memory, rows, n, e)
          : db_results(d, template, device, problem, &k->memory, rows, n, e));
  return *n ? 0
            : err_set(e, ERR_NOTFOUND, "'%s' is not tuned on %s; autotune %s%s does it", problem,
                      k->device->info.name, c->words[0], problem + strcspn(problem, " "));
}

int cli_kernel_count(const cli *c, const cli_kernel *k, db *d, int64_t *ok, int64_t *failed,
                     err *e) {
  int64_t device, template;
  TRY(find_ids(c, k, d, &template, &device, e));
  return db_count(d, template, device, str_text(&k->problem_text), ok, failed, e);
}
