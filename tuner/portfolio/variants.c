#define _GNU_SOURCE
#include "variants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sizes.h"
#include "greedy_select.h"
#include "adapt.h"
#include "feasibility_cache.h"
#include "variant_tree.h"

/* TEXTS_MOST: different texts of one configuration; two operands, each packed or not, make four. */
enum {
  DRAWN_LEAST = 200,
  DRAWN_EACH = 4,
  DRAWN_MOST = 2000,
  TREE_TIMES = 4,
  MET_MOST = 8192,
  TEXTS_MOST = 8
};

/* Variants within this factor of the fastest at a size are considered. */
static const double NEAR = 1.1;

/* What a size that only the default serves counts as lost, a logarithm. */
static const double LOST_MOST = 1.5;

typedef struct met { /* a variant, and at how many sizes it was met */
  exported_variant v;
  int changed;
  size_t n;
  char hash[HASH_TEXT]; /* of its source */
} met;

typedef struct finder {
  gen_template *t;
  const portfolio *c;
  const gen_number *numbers;
  size_t n_numbers;
  arena *a;
  feasibility_cache *cache; /* NULL: there are no models */
  float *apart;
  met *list;
  size_t n;
  uint64_t derived; /* that texts depend on */
  str text;
  size_t body;
  err *e;
} finder;

/* ---- problems ------------------------------------------------------------------------------- */

/* The portfolio's range as a grid; a field with a few values, such as an alignment, takes each of
 * them. */
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

/* any: alignments of any kind; else those that follow from the sizes */
static int draw_some(finder *f, bool any, size_t n, sizes *out) {
  auto_str grid = {0};
  for (size_t i = 0; i < f->t->n_fields; i++) {
    if (any || !f->t->fields[i].choices) {
      add_axis(f, i, &grid);
    }
  }
  return sample_sizes(f->t, str_text(&grid), n, 1, true, f->a, out, f->e);
}

static int draw(finder *f, size_t n, sizes *out) {
  sizes plain, any;
  TRY(draw_some(f, false, n, &plain));
  TRY(draw_some(f, true, n / 2, &any));
  out->n = plain.n + any.n;
  out->p = ARENA_ARRAY(f->a, gen_problem, out->n + 1);
  TRY(out->p ? 0 : err_nomem(f->e));
  memcpy(out->p, plain.p, plain.n * sizeof *out->p);
  memcpy(out->p + plain.n, any.p, any.n * sizeof *out->p);
  return 0;
}

/* ---- variants ------------------------------------------------------------------------------- */

static void read_values(const finder *f, const gen_problem *p, int64_t *values) {
  for (size_t i = 0; i < f->t->n_fields; i++) {
    values[i] = p->values[i].i;
  }
}

static bool same_choices(const gen_template *t, const int64_t *a, const gen_problem *p) {
  for (size_t i = 0; i < t->n_fields; i++) {
    if (t->fields[i].names && !t->fields[i].is_class && a[i] != p->values[i].i) {
      return false;
    }
  }
  return true;
}

