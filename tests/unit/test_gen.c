/* test_gen.c -- the generator's stages: template, problem, configuration, source, plan, data.
 * `test_gen --update` rewrites the golden sources in tests/unit/golden/; review their diff. */
#define _GNU_SOURCE
#include "gen_fixture.h"

static bool update;

/* ---- templates ------------------------------------------------------------------------------- */

TEST(the_small_template_is_what_it_says) {
  gen_template *t;
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
  gen_close(t);
}

TEST(the_typed_call_is_read) {
  gen_template *t;
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
  gen_close(t);
}

TEST(equal_text_has_equal_hash) {
  gen_template *a, *b, *c;
  err e = {0};
  assert_ok(mini_open(NULL, "", "", &a, &e), &e);
  assert_ok(mini_open(NULL, "", "", &b, &e), &e);
  assert_ok(mini_open(NULL, "version = 3", "version = 4", &c, &e), &e);
  assert_string_equal(a->hash, b->hash);
  assert_string_not_equal(a->hash, c->hash);
  gen_close(a);
  gen_close(b);
  gen_close(c);
}

static bool is_family(const gen_options *o, const char *name) {
  arena a = {0};
  err e = {0};
  const char *const *names;
  size_t n, found = 0;
  assert_ok(gen_families(o, &a, &names, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    found += !strcmp(names[i], name);
    assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
  }
  arena_clear(&a);
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
  arena a = {0};
  const char *const *names;
  size_t n;
  assert_fails(gen_families(&nowhere, &a, &names, &n, &e), &e, ERR_IO, "/nowhere");
  arena_clear(&a);
}

/* Every template that is built in must open, and its default be valid for its own sizes. */
static void check_sizes(const gen_template *t, const char *const *sizes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    street s = street_open(t->name, sizes[i]);
    assert_ok(gen_config_check(s.g, &s.c, &s.e), &s.e);
    street_close(&s);
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
  str out = {0};
  assert_ok(gen_problem_parse(t, text, &p, &e), &e);
  gen_problem_text(t, &p, &out);
  assert_string_equal(str_text(&out), canonical);
  str_clear(&out);
}

TEST(problems_have_one_text) {
  gen_template *t;
  err e = {0};
  assert_ok(mini_open(NULL, "", "", &t, &e), &e);
  problem_is(t, "", "mini n=100 kind=fast type=f32");
  problem_is(t, "mini", "mini n=100 kind=fast type=f32");
  problem_is(t, " kind=safe\tn=0x10 ", "mini n=16 kind=safe type=f32");
  problem_is(t, "mini n=2", "mini n=2 kind=fast type=f64");
  problem_is(t, "n=2^33 type=f64", "mini n=8589934592 kind=fast type=f64");
  problem_is(t, "mini n=8589934592 kind=fast type=f64", "mini n=8589934592 kind=fast type=f64");
  gen_close(t);
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
  gen_template *t;
  gen_problem p;
  err e = {0};
  assert_ok(mini_open(NULL, "", "", &t, &e), &e);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_fails(gen_problem_parse(t, wrong[i][0], &p, &e), &e, ERR_USAGE, wrong[i][1]);
  }
  gen_close(t);
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
  gen_template *t;
  gen_config c;
  err e = {0};
  str out = {0};
  assert_ok(mini_open(NULL, "", "", &t, &e), &e);
  assert_ok(gen_config_parse(t, "MODE=wide, B=64", &c, &e), &e);
  gen_config_text(t, &c, &out);
  assert_string_equal(str_text(&out), "B=64,MODE=wide");
  str_reset(&out);
  assert_ok(gen_config_parse(t, "", &c, &e), &e);
  gen_config_text(t, &c, &out);
  assert_string_equal(str_text(&out), "B=32,MODE=plain");
  str_clear(&out);
  assert_fails(gen_config_parse(t, "B=33", &c, &e), &e, ERR_USAGE, "B=33: B is one of 32, 64, 128");
  assert_fails(gen_config_parse(t, "MODES=wide", &c, &e), &e, ERR_USAGE, "did you mean 'MODE'?");
  assert_fails(gen_config_parse(t, "B", &c, &e), &e, ERR_USAGE, "'B' is not of the form");
  assert_fails(gen_config_parse(t, "B=32,B=32", &c, &e), &e, ERR_USAGE, "twice");
  gen_close(t);
}

