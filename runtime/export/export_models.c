/* export_models.c -- the models of a portfolio (portfolio_model.h) as C: tables of what the measured
 * sizes told, and the functions that libtuned has for them, over those tables. */
#include <string.h>

#include "export_page.h"

/* ---- work ----------------------------------------------------------------------------------- */

static int add_product(page *p, const char *const x[3]) {
  for (int i = 0; i < 3; i++) {
    str_add(p->out, i ? " * (double)(" : "(double)(");
    TRY(x[i] ? export_expression(p, x[i]) : 0);
    str_add(p->out, x[i] ? ")" : "1)");
  }
  return 0;
}

_Static_assert(GEN_MAX_WORK == 4, "add_launch takes so many");

static int add_kernel(page *p, const gen_launch_text *l) {
  str_add(p->out, "    add_launch(&w, ");
  TRY(add_product(p, l->grid));
  str_add(p->out, ", ");
  TRY(add_product(p, l->block));
  str_add(p->out, ", (double)(");
  TRY(l->smem ? export_expression(p, l->smem) : 0);
  str_add(p->out, l->smem ? ")" : "0)");
  for (size_t i = 0; i < GEN_MAX_WORK; i++) {
    str_add(p->out, ", (double)(");
    TRY(l->work[i] ? export_expression(p, l->work[i]) : 0);
    str_add(p->out, l->work[i] ? ")" : "0)");
  }
  str_add(p->out, ");\n");
  return 0;
}

static int add_memory(page *p, const gen_launch_text *l) {
  const gen_workspace_text *of = p->texts.workspaces;
  str_add(p->out, "    w.launches += (");
  TRY(export_expression(p, l->nbytes ? l->nbytes : of[l->operands[0].index].count));
  str_add(p->out, ") > 0;\n");
  return 0;
}

static int add_stage(page *p, const gen_launch_text *l) {
  str_add(p->out, "  if (");
  TRY(l->when ? export_expression(p, l->when) : 0);
  str_add(p->out, l->when ? ") {\n" : "1) {\n");
  TRY(l->kernel ? add_kernel(p, l) : add_memory(p, l));
  str_add(p->out, "  }\n");
  return 0;
}

static int add_work(page *p) {
  str_addf(p->out,
           "/* What a configuration does: launches, and the one of them that does most. */\n"
           "struct work {\n  double launches, blocks, threads, smem, flops, bytes;\n"
           "  double each[%d]; /* of a block */\n};\n\n"
           "static void add_launch(struct work *w, double blocks, double threads, double smem,\n"
           "                       double a, double b, double c, double d) {\n"
           "  w->launches += blocks > 0;\n"
           "  if (blocks > 0 && (!(w->blocks > 0) || (smem != w->smem\n"
           "          ? smem > w->smem : blocks * threads > w->blocks * w->threads))) {\n"
           "    w->blocks = blocks;\n    w->threads = threads;\n    w->smem = smem;\n"
           "    w->each[0] = a;\n    w->each[1] = b;\n    w->each[2] = c;\n"
           "    w->each[3] = d;\n  }\n}\n\n"
           "static struct work work_of(const %s_portfolio *k, const %s_problem *p,\n"
           "                           const struct config *c) {\n"
           "  const struct derived v = derive(k, p, c);\n"
           "  struct work w = {0, 0, 0, 0, 0, 0, {0}};\n  (void)v;\n  w.flops = (double)(",
           GEN_MAX_WORK, p->name, p->name);
  TRY(export_expression(p, p->texts.flops));
  str_add(p->out, ");\n  w.bytes = (double)(");
  TRY(export_expression(p, p->texts.bytes));
  str_add(p->out, ");\n");
  for (size_t i = 0; i < p->texts.n; i++) {
    TRY(add_stage(p, &p->texts.launches[i]));
  }
  str_add(p->out, "  return w;\n}\n\n");
  return 0;
}

/* ---- tables --------------------------------------------------------------------------------- */

static void add_octaves(const page *p) {
  const portfolio_model *m = &p->c->portfolio->model;
  str_addf(p->out,
           "enum { SIZES = %zu, VARYING = %zu, MODELS = %zu, COSTS = %d };\n"
           "/* The measured sizes' fields, as logarithms of base 2. */\n"
           "static const float octaves[VARYING + 1][SIZES] = {\n",
           m->n_sizes, m->n_varying, m->n_configs, MODEL_COSTS);
  for (size_t f = 0; f < m->n_varying; f++) {
    str_add(p->out, "  {");
    for (size_t i = 0; i < m->n_sizes; i++) {
      str_addf(p->out, "%s%.6g",
               !i       ? ""
               : i % 12 ? ", "
                        : ",\n   ",
               model_level(&m->octaves[f], i));
    }
    str_add(p->out, "},\n");
  }
  str_add(p->out, "  {0}};\n\n");
}

