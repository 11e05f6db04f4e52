/* export_portfolio.c -- a portfolio as a C header and source.
 *
 * The source is made of three things: files of ours as they are (the chooser, exported_*.h),
 * tables, and the template's expressions over a struct of the problem's fields, one of the
 * configuration's parameters, and the limits of the device. So a requirement is checked for every
 * problem that a program brings. */
#include <string.h>

#include "export_page.h"
#include "portfolio_tables.h"

/* ---- the header ----------------------------------------------------------------------------- */

static bool is_first_text(const page *p, const char *text, size_t field, size_t param) {
  for (size_t i = 0; i < field; i++) {
    for (size_t j = 0; j < p->t->fields[i].n_names; j++) {
      if (!strcmp(p->t->fields[i].names[j], text)) {
        return false;
      }
    }
  }
  for (size_t i = 0; i < param; i++) {
    for (size_t j = 0; p->t->params[i].values[0].s && j < p->t->params[i].n; j++) {
      if (!strcmp(p->t->params[i].values[j].s, text)) {
        return false;
      }
    }
  }
  return true;
}

/* Every text that fields and parameters know, each once. */
static void add_texts(const page *p) {
  str_add(p->out, "enum { /* values of fields and parameters that are names */\n");
  const char *between = "  ";
  for (size_t i = 0; i < p->t->n_fields; i++) {
    for (size_t j = 0; j < p->t->fields[i].n_names; j++) {
      const char *text = p->t->fields[i].names[j];
      if (is_first_text(p, text, i, 0)) {
        str_add(p->out, between);
        export_choice(p, text, strlen(text), p->out);
        between = ",\n  ";
      }
    }
  }
  for (size_t i = 0; i < p->t->n_params; i++) {
    for (size_t j = 0; p->t->params[i].values[0].s && j < p->t->params[i].n; j++) {
      const char *text = p->t->params[i].values[j].s;
      if (is_first_text(p, text, p->t->n_fields, i)) {
        str_add(p->out, between);
        export_choice(p, text, strlen(text), p->out);
        between = ",\n  ";
      }
    }
  }
  str_addf(p->out, "%s%s_TEXTS\n};\n\n", between, p->upper);
}

static void add_problem(const page *p) {
  str_addf(p->out, "typedef struct %s_problem {\n", p->name);
  for (size_t i = 0; i < p->t->n_fields; i++) {
    const gen_field *f = &p->t->fields[i];
    str_add(p->out, "  int64_t ");
    export_id(p->out, f->name);
    str_add(p->out, "; /*");
    str_addf(p->out, "%s%s", f->brief ? " " : "", f->brief ? f->brief : "");
    for (size_t j = 0; j < f->n_names; j++) {
      str_add(p->out, j ? ", " : "; ");
      export_choice(p, f->names[j], strlen(f->names[j]), p->out);
    }
    if (!f->names) {
      str_addf(p->out, "; %lld to %lld", (long long)f->min, (long long)f->max);
    }
    str_add(p->out, " */\n");
  }
  str_addf(p->out, "} %s_problem;\n\n", p->name);
}

static void add_state(const page *p) {
  str_addf(p->out,
           "enum { %s_CONFIGS = %zu };\n"
           "/* The texts of the configurations, and which of the portfolio each is: as it is, or\n"
           " * changed where that does not fit. */\n"
           "extern const char *const %s_configs[%s_CONFIGS];\n\n"
           "typedef struct %s_portfolio { /* on a device; for %s_open */\n",
           p->upper, p->c->n_variants, p->name, p->upper, p->name, p->name);
  static const char *const limits[] = {
#define LIMIT(name, brief) #name,
      GEN_DEVICE_LIST(LIMIT)
#undef LIMIT
  };
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    str_addf(p->out, "  int64_t %s;\n", limits[i]);
  }
  str_addf(p->out,
           "  CUmodule modules[%zu];\n  CUfunction functions[%zu][%zu];\n"
           "  int overlaps; /* its kernels may start before those ahead of them have ended */\n"
           "} %s_portfolio;\n\n",
           p->c->n_sources, p->c->n_sources, export_kernel_number(p, p->texts.n), p->name);
}

