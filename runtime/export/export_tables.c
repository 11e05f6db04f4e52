/* export_tables.c -- a portfolio's models as initialised structs, and what its configurations do as
 * a function. */
#include "export_page.h"
#include "portfolio_tables.h"

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

static void add_fits(const page *p) {
  const portfolio_model *m = &p->c->portfolio->model;
  str_add(p->out, "static const chooser_fit models[N_BASES] = {\n");
  for (size_t k = 0; k < m->n_configs; k++) {
    portfolio_tables_fit(m, k, p->out);
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
  portfolio_tables_sizes(&p->c->portfolio->model.sizes, p->out);
  portfolio_tables_rows(&p->c->portfolio->model, p->out);
  add_fits(p);
  add_differences(p);
  return 0;
}