static void add_models(const page *p) {
  const portfolio_model *m = &p->c->portfolio->model;
  size_t row = 0, form = 0;
  str_add(p->out,
          "/* Of each configuration: blocks that a multiprocessor holds at a time, where its\n"
          " * rows and forms are, and what things cost. */\n"
          "static const struct model {\n  double at_once;\n"
          "  int row, n_rows, form, n_forms;\n  double cost[COSTS];\n} models[MODELS] = {\n");
  for (size_t k = 0; k < m->n_configs; k++) {
    const model_fit *fit = &m->fits[k];
    str_addf(p->out, "  {%.9g, %zu, %zu, %zu, %zu, {", fit->costs.at_once, row, fit->rows.n, form,
             fit->rows.n_forms);
    for (size_t i = 0; i < MODEL_COSTS; i++) {
      str_addf(p->out, "%s%.9g", i ? ", " : "", fit->costs.cost[i]);
    }
    str_add(p->out, "}},\n");
    row += fit->rows.n;
    form += fit->rows.n_forms;
  }
  str_add(p->out, "};\n\n");
}

static void add_rows(const page *p) {
  const portfolio_model *m = &p->c->portfolio->model;
  str_add(p->out,
          "/* What a measured size tells of a configuration in the form that it has there. */\n"
          "static const struct row {\n  unsigned short size, form;\n"
          "  float weight, length, tail;\n} rows[] = {\n");
  for (size_t k = 0; k < m->n_configs; k++) {
    const model_rows *r = &m->fits[k].rows;
    for (size_t i = 0, forms = 0; i < r->n; i++) {
      forms += r->size[i] / MODEL_ROWS_NEXT;
      str_addf(p->out, "%s{%u, %zu, %.6g, %.6g, %.6g},",
               i % 3 ? " "
               : i   ? "\n  "
                     : "  ",
               r->size[i] % MODEL_ROWS_NEXT, forms - 1, (double)r->weight[i],
               model_level(&r->length, i), model_level(&r->tail, i));
    }
    str_add(p->out, r->n ? "\n" : "");
  }
  str_add(p->out,
          "  {0, 0, 0, 0, 0}};\n\n/* Of each form, the threads of a block, as distances are\n"
          " * measured. */\nstatic const float form_threads[] = {\n");
  for (size_t k = 0; k < m->n_configs; k++) {
    for (size_t i = 0; i < m->fits[k].rows.n_forms; i++) {
      str_addf(p->out, "%s%.6g,",
               i % 12 ? " "
               : i    ? "\n  "
                      : "  ",
               (double)m->fits[k].rows.threads[i]);
    }
    str_add(p->out, "\n");
  }
  str_add(p->out, "  0};\n\n");
}

static size_t forms_most(const portfolio_model *m) {
  size_t most = 1;
  for (size_t k = 0; k < m->n_configs; k++) {
    most = m->fits[k].rows.n_forms > most ? m->fits[k].rows.n_forms : most;
  }
  return most;
}

/* A variant of the default has no model, and is never asked about. */
static void add_differences(const page *p) {
  const exported_portfolio *c = p->c;
  const portfolio_model *m = &c->portfolio->model;
  str_addf(
      p->out,
      "enum { FORMS_MOST = %zu };\n"
      "/* Each variant, and its configuration's forms: in how many parameters they differ. */\n"
      "static const unsigned char differ[%s_CONFIGS][FORMS_MOST] = {\n",
      forms_most(m), p->upper);
  for (size_t i = 0; i < c->n_variants; i++) {
    const model_fit *fit =
        c->variants[i].base < m->n_configs ? &m->fits[c->variants[i].base] : NULL;
    const size_t n_forms = fit ? fit->rows.n_forms : 0;
    uint16_t differ[MODEL_SIZES];
    if (n_forms) {
      model_fit_differences(p->t, fit, &c->variants[i].config, differ);
    }
    str_add(p->out, "  {");
    for (size_t f = 0; f < n_forms; f++) {
      str_addf(p->out, "%s%u", f ? ", " : "", differ[f]);
    }
    str_add(p->out, n_forms ? "},\n" : "0},\n");
  }
  str_add(p->out, "};\n\n");
}

/* ---- distances ------------------------------------------------------------------------------ */

