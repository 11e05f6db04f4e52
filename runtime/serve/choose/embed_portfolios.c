/* embed_portfolios.c -- the program that writes the shipped portfolios as C.
 *
 *   embed_portfolios FILE ... > SOURCE
 *
 * Runs at build time over the portfolios of db/presets, and reads them as every portfolio is read.
 * The tables of each are local to a function, so that their names repeat. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "db_text.h"
#include "embedded_portfolio.h"
#include "file.h"
#include "portfolio_tables.h"

enum { FILE_MOST = 256 << 20, VALUES_MOST = 256 /* model_fit's index has 8 bits */ };

/* ---- names ---------------------------------------------------------------------------------- */

static void add_field_names(const gen_field *f, size_t i, str *out) {
  str_addf(out, "static const char *const field_%zu[] = {", i);
  for (size_t k = 0; k < f->n_names; k++) {
    str_add(out, k ? ", " : "");
    str_add_json(out, f->names[k]);
  }
  str_add(out, "};\n");
}

static void add_fields(const gen_template *t, str *out) {
  for (size_t i = 0; i < t->n_fields; i++) {
    if (t->fields[i].names) {
      add_field_names(&t->fields[i], i, out);
    }
  }
  str_add(out, "static const embedded_names fields[] = {\n");
  for (size_t i = 0; i < t->n_fields; i++) {
    const gen_field *f = &t->fields[i];
    str_addf(out, f->names ? "  {\"%s\", field_%zu, %zu},\n" : "  {\"%s\", 0, 0},\n", f->name, i,
             f->n_names);
  }
  str_add(out, "};\n");
}

static int add_param_values(const gen_param *p, size_t i, str *out, err *e) {
  if (p->n > VALUES_MOST) {
    return err_set(e, ERR_LIMIT, "%s has more than %d values", p->name, VALUES_MOST);
  }
  str_addf(out, "static const char *const param_%zu[] = {", i);
  for (size_t k = 0; k < p->n; k++) {
    str_add(out, k ? ", \"" : "\"");
    gen_add_value(&p->values[k], out);
    str_add(out, "\"");
  }
  str_add(out, "};\n");
  return 0;
}

static int add_params(const gen_template *t, str *out, err *e) {
  for (size_t i = 0; i < t->n_params; i++) {
    TRY(add_param_values(&t->params[i], i, out, e));
  }
  str_add(out, "static const embedded_names params[] = {\n");
  for (size_t i = 0; i < t->n_params; i++) {
    str_addf(out, "  {\"%s\", param_%zu, %zu},\n", t->params[i].name, i, t->params[i].n);
  }
  str_add(out, "};\n");
  return 0;
}

/* ---- configurations ------------------------------------------------------------------------- */

static void add_config(const gen_template *t, const gen_config *c, str *out) {
  str_add(out, "{{");
  for (size_t i = 0; i < t->n_params; i++) {
    str_addf(out, "%s%u", i ? "," : "", c->index[i]);
  }
  str_add(out, "}}");
}

static void add_configs(const gen_template *t, const portfolio *c, str *out) {
  str_add(out, "static const gen_config configs[] = {\n");
  for (size_t i = 0; i < c->n_configs; i++) {
    str_add(out, "  ");
    add_config(t, &c->configs[i], out);
    str_add(out, ",\n");
  }
  str_add(out, "};\n");
}

/* ---- models --------------------------------------------------------------------------------- */

static void add_bytes(const uint8_t *x, size_t n, str *out) {
  for (size_t i = 0; i < n; i++) {
    str_addf(out, i % 32 ? "%u," : "\n  %u,", x[i]);
  }
}

static void add_variants(const portfolio_model *m, str *out) {
  str_add(out, "static const uint8_t variant_params[] = {");
  for (size_t i = 0; i < m->n_configs; i++) {
    add_bytes(m->fits[i].param, m->fits[i].n_params, out);
  }
  str_add(out, "0};\nstatic const uint8_t variant_index[] = {");
  for (size_t i = 0; i < m->n_configs; i++) {
    add_bytes(m->fits[i].index, m->fits[i].n_params * m->fits[i].chooser.rows.n_variants, out);
  }
  str_add(out, "0};\n");
}

static void add_fits(const gen_template *t, const portfolio_model *m, str *out) {
  size_t param = 0, index = 0;
  str_add(out, "static const model_fit fits[] = {\n");
  for (size_t i = 0; i < m->n_configs; i++) {
    const model_fit *fit = &m->fits[i];
    str_add(out, "{");
    portfolio_tables_fit(m, i, out);
    str_add(out, "  ");
    add_config(t, &fit->one, out);
    str_addf(out, ", %zu, variant_params + %zu, variant_index + %zu, 0, 0},\n", fit->n_params,
             param, index);
    param += fit->n_params;
    index += fit->n_params * fit->chooser.rows.n_variants;
  }
  str_add(out, "};\n");
}

