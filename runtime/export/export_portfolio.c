/* export_portfolio.c -- a portfolio as a C header and source.
 *
 * What libtuned asks the template's Lua at run time is written out here: features and thresholds of
 * the tree, requirements, derived values, grids, blocks, shared memory, arguments. They are the
 * same expressions, over a struct of the problem's fields, one of the configuration's parameters,
 * and the limits of the device; so a requirement is checked for every problem that a program
 * brings. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "c_name.h"
#include "export_page.h"
#include "gen_lex.h"

/* ---- names ---------------------------------------------------------------------------------- */

void export_id(str *s, const char *name) {
  char id[C_NAME];
  c_name(name, id);
  str_add(s, id);
}

/* A text, 'last_block', is an enumerator; what C has no letters for becomes _. */
void export_text(const page *p, const char *text, size_t n, str *s) {
  str_addf(s, "%s_TEXT_", p->upper);
  for (size_t i = 0; i < n; i++) {
    str_addf(s, "%c", isalnum((unsigned char)text[i]) ? text[i] : '_');
  }
}

static bool is_field(const page *p, const char *name) {
  for (size_t i = 0; i < p->t->n_fields; i++) {
    if (!strcmp(p->t->fields[i].name, name)) {
      return true;
    }
  }
  return false;
}

static bool is_param(const page *p, const char *name) {
  for (size_t i = 0; i < p->t->n_params; i++) {
    if (!strcmp(p->t->params[i].name, name)) {
      return true;
    }
  }
  return false;
}

/* src: gen_expression_c asks what stands for a name */
static const char *name_in_c(void *ud, const char *name) {
  page *p = ud;
  str_reset(&p->name_text);
  if (name[0] == '\'') {
    export_text(p, name + 1, strlen(name) - 2, &p->name_text);
  } else if (!strncmp(name, "dev_", 4)) {
    str_addf(&p->name_text, "k->%s", name);
  } else {
    str_add(&p->name_text, is_field(p, name) ? "p->" : is_param(p, name) ? "c->" : "v.");
    export_id(&p->name_text, name);
  }
  return str_text(&p->name_text);
}

/* ---- expressions ---------------------------------------------------------------------------- */

static bool find_condition(const page *p, const gen_token *token, size_t *i) {
  for (*i = 0; *i < p->t->n_derived; (*i)++) {
    if (p->condition[*i] && gen_token_is(token, p->t->derived[*i].name)) {
      return true;
    }
  }
  return false;
}

/* With conditions that have a name written out: C's numbers and conditions are told apart. Derived
 * values read only those before them, so this ends. */
static void expand(const page *p, const char *text, str *out) {
  gen_lexer lexer = gen_lex(text, strlen(text), 1);
  for (gen_token t = gen_lex_next(&lexer); t.kind != GEN_TOKEN_END; t = gen_lex_next(&lexer)) {
    size_t i;
    if (t.kind == GEN_TOKEN_NAME && find_condition(p, &t, &i)) {
      str_add(out, "(");
      expand(p, p->t->derived[i].expression, out);
      str_add(out, ")");
    } else {
      str_add_n(out, t.p, t.n);
    }
    str_add(out, " ");
  }
}

int export_expression(page *p, const char *text) {
  str full = {0};
  err why = {0};
  expand(p, text, &full);
  const int rc = gen_expression_c(str_text(&full), name_in_c, p, p->out, &why);
  str_clear(&full);
  return rc ? err_at(p->e, rc, p->t->path, "export: %s", why.message) : 0;
}

static bool is_condition(page *p, const char *text) {
  str full = {0}, unused = {0};
  str_add(&full, "(");
  expand(p, text, &full);
  str_add(&full, ") and true");
  const bool yes = !gen_expression_c(str_text(&full), name_in_c, p, &unused, NULL);
  str_clear(&full);
  str_clear(&unused);
  return yes;
}

static void find_conditions(page *p) {
  for (size_t i = 0; i < p->t->n_derived; i++) {
    p->condition[i] = is_condition(p, p->t->derived[i].expression);
  }
}

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
        export_text(p, text, strlen(text), p->out);
        between = ",\n  ";
      }
    }
  }
  for (size_t i = 0; i < p->t->n_params; i++) {
    for (size_t j = 0; p->t->params[i].values[0].s && j < p->t->params[i].n; j++) {
      const char *text = p->t->params[i].values[j].s;
      if (is_first_text(p, text, p->t->n_fields, i)) {
        str_add(p->out, between);
        export_text(p, text, strlen(text), p->out);
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
      export_text(p, f->names[j], strlen(f->names[j]), p->out);
    }
    if (!f->names) {
      str_addf(p->out, "; %lld to %lld", (long long)f->min, (long long)f->max);
    }
    str_add(p->out, " */\n");
  }
  str_addf(p->out, "} %s_problem;\n\n", p->name);
}

/* Kernels by name, each once. */
static size_t kernel_number(const page *p, size_t stage) {
  size_t n = 0;
  for (size_t i = 0; i < stage; i++) {
    const gen_launch_text *a = &p->texts.launches[i];
    bool first = a->kernel;
    for (size_t j = 0; first && j < i; j++) {
      const char *other = p->texts.launches[j].kernel;
      first = !other || strcmp(other, a->kernel) != 0;
    }
    if (a->kernel && stage < p->texts.n && p->texts.launches[stage].kernel &&
        !strcmp(a->kernel, p->texts.launches[stage].kernel)) {
      return n;
    }
    n += first;
  }
  return n;
}