static void add_choice_index(const page *p, size_t field) {
  const gen_field *f = &p->t->fields[field];
  for (size_t i = 1; i < f->n_names; i++) {
    str_add(p->out, "p->");
    export_id(p->out, f->name);
    str_add(p->out, " == ");
    export_text(p, f->names[i], strlen(f->names[i]), p->out);
    str_addf(p->out, " ? %zu : ", i);
  }
  str_add(p->out, "0");
}

static void add_octave(const page *p, size_t field) {
  if (p->t->fields[field].names) {
    add_choice_index(p, field);
    return;
  }
  str_add(p->out, "(float)log2((double)tuned_max(1, p->");
  export_id(p->out, p->t->fields[field].name);
  str_add(p->out, "))");
}

static bool varies(const portfolio_model *m, size_t field) {
  for (size_t i = 0; i < m->n_varying; i++) {
    if (m->field[i] == field) {
      return true;
    }
  }
  return false;
}

/* What is the same at all measured sizes. */
static void add_shared(const page *p) {
  const portfolio_model *m = &p->c->portfolio->model;
  for (size_t f = 0; f < p->t->n_fields; f++) {
    if (varies(m, f)) {
      continue;
    }
    str_add(p->out, p->t->fields[f].names ? "  shared += (" : "  d = ");
    add_octave(p, f);
    str_addf(p->out, p->t->fields[f].names ? ") != %.9g ? choice : 0;\n" : " - (float)%.9g;\n",
             m->first[f]);
    str_add(p->out, p->t->fields[f].names ? "" : "  shared += number * d * d;\n");
  }
}

static void add_distances(const page *p) {
  const portfolio_model *m = &p->c->portfolio->model;
  str_addf(p->out,
           "/* How far the measured sizes are from a problem. */\n"
           "static void measure(const %s_problem *p, float apart[SIZES]) {\n"
           "  const float number = 1.0f / %d, choice = 1.0f / %d;\n"
           "  float d, shared = 0;\n  int i;\n",
           p->name, MODEL_FIELD * MODEL_FIELD, MODEL_CHOICE * MODEL_CHOICE);
  add_shared(p);
  str_add(p->out, "  for (i = 0; i < SIZES; i++) {\n    apart[i] = shared;\n  }\n");
  for (size_t f = 0; f < m->n_varying; f++) {
    str_add(p->out, "  d = ");
    add_octave(p, m->field[f]);
    str_add(p->out, ";\n  for (i = 0; i < SIZES; i++) {\n");
    str_addf(p->out,
             p->t->fields[m->field[f]].names
                 ? "    apart[i] += octaves[%zu][i] != d ? choice : 0;\n  }\n"
                 : "    apart[i] += number * (octaves[%zu][i] - d) * (octaves[%zu][i] - d);\n  }\n",
             f, f);
  }
  str_add(p->out, "  (void)d;\n  (void)number;\n  (void)choice;\n}\n\n");
}

/* ---- times ---------------------------------------------------------------------------------- */

static void add_terms(const page *p) {
  size_t n = 8;
  str_addf(p->out,
           "/* What the costs are multiplied with. */\n"
           "static void set_terms(const %s_problem *p, const struct work *w, double one,\n"
           "                      double rounds, double x[COSTS]) {\n"
           "  memset(x, 0, COSTS * sizeof *x);\n"
           "  x[0] = w->launches;\n  x[1] = one;\n  x[2] = rounds;\n"
           "  x[3] = one * (w->flops / w->blocks);\n  x[4] = rounds * (w->flops / w->blocks);\n"
           "  x[5] = w->flops;\n  x[6] = w->bytes;\n  x[7] = w->blocks;\n",
           p->name);
  for (size_t f = 0; f < p->t->n_fields && n + 1 < MODEL_PLAIN; f++) {
    if (!p->t->fields[f].names) {
      for (int i = 0; i < 2; i++) {
        str_addf(p->out, "  x[%zu] = %s * (double)p->", n++, i ? "rounds" : "one");
        export_id(p->out, p->t->fields[f].name);
        str_add(p->out, ";\n");
      }
    }
  }
  for (int i = 0; i < GEN_MAX_WORK; i++) {
    const int at = MODEL_PLAIN + 3 * i;
    str_addf(p->out,
             "  x[%d] = one * w->each[%d];\n  x[%d] = rounds * w->each[%d];\n"
             "  x[%d] = w->blocks * w->each[%d];\n",
             at, i, at + 1, i, at + 2, i);
  }
  str_add(p->out, "  (void)p;\n}\n\n");
}

