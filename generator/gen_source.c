/* The CUDA text of a configuration: where it comes from, its constants, and what the script writes.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "gen_tmpl.h"

typedef struct job {
  gen_instance *g;
  const gen_config *c; /* NULL: the reference */
  const gen_script *script;
  str *text; /* what the script writes */
} job;

static void write_text(gen_box *b, void *ud) {
  job *j = ud;
  gen_bind(j->g, j->c);
  gen_derive_all(j->g, j->c);
  gen_push_values(j->g, j->c);
  gen_script_run(b, j->script, j->g->t->max_source_nbytes, j->text);
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Does the text use the word, or one that starts with it and an underscore? What it does not use is
 * not defined, so that configurations that differ only in how they are launched are compiled once.
 */
static bool uses(const str *text, const char *word) {
  size_t n = strlen(word);
  const char *start = str_text(text);
  for (const char *p = start; (p = strstr(p, word)); p++) {
    bool before = p > start && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
    if (!before && !isalnum((unsigned char)p[n])) {
      return true;
    }
  }
  return false;
}

static void add_integer(str *out, const char *name, int64_t v) {
  if (v == INT64_MIN) { /* C++ has no literal for it */
    str_addf(out, "constexpr long long %s = -9223372036854775807 - 1;\n", name);
  } else {
    str_addf(out, "constexpr %s %s = %lld;\n", v >= INT_MIN && v <= INT_MAX ? "int" : "long long",
             name, (long long)v);
  }
}

static void add_choice(str *out, const gen_param *p, size_t index) {
  str_add(out, "enum {");
  for (size_t i = 0; i < p->n; i++) {
    str_addf(out, "%s %s_%s", i ? "," : "", p->name, p->values[i].s);
  }
  str_addf(out, " };\nconstexpr int %s = %s_%s;\n", p->name, p->name, p->values[index].s);
}

static void add_param(const job *j, size_t i, str *out) {
  const gen_param *p = &j->g->t->pub.params[i];
  const gen_value *v = &p->values[j->c->index[i]];
  if (v->s) {
    add_choice(out, p, j->c->index[i]);
  } else {
    add_integer(out, p->name, v->i);
  }
}

static void add_derived(const job *j, size_t i, str *out) {
  const char *name = j->g->t->pub.derived[i].name;
  const gen_result *r = &j->g->values[i];
  if (r->type == GEN_CONDITION) {
    str_addf(out, "constexpr bool %s = %s;\n", name, r->yes ? "true" : "false");
  } else {
    add_integer(out, name, r->i);
  }
}

static void add_constants(const job *j, str *out) {
  const gen_template *t = &j->g->t->pub;
  for (size_t i = 0; j->c && i < t->n_params; i++) {
    if (uses(j->text, t->params[i].name)) {
      add_param(j, i, out);
    }
  }
  for (size_t i = 0; i < t->n_derived; i++) {
    if (gen_has_derived(j->g, i, j->c) && uses(j->text, t->derived[i].name)) {
      add_derived(j, i, out);
    }
  }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* A template that is not built in is found again by its path. */
static void add_head(const job *j, str *out) {
  const gen_template *t = &j->g->t->pub;
  str_addf(out, "// %s%s", j->c ? "autotune emit " : "the reference of ",
           j->g->t->folder ? t->path : t->name);
  gen_add_fields(t, &j->g->problem, out);
  if (j->c && t->n_params) {
    str_add(out, " --config ");
    gen_config_text(t, j->c, out);
  }
  str_addf(out, "\n// %s version %lld of %s, %s\n\n", t->name, (long long)t->version, t->path,
           t->hash);
}

static int make(job *j, str *out, size_t *body, err *e) {
  tmpl *t = j->g->t;
  TRY(gen_box_run(&t->box, write_text, j, true, e));
  add_head(j, out);
  *body = out->n;
  add_constants(j, out);
  str_add_n(out, str_text(j->text), j->text->n);
  return out->failed ? err_set(e, ERR_NOMEM, "out of memory") : 0;
}

static int make_source(gen_instance *g, const gen_config *c, const gen_script *script, str *out,
                       size_t *body, err *e) {
  str text = {0};
  job j = {g, c, script, &text};
  int rc = make(&j, out, body, e);
  str_clear(&text);
  return rc;
}

int gen_source_make(gen_instance *g, const gen_config *c, str *out, size_t *body, err *e) {
  return make_source(g, c, &g->t->program.script, out, body, e);
}

int gen_reference_source(gen_instance *g, str *out, size_t *body, err *e) {
  return make_source(g, NULL, &g->t->reference.script, out, body, e);
}
