/* What the lines of a plain CUDA file say, as the Lua text of a template. */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>

#include "c_name.h"
#include "gen_plain_value.h"
#include "gen_plain_writer.h"

enum { MAX_LINES = 100 + 26 * GEN_PLAIN_MAX };

/* ---- lines ----------------------------------------------------------------------------------- */

void gen_plain_start(gen_plain_writer *w, gen_plain_place at) {
  w->places[w->n_places++] = at;
}

void gen_plain_line(gen_plain_writer *w, const char *text) {
  gen_plain_start(w, (gen_plain_place){0});
  str_addf(w->out, "%s\n", text);
}

void gen_plain_quote(str *out, const char *text) {
  str_add(out, "\"");
  for (; *text; text++) {
    str_addf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
  }
  str_add(out, "\"");
}

void gen_plain_add_expression(gen_plain_writer *w, const char *text, bool presets) {
  auto_str s = {0};
  int64_t v;
  gen_plain_expression(text, presets ? w->x : NULL, &s);
  if (text_integer(str_text(&s), &v)) {
    str_addf(w->out, "%lld", (long long)v);
  } else {
    gen_plain_quote(w->out, str_text(&s));
  }
}

/* ---- the parts of the table ------------------------------------------------------------------ */

static int add_fields(gen_plain_writer *w) {
  gen_plain_line(w, "  problem = {");
  for (size_t i = 0; i < w->x->n_fields; i++) {
    const gen_plain_field *f = &w->x->fields[i];
    const char *dots = f->values.p ? strstr(f->values.p, "..") : "";
    gen_plain_start(w, f->name.at);
    str_addf(w->out, "    { \"%s\", ", f->name.p);
    if (!f->values.p) {
      str_add(w->out, "1, 2^31 - 1, ");
    } else if (dots && !strchr(f->values.p, ',')) {
      int64_t least, most;
      const char *from = arena_text_n(w->a, f->values.p, (size_t)(dots - f->values.p));
      if (!from || !text_integer(from, &least) || !text_integer(dots + 2, &most)) {
        return gen_plain_fail(w->x, f->values.at, w->e, "a range is 1..65536 or 0..2^31-1");
      }
      str_addf(w->out, "%lld, %lld, ", (long long)least, (long long)most);
    } else {
      str_add(w->out, "{ ");
      TRY(gen_plain_values(w->x, w->a, &f->values, w->out, w->e));
      str_add(w->out, " }, ");
    }
    str_add(w->out, "default = ");
    if (f->preset.p) {
      gen_plain_add_expression(w, f->preset.p, false);
    } else if (!f->values.p) {
      str_add(w->out, "1024");
    } else {
      const size_t n = dots && *dots ? (size_t)(dots - f->values.p) : strcspn(f->values.p, ",");
      TRY(gen_plain_value(w->x, w->a, &f->values, f->values.p, n, w->out, w->e));
    }
    str_add(w->out, " },\n");
  }
  gen_plain_line(w, "  },");
  return 0;
}

/* Is this a field, a parameter or a defined name? */
static bool is_known(const gen_plain *x, const char *name) {
  bool known = gen_plain_is_macro(x, name);
  for (size_t i = 0; i < x->n_fields; i++) {
    known |= !strcmp(x->fields[i].name.p, name);
  }
  return known;
}

static int check_scalar(gen_plain_writer *w, const gen_plain_arg *arg) {
  return arg->dir || !w->x->n_fields || arg->value.p != arg->name.p || is_known(w->x, arg->name.p)
             ? 0
             : gen_plain_fail(w->x, arg->name.at, w->e, "'%s' is no field: give its value, %s:%s=2",
                              arg->name.p, arg->name.p, dtype_name(arg->type));
}

static void add_scalar(gen_plain_writer *w, const gen_plain_arg *arg) {
  const char *p = arg->value.p;
  const bool number = strspn(p, "-0123456789.e") == strlen(p);
  str_addf(w->out, ", %s = ", number ? "sample" : "value");
  if (number) {
    str_add(w->out, p);
  } else {
    gen_plain_add_expression(w, p, false);
  }
}