static int add_functions(page *p) {
  const char *n = p->name;
  str_addf(
      p->out,
      "/* %s_open -- load all kernels into the current context; threads may share what it "
      "fills in */\n"
      "CUresult %s_open(%s_portfolio *k, CUdevice device);\n"
      "void %s_close(%s_portfolio *k);\n"
      "/* %s_choose -- the configuration for a problem; -1: its fields are out of range */\n"
      "int %s_choose(const %s_portfolio *k, const %s_problem *p);\n"
      "/* %s_expected_loss -- by what share the choice is expected to be slower than the best\n"
      " * for this very size; -1: not known, only the template's default fits */\n"
      "double %s_expected_loss(const %s_portfolio *k, const %s_problem *p);\n"
      "/* %s_workspace_nbytes -- device memory that %s_run needs for a problem: zeroed once, "
      "used for\n"
      " * this problem only, by no two launches at the same time */\n"
      "size_t %s_workspace_nbytes(const %s_portfolio *k, const %s_problem *p);\n"
      "/* %s_run -- asynchronous, on the stream. CUDA_ERROR_INVALID_VALUE: fields out of range "
      "*/\n",
      n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n);
  TRY(export_run_prototype(p));
  str_add(p->out, ";\n\n");
  return 0;
}

static void add_title(const page *p) {
  str_addf(
      p->out,
      "/* %s -- %s\n * A portfolio of autotune for the CUDA driver API; it needs no library.\n",
      p->name, p->t->brief ? p->t->brief : p->t->name);
  export_provenance(p->out, p->c->x, " *   ");
  str_add(p->out, " */\n");
}

static int page_open(page *p, const gen_template *t, const exported_portfolio *c, str *out,
                     err *e) {
  *p = (page){.t = t, .c = c, .out = out, .e = e};
  TRY(export_name(t, c->x, &p->name, p->upper, e));
  TRY(gen_texts_make(t, &p->memory, &p->texts, e));
  return 0;
}

static int page_close(page *p, int rc) {
  str_clear(&p->name_text);
  arena_clear(&p->memory);
  return rc ? rc : p->out->failed ? err_nomem(p->e) : 0;
}

