#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_kernel.h"
#include "t1_job.h"

static const struct {
  const char *name, *type;
} types[] = {{"bool", "u8"},    {"int8", "i8"},    {"byte", "i8"},   {"uint8", "u8"},
             {"int16", "i16"},  {"uint16", "u16"}, {"int32", "i32"}, {"int", "i32"},
             {"uint32", "u32"}, {"uint", "u32"},   {"int64", "i64"}, {"uint64", "u64"},
             {"half", "f16"},   {"float", "f32"},  {"double", "f64"}};

/* float4 is four elements of float. */
static int read_type(t1_job *j, const json_t *arg, const char **type, int *n) {
  const char *text = t1_text(arg, "Type", "none");
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const size_t length = strlen(types[i].name);
    if (!strncmp(text, types[i].name, length)) {
      const int width = text[length] ? atoi(text + length) : 1;
      char again[40];
      snprintf(again, sizeof again, width > 1 ? "%s%d" : "%s", types[i].name, width);
      if (width >= 1 && width <= 16 && !strcmp(again, text)) {
        *type = types[i].type;
        *n = width;
        return 0;
      }
    }
  }
  return BAD(j, "argument '%.60s': the type '%.40s' has no counterpart",
             t1_text(arg, "Name", "without a name"), text);
}

/* FillValue, whole for whole numbers. */
static int fill_value(t1_job *j, const json_t *arg, const char *type, const char **out) {
  const json_t *value = json_object_get(arg, "FillValue");
  if (!value) {
    *out = "0";
    return 0;
  }
  if (json_is_real(value) && *type != 'f') {
    *out = arena_format(j->a, "%.0f", json_real_value(value));
    return *out ? 0 : err_nomem(j->e);
  }
  return t1_number(j, "FillValue", value, out);
}

static int fill_of(t1_job *j, const json_t *arg, const char *type, const char **out) {
  const char *kind = t1_text(arg, "FillType", "Constant"), *value;
  const char *source = t1_text(arg, "DataSource", "");
  if (!strcmp(kind, "Random")) {
    *out = *type == 'f' ? "normal(0,1)" : "uniform(0,100)";
    return 0;
  }
  if (!strcmp(kind, "Constant")) {
    TRY(fill_value(j, arg, type, &value));
    *out = arena_format(j->a, "constant(%s)", value);
    return *out ? 0 : err_nomem(j->e);
  }
  if (!strcmp(kind, "BinaryRaw") && *source) {
    *out = arena_format(j->a, "file(%s)", source);
    return *out ? 0 : err_nomem(j->e);
  }
  if (!strcmp(kind, "Generator") && !strcmp(source, "i")) {
    *out = "ramp(0,1)";
    return 0;
  }
  return BAD(
      j,
      "argument '%.60s': the FillType %.40s%s%.60s is not supported; Constant, Random, BinaryRaw and "
      "the Generator \"i\" are",
      t1_text(arg, "Name", ""), kind, *source ? " of " : "", source);
}

static const char *direction_of(const json_t *arg) {
  const char *access = t1_text(arg, "AccessType", "ReadWrite");
  return !strcmp(access, "ReadOnly") ? "in" : !strcmp(access, "WriteOnly") ? "out" : "inout";
}

static int add_vector(t1_job *j, const json_t *arg, const char *name, const char *type, int width) {
  const bool constant = !strcmp(t1_text(arg, "MemType", ""), "Constant") ||
                        !strcmp(t1_text(arg, "MemoryType", ""), "Symbol");
  const char *count, *fill, *direction = direction_of(arg);
  TRY(t1_number(j, "Size", json_object_get(arg, "Size"), &count));
  TRY(fill_of(j, arg, type, &fill));
  char factor[16] = "";
  snprintf(factor, sizeof factor, width > 1 ? "%d * " : "", width);
  if (constant) {
    TRY(t1_add_line(j, "constant %s:%s[%s(%s)]:%s", name, type, factor, count, fill));
    return j->constants_are_passed
               ? t1_add_line(j, "arg %s_argument:%s[%s(%s)]:in:%s", name, type, factor, count, fill)
               : 0;
  }
  return !strcmp(direction, "out")
             ? t1_add_line(j, "arg %s:%s[%s(%s)]:out", name, type, factor, count)
             : t1_add_line(j, "arg %s:%s[%s(%s)]:%s:%s", name, type, factor, count, direction,
                           fill);
}

static int add_argument(t1_job *j, const json_t *arg, size_t i) {
  const char *memory = t1_text(arg, "MemoryType", "Vector"), *type = "", *value, *name;
  int width = 1;
  name = t1_text(arg, "Name", NULL);
  name = name && !t1_find_param(j, name, strlen(name)) ? name : arena_format(j->a, "arg%zu", i + 1);
  TRY(name ? 0 : err_nomem(j->e));
  TRY(read_type(j, arg, &type, &width));
  if (!strcmp(memory, "Vector") || !strcmp(memory, "Symbol")) {
    return add_vector(j, arg, name, type, width);
  }
  if (strcmp(memory, "Scalar") != 0 || width > 1) {
    return BAD(j, "argument '%.60s': a %.40s of %.40s is not supported", name, memory,
               t1_text(arg, "Type", ""));
  }
  TRY(fill_value(j, arg, type, &value));
  return t1_add_line(j, "arg %s:%s=%s", name, type, value);
}

int t1_add_arguments(t1_job *j) {
  const json_t *list = json_object_get(j->kernel, "Arguments");
  if (!json_is_array(list)) {
    return BAD(j, "KernelSpecification has no list of Arguments");
  }
  j->constants_are_passed =
      c_kernel_parameters(str_text(&j->kernel_text), t1_text(j->kernel, "KernelName", "")) ==
      (int)json_array_size(list);
  for (size_t i = 0; i < json_array_size(list); i++) {
    TRY(add_argument(j, json_array_get(list, i), i));
  }
  return 0;
}
