#define _GNU_SOURCE
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portfolio.h"

/* ---- words ---------------------------------------------------------------------------------- */

typedef struct reading {
  const gen_template *t;
  arena *a;
  arena *sizes, *variants; /* of what only portfolio_read_all keeps; else not the same as a */
  portfolio *c;
  gen_config *configs;
  chooser_node *nodes;
  bool ranged[GEN_MAX_FIELDS], added[GEN_MAX_FIELDS]; /* added: the template's text had it not */
  char name[GEN_MAX_FIELDS][GEN_MAX_NAME];            /* of the fields in this text */
  double sms;                                         /* of the model; 0: none was read yet */
  int64_t *values;
  double *flops;
  model_fit *fits;
  size_t n_fits, at;            /* at: samples so far of the configuration being read */
  model_variant *variant;       /* being read */
  model_sample *samples;        /* of the configuration being read */
  size_t n_variants, n_samples; /* of the configuration being read, at most */
  char *words;                  /* of the line */
  const char *rest;             /* of the text */
} reading;

/* A process waits while ten thousand lines are read: no calls per word. */
static char *next_word(reading *r) {
  char *word = r->words, *end;
  while (word && *word == ' ') {
    word++;
  }
  if (!word || !*word) {
    r->words = NULL;
    return NULL;
  }
  for (end = word; *end && *end != ' '; end++) {
  }
  r->words = *end ? end + 1 : NULL;
  *end = 0;
  return word;
}

static const char *digits(const char *at, uint64_t *v, int *n) {
  for (; *at >= '0' && *at <= '9' && *n < 16; at++, ++*n) {
    *v = 10 * *v + (uint64_t)(*at - '0');
  }
  return at;
}

/* "-12.5e-7". Up to 15 digits and powers of ten up to the 22nd are both exact, so one
 * multiplication or division rounds as strtod does. src: Clinger, How to read floating point
 * numbers accurately, 1990, section 4 */
static bool short_number(const char *at, double *v) {
  static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const bool minus = *at == '-';
  uint64_t whole = 0, ten = 0;
  int n = 0, n_ten = 0, exponent = 0;
  at = digits(at + minus, &whole, &n);
  if (*at == '.') {
    const int before = n;
    at = digits(at + 1, &whole, &n);
    exponent = before - n;
  }
  if (n > 0 && *at == 'e') {
    const bool down = at[1] == '-';
    at = digits(at + 1 + (down || at[1] == '+'), &ten, &n_ten);
    exponent += !n_ten || n_ten > 2 ? 99 : down ? -(int)ten : (int)ten;
  }
  if (*at || !n || n > 15 || exponent < -22 || exponent > 22) {
    return false;
  }
  const double size =
      exponent < 0 ? (double)whole / power[-exponent] : (double)whole * power[exponent];
  *v = minus ? -size : size;
  return true;
}

static bool number(reading *r, double *v) {
  const char *word = next_word(r);
  char *end;
  if (!word || short_number(word, v)) {
    return word;
  }
  *v = strtod(word, &end);
  return !*end && isfinite(*v);
}

static bool loss(reading *r, double *v) {
  return number(r, v) && *v >= 0;
}

static bool index_below(reading *r, size_t most, size_t *v) {
  const char *word = next_word(r);
  uint64_t i = 0;
  int n = 0;
  if (!word || *digits(word, &i, &n) || !n || i >= most) {
    return false;
  }
  *v = (size_t)i;
  return true;
}

static bool done(reading *r) {
  return !next_word(r);
}

static bool find_field(const reading *r, const char *name, size_t n, size_t *i) {
  const gen_field *f = gen_field_find(r->t, name, n);
  *i = f ? (size_t)(f - r->t->fields) : 0;
  return f;
}

/* A portfolio's range has a bit for each of 64 names. */
static bool find_choice(const gen_field *f, const char *name, size_t *i) {
  return name && gen_field_choice(f, name, i) && *i < 64;
}

static bool read_asked(reading *r) {
  return loss(r, &r->c->asked) && done(r);
}

static bool read_sizes(reading *r) {
  return index_below(r, SIZE_MAX / 2, &r->c->n_sizes) && done(r);
}

