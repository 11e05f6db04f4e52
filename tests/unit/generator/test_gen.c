/* test_gen.c -- the generator's stages: template, problem, configuration, source, plan, data.
 * `test_gen --update` rewrites the golden sources in tests/unit/golden/; review their diff. */
#define _GNU_SOURCE
#include "gen_fixture.h"

static bool update;

/* ---- templates ------------------------------------------------------------------------------- */

TEST(the_small_template_is_what_it_says) {
  auto_template *t = NULL;
  err e = {0};
  assert_ok(mini_open(NULL, "", "", &t, &e), &e);
  assert_string_equal(t->name, "mini");
  assert_int_equal(t->version, 3);
  assert_string_equal(t->path, folder_path("mini.lua"));
  assert_int_equal(strlen(t->hash), HASH_TEXT - 1);
  assert_int_equal(t->n_fields, 3);
  assert_int_equal(t->fields[0].max, INT64_C(1) << 33);
  assert_string_equal(t->fields[1].names[1], "safe");
  assert_string_equal(t->fields[1].preset, "'fast'");
  assert_int_equal(t->n_args, 4);
  assert_int_equal(t->args[1].dir, GEN_SCALAR);
  assert_string_equal(t->args[1].sample, "2");
  assert_null(t->args[1].value);
  assert_int_equal(t->args[3].dir, GEN_OUT);
  assert_int_equal(t->n_params, 2);
  assert_int_equal(t->params[0].values[2].i, 128);
  assert_string_equal(t->params[1].values[1].s, "wide");
  assert_string_equal(t->requirements[0].name, "too wide");
  assert_int_equal(t->n_cases, 2);
  assert_int_equal(t->n_sizes_test, 0);
  assert_string_equal(t->sizes_bench[0], "n=2^20 kind=safe");
}

TEST(the_typed_call_is_read) {
  auto_template *t = NULL;
  err e = {0};
  assert_ok(
      mini_open(
          NULL, "  space =",
          "  call = { 'n', 'factor', 'x', 'y', 'kind', type = \"sel(kind == 'safe', 1, 0)\" },\n"
          "  call_require = { { 'none', \"n >= 1\" } },\n  space =",
          &t, &e),
      &e);
  assert_int_equal(t->n_call, 5);
  assert_string_equal(t->call[4], "kind");
  assert_int_equal(t->n_call_fields, 1);
  assert_string_equal(t->call_fields[0].name, "type");
  assert_int_equal(t->n_call_requirements, 1);
  assert_string_equal(t->call_requirements[0].expression, "n >= 1");
}

TEST(equal_text_has_equal_hash) {
  auto_template *a = NULL, *b = NULL, *c = NULL;
  err e = {0};
  assert_ok(mini_open(NULL, "", "", &a, &e), &e);
  assert_ok(mini_open(NULL, "", "", &b, &e), &e);
  assert_ok(mini_open(NULL, "version = 3", "version = 4", &c, &e), &e);
  assert_string_equal(a->hash, b->hash);
  assert_string_not_equal(a->hash, c->hash);
}

static bool is_family(const gen_options *o, const char *name) {
  auto_arena a = {0};
  err e = {0};
  const char *const *names;
  size_t n, found = 0;
  assert_ok(gen_families(o, &a, &names, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    found += !strcmp(names[i], name);
    assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
  }
  assert_true(found <= 1);
  return found == 1;
}

TEST(folders_come_before_what_is_built_in) {
  gen_template *t;
  err e = {0};
  const char *const folders[] = {folder};
  const gen_options o = {.folders = folders, .n_folders = 1};
  folder_write("mini.lua", mini_text, strlen(mini_text));
  folder_write("no template.lua", "", 0);
  assert_true(is_family(NULL, "saxpy"));
  assert_false(is_family(NULL, "mini"));
  assert_true(is_family(&o, "saxpy"));
  assert_true(is_family(&o, "mini"));
  assert_false(is_family(&o, "no template"));
  assert_ok(gen_open(&o, "mini", &t, &e), &e);
  gen_close(t);
  assert_ok(gen_open(&o, "saxpy", &t, &e), &e);
  assert_string_equal(t->path, "templates/saxpy/saxpy.lua");
  gen_close(t);
  folder_write("saxpy.lua", mini_text, strlen(mini_text));
  assert_fails(gen_open(&o, "saxpy", &t, &e), &e, ERR_TEMPLATE, "its name is \"mini\"");
  unlink(folder_path("saxpy.lua"));
  assert_fails(gen_open(&o, "saxpi", &t, &e), &e, ERR_NOTFOUND, "did you mean 'saxpy'?");
  assert_fails(gen_open(NULL, "../saxpy", &t, &e), &e, ERR_NOTFOUND, "../saxpy");
  assert_fails(gen_open(NULL, "none.lua", &t, &e), &e, ERR_NOTFOUND, "none.lua");
  const char *const missing[] = {"/nowhere"};
  const gen_options nowhere = {.folders = missing, .n_folders = 1};
  auto_arena a = {0};
  const char *const *names;
  size_t n;
  assert_fails(gen_families(&nowhere, &a, &names, &n, &e), &e, ERR_IO, "/nowhere");
}

/* Every built-in template opens, and its default is valid for its own sizes. */
static void check_sizes(const gen_template *t, const char *const *sizes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    auto_street s = street_open(t->name, sizes[i]);
    assert_ok(gen_config_check(s.g, &s.c, &s.e), &s.e);
  }
}