static void add_model(const gen_template *t, const portfolio_model *m, str *out) {
  portfolio_tables_sizes(&m->sizes, out);
  portfolio_tables_rows(m, out);
  add_variants(m, out);
  add_fits(t, m, out);
}

/* ---- a portfolio ---------------------------------------------------------------------------- */

static void add_range(const gen_template *t, const portfolio *c, str *out) {
  static const char *const names[] = {"least", "most", "choices"};
  for (size_t k = 0; k < 3; k++) {
    str_addf(out, "  .%s = {", names[k]);
    for (size_t i = 0; i < t->n_fields; i++) {
      k == 2 ? str_addf(out, "0x%llx,", (unsigned long long)c->choices[i])
             : str_addf(out, "%lld,", (long long)(k ? c->most : c->least)[i]);
    }
    str_add(out, "},\n");
  }
}

static void add_struct(const gen_template *t, const db_line *l, const portfolio *c, str *out) {
  str_add(out, "static const embedded_portfolio all = {\n .family = ");
  str_add_json(out, t->name);
  str_add(out, ", .device_key = ");
  str_add_json(out, l->device.key);
  str_addf(out,
           ", .version = %lld, .cc = %d,\n .fields = fields, .params = params,"
           " .n_fields = %zu, .n_params = %zu,\n .portfolio = {\n"
           "  .asked = %.17g, .expected = %.17g, .worst = %.17g, .n_sizes = %zu,\n",
           (long long)t->version, l->device.cc, t->n_fields, t->n_params, c->asked, c->expected,
           c->worst, c->n_sizes);
  add_range(t, c, out);
  str_addf(out,
           "  .configs = configs, .n_configs = %zu, .nodes = nodes, .n_nodes = %zu,\n"
           "  .model = {.n_configs = %zu, .fits = fits}},\n .sizes = &measured_sizes};\n"
           "return &all;\n}\n\n",
           c->n_configs, c->n_nodes, c->model.n_configs);
}

static int add_portfolio(const gen_template *t, const db_line *l, size_t number, str *out, err *e) {
  auto_arena a = {0};
  portfolio c;
  TRY(portfolio_read(t, l->config, &a, &c, e));
  str_addf(out, "static const embedded_portfolio *portfolio_%zu(void) {\n", number);
  add_fields(t, out);
  TRY(add_params(t, out, e));
  add_configs(t, &c, out);
  portfolio_tables_tree(c.nodes, c.n_nodes, out);
  add_model(t, &c.model, out);
  add_struct(t, l, &c, out);
  return 0;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* A portfolio of another version of its template is never served. */
static int add_line(const db_line *l, size_t *n, str *out, err *e) {
  auto_template *t = NULL;
  TRY(gen_open(NULL, l->template.family, &t, e));
  return t->version == l->template.version ? add_portfolio(t, l, (*n)++, out, e) : 0;
}

static int add_file(const char *path, size_t *n, str *out, err *e) {
  auto_str text = {0};
  TRY(file_read(path, FILE_MOST, &text, e));
  for (const char *at = str_text(&text), *end; *at; at = *end ? end + 1 : end) {
    auto_arena a = {0};
    db_line l;
    bool none;
    end = strchrnul(at, '\n');
    TRY(db_text_read(at, (size_t)(end - at), &a, &l, &none, e));
    TRY(none || l.kind != DB_KIND_PORTFOLIO ? 0 : add_line(&l, n, out, e));
  }
  return 0;
}

static void add_list(size_t n, str *out) {
  str_add(out, "serve_portfolio_fn *const serve_portfolios[] = {");
  for (size_t i = 0; i < n; i++) {
    str_addf(out, "portfolio_%zu, ", i);
  }
  str_add(out, "0};\n");
}

int main(int argc, char **argv) {
  err e = {0};
  auto_str out = {0};
  size_t n = 0;
  str_add(&out,
          "/* Made by embed_portfolios from db/presets. */\n#include \"serve_presets.h\"\n\n");
  for (int i = 1; i < argc; i++) {
    if (add_file(argv[i], &n, &out, &e)) {
      fprintf(stderr, "embed_portfolios: %s: %s\n", argv[i], e.message);
      return 1;
    }
  }
  add_list(n, &out);
  return !out.failed && fwrite(out.p, 1, out.n, stdout) == out.n && !fflush(stdout) ? 0 : 1;
}
