/* test_gen_files.c -- templates as files: a folder for each family, device code in .cu files beside
 * the table, #include, fields as constants. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "gen_fixture.h"

static void write_file(const char *name, const char *text) {
  folder_write(name, text, strlen(text));
}

/* Writes the small template as mini/mini.lua, its source in a file. */
static void write_mini(const char *source_key, const char *cu) {
  auto_str text = {0};
  mini_with("source = [[\n" MINI_BODY "]]", source_key, &text);
  write_file("mini/mini.lua", str_text(&text));
  if (cu) {
    write_file("mini/mini.cu", cu);
  }
}

static int make_folders(void **state) {
  return folder_make(state) || mkdir(folder_path("mini"), 0700) ||
         mkdir(folder_path("shared"), 0700) || mkdir(folder_path("shared/parts"), 0700);
}

static int open_mini(gen_template **t, err *e) {
  const char *const folders[] = {folder};
  const gen_options o = {.folders = folders, .n_folders = 1};
  return gen_open(&o, "mini", t, e);
}

static street street_of_mini(const char *problem) {
  street s = {0};
  assert_ok(open_mini(&s.t, &s.e), &s.e);
  street_start(&s, problem);
  return s;
}

/* The emitted text without #line directives. */
static void emit(street *s, str *out) {
  auto_str all = {0};
  size_t body;
  assert_ok(gen_source_make(s->g, &s->c, &all, &body, &s->e), &s->e);
  str_reset(out);
  for (const char *p = str_text(&all) + body, *end; *p; p = end) {
    end = strchrnul(p, '\n');
    end += *end != 0;
    if (strncmp(p, "#line", 5)) {
      str_add_n(out, p, (size_t)(end - p));
    }
  }
}

static void emits(const char *problem, const char *expected) {
  auto_street s = street_of_mini(problem);
  auto_str out = {0};
  emit(&s, &out);
  assert_string_equal(str_text(&out), expected);
}