TEST(defaults_of_built_in_templates_are_valid) {
  for (const gen_file *f = gen_builtin; f->name; f++) {
    gen_template *t;
    err e = {0};
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(f->name, "."), f->name);
    if (strstr(f->name, ".lua")) {
      assert_ok(gen_open(NULL, name, &t, &e), &e);
      check_sizes(t, t->sizes_emu, t->n_sizes_emu);
      check_sizes(t, t->sizes_test, t->n_sizes_test);
      check_sizes(t, t->sizes_bench, t->n_sizes_bench);
      gen_close(t);
    }
  }
}

/* ---- problems -------------------------------------------------------------------------------- */

static void problem_is(gen_template *t, const char *text, const char *canonical) {
  gen_problem p;
  err e = {0};
  auto_str out = {0};
  assert_ok(gen_problem_parse(t, text, &p, &e), &e);
  gen_problem_text(t, &p, &out);
  assert_string_equal(str_text(&out), canonical);
}

TEST(problems_have_one_text) {
  auto_template *t = NULL;
  err e = {0};
  assert_ok(mini_open(NULL, "", "", &t, &e), &e);
  problem_is(t, "", "mini n=100 kind=fast type=f32");
  problem_is(t, "mini", "mini n=100 kind=fast type=f32");
  problem_is(t, " kind=safe\tn=0x10 ", "mini n=16 kind=safe type=f32");
  problem_is(t, "mini n=2", "mini n=2 kind=fast type=f64");
  problem_is(t, "n=2^33 type=f64", "mini n=8589934592 kind=fast type=f64");
  problem_is(t, "mini n=8589934592 kind=fast type=f64", "mini n=8589934592 kind=fast type=f64");
}

TEST(wrong_problems_are_explained) {
  static const char *const wrong[][2] = {
      {"m=3", "unknown field 'm' of mini; did you mean 'n'? its fields are n kind type"},
      {"sizeofthings=3", "unknown field 'sizeofthings' of mini; its fields are n kind type"},
      {"n=-1", "n=-1 is out of range: n is 0 to 8589934592"},
      {"n=2^34", "out of range: n is 0 to 8589934592"},
      {"n=99999999999999999999", "out of range: n is 0 to 8589934592"},
      {"n=2^999", "n is a whole number, such as 4096, 0x1000, 2^12 or 2^12+1"},
      {"n=many", "n=many: n is a whole number"},
      {"n=1.5", "n is a whole number"},
      {"n=", "n is a whole number"},
      {"n=1 n=1", "the field 'n' is given twice"},
      {"kind=slow", "kind=slow: kind is one of fast, safe"},
      {"kind=", "kind is one of fast, safe"},
      {"100", "'100' is not of the form FIELD=VALUE"},
      {"n=1 mini", "'mini' is not of the form FIELD=VALUE"},
      {"saxpy n=1", "'saxpy' is not of the form FIELD=VALUE"},
  };
  auto_template *t = NULL;
  gen_problem p;
  err e = {0};
  assert_ok(mini_open(NULL, "", "", &t, &e), &e);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_fails(gen_problem_parse(t, wrong[i][0], &p, &e), &e, ERR_USAGE, wrong[i][1]);
  }
}