/* An argument that callers leave out. */
static void add_expected(gen_plain_writer *w, const gen_plain_arg *arg) {
  if (!arg->expected.p) {
    return;
  }
  gen_plain_start(w, arg->expected.at);
  str_addf(w->out, "    { \"%s_expected\", \"%s\", \"in\", count = ", arg->name.p,
           dtype_name(arg->type));
  gen_plain_add_expression(w, arg->count.p, false);
  str_add(w->out, ", fill = { \"file\", ");
  gen_plain_quote(w->out, arg->expected.p);
  str_add(w->out, " }, optional = \"1 == 1\" },\n");
}

static int add_args(gen_plain_writer *w) {
  gen_plain_line(w, "  args = {");
  for (size_t i = 0; i < w->x->n_args; i++) {
    const gen_plain_arg *arg = &w->x->args[i];
    TRY(check_scalar(w, arg));
    gen_plain_start(w, arg->name.at);
    str_addf(w->out, "    { \"%s\", \"%s\"", arg->name.p, dtype_name(arg->type));
    if (!arg->dir) {
      add_scalar(w, arg);
    } else {
      str_addf(w->out, ", \"%s\", count = ", arg->dir);
      gen_plain_add_expression(w, arg->count.p, false);
      if (strcmp(arg->dir, "out") != 0) {
        gen_plain_add_fill(w, arg);
      }
    }
    str_add(w->out, " },\n");
  }
  for (size_t i = 0; i < w->x->n_args; i++) {
    add_expected(w, &w->x->args[i]);
  }
  gen_plain_line(w, "  },");
  return 0;
}

static int add_space(gen_plain_writer *w) {
  gen_plain_line(w, "  space = {");
  for (size_t i = 0; i < w->x->n_params; i++) {
    gen_plain_start(w, w->x->params[i].name.at);
    str_addf(w->out, "    { \"%s\", { ", w->x->params[i].name.p);
    TRY(gen_plain_values(w->x, w->a, &w->x->params[i].values, w->out, w->e));
    str_add(w->out, " } },\n");
  }
  gen_plain_line(w, "  },");
  return 0;
}

static void add_derived(gen_plain_writer *w) {
  gen_plain_line(w, "  derive = {");
  for (size_t i = 0; i < w->x->n_defines; i++) {
    const gen_plain_pair *d = &w->x->defines[i];
    gen_plain_start(w, d->text.at);
    str_addf(w->out, "    { \"%s\", ", d->name.p);
    auto_str s = {0};
    gen_plain_expression(d->text.p, NULL, &s);
    gen_plain_quote(w->out, str_text(&s));
    str_add(w->out, " },\n");
  }
  gen_plain_line(w, "  },");
}

static void add_requires(gen_plain_writer *w) {
  gen_plain_line(w, "  require = {");
  for (size_t i = 0; i < w->x->n_requires; i++) {
    gen_plain_start(w, w->x->requires[i].at);
    str_add(w->out, "    { ");
    gen_plain_quote(w->out, w->x->requires[i].p);
    str_add(w->out, ", ");
    auto_str s = {0};
    gen_plain_expression(w->x->requires[i].p, NULL, &s);
    gen_plain_quote(w->out, str_text(&s));
    str_add(w->out, " },\n");
  }
  gen_plain_line(w, "  },");
}

static int add_default(gen_plain_writer *w) {
  gen_plain_start(w, (gen_plain_place){0});
  str_add(w->out, "  default = { ");
  for (size_t i = 0; i < w->x->n_params; i++) {
    const char *value;
    TRY(gen_plain_preset(w->x, &w->x->params[i], w->a, &value, w->e));
    str_addf(w->out, gen_plain_is_number(value) ? "%s%s = %s" : "%s%s = \"%s\"", i ? ", " : "",
             w->x->params[i].name.p, value);
  }
  str_add(w->out, " },\n");
  return 0;
}

/* ---- the reference, and what it shares with the variants ------------------------------------ */

