#define _GNU_SOURCE
#include "base_make.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base_forms.h"
#include "base_images.h"
#include "file.h"
#include "worker_pool.h"

typedef struct maker {
  const base_request *r;
  base_result *out;
  rt_compiler *compiler;
  base_images *before, *to; /* before: the file as it was; NULL: there is none */
  worker_pool pool;
  const char *code, *ptx; /* what the present runs give; NULL: nothing of the kind */
  err *e;
} maker;

/* ---- architectures -------------------------------------------------------------------------- */

static bool is_ptx(const char *arch) {
  return !strncmp(arch, "compute_", 8);
}

/* 0: it is no architecture */
static int cc_of(const char *arch) {
  const bool known = is_ptx(arch) || !strncmp(arch, "sm_", 3);
  const char *number = known ? strchr(arch, '_') + 1 : "";
  return isdigit((unsigned char)*number) ? atoi(number) : 0;
}

/* Machine code first, then PTX by rising capability: PTX that a lower one has is not repeated. */
static int compare_archs(const void *a, const void *b) {
  const char *x = *(const char *const *)a, *y = *(const char *const *)b;
  return is_ptx(x) != is_ptx(y) ? is_ptx(x) - is_ptx(y) : cc_of(x) - cc_of(y);
}

int base_archs_parse(const char *list, arena *a, base_request *r, err *e) {
  char *rest = arena_text(a, list);
  r->n_archs = 0;
  for (char *word; rest && (word = strsep(&rest, ", "));) {
    if (!*word) {
      continue;
    }
    if (!cc_of(word) || r->n_archs == BASE_ARCHS_MOST) {
      return err_set(e, ERR_USAGE, "'%s' is not one of up to %d architectures: sm_80,compute_80",
                     word, BASE_ARCHS_MOST);
    }
    r->archs[r->n_archs++] = word;
  }
  qsort(r->archs, r->n_archs, sizeof *r->archs, compare_archs);
  return r->n_archs ? 0 : err_set(e, ERR_USAGE, "name an architecture: sm_80,compute_80");
}

/* ---- one image ------------------------------------------------------------------------------ */

/* PTX of a lower capability serves as well. */
static bool has_lower_ptx(maker *m, const base_form *f, const char *ptx) {
  auto_arena a = {0};
  const char **archs;
  size_t n = 0;
  bool found = false;
  base_images_archs(m->to, f->hash, &a, &archs, &n, NULL);
  for (size_t i = 0; i < n; i++) {
    found = found || (is_ptx(archs[i]) && cc_of(archs[i]) <= cc_of(ptx));
  }
  return found;
}

static bool is_wanted(maker *m, const base_form *f, const char *arch) {
  return arch && !(is_ptx(arch) && has_lower_ptx(m, f, arch));
}

static void key_of(maker *m, const base_form *f, char key[HASH_TEXT]) {
  const rt_source s = {.text = f->text, .body = f->body, .arch = m->code ? m->code : m->ptx};
  rt_image_key(m->compiler, &s, key);
}

static bool keep(maker *m, const char *key, const char *arch) {
  const bool kept = m->before && !base_images_copy(m->to, m->before, key, arch, NULL);
  m->out->n_kept += kept;
  return kept;
}

/* Is there nothing to compile, because the file has all that is wanted? */
static bool keep_all(maker *m, const base_form *f) {
  char key[HASH_TEXT];
  const char *const archs[] = {m->code, m->ptx};
  bool all = true;
  key_of(m, f, key);
  for (size_t i = 0; i < 2; i++) {
    all = (!is_wanted(m, f, archs[i]) || keep(m, key, archs[i])) && all;
  }
  return all;
}

static int put(maker *m, const base_form *f, const char *arch, const void *bytes, size_t n,
               int64_t spill) {
  char key[HASH_TEXT];
  key_of(m, f, key);
  const base_image row = {
      .source = f->hash, .arch = arch, .key = key, .spill = spill, .bytes = bytes, .nbytes = n};
  return is_wanted(m, f, arch) ? base_images_put(m->to, &row, m->e) : 0;
}

static int put_compiled(maker *m, const base_form *f, const compiled *c) {
  if (c->why.code) {
    m->out->failure = m->out->n_failed++ ? m->out->failure : c->why;
    return 0;
  }
  TRY(put(m, f, m->code, c->cubin, c->n_cubin, c->spill));
  return put(m, f, m->ptx, c->ptx, c->n_ptx, c->spill);
}

/* ---- all of an architecture ----------------------------------------------------------------- */

static int take(maker *m, size_t i) {
  const base_form *f = m->pool.jobs[i];
  auto_str frame = {0};
  compiled c;
  TRY(worker_pool_take(&m->pool, i, &frame, &c, m->e));
  return put_compiled(m, f, &c);
}