TEST(a_rejected_configuration_says_why) {
  street s = street_mini("", "", "");
  assert_ok(gen_config_check(s.g, &s.c, &s.e), &s.e);
  assert_ok(gen_config_parse(s.t, "B=128,MODE=wide", &s.c, &s.e), &s.e);
  assert_fails(gen_config_check(s.g, &s.c, &s.e), &s.e, ERR_USAGE, "too wide (TILE <= 256)");
  street_close(&s);
}

/* ---- sources --------------------------------------------------------------------------------- */

TEST(sources_carry_their_lines_and_their_origin) {
  street s = street_mini("", "", "n=7");
  str out = {0}, wanted = {0};
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
  str_clear(&out);
  str_clear(&wanted);
  street_close(&s);
}

/* Body of the source, which is the caller's to free. */
static char *body_of(street *s) {
  str out = {0};
  size_t body;
  assert_ok(gen_source_make(s->g, &s->c, &out, &body, &s->e), &s->e);
  char *copy = strdup(out.p + body);
  str_clear(&out);
  return copy;
}

static void source_is(const char *text, const char *wanted) {
  street s = street_mini(MINI_BODY, text, "");
  char *body = body_of(&s);
  char *first = strstr(body, "\"\n"); /* of #line */
  assert_non_null(first);
  assert_string_equal(first + 2, wanted);
  free(body);
  street_close(&s);
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
  street s = street_mini("last TILE MODE_wide", "last TILES MODES", "");
  char *plain = body_of(&s);
  assert_null(strstr(plain, "constexpr"));
  assert_ok(gen_config_parse(s.t, "MODE=wide", &s.c, &s.e), &s.e);
  char *wide = body_of(&s);
  assert_string_equal(plain, wide);
  free(plain);
  free(wide);
  street_close(&s);
}

TEST(sizes_do_not_change_the_body) {
  street a = street_open("saxpy", "n=1000"), b = street_open("saxpy", "n=123456 align=1");
  char *x = body_of(&a), *y = body_of(&b);
  assert_string_equal(x, y);
  free(x);
  free(y);
  street_close(&a);
  street_close(&b);
}

/* What one instance or configuration leaves behind must not reach the next. */
TEST(instances_of_a_template_do_not_mix) {
  street a = street_open("saxpy", "n=1000");
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
  street_close(&a);
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
  str out = {0};
  size_t n;
  assert_fails(gen_source_make(s.g, &s.c, &out, &n, &s.e), &s.e, ERR_TEMPLATE, "broken");
  assert_string_equal(s.e.place, folder_path("part.cuh:1"));
  str_clear(&out);
  street_close(&s);
}

static void golden(const char *problem, const char *config, const char *path) {
  str out = {0}, wanted = {0};
  size_t body;
  err e = {0};
  street s = street_open("saxpy", problem);
  assert_ok(gen_config_parse(s.t, config, &s.c, &e), &e);
  assert_ok(gen_source_make(s.g, &s.c, &out, &body, &e), &e);
  if (update) {
    assert_ok(file_write(path, out.p, out.n, &e), &e);
  }
  assert_ok(file_read(path, 1 << 20, &wanted, &e), &e);
  assert_string_equal(out.p, wanted.p);
  str_clear(&out);
  str_clear(&wanted);
  street_close(&s);
}

TEST(golden_sources_are_as_they_were) {
  golden("n=2^24", "", "tests/unit/golden/saxpy.cu");
  golden("n=1000000", "BLOCK=128,VEC=4,COARSE=2,ORDER=contiguous",
         "tests/unit/golden/saxpy_vec4.cu");
}

/* ---- plans and data -------------------------------------------------------------------------- */

TEST(plans_hold_what_is_launched) {
  street s = street_mini("", "", "n=1000 kind=safe");
  const gen_plan *p;
  assert_ok(gen_config_parse(s.t, "B=64,MODE=wide", &s.c, &s.e), &s.e);
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->n, 2);
  assert_int_equal(p->n_workspaces, 1);
  assert_int_equal(p->workspaces[0], 4 * 4);
  assert_true(p->flops == 1000 && p->bytes == 8000);
  assert_int_equal(p->values[0], 1000);
  const gen_launch *set = &p->launches[0], *run = &p->launches[1];
  assert_null(set->kernel);
  assert_int_equal(set->fill, 255);
  assert_int_equal(set->nbytes, 16);
  assert_int_equal(set->operands[0].from, GEN_FROM_WORKSPACE);
  assert_string_equal(run->kernel, "twice");
  assert_int_equal(run->grid[0], 4);
  assert_int_equal(run->grid[2], 1);
  assert_int_equal(run->block[0], 64);
  assert_int_equal(run->smem, 256);
  assert_int_equal(run->n_operands, 6);
  assert_int_equal(run->operands[3].index, 3);
  assert_int_equal(run->operands[5].from, GEN_FROM_VALUE);
  assert_int_equal(run->operands[5].nbytes, 4);
  assert_int_equal(run->operands[5].bits, 256);
  assert_ok(gen_reference_plan(s.g, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->n, 1);
  assert_int_equal(p->launches[0].grid[0], 1000);
  street_close(&s);
}

