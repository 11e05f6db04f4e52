/* export_expressions.c -- a template's expressions as C, over a problem's fields, a configuration's
 * parameters, derived values and the limits of the device. */
#include <ctype.h>
#include <string.h>

#include "c_name.h"
#include "export_page.h"
#include "gen_lex.h"

/* ---- names ---------------------------------------------------------------------------------- */

void export_id(str *s, const char *name) {
  char id[C_NAME];
  c_name(name, id);
  str_add(s, id);
}

/* A name that is a value, 'last_block', is an enumerator; characters that C does not allow become _.
 */
void export_choice(const page *p, const char *text, size_t n, str *s) {
  str_addf(s, "%s_TEXT_", p->upper);
  for (size_t i = 0; i < n; i++) {
    str_addf(s, "%c", isalnum((unsigned char)text[i]) ? text[i] : '_');
  }
}

static bool is_field(const page *p, const char *name) {
  for (size_t i = 0; i < p->t->n_fields; i++) {
    if (!strcmp(p->t->fields[i].name, name)) {
      return true;
    }
  }
  return false;
}

static bool is_param(const page *p, const char *name) {
  for (size_t i = 0; i < p->t->n_params; i++) {
    if (!strcmp(p->t->params[i].name, name)) {
      return true;
    }
  }
  return false;
}

/* src: gen_expression_c asks what stands for a name */
static const char *name_in_c(void *ud, const char *name) {
  page *p = ud;
  str_reset(&p->name_text);
  if (name[0] == '\'') {
    export_choice(p, name + 1, strlen(name) - 2, &p->name_text);
  } else if (!strncmp(name, "dev_", 4)) {
    str_addf(&p->name_text, "k->%s", name);
  } else {
    str_add(&p->name_text, is_field(p, name) ? "p->" : is_param(p, name) ? "c->" : "v.");
    export_id(&p->name_text, name);
  }
  return str_text(&p->name_text);
}

/* ---- expressions ---------------------------------------------------------------------------- */

static bool find_condition(const page *p, const gen_token *token, size_t *i) {
  for (*i = 0; *i < p->t->n_derived; (*i)++) {
    if (p->condition[*i] && gen_token_is(token, p->t->derived[*i].name)) {
      return true;
    }
  }
  return false;
}

/* With conditions that have a name written out: C's numbers and conditions are told apart. Derived
 * values read only those before them, so this ends. */
static void expand(const page *p, const char *text, str *out) {
  gen_lexer lexer = gen_lex(text, strlen(text), 1);
  for (gen_token t = gen_lex_next(&lexer); t.kind != GEN_TOKEN_END; t = gen_lex_next(&lexer)) {
    size_t i;
    if (t.kind == GEN_TOKEN_NAME && find_condition(p, &t, &i)) {
      str_add(out, "(");
      expand(p, p->t->derived[i].expression, out);
      str_add(out, ")");
    } else {
      str_add_n(out, t.p, t.n);
    }
    str_add(out, " ");
  }
}

int export_expression(page *p, const char *text) {
  str full = {0};
  err why = {0};
  expand(p, text, &full);
  const int rc = gen_expression_c(str_text(&full), name_in_c, p, p->out, &why);
  str_clear(&full);
  return rc ? err_at(p->e, rc, p->t->path, "export: %s", why.message) : 0;
}

static bool is_condition(page *p, const char *text) {
  str full = {0}, unused = {0};
  str_add(&full, "(");
  expand(p, text, &full);
  str_add(&full, ") and true");
  const bool yes = !gen_expression_c(str_text(&full), name_in_c, p, &unused, NULL);
  str_clear(&full);
  str_clear(&unused);
  return yes;
}

void export_find_conditions(page *p) {
  for (size_t i = 0; i < p->t->n_derived; i++) {
    p->condition[i] = is_condition(p, p->t->derived[i].expression);
  }
}

int export_put(page *p, const char *before, const char *expression, const char *otherwise,
               const char *after) {
  str_add(p->out, before);
  if (expression) {
    TRY(export_expression(p, expression));
  } else {
    str_add(p->out, otherwise);
  }
  str_add(p->out, after);
  return 0;
}
