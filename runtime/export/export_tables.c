/* export_tables.c -- a portfolio's tree (chooser.h) and models (chooser_model.h) as initialised
 * structs, and what its configurations do as a function. */
#include "export_page.h"

/* ---- the tree ------------------------------------------------------------------------------- */

static void add_orders(const page *p) {
  str_add(p->out, "static const uint16_t orders[] = {");
  for (size_t i = 0; i < p->c->n_nodes; i++) {
    const chooser_node *n = &p->c->nodes[i];
    for (size_t k = 0; !n->no && k < n->n_order; k++) {
      str_addf(p->out, "%s%u,", k ? "" : "\n  ", n->order[k]);
    }
  }
  str_add(p->out, "\n  0};\n\n");
}

static void add_node(const page *p, const chooser_node *n, size_t *at) {
  static const char *const kinds[] = {[CHOOSER_FIELD] = "FIELD",
                                      [CHOOSER_RATIO] = "RATIO",
                                      [CHOOSER_PRODUCT] = "PRODUCT",
                                      [CHOOSER_VOLUME] = "VOLUME",
                                      [CHOOSER_CHOICE] = "CHOICE"};
  const chooser_feature *f = &n->feature;
  if (n->no) {
    str_addf(p->out, "  {{CHOOSER_%s, %u, %u, %u, %lld}, %.9g, %zu, 0, 0, orders, 0, 0},\n",
             kinds[f->kind], f->a, f->b, f->c, (long long)f->choice, n->below, n->no);
  } else {
    str_addf(p->out, "  {{CHOOSER_FIELD, 0, 0, 0, 0}, 0, 0, %.4g, %.4g, orders + %zu, %zu, %zu},\n",
             n->expected, n->worst, *at, n->n_order, n->n_short);
    *at += n->n_order;
  }
}

void export_tree(const page *p) {
  size_t at = 0;
  add_orders(p);
  str_add(p->out, "static const chooser_node nodes[] = {\n");
  for (size_t i = 0; i < p->c->n_nodes; i++) {
    add_node(p, &p->c->nodes[i], &at);
  }
  str_add(p->out, "};\n\n");
}

/* ---- work ----------------------------------------------------------------------------------- */

static int add_product(page *p, const char *const x[3]) {
  for (int i = 0; i < 3; i++) {
    TRY(export_put(p, i ? " * (double)(" : "(double)(", x[i], "1", ")"));
  }
  return 0;
}

static int add_kernel(page *p, const gen_launch_text *l) {
  for (size_t i = 0; i < GEN_MAX_WORK; i++) {
    TRY(export_put(p, i ? ", (double)(" : "    const double each[CHOOSER_WORK] = {(double)(",
                   l->work[i], "0", ")"));
  }
  str_add(p->out, "};\n    chooser_add_launch(&w, ");
  TRY(add_product(p, l->grid));
  str_add(p->out, ", ");
  TRY(add_product(p, l->block));
  return export_put(p, ", (double)(", l->smem, "0", "), each);\n");
}

static int add_memory(page *p, const gen_launch_text *l) {
  const gen_workspace_text *of = p->texts.workspaces;
  return export_put(p, "    w.launches += (",
                    l->nbytes ? l->nbytes : of[l->operands[0].index].count, "", ") > 0;\n");
}

static int add_work(page *p) {
  str_add(p->out, "static chooser_work work_of(const portfolio_state *k, const problem *p,\n"
                  "                            const struct config *c) {\n"
                  "  const struct derived v = derive(k, p, c);\n"
                  "  chooser_work w;\n  (void)v;\n  memset(&w, 0, sizeof w);\n");
  TRY(export_put(p, "  w.flops = (double)(", p->texts.flops, "0", ");\n"));
  TRY(export_put(p, "  w.bytes = (double)(", p->texts.bytes, "0", ");\n"));
  for (size_t i = 0; i < p->texts.n; i++) {
    const gen_launch_text *l = &p->texts.launches[i];
    TRY(export_put(p, "  if (", l->when, "1", ") {\n"));
    TRY(l->kernel ? add_kernel(p, l) : add_memory(p, l));
    str_add(p->out, "  }\n");
  }
  str_add(p->out, "  return w;\n}\n\n");
  return 0;
}

/* ---- models --------------------------------------------------------------------------------- */

enum { A_LINE = 16 };

static const char *between(size_t i) {
  return i % A_LINE ? "," : ",\n  ";
}

static void open_table(const page *p, const char *type, const char *name) {
  str_addf(p->out, "static const %s %s[] = {\n  0", type, name);
}

/* A table begins with a 0, so that none is empty. */
static void close_table(const page *p) {
  str_add(p->out, "};\n");
}

static void add_words(const page *p, const uint16_t *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    str_addf(p->out, "%s%u", between(i), x[i]);
  }
}

static void add_floats(const page *p, const float *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    str_addf(p->out, "%s%.9g", between(i), (double)x[i]);
  }
}

static void add_levels(const page *p, const chooser_levels *l, const char *table, size_t at) {
  str_addf(p->out, "{%.9g, %.9g, %s + %zu}", (double)l->from, (double)l->step, table, at + 1);
}