static int write_header(page *p) {
  add_title(p);
  str_addf(p->out,
           "#ifndef %s_PORTFOLIO_H\n#define %s_PORTFOLIO_H\n\n#include <cuda.h>\n"
           "#include <stddef.h>\n#include <stdint.h>\n\n"
           "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
           p->upper, p->upper);
  add_texts(p);
  add_problem(p);
  add_state(p);
  TRY(add_functions(p));
  str_add(p->out, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
  return 0;
}

int export_portfolio_header(const gen_template *t, const exported_portfolio *c, str *out, err *e) {
  page p;
  const int rc = page_open(&p, t, c, out, e);
  return page_close(&p, rc ? rc : write_header(&p));
}

/* ---- the source: variants ------------------------------------------------------------------- */

static void add_names(const page *p) {
  const exported_portfolio *c = p->c;
  str_addf(p->out,
           "#define NAME(function) %s_##function\n"
           "typedef %s_portfolio portfolio_state;\ntypedef %s_problem problem;\n"
           "enum { N_FIELDS = %zu, N_CONFIGS = %s_CONFIGS, N_BASES = %zu, N_SOURCES = %zu,\n"
           "       N_ARCHS = %zu, N_KERNELS = %zu, N_WORKSPACES = %zu };\n\n",
           p->name, p->name, p->name, p->t->n_fields, p->upper, c->portfolio->n_configs,
           c->n_sources, c->n_archs, export_kernel_number(p, p->texts.n), p->texts.n_workspaces);
  str_addf(p->out, "static const char *const kernels[N_KERNELS] = {");
  size_t next = 0;
  for (size_t i = 0; i < p->texts.n; i++) {
    if (p->texts.launches[i].kernel && export_kernel_number(p, i) == next) {
      str_addf(p->out, "%s\"%s\"", next++ ? ", " : "", p->texts.launches[i].kernel);
    }
  }
  str_add(p->out, "};\n\n");
}

/* A kernel serves every value of a class; what its text reads of a promise is compared (has_). */
static bool is_choice(const gen_field *f) {
  return f->names && !f->is_class;
}

static void add_config_struct(const page *p) {
  str_add(p->out, "#define ANY INT64_MIN\nstruct config {\n  int source; /* of images */\n");
  for (size_t i = 0; i < p->t->n_fields; i++) {
    if (is_choice(&p->t->fields[i])) { /* the text of the kernel may depend on it */
      str_add(p->out, "  int64_t for_");
      export_id(p->out, p->t->fields[i].name);
      str_add(p->out, ";\n");
    }
  }
  for (size_t i = 0; i < p->t->n_params; i++) {
    str_add(p->out, "  int64_t ");
    export_id(p->out, p->t->params[i].name);
    str_add(p->out, ";\n");
  }
  for (size_t i = 0; i < p->t->n_derived; i++) {
    if (p->c->derived >> i & 1) { /* likewise */
      str_addf(p->out, "  int64_t has_%s;\n", p->t->derived[i].name);
    }
  }
  str_add(p->out, "};\n\n");
}

static void add_config(const page *p, const exported_variant *v) {
  str_addf(p->out, "  {%zu", v->source);
  for (size_t i = 0; i < p->t->n_fields; i++) {
    const gen_field *f = &p->t->fields[i];
    if (is_choice(f)) {
      str_add(p->out, ", ");
      export_choice(p, f->names[v->choices[i]], strlen(f->names[v->choices[i]]), p->out);
    }
  }
  for (size_t i = 0; i < p->t->n_params; i++) {
    const gen_value *x = &p->t->params[i].values[v->config.index[i]];
    str_add(p->out, ", ");
    if (x->s) {
      export_choice(p, x->s, strlen(x->s), p->out);
    } else {
      str_addf(p->out, "%lld", (long long)x->i);
    }
  }
  for (size_t i = 0; i < p->t->n_derived; i++) {
    if (p->c->derived >> i & 1) {
      v->derived[i] == INT64_MIN ? str_add(p->out, ", ANY")
                                 : str_addf(p->out, ", %lld", (long long)v->derived[i]);
    }
  }
  str_add(p->out, "},\n");
}

/* Where the variants of each configuration begin. */
static size_t first_of(const exported_portfolio *c, size_t base) {
  size_t i = 0;
  while (i < c->n_variants && c->variants[i].base < base) {
    i++;
  }
  return i;
}

/* The groups that the tree's orders name are the variants of a configuration, or single ones. Where
 * none of a leaf's groups fits, the default does; or else any variant. */
static void add_groups(const page *p) {
  const exported_portfolio *c = p->c;
  const size_t n = c->portfolio->n_configs;
  str_add(p->out, "static const int first[N_BASES + 2] = {");
  for (size_t base = 0; base <= n + 1; base++) {
    str_addf(p->out, "%s%zu", base ? ", " : "", first_of(c, base));
  }
  str_add(p->out, "};\n");
  if (c->by_variants) {
    str_add(p->out, "static const int groups[N_CONFIGS + 1] = {");
    for (size_t i = 0; i <= c->n_variants; i++) {
      str_addf(p->out, "%s%zu", i ? ", " : "", i);
    }
    str_add(p->out, "};\n");
  } else {
    str_add(p->out, "#define groups first\n");
  }
  str_addf(p->out, "enum { REST = %zu }; /* tried where no group of the leaf fits */\n\n",
           c->by_variants ? 0 : first_of(c, n));
}

static void add_configs(const page *p) {
  const exported_portfolio *c = p->c;
  add_config_struct(p);
  str_add(p->out, "static const struct config configs[N_CONFIGS] = {\n");
  for (size_t i = 0; i < c->n_variants; i++) {
    add_config(p, &c->variants[i]);
  }
  str_addf(p->out, "};\nconst char *const %s_configs[N_CONFIGS] = {\n", p->name);
  for (size_t i = 0; i < c->n_variants; i++) {
    str_add(p->out, "  \"");
    gen_config_text(p->t, &c->variants[i].config, p->out);
    str_add(p->out, "\",\n");
  }
  str_add(p->out, "};\n");
  add_groups(p);
}

/* ---- the source: what fits ------------------------------------------------------------------ */

static int add_derived(page *p) {
  size_t n = 0;
  str_add(p->out, "struct derived {\n");
  for (size_t i = 0; i < p->t->n_derived; i++) {
    if (!gen_derived_is_condition(p->t, i)) {
      str_add(p->out, "  int64_t ");
      export_id(p->out, p->t->derived[i].name);
      str_add(p->out, ";\n");
      n++;
    }
  }
  str_addf(p->out,
           "%s};\n\nstatic struct derived derive(const portfolio_state *k, const problem *p,\n"
           "                             const struct config *c) {\n  struct derived v;\n"
           "  (void)k;\n  (void)p;\n  (void)c;\n%s",
           n ? "" : "  int none;\n", n ? "" : "  v.none = 0;\n");
  for (size_t i = 0; i < p->t->n_derived; i++) {
    if (!gen_derived_is_condition(p->t, i)) {
      str_add(p->out, "  v.");
      export_id(p->out, p->t->derived[i].name);
      TRY(export_put(p, " = ", p->t->derived[i].expression, "0", ";\n"));
    }
  }
  str_add(p->out, "  return v;\n}\n\n");
  return 0;
}

static void add_field(const page *p, const char *before, size_t i, const char *after) {
  str_add(p->out, before);
  export_id(p->out, p->t->fields[i].name);
  str_add(p->out, after);
}

static void add_valid(const page *p) {
  str_add(p->out, "static int is_valid(const problem *p) {\n  return 1");
  for (size_t i = 0; i < p->t->n_fields; i++) {
    const gen_field *f = &p->t->fields[i];
    if (f->names) {
      add_field(p, "\n      && p->", i, " >= 0 && p->");
      add_field(p, "", i, " < ");
      str_addf(p->out, "%s_TEXTS", p->upper);
    } else {
      add_field(p, "\n      && p->", i, "");
      str_addf(p->out, " >= INT64_C(%lld) && p->", (long long)f->min);
      add_field(p, "", i, "");
      str_addf(p->out, " <= INT64_C(%lld)", (long long)f->max);
    }
  }
  str_add(p->out, ";\n}\n\n");
}

/* Of a name, its place among the field's names. */
static void add_read_fields(const page *p) {
  str_add(p->out, "static void read_fields(const problem *p, int64_t *values) {\n");
  for (size_t i = 0; i < p->t->n_fields; i++) {
    const gen_field *f = &p->t->fields[i];
    str_addf(p->out, "  values[%zu] = ", i);
    if (!f->names) {
      add_field(p, "p->", i, ";\n");
      continue;
    }
    for (size_t k = 1; k < f->n_names; k++) {
      add_field(p, "p->", i, " == ");
      export_choice(p, f->names[k], strlen(f->names[k]), p->out);
      str_addf(p->out, " ? %zu : ", k);
    }
    str_add(p->out, "0;\n");
  }
  str_add(p->out, "}\n\n");
}

static void add_comment(str *s, const char *text) {
  str_add(s, "/* ");
  for (; *text; text++) {
    str_add(s, text[0] == '*' && text[1] == '/' ? "* " : (char[]){*text, 0});
  }
  str_add(s, " */");
}

static int add_fits(page *p) {
  str_add(p->out, "/* Is the kernel for these names? Most are not. */\n"
                  "static int is_for(const problem *p, const struct config *c) {\n"
                  "  (void)p;\n  (void)c;\n  return 1");
  for (size_t i = 0; i < p->t->n_fields; i++) {
    if (is_choice(&p->t->fields[i])) {
      add_field(p, "\n      && p->", i, " == c->for_");
      add_field(p, "", i, "");
    }
  }
  str_add(p->out, ";\n}\n\nstatic int fits(const portfolio_state *k, const problem *p, "
                  "const struct config *c) {\n"
                  "  struct derived v;\n  if (!is_for(p, c)) {\n    return 0;\n  }\n"
                  "  v = derive(k, p, c);\n  (void)v;\n  return 1");
  for (size_t i = 0; i < p->t->n_derived; i++) {
    if (p->c->derived >> i & 1) {
      const char *name = p->t->derived[i].name;
      str_addf(p->out, "\n      && (c->has_%s == ANY || (", name);
      TRY(export_put(p, "", name, "", ") == c->has_"));
      str_addf(p->out, "%s)", name);
    }
  }
  for (size_t i = 0; i < p->t->n_requirements; i++) {
    str_add(p->out, "\n      ");
    add_comment(p->out, p->t->requirements[i].name);
    TRY(export_put(p, "\n      && (", p->t->requirements[i].expression, "1", ")"));
  }
  str_add(p->out, ";\n}\n\n");
  return 0;
}

/* ---- the source: all of it ------------------------------------------------------------------ */

static bool has_tensors(const page *p) {
  for (size_t i = 0; i < p->texts.n; i++) {
    for (size_t j = 0; j < p->texts.launches[i].n_operands; j++) {
      if (p->texts.launches[i].operands[j].from == GEN_FROM_TENSOR) {
        return true;
      }
    }
  }
  return false;
}

static void add_files(const page *p) {
  str_addf(p->out, "#define CHOOSER_EXPORTED\n#define CHOOSER_FN static inline\n%s\n",
           p->c->by_models ? "#define BY_MODELS\n" : "");
  export_text(chooser_texts, "chooser.h", p->out);
  export_text(chooser_texts, "chooser.c", p->out);
  if (p->c->by_models) {
    export_text(chooser_texts, "chooser_model.h", p->out);
    export_text(chooser_texts, "chooser_model.c", p->out);
  }
  export_text(export_texts, "expression_math.h", p->out);
  export_text(export_texts, "exported_images.h", p->out);
  export_text(export_texts, "exported_launch.h", p->out);
  if (has_tensors(p)) {
    export_text(export_texts, "exported_tensor.h", p->out);
  }
}

static int write_source(page *p, const char *header) {
  add_title(p);
  str_addf(p->out, "#include \"%s\"\n\n#include <string.h>\n\n", header);
  add_files(p);
  add_names(p);
  add_configs(p);
  portfolio_tables_tree(p->c->nodes, p->c->n_nodes, p->out);
  TRY(add_derived(p));
  add_valid(p);
  add_read_fields(p);
  TRY(add_fits(p));
  TRY(p->c->by_models ? export_models(p) : 0);
  TRY(export_workspaces(p));
  export_images(p->c->images, p->c->n_sources, p->c->n_archs, p->out);
  export_text(export_texts, "exported_portfolio.h", p->out);
  return export_run(p);
}

int export_portfolio_source(const gen_template *t, const exported_portfolio *c, const char *header,
                            str *out, err *e) {
  page p;
  const int rc = page_open(&p, t, c, out, e);
  return page_close(&p, rc ? rc : write_source(&p, header));
}
