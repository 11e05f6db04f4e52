#define _GNU_SOURCE
#include "t1.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "c_name.h"
#include "dtype.h"
#include "file.h"
#include "spec.h"
#include "t1_job.h"

enum { MAX_LINES = 512, MAX_NBYTES = 64 << 20 };

const char *t1_text(const json_t *object, const char *key, const char *other) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : other;
}

int t1_add_line(t1_job *j, const char *format, ...) {
  char *text;
  va_list ap;
  va_start(ap, format);
  const int n = vasprintf(&text, format, ap);
  va_end(ap);
  if (n < 0) {
    return err_nomem(j->e);
  }
  const bool room = j->n_lines < MAX_LINES;
  j->lines[j->n_lines] = room ? arena_text(j->a, text) : NULL;
  free(text);
  if (!room) {
    return BAD(j, "more than %d parameters, conditions and arguments", MAX_LINES);
  }
  return j->lines[j->n_lines++] ? 0 : err_nomem(j->e);
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* A lone /, of real numbers; a plain file's expressions have whole ones. */
static bool divides(const char *python) {
  for (const char *p = python; (p = strchr(p, '/')); p++) {
    if (p[1] != '/') {
      return true;
    }
    p++;
  }
  return false;
}

static int check_division(t1_job *j, const char *what, const char *python) {
  return divides(python)
             ? BAD(j, "%s: write // for the division of whole numbers in \"%.200s\"", what, python)
             : 0;
}

const gen_param *t1_find_param(const t1_job *j, const char *name, size_t n) {
  for (size_t i = 0; i < j->space->n_params; i++) {
    const gen_param *p = &j->space->params[i];
    if (strlen(p->name) == n && !memcmp(p->name, name, n)) {
      return p;
    }
  }
  return NULL;
}

/* ProblemSize or ProblemSize[i]; false: there is no such number. */
static bool problem_size(const t1_job *j, size_t i, json_int_t *out) {
  const json_t *size = json_object_get(j->kernel, "ProblemSize");
  const json_t *side = json_is_array(size) ? json_array_get(size, i) : i ? NULL : size;
  *out = json_integer_value(side);
  return json_is_integer(side);
}

/* max(NAME) and min(NAME) of a parameter's values; its length, 0: something else stands here. */
static size_t extreme_length(const t1_job *j, const char *p, int64_t *out) {
  const bool max = !strncmp(p, "max(", 4);
  const size_t n = max || !strncmp(p, "min(", 4) ? strcspn(p + 4, ")") : 0;
  const gen_param *param = n && p[4 + n] ? t1_find_param(j, p + 4, n) : NULL;
  if (!param || param->values[0].s) {
    return 0;
  }
  *out = param->values[0].i;
  for (size_t i = 1; i < param->n; i++) {
    const int64_t v = param->values[i].i;
    *out = max == (v > *out) ? v : *out;
  }
  return n + 5;
}

/* ProblemSize[1]; its length. */
static size_t size_length(const t1_job *j, const char *p, json_int_t *out) {
  static const char word[] = "ProblemSize";
  const size_t n = sizeof word - 1;
  char *end = NULL;
  if (strncmp(p, word, n)) {
    return 0;
  }
  const size_t i = p[n] == '[' ? strtoul(p + n + 1, &end, 10) : 0;
  const bool ok = !end || *end == ']';
  return ok && problem_size(j, i, out) ? (end ? (size_t)(end + 1 - p) : n) : 0;
}

/* A name of BenchmarkConfig that is no parameter; its length. */
static size_t config_length(const t1_job *j, const char *p, json_int_t *out) {
  const size_t n = c_name_length(p);
  char name[64] = "";
  if (n && n < sizeof name) {
    memcpy(name, p, n);
  }
  const json_t *value = json_object_get(j->config, name);
  *out = json_integer_value(value);
  return json_is_integer(value) && !t1_find_param(j, name, n) ? n : 0;
}

/* With numbers in place of what the lines have no word for. */
static void resolve(const t1_job *j, const char *p, str *out) {
  while (*p) {
    json_int_t whole = 0;
    int64_t extreme = 0;
    size_t n = size_length(j, p, &whole);
    n = n ? n : config_length(j, p, &whole);
    if (n) {
      str_addf(out, "%lld", (long long)whole);
    } else if ((n = extreme_length(j, p, &extreme))) {
      str_addf(out, "%lld", (long long)extreme);
    } else {
      for (n = 1; c_name_has(*p) && c_name_has(p[n]); n++) {
      }
      str_add_n(out, p, n);
    }
    p += n;
  }
}

/* A number, or Python that gives one, as the lines have it. */
int t1_number(t1_job *j, const char *what, const json_t *value, const char **out) {
  auto_str python = {0}, lua = {0};
  err why = {0};
  if (json_is_integer(value)) {
    str_addf(&lua, "%lld", (long long)json_integer_value(value));
  } else if (json_is_real(value)) {
    str_addf(&lua, "%.17g", json_real_value(value));
  } else if (json_is_string(value)) {
    resolve(j, json_string_value(value), &python);
    TRY(check_division(j, what, str_text(&python)));
    if (python_number(str_text(&python), j->names, j->n_names, &lua, &why)) {
      return BAD(j, "%s: %s", what, why.message);
    }
  } else {
    return BAD(j, "%s is missing, or is no number", what);
  }
  *out = lua.failed ? NULL : arena_text(j->a, str_text(&lua));
  return *out ? 0 : err_nomem(j->e);
}

/* ---- space ----------------------------------------------------------------------------------- */

/* The index of the value given as Default; 0 where it is none of the values. */
static uint16_t given_index(const gen_param *p, const json_t *given) {
  auto_str text = {0};
  if (json_is_string(given)) {
    str_add(&text, json_string_value(given));
  } else if (json_is_integer(given)) {
    str_addf(&text, "%lld", (long long)json_integer_value(given));
  }
  for (size_t i = 0; i < p->n; i++) {
    auto_str value = {0};
    gen_add_value(&p->values[i], &value);
    if (!strcmp(str_text(&value), str_text(&text))) {
      return (uint16_t)i;
    }
  }
  return 0;
}

/* The given Defaults need not meet the conditions: else the first values, else the first valid
 * point. */
static int choose_default(const t1_job *j, const json_t *list, gen_config *c) {
  auto_space *valid = NULL;
  gen_config_default(j->space, c);
  for (size_t i = 0; i < j->space->n_params; i++) {
    c->index[i] =
        given_index(&j->space->params[i], json_object_get(json_array_get(list, i), "Default"));
  }
  if (!gen_config_check(j->g, c, NULL)) {
    return 0;
  }
  gen_config_default(j->space, c);
  if (!gen_config_check(j->g, c, NULL)) {
    return 0;
  }
  TRY(gen_space_new(j->g, &valid, j->e));
  gen_space_at(valid, 0, c);
  return 0;
}

static int add_params(t1_job *j, const json_t *space) {
  gen_config c;
  TRY(choose_default(j, json_object_get(space, "TuningParameters"), &c));
  for (size_t i = 0; i < j->space->n_params; i++) {
    const gen_param *p = &j->space->params[i];
    auto_str line = {0};
    for (size_t k = 0; k < p->n; k++) {
      str_add(&line, k ? "," : "");
      gen_add_value(&p->values[k], &line);
    }
    str_add(&line, " default ");
    gen_add_value(&p->values[c.index[i]], &line);
    j->names[j->n_names++] = (python_name){p->name, p->values[0].s != NULL};
    TRY(t1_add_line(j, "param %s=%s", p->name, str_text(&line)));
  }
  return 0;
}

/* spec_parse has translated each before. */
static int add_conditions(t1_job *j, const json_t *space) {
  const json_t *list = json_object_get(space, "Conditions");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *c = json_array_get(list, i);
    const char *python = t1_text(c, "Expression", json_string_value(c));
    auto_str lua = {0};
    TRY(check_division(j, "a condition", python));
    TRY(python_condition(python, j->names, j->n_names, &lua, j->e));
    TRY(t1_add_line(j, "require %s", str_text(&lua)));
  }
  return 0;
}

