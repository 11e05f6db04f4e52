/* gen_feature.c -- features of the data as fields, and the kernels that compute them. */
#include "gen_feature.h"

#include <math.h>

int64_t gen_feature_round(const gen_field *f, int64_t v) {
  if (v < 0) {
    return GEN_UNKNOWN;
  }
  const double quarter = v > 0 ? exp2(round(4 * log2((double)v)) / 4) : 0;
  const int64_t bucket = quarter < 0x1p62 ? (int64_t)(quarter + 0.5) : INT64_MAX;
  return bucket < f->min ? f->min : bucket > f->max ? f->max : bucket;
}

int gen_features_set(const gen_template *t, const double *const *outputs, const size_t *counts,
                     gen_problem *p, err *e) {
  const tmpl *of = gen_tmpl(t);
  for (size_t i = 0; i < t->n_fields; i++) {
    const gen_field_rule *x = &of->fields[i];
    if (!t->fields[i].feature) {
      continue;
    }
    if ((size_t)x->at >= counts[x->output]) {
      return err_at(e, ERR_TEMPLATE, t->path,
                    "the feature '%s' has %zu elements, and '%s' is element %lld",
                    t->fields[i].feature, counts[x->output], t->fields[i].name, (long long)x->at);
    }
    const double v = outputs[x->output][x->at] * x->scale;
    const int64_t whole = v > 0 ? (v < 0x1p62 ? (int64_t)(v + 0.5) : INT64_MAX) : 0; /* NaN: 0 */
    p->values[i] = (gen_value){.i = gen_feature_round(&t->fields[i], whole)};
  }
  p->open = 0;
  return 0;
}

bool gen_features_read(const gen_template *t, size_t arg) {
  const gen_program *p = &gen_tmpl(t)->features;
  bool does = false;
  for (const gen_stage *s = p->stages; s < p->stages + p->n_stages; s++) {
    for (size_t i = 0; i < s->n_operands; i++) {
      does = does || (s->operands[i].from == GEN_FROM_ARG && s->operands[i].index == arg);
    }
  }
  return does;
}
