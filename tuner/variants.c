#include "variants.h"

#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "draw.h"
#include "serve_adapt.h"
#include "serve_judge.h"

/* TEXTS_MOST: of one configuration and choices; two operands packed or not make four. */
enum { DRAWN = 1500, MET_MOST = 4096, TEXTS_MOST = 8 };

typedef struct met { /* a variant and how often it was met */
  serve_variant v;
  int changed;
  size_t n;
  char hash[HASH_TEXT]; /* of its source */
} met;

typedef struct finder {
  gen_template *t;
  const serve_cover *c;
  const gen_number *numbers;
  size_t n_numbers;
  arena *a;
  serve_judge *judge; /* NULL: the tree alone chooses */
  float *apart;
  met *list;
  size_t n;
  uint64_t derived; /* that texts depend on */
  str text;
  size_t body;
  err *e;
} finder;

/* ---- problems ------------------------------------------------------------------------------- */

/* The portfolio's range as a grid; fields with a few values only, an alignment say, take each. */
static void add_axis(const finder *f, size_t i, str *grid) {
  const gen_field *x = &f->t->fields[i];
  const char *between = "";
  str_addf(grid, "%s=", x->name);
  for (size_t k = 0; k < x->n_names; k++) {
    if (f->c->choices[i] >> k & 1) {
      str_addf(grid, "%s%s", between, x->names[k]);
      between = ",";
    }
  }
  for (size_t k = 0; k < x->n_choices; k++) {
    if (x->choices[k] >= f->c->least[i] && x->choices[k] <= f->c->most[i]) {
      str_addf(grid, "%s%lld", between, (long long)x->choices[k]);
      between = ",";
    }
  }
  if (!x->names && !x->choices) {
    const long long least = f->c->least[i], most = f->c->most[i];
    str_addf(grid, least < 1 || least == most ? "%lld" : "%lld..%lld", most > 0 ? least : most,
             most);
  }
  str_add(grid, " ");
}

static int draw(finder *f, sizes *out) {
  str grid = {0};
  for (size_t i = 0; i < f->t->n_fields; i++) {
    add_axis(f, i, &grid);
  }
  const int rc = draw_sizes(f->t, str_text(&grid), DRAWN, 1, true, f->a, out, f->e);
  str_clear(&grid);
  return rc;
}

/* ---- variants ------------------------------------------------------------------------------- */

static bool same_choices(const gen_template *t, const int64_t *a, const gen_problem *p) {
  for (size_t i = 0; i < t->n_fields; i++) {
    if (t->fields[i].names && a[i] != p->values[i].i) {
      return false;
    }
  }
  return true;
}

static met *find(finder *f, const gen_config *c, size_t base, const gen_problem *p,
                 const char *hash) {
  for (size_t i = 0; i < f->n; i++) {
    met *m = &f->list[i];
    if (m->v.base == base && !strcmp(m->hash, hash) && same_choices(f->t, m->v.choices, p) &&
        !memcmp(m->v.config.index, c->index, f->t->n_params * sizeof *c->index)) {
      return m;
    }
  }
  return NULL;
}

static int make_source(finder *f, gen_instance *g, const gen_config *c, char hash[HASH_TEXT]) {
  str_reset(&f->text);
  TRY(gen_source_make(g, c, &f->text, &f->body, f->e));
  hash_bytes(f->text.p + f->body, f->text.n - f->body, hash);
  return 0;
}

static int depends(finder *f, const char *on) {
  return err_set(f->e, ERR_USAGE,
                 "the text of %s depends on the size (%s), so no portfolio of it can be exported; "
                 "export its problems one by one",
                 f->t->name, on);
}

/* What must be equal for a text to be the one just made. A dispatcher in C can tell fields that are
 * names and derived values, but it has no text for every size. */
static int note_dependence(finder *f, gen_instance *g, met *m) {
  uint64_t fields, derived;
  gen_source_depends(f->t, &fields, &derived);
  for (size_t i = 0; i < f->t->n_fields; i++) {
    if (fields >> i & 1 && !f->t->fields[i].names) {
      return depends(f, f->t->fields[i].name);
    }
  }
  for (size_t i = 0; i < f->t->n_derived; i++) {
    m->v.derived[i] = INT64_MIN;
    if (derived >> i & 1) {
      TRY(gen_derived_value(g, &m->v.config, i, &m->v.derived[i], f->e));
    }
  }
  f->derived |= derived;
  return 0;
}

