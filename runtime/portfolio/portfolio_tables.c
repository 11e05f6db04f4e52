#include "portfolio_tables.h"

/* ---- the tree ------------------------------------------------------------------------------- */

static void add_orders(const chooser_node *nodes, size_t n, str *out) {
  str_add(out, "static const uint16_t orders[] = {");
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; !nodes[i].no && k < nodes[i].n_order; k++) {
      str_addf(out, "%s%u,", k ? "" : "\n  ", nodes[i].order[k]);
    }
  }
  str_add(out, "\n  0};\n\n");
}

static void add_node(const chooser_node *n, size_t *at, str *out) {
  static const char *const kinds[] = {[CHOOSER_FIELD] = "FIELD",
                                      [CHOOSER_RATIO] = "RATIO",
                                      [CHOOSER_PRODUCT] = "PRODUCT",
                                      [CHOOSER_VOLUME] = "VOLUME",
                                      [CHOOSER_CHOICE] = "CHOICE"};
  const chooser_feature *f = &n->feature;
  if (n->no) {
    str_addf(out, "  {{CHOOSER_%s, %u, %u, %u, %lld}, %.9g, %zu, 0, 0, orders, 0, 0},\n",
             kinds[f->kind], f->a, f->b, f->c, (long long)f->choice, n->below, n->no);
  } else {
    str_addf(out, "  {{CHOOSER_FIELD, 0, 0, 0, 0}, 0, 0, %.4g, %.4g, orders + %zu, %zu, %zu},\n",
             n->expected, n->worst, *at, n->n_order, n->n_short);
    *at += n->n_order;
  }
}

void portfolio_tables_tree(const chooser_node *nodes, size_t n, str *out) {
  size_t at = 0;
  add_orders(nodes, n, out);
  str_add(out, "static const chooser_node nodes[] = {\n");
  for (size_t i = 0; i < n; i++) {
    add_node(&nodes[i], &at, out);
  }
  str_add(out, "};\n\n");
}

/* ---- models --------------------------------------------------------------------------------- */

enum { A_LINE = 16 };

static const char *between(size_t i) {
  return i % A_LINE ? "," : ",\n  ";
}

static void open_table(const char *type, const char *name, str *out) {
  str_addf(out, "static const %s %s[] = {\n  0", type, name);
}

/* A table begins with a 0, so that none is empty. */
static void close_table(str *out) {
  str_add(out, "};\n");
}

static void add_words(const uint16_t *x, size_t n, str *out) {
  for (size_t i = 0; i < n; i++) {
    str_addf(out, "%s%u", between(i), x[i]);
  }
}

static void add_floats(const float *x, size_t n, str *out) {
  for (size_t i = 0; i < n; i++) {
    str_addf(out, "%s%.9g", between(i), (double)x[i]);
  }
}

static void add_levels(const chooser_levels *l, const char *table, size_t at, str *out) {
  str_addf(out, "{%.9g, %.9g, %s + %zu}", (double)l->from, (double)l->step, table, at + 1);
}

void portfolio_tables_sizes(const chooser_sizes *s, str *out) {
  str_add(out, "/* The fields of the measured sizes. */\n");
  open_table("uint16_t", "octaves", out);
  for (size_t i = 0; i < s->n_varying; i++) {
    add_words(s->octaves[i].level, s->n, out);
  }
  close_table(out);
  open_table("uint16_t", "varying", out);
  add_words(s->field, s->n_varying, out);
  close_table(out);
  open_table("double", "first_octaves", out);
  for (size_t i = 0; i < s->fields.n; i++) {
    str_addf(out, ",%.17g", s->first[i]);
  }
  close_table(out);
  str_add(out, "static const chooser_levels size_octaves[] = {\n");
  for (size_t i = 0; i < s->n_varying; i++) {
    str_add(out, "  ");
    add_levels(&s->octaves[i], "octaves", i * s->n, out);
    str_add(out, ",\n");
  }
  str_addf(out,
           "  {0, 0, octaves}};\nstatic const chooser_sizes measured_sizes = {%zu, {%zu, 0x%llx},\n"
           "  first_octaves + 1, %zu, varying + 1, size_octaves};\n\n",
           s->n, s->fields.n, (unsigned long long)s->fields.names, s->n_varying);
}

void portfolio_tables_rows(const portfolio_model *m, str *out) {
  static const char *const names[] = {"row_size", "row_length", "row_tail"};
  str_add(out, "/* The rows of all models, one after the other. */\n");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    open_table("uint16_t", names[i], out);
    for (size_t k = 0; k < m->n_configs; k++) {
      const chooser_rows *r = &m->fits[k].chooser.rows;
      const uint16_t *const of[] = {r->size, r->length.level, r->tail.level};
      add_words(of[i], r->n, out);
    }
    close_table(out);
  }
  open_table("float", "row_weight", out);
  for (size_t k = 0; k < m->n_configs; k++) {
    add_floats(m->fits[k].chooser.rows.weight, m->fits[k].chooser.rows.n, out);
  }
  close_table(out);
  open_table("float", "variant_threads", out);
  for (size_t k = 0; k < m->n_configs; k++) {
    add_floats(m->fits[k].chooser.rows.threads, m->fits[k].chooser.rows.n_variants, out);
  }
  close_table(out);
}

void portfolio_tables_fit(const portfolio_model *m, size_t config, str *out) {
  const chooser_fit *fit = &m->fits[config].chooser;
  const chooser_rows *r = &fit->rows;
  size_t row = 0, variant = 0;
  for (size_t k = 0; k < config; k++) {
    row += m->fits[k].chooser.rows.n;
    variant += m->fits[k].chooser.rows.n_variants;
  }
  str_addf(out, "  {{%.9g, %.9g, {", fit->costs.sms, fit->costs.at_once);
  for (size_t i = 0; i < CHOOSER_COSTS; i++) {
    str_addf(out, "%s%.9g", i ? "," : "", fit->costs.cost[i]);
  }
  str_addf(out, "}},\n   {%zu, %zu, row_size + %zu, row_weight + %zu, ", r->n, r->n_variants,
           row + 1, row + 1);
  add_levels(&r->length, "row_length", row, out);
  str_add(out, ", ");
  add_levels(&r->tail, "row_tail", row, out);
  str_addf(out, ", variant_threads + %zu}},\n", variant + 1);
}