static void add_source(gen_plain_writer *w) {
  const char *slash = strrchr(w->x->path, '/');
  gen_plain_start(w, (gen_plain_place){.line = 1, .column = 1});
  str_add(w->out, "  source = ");
  gen_plain_quote(w->out, slash ? slash + 1 : w->x->path);
  str_add(w->out, ",\n");
}

static void add_scratch(gen_plain_writer *w, bool presets) {
  if (!w->x->n_scratch) {
    return;
  }
  gen_plain_line(w, "  workspace = {");
  for (size_t i = 0; i < w->x->n_scratch; i++) {
    const gen_plain_pair *s = &w->x->scratch[i];
    const size_t n = strcspn(s->text.p, "\n");
    gen_plain_start(w, s->name.at);
    str_addf(w->out, "    { \"%s\", \"%.*s\", ", s->name.p, (int)n, s->text.p);
    gen_plain_add_expression(w, s->text.p + n + 1, presets);
    str_add(w->out, " },\n");
  }
  gen_plain_line(w, "  },");
}

/* "--use_fast_math", or "--maxrregcount=REGS", whose value is a parameter */
static void add_option(gen_plain_writer *w, const gen_plain_text *text, bool presets) {
  const char *equals = strrchr(text->p, '=');
  gen_plain_start(w, text->at);
  if (equals && gen_plain_is_macro(w->x, equals + 1)) {
    str_addf(w->out, "    { \"%.*s\", ", (int)(equals + 1 - text->p), text->p);
    gen_plain_add_expression(w, equals + 1, presets);
    str_add(w->out, " },\n");
    return;
  }
  str_add(w->out, "    ");
  gen_plain_quote(w->out, text->p);
  str_add(w->out, ",\n");
}

/* Members that no host needs to tell from the device's are the device's. */
static void add_options(gen_plain_writer *w, bool presets) {
  gen_plain_line(w, "  options = {");
  gen_plain_line(w, "    \"-default-device\",");
  for (size_t i = 0; i < w->x->n_options; i++) {
    add_option(w, &w->x->options[i], presets);
  }
  gen_plain_line(w, "  },");
}

/* The reference's macros: what the text has in the default configuration. */
static int add_macros(gen_plain_writer *w) {
  gen_plain_line(w, "  macros = {");
  for (size_t i = 0; i < w->x->n_params; i++) {
    const char *value;
    TRY(gen_plain_preset(w->x, &w->x->params[i], w->a, &value, w->e));
    gen_plain_start(w, w->x->params[i].name.at);
    str_addf(w->out,
             gen_plain_is_number(value) ? "    { \"%s\", \"%s\" },\n"
                                        : "    { \"%s\", \"'%s'\" },\n",
             w->x->params[i].name.p, value);
  }
  for (size_t i = 0; i < w->x->n_defines; i++) {
    const gen_plain_pair *d = &w->x->defines[i];
    gen_plain_start(w, d->text.at);
    str_addf(w->out, "    { \"%s\", ", d->name.p);
    auto_str s = {0};
    gen_plain_expand(d->text.p, w->x, i, &s);
    gen_plain_quote(w->out, str_text(&s));
    str_add(w->out, " },\n");
  }
  gen_plain_line(w, "  },");
  return 0;
}

