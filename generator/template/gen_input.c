/* gen_input.c -- see gen_input.h. */
#define _GNU_SOURCE
#include "gen_input.h"

#include <string.h>

#include "matrix_input.h"
#include "matrix_text.h"

static const char blanks[] = " \t\r\n\v\f", key[] = "matrix=";
enum { N_KEY = sizeof key - 1 };

static const char *const roles[GEN_MATRIX_ROLES] = {"rows", "columns", "entries"};

/* The next word; NULL: there is none. */
static const char *next_word(const char **p, size_t *n) {
  const char *word = *p + strspn(*p, blanks);
  *n = strcspn(word, blanks);
  *p = word + *n;
  return *n ? word : NULL;
}

bool gen_input_is_named(const tmpl *t, const char *text) {
  size_t n;
  for (const char *word; t->has_matrix && (word = next_word(&text, &n));) {
    if (n >= N_KEY && !memcmp(word, key, N_KEY)) {
      return true;
    }
  }
  return false;
}

/* What the generator calls a word's name: a field that holds a count has the count's. NULL: it has no such
 * parameter. */
static const char *parameter(const tmpl *t, const char *generator, const char *name) {
  for (size_t i = 0; i < GEN_MATRIX_ROLES; i++) {
    const int field = t->matrix[i];
    if (field >= 0 && !strcmp(t->pub.fields[field].name, name)) {
      return matrix_takes(generator, roles[i]) ? roles[i] : NULL;
    }
  }
  return matrix_takes(generator, name) ? name : NULL;
}

static int find_generator(const char *text, str *generator, err *e) {
  size_t n;
  for (const char *word; (word = next_word(&text, &n));) {
    if (n < N_KEY || memcmp(word, key, N_KEY) != 0) {
      continue;
    }
    if (generator->n || n == N_KEY) {
      return err_set(e, ERR_USAGE,
                     generator->n ? "matrix= is given twice"
                                  : "matrix= names a generator, or file:FILE.mtx");
    }
    str_add_n(generator, word + N_KEY, n - N_KEY);
  }
  return generator->failed ? err_nomem(e) : 0;
}

int gen_input_split(const tmpl *t, const char *text, str *input, str *fields, err *e) {
  size_t n;
  auto_str generator = {0};
  TRY(find_generator(text, &generator, e));
  const char *of = str_text(&generator);
  TRY(matrix_is_file(of) ? 0 : matrix_check_name(of, e));
  str_add(input, of);
  for (const char *word; (word = next_word(&text, &n));) {
    char name[GEN_MAX_NAME] = "";
    const char *equals = memchr(word, '=', n);
    const size_t length = equals ? (size_t)(equals - word) : 0;
    memcpy(name, word, length < sizeof name ? length : 0);
    const char *as = parameter(t, of, name);
    if (length == N_KEY - 1 && !memcmp(word, key, N_KEY)) {
      continue;
    }
    if (as) {
      str_addf(input, " %s%.*s", as, (int)(n - length), equals);
    } else {
      str_addf(fields, " %.*s", (int)n, word);
    }
  }
  return input->failed || fields->failed ? err_nomem(e) : 0;
}

/* ---- its counts ------------------------------------------------------------------------------ */

static int check_square(const tmpl *t, const char *input, const int64_t counts[], err *e) {
  const bool square = t->matrix[1] < 0 || t->matrix[1] == t->matrix[0];
  return !square || counts[0] == counts[1]
             ? 0
             : err_set(e, ERR_USAGE,
                       "matrix=%.*s has %lld rows and %lld columns; %s takes square ones",
                       (int)strcspn(input, " "), input, (long long)counts[0], (long long)counts[1],
                       t->pub.name);
}

static int check_count(const tmpl *t, const char *input, size_t role, int64_t count, int64_t value,
                       err *e) {
  return count == value
             ? 0
             : err_set(e, ERR_USAGE, "%s=%lld is not that of matrix=%s, which has %lld %s",
                       t->pub.fields[t->matrix[role]].name, (long long)value, input,
                       (long long)count, roles[role]);
}

