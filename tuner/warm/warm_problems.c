#define _GNU_SOURCE
#include "warm_problems.h"

#include <math.h>
#include <string.h>

enum { COMBINATIONS_MOST = 256 };

/* ---- collecting ----------------------------------------------------------------------------- */

typedef struct collector {
  gen_template *t;
  arena *a;
  sizes *out;
  size_t most; /* of out->p */
} collector;

static int add(collector *c, const gen_problem *p, err *e) {
  if (sizes_hold(c->t, c->out, p)) {
    return 0;
  }
  if (c->out->n == c->most) {
    const size_t most = c->most ? 2 * c->most : 64;
    gen_problem *more = ARENA_ARRAY(c->a, gen_problem, most);
    TRY(more ? 0 : err_nomem(e));
    if (c->out->n) {
      memcpy(more, c->out->p, c->out->n * sizeof *more);
    }
    c->out->p = more;
    c->most = most;
  }
  c->out->p[c->out->n++] = *p;
  return 0;
}

/* What the template does not accept is nothing that a program may ask for. */
static int add_text(collector *c, const char *text, err *e) {
  gen_problem p = {0};
  const int rc = text ? gen_problem_parse(c->t, text, &p, NULL) : err_nomem(e);
  return rc == ERR_NOMEM || rc == ERR_INTERRUPTED ? err_set(e, rc, "stopped")
         : rc                                     ? 0
                                                  : add(c, &p, e);
}

static int add_texts(collector *c, const char *const *texts, size_t n, err *e) {
  for (size_t i = 0; i < n; i++) {
    TRY(add_text(c, texts[i], e));
  }
  return 0;
}

static int add_known(collector *c, const serve_known *k, err *e) {
  for (size_t i = 0; i < k->n; i++) {
    const serve_known_text *text = &k->rows[i].problem;
    TRY(add_text(c, arena_text_n(c->a, text->p, text->n), e));
  }
  return 0;
}

static size_t n_choices(const gen_field *f) {
  return f->names ? f->n_names : f->n_choices;
}

static void add_choice(const gen_field *f, size_t i, str *out) {
  f->names ? str_addf(out, "%s=%s ", f->name, f->names[i])
           : str_addf(out, "%s=%lld ", f->name, (long long)f->choices[i]);
}

/* Each value of one field, the others at their presets. */
static int add_choices(collector *c, err *e) {
  for (size_t i = 0; i < c->t->n_fields; i++) {
    const gen_field *f = &c->t->fields[i];
    for (size_t k = 0; k < n_choices(f); k++) {
      auto_str text = {0};
      add_choice(f, k, &text);
      TRY(add_text(c, str_text(&text), e));
    }
  }
  return 0;
}

/* ---- drawing -------------------------------------------------------------------------------- */

typedef struct range { /* as a portfolio has it */
  int64_t least[GEN_MAX_FIELDS], most[GEN_MAX_FIELDS];
  uint64_t choices[GEN_MAX_FIELDS];
} range;

static void range_of(const gen_template *t, const sizes *s, range *r) {
  *r = (range){0};
  for (size_t i = 0; i < t->n_fields; i++) {
    r->least[i] = INT64_MAX;
    r->most[i] = INT64_MIN;
    for (size_t k = 0; k < s->n; k++) {
      const int64_t v = s->p[k].values[i].i;
      r->least[i] = v < r->least[i] ? v : r->least[i];
      r->most[i] = v > r->most[i] ? v : r->most[i];
      r->choices[i] |= t->fields[i].names && v < 64 ? UINT64_C(1) << v : 0;
    }
  }
}

static void add_names(const gen_field *f, uint64_t choices, str *out) {
  const char *between = "";
  str_addf(out, "%s=", f->name);
  for (size_t i = 0; i < f->n_names && i < 64; i++) {
    if (choices >> i & 1) {
      str_addf(out, "%s%s", between, f->names[i]);
      between = ",";
    }
  }
  str_add(out, " ");
}

static void add_numbers(const gen_field *f, int64_t least, int64_t most, str *out) {
  const char *between = "";
  str_addf(out, "%s=", f->name);
  for (size_t i = 0; i < f->n_choices; i++) {
    if (f->choices[i] >= least && f->choices[i] <= most) {
      str_addf(out, "%s%lld", between, (long long)f->choices[i]);
      between = ",";
    }
  }
  str_add(out, " ");
}

