/* test_gen_source_errors.c -- errors of a source that come when it is made: they name its own lines. */
#define _GNU_SOURCE
#include "gen_fixture.h"

/* A lazily opened template reports what only Lua's compiler finds at first use, in the same
 * words. */
static void told_at_use(const char *what, const char *with) {
  const gen_options lazy = {.lazy = true};
  err early = {0};
  auto_street s = {0};
  auto_str out = {0};
  size_t body;
  assert_int_equal(mini_open(NULL, what, with, &s.t, &early), ERR_TEMPLATE);
  assert_ok(mini_open(&lazy, what, with, &s.t, &s.e), &s.e);
  street_start(&s, "");
  for (int i = 0; i < 2; i++) { /* again, too */
    err e = {0};
    int rc = gen_config_check(s.g, &s.c, &e);
    rc = rc ? rc : gen_source_make(s.g, &s.c, &out, &body, &e);
    assert_int_equal(rc, ERR_TEMPLATE);
    assert_string_equal(e.message, early.message);
    assert_string_equal(e.place, early.place);
  }
}

TEST(lazy_templates_tell_it_at_use) {
  told_at_use("first @{B}", "first @{B");
  told_at_use("first @{B}", "first @{B +}");
  told_at_use("@ end\n", "@ end end\n");
  told_at_use("@ end\n", "\n");
}

static void source_fails(const char *line, const char *words, int at) {
  auto_street s = street_mini("first @{B}", line, "");
  auto_str out = {0};
  size_t body;
  char place[160];
  assert_fails(gen_source_make(s.g, &s.c, &out, &body, &s.e), &s.e, ERR_TEMPLATE, words);
  snprintf(place, sizeof place, "%s:%d", folder_path("mini.lua"), at);
  assert_string_equal(s.e.place, place);
  assert_int_equal(out.n, 0);
}

TEST(sources_that_fail_say_where) {
  source_fails("first @{BB}", "there is no 'BB' here; did you mean 'B'?", 30);
  source_fails("\n\n@ local x = y", "there is no 'y' here", 32);
  source_fails("@ local function f()\n@   error('inside')\n@ end\n@ f()", "inside", 31);
  source_fails("@ error('without a place', 0)", "without a place", 30);
  source_fails("@{nil}", "is nil, which has no text", 30);
  source_fails("@{({}).x}", "is nil, which has no text", 30);
  source_fails("@{{}}", "is table, which has no text", 30);
  source_fails("\n@{n // (B - B)}", "division by zero", 31);
  source_fails("@{1/0}", "not a finite number", 30);
  source_fails("@{tostring({})}", "a table has no text", 30);
  source_fails("@{('%s'):format(print)}", "there is no 'print' here", 30);
  source_fails("@{('%s'):format(ipairs)}", "a function has no text", 30);
  source_fails("@{('%5p'):format('x')}", "%p is not available", 30);
  source_fails("@{dev_sm}", "did you mean 'dev_sms'?", 30);
}

/* Parameters are constants: the preprocessor does not know them. */
TEST(directives_cannot_test_or_define_parameters) {
  source_fails("#if B > 32", "#if B: this is a parameter and not a macro; for the preprocessor",
               30);
  source_fails("\n#if 1 /* B */\n  # elif !defined(TILE)", "#elif TILE: this is a derived value",
               32);
  source_fails("#ifndef MODE", "#ifndef MODE: this is a parameter", 30);
  source_fails("#if MODE_wide", "#if MODE_wide: this is a parameter's value", 30);
  source_fails("#if KIND == KIND_fast", "#if KIND: this is a field", 30);
  source_fails("#if n > 5", "#if n: this is a field", 30);
  source_fails("#if dev_cc >= 90", "#if dev_cc: this is a device limit", 30);
  source_fails("#if 1 && \\\n B", "#if B: this is", 30);
  source_fails("/* B\n */\n#define W(x) (x > B)\n#define V W(3)\n\n#if V", "#if B: this is", 35);
  source_fails("#define B 64", "#define B: this is a parameter and not a macro; its value", 30);
  source_fails("#undef KIND", "#undef KIND: this is a field", 30);
  source_fails("@ for i = 1, 2 do\n#define TILE @{i}\n@ end", "#define TILE: this is", 31);
}

static void source_is_made(const char *line, const char *reference) {
  auto_street s =
      street_mini(reference ? "reference @{n}" : "first @{B}", reference ? reference : line, "");
  auto_str out = {0};
  size_t body;
  int rc = reference ? gen_reference_source(s.g, &out, &body, &s.e)
                     : gen_source_make(s.g, &s.c, &out, &body, &s.e);
  assert_ok(rc, &s.e);
}

TEST(options_are_checked_with_their_values) {
  auto_street s = street_mini("cases = {", "options = { { '-DX=', \"'a b'\" } }, cases = {", "");
  auto_str out = {0};
  size_t body;
  assert_fails(gen_source_make(s.g, &s.c, &out, &body, &s.e), &s.e, ERR_TEMPLATE,
               "'-DX=a b' is not a compiler option");
  assert_string_equal(s.e.place, folder_path("mini.lua:40"));
}

TEST(directives_may_name_parameters_otherwise) {
  source_is_made("#if __CUDA_ARCH__ >= 900 // B\n#define WIDE B * 2 /* B", NULL);
  source_is_made("/* the text\n#if B\n*/ \"/*\" // /*\n#pragma unroll B", NULL);
  source_is_made("#define n 3\n#if n > 2\n#define X B\n#if defined(X)\n#endif\n#endif", NULL);
  source_is_made("#define B_wide 0xB\n#if B_wide == 0xB\n#endif", NULL);
  source_is_made(NULL, "#define B 32\\n#if B > 5\\n#endif"); /* it has no parameters */
}

int main(void) {
  return tests_run_with(NULL, folder_make, folder_remove);
}