/* Kernels that copy what is expected to the outputs. */
static int add_expected_reference(gen_plain_writer *w) {
  static const char *const words[] = {[1] = "char", [2] = "short", [4] = "int", [8] = "long long"};
  gen_plain_line(w, "  reference = {");
  gen_plain_line(w, "  stages = {");
  for (size_t i = 0; i < w->x->n_args; i++) {
    const gen_plain_arg *arg = &w->x->args[i];
    if (arg->dir && strcmp(arg->dir, "in") != 0 && !arg->expected.p) {
      return gen_plain_fail(w->x, arg->name.at, w->e,
                            "nothing is expected of %s: //@ expected %s = FILE", arg->name.p,
                            arg->name.p);
    }
    if (arg->expected.p) {
      auto_str count = {0};
      gen_plain_expression(arg->count.p, NULL, &count);
      gen_plain_start(w, arg->expected.at);
      str_addf(
          w->out,
          "    { kernel = \"expected_%zu\", grid = \"ceildiv(%s, 256)\", block = 256, args = { "
          "\"%s_expected\", \"%s\", { \"i64\", \"%s\" } } },\n",
          dtype_nbytes(arg->type), str_text(&count), arg->name.p, arg->name.p, str_text(&count));
    }
  }
  gen_plain_line(w, "  },");
  gen_plain_line(w, "  source = [[");
  for (size_t n = 1; n <= 8; n *= 2) {
    gen_plain_start(w, (gen_plain_place){0});
    str_addf(
        w->out,
        "extern \"C\" __global__ void expected_%zu(const %s *from, %s *to, long long n) { "
        "const long long i = blockIdx.x * 256ll + threadIdx.x; if (i < n) to[i] = from[i]; }\n",
        n, words[n], words[n]);
  }
  gen_plain_line(w, "]] },");
  return 0;
}