static bool read_expected(reading *r) {
  return loss(r, &r->c->expected) && loss(r, &r->c->worst) && done(r);
}

/* The place of one of a field's names, by the field's name in this text. */
static bool find_setting(const reading *r, const char *name, size_t n, const char *value, size_t *i,
                         size_t *j) {
  if (!value) {
    return false;
  }
  if (find_field(r, name, n, i) && find_choice(&r->t->fields[*i], value, j)) {
    return true;
  }
  return gen_setting_find(r->t, name, n, value, i, j) && *j < 64;
}

static void begin_range(reading *r, size_t i, const char *name) {
  if (!r->ranged[i] || r->added[i]) {
    r->c->choices[i] = 0;
  }
  r->ranged[i] = true;
  r->added[i] = false;
  snprintf(r->name[i], sizeof r->name[i], "%s", name);
}

static bool read_choices(reading *r, const char *name) {
  size_t i = 0, j;
  for (char *word; (word = next_word(r));) {
    if (!find_setting(r, name, strlen(name), word, &i, &j)) {
      return false;
    }
    begin_range(r, i, name);
    r->c->choices[i] |= UINT64_C(1) << j;
  }
  return r->c->choices[i] != 0;
}

static bool read_range(reading *r) {
  size_t i;
  const char *name = next_word(r);
  if (!name || !find_field(r, name, strlen(name), &i) || !portfolio_is_number(r->t, i)) {
    return name && read_choices(r, name);
  }
  begin_range(r, i, name);
  const char *least = next_word(r), *most = next_word(r);
  return least && most && text_integer(least, &r->c->least[i]) &&
         text_integer(most, &r->c->most[i]) && r->c->least[i] <= r->c->most[i] && done(r);
}

/* Fields that came later have one value. */
static void add_ranges(reading *r) {
  gen_setting s;
  size_t at, j;
  for (size_t i = 0; gen_field_added(r->t->name, i, &s); i++) {
    if (find_setting(r, s.name, strlen(s.name), s.value, &at, &j)) {
      r->c->choices[at] = UINT64_C(1) << j;
      r->ranged[at] = r->added[at] = true;
    } else if (find_field(r, s.name, strlen(s.name), &at) &&
               text_integer(s.value, &r->c->least[at])) {
      r->c->most[at] = r->c->least[at];
      r->ranged[at] = true;
    }
  }
}

static bool read_config(reading *r) {
  const char *text = r->words ? r->words : "";
  return r->c->n_configs < PORTFOLIO_CONFIGS && !r->c->n_nodes &&
         !gen_config_parse(r->t, text, &r->configs[r->c->n_configs++], NULL);
}

static bool whole_field(reading *r, const char **at, uint8_t *out) {
  size_t i;
  const size_t n = strcspn(*at, "*/");
  if (!find_field(r, *at, n, &i) || !portfolio_is_number(r->t, i)) {
    return false;
  }
  *out = (uint8_t)i;
  *at += n;
  return true;
}

static bool read_choice(reading *r, const char *text, const char *equals, chooser_feature *f) {
  size_t i, j;
  if (!find_setting(r, text, (size_t)(equals - text), equals + 1, &i, &j)) {
    return false;
  }
  *f = (chooser_feature){.kind = CHOOSER_CHOICE, .a = (uint8_t)i, .choice = (int64_t)j};
  return true;
}

static bool read_feature(reading *r, chooser_feature *f) {
  const char *at = next_word(r), *equals = at ? strchr(at, '=') : NULL;
  if (equals) {
    return read_choice(r, at, equals, f);
  }
  *f = (chooser_feature){.kind = CHOOSER_FIELD};
  if (!at || !whole_field(r, &at, &f->a)) {
    return false;
  }
  if (*at) {
    f->kind = *at == '/' ? CHOOSER_RATIO : CHOOSER_PRODUCT;
    at++;
    if (!whole_field(r, &at, &f->b)) {
      return false;
    }
  }
  if (*at == '*' && f->kind == CHOOSER_PRODUCT) {
    f->kind = CHOOSER_VOLUME;
    at++;
    return whole_field(r, &at, &f->c) && !*at;
  }
  return !*at;
}