static bool mentions(const char *text, const char *word) {
  const size_t n = strlen(word);
  for (const char *p = text; (p = strstr(p, word)); p++) {
    if ((p == text || !c_name_has(p[-1])) && !c_name_has(p[n])) {
      return true;
    }
  }
  return false;
}

/* Macros that BAT defines for every variant, and the one by which texts tell Kernel Tuner. */
static int add_macros(t1_job *j) {
  const char *key;
  json_t *value;
  json_object_foreach(j->config, key, value) {
    const bool wanted = json_is_integer(value) && mentions(str_text(&j->kernel_text), key) &&
                        !t1_find_param(j, key, strlen(key));
    TRY(wanted ? t1_add_line(j, "option -D%s=%lld", key, (long long)json_integer_value(value)) : 0);
  }
  return mentions(str_text(&j->kernel_text), "kernel_tuner")
             ? t1_add_line(j, "option -Dkernel_tuner=1")
             : 0;
}

/* ---- launch ---------------------------------------------------------------------------------- */

static const char *const sides[] = {"X", "Y", "Z"};

/* The product of GridDivX; Kernel Tuner takes the block's width where there is none. */
static int add_divisor(t1_job *j, size_t side, str *out) {
  char key[16];
  snprintf(key, sizeof key, "GridDiv%s", sides[side]);
  const json_t *list = json_object_get(j->kernel, key);
  if (!json_array_size(list)) {
    str_add(out, list || side ? "1" : "block_size_x");
    return 0;
  }
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *factor;
    TRY(t1_number(j, key, json_array_get(list, i), &factor));
    str_addf(out, "%s(%s)", i ? " * " : "", factor);
  }
  return 0;
}