TEST(a_family_has_a_folder) {
  const char *const folders[] = {folder};
  const gen_options o = {.folders = folders, .n_folders = 1};
  const char *const *names;
  size_t n, found = 0;
  auto_arena a = {0};
  err e = {0};
  write_mini("source = 'mini.cu'", "text\n");
  assert_ok(gen_families(&o, &a, &names, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    found += !strcmp(names[i], "mini");
    assert_string_not_equal(names[i], "shared");
  }
  assert_int_equal(found, 1);
  emits("", "text\n");
}

TEST(a_file_is_part_of_the_digest) {
  auto_template *a = NULL, *b = NULL;
  err e = {0};
  write_mini("source = 'mini.cu'", "one\n");
  assert_ok(open_mini(&a, &e), &e);
  write_mini("source = 'mini.cu'", "two\n");
  assert_ok(open_mini(&b, &e), &e);
  assert_string_not_equal(a->hash, b->hash);
}

TEST(errors_name_the_file) {
  gen_template *t;
  err e = {0}, second = {0};
  write_mini("source = 'none.cu'", NULL);
  assert_fails(open_mini(&t, &e), &e, ERR_TEMPLATE, "cannot include \"none.cu\"");
  assert_string_equal(strrchr(e.place, '/'), "/mini.lua:29");
  write_mini("source = 'mini.cu'", "text\n\n@ if\n");
  assert_fails(open_mini(&t, &second), &second, ERR_TEMPLATE, "");
  assert_string_equal(strrchr(second.place, '/'), "/mini.cu:3");
  write_mini("source = 'mini.cu'", "text\n@{nothing}\n");
  auto_street s = street_of_mini("");
  auto_str out = {0};
  size_t body;
  assert_fails(gen_source_make(s.g, &s.c, &out, &body, &s.e), &s.e, ERR_TEMPLATE, "nothing");
  assert_string_equal(strrchr(s.e.place, '/'), "/mini.cu:2");
}

/* Files are found beside the template, in shared/ beside its folder and in the folders of shared/, and
 * among the built-in ones; each is included once. */
TEST(includes_are_spliced_once) {
  write_file("shared/common.cuh", "#pragma once\ncommon\n");
  write_file("mini/own.cuh", "#pragma once\n#include \"common.cuh\"\nown\n");
  write_mini("source = 'mini.cu'", "#include \"own.cuh\"\n#include \"common.cuh\"\n"
                                   "#include <cuda_fp16.h>\ntext\n");
  emits("", "common\nown\n#include <cuda_fp16.h>\ntext\n");
  write_mini("source = 'mini.cu'",
             "@include \"common.cuh\"\n#include \"own.cuh\"\n#include \"common.cuh\"\ntext\n");
  emits("", "common\nown\ntext\n");
  write_mini("source = 'mini.cu'", "@ if kind == 'safe' then\n#include \"common.cuh\"\n@ end\n"
                                   "text\n#include \"own.cuh\"\n");
  emits("kind=fast", "text\ncommon\nown\n");
  emits("kind=safe", "common\ntext\nown\n");
  write_file("shared/parts/deep.cuh", "#pragma once\n#include \"common.cuh\"\ndeep\n");
  write_mini("source = 'mini.cu'", "#include \"deep.cuh\"\ntext\n");
  emits("", "common\ndeep\ntext\n");
  write_mini("source = 'mini.cu'", "#include \"ticket.cuh\"\n");
  auto_street s = street_of_mini("");
  auto_str out = {0};
  emit(&s, &out);
  assert_non_null(strstr(str_text(&out), "take_ticket"));
}

/* Fields are constants in capitals; types have numbers that all families share. */
TEST(fields_with_names_are_constants) {
  write_mini("source = 'mini.cu'", "if constexpr (KIND == KIND_safe)\n");
  emits("kind=safe", "enum { KIND_fast, KIND_safe };\nconstexpr int KIND = KIND_safe;\n"
                     "if constexpr (KIND == KIND_safe)\n");
  write_mini("source = 'mini.cu'", "element<TYPE>\n");
  emits("type=f64", "enum { TYPE_i8, TYPE_u8, TYPE_i16, TYPE_u16, TYPE_i32, TYPE_u32, TYPE_i64, "
                    "TYPE_u64, TYPE_f16, TYPE_bf16, TYPE_f32, TYPE_f64 };\n"
                    "constexpr int TYPE = TYPE_f64;\nelement<TYPE>\n");
  auto_street s = street_of_mini("type=f64");
  auto_str out = {0};
  uint64_t fields, derived;
  emit(&s, &out);
  gen_source_depends(s.t, &fields, &derived);
  assert_int_equal(fields, 1 << 2);
}

/* ---- algorithms ------------------------------------------------------------------------------ */

/* mini with two algorithms; b and c are one table, whose names a does not have. */
static const char algorithms[] =
    "local B = { space = { { 'WIDTH', { 1, 2, 4 } }, { 'DEPTH', { 1, 2 }, when = 'WIDTH > 1' } },\n"
    "  derive = { { 'STEP', 'WIDTH * DEPTH' }, { 'TILE', 'STEP * 32' } },\n"
    "  require = { { 'TILE is 64 at least', 'TILE >= 64' } },\n"
    "  default = { WIDTH = 2, DEPTH = 1 }, workspace = { { 'more', 'u32', 'TILE' } },\n"
    "  stages = { { memset = 'more' }, { kernel = 'of_b', when = 'n > 1', grid = 'TILE', block = 32,\n"
    "    args = { 'y', 'more' } } }, source = 'of b WIDTH TILE @{kind}\\n' }\n"
    "return {\n"
    "  name = 'mini', version = 1, brief = 'y = x', problem = { { 'n', 0, 100, default = 10 },\n"
    "    { 'kind', { 'fast', 'safe' }, default = 'fast' } },\n"
    "  args = { { 'n', 'i64', value = 'n' }, { 'y', 'f32', 'out', count = 'n' } },\n"
    "  space = { { 'ALG', { 'a', 'b', 'c' } }, { 'BLOCK', { 32, 64 } } },\n"
    "  derive = { { 'THREADS', 'BLOCK * 2' } },\n"
    "  require = { { 'BLOCK is 64 for n over 50', 'n <= 50 or BLOCK == 64' } },\n"
    "  default = { ALG = 'a', BLOCK = 64 },\n"
    "  algorithms = { a = { space = { { 'ITEMS', { 1, 3 } } }, default = { ITEMS = 1 },\n"
    "    require = {\n"
    "      { 'ITEMS of 3 need n of 3', 'ITEMS == 1 or n >= 3' } }, \n"
    "    derive = { { 'TILE', 'ITEMS * THREADS' } }, source = 'of a ITEMS TILE\\n' }, b = B, c = B },\n"
    "  stages = { { kernel = 'common', grid = 'TILE', block = 1, args = { 'y' } } },\n"
    "  reference = { stages = { { kernel = 'slow', grid = 1, block = 1, args = { 'y' } } },\n"
    "    source = 'slow' },\n"
    "  cases = { {} }, tolerance = { abs = 0, rel = 0 }, flops = 'n', bytes = 'n',\n"
    "  sizes = { bench = { 'n=10' } },\n"
    "}\n";

static street street_of_algorithms(const char *problem, const char *config) {
  write_file("mini/mini.lua", algorithms);
  street s = street_of_mini(problem);
  assert_ok(gen_config_parse(s.t, config, &s.c, &s.e), &s.e);
  return s;
}

static void accepts(const char *problem, const char *config, const char *reason) {
  auto_street s = street_of_algorithms(problem, config);
  if (reason) {
    assert_fails(gen_config_check(s.g, &s.c, &s.e), &s.e, ERR_USAGE, reason);
  } else {
    assert_ok(gen_config_check(s.g, &s.c, &s.e), &s.e);
  }
}

TEST(algorithms_have_spaces_of_their_own) {
  accepts("n=10", "ALG=a,ITEMS=3", NULL);
  accepts("n=10", "ALG=b", NULL);
  accepts("n=2", "ALG=a,ITEMS=3", "ITEMS of 3 need n of 3");
  accepts("n=2", "ALG=b", NULL);
  accepts("n=60", "ALG=c,BLOCK=32", "BLOCK is 64 for n over 50");
  accepts("n=10", "ALG=b,ITEMS=3", "ITEMS is of use only when (ALG == 'a')");
  accepts("n=10", "ALG=a,WIDTH=4", "WIDTH is of use only when (ALG == 'b' or ALG == 'c')");
  accepts("n=10", "ALG=c,WIDTH=1", "TILE is 64 at least");
  accepts("n=10", "ALG=b,WIDTH=1,DEPTH=2", "and (WIDTH > 1)");
  auto_street s = street_of_algorithms("n=10", "");
  auto_space *space = NULL;
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(gen_space_count(space), 2 * 2 + 2 * 2 * 4);
}

static void algorithms_emit(const char *config, const char *expected) {
  auto_street s = street_of_algorithms("n=10 kind=safe", config);
  auto_str out = {0};
  char first[HASH_TEXT], again[HASH_TEXT];
  emit(&s, &out);
  assert_string_equal(str_text(&out), expected);
  hash_bytes(str_text(&out), out.n, first);
  gen_source_remember(s.g, &s.c, first);
  assert_true(gen_source_hash(s.g, &s.c, again));
  assert_string_equal(first, again);
}

TEST(algorithms_have_sources_of_their_own) {
  algorithms_emit("ALG=a,ITEMS=3", "constexpr int ITEMS = 3;\nconstexpr int TILE = 384;\n"
                                   "of a ITEMS TILE\n");
  algorithms_emit("ALG=b,WIDTH=4", "constexpr int WIDTH = 4;\nconstexpr int TILE = 128;\n"
                                   "of b WIDTH TILE safe\n");
  algorithms_emit("ALG=c,WIDTH=4", "constexpr int WIDTH = 4;\nconstexpr int TILE = 128;\n"
                                   "of b WIDTH TILE safe\n");
}

static void algorithms_run(const char *problem, const char *config, size_t n, const char *kernel,
                           uint64_t workspace) {
  auto_street s = street_of_algorithms(problem, config);
  const gen_plan *plan;
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &plan, &s.e), &s.e);
  assert_int_equal(plan->n, n);
  if (kernel) {
    assert_string_equal(plan->launches[n - 1].kernel, kernel);
  }
  assert_int_equal(plan->workspaces[0], workspace);
}