static int wait_for_one(maker *m) {
  struct pollfd fds[WORKER_POOL_MOST];
  size_t which[WORKER_POOL_MOST];
  const size_t n = worker_pool_poll(&m->pool, fds, which, 0);
  if (poll(fds, n, -1) > 0) {
    for (size_t k = 0; k < n; k++) {
      TRY(fds[k].revents ? take(m, which[k]) : 0);
    }
  }
  return 0;
}

static int start(maker *m, base_form *f) {
  while (worker_pool_busy(&m->pool) == m->pool.n) {
    TRY(wait_for_one(m));
  }
  size_t idle = 0;
  while (m->pool.jobs[idle]) {
    idle++;
  }
  const str text = {.p = (char *)f->text, .n = strlen(f->text)};
  return worker_pool_start(&m->pool, idle, &text, f->body, f, m->e);
}

static int compile_forms(maker *m, base_forms *forms) {
  for (size_t i = 0; i < forms->n; i++) {
    TRY(keep_all(m, &forms->list[i]) ? 0 : start(m, &forms->list[i]));
  }
  while (worker_pool_busy(&m->pool)) {
    TRY(wait_for_one(m));
  }
  return 0;
}

static int run_workers(maker *m, base_forms *forms) {
  compile_setting s = {.compiler = m->compiler};
  snprintf(s.arch, sizeof s.arch, "%s", m->code ? m->code : m->ptx);
  int rc = worker_pool_open(&m->pool, &s, m->r->jobs, m->e);
  rc = rc ? rc : compile_forms(m, forms);
  worker_pool_close(&m->pool);
  return rc;
}

static int make_forms(maker *m, int cc, base_forms *forms) {
  rt_info limits[BASE_LIMITS];
  TRY(base_forms_limits(cc, limits, m->e));
  for (size_t i = 0; i < m->r->n_families; i++) {
    auto_template *t = NULL;
    TRY(gen_open(m->r->templates, m->r->families[i], &t, m->e));
    TRY(base_forms_add(forms, t, limits, m->e));
  }
  return 0;
}

static int make_arch(maker *m) {
  base_forms forms = {0};
  int rc = make_forms(m, cc_of(m->code ? m->code : m->ptx), &forms);
  rc = rc ? rc : run_workers(m, &forms);
  m->out->n_texts = forms.n > m->out->n_texts ? forms.n : m->out->n_texts;
  base_forms_clear(&forms);
  return rc;
}

/* The list's PTX that a run for this machine code gives as well; NULL: none. */
static const char *ptx_of(const base_request *r, const char *code) {
  for (size_t i = 0; i < r->n_archs; i++) {
    if (is_ptx(r->archs[i]) && !strcmp(r->archs[i] + 8, code + 3)) {
      return r->archs[i];
    }
  }
  return NULL;
}

static bool is_made(const base_request *r, const char *ptx) {
  for (size_t i = 0; i < r->n_archs && !is_ptx(r->archs[i]); i++) {
    if (!strcmp(r->archs[i] + 3, ptx + 8)) {
      return true;
    }
  }
  return false;
}

static int make_archs(maker *m) {
  for (size_t i = 0; i < m->r->n_archs; i++) {
    const char *arch = m->r->archs[i];
    m->code = is_ptx(arch) ? NULL : arch;
    m->ptx = is_ptx(arch) ? arch : ptx_of(m->r, arch);
    TRY(is_ptx(arch) && is_made(m->r, arch) ? 0 : make_arch(m));
  }
  return 0;
}

/* ---- the file ------------------------------------------------------------------------------- */

static int sum_up(maker *m) {
  auto_arena a = {0};
  base_totals *list;
  size_t n;
  TRY(base_images_stat(m->to, &a, &list, &n, m->e));
  for (size_t i = 0; i < n; i++) {
    m->out->n_images += (size_t)list[i].n;
    m->out->nbytes += list[i].nbytes;
    m->out->n_packed += list[i].n_packed;
  }
  return 0;
}

static int fill(maker *m, const char *path) {
  TRY(base_images_create(path, &m->to, m->e));
  int rc = make_archs(m);
  rc = rc ? rc : sum_up(m);
  rc = rc ? rc : base_images_finish(m->to, m->e);
  base_images_close(m->to);
  return rc;
}

static int replace(maker *m) {
  auto_arena a = {0};
  const char *path = arena_format(&a, "%s.new", m->r->path);
  TRY(path ? 0 : err_nomem(m->e));
  int rc = fill(m, path);
  if (!rc && rename(path, m->r->path)) {
    rc = err_set(m->e, ERR_IO, "%s cannot be written", m->r->path);
  }
  if (rc) {
    unlink(path);
  }
  return rc;
}

int base_make(const base_request *r, base_result *out, err *e) {
  maker m = {.r = r, .out = out, .e = e};
  const double since = now_sec();
  *out = (base_result){0};
  TRY(rt_compiler_open(&m.compiler, e));
  base_images_open(r->path, &m.before, NULL);
  const int rc = replace(&m);
  base_images_close(m.before);
  rt_compiler_close(m.compiler);
  out->sec = now_sec() - since;
  return rc;
}