TEST(plans_tell_the_work_of_a_block) {
  street s = street_mini("smem = '4 * B'", "smem = '4 * B', work = { 'n / 8', 'TILE' }", "n=100");
  const gen_plan *p;
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  const double *work = p->launches[p->n - 1].work;
  assert_true(work[0] == 12.5 && work[1] == 32 && work[2] == 0 && work[3] == 0);
  street_close(&s);
  s = street_mini("smem = '4 * B'", "smem = '4 * B', work = 'n'", "n=100");
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_true(p->launches[p->n - 1].work[0] == 100);
  street_close(&s);
}

TEST(plans_describe_tensors) {
  street s = street_mini("{ 'i32', 'TILE' }",
                         "{ tensor = 'x', dims = { 'n', 3 }, strides = { '2 * n' }, "
                         "box = { 'B', 2 }, swizzle = 32 }",
                         "n=1000 kind=safe");
  const gen_plan *p;
  gen_texts texts;
  assert_ok(gen_config_parse(s.t, "B=64,MODE=wide", &s.c, &s.e), &s.e);
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->launches[1].operands[5].from, GEN_FROM_TENSOR);
  const gen_tensor *x = p->launches[1].operands[5].tensor;
  assert_int_equal(x->at.from, GEN_FROM_ARG);
  assert_string_equal(s.t->args[x->at.index].name, "x");
  assert_int_equal(x->type, DTYPE_f32);
  assert_int_equal(x->rank, 2);
  assert_int_equal(x->dims[0], 1000);
  assert_int_equal(x->dims[1], 3);
  assert_int_equal(x->strides[0].bits, 2000);
  assert_int_equal(x->box[0], 64);
  assert_int_equal(x->box[1], 2);
  assert_int_equal(x->swizzle, 32);
  assert_ok(gen_texts_make(s.t, &s.a, &texts, &s.e), &s.e);
  assert_string_equal(texts.launches[1].operands[5].tensor->strides[0].value, "2 * n");
  street_close(&s);
}

TEST(a_box_too_large_is_refused) {
  street s = street_mini("{ 'i32', 'TILE' }", "{ tensor = 'x', dims = { 'n' }, box = { '8 * B' } }",
                         "n=1000 kind=safe");
  const gen_plan *p;
  assert_ok(gen_config_parse(s.t, "B=64,MODE=wide", &s.c, &s.e), &s.e);
  assert_fails(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e, ERR_TEMPLATE,
               "a side of a tensor's box is 512; it can be 1 to 256");
  street_close(&s);
}

TEST(an_empty_problem_launches_nothing) {
  street s = street_mini("", "", "n=0 kind=safe");
  const gen_plan *p;
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->n, 0);
  street_close(&s);
}