static size_t n_kernels(const page *p) {
  return kernel_number(p, p->texts.n);
}

static void add_state(const page *p) {
  const gen_template *t = p->t;
  (void)t;
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
           p->c->n_sources, p->c->n_sources, n_kernels(p), p->name);
}

static int scalar_type(const page *p, const gen_arg *a, dtype *type) {
  return dtype_parse(a->type, type)
             ? 0
             : err_set(p->e, ERR_USAGE,
                       "export: the type of %s depends on %s, so a portfolio of %s can't be "
                       "exported; export its problems one by one",
                       a->name, a->type, p->t->name);
}

static int add_parameters(page *p) {
  for (size_t i = 0; i < p->t->n_args; i++) {
    const gen_arg *a = &p->t->args[i];
    dtype type = DTYPE_f32;
    if (!export_is_buffer(a)) {
      TRY(scalar_type(p, a, &type));
    }
    if (!export_is_fixed(a)) {
      str_addf(p->out, ",\n    %s ", export_is_buffer(a) ? "CUdeviceptr" : export_c_type(type));
      export_id(p->out, a->name);
    }
  }
  return 0;
}

static int add_run_prototype(page *p) {
  str_addf(p->out,
           "CUresult %s_run(const %s_portfolio *k, CUstream stream, const %s_problem *p,\n"
           "    CUdeviceptr workspace",
           p->name, p->name, p->name);
  TRY(add_parameters(p));
  str_add(p->out, ")");
  return 0;
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
  TRY(add_run_prototype(p));
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
  find_conditions(p);
  return 0;
}

