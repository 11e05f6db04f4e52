/* test_spec.c -- T1 files: Python's expressions as Lua, and their spaces. */
#define _GNU_SOURCE
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include "c_kernel.h"
#include "gen_space.h"
#include "python.h"
#include "file.h"
#include "spec.h"
#include "t1.h"
#include "gen.h"

/* ---- expressions ----------------------------------------------------------------------------- */

static const python_name names[] = {{"x", false}, {"y", false}, {"s", true}};

static void check_condition(const char *python, const char *lua) {
  auto_str out = {0};
  err e = {0};
  if (python_condition(python, names, 3, &out, &e)) {
    fail_msg("%s: %s", python, e.message);
  }
  assert_string_equal(str_text(&out), lua);
}

TEST(conditions_become_lua) {
  check_condition("x % y == 0", "((x % y) == 0)");
  check_condition("32 <= x * y <= 1024", "((32 <= (x * y)) and ((x * y) <= 1024))");
  check_condition("x", "(x ~= 0)");
  check_condition("not x or y % 2", "((not (x ~= 0)) or ((y % 2) ~= 0))");
  check_condition("x and not y == 3", "((x ~= 0) and (not (y == 3)))");
  check_condition("s != 'half' or x**2 > -y", "((s ~= 'half') or ((x ^ 2) > (-y)))");
  check_condition("x in [1, 2] and y not in (3,)", "(((x == 1 or x == 2)) and (not (y == 3)))");
  check_condition("x // 2 == True", "((x // 2) == sel(true, 1, 0))");
  check_condition("(1 if x > 2 else y) > 1", "((sel((x > 2), 1, y)) > 1)");
  check_condition("max([x, y]) + int(x / 2) < 0x10", "((max(x, y) + floor((x / 2))) < 16)");
  check_condition("-x ** 2 < 1 - 2 - 3", "((-(x ^ 2)) < ((1 - 2) - 3))");
  check_condition("(x == 1) == (y == 2)", "(sel(((x == 1)), 1, 0) == sel(((y == 2)), 1, 0))");
}

