/* Numbers that kernels of the template compute from the data: the fields that hold them, and the key
 * `features`. */
#include <string.h>

#include "gen_feature.h"
#include "gen_read.h"

/* { ..., feature = "row_stats", at = 1, scale = 16 } */
void gen_read_feature(gen_reader *r, gen_field *f, gen_field_rule *rule) {
  f->feature = gen_text_at(r, "feature");
  rule->scale = 1;
  if (gen_enter(r, "at")) {
    rule->at = gen_integer(r, "at");
    gen_leave(r);
  }
  if (gen_enter(r, "scale")) {
    rule->scale = gen_real_number(r, "scale");
    gen_leave(r);
  }
  if (!f->feature) {
    if (rule->at || rule->scale != 1) {
      gen_bad(r, "'at' and 'scale' go with feature = \"NAME\", an output of `features`");
    }
    return;
  }
  if (f->names || f->choices || f->min < 0 || rule->at < 0 || !(rule->scale > 0)) {
    gen_bad(r, "a feature is a range of whole numbers from 0 or more, with at >= 0 and scale > 0");
  }
}

static void find_output(gen_reader *r, const gen_field *f, gen_field_rule *rule) {
  const gen_program *p = &r->t->features;
  size_t i = 0;
  while (i < p->n_workspaces && strcmp(p->workspaces[i].name, f->feature) != 0) {
    i++;
  }
  const gen_element *of = i < p->n_workspaces ? &p->workspaces[i].element : NULL;
  if (!of || of->field >= 0 || of->type != DTYPE_f64) {
    gen_bad(
        r,
        "the field '%s' is of the feature '%s', which %s: features = { workspace = { { \"%s\", \"f64\", 1 } }, stages = ... }",
        f->name, f->feature, of ? "has to be of f64" : "is no workspace of `features`", f->feature);
  }
  rule->output = i;
}

/* What is known before a kernel is chosen: inputs of a plan, and what the problem decides. */
static void check_operand(gen_reader *r, const gen_stage_operand *o) {
  const gen_arg *a = o->from == GEN_FROM_ARG ? &r->t->pub.args[o->index] : NULL;
  if (!a) {
    return;
  }
  const bool of_run = r->t->pub.has_prepare && a->role == GEN_OF_RUN;
  if (a->dir == GEN_SCALAR ? !a->value : a->dir != GEN_IN || a->host || of_run) {
    gen_bad(
        r,
        "features are computed from inputs on the device%s and scalars that the problem fixes; '%s' is neither",
        r->t->pub.has_prepare ? " that `prepare` reads" : "", a->name);
  }
}

static void check_operands(gen_reader *r) {
  const gen_program *p = &r->t->features;
  for (const gen_stage *s = p->stages; s < p->stages + p->n_stages; s++) {
    for (size_t i = 0; i < s->n_operands; i++) {
      check_operand(r, &s->operands[i]);
    }
  }
}

void gen_read_features(gen_reader *r) {
  static const char *const keys[] = {"workspace", "stages", "options", "source", NULL};
  tmpl *t = r->t;
  t->pub.has_features = gen_enter(r, "features");
  if (t->pub.has_features) {
    gen_keys(r, keys);
    gen_read_apart(r, &t->features);
    check_operands(r);
  }
  for (size_t i = 0; i < t->pub.n_fields; i++) {
    if (t->pub.fields[i].feature) {
      find_output(r, &t->pub.fields[i], (gen_field_rule *)&t->fields[i]);
    }
  }
  if (t->pub.has_features) {
    gen_leave(r);
  }
}