static bool is_next(reading *r, const char *wanted) {
  const char *word = next_word(r);
  return word && !strcmp(word, wanted);
}

static chooser_node *new_node(reading *r) {
  return r->c->n_nodes < PORTFOLIO_NODES ? &r->nodes[r->c->n_nodes++] : NULL;
}

/* Branches go forward, so every walk ends. */
static bool read_if(reading *r) {
  chooser_node *n = new_node(r);
  if (!n || !read_feature(r, &n->feature)) {
    return false;
  }
  const bool choice = n->feature.kind == CHOOSER_CHOICE;
  return (choice || (is_next(r, "<") && number(r, &n->below))) && is_next(r, "else") &&
         index_below(r, PORTFOLIO_NODES, &n->no) && n->no > r->c->n_nodes && done(r);
}

static bool read_leaf(reading *r) {
  chooser_node *n = new_node(r);
  uint16_t order[PORTFOLIO_CONFIGS];
  if (!n || !loss(r, &n->expected) || !loss(r, &n->worst)) {
    return false;
  }
  for (char *word; (word = next_word(r));) {
    int64_t i;
    if (!strcmp(word, "then") && n->n_order && !n->n_short) {
      n->n_short = n->n_order;
      continue;
    }
    if (n->n_order == PORTFOLIO_CONFIGS || !isdigit((unsigned char)*word) ||
        !text_integer(word, &i) || (uint64_t)i >= r->c->n_configs) {
      return false;
    }
    order[n->n_order++] = (uint16_t)i;
  }
  uint16_t *own = n->n_order ? ARENA_ARRAY(r->a, uint16_t, n->n_order) : NULL;
  if (own) {
    memcpy(own, order, n->n_order * sizeof *own);
  }
  n->order = own;
  return own;
}

/* ---- the model ------------------------------------------------------------------------------ */

static bool read_model(reading *r) {
  portfolio *c = r->c;
  const size_t n = c->n_configs, most = c->n_sizes;
  if (!number(r, &r->sms) || !(r->sms > 0) || !done(r) || !n || !most || most > PORTFOLIO_SIZES) {
    return false;
  }
  r->values = ARENA_ARRAY(r->sizes, int64_t, most * r->t->n_fields + 1);
  r->flops = ARENA_ARRAY(r->sizes, double, most);
  r->fits = ARENA_ARRAY(r->a, model_fit, n);
  c->model =
      (portfolio_model){.n_configs = n, .fits = r->fits, .values = r->values, .flops = r->flops};
  return r->values && r->flops && r->fits;
}

static bool read_value(reading *r, size_t field, int64_t *v) {
  const portfolio *c = r->c;
  size_t i;
  if (!portfolio_varies(c, r->t, field)) {
    *v = portfolio_is_number(r->t, field) ? c->least[field]
                                          : __builtin_ctzll(c->choices[field] | 1ull << 63);
    return true;
  }
  const char *word = next_word(r);
  if (portfolio_is_number(r->t, field)) {
    return word && text_integer(word, v);
  }
  const bool found = find_choice(&r->t->fields[field], word, &i) ||
                     find_setting(r, r->name[field], strlen(r->name[field]), word, &field, &i);
  *v = found ? (int64_t)i : 0;
  return found;
}

static bool read_size(reading *r) {
  portfolio_model *m = &r->c->model;
  const size_t i = m->sizes.n, nf = r->t->n_fields;
  if (r->n_fits || i == r->c->n_sizes || !loss(r, &r->flops[i])) {
    return false;
  }
  for (size_t f = 0; f < nf; f++) {
    if (!read_value(r, f, &r->values[i * nf + f])) {
      return false;
    }
  }
  m->sizes.n++;
  return done(r);
}

/* Count this configuration's lines: up to the next one's costs. */
static void count_lines(reading *r) {
  r->n_variants = r->n_samples = 0;
  for (const char *at = r->rest; at && *at != 'c';) {
    r->n_variants += *at == 'f';
    r->n_samples += *at == 'a';
    at = strchr(at, '\n');
    at = at ? at + 1 : NULL;
  }
}