TEST(algorithms_have_stages_of_their_own) {
  algorithms_run("n=10", "ALG=a", 1, "common", 0);
  algorithms_run("n=10", "ALG=b", 2, "of_b", 256);
  algorithms_run("n=1", "ALG=c", 1, NULL, 256);
}

static void wrong(const char *what, const char *with, const char *message, int line) {
  auto_str text = {0};
  gen_template *t;
  err e = {0};
  const char *at = strstr(algorithms, what);
  char place[32];
  str_addf(&text, "%.*s%s%s", (int)(at - algorithms), algorithms, with, at + strlen(what));
  write_file("mini/mini.lua", str_text(&text));
  assert_fails(open_mini(&t, &e), &e, ERR_TEMPLATE, message);
  snprintf(place, sizeof place, "/mini.lua:%d", line);
  assert_string_equal(strrchr(e.place, '/'), place);
}

/* An explicit order also holds for the text of configurations. */
TEST(parameters_have_an_order) {
  auto_str text = {0};
  const char *at = strstr(algorithms, "  default = { ALG");
  str_addf(&text, "%.*s  order = { 'ALG', 'DEPTH', 'WIDTH', 'BLOCK', 'ITEMS' },\n%s",
           (int)(at - algorithms), algorithms, at);
  write_file("mini/mini.lua", str_text(&text));
  auto_street s = street_of_mini("");
  str_reset(&text);
  gen_config_text(s.t, &s.c, &text);
  assert_string_equal(str_text(&text), "ALG=a,DEPTH=1,WIDTH=2,BLOCK=64,ITEMS=1");
}

TEST(wrong_algorithms_are_explained) {
  wrong("b = B, c = B", "b = B", "'c' is missing here", 15);
  wrong("c = B", "c = B, d = B", "a key 'd' means nothing here", 18);
  wrong("'ITEMS == 1 or n >= 3'", "'ITEM == 1'", "ITEM", 17);
  wrong("{ 'ITEMS', { 1, 3 } }", "{ 'WIDTH', { 1, 3 } }", "two things called 'WIDTH'", 18);
  wrong("default = { ITEMS = 1 }", "brief = ''", "'default' is missing here", 15);
  wrong("'ITEMS * THREADS'", "'STEP * THREADS * TILE'", "TILE", 18);
  wrong("'BLOCK * 2'", "'STEP * 2'", "STEP", 12);
  wrong("  default = { ALG", "order = { 'ALG' }, default = { ALG", "'BLOCK' is not in 'order'", 11);
  wrong("  default = { ALG",
        "order = { 'ALG', 'BLOCK', 'ITEMS', 'WIDTH', 'DEPTH', 'MORE' }, default = { ALG",
        "'order' has 6 names; there are 5 parameters", 14);
}

int main(void) {
  return tests_run_with(NULL, make_folders, folder_remove);
}