static int add_sides(t1_job *j, const char *key, const char *const parts[3]) {
  return t1_add_line(j, "%s %s, %s, %s", key, parts[0], parts[1], parts[2]);
}

/* The expressions of GlobalSize or LocalSize; 1 where there is none. */
static int read_sides(t1_job *j, const char *key, const char *parts[3]) {
  const json_t *size = json_object_get(j->kernel, key);
  if (!json_object_get(size, "X")) {
    return BAD(j, "KernelSpecification has no %s with an X", key);
  }
  for (size_t i = 0; i < 3; i++) {
    const json_t *side = json_object_get(size, sides[i]);
    parts[i] = "1";
    TRY(side ? t1_number(j, key, side, &parts[i]) : 0);
  }
  return 0;
}

static int divided_grid(t1_job *j, const char *parts[3]) {
  for (size_t i = 0; i < 3; i++) {
    json_int_t size;
    auto_str divisor = {0};
    if (!problem_size(j, i, &size)) {
      size = 1;
      str_add(&divisor, "1");
    } else {
      TRY(add_divisor(j, i, &divisor));
    }
    parts[i] = arena_format(j->a, "ceildiv(%lld, %s)", (long long)size, str_text(&divisor));
    TRY(parts[i] ? 0 : err_nomem(j->e));
  }
  return 0;
}

static int global_grid(t1_job *j, const char *const block[3], const char *parts[3]) {
  TRY(read_sides(j, "GlobalSize", parts));
  if (strcasecmp(t1_text(j->kernel, "GlobalSizeType", "CUDA"), "OpenCL") != 0) {
    return 0;
  }
  for (size_t i = 0; i < 3; i++) {
    parts[i] = arena_format(j->a, "ceildiv(%s, %s)", parts[i], block[i]);
    TRY(parts[i] ? 0 : err_nomem(j->e));
  }
  return 0;
}

/* Shared memory of a launch is for kernels that declare such. */
static int add_shared(t1_job *j) {
  const json_t *size = json_object_get(j->kernel, "SharedMemory");
  const char *text;
  if (!strstr(str_text(&j->kernel_text), "extern __shared__") || !size || json_is_null(size)) {
    return 0;
  }
  TRY(t1_number(j, "SharedMemory", size, &text));
  return t1_add_line(j, "shared %s", text);
}

static int add_launch(t1_job *j) {
  const char *name = t1_text(j->kernel, "KernelName", NULL), *block[3], *grid[3];
  json_int_t size;
  if (!name) {
    return BAD(j, "KernelSpecification has no KernelName");
  }
  TRY(t1_add_line(j, "kernel %s", name));
  TRY(read_sides(j, "LocalSize", block));
  TRY(problem_size(j, 0, &size) ? divided_grid(j, grid) : global_grid(j, block, grid));
  TRY(add_sides(j, "grid", grid));
  TRY(add_sides(j, "block", block));
  return add_shared(j);
}

/* ---- compiler options ------------------------------------------------------------------------ */

/* The device says for which architecture; -O3 is the default of device code. */
static bool is_idle(const char *option) {
  static const char *const idle[] = {"-arch", "--gpu-architecture", "-gencode", "--generate-code",
                                     "-O"};
  for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
    if (!strncmp(option, idle[i], strlen(idle[i]))) {
      return true;
    }
  }
  return false;
}