TEST(what_is_not_understood_is_named) {
  static const char *const wrong[][2] = {{"x ==", "unexpected end"},
                                         {"x = 1", "unsupported Python: '='"},
                                         {"z > 1", "unknown parameter 'z'"},
                                         {"x > 1)", "unexpected ')'"},
                                         {"f(x) > 1", "unknown function: 'f'"},
                                         {"x < 'a'", "cannot compare these by '<'"},
                                         {"x in y", "a list in brackets"},
                                         {"(x, y) == 1", "a tuple"},
                                         {"s + 1 == 2", "numbers are needed on both sides of '+'"},
                                         {"lambda: 1", "unsupported Python: ':'"},
                                         {"x > 1; y", "unsupported Python: ';'"},
                                         {"'abc", "unsupported Python: ''"},
                                         {"1e400x", "unexpected"},
                                         {"", "unexpected end"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    auto_str out = {0};
    err e = {0};
    assert_fails(python_condition(wrong[i][0], names, 3, &out, &e), &e, ERR_USAGE, wrong[i][1]);
  }
  auto_str deep = {0}, out = {0};
  err e = {0};
  for (int i = 0; i < 5000; i++) {
    str_add(&deep, "(");
  }
  assert_fails(python_condition(deep.p, names, 3, &out, &e), &e, ERR_USAGE, "too deep");
}

/* ---- files ----------------------------------------------------------------------------------- */

#define HEAD                                                                                       \
  "{\"General\": {\"BenchmarkName\": \"toy\"}, \"ConfigurationSpace\": {\"TuningParameters\": ["
#define PARAM(name, values)                                                                        \
  "{\"Name\": \"" name "\", \"Type\": \"int\", \"Values\": " values ", \"Default\": 99}"

/* A T1 file of parameters, {name, values}, up to NULL, and conditions. Values are Python in a string,
 * or after "=" a list of JSON. */
static void t1(str *out, const char *const (*parameters)[2], const char *const *conditions) {
  str_reset(out);
  str_add(out, HEAD);
  for (size_t i = 0; parameters[i][0]; i++) {
    const char *values = parameters[i][1], *quote = *values == '=' ? "" : "\"";
    str_addf(out, "%s{\"Name\": \"%s\", \"Type\": \"int\", \"Values\": %s%s%s, \"Default\": 99}",
             i ? "," : "", parameters[i][0], quote, values + !*quote, quote);
  }
  str_add(out, "], \"Conditions\": [");
  for (size_t i = 0; conditions[i]; i++) {
    str_addf(out, "%s{\"Expression\": \"%s\"}", i ? "," : "", conditions[i]);
  }
  str_add(out, "]}}");
}

static spec open_text(const char *text) {
  spec s;
  err e = {0};
  assert_ok(spec_parse("toy.json", text, strlen(text), &s, &e), &e);
  return s;
}

TEST(lists_of_values_are_made) {
  static const char *const parameters[][2] = {{"a", "[1, 2, 4] + list(range(8, 21, 4))"},
                                              {"b", "[2**i for i in range(0, 5) if i % 2 == 0]"},
                                              {"c", "=[3, 1]"},
                                              {"d", "['x', 'y']"},
                                              {"e", "[True, False]"},
                                              {"f", "range(3, 0, -1)"},
                                              {NULL}};
  auto_str text = {0};
  t1(&text, parameters, (const char *const[]){NULL});
  spec s = open_text(str_text(&text));
  static const int64_t a[] = {1, 2, 4, 8, 12, 16, 20}, b[] = {1, 4, 16}, f[] = {3, 2, 1};
  assert_string_equal(s.name, "toy");
  assert_int_equal(s.t->params[0].n, 7);
  for (size_t i = 0; i < 7; i++) {
    assert_int_equal(s.t->params[0].values[i].i, a[i]);
  }
  assert_int_equal(s.t->params[1].n, 3);
  assert_int_equal(s.t->params[5].n, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(s.t->params[1].values[i].i, b[i]);
    assert_int_equal(s.t->params[5].values[i].i, f[i]);
  }
  assert_int_equal(s.t->params[2].values[0].i, 3);
  assert_string_equal(s.t->params[3].values[1].s, "y");
  assert_int_equal(s.t->params[4].values[0].i, 1);
  spec_close(&s);
}

TEST(broken_files_are_told) {
  static const char *const wrong[][2] = {
      {"[", "not JSON"},
      {"{}", "not T1"},
      {HEAD "{\"Name\": \"a b\"}]}}", "not an identifier"},
      {HEAD "{\"Name\": \"a\"}]}}", "no list of values"},
      {HEAD PARAM("a", "\"1\"") "]}}", "values of 'a': a list is needed"},
      {HEAD PARAM("a", "\"[]\"") "]}}", "the list of values is empty"},
      {HEAD PARAM("a", "\"[0.5]\"") "]}}", "whole"},
      {HEAD PARAM("a", "\"range(10**9)\"") "]}}", ""},
      {HEAD PARAM("min", "\"[1]\"") "]}}", "min"},
      {HEAD PARAM("a", "\"[1]\"") "], \"Conditions\": [{\"Expression\": \"b > 1\"}]}}",
       "unknown parameter 'b'"},
      {HEAD PARAM("a", "\"[1]\"") "], \"Conditions\": [{}]}}", "no Expression"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    spec s;
    err e = {0};
    assert_int_not_equal(spec_parse("toy.json", wrong[i][0], strlen(wrong[i][0]), &s, &e), 0);
    if (!strstr(e.message, wrong[i][1])) {
      fail_msg("%s: '%s', wanted '%s'", wrong[i][0], e.message, wrong[i][1]);
    }
    assert_non_null(strstr(e.place, "toy.json"));
    spec_close(&s);
  }
}

TEST(a_space_has_the_points_that_trying_all_finds) {
  static const char *const parameters[][2] = {{"MWG", "[16, 32, 64, 128]"},
                                              {"NWG", "[16, 32, 64, 128]"},
                                              {"KWG", "[16, 32]"},
                                              {"MDIMC", "[8, 16, 32]"},
                                              {"NDIMC", "[8, 16, 32]"},
                                              {"MDIMA", "[8, 16, 32]"},
                                              {"NDIMB", "[8, 16, 32]"},
                                              {"VWM", "[1, 2, 4, 8]"},
                                              {"VWN", "[1, 2, 4, 8]"},
                                              {"SA", "[0, 1]"},
                                              {NULL}};
  static const char *const conditions[] = {
      "MWG % (MDIMC * VWM) == 0",
      "NWG % (NDIMC * VWN) == 0",
      "MWG % (MDIMA * VWM) == 0",
      "NWG % (NDIMB * VWN) == 0",
      "KWG % ((MDIMC * NDIMC)/MDIMA) == 0",
      "KWG % ((MDIMC * NDIMC)/NDIMB) == 0",
      "not (MWG == 128 and NWG == 128 and MDIMC == 8 and NDIMC == 8)",
      NULL};
  auto_str text = {0};
  t1(&text, parameters, conditions);
  spec s = open_text(str_text(&text));
  auto_space *space = NULL, *all = NULL;
  gen_config c, d;
  size_t n, k;
  err e = {0};
  assert_ok(gen_space_new(s.g, &space, &e), &e);
  n = gen_space_count(space);
  auto_str brute = {0};
  auto_template *t = NULL;
  gen_problem p;
  gen_instance *g;
  static const gen_number device[] = {
#define LIMIT(name, brief) {#name, 0},
      GEN_DEVICE_LIST(LIMIT)
#undef LIMIT
  };
  assert_ok(spec_template("toy.json", str_text(&text), text.n, true, &brute, &e), &e);
  assert_ok(gen_open_text(NULL, "toy.json", brute.p, brute.n, &t, &e), &e);
  assert_ok(gen_problem_parse(t, "", &p, &e), &e);
  assert_ok(gen_instance_new(t, &p, device, sizeof device / sizeof *device, &g, &e), &e);
  assert_ok(gen_space_by_loops(g, &all, &e), &e);
  assert_int_equal(gen_space_count(all), n);
  assert_int_equal(n, 116928 / 8); /* the GEMM of CLBlast without STRM, STRN and SB */
  for (size_t i = 0; i < n; i++) {
    gen_space_at(space, i, &c);
    gen_space_at(all, i, &d);
    assert_memory_equal(c.index, d.index, sizeof c.index);
    assert_true(gen_space_find(space, &d, &k) && k == i);
  }
  gen_instance_free(g);
  spec_close(&s);
}

/* The four files of benchmark_hub and the number of configurations that Kernel Tuner finds in them;
 * needs TUNED_SPACES, the folder that has them. */
TEST_WHERE(getenv("TUNED_SPACES"), the_files_of_the_hub_have_their_counts) {
  static const struct {
    const char *file;
    size_t n;
  } hub[] = {{"convolution_milo", 4362},
             {"dedispersion_milo", 11130},
             {"gemm_milo", 116928},
             {"hotspot_milo", 82984}};
  for (size_t i = 0; i < sizeof hub / sizeof *hub; i++) {
    char path[300];
    spec s;
    auto_space *space = NULL;
    err e = {0};
    snprintf(path, sizeof path, "%s/t1/%s.json", getenv("TUNED_SPACES"), hub[i].file);
    assert_ok(spec_open(path, &s, &e), &e);
    assert_ok(gen_space_new(s.g, &space, &e), &e);
    assert_int_equal(gen_space_count(space), hub[i].n);
    spec_close(&s);
  }
}

/* ---- as lines of a plain CUDA file ------------------------------------------------------------- */

#define PARAMS                                                                                     \
  PARAM("block_size_x", "[32, 64]") "," PARAM("tile", "[1, 2, 4]") "," PARAM("width", "[3, 15]")
#define T1(rest)                                                                                   \
  HEAD PARAMS                                                                                      \
      "], \"Conditions\": [{\"Expression\": \"block_size_x * tile < 256 and tile != 3\"}]}, "      \
      "\"KernelSpecification\": {\"KernelFile\": \"test_spec_kernel.cu\", " rest "}}"
#define LAUNCH "\"KernelName\": \"k\", \"LocalSize\": {\"X\": \"block_size_x\", \"Y\": \"1\"}, "

#define LAUNCH_OF_ONE                                                                              \
  "\"KernelName\": \"k\", \"LocalSize\": {\"X\": \"a\"}, \"GlobalSize\": {\"X\": 1}, "

static const char *kernel_text = "extern __shared__ float s[];\n";

static int t1_lines(const char *text, arena *a, t1_problem *out, err *e) {
  assert_ok(file_write("/tmp/test_spec_kernel.cu", kernel_text, strlen(kernel_text), e), e);
  const int rc = t1_parse("/tmp/toy.json", text, strlen(text), a, out, e);
  unlink("/tmp/test_spec_kernel.cu");
  return rc;
}

static void assert_lines(const char *text, const char *const *wanted) {
  auto_arena a = {0};
  t1_problem t;
  err e = {0};
  assert_ok(t1_lines(text, &a, &t, &e), &e);
  assert_string_equal(t.kernel_file, "/tmp/test_spec_kernel.cu");
  for (size_t i = 0; i < t.n_lines; i++) {
    assert_non_null(wanted[i]);
    assert_string_equal(t.lines[i], wanted[i]);
  }
  assert_null(wanted[t.n_lines]);
}

#define SPACE                                                                                      \
  "param block_size_x=32,64 default 32", "param tile=1,2,4 default 1",                             \
      "param width=3,15 default 3", "require (((block_size_x * tile) < 256) and (tile ~= 3))"

TEST(parameters_of_a_kernel_are_counted) {
  static const char text[] =
      "// k(a, b)\nvoid f() { k(1, 2, 3); }\n__global__ void k2(int a);\n"
      "template <int N> __global__ void __launch_bounds__(64) k( // a comment, too\n"
      "  pair<int, float> a, float (*b)[2], /* c, d */ int e) { f(g, h); }\n"
      "__global__ void none() {}\n__global__ void also_none(void) {}\n__global__ void open(int a";
  assert_int_equal(c_kernel_parameters(text, "k"), 3);
  assert_int_equal(c_kernel_parameters(text, "k2"), 1);
  assert_int_equal(c_kernel_parameters(text, "none"), 0);
  assert_int_equal(c_kernel_parameters(text, "also_none"), 0);
  assert_int_equal(c_kernel_parameters(text, "open"), 1);
  assert_int_equal(c_kernel_parameters(text, "f"), -1);
  assert_int_equal(c_kernel_parameters(text, ""), -1);
}

/* Kernels of Kernel Tuner take a constant as a parameter, too, which they may leave unused. */
TEST(a_constant_is_passed_where_the_kernel_takes_it) {
  static const char text[] = T1(
      LAUNCH "\"GlobalSize\": {\"X\": 1}, \"Arguments\": ["
             "{\"Name\": \"y\", \"Type\": \"float\", \"AccessType\": \"WriteOnly\", \"Size\": 16},"
             "{\"Name\": \"f\", \"Type\": \"float\", \"MemType\": \"Constant\", \"Size\": 9}]");
  const char *const without[] = {SPACE,
                                 "kernel k",
                                 "grid 1, 1, 1",
                                 "block block_size_x, 1, 1",
                                 "arg y:f32[(16)]:out",
                                 "constant f:f32[(9)]:constant(0)",
                                 NULL};
  const char *const with[] = {SPACE,
                              "kernel k",
                              "grid 1, 1, 1",
                              "block block_size_x, 1, 1",
                              "arg y:f32[(16)]:out",
                              "constant f:f32[(9)]:constant(0)",
                              "arg f_argument:f32[(9)]:in:constant(0)",
                              NULL};
  const char *const plain = kernel_text;
  kernel_text = "__constant__ float f[9];\n__global__ void k(float *y) {}\n";
  assert_lines(text, without);
  kernel_text = "__constant__ float f[9];\n__global__ void k(float *y, float *f) {}\n";
  assert_lines(text, with);
  kernel_text = plain;
}

/* Kernel Tuner's: the grid follows from the problem's size. */
TEST(a_kernel_becomes_lines) {
  static const char text[] =
      T1(LAUNCH
         "\"GlobalSize\": {\"X\": \"1\"}, \"ProblemSize\": [4096, 128], \"GridDivX\": "
         "[\"block_size_x\", \"tile\"], \"SharedMemory\": 512, \"CompilerOptions\": "
         "[\"-std=c++11\", \"-Xptxas -dlcm=cg\", \"-O3\", \"-I include\", \"-arch=sm_80\"], "
         "\"Arguments\": ["
         "{\"Name\": \"n\", \"Type\": \"int32\", \"MemoryType\": \"Scalar\", \"FillValue\": 7.0},"
         "{\"Name\": \"tile\", \"Type\": \"float\", \"MemoryType\": \"Scalar\", "
         "\"FillValue\": 0.25},"
         "{\"Name\": \"x\", \"Type\": \"float4\", \"MemoryType\": \"Vector\", \"AccessType\": "
         "\"ReadOnly\", \"FillType\": \"Random\", \"Size\": \"ProblemSize[1]+max(width)-1\"},"
         "{\"Name\": \"f\", \"Type\": \"float\", \"MemoryType\": \"Vector\", \"MemType\": "
         "\"Constant\", \"FillType\": \"Constant\", \"FillValue\": 2.5, \"Size\": 9},"
         "{\"Name\": \"y\", \"Type\": \"double\", \"MemoryType\": \"Vector\", \"AccessType\": "
         "\"WriteOnly\", \"Size\": 16},"
         "{\"Name\": \"z\", \"Type\": \"int32\", \"MemoryType\": \"Vector\", \"FillType\": "
         "\"Generator\", \"DataSource\": \"i\", \"Size\": 16}]");
  assert_lines(text,
               (const char *const[]){
                   SPACE, "kernel k",
                   "grid ceildiv(4096, (block_size_x) * (tile)), ceildiv(128, 1), ceildiv(1, 1)",
                   "block block_size_x, 1, 1", "shared 512", "arg n:i32=7", "arg arg2:f32=0.25",
                   "arg x:f32[4 * (((128 + 15) - 1))]:in:normal(0,1)",
                   "constant f:f32[(9)]:constant(2.5)", "arg y:f64[(16)]:out",
                   "arg z:i32[(16)]:inout:ramp(0,1)", "option -std=c++11",
                   "option --ptxas-options=-dlcm=cg", "include include", NULL});
}

/* BAT's: blocks, or threads. */
/* Default 8 and 1, then the first values, then the first valid point. */
TEST(defaults_meet_the_conditions) {
  static const char *const cases[][2] = {
      {"a > b", "8"}, {"a == b", "1"}, {"a == 4 and b > 0", "4"}};
  for (size_t i = 0; i < 3; i++) {
    auto_str text = {0}, wanted = {0};
    auto_arena a = {0};
    t1_problem t;
    err e = {0};
    str_addf(
        &text,
        "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"a\", \"Values\": \"[1, 4, "
        "8]\", \"Default\": 8}, {\"Name\": \"b\", \"Values\": \"[1]\", \"Default\": 1}], "
        "\"Conditions\": [{\"Expression\": \"%s\"}]}, \"KernelSpecification\": {" LAUNCH_OF_ONE
        "\"KernelFile\": \"test_spec_kernel.cu\", \"Arguments\": []}}",
        cases[i][0]);
    str_addf(&wanted, "param a=1,4,8 default %s", cases[i][1]);
    assert_ok(t1_lines(str_text(&text), &a, &t, &e), &e);
    assert_string_equal(t.lines[0], str_text(&wanted));
  }
}

TEST(data_may_be_in_a_file) {
  assert_lines(T1(LAUNCH
                  "\"GlobalSize\": {\"X\": 1}, \"Arguments\": [{\"Name\": \"x\", \"Type\": "
                  "\"float\", \"MemoryType\": \"Vector\", \"AccessType\": \"ReadOnly\", \"Size\": "
                  "9, \"FillType\": \"BinaryRaw\", \"DataSource\": \"d/x.bin\"}]"),
               (const char *const[]){SPACE, "kernel k", "grid 1, 1, 1", "block block_size_x, 1, 1",
                                     "arg x:f32[(9)]:in:file(d/x.bin)", NULL});
}

TEST(a_global_size_is_blocks_or_threads) {
  assert_lines(
      T1(LAUNCH "\"GlobalSize\": {\"X\": \"4096 // block_size_x + 1\"}, \"Arguments\": []"),
      (const char *const[]){SPACE, "kernel k", "grid ((4096 // block_size_x) + 1), 1, 1",
                            "block block_size_x, 1, 1", NULL});
  assert_lines(
      T1(LAUNCH "\"GlobalSize\": {\"X\": \"4096\"}, \"GlobalSizeType\": \"OpenCL\", "
                "\"Arguments\": []"),
      (const char *const[]){SPACE, "kernel k",
                            "grid ceildiv(4096, block_size_x), ceildiv(1, 1), ceildiv(1, 1)",
                            "block block_size_x, 1, 1", NULL});
}

TEST(kernels_that_cannot_be_lines_are_refused) {
  static const char *const wrong[][2] = {
      {T1("\"Language\": \"OpenCL\""), "the kernel's Language is OpenCL"},
      {T1("\"Language\": \"CUDA\""), "has no KernelName"},
      {T1("\"KernelName\": \"k\""), "no LocalSize with an X"},
      {T1(LAUNCH "\"Arguments\": []"), "no GlobalSize with an X"},
      {T1(LAUNCH "\"GlobalSize\": {\"X\": \"4096 / tile\"}"), "write // for the division"},
      {T1(LAUNCH "\"GlobalSize\": {\"X\": \"m\"}"), "GlobalSize: unknown parameter 'm'"},
      {T1(LAUNCH "\"GlobalSize\": {\"X\": 1}"), "no list of Arguments"},
      {T1(LAUNCH
          "\"GlobalSize\": {\"X\": 1}, \"Arguments\": [{\"Name\": \"x\", \"Type\": \"custom\"}]"),
       "argument 'x': the type 'custom'"},
      {T1(LAUNCH "\"GlobalSize\": {\"X\": 1}, \"Arguments\": [{\"Type\": \"int8\", \"MemoryType\": "
                 "\"Local\"}]"),
       "a Local of int8 is not supported"},
      {T1(LAUNCH "\"GlobalSize\": {\"X\": 1}, \"Arguments\": [{\"Type\": \"int8\"}]"),
       "Size is missing"},
      {HEAD PARAMS "]}, \"KernelSpecification\": {\"KernelFile\": \"/etc/x.cu\"}}",
       "a .cu file beside this one"},
      {HEAD PARAMS "]}, \"KernelSpecification\": {\"KernelFile\": \"a/../../x.cu\"}}",
       "a .cu file beside this one"},
      {HEAD PARAMS "]}}", "it has no KernelSpecification"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    auto_arena a = {0};
    t1_problem t;
    err e = {0};
    assert_fails(t1_lines(wrong[i][0], &a, &t, &e), &e, ERR_USAGE, wrong[i][1]);
    assert_string_equal(e.place, "/tmp/toy.json");
  }
}

int main(void) {
  return tests_run();
}