static int set_counts(const tmpl *t, const int64_t counts[], gen_problem *p, bool *given, err *e) {
  for (size_t i = 0; i < GEN_MATRIX_ROLES; i++) {
    const int field = t->matrix[i];
    if (field < 0 || counts[i] < 0) {
      continue;
    }
    if (given[field]) {
      TRY(check_count(t, p->input, i, counts[i], p->values[field].i, e));
    }
    p->values[field] = (gen_value){.i = counts[i]};
    given[field] = true;
  }
  return 0;
}

/* Has the text all that only making the matrix tells? */
static bool is_complete(const tmpl *t, const matrix_spec *s, const bool *given) {
  bool all = true;
  for (size_t i = 0; i < GEN_MATRIX_ROLES; i++) {
    all = all && (t->matrix[i] < 0 || given[t->matrix[i]] || (s->kind && i < 2));
  }
  return all || s->entries >= 0;
}

typedef struct counted_input {
  const char *input;
  int64_t counts[GEN_MATRIX_ROLES];
  struct counted_input *next;
} counted_input;

/* What a generator makes is made once to be counted; a file may change. */
static int count_input(tmpl *t, const matrix_spec *s, const char *input, int64_t counts[], err *e) {
  for (const counted_input *c = t->counted; s->kind && c; c = c->next) {
    if (!strcmp(c->input, input)) {
      memcpy(counts, c->counts, sizeof c->counts);
      return 0;
    }
  }
  TRY(matrix_counts(input, &counts[0], &counts[1], &counts[2], e));
  counted_input *c = ARENA_ARRAY(&t->a, counted_input, 1);
  TRY(c ? 0 : err_nomem(e));
  *c = (counted_input){.input = input, .next = t->counted};
  memcpy(c->counts, counts, sizeof c->counts);
  t->counted = c;
  return 0;
}

int gen_input_resolve(tmpl *t, const char *input, bool count, gen_problem *p, bool *given, err *e) {
  matrix_spec s;
  auto_str text = {0};
  TRY(matrix_spec_parse(input, &s, e));
  matrix_spec_text(&s, &text);
  p->input = text.failed ? NULL : arena_text(&t->a, str_text(&text));
  TRY(p->input ? 0 : err_nomem(e));
  int64_t counts[GEN_MATRIX_ROLES] = {s.kind ? s.rows : -1, s.kind ? s.columns : -1, s.entries};
  if (count && !is_complete(t, &s, given)) {
    TRY(count_input(t, &s, p->input, counts, e));
  }
  TRY(check_square(t, p->input, counts, e));
  return set_counts(t, counts, p, given, e);
}

int gen_input_check(const gen_instance *g, int64_t rows, int64_t columns, int64_t entries, err *e) {
  const tmpl *t = g->t;
  const int64_t counts[GEN_MATRIX_ROLES] = {rows, columns, entries};
  const char *input = g->problem.input ? g->problem.input : "uniform";
  TRY(check_square(t, input, counts, e));
  for (size_t i = 0; i < GEN_MATRIX_ROLES; i++) {
    if (t->matrix[i] >= 0) {
      TRY(check_count(t, input, i, counts[i], g->problem.values[t->matrix[i]].i, e));
    }
  }
  return 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

const char *gen_input_of(const gen_instance *g, arena *a) {
  const int *field = g->t->matrix;
  const gen_value *v = g->problem.values;
  const int64_t rows = v[field[0]].i;
  return g->problem.input
             ? g->problem.input
             : arena_format(a, "uniform rows=%lld columns=%lld entries=%lld", (long long)rows,
                            (long long)(field[1] < 0 ? rows : v[field[1]].i),
                            (long long)v[field[2]].i);
}

void gen_problem_full_text(const gen_template *t, const gen_problem *p, str *out) {
  char generator[GEN_MAX_NAME] = "";
  if (!p->input) {
    gen_problem_text(t, p, out);
    return;
  }
  const size_t n = strcspn(p->input, " ");
  memcpy(generator, p->input, n < sizeof generator ? n : 0);
  str_addf(out, "%s %s%s", t->name, key, p->input);
  for (size_t i = 0; i < t->n_fields; i++) {
    const bool told = !t->fields[i].feature || p->values[i].i >= 0;
    if (told && !parameter(gen_tmpl(t), generator, t->fields[i].name)) {
      str_addf(out, " %s=", t->fields[i].name);
      gen_add_value(&p->values[i], out);
    }
  }
}