static void add_seconds(const page *p) {
  str_addf(
      p->out,
      "/* By how much the sum of costs is off, a logarithm: a Gaussian process. And how far\n"
      " * the nearest is that was timed. */\n"
      "static double foretell_off(const struct model *m, int variant, const struct work *w,\n"
      "                           double rounds, const float apart[SIZES], double *strange) {\n"
      "  const float length = (float)(log2(fmax(1, w->flops) / w->blocks) / %d);\n"
      "  const float tail = (float)(log2(rounds * m->at_once * %.9g / w->blocks) / %d);\n"
      "  const float threads = (float)(log2(w->threads) / %d);\n"
      "  float of_form[FORMS_MOST], nearest = HUGE_VALF;\n  double off = 0;\n  int i;\n"
      "  for (i = 0; i < m->n_forms; i++) {\n"
      "    const float d = form_threads[m->form + i] - threads;\n"
      "    of_form[i] = (float)differ[variant][i] / %d + d * d;\n  }\n"
      "  for (i = m->row; i < m->row + m->n_rows; i++) {\n"
      "    const float x = rows[i].length - length, y = rows[i].tail - tail;\n"
      "    const float d = apart[rows[i].size] + of_form[rows[i].form] + x * x + y * y;\n"
      "    off += rows[i].weight / (1 + d / 2);\n"
      "    nearest = d < nearest ? d : nearest;\n  }\n"
      "  *strange = m->n_rows ? (double)nearest : 0;\n"
      "  return fmax(-%.9g, fmin(%.9g, %.9g * off));\n}\n\n",
      MODEL_LENGTH, p->c->portfolio->model.fits[0].costs.sms, MODEL_TAIL, MODEL_THREADS,
      MODEL_PARAMETER * MODEL_PARAMETER, MODEL_OFF_MOST, MODEL_OFF_MOST, MODEL_OFF * MODEL_OFF);
  str_addf(
      p->out,
      "/* HUGE_VAL: it does nothing there, or nothing is known of it. */\n"
      "static double foretell(const %s_portfolio *k, const %s_problem *p, int variant, int base,\n"
      "                       const float apart[SIZES], double *strange) {\n"
      "  const struct model *m = &models[base];\n"
      "  const struct work w = work_of(k, p, &configs[variant]);\n"
      "  const double one = ceil(w.blocks / %.9g);\n"
      "  const double rounds = ceil(w.blocks / (m->at_once * %.9g));\n"
      "  double x[COSTS], sum = 0, sec;\n  int i;\n  *strange = 0;\n"
      "  if (!(w.blocks > 0)) {\n    return HUGE_VAL;\n  }\n"
      "  set_terms(p, &w, one, rounds, x);\n"
      "  for (i = 0; i < COSTS; i++) {\n    sum += m->cost[i] * x[i];\n  }\n"
      "  if (!(sum > 0)) {\n    return HUGE_VAL;\n  }\n"
      "  sec = sum * exp(foretell_off(m, variant, &w, rounds, apart, strange));\n"
      "  return w.launches > 1 ? fmax(sec, %.9g * w.launches + sec / 1000) : sec;\n}\n\n",
      p->name, p->name, p->c->portfolio->model.fits[0].costs.sms,
      p->c->portfolio->model.fits[0].costs.sms, MODEL_LAUNCH);
}

static void add_fastest(const page *p) {
  str_addf(
      p->out,
      "/* What a time unlike all that were taken is to be expected as. */\n"
      "static double doubted(const %s_portfolio *k, const %s_problem *p, int variant, int base,\n"
      "                      const float apart[SIZES]) {\n"
      "  double strange;\n"
      "  const double sec = foretell(k, p, variant, base, apart, &strange);\n"
      "  return sec * exp(%.9g * strange);\n}\n\n"
      "/* By the models, of all variants: where a configuration's own form for a problem is not\n"
      " * here, another configuration may have a faster one. -1: none fits. */\n"
      "static int fastest(const %s_portfolio *k, const %s_problem *p) {\n"
      "  float apart[SIZES];\n  double least = HUGE_VAL;\n  int base, i, best = -1;\n"
      "  measure(p, apart);\n"
      "  for (base = 0; base < MODELS; base++) {\n"
      "    for (i = first[base]; i < first[base + 1]; i++) {\n"
      "      const double sec =\n"
      "          fits(k, p, &configs[i]) ? doubted(k, p, i, base, apart) : HUGE_VAL;\n"
      "      if (sec < least) {\n        least = sec;\n        best = i;\n      }\n"
      "    }\n  }\n"
      "  return best;\n}\n\n",
      p->name, p->name, MODEL_DOUBT, p->name, p->name);
}

int export_models(page *p) {
  TRY(add_work(p));
  add_octaves(p);
  add_models(p);
  add_rows(p);
  add_differences(p);
  add_distances(p);
  add_terms(p);
  add_seconds(p);
  add_fastest(p);
  return 0;
}