/* value: of an option that takes the next word; NULL: it is one word */
static int add_option(t1_job *j, const char *word, const char *value) {
  if (!strncmp(word, "-I", 2)) {
    return t1_add_line(j, "include %s", value ? value : word + 2);
  }
  if (value) {
    return t1_add_line(j, "option --ptxas-options=%s", value);
  }
  return is_idle(word) ? 0 : t1_add_line(j, "option %s", word);
}

static bool takes_word(const char *option) {
  return !strcmp(option, "-Xptxas") || !strcmp(option, "--ptxas-options") || !strcmp(option, "-I");
}

/* "-Xptxas -dlcm=cg" is two words, and may be one text. */
static int add_options(t1_job *j) {
  const json_t *list = json_object_get(j->kernel, "CompilerOptions");
  auto_str all = {0};
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *text = json_string_value(json_array_get(list, i));
    str_addf(&all, "%s ", text ? text : "");
  }
  char *rest = arena_text(j->a, str_text(&all));
  for (char *word; rest && (word = strtok_r(rest, " ", &rest));) {
    TRY(add_option(j, word, takes_word(word) ? strtok_r(rest, " ", &rest) : NULL));
  }
  return rest ? 0 : err_nomem(j->e);
}

/* ---- the kernel's file ----------------------------------------------------------------------- */

/* Beside the description, or in the folder above it, as Kernel Tuner looks for it. */
static int find_kernel_file(t1_job *j, const char **out) {
  const char *name = t1_text(j->kernel, "KernelFile", NULL), *slash = strrchr(j->path, '/');
  const char *language = t1_text(j->kernel, "Language", "CUDA");
  if (strcmp(language, "CUDA") != 0) {
    return BAD(j, "the kernel's Language is %.40s; CUDA is what can be tuned", language);
  }
  const size_t n = name ? strlen(name) : 0;
  if (n < 4 || strcmp(name + n - 3, ".cu") != 0 || *name == '/' || strstr(name, "..")) {
    return BAD(j,
               "the KernelFile is to be a .cu file beside this one, or in a folder there, not "
               "'%.100s'",
               name ? name : "");
  }
  const int folder = slash ? (int)(slash + 1 - j->path) : 0;
  *out = arena_format(j->a, "%.*s%s", folder, j->path, name);
  const char *above = arena_format(j->a, "%.*s../%s", folder, j->path, name);
  TRY(*out && above ? 0 : err_nomem(j->e));
  *out = access(*out, F_OK) && !access(above, F_OK) ? above : *out;
  if (!strchr(*out, '/')) { /* a path, not a family */
    *out = arena_format(j->a, "./%s", *out);
  }
  return *out ? file_read(*out, MAX_NBYTES, &j->kernel_text, j->e) : err_nomem(j->e);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int write_lines(t1_job *j, const json_t *root, t1_problem *out) {
  const json_t *space = json_object_get(root, "ConfigurationSpace");
  j->kernel = json_object_get(root, "KernelSpecification");
  j->config = json_object_get(root, "BenchmarkConfig");
  if (!json_is_object(j->kernel)) {
    return BAD(j, "it has no KernelSpecification: autotune spec counts its space");
  }
  TRY(find_kernel_file(j, &out->kernel_file));
  TRY(add_params(j, space));
  TRY(add_conditions(j, space));
  TRY(add_launch(j));
  TRY(t1_add_arguments(j));
  TRY(add_options(j));
  TRY(add_macros(j));
  out->lines = j->lines;
  out->n_lines = j->n_lines;
  return 0;
}

int t1_parse(const char *path, const char *text, size_t n, arena *a, t1_problem *out, err *e) {
  spec space;
  t1_job j = {.path = path, .a = a, .e = e};
  int rc = spec_parse(path, text, n, &space, e);
  if (!rc) {
    json_t *root = json_loadb(text, n, 0, NULL); /* spec_parse has read it */
    j.space = space.t;
    j.g = space.g;
    j.lines = ARENA_ARRAY(a, const char *, MAX_LINES + 1);
    rc = j.lines && root ? write_lines(&j, root, out) : err_nomem(e);
    json_decref(root);
  }
  spec_close(&space);
  str_clear(&j.kernel_text);
  return rc;
}

int t1_open(const char *path, arena *a, t1_problem *out, err *e) {
  auto_str text = {0};
  TRY(file_read(path, MAX_NBYTES, &text, e));
  return t1_parse(path, str_text(&text), text.n, a, out, e);
}

int t1_is_path(const char *name) {
  const size_t n = strlen(name);
  return n > 5 && !strcmp(name + n - 5, ".json");
}
