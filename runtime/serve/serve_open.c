#define _GNU_SOURCE
#include "serve_open.h"

#include <stdlib.h>
#include <string.h>

#include "db_trust.h"
#include "open_device.h"
#include "serve_find.h"
#include "serve_former.h"
#include "serve_kernel.h"
#include "serve_presets.h"
#include "serve_workspace.h"

static const char *environment(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

static int open_device(serve *s, const char *name, err *e) {
  if (!name && !rt_cuda_open(-1, &s->device, NULL)) {
    return 0; /* the thread's current context */
  }
  if (!name) {
    name = environment("TUNED_DEVICE");
  }
  return rt_device_open(name ? name : "0", &s->device, e);
}

/* ---- opening -------------------------------------------------------------------------------- */

static int open_database(serve *s, const tuned_options *o, err *e) {
  auto_arena a = {0};
  err why = {0};
  const char *path = o->database;
  int rc = path ? 0 : db_default_path(&a, &path, e);
  rc = rc ? rc : db_check_trust(path, o->trust_database || db_trusts_all(), e);
  if (!rc) {
    s->db_path = strdup(path);
    rc = db_open(path, DB_READ, &s->sources.db, &why);
    rc = rc ? rc : serve_follow(s->sources.db, &why);
    rc = rc && rc != ERR_NOTFOUND ? err_copy(e, rc, &why) : 0;
  }
  return rc;
}

static int set_reproducible(serve *s, const char *value, err *e) {
  static const char *const values[] = {"any", "run", "shape"};
  if (!value && !(value = environment("TUNED_REPRODUCIBLE"))) {
    return 0;
  }
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    if (!strcmp(value, values[i])) {
      strcpy(s->reproducible, value);
      return 0;
    }
  }
  return err_set(
      e, ERR_USAGE,
      "tuned_options.reproducible or TUNED_REPRODUCIBLE is '%s'; it must be any, run or shape",
      value);
}

/* "a:b" as a list of folders. */
static int set_folders(serve *s, const char *text, err *e) {
  if (!text && !(text = environment("TUNED_TEMPLATES"))) {
    return 0;
  }
  s->folders = strdup(text);
  const char **list = calloc(strlen(text) + 1, sizeof *list);
  s->options.folders = list;
  if (!s->folders || !list) {
    return err_nomem(e);
  }
  char *rest = s->folders, *folder;
  while ((folder = strsep(&rest, ":"))) {
    if (*folder) {
      list[s->options.n_folders++] = folder;
    }
  }
  return 0;
}

static int fill(serve *s, const tuned_options *o, err *e) {
  TRY(open_device(s, o->device, e));
  s->options.lazy = true; /* most kernels are stored: few expressions are used, and no source */
  s->one_at_a_time = s->device->info.serial;
  rt_device_key(&s->device->info, &s->device_key);
  s->sources.device = &s->device->info;
  s->sources.device_key = str_text(&s->device_key);
  TRY(set_folders(s, o->templates, e));
  TRY(set_reproducible(s, o->reproducible, e));
  TRY(open_database(s, o, e));
  return s->device_key.failed ? err_nomem(e) : 0;
}

/* ---- closing -------------------------------------------------------------------------------- */

static void free_kernels(serve *s) {
  for (tuned_kernel *k = s->newest, *older; k; k = older) {
    older = k->next;
    serve_kernel_free(k);
  }
}

void serve_close(serve *s) {
  for (serve_hook *h = s->hooks, *next; h; h = next) {
    next = h->next;
    h->close(h);
  }
  serve_table_clear(&s->front.kernels);
  serve_table_clear(&s->images);
  serve_workspaces_free(s);
  free_kernels(s);
  serve_families_free(s);
  rt_compiler_close(s->compiler);
  db_close(s->sources.db);
  if (s->device) {
    s->device->ops->close(s->device);
  }
  str_clear(&s->device_key);
  free((void *)s->options.folders);
  free(s->folders);
  free(s->db_path);
  pthread_mutex_destroy(&s->turn);
  pthread_mutex_destroy(&s->lock);
  free(s);
}

int serve_open(const tuned_options *o, serve **out, err *e) {
  serve *s = calloc(1, sizeof *s);
  if (!s) {
    return err_nomem(e);
  }
  s->front.forks = serve_count_forks();
  s->sources.presets = serve_presets;
  s->sources.portfolios = serve_portfolios;
  pthread_mutex_init(&s->lock, NULL);
  pthread_mutex_init(&s->turn, NULL);
  const int rc = fill(s, o, e);
  if (rc) {
    serve_close(s);
    return rc;
  }
  *out = s;
  return 0;
}