TEST(launches_beyond_the_limits_are_refused) {
  static const char *const wrong[][3] = {
      {"block = { 'B', 1 }", "block = { 'B', 64 }",
       "a block of 2048 threads; the device allows 1024"},
      {"block = { 'B', 1 }", "block = { 'B', 1, 65 }", "block.z is 65; it can be 1 to 64"},
      {"block = { 'B', 1 }", "block = 'B - 32'", "block.x is 0; it can be 1 to 1024"},
      {"grid = 'ceildiv(n, TILE)'", "grid = { 1, '2^16' }",
       "grid.y is 65536; it can be 0 to 65535"},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n - 101'", "grid.x is -1; it can be 0 to"},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n / 7'", "a whole number is needed, not 14.2857"},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n // (B - 32)'",
       "division by zero, in \"n // (B - 32)\""},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n > 3 and kind or n'",
       "a whole number is needed, not 'fast'"},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n > 3 or n'",
       "a whole number is needed, not a condition"},
      {"grid = 'ceildiv(n, TILE)'", "grid = '(n > 3 or n) + 1'",
       "+: a number is needed, not a condition"},
      {"smem = '4 * B'", "smem = 'B * 2^20'", "smem is 33554432; it can be 0 to 232448"},
      {"smem = '4 * B'", "work = { 1, 'n - 101' }", "a block's work is -1; it can be 0 or more"},
      {"smem = '4 * B'", "work = 'n / 0'", "a block's work is inf; it can be 0 or more"},
      {"{ 'i32', 'TILE' }", "{ 'u8', 'TILE * 8' }", "256 does not fit u8"},
      {"{ 'i32', 'TILE' }", "{ 'u8', '-1' }", "-1 does not fit u8"},
      {"{ 'i32', 'TILE' }", "{ 'u8', 'n > 3 and kind or n' }", "a number is needed, not 'fast'"},
      {"'ceildiv(n, TILE)' } },", "'n - 200' } },", "the count is -100"},
      {"when = \"kind == 'safe'\"", "when = 'n < 3 or n'", "a condition is needed, not 100"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    street s = street_mini(wrong[i][0], wrong[i][1], "");
    const gen_plan *p;
    assert_fails(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e, ERR_TEMPLATE, wrong[i][2]);
    assert_true(strstr(s.e.place, "mini.lua:2") != NULL);
    street_close(&s);
  }
}

TEST(data_follow_the_case) {
  street s = street_mini("", "", "n=100");
  const gen_data *d;
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[0].bits, 100);
  assert_int_equal(d->args[1].type, DTYPE_f32);
  assert_int_equal(d->args[1].bits, 0x40000000);
  assert_int_equal(d->args[2].count, 100);
  assert_false(d->args[2].overwritten);
  assert_int_equal(d->args[2].fill, GEN_FILL_UNIFORM);
  assert_true(d->args[2].a == -1 && d->args[2].b == 1);
  assert_true(d->args[3].overwritten);
  assert_true(d->tolerance_abs == 10.0 / (1 << 24) && d->tolerance_rel == 0);
  assert_ok(gen_data_make(s.g, 1, &s.a, &d, &s.e), &s.e);
  assert_true(dtype_decode(DTYPE_f32, d->args[1].bits) == 12.5);
  assert_fails(gen_data_make(s.g, 2, &s.a, &d, &s.e), &s.e, ERR_USAGE, "no case 2");
  street_close(&s);
}

/* With the kernel right before, or, first of all, with the caller's; where the template says so. */
TEST(launches_may_overlap) {
  static const struct {
    const char *problem, *overlap, *early;
    bool first, second;
  } cases[] = {{"kind=fast", "B == 32", "B > 32", false, true},
               {"kind=fast", "B > 32", "B == 32", true, false},
               {"kind=safe", "B == 32", "B == 32", false, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char stage[400];
    const gen_plan *p;
    snprintf(stage, sizeof stage,
             "{ kernel = 'again', overlap = '%s', early = '%s', grid = 1, block = 1,\n"
             "      args = { 'n' } },\n"
             "    { kernel = 'more', overlap = '%s', early = 'true', grid = 1, block = 1,\n"
             "      args = { 'n' } },\n"
             "    { kernel = 'twice', grid =",
             cases[i].overlap, cases[i].early, cases[i].overlap);
    street s = street_mini("{ kernel = 'twice', grid =", stage, cases[i].problem);
    assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
    assert_int_equal(p->n, strstr(cases[i].problem, "safe") ? 4 : 3);
    const gen_launch *last = p->launches + p->n;
    assert_int_equal(last[-3].overlap, cases[i].first);
    assert_int_equal(last[-2].overlap, cases[i].second);
    assert_false(last[-1].overlap);
    street_close(&s);
  }
}

TEST(fills_are_told) {
  static const char *const odd[] = {"0", "2.5", "65", "-1"};
  const gen_data *d;
  street s = street_mini("{ 'uniform', -1, 1 }", "{ 'bits', 'n // 10' }", "n=30");
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[2].fill, GEN_FILL_BITS);
  assert_true(d->args[2].a == 3);
  street_close(&s);
  s = street_mini("{ 'uniform', -1, 1 }", "{ 'ramp', 'n', -2 }", "n=30");
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[2].fill, GEN_FILL_RAMP);
  assert_true(d->args[2].a == 30 && d->args[2].b == -2);
  street_close(&s);
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    char text[40];
    snprintf(text, sizeof text, "{ 'bits', %s }", odd[i]);
    s = street_mini("{ 'uniform', -1, 1 }", text, "");
    assert_fails(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e, ERR_TEMPLATE, "from 1 to 64");
    street_close(&s);
  }
}

