/* cmd_base.c -- autotune base: compile what comes with the library. */
#define _GNU_SOURCE
#include <string.h>

#include "base_make.h"
#include "json_writer.h"
#include "print.h"
#include "verbs.h"

static int families_of(const cli *c, const gen_options *o, arena *a, base_request *r, err *e) {
  if (c->n_words > 1) {
    r->families = c->words + 1;
    r->n_families = c->n_words - 1;
    return 0;
  }
  return gen_families(o, a, &r->families, &r->n_families, e);
}

static void report(const base_request *r, const base_result *x) {
  printf("%s: %zu images of %zu texts, %lld KB (%lld KB unpacked); %zu kept; %.1f s\n", r->path,
         x->n_images, x->n_texts, (long long)x->n_packed / 1024, (long long)x->nbytes / 1024,
         x->n_kept, x->sec);
}

static void report_json(const base_request *r, const base_result *x) {
  str s = {0};
  jw_event(&s, "base");
  jw_text(&s, "file", r->path);
  jw_integer(&s, "images", (int64_t)x->n_images);
  jw_integer(&s, "texts", (int64_t)x->n_texts);
  jw_integer(&s, "nbytes", (int64_t)x->n_packed);
  jw_integer(&s, "kept", (int64_t)x->n_kept);
  jw_fixed(&s, "seconds", 1, x->sec);
  jw_end_line(&s);
  print_str(&s);
}

static int make(const cli *c, const base_request *r, err *e) {
  base_result x;
  err why = {0};
  const int rc = base_make(r, &x, &why);
  if (rc == ERR_DEVICE) { /* packages are built without NVRTC, too */
    fprintf(stderr, "autotune: no base set is made: %s\n", why.message);
    return 0;
  }
  if (rc) {
    return err_at(e, rc, why.place, "%s", why.message);
  }
  if (c->json || !c->quiet) {
    (c->json ? report_json : report)(r, &x);
  }
  return x.n_failed ? err_at(e, ERR_COMPILE, x.failure.place, "%zu texts do not compile: %s",
                             x.n_failed, x.failure.message)
                    : 0;
}

int cmd_base(const cli *c, err *e) {
  auto_arena a = {0};
  gen_options o;
  int64_t jobs;
  base_request r = {.templates = &o};
  if (!c->n_words) {
    return err_set(e, ERR_USAGE, "name the file to make: autotune base tuned.base");
  }
  r.path = c->words[0];
  TRY(cli_number("jobs", c->jobs, 1, 256, 0, &jobs, e));
  r.jobs = (int)jobs;
  TRY(base_archs_parse(c->arch ? c->arch : BASE_ARCHS, &a, &r, e));
  TRY(cli_template_options(c, &a, &o, e));
  TRY(families_of(c, &o, &a, &r, e));
  return make(c, &r, e);
}