static void add_interval(const gen_field *f, int64_t least, int64_t most, str *out) {
  least == most ? str_addf(out, "%s=%lld ", f->name, (long long)least)
  : least < 1   ? str_addf(out, "%s=%lld,%lld ", f->name, (long long)least, (long long)most)
                : str_addf(out, "%s=%lld..%lld ", f->name, (long long)least, (long long)most);
}

/* For sample_sizes. Without the alignments and the like, these follow from the sizes, as they mostly
 * do in programs. */
static void add_grid(const gen_template *t, const range *r, bool with_choices, str *out) {
  for (size_t i = 0; i < t->n_fields; i++) {
    const gen_field *f = &t->fields[i];
    if (f->names && r->choices[i]) {
      add_names(f, r->choices[i], out);
    } else if (!f->names && !f->choices) {
      add_interval(f, r->least[i], r->most[i], out);
    } else if (f->choices && with_choices) {
      add_numbers(f, r->least[i], r->most[i], out);
    }
  }
}

static int draw(collector *c, const range *r, size_t n, err *e) {
  for (int with_choices = 0; with_choices < 2; with_choices++) {
    auto_str grid = {0};
    sizes drawn = {0};
    add_grid(c->t, r, with_choices, &grid);
    TRY(sample_sizes(c->t, str_text(&grid), (n + with_choices) / 2, 1, true, c->a, &drawn, e));
    for (size_t i = 0; i < drawn.n; i++) {
      TRY(add(c, &drawn.p[i], e));
    }
  }
  return 0;
}

int warm_problems(gen_template *t, const serve_known *k, size_t drawn, arena *a, sizes *out,
                  err *e) {
  collector c = {.t = t, .a = a, .out = out};
  const portfolio *pf = &k->portfolio;
  range r;
  *out = (sizes){0};
  TRY(add_known(&c, k, e));
  TRY(add_texts(&c, t->sizes_bench, t->n_sizes_bench, e));
  TRY(add_texts(&c, t->sizes_test, t->n_sizes_test, e));
  TRY(add_texts(&c, t->sizes_emu, t->n_sizes_emu, e));
  range_of(t, out, &r);
  if (pf->n_nodes) {
    memcpy(r.least, pf->least, sizeof r.least);
    memcpy(r.most, pf->most, sizeof r.most);
    memcpy(r.choices, pf->choices, sizeof r.choices);
  }
  TRY(add_choices(&c, e));
  return out->n ? draw(&c, &r, drawn, e) : 0;
}

/* ---- combinations --------------------------------------------------------------------------- */

/* A power of two, so that all alignments hold. */
static int64_t middle(int64_t least, int64_t most) {
  const double of = sqrt((double)(least > 1 ? least : 1) * (double)(most > 1 ? most : 1));
  const int64_t v = (int64_t)exp2(round(log2(of)));
  return v < least ? least : v > most ? most : v;
}

/* The next combination, as an odometer counts; false after the last. */
static bool next_names(const gen_template *t, const portfolio *pf, size_t *name) {
  for (size_t i = t->n_fields; i-- > 0;) {
    const gen_field *f = &t->fields[i];
    for (size_t k = name[i] + 1; k < f->n_names && k < 64; k++) {
      if (pf->choices[i] >> k & 1) {
        name[i] = k;
        return true;
      }
    }
    name[i] = f->names && pf->choices[i] ? (size_t)__builtin_ctzll(pf->choices[i]) : 0;
  }
  return false;
}

static int add_combination(collector *c, const portfolio *pf, const size_t *name, err *e) {
  auto_str text = {0};
  for (size_t i = 0; i < c->t->n_fields; i++) {
    const gen_field *f = &c->t->fields[i];
    if (f->names) {
      add_choice(f, name[i], &text);
    } else if (!f->choices) {
      str_addf(&text, "%s=%lld ", f->name, (long long)middle(pf->least[i], pf->most[i]));
    }
  }
  return text.failed ? err_nomem(e) : add_text(c, str_text(&text), e);
}

int warm_combinations(gen_template *t, const portfolio *pf, arena *a, sizes *out, err *e) {
  collector c = {.t = t, .a = a, .out = out};
  size_t name[GEN_MAX_FIELDS] = {0};
  *out = (sizes){0};
  if (!pf->n_nodes) {
    return 0;
  }
  for (size_t i = 0; i < t->n_fields; i++) {
    name[i] = pf->choices[i] ? (size_t)__builtin_ctzll(pf->choices[i]) : 0;
  }
  do {
    TRY(add_combination(&c, pf, name, e));
  } while (out->n < COMBINATIONS_MOST && next_names(t, pf, name));
  return 0;
}