/* Leading dimensions: a count reads scalars, and a case changes them. */
TEST(counts_see_the_scalars_of_their_case) {
  street s = street_mini("{ 'x', 'type', 'in', count = 'n', fill = { 'uniform', -1, 1 } },\n"
                         "    { 'y', 'type', 'out', count = 'n' },",
                         "{ 'ld', 'i64', sample = 'n + 1' }, { 'beta', 'f32', sample = 0 },\n"
                         "{ 'x', 'i32', 'inout', count = 'ld * 2', fill = { 'constant', 'ld' },\n"
                         "  overwritten = 'beta == 0' }, { 'y', 'i32', 'out', count = 1 },",
                         "n=10");
  const gen_data *d;
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[4].count, 22);
  assert_true(d->args[4].overwritten);
  assert_true(d->args[4].a == 11);
  street_close(&s);
  s = street_mini("cases = { {}, { factor = 'n / 8' } }",
                  "cases = { {}, { factor = 'n' }, { factor = -0.5 } }", "");
  assert_int_equal(s.t->n_cases, 3);
  assert_ok(gen_data_make(s.g, 2, &s.a, &d, &s.e), &s.e);
  assert_true(dtype_decode(DTYPE_f32, d->args[1].bits) == -0.5);
  street_close(&s);
}

/* A matrix without columns has no elements, nor has one whose columns are empty. */
TEST(lines_of_nothing_count_nothing) {
  static const struct {
    const char *count, *problem;
    uint64_t n;
  } cases[] = {
      {"ld * max(0, n - 1) + 7", "n=3", 2 * 9 + 7},
      {"ld * max(0, n - 1) + 7", "n=1", 7},
      {"ld * max(0, n - 1) + 7", "n=0", 0},
      {"ld * max(0, sel(kind == 'fast', 4, n) - 1) + sel(kind == 'fast', n, 4)", "n=5", 3 * 9 + 5},
      {"ld * max(0, sel(kind == 'fast', 4, n) - 1) + sel(kind == 'fast', n, 4)", "n=0", 0},
      {"ld * max(0, sel(kind == 'fast', 4, n) - 1) + sel(kind == 'fast', n, 4)", "n=0 kind=safe",
       0},
      {"ld*max(0,(n+1)-1)+n-2", "n=4", 4 * 9 + 2},
      /* these are something else */
      {"ld * max(0, n - 2) + 7", "n=0", 7},
      {"ld * max(0, n * -1) + 7", "n=0", 7},
      {"ld * max(1, n - 1) + 7", "n=0", 9 + 7},
      {"ld * max(0, n - 1, 2) + 7", "n=0", 2 * 9 + 7},
      {"4 * max(0, n - 1) + 7", "n=0", 7},
      {"7 + ld * max(0, n - 1)", "n=0", 7},
      {"max(0, n - 1)", "n=4", 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char args[300];
    const gen_data *d;
    snprintf(args, sizeof args,
             "{ 'ld', 'i64', sample = 9 },\n"
             "    { 'x', 'type', 'in', count = \"%s\", fill = { 'uniform', -1, 1 } },",
             cases[i].count);
    street s = street_mini("{ 'x', 'type', 'in', count = 'n', fill = { 'uniform', -1, 1 } },", args,
                           cases[i].problem);
    assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
    if (d->args[3].count != cases[i].n) {
      fail_msg("%s, %s: %llu", cases[i].count, cases[i].problem,
               (unsigned long long)d->args[3].count);
    }
    street_close(&s);
  }
}

/* What is compiled when it is needed is the same: digest, configuration, source, plan. */
static void describe_untuned(const gen_options *o, const char *family, str *out) {
  street s = {0};
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
  street_close(&s);
}

TEST(lazy_templates_make_the_same) {
  const gen_options lazy = {.lazy = true};
  arena a = {0};
  const char *const *families;
  size_t n;
  err e = {0};
  assert_ok(gen_families(NULL, &a, &families, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    str early = {0}, late = {0};
    describe_untuned(NULL, families[i], &early);
    describe_untuned(&lazy, families[i], &late);
    assert_string_equal(str_text(&early), str_text(&late));
    str_clear(&early);
    str_clear(&late);
  }
  arena_clear(&a);
}

int main(int argc, char **argv) {
  update = argc > 1 && !strcmp(argv[1], "--update");
  return tests_run_with(NULL, folder_make, folder_remove);
}
