/* cmd_cache.c -- autotune cache: the images that all programs of this user have compiled.
 *
 *   stat     how many, their bytes, when they were used
 *   verify   read every one, and drop the damaged ones
 *   clear    drop all */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "image_cache.h"
#include "json_writer.h"
#include "print.h"
#include "verbs.h"

typedef struct opened {
  const cli *c;
  const char *path;
  image_cache *cache;
} opened;

static void add_day(const char *what, int64_t when, str *out) {
  const time_t sec = (time_t)when;
  struct tm day;
  char text[32];
  if (when && localtime_r(&sec, &day) && strftime(text, sizeof text, "%Y-%m-%d", &day)) {
    str_addf(out, ", %s %s", what, text);
  }
}

static int show_totals(const opened *o, err *e) {
  image_cache_totals x;
  auto_str out = {0};
  TRY(image_cache_stat(o->cache, &x, e));
  if (o->c->json) {
    jw_event(&out, "cache");
    jw_text(&out, "file", o->path);
    jw_integer(&out, "images", x.n);
    jw_integer(&out, "nbytes", x.nbytes);
    jw_integer(&out, "nbytes_most", IMAGE_CACHE_NBYTES);
    jw_integer(&out, "oldest_use", x.oldest);
    jw_integer(&out, "newest_use", x.newest);
    jw_end_line(&out);
  } else {
    str_addf(&out, "%s: %lld images, %lld of at most %d KB", o->path, (long long)x.n,
             (long long)x.nbytes / 1024, IMAGE_CACHE_NBYTES / 1024);
    add_day("used", x.oldest, &out);
    add_day("to", x.newest, &out);
    str_add(&out, "\n");
  }
  print_str(&out);
  return 0;
}

static int verify(const opened *o, err *e) {
  int64_t n_damaged;
  TRY(image_cache_verify(o->cache, &n_damaged, e));
  if (o->c->json) {
    str s = {0};
    jw_event(&s, "verify");
    jw_text(&s, "file", o->path);
    jw_integer(&s, "damaged", n_damaged);
    jw_end_line(&s);
    print_str(&s);
  } else if (n_damaged) {
    printf("%lld damaged images dropped; they are compiled again when they are needed\n",
           (long long)n_damaged);
  } else if (!o->c->quiet) {
    printf("%s is sound\n", o->path);
  }
  return 0;
}

static int clear(const opened *o, err *e) {
  image_cache_totals x;
  TRY(image_cache_stat(o->cache, &x, e));
  TRY(image_cache_clear(o->cache, e));
  if (o->c->json) {
    str s = {0};
    jw_event(&s, "prune");
    jw_integer(&s, "deleted", x.n);
    jw_integer(&s, "nbytes_before", x.nbytes);
    jw_integer(&s, "nbytes", 0);
    jw_end_line(&s);
    print_str(&s);
  } else if (!o->c->quiet) {
    printf("%lld images deleted, %lld KB\n", (long long)x.n, (long long)x.nbytes / 1024);
  }
  return 0;
}

static int open_and(const cli *c, int (*run)(const opened *o, err *e), err *e) {
  auto_arena a = {0};
  opened o = {.c = c};
  int rc = image_cache_path(&a, &o.path, e);
  rc = rc ? rc : image_cache_open(o.path, 0, &o.cache, e);
  rc = rc ? rc : run(&o, e);
  image_cache_close(o.cache);
  return rc;
}

static const struct {
  const char *name;
  int (*run)(const opened *o, err *e);
} actions[] = {{"stat", show_totals}, {"verify", verify}, {"clear", clear}};

int cmd_cache(const cli *c, err *e) {
  TRY(cli_words_most(c, 1, e));
  for (size_t i = 0; c->n_words && i < sizeof actions / sizeof *actions; i++) {
    if (!strcmp(actions[i].name, c->words[0])) {
      return open_and(c, actions[i].run, e);
    }
  }
  return cli_no_action(c, e);
}