static int count_texts(finder *f, const met *m) {
  size_t n = 0;
  for (size_t i = 0; i < f->n; i++) {
    const met *x = &f->list[i];
    n += x->v.base == m->v.base && !memcmp(&x->v.config, &m->v.config, sizeof m->v.config) &&
         !memcmp(x->v.choices, m->v.choices, sizeof m->v.choices);
  }
  return n <= TEXTS_MOST ? 0 : depends(f, "by derived values");
}

static int add_new(finder *f, gen_instance *g, const gen_config *c, size_t base, int changed,
                   const gen_problem *p) {
  met *m = &f->list[f->n];
  *m = (met){.v = {.config = *c, .base = base}, .changed = changed, .n = 1};
  for (size_t i = 0; i < f->t->n_fields; i++) {
    m->v.choices[i] = f->t->fields[i].names ? p->values[i].i : 0;
  }
  TRY(make_source(f, g, c, m->hash));
  gen_source_remember(g, c, m->hash);
  TRY(note_dependence(f, g, m));
  f->n++;
  return count_texts(f, m);
}

/* Of sizes with one variant those with another text, an operand packed or not, say, are another. */
static int add(finder *f, gen_instance *g, const gen_config *c, size_t base, int changed,
               const gen_problem *p) {
  char hash[HASH_TEXT];
  met *m = gen_source_hash(g, c, hash) ? find(f, c, base, p, hash) : NULL;
  if (m) {
    m->n++;
  }
  return m || f->n == MET_MOST ? 0 : add_new(f, g, c, base, changed, p);
}

typedef struct asked { /* who is the fastest as the models say */
  size_t base;
  serve_judged is;
  double sec;
} asked;

static void ask(finder *f, const int64_t *values, size_t base, asked *best) {
  asked x = {.base = base};
  if (serve_judge_one(f->judge, base, &x.is) && x.is.fits) {
    x.sec = serve_fit_sec(f->t, &f->c->model.fits[base], values, &x.is.work, f->apart);
    *best = x.sec < best->sec ? x : *best;
  }
}

/* As libtuned: of the leaf's short list, else of all. */
static bool ask_models(finder *f, const gen_problem *p, const serve_cover_node *leaf,
                       const int64_t *values, asked *best) {
  *best = (asked){.sec = INFINITY};
  serve_judge_problem(f->judge, p);
  serve_model_apart(f->t, &f->c->model, values, f->apart);
  for (size_t i = 0; i < leaf->n_short; i++) {
    ask(f, values, leaf->order[i], best);
  }
  for (size_t i = 0; !isfinite(best->sec) && i < f->c->n_configs; i++) {
    ask(f, values, i, best);
  }
  return isfinite(best->sec);
}

/* The first of the leaf's order that fits, as it is or changed. */
static int try_bases(finder *f, gen_instance *g, const gen_problem *p) {
  int64_t values[GEN_MAX_FIELDS];
  asked best;
  for (size_t i = 0; i < f->t->n_fields; i++) {
    values[i] = p->values[i].i;
  }
  const serve_cover_node *leaf = serve_cover_leaf(f->t, f->c, values);
  if (f->judge && leaf && ask_models(f, p, leaf, values, &best)) {
    return add(f, g, &best.is.config, best.base, best.is.changed, p);
  }
  for (size_t i = 0; leaf && i < leaf->n_order; i++) {
    gen_config c = f->c->configs[leaf->order[i]];
    int changed;
    if (serve_adapt(f->t, g, &c, &changed)) {
      return add(f, g, &c, leaf->order[i], changed, p);
    }
  }
  return 0;
}

static int try_problem(finder *f, const gen_problem *p) {
  gen_instance *g;
  gen_config def;
  TRY(gen_instance_new(f->t, p, f->numbers, f->n_numbers, &g, f->e));
  gen_config_default(f->t, &def);
  int rc = try_bases(f, g, p);
  rc = rc ? rc : add(f, g, &def, f->c->n_configs, 0, p);
  gen_instance_free(g);
  return rc;
}

/* ---- in order ------------------------------------------------------------------------------- */

static int by_frequency(const void *a, const void *b) {
  const met *x = a, *y = b;
  return (x->n < y->n) - (x->n > y->n);
}