static met *find(finder *f, const gen_config *c, size_t base, const gen_problem *p,
                 const char *hash) {
  for (size_t i = 0; i < f->n; i++) {
    met *m = &f->list[i];
    if (m->v.base == base && gen_config_equal(f->t, &m->v.config, c) &&
        same_choices(f->t, m->v.choices, p) && !strcmp(m->hash, hash)) {
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

/* Note the derived values on which the text depends. Exported C can compare these and fields that
 * are names, but it has no text for every size. */
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

/* Sizes at which a configuration's text differs, because an operand is packed or not, have another
 * variant. */
static int add(finder *f, gen_instance *g, const gen_config *c, size_t base, int changed,
               const gen_problem *p) {
  char hash[HASH_TEXT];
  met *m = gen_source_hash(g, c, hash) ? find(f, c, base, p, hash) : NULL;
  if (m) {
    m->n++;
  }
  return m || f->n == MET_MOST ? 0 : add_new(f, g, c, base, changed, p);
}

/* The time of a configuration, adapted to the size; INFINITY: it does not fit. */
static double ask(finder *f, const int64_t *values, size_t base, feasibility *is) {
  return feasibility_cache_get(f->cache, base, is) && is->fits
             ? model_fit_sec(f->t, &f->c->model.fits[base], values, &is->work, f->apart)
             : INFINITY;
}

/* Also add what is only near the fastest here, since it may be as near at many sizes. */
static int add_near(finder *f, gen_instance *g, const gen_problem *p, const int64_t *values,
                    bool *any) {
  feasibility is[PORTFOLIO_CONFIGS];
  double sec[PORTFOLIO_CONFIGS], least = INFINITY;
  feasibility_cache_problem(f->cache, p);
  chooser_size_distances(&f->c->model.sizes, values, f->apart);
  for (size_t i = 0; i < f->c->n_configs; i++) {
    sec[i] = ask(f, values, i, &is[i]);
    least = fmin(least, sec[i]);
  }
  *any = isfinite(least);
  for (size_t i = 0; *any && i < f->c->n_configs; i++) {
    TRY(sec[i] <= NEAR * least ? add(f, g, &is[i].config, i, is[i].changed, p) : 0);
  }
  return 0;
}

/* Without models, the first of the leaf's order that fits, adapted if need be. */
static int try_bases(finder *f, gen_instance *g, const gen_problem *p) {
  int64_t values[GEN_MAX_FIELDS];
  bool any = false;
  read_values(f, p, values);
  TRY(f->cache ? add_near(f, g, p, values, &any) : 0);
  const chooser_node *leaf = any ? NULL : portfolio_leaf(f->t, f->c, values);
  for (size_t i = 0; leaf && i < leaf->n_order; i++) {
    gen_config c = f->c->configs[leaf->order[i]];
    int changed;
    if (adapt_config(f->t, g, &c, &changed)) {
      return add(f, g, &c, leaf->order[i], changed, p);
    }
  }
  return 0;
}

static int try_problem(finder *f, const gen_problem *p) {
  auto_instance *g = NULL;
  gen_config def;
  TRY(gen_instance_new(f->t, p, f->numbers, f->n_numbers, &g, f->e));
  gen_config_default(f->t, &def);
  TRY(try_bases(f, g, p));
  return add(f, g, &def, f->c->n_configs, 0, p);
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

static bool is_default(const finder *f, const met *m) {
  return m->v.base == f->c->n_configs;
}

/* Keep the most frequent; every default stays. */
static void keep(finder *f, size_t most) {
  size_t n = 0, kept = 0;
  qsort(f->list, f->n, sizeof *f->list, by_frequency);
  for (size_t i = 0; i < f->n; i++) {
    const bool always = is_default(f, &f->list[i]);
    if (always || kept < most) {
      kept += !always;
      f->list[n++] = f->list[i];
    }
  }
  f->n = n;
  qsort(f->list, f->n, sizeof *f->list, by_base);
}

/* ---- as the models say ---------------------------------------------------------------------- */

/* The most frequent variants each serve few sizes. Those with which all drawn sizes together lose
 * least are kept, which may be best nowhere and yet fit many sizes. */

/* Has the variant the same text for this problem, too? */
static bool same_text(finder *f, gen_instance *g, const met *m) {
  for (size_t i = 0; i < f->t->n_derived; i++) {
    int64_t v;
    if (m->v.derived[i] != INT64_MIN &&
        (gen_derived_value(g, &m->v.config, i, &v, NULL) || v != m->v.derived[i])) {
      return false;
    }
  }
  return true;
}

static double sec_at(finder *f, feasibility_cache *cache, gen_instance *g, const int64_t *values,
                     size_t i) {
  const met *m = &f->list[i];
  feasibility is;
  if (!feasibility_cache_get_unchanged(cache, i, &is) || !is.fits || !same_text(f, g, m)) {
    return INFINITY;
  }
  const model_fit *fit = &f->c->model.fits[m->v.base];
  return model_fit_cautious_sec(f->t, fit, values, &is.work, f->apart);
}

/* Problems with the same names stand together. */
static int by_choices(const void *a, const void *b, void *template) {
  const gen_template *t = template;
  const gen_problem *x = a, *y = b;
  for (size_t i = 0; i < t->n_fields; i++) {
    if (t->fields[i].names && x->values[i].i != y->values[i].i) {
      return x->values[i].i < y->values[i].i ? -1 : 1;
    }
  }
  return 0;
}

/* At one size: from seconds to what is lost against the best; also where nothing fits. */
static void relate(float *const *rows, size_t n, size_t at) {
  float least = INFINITY;
  for (size_t i = 0; i < n; i++) {
    least = rows[i] ? fminf(least, rows[i][at]) : least;
  }
  for (size_t i = 0; i < n; i++) {
    if (rows[i]) {
      rows[i][at] = fminf((float)LOST_MOST, logf(rows[i][at] / least));
    }
  }
}

static int foresee_size(finder *f, feasibility_cache *cache, const gen_problem *p,
                        float *const *rows, size_t at) {
  int64_t values[GEN_MAX_FIELDS];
  auto_instance *g = NULL;
  read_values(f, p, values);
  TRY(gen_instance_new(f->t, p, f->numbers, f->n_numbers, &g, f->e));
  feasibility_cache_problem(cache, p);
  chooser_size_distances(&f->c->model.sizes, values, f->apart);
  for (size_t i = 0; i < f->n; i++) {
    if (rows[i]) {
      rows[i][at] = (float)sec_at(f, cache, g, values, i);
    }
  }
  relate(rows, f->n, at);
  return 0;
}

/* For the sizes from..to, which have the same names, and the variants for these names. */
static int foresee(finder *f, feasibility_cache *cache, const sizes *drawn, size_t from, size_t to,
                   greedy_item *items) {
  float **rows = ARENA_ARRAY(f->a, float *, f->n + 1);
  for (size_t i = 0; rows && i < f->n; i++) {
    const met *m = &f->list[i];
    if (!is_default(f, m) && same_choices(f->t, m->v.choices, &drawn->p[from])) {
      rows[i] = ARENA_ARRAY(f->a, float, to - from);
      items[i] = (greedy_item){.lost = rows[i], .from = from, .n = to - from};
      TRY(rows[i] ? 0 : err_nomem(f->e));
    }
  }
  for (size_t j = from; rows && j < to; j++) {
    TRY(foresee_size(f, cache, &drawn->p[j], rows, j - from));
  }
  return rows ? 0 : err_nomem(f->e);
}

static int foresee_all(finder *f, feasibility_cache *cache, const sizes *drawn,
                       greedy_item *items) {
  qsort_r(drawn->p, drawn->n, sizeof *drawn->p, by_choices, f->t);
  for (size_t from = 0, to; from < drawn->n; from = to) {
    to = from + 1;
    while (to < drawn->n && !by_choices(&drawn->p[from], &drawn->p[to], f->t)) {
      to++;
    }
    TRY(foresee(f, cache, drawn, from, to, items));
  }
  return 0;
}

static void leave(finder *f, const bool *kept) {
  size_t n = 0;
  for (size_t i = 0; i < f->n; i++) {
    if (kept[i] || is_default(f, &f->list[i])) {
      f->list[n++] = f->list[i];
    }
  }
  f->n = n;
  qsort(f->list, f->n, sizeof *f->list, by_base);
}

/* What each size loses with each variant, by the models; sorts the sizes by their names. */
static int model_losses(finder *f, const sizes *drawn, greedy_item *items) {
  feasibility_cache *cache = NULL;
  gen_config *configs = ARENA_ARRAY(f->a, gen_config, f->n + 1);
  TRY(configs ? 0 : err_nomem(f->e));
  for (size_t i = 0; i < f->n; i++) {
    configs[i] = f->list[i].v.config;
  }
  int rc = feasibility_cache_new(f->t, configs, f->n, f->numbers, f->n_numbers, &cache, f->e);
  rc = rc ? rc : foresee_all(f, cache, drawn, items);
  feasibility_cache_free(cache);
  return rc;
}

static int keep_by_models(finder *f, const sizes *drawn, size_t most, variants *out) {
  greedy_item *items = ARENA_ARRAY(f->a, greedy_item, f->n + 1);
  bool *kept = ARENA_ARRAY(f->a, bool, f->n + 1);
  TRY(items && kept ? 0 : err_nomem(f->e));
  TRY(model_losses(f, drawn, items));
  TRY(greedy_select(items, f->n, drawn->n, (float)LOST_MOST, most, kept, &out->lost, f->e));
  out->lost = expm1(out->lost);
  out->n_met = f->n;
  leave(f, kept);
  return 0;
}

/* Write the source of a variant for the first drawn size that has this text. */
static int make_again(finder *f, const sizes *drawn, const met *m, bool *found) {
  char hash[HASH_TEXT];
  *found = false;
  for (size_t i = 0; i < drawn->n && !*found; i++) {
    if (!same_choices(f->t, m->v.choices, &drawn->p[i])) {
      continue;
    }
    auto_instance *g = NULL;
    TRY(gen_instance_new(f->t, &drawn->p[i], f->numbers, f->n_numbers, &g, f->e));
    if (!gen_config_check(g, &m->v.config, NULL)) {
      TRY(make_source(f, g, &m->v.config, hash));
      *found = !strcmp(hash, m->hash);
    }
  }
  return 0;
}

static int write_source(finder *f, const sizes *drawn, const met *m, variants *out) {
  bool found;
  TRY(make_again(f, drawn, m, &found));
  if (!found) {
    return err_set(f->e, ERR_USAGE, "a variant fits none of the sizes that it was found at");
  }
  str_add_n(&out->sources[out->n_sources], f->text.p, f->text.n);
  out->bodies[out->n_sources++] = f->body;
  return 0;
}

static int give(finder *f, const sizes *drawn, variants *out) {
  out->v = ARENA_ARRAY(f->a, exported_variant, f->n + 1);
  out->sources = ARENA_ARRAY(f->a, str, f->n + 1);
  out->bodies = ARENA_ARRAY(f->a, size_t, f->n + 1);
  const char **hashes = ARENA_ARRAY(f->a, const char *, f->n + 1);
  TRY(out->v && out->sources && out->bodies && hashes ? 0 : err_nomem(f->e));
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

/* The more variants may be kept, the more sizes are drawn. */
static size_t how_many(size_t most) {
  const size_t n = DRAWN_LEAST + DRAWN_EACH * most;
  return n < DRAWN_MOST ? n : DRAWN_MOST;
}

static int find_all(finder *f, size_t most, variants *out) {
  sizes drawn;
  TRY(draw(f, how_many(most), &drawn));
  for (size_t i = 0; i < drawn.n; i++) {
    TRY(try_problem(f, &drawn.p[i]));
  }
  if (f->cache) {
    TRY(keep_by_models(f, &drawn, most, out));
  } else {
    keep(f, most);
  }
  out->derived = f->derived;
  return give(f, &drawn, out);
}

/* ---- a tree --------------------------------------------------------------------------------- */

/* lost[size * n_variants + variant] */
static void lay_out(const greedy_item *items, size_t n, size_t n_sizes, float *lost) {
  for (size_t i = 0; i < n_sizes * n; i++) {
    lost[i] = (float)LOST_MOST;
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < items[i].n; j++) {
      lost[(items[i].from + j) * n + i] = items[i].lost[j];
    }
  }
}

/* Few variants are left, so the tree can learn from more sizes. */
static int learn_tree(finder *f, size_t most, variants *out) {
  sizes drawn;
  chooser_node *nodes;
  greedy_item *items = ARENA_ARRAY(f->a, greedy_item, f->n + 1);
  TRY(draw(f, TREE_TIMES * how_many(most), &drawn));
  int64_t *values = ARENA_ARRAY(f->a, int64_t, drawn.n * f->t->n_fields + 1);
  float *lost = ARENA_ARRAY(f->a, float, drawn.n * f->n + 1);
  TRY(items && values && lost ? 0 : err_nomem(f->e));
  TRY(model_losses(f, &drawn, items));
  lay_out(items, f->n, drawn.n, lost);
  for (size_t i = 0; i < drawn.n; i++) {
    read_values(f, &drawn.p[i], values + i * f->t->n_fields);
  }
  const variant_table table = {.n_variants = f->n,
                               .n_sizes = drawn.n,
                               .values = values,
                               .lost = lost,
                               .nothing = (float)LOST_MOST};
  const int rc = variant_tree_grow(f->t, &table, f->a, &nodes, &out->n_nodes, f->e);
  out->nodes = nodes;
  return rc;
}

int variants_find(gen_template *t, const portfolio *c, const gen_number *numbers, size_t n_numbers,
                  bool tree, size_t most, arena *a, variants *out, err *e) {
  finder f = {.t = t, .c = c, .numbers = numbers, .n_numbers = n_numbers, .a = a, .e = e};
  *out = (variants){0};
  f.list = ARENA_ARRAY(a, met, MET_MOST);
  f.apart = ARENA_ARRAY(a, float, c->model.sizes.n + 1);
  int rc = f.list && f.apart ? 0 : err_nomem(e);
  if (!rc && c->model.sizes.n) {
    rc = feasibility_cache_new(t, c->configs, c->n_configs, numbers, n_numbers, &f.cache, e);
  }
  rc = rc ? rc : find_all(&f, most, out);
  rc = rc || !tree || !f.cache ? rc : learn_tree(&f, most, out);
  feasibility_cache_free(f.cache);
  str_clear(&f.text);
  return rc;
}

void variants_clear(variants *v) {
  for (size_t i = 0; i < v->n_sources; i++) {
    str_clear(&v->sources[i]);
  }
  *v = (variants){0};
}