/* Once all lines of a configuration are read. */
static bool lay_out_rows(reading *r) {
  model_fit *fit = r->n_fits ? &r->fits[r->n_fits - 1] : NULL;
  if (fit && model_fit_rows(r->t, fit, r->a, NULL)) {
    return false;
  }
  if (fit && r->variants != r->a) {
    fit->variants = NULL;
    fit->n_variants = 0;
    arena_clear(r->variants);
  }
  return true;
}

/* A configuration has no more variants than sizes. */
static bool read_costs(reading *r) {
  if (!lay_out_rows(r)) {
    return false;
  }
  model_fit *fit = r->n_fits < r->c->model.n_configs ? &r->fits[r->n_fits++] : NULL;
  if (!fit || r->c->model.sizes.n != r->c->n_sizes || !number(r, &fit->chooser.costs.at_once) ||
      !(fit->chooser.costs.at_once > 0)) {
    return false;
  }
  fit->chooser.costs.sms = r->sms;
  for (size_t i = 0; r->words; i++) {
    if (i == CHOOSER_COSTS || !loss(r, &fit->chooser.costs.cost[i])) {
      return false;
    }
  }
  r->at = 0;
  count_lines(r);
  if (r->n_variants > r->c->n_sizes || r->n_samples > r->c->n_sizes) {
    return false;
  }
  r->variant = ARENA_ARRAY(r->variants, model_variant, r->n_variants + 1);
  r->samples = ARENA_ARRAY(r->variants, model_sample, r->n_samples + 1);
  fit->variants = r->variant;
  return r->variant && r->samples;
}

/* "SPLITK=2"; changes stand in the template's order, so present names are found from *from on. */
static bool read_change(reading *r, const char *word, size_t *from, gen_config *c) {
  const char *text = strchr(word, '=');
  const size_t n = text ? (size_t)(text - word) : 0;
  for (size_t i = *from; n && i < r->t->n_params; i++) {
    const char *name = r->t->params[i].name;
    if (!strncmp(name, word, n) && !name[n] &&
        gen_param_choice(&r->t->params[i], text + 1, &c->index[i])) {
      *from = i + 1;
      return true;
    }
  }
  return gen_config_set(r->t, word, c); /* a former name? */
}

static bool read_variant(reading *r) {
  model_fit *fit = r->n_fits ? &r->fits[r->n_fits - 1] : NULL;
  if (!fit || fit->n_variants == r->n_variants) {
    return false;
  }
  double threads;
  gen_config config = r->configs[r->n_fits - 1];
  if (!number(r, &threads) || !(threads > 0)) {
    return false;
  }
  size_t from = 0;
  for (char *word; (word = next_word(r));) {
    if (!read_change(r, word, &from, &config)) {
      return false;
    }
  }
  r->variant = (model_variant *)fit->variants + fit->n_variants++;
  *r->variant =
      (model_variant){.config = config, .threads = threads, .samples = r->samples + r->at};
  return true;
}

