#include "portfolio.h"

static void add_range(const gen_template *t, const portfolio *c, size_t i, str *out) {
  const gen_field *f = &t->fields[i];
  str_addf(out, "range %s", f->name);
  if (portfolio_is_number(t, i)) {
    str_addf(out, " %lld %lld", (long long)c->least[i], (long long)c->most[i]);
  }
  for (size_t j = 0; j < f->n_names; j++) {
    if (c->choices[i] >> j & 1) {
      str_addf(out, " %s", f->names[j]);
    }
  }
  str_add(out, "\n");
}

static void add_node(const gen_template *t, const chooser_node *n, str *out) {
  if (!n->no) {
    str_addf(out, "leaf %.3g %.3g", n->expected, n->worst);
    for (size_t i = 0; i < n->n_order; i++) {
      str_addf(out, " %u%s", n->order[i], i + 1 == n->n_short ? " then" : "");
    }
  } else {
    str_add(out, "if ");
    portfolio_feature_text(t, &n->feature, out);
    if (n->feature.kind != CHOOSER_CHOICE) {
      str_addf(out, " < %.9g", n->below);
    }
    str_addf(out, " else %zu", n->no);
  }
  str_add(out, "\n");
}

static void add_costs(const chooser_costs *c, str *out) {
  size_t n = CHOOSER_COSTS;
  while (n > 0 && c->cost[n - 1] == 0) {
    n--;
  }
  str_addf(out, "costs %.6g", c->at_once);
  for (size_t i = 0; i < n; i++) {
    str_addf(out, " %.4g", c->cost[i]);
  }
  str_add(out, "\n");
}

static void add_variant(const gen_template *t, const gen_config *whole, const model_variant *f,
                        str *out) {
  str_addf(out, "form %.9g", f->threads);
  for (size_t i = 0; i < t->n_params; i++) {
    if (f->config.index[i] != whole->index[i]) {
      str_addf(out, " %s=", t->params[i].name);
      gen_add_value(&t->params[i].values[f->config.index[i]], out);
    }
  }
  str_add(out, "\n");
  for (size_t i = 0; i < f->n; i++) {
    const model_sample *x = &f->samples[i];
    str_addf(out, "at %zu %.9g %.5g\n", (size_t)x->size, (double)x->blocks, (double)x->weight);
  }
}

static void add_size(const gen_template *t, const portfolio *c, size_t i, str *out) {
  str_addf(out, "size %.6g", c->model.flops[i]);
  for (size_t k = 0; k < t->n_fields; k++) {
    const int64_t v = c->model.values[i * t->n_fields + k];
    if (portfolio_varies(c, t, k) && portfolio_is_number(t, k)) {
      str_addf(out, " %lld", (long long)v);
    } else if (portfolio_varies(c, t, k)) {
      str_addf(out, " %s", t->fields[k].names[v]);
    }
  }
  str_add(out, "\n");
}

static void add_model(const gen_template *t, const portfolio *c, str *out) {
  const portfolio_model *m = &c->model;
  str_addf(out, "model %.6g\n", m->fits[0].chooser.costs.sms);
  for (size_t i = 0; i < m->sizes.n; i++) {
    add_size(t, c, i, out);
  }
  for (size_t k = 0; k < m->n_configs; k++) {
    add_costs(&m->fits[k].chooser.costs, out);
    for (size_t i = 0; i < m->fits[k].n_variants; i++) {
      add_variant(t, &c->configs[k], &m->fits[k].variants[i], out);
    }
  }
}

static int version(const portfolio *c) {
  for (size_t i = 0; i < c->n_nodes; i++) {
    if (c->nodes[i].n_short) {
      return 5;
    }
  }
  return c->model.sizes.n ? 4 : 1;
}

void portfolio_text(const gen_template *t, const portfolio *c, str *out) {
  str_addf(out, "portfolio %d\nasked %.6g\nsizes %zu\nexpected %.3g %.3g\n", version(c), c->asked,
           c->n_sizes, c->expected, c->worst);
  for (size_t i = 0; i < t->n_fields; i++) {
    add_range(t, c, i, out);
  }
  for (size_t i = 0; i < c->n_configs; i++) {
    str_add(out, "config ");
    gen_config_text(t, &c->configs[i], out);
    str_add(out, "\n");
  }
  for (size_t i = 0; i < c->n_nodes; i++) {
    add_node(t, &c->nodes[i], out);
  }
  if (c->model.sizes.n) {
    add_model(t, c, out);
  }
}