TEST(problems_are_completed_from_values) {
  gen_template *t;
  err e = {0};
  const bool given[3] = {true, true, false};
  gen_problem p = {{{.i = 3}, {.i = 1}}};
  assert_ok(gen_open(NULL, "saxpy", &t, &e), &e);
  gen_problem q = {{{.i = 6}, {.i = 2}}};
  assert_ok(gen_problem_complete(t, &q, given, &e), &e);
  q.values[1].i = 3;
  assert_fails(gen_problem_complete(t, &q, given, &e), &e, ERR_USAGE, "align is one of 4, 2, 1");
  gen_close(t);
  err_clear(&e);
  assert_ok(mini_open(NULL, "", "", &t, &e), &e);
  assert_ok(gen_problem_complete(t, &p, given, &e), &e);
  assert_string_equal(p.values[1].s, "safe");
  assert_string_equal(p.values[2].s, "f64");
  p.values[1].i = 2;
  assert_fails(gen_problem_complete(t, &p, given, &e), &e, ERR_USAGE, "kind has no value number 2");
  gen_close(t);
}

/* ---- configurations -------------------------------------------------------------------------- */

TEST(configurations_have_one_text) {
  auto_template *t = NULL;
  gen_config c;
  err e = {0};
  auto_str out = {0};
  assert_ok(mini_open(NULL, "", "", &t, &e), &e);
  assert_ok(gen_config_parse(t, "MODE=wide, B=64", &c, &e), &e);
  gen_config_text(t, &c, &out);
  assert_string_equal(str_text(&out), "B=64,MODE=wide");
  str_reset(&out);
  assert_ok(gen_config_parse(t, "", &c, &e), &e);
  gen_config_text(t, &c, &out);
  assert_string_equal(str_text(&out), "B=32,MODE=plain");
  assert_fails(gen_config_parse(t, "B=33", &c, &e), &e, ERR_USAGE, "B=33: B is one of 32, 64, 128");
  assert_fails(gen_config_parse(t, "MODES=wide", &c, &e), &e, ERR_USAGE, "did you mean 'MODE'?");
  assert_fails(gen_config_parse(t, "B", &c, &e), &e, ERR_USAGE, "'B' is not of the form");
  assert_fails(gen_config_parse(t, "B=32,B=32", &c, &e), &e, ERR_USAGE, "twice");
}

TEST(a_rejected_configuration_says_why) {
  auto_street s = street_mini("", "", "");
  assert_ok(gen_config_check(s.g, &s.c, &s.e), &s.e);
  assert_ok(gen_config_parse(s.t, "B=128,MODE=wide", &s.c, &s.e), &s.e);
  assert_fails(gen_config_check(s.g, &s.c, &s.e), &s.e, ERR_USAGE, "too wide (TILE <= 256)");
}

/* ---- sources --------------------------------------------------------------------------------- */

TEST(sources_carry_their_lines_and_their_origin) {
  auto_street s = street_mini("", "", "n=7");
  auto_str out = {0}, wanted = {0};
  size_t body;
  assert_ok(gen_source_make(s.g, &s.c, &out, &body, &s.e), &s.e);
  str_addf(&wanted,
           "// autotune emit %s n=7 kind=fast type=f32 --config B=32,MODE=plain\n"
           "// mini version 3 of %s, %s\n\n"
           "enum { MODE_plain, MODE_wide };\n"
           "constexpr int MODE = MODE_plain;\n"
           "constexpr int TILE = 32;\n"
           "#line 30 \"%s\"\n"
           "first 32\n"
           "#line 32\n"
           "  repeated 1 fast\n"
           "#line 32\n"
           "  repeated 2 fast\n"
           "#line 34\n"
           "last TILE MODE_wide\n",
           s.t->path, s.t->path, s.t->hash, s.t->path);
  assert_string_equal(str_text(&out), wanted.p);
  assert_int_equal(memcmp(out.p + body, "enum {", 6), 0);
  str_reset(&out);
  assert_ok(gen_reference_source(s.g, &out, &body, &s.e), &s.e);
  assert_non_null(strstr(out.p, "// the reference of "));
  assert_non_null(strstr(out.p + body, "reference 7\n"));
}

static void assert_string_starts(const char *text, const char *with) {
  if (strncmp(text, with, strlen(with))) {
    fail_msg("'%.200s' does not start with '%s'", text, with);
  }
}

/* The source's body; the caller frees it. */
static char *body_of(street *s) {
  auto_str out = {0};
  size_t body;
  assert_ok(gen_source_make(s->g, &s->c, &out, &body, &s->e), &s->e);
  char *copy = strdup(out.p + body);
  return copy;
}

static void source_is(const char *text, const char *wanted) {
  auto_street s = street_mini(MINI_BODY, text, "");
  char *body = body_of(&s);
  char *first = strstr(body, "\"\n"); /* of #line */
  assert_non_null(first);
  assert_string_equal(first + 2, wanted);
  free(body);
}

