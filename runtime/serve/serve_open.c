#define _GNU_SOURCE
#include "serve_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "background.h"
#include "db_trust.h"
#include "open_device.h"
#include "serve_find.h"
#include "serve_former.h"
#include "serve_kernel.h"
#include "serve_plan.h"
#include "serve_presets.h"
#include "serve_workspace.h"

static const char *environment(const char *name) {
  const char *value = secure_getenv(name);
  return value && *value ? value : NULL;
}

/* A variable that says yes. */
static bool is_set(const char *name) {
  const char *value = environment(name);
  return value && strcmp(value, "0") != 0;
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

static int refuse_threads(const char *what, const char *given, const char *none, err *e) {
  return err_set(e, ERR_USAGE,
                 "%s is %.20s; give the number of threads that compile, at most %d, or %s for none",
                 what, given, BACKGROUND_THREADS_MOST, none);
}

static int threads_of_environment(int *n, err *e) {
  const char *text = environment("TUNED_THREADS");
  char *end;
  const long given = text ? strtol(text, &end, 10) : 1;
  if (given < 0 || given > BACKGROUND_THREADS_MOST || (text && *end)) {
    return refuse_threads("TUNED_THREADS", text, "0", e);
  }
  *n = (int)given;
  return 0;
}

static int threads_of(const tuned_options *o, int *n, err *e) {
  char given[16];
  if (o->threads < -1 || o->threads > BACKGROUND_THREADS_MOST) {
    snprintf(given, sizeof given, "%d", o->threads);
    return refuse_threads("tuned_options.threads", given, "-1", e);
  }
  *n = o->threads > 0 ? o->threads : 0;
  return o->threads ? 0 : threads_of_environment(n, e);
}

static int start_background(serve *s, const tuned_options *o, err *e) {
  int n = 0;
  TRY(threads_of(o, &n, e));
  s->keeps_first = o->keep_first;
  if (n && !o->wait && !is_set("TUNED_WAIT")) {
    s->background = background_new(s, n);
    return s->background ? 0 : err_nomem(e);
  }
  return 0;
}

static int fill(serve *s, const tuned_options *o, err *e) {
  TRY(open_device(s, o->device, e));
  s->options.no_inputs = true;
  s->options.lazy = true; /* most kernels are stored: few expressions are used, and no source */
  s->one_at_a_time = s->device->info.serial;
  rt_device_key(&s->device->info, &s->device_key);
  s->sources.device = &s->device->info;
  s->sources.device_key = str_text(&s->device_key);
  s->options.trust = db_trusts_all();
  TRY(set_folders(s, o->templates, e));
  TRY(set_reproducible(s, o->reproducible, e));
  TRY(open_database(s, o, e));
  TRY(start_background(s, o, e));
  return s->device_key.failed ? err_nomem(e) : 0;
}

/* ---- closing -------------------------------------------------------------------------------- */

static void free_kernels(serve *s) {
  for (tuned_kernel *k = s->newest, *older; k; k = older) {
    older = k->next;
    serve_kernel_free(k);
  }
}

static void write_news(serve *s) {
  serve_news news = {0};
  serve_make_news(s, &news);
  serve_news_write(&news);
}

void serve_close(serve *s) {
  background_close(s->background);
  s->background = NULL;
  for (serve_hook *h = s->hooks, *next; h; h = next) {
    next = h->next;
    h->close(h);
  }
  serve_plans_free(s->plans);
  serve_table_clear(&s->front.kernels);
  serve_table_clear(&s->images);
  serve_workspaces_free(s);
  serve_table_clear(&s->own_memory);
  free_kernels(s);
  write_news(s);
  serve_families_free(s);
  rt_compiler_close(s->compiler);
  ready_images_close(s->ready);
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