static int page_close(page *p, int rc) {
  str_clear(&p->name_text);
  arena_clear(&p->memory);
  return rc ? rc : p->out->failed ? err_set(p->e, ERR_NOMEM, "out of host memory") : 0;
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

/* ---- the source: numbers -------------------------------------------------------------------- */

/* serve_math.h, for files that stand alone */
static const char functions[] =
    "static inline int64_t tuned_min(int64_t a, int64_t b) {\n  return a < b ? a : b;\n}\n"
    "static inline int64_t tuned_max(int64_t a, int64_t b) {\n  return a > b ? a : b;\n}\n"
    "static inline int64_t tuned_abs(int64_t a) {\n  return a < 0 ? -a : a;\n}\n"
    "static inline int64_t tuned_ceildiv(int64_t a, int64_t b) {\n"
    "  return a / b + (a % b > 0);\n}\n"
    "static inline int64_t tuned_roundup(int64_t a, int64_t b) {\n"
    "  return tuned_ceildiv(a, b) * b;\n}\n"
    "static inline int tuned_ispow2(int64_t a) {\n  return a > 0 && (a & (a - 1)) == 0;\n}\n"
    "static inline int64_t tuned_log2(int64_t a) {\n"
    "  int64_t n = 0;\n  while (a > 1) {\n    a /= 2;\n    n++;\n  }\n  return n;\n}\n"
    "static inline int64_t tuned_pow2div(int64_t a, int64_t most) {\n"
    "  int64_t p = 1;\n  while (p <= most / 2 && !(a & p)) {\n    p *= 2;\n  }\n  return p;\n}\n\n";

static void add_config_struct(const page *p) {
  str_add(p->out, "#define ANY INT64_MIN\nstruct config {\n  int source; /* of images */\n");
  for (size_t i = 0; i < p->t->n_fields; i++) {
    if (p->t->fields[i].names) { /* the text of the kernel may depend on it */
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
    if (f->names) {
      str_add(p->out, ", ");
      export_text(p, f->names[v->choices[i]], strlen(f->names[v->choices[i]]), p->out);
    }
  }
  for (size_t i = 0; i < p->t->n_params; i++) {
    const gen_value *x = &p->t->params[i].values[v->config.index[i]];
    str_add(p->out, ", ");
    if (x->s) {
      export_text(p, x->s, strlen(x->s), p->out);
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

static void add_configs(const page *p) {
  const exported_portfolio *c = p->c;
  str_addf(p->out, "static const struct config configs[%s_CONFIGS] = {\n", p->upper);
  for (size_t i = 0; i < c->n_variants; i++) {
    add_config(p, &c->variants[i]);
  }
  str_addf(p->out, "};\nconst char *const %s_configs[%s_CONFIGS] = {\n", p->name, p->upper);
  for (size_t i = 0; i < c->n_variants; i++) {
    str_add(p->out, "  \"");
    gen_config_text(p->t, &c->variants[i].config, p->out);
    str_add(p->out, "\",\n");
  }
  str_addf(
      p->out,
      "};\n\n/* The variants of each of the portfolio's configurations, the default's last. */\n"
      "static const int first[%zu] = {",
      c->portfolio->n_configs + 2);
  for (size_t base = 0, i = 0; base <= c->portfolio->n_configs + 1; base++) {
    while (i < c->n_variants && c->variants[i].base < base) {
      i++;
    }
    str_addf(p->out, "%s%zu", base ? ", " : "", i);
  }
  str_add(p->out, "};\n\n");
}

static int add_derived(page *p) {
  size_t n = 0;
  str_add(p->out, "struct derived {\n");
  for (size_t i = 0; i < p->t->n_derived; i++) {
    if (!p->condition[i]) {
      str_add(p->out, "  int64_t ");
      export_id(p->out, p->t->derived[i].name);
      str_add(p->out, ";\n");
      n++;
    }
  }
  str_addf(p->out,
           "%s};\n\nstatic struct derived derive(const %s_portfolio *k, const %s_problem *p,\n"
           "                             const struct config *c) {\n  struct derived v;\n"
           "  (void)k;\n  (void)p;\n  (void)c;\n%s",
           n ? "" : "  int none;\n", p->name, p->name, n ? "" : "  v.none = 0;\n");
  for (size_t i = 0; i < p->t->n_derived; i++) {
    if (!p->condition[i]) {
      str_add(p->out, "  v.");
      export_id(p->out, p->t->derived[i].name);
      str_add(p->out, " = ");
      TRY(export_expression(p, p->t->derived[i].expression));
      str_add(p->out, ";\n");
    }
  }
  str_add(p->out, "  return v;\n}\n\n");
  return 0;
}

/* ---- the source: which configuration -------------------------------------------------------- */

static void add_comment(str *s, const char *text) {
  str_add(s, "/* ");
  for (; *text; text++) {
    str_add(s, text[0] == '*' && text[1] == '/' ? "* " : (char[]){*text, 0});
  }
  str_add(s, " */");
}

static int add_fits(page *p) {
  str_addf(p->out,
           "/* Is it of a kernel for these? Most are not. */\n"
           "static int is_for(const %s_problem *p, const struct config *c) {\n"
           "  (void)p;\n  (void)c;\n  return 1",
           p->name);
  for (size_t i = 0; i < p->t->n_fields; i++) {
    if (p->t->fields[i].names) {
      str_add(p->out, "\n      && p->");
      export_id(p->out, p->t->fields[i].name);
      str_add(p->out, " == c->for_");
      export_id(p->out, p->t->fields[i].name);
    }
  }
  str_addf(p->out,
           ";\n}\n\n"
           "static int fits(const %s_portfolio *k, const %s_problem *p, const struct config *c) {\n"
           "  struct derived v;\n  if (!is_for(p, c)) {\n    return 0;\n  }\n"
           "  v = derive(k, p, c);\n  (void)v;\n  return 1",
           p->name, p->name);
  for (size_t i = 0; i < p->t->n_derived; i++) {
    if (p->c->derived >> i & 1) {
      str_addf(p->out, "\n      && (c->has_%s == ANY || (", p->t->derived[i].name);
      TRY(export_expression(p, p->t->derived[i].name));
      str_addf(p->out, ") == c->has_%s)", p->t->derived[i].name);
    }
  }
  for (size_t i = 0; i < p->t->n_requirements; i++) {
    str_add(p->out, "\n      ");
    add_comment(p->out, p->t->requirements[i].name);
    str_add(p->out, "\n      && (");
    TRY(export_expression(p, p->t->requirements[i].expression));
    str_add(p->out, ")");
  }
  str_add(p->out, ";\n}\n\n");
  return 0;
}

static void add_feature(const page *p, const chooser_feature *f, double below) {
  const uint8_t fields[] = {f->a, f->b, f->c};
  const size_t most = f->kind == CHOOSER_VOLUME   ? 3
                      : f->kind == CHOOSER_FIELD  ? 1
                      : f->kind == CHOOSER_CHOICE ? 1
                                                  : 2;
  for (size_t i = 0; i < most; i++) {
    const char *name = p->t->fields[fields[i]].name;
    const bool ratio = i && f->kind == CHOOSER_RATIO;
    str_add(p->out, !i ? "" : ratio ? " / " : " * ");
    str_add(p->out, f->kind == CHOOSER_CHOICE ? "" : "(double)");
    str_add(p->out, ratio ? "tuned_max(p->" : "p->");
    export_id(p->out, name);
    str_add(p->out, ratio ? ", 1)" : "");
  }
  if (f->kind == CHOOSER_CHOICE) {
    const char *text = p->t->fields[f->a].names[f->choice];
    str_add(p->out, " == ");
    export_text(p, text, strlen(text), p->out);
  } else {
    str_addf(p->out, " < %.9g", below);
  }
}

/* As nested questions; a leaf's number is its place among the leaves. */
static void add_node(const page *p, size_t i, size_t *leaf, int depth) {
  const chooser_node *n = &p->c->portfolio->nodes[i];
  if (!n->no) {
    str_addf(p->out, "%*sreturn %zu; /* loses %.1f %%, at worst %.1f %% */\n", 2 * depth, "",
             (*leaf)++, 100 * n->expected, 100 * n->worst);
    return;
  }
  str_addf(p->out, "%*sif (", 2 * depth, "");
  add_feature(p, &n->feature, n->below);
  str_add(p->out, ") {\n");
  add_node(p, i + 1, leaf, depth + 1);
  str_addf(p->out, "%*s}\n", 2 * depth, "");
  add_node(p, n->no, leaf, depth);
}

static void add_leaves(const page *p) {
  const portfolio *c = p->c->portfolio;
  str_add(p->out, "static const struct leaf {\n  double expected;\n  int n;\n"
                  "  unsigned char order[16];\n} leaves[] = {\n");
  for (size_t i = 0; i < c->n_nodes; i++) {
    const chooser_node *n = &c->nodes[i];
    const size_t n_order = n->n_order < 16 ? n->n_order : 16;
    if (n->no) {
      continue;
    }
    str_addf(p->out, "  {%.4g, %zu, {", n->expected, n_order);
    for (size_t k = 0; k < n_order; k++) {
      str_addf(p->out, "%s%u", k ? ", " : "", n->order[k]);
    }
    str_add(p->out, "}},\n");
  }
  str_add(p->out, "};\n\n");
}

/* ---- the source: a tree over variants ------------------------------------------------------- */

static void add_choice_node(const page *p, size_t i, size_t *leaf, int depth) {
  const chooser_variant_node *n = &p->c->nodes[i];
  if (!n->no) {
    str_addf(p->out, "%*sreturn %zu;\n", 2 * depth, "", (*leaf)++);
    return;
  }
  str_addf(p->out, "%*sif (", 2 * depth, "");
  add_feature(p, &n->feature, n->below);
  str_add(p->out, ") {\n");
  add_choice_node(p, i + 1, leaf, depth + 1);
  str_addf(p->out, "%*s}\n", 2 * depth, "");
  add_choice_node(p, n->no, leaf, depth);
}

static void add_order(const page *p, const chooser_variant_node *n) {
  for (size_t k = 0; k < n->n_order; k++) {
    str_addf(p->out, "%s%u", k ? ", " : "", n->order[k]);
  }
  str_add(p->out, n->n_order ? "}" : "0}");
}

static size_t order_most(const page *p) {
  size_t most = 1;
  for (size_t i = 0; i < p->c->n_nodes; i++) {
    const chooser_variant_node *n = &p->c->nodes[i];
    most = !n->no && n->n_order > most ? n->n_order : most;
  }
  return most;
}

/* Where none of a leaf's variants fits, any may. */
static void add_variant_tree(const page *p) {
  const chooser_variant_node *nodes = p->c->nodes;
  size_t leaf = 0;
  str_addf(p->out,
           "static const struct leaf {\n  double expected;\n  int n;\n"
           "  unsigned short order[%zu];\n} leaves[] = {\n",
           order_most(p));
  for (size_t i = 0; i < p->c->n_nodes; i++) {
    if (!nodes[i].no) {
      str_addf(p->out, "  {%.4g, %zu, {", nodes[i].expected, nodes[i].n_order);
      add_order(p, &nodes[i]);
      str_add(p->out, "},\n");
    }
  }
  str_addf(p->out, "};\n\nstatic int find_leaf(const %s_problem *p) {\n  (void)p;\n", p->name);
  add_choice_node(p, 0, &leaf, 1);
  str_addf(p->out,
           "}\n\nstatic int choose(const %s_portfolio *k, const %s_problem *p) {\n"
           "  const struct leaf *leaf = &leaves[find_leaf(p)];\n  int i;\n"
           "  for (i = 0; i < leaf->n; i++) {\n"
           "    if (fits(k, p, &configs[leaf->order[i]])) {\n      return leaf->order[i];\n    }\n"
           "  }\n"
           "  for (i = 0; i < %s_CONFIGS; i++) {\n"
           "    if (fits(k, p, &configs[i])) {\n      return i;\n    }\n  }\n"
           "  return -1;\n}\n\n",
           p->name, p->name, p->upper);
}

/* ---- the source: choosing ------------------------------------------------------------------- */

static void add_valid(const page *p) {
  str_addf(p->out, "static int is_valid(const %s_problem *p) {\n  return 1", p->name);
  for (size_t i = 0; i < p->t->n_fields; i++) {
    const gen_field *f = &p->t->fields[i];
    str_add(p->out, "\n      && ");
    if (!f->names) {
      str_add(p->out, "p->");
      export_id(p->out, f->name);
      str_addf(p->out, " >= INT64_C(%lld) && p->", (long long)f->min);
      export_id(p->out, f->name);
      str_addf(p->out, " <= INT64_C(%lld)", (long long)f->max);
      continue;
    }
    str_add(p->out, "p->");
    export_id(p->out, f->name);
    str_addf(p->out, " >= 0 && p->");
    export_id(p->out, f->name);
    str_addf(p->out, " < %s_TEXTS", p->upper);
  }
  str_add(p->out, ";\n}\n\n");
}

/* A choice takes microseconds, and a program launches the same few problems many times. */
static void add_remembering(const page *p) {
  const char *n = p->name;
  str_addf(p->out,
           "#ifdef __cplusplus\n#define THREAD_LOCAL thread_local\n"
           "#else\n#define THREAD_LOCAL _Thread_local\n#endif\n"
           "/* What a thread has chosen lately, by the device's limits and the problem. */\n"
           "enum { CHOICES = 64, FIELDS = sizeof(%s_problem) / sizeof(int64_t),\n"
           "       LIMITS = offsetof(%s_portfolio, modules) / sizeof(int64_t) };\n\n"
           "int %s_choose(const %s_portfolio *k, const %s_problem *p) {\n"
           "  static THREAD_LOCAL struct {\n    int64_t fields[FIELDS], limits[LIMITS];\n"
           "    int chosen; /* 0: none yet, else 1 more */\n  } lately[CHOICES], *at;\n"
           "  int64_t fields[FIELDS];\n  uint64_t hash = 0;\n  size_t i;\n"
           "  if (!is_valid(p)) {\n    return -1;\n  }\n"
           "  memcpy(fields, p, sizeof fields);\n"
           "  for (i = 0; i < FIELDS; i++) {\n"
           "    hash = (hash + (uint64_t)fields[i]) * UINT64_C(0x9e3779b97f4a7c15);\n  }\n"
           "  at = &lately[hash >> 58];\n"
           "  if (!at->chosen || memcmp(at->fields, fields, sizeof fields) != 0 ||\n"
           "      memcmp(at->limits, k, sizeof at->limits) != 0) {\n"
           "    at->chosen = choose(k, p) + 1;\n"
           "    memcpy(at->fields, fields, sizeof fields);\n"
           "    memcpy(at->limits, k, sizeof at->limits);\n  }\n"
           "  return at->chosen - 1;\n}\n\n",
           n, n, n, n, n);
}

/* The models, or else the first of the leaf's configurations that fits in any form. */
static int add_cover_tree(page *p) {
  const char *name = p->name;
  size_t leaf = 0;
  add_leaves(p);
  str_addf(p->out, "static int find_leaf(const %s_problem *p) {\n  (void)p;\n", name);
  add_node(p, 0, &leaf, 1);
  str_addf(p->out,
           "}\n\n"
           "static int first_that_fits(const %s_portfolio *k, const %s_problem *p, int base) {\n"
           "  int i;\n"
           "  for (i = first[base]; i < first[base + 1]; i++) {\n"
           "    if (fits(k, p, &configs[i])) {\n      return i;\n    }\n  }\n  return -1;\n}\n\n",
           name, name);
  TRY(p->c->by_models ? export_models(p) : 0);
  str_addf(p->out,
           "static int choose(const %s_portfolio *k, const %s_problem *p) {\n"
           "  const struct leaf *leaf = &leaves[find_leaf(p)];\n"
           "  int i, found = %s;\n"
           "  for (i = 0; i < leaf->n && found < 0; i++) {\n"
           "    found = first_that_fits(k, p, leaf->order[i]);\n  }\n"
           "  return found < 0 ? first_that_fits(k, p, %zu) : found;\n}\n\n",
           name, name, p->c->by_models ? "fastest(k, p)" : "-1", p->c->portfolio->n_configs);
  return 0;
}

static int add_choose(page *p) {
  const char *name = p->name;
  add_valid(p);
  if (p->c->nodes && !p->c->by_models) {
    add_variant_tree(p);
  } else {
    TRY(add_cover_tree(p));
  }
  add_remembering(p);
  str_addf(p->out,
           "double %s_expected_loss(const %s_portfolio *k, const %s_problem *p) {\n"
           "  const int i = %s_choose(k, p);\n"
           "  return i < 0 || i >= first[%zu] ? -1 : leaves[find_leaf(p)].expected;\n}\n\n",
           name, name, name, name, p->c->portfolio->n_configs);
  return 0;
}

/* ---- the source: launching ------------------------------------------------------------------ */

/* Of a type that is fixed, or chosen by a field. */
static void add_element_nbytes(const page *p, dtype fixed, int field) {
  if (field < 0) {
    str_addf(p->out, "%zu", dtype_nbytes(fixed));
    return;
  }
  const gen_field *f = &p->t->fields[field];
  for (size_t i = 0; i < f->n_names; i++) {
    dtype type = DTYPE_f64;
    dtype_parse(f->names[i], &type);
    str_add(p->out, "(p->");
    export_id(p->out, f->name);
    str_add(p->out, " == ");
    export_text(p, f->names[i], strlen(f->names[i]), p->out);
    str_addf(p->out, " ? %zu : ", dtype_nbytes(type));
  }
  str_add(p->out, "8");
  for (size_t i = 0; i < f->n_names; i++) {
    str_add(p->out, ")");
  }
}

/* Where each workspace begins in the one that the caller gives, and after the last, its size. */
static int add_workspaces(page *p) {
  str_addf(p->out,
           "static void place_workspaces(const %s_portfolio *k, const %s_problem *p,\n"
           "                             const struct config *c, uint64_t at[%zu]) {\n"
           "  const struct derived v = derive(k, p, c);\n  (void)v;\n  at[0] = 0;\n",
           p->name, p->name, p->texts.n_workspaces + 1);
  for (size_t i = 0; i < p->texts.n_workspaces; i++) {
    str_addf(p->out, "  at[%zu] = at[%zu] + (uint64_t)tuned_roundup((", i + 1, i);
    TRY(export_expression(p, p->texts.workspaces[i].count));
    str_add(p->out, ") * ");
    add_element_nbytes(p, p->texts.workspaces[i].type, p->texts.workspaces[i].field);
    str_add(p->out, ", 256);\n");
  }
  str_addf(p->out,
           "}\n\nsize_t %s_workspace_nbytes(const %s_portfolio *k, const %s_problem *p) {\n"
           "  uint64_t at[%zu];\n  const int i = %s_choose(k, p);\n"
           "  if (i < 0) {\n    return 0;\n  }\n"
           "  place_workspaces(k, p, &configs[i], at);\n  return (size_t)at[%zu];\n}\n\n",
           p->name, p->name, p->name, p->texts.n_workspaces + 1, p->name, p->texts.n_workspaces);
  return 0;
}

static int add_fixed_args(page *p) {
  for (size_t i = 0; i < p->t->n_args; i++) {
    const gen_arg *a = &p->t->args[i];
    dtype type;
    if (!export_is_fixed(a)) {
      str_add(p->out, "  (void)");
      export_id(p->out, a->name);
      str_add(p->out, ";\n");
      continue;
    }
    TRY(scalar_type(p, a, &type));
    str_addf(p->out, "  %s arg_%s = (%s)(", export_c_type(type), a->name, export_c_type(type));
    TRY(export_expression(p, a->value));
    str_addf(p->out, ");\n  (void)arg_%s;\n", a->name);
  }
  return 0;
}

static void add_operand_name(const page *p, const gen_operand_text *o, size_t i) {
  if (o->from == GEN_FROM_ARG) {
    const gen_arg *a = &p->t->args[o->index];
    str_add(p->out, export_is_fixed(a) ? "arg_" : "");
    export_is_fixed(a) ? str_add(p->out, a->name) : export_id(p->out, a->name);
  } else if (o->from == GEN_FROM_VALUE) {
    str_addf(p->out, "value_%zu", i);
  } else if (o->from == GEN_FROM_TENSOR) {
    str_addf(p->out, "tensor_%zu", i);
  } else {
    str_addf(p->out, "workspaces[%u]", o->index);
  }
}

static int add_extent(page *p, const char *const x[3], const char *name) {
  for (int i = 0; i < 3; i++) {
    str_addf(p->out, "    const int64_t %s_%c = ", name, "xyz"[i]);
    if (x[i]) {
      TRY(export_expression(p, x[i]));
    } else {
      str_add(p->out, "1");
    }
    str_add(p->out, ";\n");
  }
  return 0;
}

static int add_value_operands(page *p, const gen_launch_text *l) {
  for (size_t i = 0; i < l->n_operands; i++) {
    const gen_operand_text *o = &l->operands[i];
    if (o->from == GEN_FROM_VALUE) {
      str_addf(p->out, "    %s value_%zu = (%s)(", export_c_type(o->type), i,
               export_c_type(o->type));
      TRY(export_expression(p, o->value));
      str_add(p->out, ");\n");
    }
  }
  return 0;
}

static int add_list(page *p, const char *type, const char *name, size_t i, const char *const *x,
                    size_t n) {
  str_addf(p->out, "      const %s %s_%zu[] = {", type, name, i);
  for (size_t d = 0; d < n; d++) {
    str_addf(p->out, "%s(%s)(", d ? ", " : "", type);
    TRY(export_expression(p, x[d]));
    str_add(p->out, ")");
  }
  str_add(p->out, "};\n");
  return 0;
}

/* A zero ends the strides, so that a tensor of one dimension has some, too. */
static int add_strides(page *p, const gen_tensor_text *x, size_t i) {
  str_addf(p->out, "      const cuuint64_t strides_%zu[] = {", i);
  for (size_t d = 0; d + 1 < x->rank; d++) {
    str_add(p->out, "(cuuint64_t)(");
    if (x->strides[d].from == GEN_FROM_ARG) {
      add_operand_name(p, &x->strides[d], i);
    } else {
      TRY(export_expression(p, x->strides[d].value));
    }
    str_add(p->out, "), ");
  }
  str_add(p->out, "0};\n");
  return 0;
}

static int add_tensor(page *p, const gen_tensor_text *x, size_t i) {
  TRY(add_list(p, "cuuint64_t", "dims", i, x->dims, x->rank));
  TRY(add_list(p, "cuuint32_t", "box", i, x->box, x->rank));
  TRY(add_strides(p, x, i));
  str_addf(p->out,
           "      if (rc == CUDA_SUCCESS) {\n        rc = %s_tensor(&tensor_%zu, (unsigned)(",
           p->name, i);
  add_element_nbytes(p, x->type, x->field);
  str_addf(p->out, "), %zu, ", x->rank);
  add_operand_name(p, &x->at, i);
  str_addf(p->out, ", dims_%zu, strides_%zu, box_%zu, (int)(", i, i, i);
  if (x->swizzle) {
    TRY(export_expression(p, x->swizzle));
  } else {
    str_add(p->out, "0");
  }
  str_add(p->out, "));\n      }\n");
  return 0;
}

static int add_tensors(page *p, const gen_launch_text *l) {
  for (size_t i = 0; i < l->n_operands; i++) {
    if (l->operands[i].from == GEN_FROM_TENSOR) {
      TRY(add_tensor(p, l->operands[i].tensor, i));
    }
  }
  return 0;
}

static void declare_tensors(const page *p, const gen_launch_text *l) {
  for (size_t i = 0; i < l->n_operands; i++) {
    if (l->operands[i].from == GEN_FROM_TENSOR) {
      str_addf(p->out, "    CUtensorMap tensor_%zu;\n", i);
    }
  }
}

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

static int add_or(page *p, const char *expression, const char *otherwise) {
  if (expression) {
    return export_expression(p, expression);
  }
  str_add(p->out, otherwise);
  return 0;
}

/* With the kernel of ours ahead of it; or, first of all, with whatever the caller launched. */
static int add_overlap(page *p, const gen_launch_text *l) {
  str_add(p->out, "ahead == NOTHING ? (");
  TRY(add_or(p, l->early, "0"));
  str_add(p->out, ") : ahead == KERNEL && (");
  TRY(add_or(p, l->overlap, "0"));
  str_add(p->out, ")");
  return 0;
}

static int add_kernel(page *p, const gen_launch_text *l, size_t stage) {
  TRY(add_extent(p, l->grid, "grid"));
  TRY(add_extent(p, l->block, "block"));
  TRY(add_value_operands(p, l));
  declare_tensors(p, l);
  str_add(p->out, "    void *operands[] = {");
  for (size_t i = 0; i < l->n_operands; i++) {
    str_add(p->out, i ? ", (void *)&" : "(void *)&");
    add_operand_name(p, &l->operands[i], i);
  }
  str_addf(p->out, "%s};\n    if (grid_x > 0 && grid_y > 0 && grid_z > 0) {\n",
           l->n_operands ? "" : "NULL");
  TRY(add_tensors(p, l));
  str_addf(p->out,
           "      if (rc == CUDA_SUCCESS) {\n"
           "        const unsigned grid[] = {(unsigned)grid_x, (unsigned)grid_y, "
           "(unsigned)grid_z};\n"
           "        const unsigned block[] = {(unsigned)block_x, (unsigned)block_y, "
           "(unsigned)block_z};\n"
           "        rc = %s_launch_kernel(k->functions[c->source][%zu], grid, block, (unsigned)(",
           p->name, kernel_number(p, stage));
  TRY(add_or(p, l->smem, "0"));
  str_add(p->out, "), stream, operands,\n          k->overlaps && (");
  TRY(add_overlap(p, l));
  str_add(p->out, "));\n        ahead = KERNEL;\n      }\n    }\n");
  return 0;
}

static int add_memory(page *p, const gen_launch_text *l) {
  const gen_operand_text *o = &l->operands[0];
  str_add(p->out, "    const int64_t nbytes = ");
  if (l->nbytes) {
    TRY(export_expression(p, l->nbytes));
  } else {
    str_addf(p->out, "(int64_t)(at[%u] - at[%u])", o->index + 1, o->index);
  }
  str_add(p->out, ";\n    if (nbytes > 0) {\n      rc = cuMemsetD8Async(");
  add_operand_name(p, o, 0);
  str_add(p->out, ", (unsigned char)(");
  if (l->fill) {
    TRY(export_expression(p, l->fill));
  } else {
    str_add(p->out, "0");
  }
  str_add(p->out, "), (size_t)nbytes, stream);\n      ahead = MEMORY;\n    }\n");
  return 0;
}

static int add_stage(page *p, size_t i) {
  const gen_launch_text *l = &p->texts.launches[i];
  str_add(p->out, "  if (rc == CUDA_SUCCESS && (");
  if (l->when) {
    TRY(export_expression(p, l->when));
  } else {
    str_add(p->out, "1");
  }
  str_add(p->out, ")) {\n");
  TRY(l->kernel ? add_kernel(p, l, i) : add_memory(p, l));
  str_add(p->out, "  }\n");
  return 0;
}

static int add_run(page *p) {
  const size_t n = p->texts.n_workspaces;
  export_launch_function(p->name, p->out);
  TRY(add_run_prototype(p));
  str_addf(p->out,
           " {\n  CUresult rc = CUDA_SUCCESS;\n  uint64_t at[%zu];\n"
           "  CUdeviceptr workspaces[%zu];\n"
           "  enum { NOTHING, MEMORY, KERNEL } ahead = NOTHING;\n  int i;\n"
           "  const int chosen = %s_choose(k, p);\n"
           "  if (chosen < 0) {\n    return CUDA_ERROR_INVALID_VALUE;\n  }\n"
           "  const struct config *c = &configs[chosen];\n"
           "  const struct derived v = derive(k, p, c);\n  (void)v;\n"
           "  place_workspaces(k, p, c, at);\n"
           "  if (at[%zu] > 0 && !workspace) {\n    return CUDA_ERROR_INVALID_VALUE;\n  }\n"
           "  for (i = 0; i < %zu; i++) {\n    workspaces[i] = workspace + at[i];\n  }\n"
           "  workspaces[%zu] = 0;\n  (void)workspaces;\n  (void)ahead;\n",
           n + 1, n + 1, p->name, n, n, n);
  TRY(add_fixed_args(p));
  for (size_t i = 0; i < p->texts.n; i++) {
    TRY(add_stage(p, i));
  }
  str_add(p->out, "  return rc;\n}\n");
  return 0;
}

/* ---- the source: opening -------------------------------------------------------------------- */

static void add_kernel_names(const page *p) {
  str_addf(p->out, "static const char *const kernels[%zu] = {", n_kernels(p));
  size_t next = 0;
  for (size_t i = 0; i < p->texts.n; i++) {
    if (p->texts.launches[i].kernel && kernel_number(p, i) == next) {
      str_addf(p->out, "%s\"%s\"", next++ ? ", " : "", p->texts.launches[i].kernel);
    }
  }
  str_add(p->out, "};\n\n");
}

static void add_limits(const page *p) {
  static const struct {
    const char *limit, *attribute;
  } limits[] = {{"dev_sms", "MULTIPROCESSOR_COUNT"},
                {"dev_threads_block", "MAX_THREADS_PER_BLOCK"},
                {"dev_threads_sm", "MAX_THREADS_PER_MULTIPROCESSOR"},
                {"dev_blocks_sm", "MAX_BLOCKS_PER_MULTIPROCESSOR"},
                {"dev_regs_block", "MAX_REGISTERS_PER_BLOCK"},
                {"dev_regs_sm", "MAX_REGISTERS_PER_MULTIPROCESSOR"},
                {"dev_smem_block", "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"},
                {"dev_smem_sm", "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"},
                {"dev_smem_reserved", "RESERVED_SHARED_MEMORY_PER_BLOCK"},
                {"dev_l2", "L2_CACHE_SIZE"},
                {"dev_warp", "WARP_SIZE"}};
  str_addf(p->out,
           "static CUresult read_limits(%s_portfolio *k, CUdevice device) {\n"
           "  size_t memory = 0;\n  int value = 0;\n"
           "  CUresult rc = compute_capability(device, &value);\n  k->dev_cc = value;\n",
           p->name);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    str_addf(p->out,
             "  if (rc == CUDA_SUCCESS) {\n"
             "    rc = cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_%s, device);\n"
             "    k->%s = value;\n  }\n",
             limits[i].attribute, limits[i].limit);
  }
  str_add(p->out, "  if (rc == CUDA_SUCCESS) {\n    rc = cuDeviceTotalMem(&memory, device);\n  }\n"
                  "  k->dev_memory = (int64_t)memory;\n  return rc;\n}\n\n");
}

static void add_open(const page *p) {
  add_kernel_names(p);
  add_limits(p);
  str_addf(
      p->out,
      "/* All the shared memory that a kernel may have, whatever a problem asks for. A module has\n"
      " * only the kernels that its configuration launches. */\n"
      "static CUresult find_kernels(%s_portfolio *k, int source) {\n"
      "  int i;\n"
      "  for (i = 0; i < %zu; i++) {\n"
      "    CUfunction *f = &k->functions[source][i];\n"
      "    int fixed = 0;\n"
      "    CUresult rc = cuModuleGetFunction(f, k->modules[source], kernels[i]);\n"
      "    if (rc == CUDA_ERROR_NOT_FOUND) {\n      *f = NULL;\n      continue;\n    }\n"
      "    if (rc == CUDA_SUCCESS) {\n"
      "      rc = cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, *f);\n    }\n"
      "    if (rc == CUDA_SUCCESS) {\n"
      "      rc = cuFuncSetAttribute(*f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,\n"
      "                              (int)k->dev_smem_block - fixed);\n    }\n"
      "    if (rc != CUDA_SUCCESS) {\n      return rc;\n    }\n  }\n"
      "  return CUDA_SUCCESS;\n}\n\n"
      "CUresult %s_open(%s_portfolio *k, CUdevice device) {\n"
      "  int i;\n  CUresult rc;\n  memset(k, 0, sizeof *k);\n"
      "  rc = read_limits(k, device);\n"
      "  for (i = 0; i < %zu && rc == CUDA_SUCCESS; i++) {\n"
      "    const struct image *image = find_image(i, (int)k->dev_cc);\n"
      "    rc = image ? cuModuleLoadData(&k->modules[i], image->bytes) : "
      "CUDA_ERROR_NO_BINARY_FOR_GPU;\n"
      "    if (rc == CUDA_SUCCESS) {\n      rc = find_kernels(k, i);\n"
      "      k->overlaps = image->cc >= 90; /* older code does not wait */\n    }\n  }\n"
      "  if (rc != CUDA_SUCCESS) {\n    %s_close(k);\n  }\n  return rc;\n}\n\n"
      "void %s_close(%s_portfolio *k) {\n  int i;\n"
      "  for (i = 0; i < %zu; i++) {\n    if (k->modules[i]) {\n"
      "      cuModuleUnload(k->modules[i]);\n      k->modules[i] = NULL;\n    }\n  }\n}\n\n",
      p->name, n_kernels(p), p->name, p->name, p->c->n_sources, p->name, p->name, p->name,
      p->c->n_sources);
}

static int write_source(page *p, const char *header) {
  add_title(p);
  str_addf(p->out, "#include \"%s\"\n\n%s#include <string.h>\n\n", header,
           p->c->by_models ? "#include <math.h>\n" : "");
  str_add(p->out, functions);
  add_config_struct(p);
  add_configs(p);
  TRY(add_derived(p));
  TRY(add_fits(p));
  TRY(add_choose(p));
  TRY(add_workspaces(p));
  export_images(p->c->images, p->c->n_sources, p->c->n_archs, p->out);
  export_compute_capability(p->out);
  add_open(p);
  if (has_tensors(p)) {
    export_tensor_function(p->name, p->out);
  }
  return add_run(p);
}

int export_portfolio_source(const gen_template *t, const exported_portfolio *c, const char *header,
                            str *out, err *e) {
  page p;
  const int rc = page_open(&p, t, c, out, e);
  return page_close(&p, rc ? rc : write_source(&p, header));
}
