#include "spec.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "python.h"

enum { MAX_NBYTES = 64 << 20 };

typedef struct writer {
  const char *path;
  str *out;
  python_name names[GEN_MAX_PARAMS];
  size_t n;
  bool brute;
} writer;

static int bad(const writer *w, err *e, const char *what, const char *word) {
  return err_at(e, ERR_USAGE, w->path, what, word);
}

static const char *text_of(const json_t *object, const char *key, const char *other) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : other;
}

/* The brackets of a long string in Lua that the text does not contain. */
static void add_quoted(str *out, const char *text) {
  char level[16] = "";
  do {
    strcat(level, "=");
    char end[20];
    snprintf(end, sizeof end, "]%s]", level);
    if (!strstr(text, end)) {
      break;
    }
  } while (strlen(level) < 14);
  str_addf(out, "[%s[%s]%s]", level, text, level);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* A JSON value as Python. */
static void add_value(str *out, const json_t *v) {
  if (json_is_string(v)) {
    str_addf(out, "'%s'", json_string_value(v));
  } else if (json_is_integer(v)) {
    str_addf(out, "%lld", (long long)json_integer_value(v));
  } else if (json_is_real(v)) {
    str_addf(out, "%.17g", json_real_value(v));
  } else {
    str_add(out, json_is_true(v) ? "True" : json_is_false(v) ? "False" : "None");
  }
}

/* The list of values, written as Python in either form. */
static void add_list(str *out, const json_t *values) {
  if (json_is_string(values)) {
    str_add(out, json_string_value(values));
    return;
  }
  str_add(out, "[");
  for (size_t i = 0; i < json_array_size(values); i++) {
    str_add(out, i ? ", " : "");
    add_value(out, json_array_get(values, i));
  }
  str_add(out, "]");
}

static bool is_name(const char *text) {
  size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
  return n && !text[n] && !isdigit((unsigned char)text[0]);
}

static int write_param(writer *w, const json_t *param, err *e) {
  const char *name = text_of(param, "Name", ""), *type = text_of(param, "Type", "int");
  const json_t *values = json_object_get(param, "Values");
  if (!is_name(name)) {
    return bad(w, e, "a tuning parameter has no name, or a name that is not an identifier: '%.60s'",
               name);
  }
  if (w->n == GEN_MAX_PARAMS) {
    return bad(w, e, "%s", "more than 48 tuning parameters");
  }
  if (!json_is_string(values) && !json_is_array(values)) {
    return bad(w, e, "the tuning parameter '%s' has no list of values", name);
  }
  auto_str list = {0};
  add_list(&list, values);
  str_addf(w->out, "    { '%s', ", name);
  err inner = {0};
  int rc = python_list(str_text(&list), w->out, &inner);
  str_add(w->out, " },\n");
  w->names[w->n++] = (python_name){name, !strcmp(type, "string") || !strcmp(type, "str")};
  return rc ? err_at(e, rc, w->path, "values of '%s': %s", name, inner.message) : 0;
}

/* Take the first value of each list: the default of T1 need not be in it. */
static void write_default(writer *w) {
  str_add(w->out, "  default = (function()\n    local d = {}\n"
                  "    for _, p in ipairs(space) do d[p[1]] = p[2][1] end\n"
                  "    return d\n  end)(),\n");
}

/* ---- conditions ------------------------------------------------------------------------------ */

static int write_condition(writer *w, const json_t *condition, err *e) {
  const char *text = text_of(condition, "Expression", json_string_value(condition));
  if (!text) {
    return bad(w, e, "%s", "a condition has no Expression");
  }
  auto_str lua = {0};
  err inner = {0};
  int rc = python_condition(text, w->names, w->n, &lua, &inner);
  str_add(w->out, "    { ");
  add_quoted(w->out, text);
  str_add(w->out, ", ");
  if (w->brute && w->n) {
    const char *last = w->names[w->n - 1].name;
    str_addf(&lua, " and %s == %s", last, last);
  }
  add_quoted(w->out, str_text(&lua));
  str_add(w->out, " },\n");
  w->out->failed = w->out->failed || lua.failed;
  return rc ? err_at(e, rc, w->path, "%s", inner.message) : 0;
}

/* ---- the template ---------------------------------------------------------------------------- */

static int write_space(writer *w, const json_t *root, err *e) {
  const json_t *space = json_object_get(root, "ConfigurationSpace");
  const json_t *params = json_object_get(space, "TuningParameters");
  const json_t *conditions = json_object_get(space, "Conditions");
  if (!json_is_array(params)) {
    return bad(w, e, "%s", "not T1: it has no ConfigurationSpace with TuningParameters");
  }
  str_addf(w->out, "%slocal space = {\n", python_lists);
  for (size_t i = 0; i < json_array_size(params); i++) {
    TRY(write_param(w, json_array_get(params, i), e));
  }
  str_add(w->out, "}\n"
                  "return {\n"
                  "  name = 'spec', version = 1, brief = 'a space', cite = 'T1',\n"
                  "  problem = {}, args = {},\n"
                  "  space = space,\n"
                  "  derive = {},\n"
                  "  require = {\n");
  for (size_t i = 0; i < json_array_size(conditions); i++) {
    TRY(write_condition(w, json_array_get(conditions, i), e));
  }
  str_add(w->out, "  },\n");
  write_default(w);
  str_add(w->out, "  stages = { { kernel = 'none', grid = 1, block = 1, args = {} } },\n"
                  "  source = [[\nextern \"C\" __global__ void none() {}\n]],\n"
                  "  reference = {\n"
                  "    stages = { { kernel = 'none', grid = 1, block = 1, args = {} } },\n"
                  "    source = [[\nextern \"C\" __global__ void none() {}\n]] },\n"
                  "  tolerance = { abs = 0, rel = 0 }, flops = 0, bytes = 0,\n"
                  "  sizes = { emu = { '' }, test = { '' }, bench = { '' } },\n"
                  "}\n");
  return w->out->failed ? err_nomem(e) : 0;
}

static int parse(const char *path, const char *text, size_t n, json_t **root, err *e) {
  json_error_t why;
  *root = json_loadb(text, n, 0, &why);
  if (!*root) {
    char place[200];
    snprintf(place, sizeof place, "%.180s:%d", path, why.line);
    why.text[strcspn(why.text, "\n")] = 0;
    return err_at(e, ERR_USAGE, place, "not JSON: %s", why.text);
  }
  return 0;
}

int spec_template(const char *path, const char *text, size_t n, bool brute, str *out, err *e) {
  json_t *root;
  TRY(parse(path, text, n, &root, e));
  writer w = {.path = path, .out = out, .brute = brute};
  int rc = write_space(&w, root, e);
  json_decref(root);
  return rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void read_names(spec *s, const char *text, size_t n) {
  json_t *root = json_loadb(text, n, 0, NULL);
  const json_t *kernel = json_object_get(root, "KernelSpecification");
  const char *name = text_of(kernel, "BenchmarkName", "");
  name = text_of(json_object_get(root, "General"), "BenchmarkName", name);
  snprintf(s->name, sizeof s->name, "%s", name);
  snprintf(s->kernel, sizeof s->kernel, "%s", text_of(kernel, "KernelName", ""));
  snprintf(s->language, sizeof s->language, "%s", text_of(kernel, "Language", ""));
  json_decref(root);
}

int spec_parse(const char *path, const char *text, size_t n, spec *s, err *e) {
  static const gen_number device[] = {
#define LIMIT(name, brief) {#name, 0},
      GEN_DEVICE_LIST(LIMIT)
#undef LIMIT
  };
  gen_problem p;
  auto_str lua = {0};
  *s = (spec){.name = ""};
  TRY(spec_template(path, text, n, false, &lua, e));
  TRY(gen_open_text(NULL, path, lua.p, lua.n, &s->t, e));
  read_names(s, text, n);
  TRY(gen_problem_parse(s->t, "", &p, e));
  return gen_instance_new(s->t, &p, device, sizeof device / sizeof *device, &s->g, e);
}

int spec_open(const char *path, spec *s, err *e) {
  auto_str text = {0};
  *s = (spec){.name = ""};
  TRY(file_read(path, MAX_NBYTES, &text, e));
  return spec_parse(path, str_text(&text), text.n, s, e);
}

void spec_close(spec *s) {
  gen_instance_free(s->g);
  gen_close(s->t);
  *s = (spec){.name = ""};
}