TEST(substitutions_are_cuda) {
  source_is("@{1} @{-7} @{2^3} @{1/3} @{2^70} @{true} @{'a' .. 'b'} @{B // 3}\n",
            "1 -7 8.0 0.3333333333333333 1.1805916207174113e+21 true ab 10\n");
  source_is("@{math.mininteger} @{2^31 | 0}\n", "(-9223372036854775807 - 1) 2147483648\n");
  source_is("@{({a = '}'}).a} a@b @ {\n", "} a@b @ {\n");
  source_is("@{'at the start'}\n  @{'and later'}\n", "at the start\n  and later\n");
  source_is("@ local t = {}\n@ for k in pairs({c = 1, a = 1, b = 1, 7}) do t[#t + 1] = k end\n"
            "@{table.concat(t, ' ')}\n",
            "1 a b c\n");
  source_is("no newline at the end", "no newline at the end\n");
  source_is("@{ceildiv(n, 3) + TILE} @{dev_sms} @{('x'):rep(3)} @{'two\\nlines'}\nnext\n",
            "66 132 xxx two\nlines\n#line 31\nnext\n");
}

TEST(unused_constants_are_left_out) {
  auto_street s = street_mini("last TILE MODE_wide", "last TILES MODES", "");
  char *plain = body_of(&s);
  assert_null(strstr(plain, "constexpr"));
  assert_ok(gen_config_parse(s.t, "MODE=wide", &s.c, &s.e), &s.e);
  char *wide = body_of(&s);
  assert_string_equal(plain, wide);
  free(plain);
  free(wide);
}

/* In the first line of the body, so that keys of images and stored texts have them. */
TEST(compiler_options_stand_in_the_text) {
  static const char options[] = "  options = { '--use_fast_math', { '-maxrregcount=', 'TILE', when "
                                "= 'B > 32' },\n    { '--fmad=', \"MODE == 'wide'\" } },\n"
                                "  source = [[\n";
  auto_street s = street_mini("  source = [[\n", options, "");
  char *body = body_of(&s);
  assert_string_starts(body, "// compiler options: --use_fast_math --fmad=false\n");
  free(body);
  assert_ok(gen_config_parse(s.t, "B=64,MODE=wide", &s.c, &s.e), &s.e);
  body = body_of(&s);
  assert_string_starts(body,
                       "// compiler options: --use_fast_math -maxrregcount=256 --fmad=true\n");
  free(body);
}

/* Texts that are equal but for the options are not taken for each other. */
TEST(compiler_options_change_the_hash) {
  auto_street s =
      street_mini("  source = [[\n" MINI_BODY,
                  "  options = { { '-maxrregcount=', 'TILE' } },\n  source = [[\nx\n", "");
  char hash[HASH_TEXT], again[HASH_TEXT];
  char *body = body_of(&s);
  hash_bytes(body, strlen(body), hash);
  gen_source_remember(s.g, &s.c, hash);
  free(body);
  assert_true(gen_source_hash(s.g, &s.c, again));
  assert_string_equal(hash, again);
  assert_ok(gen_config_parse(s.t, "B=64", &s.c, &s.e), &s.e);
  assert_false(gen_source_hash(s.g, &s.c, again));
}

/* As in a file of CUDA that #ifndef gives defaults. */
TEST(parameters_may_be_macros) {
  auto_street s = street_mini("  source = [[\n" MINI_BODY,
                              "  macros = true,\n  source = [[\n#ifndef B\n#define B 16\n#endif\n"
                              "#if TILE > 32 && MODE == wide\n",
                              "");
  char *body = body_of(&s);
  assert_string_starts(body, "#define B 32\n#define MODE plain\n#define TILE 32\n#line");
  free(body);
}

TEST(sizes_do_not_change_the_body) {
  auto_street a = street_open("saxpy", "n=1000"), b = street_open("saxpy", "n=123456 align=1");
  char *x = body_of(&a), *y = body_of(&b);
  assert_string_equal(x, y);
  free(x);
  free(y);
}