static int add_reference(gen_plain_writer *w) {
  const gen_plain *x = w->x;
  if (x->reference == GEN_PLAIN_FILES) {
    return add_expected_reference(w);
  }
  const bool own = x->reference == GEN_PLAIN_KERNEL;
  gen_plain_line(w, "  reference = {");
  if (x->reference == GEN_PLAIN_NONE) {
    gen_plain_line(w, "  variant = true,");
  }
  TRY(add_macros(w));
  add_scratch(w, true);
  add_options(w, true);
  TRY(gen_plain_add_stages(w, own ? x->references : x->stages, own ? x->n_references : x->n_stages,
                           true));
  add_source(w);
  gen_plain_line(w, "  },");
  return 0;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void add_one(gen_plain_writer *w, const char *key, const gen_plain_text *text,
                    const char *other) {
  gen_plain_start(w, text->at);
  str_addf(w->out, "  %s = ", key);
  gen_plain_add_expression(w, text->p ? text->p : other, false);
  str_add(w->out, ",\n");
}

static bool reads_only_fields(const gen_plain *x, const char *p) {
  for (; *p; p++) {
    const size_t n = c_name_length(p);
    bool known = !n || isdigit((unsigned char)*p) || p[n] == '(';
    for (size_t i = 0; i < x->n_fields; i++) {
      known = known || (strlen(x->fields[i].name.p) == n && !memcmp(x->fields[i].name.p, p, n));
    }
    if (!known) {
      return false;
    }
    p += n ? n - 1 : 0;
  }
  return true;
}

/* Every buffer once, those that are read and written twice. */
static const char *traffic(gen_plain_writer *w) {
  str s = {0};
  for (size_t i = 0; i < w->x->n_args; i++) {
    const gen_plain_arg *arg = &w->x->args[i];
    if (arg->dir && reads_only_fields(w->x, arg->count.p)) {
      str_addf(&s, "%s%zu * (%s)", s.n ? " + " : "",
               dtype_nbytes(arg->type) << !strcmp(arg->dir, "inout"), arg->count.p);
    }
  }
  const char *text = arena_text(w->a, s.n ? str_text(&s) : "0");
  str_clear(&s);
  return text ? text : "0";
}

static const char *own_tolerance(const gen_plain *x) {
  for (size_t i = 0; i < x->n_args; i++) {
    if (x->args[i].dir && strcmp(x->args[i].dir, "in") != 0 && dtype_is_float(x->args[i].type)) {
      return x->args[i].type == DTYPE_f64        ? "1e-10"
             : dtype_nbytes(x->args[i].type) < 4 ? "1e-2"
                                                 : "1e-4";
    }
  }
  return "0";
}

static void add_tolerance(gen_plain_writer *w) {
  const gen_plain_text *both[] = {&w->x->tolerance_abs, &w->x->tolerance_rel};
  const char *own = w->x->tolerance_abs.p || w->x->tolerance_rel.p ? "0" : own_tolerance(w->x);
  gen_plain_start(w, both[!both[0]->p]->at);
  str_add(w->out, "  tolerance = { ");
  for (int i = 0; i < 2; i++) {
    str_add(w->out, i ? ", rel = " : "abs = ");
    gen_plain_quote(w->out, both[i]->p ? both[i]->p : own);
  }
  str_add(w->out, " },\n");
}

static void add_texts(gen_plain_writer *w, const char *key, const gen_plain_text *list, size_t n) {
  str_addf(w->out, "%s = { ", key);
  for (size_t i = 0; i < n; i++) {
    str_add(w->out, i ? ", " : "");
    gen_plain_quote(w->out, list[i].p);
  }
  str_add(w->out, n ? " }, " : "\"\" }, ");
}

/* Of the sizes, "n=1000" or "emu n=1000", those for that use. */
static size_t sizes_for(const gen_plain_writer *w, const char *key, gen_plain_text *out) {
  const size_t n = strlen(key);
  size_t count = 0;
  for (size_t i = 0; i < w->x->n_sizes; i++) {
    const gen_plain_text *s = &w->x->sizes[i];
    const size_t first = strcspn(s->p, " =");
    if (s->p[first] == '=' || (first == n && !memcmp(s->p, key, n))) {
      out[count] = *s;
      out[count++].p += s->p[first] == '=' ? 0 : n + 1;
    }
  }
  return count;
}

static void add_sizes(gen_plain_writer *w) {
  static const char *const keys[] = {"emu", "test", "bench"};
  gen_plain_text list[GEN_PLAIN_MAX];
  gen_plain_start(w, w->x->n_sizes ? w->x->sizes[0].at : (gen_plain_place){0});
  str_add(w->out, "  sizes = { ");
  for (int i = 0; i < 3; i++) {
    add_texts(w, keys[i], list, sizes_for(w, keys[i], list));
  }
  str_add(w->out, "},\n");
}

static void add_head(gen_plain_writer *w) {
  const gen_plain *x = w->x;
  gen_plain_line(w, "return {");
  gen_plain_start(w, x->name.at);
  str_addf(w->out, "  name = \"%s\", version = 1, brief = ", x->name.p);
  gen_plain_quote(w->out, x->brief.p              ? x->brief.p
                          : x->stages[0].kernel.p ? x->stages[0].kernel.p
                                                  : "");
  str_add(w->out, ",\n");
  gen_plain_start(w, x->n_folders ? x->folders[0].at : (gen_plain_place){0});
  str_add(w->out, "  plain = true,");
  if (x->n_replaced) {
    str_add(w->out, " ");
    add_texts(w, "replace", x->replaced, x->n_replaced);
  }
  if (x->n_folders) {
    str_add(w->out, " ");
    add_texts(w, "include", x->folders, x->n_folders);
  }
  str_add(w->out, "\n");
}

static int write(gen_plain_writer *w) {
  add_head(w);
  TRY(add_fields(w));
  TRY(add_args(w));
  TRY(add_space(w));
  add_derived(w);
  add_requires(w);
  TRY(add_default(w));
  add_scratch(w, false);
  TRY(gen_plain_add_stages(w, w->x->stages, w->x->n_stages, false));
  add_options(w, false);
  add_source(w);
  TRY(add_reference(w));
  add_tolerance(w);
  add_one(w, "flops", &w->x->flops, "0");
  add_one(w, "bytes", &w->x->bytes, traffic(w));
  add_sizes(w);
  gen_plain_line(w, "}");
  return w->out->failed ? err_nomem(w->e) : 0;
}

int gen_plain_lua(const gen_plain *x, arena *a, str *out, gen_plain_place **places, size_t *n,
                  err *e) {
  gen_plain_writer w = {.x = x, .a = a, .out = out, .e = e};
  w.places = ARENA_ARRAY(a, gen_plain_place, MAX_LINES);
  TRY(w.places ? 0 : err_nomem(e));
  const int rc = write(&w);
  *places = w.places;
  *n = w.n_places;
  return rc;
}