static bool read_at(reading *r) {
  const model_fit *fit = r->n_fits ? &r->fits[r->n_fits - 1] : NULL;
  if (!fit || !fit->n_variants || r->at == r->n_samples) {
    return false;
  }
  size_t size;
  double blocks, weight;
  if (!index_below(r, r->c->n_sizes, &size) || !number(r, &blocks) || !(blocks > 0) ||
      !number(r, &weight)) {
    return false;
  }
  const chooser_load load = chooser_load_of(&fit->chooser.costs, r->flops[size], blocks);
  r->samples[r->at++] = model_sample_new(size, blocks, weight, &load);
  r->variant->n++;
  return done(r);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* The model comes last, since its lines depend on the number of configurations and sizes. */
static bool read_line(reading *r, char *line) {
  static const struct {
    const char *word;
    bool (*read)(reading *);
    bool of_model;
  } lines[] = {{"at", read_at, true}, /* the most frequent */
               {"form", read_variant, true},
               {"size", read_size, true},
               {"costs", read_costs, true},
               {"asked", read_asked, false},
               {"sizes", read_sizes, false},
               {"range", read_range, false},
               {"expected", read_expected, false},
               {"config", read_config, false},
               {"if", read_if, false},
               {"leaf", read_leaf, false},
               {"model", read_model, false}};
  r->words = line;
  const char *word = next_word(r);
  for (size_t i = 0; word && i < sizeof lines / sizeof *lines; i++) {
    if (*word == *lines[i].word && !strcmp(word, lines[i].word) &&
        lines[i].of_model == (r->sms > 0)) {
      return lines[i].read(r);
    }
  }
  return false;
}

/* Every branch leads to a node, every field has a range, and the model has all its sizes. */
static bool is_complete(const reading *r) {
  const portfolio *c = r->c;
  bool ok = c->n_nodes > 0 && !c->nodes[c->n_nodes - 1].no;
  for (size_t i = 0; ok && i < c->n_nodes; i++) {
    ok = c->nodes[i].no < c->n_nodes;
  }
  for (size_t i = 0; ok && i < r->t->n_fields; i++) {
    ok = r->ranged[i];
  }
  return ok && (!(r->sms > 0) || (c->model.sizes.n == c->n_sizes && r->n_fits == c->n_configs));
}

static const char *const versions[] = {"portfolio 1", "portfolio 4", "portfolio 5"};
static const char *const old_versions[] = {"portfolio 2", "portfolio 3"};

static bool is_any(const char *line, const char *const *list, size_t n) {
  size_t i = 0;
  while (i < n && strcmp(line, list[i])) {
    i++;
  }
  return i < n;
}

static int read_version(const char *line, err *e) {
  if (is_any(line, old_versions, sizeof old_versions / sizeof *old_versions)) {
    return err_set(e, ERR_USAGE,
                   "an older autotune made this portfolio, and its models can't be used: `autotune "
                   "portfolio` makes a new one");
  }
  return is_any(line, versions, sizeof versions / sizeof *versions)
             ? 0
             : err_set(e, ERR_USAGE,
                       "this is no portfolio, or of a version of autotune that is not known");
}

/* Each line is copied, since it is cut into words. */
static int read_lines(reading *r, const char *text, str *line, err *e) {
  for (size_t number = 1; text; number++) {
    const char *end = strchr(text, '\n');
    str_reset(line);
    str_add_n(line, text, end ? (size_t)(end - text) : strlen(text));
    r->rest = text = end ? end + 1 : NULL;
    if (line->failed) {
      return err_nomem(e);
    }
    if (number == 1) {
      TRY(read_version(str_text(line), e));
    } else if (line->n && !read_line(r, line->p)) {
      return err_set(e, ERR_USAGE, "line %zu of the portfolio is damaged, or not of this template",
                     number);
    }
  }
  return is_complete(r) ? 0 : err_set(e, ERR_USAGE, "the portfolio is incomplete");
}

static int read_all(reading *r, const char *text, err *e) {
  portfolio *c = r->c;
  auto_str line = {0};
  c->configs = r->configs = ARENA_ARRAY(r->a, gen_config, PORTFOLIO_CONFIGS);
  c->nodes = r->nodes = ARENA_ARRAY(r->a, chooser_node, PORTFOLIO_NODES);
  int rc = r->configs && r->nodes ? 0 : err_nomem(e);
  add_ranges(r);
  rc = rc ? rc : read_lines(r, text, &line, e);
  if (!rc && !lay_out_rows(r)) {
    rc = err_nomem(e);
  }
  return rc || !c->model.sizes.n ? rc : portfolio_model_sizes(r->t, &c->model, r->a, e);
}

int portfolio_read(const gen_template *t, const char *text, arena *a, portfolio *c, err *e) {
  auto_arena sizes = {0}, variants = {0};
  *c = (portfolio){0};
  reading r = {.t = t, .a = a, .sizes = &sizes, .variants = &variants, .c = c};
  const int rc = read_all(&r, text, e);
  c->model.values = NULL;
  c->model.flops = NULL;
  return rc;
}

int portfolio_read_all(const gen_template *t, const char *text, arena *a, portfolio *c, err *e) {
  *c = (portfolio){0};
  reading r = {.t = t, .a = a, .sizes = a, .variants = a, .c = c};
  return read_all(&r, text, e);
}