/* Nothing that one instance or configuration leaves behind reaches the next. */
TEST(instances_of_a_template_do_not_mix) {
  auto_street a = street_open("saxpy", "n=1000");
  street b = {.t = a.t};
  street_start(&b, "n=77777 align=2");
  assert_ok(gen_config_parse(b.t, "VEC=2,COARSE=4", &b.c, &b.e), &b.e);
  char *first = body_of(&a), *other = body_of(&b), *second = body_of(&a);
  assert_string_equal(first, second);
  assert_string_not_equal(first, other);
  const gen_plan *p, *q;
  assert_ok(gen_plan_make(b.g, &b.c, &b.a, &q, &b.e), &b.e);
  assert_ok(gen_plan_make(a.g, &a.c, &a.a, &p, &a.e), &a.e);
  assert_int_equal(p->launches[0].grid[0], 4);
  assert_int_equal(q->launches[0].grid[0], 38); /* 77777 / (256 * 2 * 4) */
  free(first);
  free(other);
  free(second);
  arena_clear(&b.a);
  gen_instance_free(b.g);
}

TEST(includes_are_spliced_and_hashed) {
  const char *part = "from the part @{B}\n@ two()\n";
  char hash[HASH_TEXT];
  folder_write("part.cuh", part, strlen(part));
  street s = street_mini(
      "first @{B}\n", "@ local function two() return 2 end\n@include \"part.cuh\"\n@{two()}\n", "");
  char *body = body_of(&s), wanted[600];
  snprintf(wanted, sizeof wanted,
           "#line 1 \"%s/part.cuh\"\nfrom the part 32\n#line 32 \"%s/mini.lua\"\n2\n#line 34\n",
           folder, folder);
  assert_non_null(strstr(body, wanted));
  free(body);
  strcpy(hash, s.t->hash);
  street_close(&s);
  folder_write("part.cuh", "@ error('broken')", 17);
  gen_template *t;
  err e = {0};
  assert_ok(gen_open(NULL, folder_path("mini.lua"), &t, &e), &e);
  assert_string_not_equal(hash, t->hash);
  s = (street){.t = t};
  street_start(&s, "");
  auto_str out = {0};
  size_t n;
  assert_fails(gen_source_make(s.g, &s.c, &out, &n, &s.e), &s.e, ERR_TEMPLATE, "broken");
  assert_string_equal(s.e.place, folder_path("part.cuh:1"));
  street_close(&s);
}

static void golden(const char *problem, const char *config, const char *path) {
  auto_str out = {0}, wanted = {0};
  size_t body;
  err e = {0};
  auto_street s = street_open("saxpy", problem);
  assert_ok(gen_config_parse(s.t, config, &s.c, &e), &e);
  assert_ok(gen_source_make(s.g, &s.c, &out, &body, &e), &e);
  if (update) {
    assert_ok(file_write(path, out.p, out.n, &e), &e);
  }
  assert_ok(file_read(path, 1 << 20, &wanted, &e), &e);
  assert_string_equal(out.p, wanted.p);
}

TEST(golden_sources_are_as_they_were) {
  golden("n=2^24", "", "tests/unit/golden/saxpy.cu");
  golden("n=1000000", "BLOCK=128,VEC=4,COARSE=2,ORDER=contiguous",
         "tests/unit/golden/saxpy_vec4.cu");
}

/* ---- lazy templates ------------------------------------------------------------------------- */

/* A lazily opened template gives the same digest, configuration, source and plan. */
static void describe_untuned(const gen_options *o, const char *family, str *out) {
  auto_street s = {0};
  size_t body;
  const gen_plan *plan;
  assert_ok(gen_open(o, family, &s.t, &s.e), &s.e);
  street_start(&s, "");
  assert_ok(gen_config_untuned(s.g, &s.c, NULL, &s.e), &s.e);
  assert_ok(gen_config_check(s.g, &s.c, &s.e), &s.e);
  assert_ok(gen_source_make(s.g, &s.c, out, &body, &s.e), &s.e);
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &plan, &s.e), &s.e);
  str_addf(out, "%s %.17g %.17g", s.t->hash, plan->flops, plan->bytes);
  for (size_t i = 0; i < plan->n; i++) {
    const gen_launch *l = &plan->launches[i];
    str_addf(out, " %u,%u,%u %u %u", l->grid[0], l->grid[1], l->grid[2], l->block[0], l->smem);
  }
}

TEST(lazy_templates_make_the_same) {
  const gen_options lazy = {.lazy = true};
  auto_arena a = {0};
  const char *const *families;
  size_t n;
  err e = {0};
  assert_ok(gen_families(NULL, &a, &families, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    auto_str early = {0}, late = {0};
    describe_untuned(NULL, families[i], &early);
    describe_untuned(&lazy, families[i], &late);
    assert_string_equal(str_text(&early), str_text(&late));
  }
}

int main(int argc, char **argv) {
  update = argc > 1 && !strcmp(argv[1], "--update");
  return tests_run_with(NULL, folder_make, folder_remove);
}