static void add_sizes(const page *p) {
  const chooser_sizes *s = &p->c->portfolio->model.sizes;
  str_add(p->out, "/* The fields of the measured sizes. */\n");
  open_table(p, "uint16_t", "octaves");
  for (size_t i = 0; i < s->n_varying; i++) {
    add_words(p, s->octaves[i].level, s->n);
  }
  close_table(p);
  open_table(p, "uint16_t", "varying");
  add_words(p, s->field, s->n_varying);
  close_table(p);
  open_table(p, "double", "first_octaves");
  for (size_t i = 0; i < s->fields.n; i++) {
    str_addf(p->out, ",%.17g", s->first[i]);
  }
  close_table(p);
  str_add(p->out, "static const chooser_levels size_octaves[] = {\n");
  for (size_t i = 0; i < s->n_varying; i++) {
    str_add(p->out, "  ");
    add_levels(p, &s->octaves[i], "octaves", i * s->n);
    str_add(p->out, ",\n");
  }
  str_addf(p->out,
           "  {0, 0, octaves}};\nstatic const chooser_sizes measured_sizes = {%zu, {%zu, 0x%llx},\n"
           "  first_octaves + 1, %zu, varying + 1, size_octaves};\n\n",
           s->n, s->fields.n, (unsigned long long)s->fields.names, s->n_varying);
}

static void add_rows(const page *p) {
  const portfolio_model *m = &p->c->portfolio->model;
  static const char *const names[] = {"row_size", "row_length", "row_tail"};
  str_add(p->out, "/* The rows of all models, one after the other. */\n");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    open_table(p, "uint16_t", names[i]);
    for (size_t k = 0; k < m->n_configs; k++) {
      const chooser_rows *r = &m->fits[k].chooser.rows;
      const uint16_t *const of[] = {r->size, r->length.level, r->tail.level};
      add_words(p, of[i], r->n);
    }
    close_table(p);
  }
  open_table(p, "float", "row_weight");
  for (size_t k = 0; k < m->n_configs; k++) {
    add_floats(p, m->fits[k].chooser.rows.weight, m->fits[k].chooser.rows.n);
  }
  close_table(p);
  open_table(p, "float", "variant_threads");
  for (size_t k = 0; k < m->n_configs; k++) {
    add_floats(p, m->fits[k].chooser.rows.threads, m->fits[k].chooser.rows.n_variants);
  }
  close_table(p);
}

static void add_fit(const page *p, const chooser_fit *fit, size_t row, size_t variant) {
  const chooser_rows *r = &fit->rows;
  str_addf(p->out, "  {{%.9g, %.9g, {", fit->costs.sms, fit->costs.at_once);
  for (size_t i = 0; i < CHOOSER_COSTS; i++) {
    str_addf(p->out, "%s%.9g", i ? "," : "", fit->costs.cost[i]);
  }
  str_addf(p->out, "}},\n   {%zu, %zu, row_size + %zu, row_weight + %zu, ", r->n, r->n_variants,
           row + 1, row + 1);
  add_levels(p, &r->length, "row_length", row);
  str_add(p->out, ", ");
  add_levels(p, &r->tail, "row_tail", row);
  str_addf(p->out, ", variant_threads + %zu}},\n", variant + 1);
}

static void add_fits(const page *p) {
  const portfolio_model *m = &p->c->portfolio->model;
  size_t row = 0, variant = 0;
  str_add(p->out, "static const chooser_fit models[N_BASES] = {\n");
  for (size_t k = 0; k < m->n_configs; k++) {
    add_fit(p, &m->fits[k].chooser, row, variant);
    row += m->fits[k].chooser.rows.n;
    variant += m->fits[k].chooser.rows.n_variants;
  }
  str_add(p->out, "};\n\n");
}

static size_t most_variants(const portfolio_model *m) {
  size_t most = 1;
  for (size_t k = 0; k < m->n_configs; k++) {
    const size_t n = m->fits[k].chooser.rows.n_variants;
    most = n > most ? n : most;
  }
  return most;
}

/* A variant of the default has no model, and is never asked about. */
static void add_differences(const page *p) {
  const exported_portfolio *c = p->c;
  const portfolio_model *m = &c->portfolio->model;
  str_addf(
      p->out,
      "/* In how many parameters each differs from the variants of its configuration's rows. */\n"
      "static const uint16_t differ[N_CONFIGS][%zu] = {\n",
      most_variants(m));
  for (size_t i = 0; i < c->n_variants; i++) {
    const model_fit *fit =
        c->variants[i].base < m->n_configs ? &m->fits[c->variants[i].base] : NULL;
    const size_t n = fit ? fit->chooser.rows.n_variants : 0;
    uint16_t differ[CHOOSER_SIZES];
    if (n) {
      model_fit_differences(p->t, fit, &c->variants[i].config, differ);
    }
    str_add(p->out, "  {");
    for (size_t k = 0; k < n; k++) {
      str_addf(p->out, "%s%u", k ? "," : "", differ[k]);
    }
    str_add(p->out, n ? "},\n" : "0},\n");
  }
  str_add(p->out, "};\n\n");
}

int export_models(page *p) {
  TRY(add_work(p));
  add_sizes(p);
  add_rows(p);
  add_fits(p);
  add_differences(p);
  return 0;
}