static int by_base(const void *a, const void *b) {
  const met *x = a, *y = b;
  return x->v.base != y->v.base     ? (x->v.base > y->v.base) - (x->v.base < y->v.base)
         : x->changed != y->changed ? x->changed - y->changed
                                    : by_frequency(a, b);
}

/* The most frequent; every default stays. */
static void keep(finder *f, size_t most) {
  size_t n = 0, kept = 0;
  qsort(f->list, f->n, sizeof *f->list, by_frequency);
  for (size_t i = 0; i < f->n; i++) {
    const bool is_default = f->list[i].v.base == f->c->n_configs;
    if (is_default || kept < most) {
      kept += !is_default;
      f->list[n++] = f->list[i];
    }
  }
  f->n = n;
  qsort(f->list, f->n, sizeof *f->list, by_base);
}

/* The source of a variant, written for the first size drawn that has this text. */
static int make_again(finder *f, const sizes *drawn, const met *m, bool *found) {
  char hash[HASH_TEXT];
  gen_instance *g;
  *found = false;
  for (size_t i = 0; i < drawn->n && !*found; i++) {
    if (!same_choices(f->t, m->v.choices, &drawn->p[i])) {
      continue;
    }
    TRY(gen_instance_new(f->t, &drawn->p[i], f->numbers, f->n_numbers, &g, f->e));
    int rc = 0;
    if (!gen_config_check(g, &m->v.config, NULL)) {
      rc = make_source(f, g, &m->v.config, hash);
      *found = !rc && !strcmp(hash, m->hash);
    }
    gen_instance_free(g);
    TRY(rc);
  }
  return 0;
}

static int write_source(finder *f, const sizes *drawn, const met *m, variants *out) {
  bool found;
  TRY(make_again(f, drawn, m, &found));
  if (!found) {
    return err_set(f->e, ERR_USAGE, "a variant fits no size any more");
  }
  str_add_n(&out->sources[out->n_sources], f->text.p, f->text.n);
  out->bodies[out->n_sources++] = f->body;
  return 0;
}

static int give(finder *f, const sizes *drawn, variants *out) {
  out->v = ARENA_ARRAY(f->a, serve_variant, f->n + 1);
  out->sources = ARENA_ARRAY(f->a, str, f->n + 1);
  out->bodies = ARENA_ARRAY(f->a, size_t, f->n + 1);
  const char **hashes = ARENA_ARRAY(f->a, const char *, f->n + 1);
  if (!out->v || !out->sources || !out->bodies || !hashes) {
    return err_set(f->e, ERR_NOMEM, "out of memory");
  }
  for (size_t i = 0; i < f->n; i++) {
    size_t s = 0;
    while (s < out->n_sources && strcmp(hashes[s], f->list[i].hash) != 0) {
      s++;
    }
    if (s == out->n_sources) {
      hashes[s] = f->list[i].hash;
      TRY(write_source(f, drawn, &f->list[i], out));
    }
    out->v[out->n] = f->list[i].v;
    out->v[out->n++].source = s;
  }
  return 0;
}

static int find_all(finder *f, size_t most, variants *out) {
  sizes drawn;
  TRY(draw(f, &drawn));
  for (size_t i = 0; i < drawn.n; i++) {
    TRY(try_problem(f, &drawn.p[i]));
  }
  keep(f, most);
  out->derived = f->derived;
  return give(f, &drawn, out);
}

int variants_find(gen_template *t, const serve_cover *c, const gen_number *numbers,
                  size_t n_numbers, bool by_models, size_t most, arena *a, variants *out, err *e) {
  finder f = {.t = t, .c = c, .numbers = numbers, .n_numbers = n_numbers, .a = a, .e = e};
  *out = (variants){0};
  f.list = ARENA_ARRAY(a, met, MET_MOST);
  f.apart = ARENA_ARRAY(a, float, c->model.n_sizes + 1);
  int rc = f.list && f.apart ? 0 : err_set(e, ERR_NOMEM, "out of memory");
  if (!rc && by_models) {
    rc = serve_judge_new(t, c->configs, c->n_configs, numbers, n_numbers, &f.judge, e);
  }
  rc = rc ? rc : find_all(&f, most, out);
  serve_judge_free(f.judge);
  str_clear(&f.text);
  return rc;
}

void variants_clear(variants *v) {
  for (size_t i = 0; i < v->n_sources; i++) {
    str_clear(&v->sources[i]);
  }
  *v = (variants){0};
}
