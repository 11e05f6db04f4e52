/* export_expressions.c -- a template's expressions as C, over a problem's fields, a configuration's
 * parameters, derived values and the limits of the device. */
#include <ctype.h>
#include <string.h>

#include "c_name.h"
#include "export_page.h"

/* ---- names ---------------------------------------------------------------------------------- */

void export_id(str *s, const char *name) {
  char id[C_NAME];
  c_name(name, id);
  str_add(s, id);
}

/* A name that is a value, 'last_block', is an enumerator; characters that C does not allow become
 * _. */
void export_choice(const page *p, const char *text, size_t n, str *s) {
  str_addf(s, "%s_TEXT_", p->upper);
  for (size_t i = 0; i < n; i++) {
    str_addf(s, "%c", isalnum((unsigned char)text[i]) ? text[i] : '_');
  }
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
    str_add(&p->name_text, gen_field_find(p->t, name, strlen(name)) ? "p->"
                           : gen_param_find(p->t, name)             ? "c->"
                                                                    : "v.");
    export_id(&p->name_text, name);
  }
  return str_text(&p->name_text);
}

/* ---- expressions ---------------------------------------------------------------------------- */

int export_expression(page *p, const char *text) {
  err why = {0};
  const int rc = gen_expression_c_of(p->t, text, name_in_c, p, p->out, &why);
  return rc ? err_at(p->e, rc, p->t->path, "export: %s", why.message) : 0;
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
