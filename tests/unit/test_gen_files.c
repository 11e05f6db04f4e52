/* test_gen_files.c -- templates as files: a folder for each family, device code in .cu files beside
 * the table, #include, fields as constants. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "gen_fixture.h"

static void write_file(const char *name, const char *text) {
  folder_write(name, text, strlen(text));
}

/* The fixture's template in mini/, with the source in a file. */
static void write_mini(const char *source_key, const char *cu) {
  str text = {0};
  mini_with("source = [[\n" MINI_BODY "]]", source_key, &text);
  write_file("mini/mini.lua", str_text(&text));
  if (cu) {
    write_file("mini/mini.cu", cu);
  }
  str_clear(&text);
}

static int make_folders(void **state) {
  return folder_make(state) || mkdir(folder_path("mini"), 0700) ||
         mkdir(folder_path("shared"), 0700);
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

/* The emitted text without lines of #line. */
static void emit(street *s, str *out) {
  str all = {0};
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
  str_clear(&all);
}

static void emits(const char *problem, const char *expected) {
  street s = street_of_mini(problem);
  str out = {0};
  emit(&s, &out);
  assert_string_equal(str_text(&out), expected);
  str_clear(&out);
  street_close(&s);
}

static void a_family_has_a_folder(void **state) {
  (void)state;
  const char *const folders[] = {folder};
  const gen_options o = {.folders = folders, .n_folders = 1};
  const char *const *names;
  size_t n, found = 0;
  arena a = {0};
  err e = {0};
  write_mini("source = 'mini.cu'", "text\n");
  assert_ok(gen_families(&o, &a, &names, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    found += !strcmp(names[i], "mini");
    assert_string_not_equal(names[i], "shared");
  }
  assert_int_equal(found, 1);
  arena_clear(&a);
  emits("", "text\n");
}

static void a_file_is_part_of_the_digest(void **state) {
  (void)state;
  gen_template *a, *b;
  err e = {0};
  write_mini("source = 'mini.cu'", "one\n");
  assert_ok(open_mini(&a, &e), &e);
  write_mini("source = 'mini.cu'", "two\n");
  assert_ok(open_mini(&b, &e), &e);
  assert_string_not_equal(a->hash, b->hash);
  gen_close(a);
  gen_close(b);
}

static void errors_name_the_file(void **state) {
  (void)state;
  gen_template *t;
  err e = {0}, second = {0};
  write_mini("source = 'none.cu'", NULL);
  assert_fails(open_mini(&t, &e), &e, ERR_TEMPLATE, "cannot include \"none.cu\"");
  assert_string_equal(strrchr(e.place, '/'), "/mini.lua:29");
  write_mini("source = 'mini.cu'", "text\n\n@ if\n");
  assert_fails(open_mini(&t, &second), &second, ERR_TEMPLATE, "");
  assert_string_equal(strrchr(second.place, '/'), "/mini.cu:3");
  write_mini("source = 'mini.cu'", "text\n@{nothing}\n");
  street s = street_of_mini("");
  str out = {0};
  size_t body;
  assert_fails(gen_source_make(s.g, &s.c, &out, &body, &s.e), &s.e, ERR_TEMPLATE, "nothing");
  assert_string_equal(strrchr(s.e.place, '/'), "/mini.cu:2");
  str_clear(&out);
  street_close(&s);
}

/* Beside the template, in shared/ beside its folder, built in; each once. */
static void includes_are_spliced_once(void **state) {
  (void)state;
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
  write_mini("source = 'mini.cu'", "#include \"ticket.cuh\"\n");
  street s = street_of_mini("");
  str out = {0};
  emit(&s, &out);
  assert_non_null(strstr(str_text(&out), "take_ticket"));
  str_clear(&out);
  street_close(&s);
}

/* In capitals; types by numbers that all families share. */
static void fields_with_names_are_constants(void **state) {
  (void)state;
  write_mini("source = 'mini.cu'", "if constexpr (KIND == KIND_safe)\n");
  emits("kind=safe", "enum { KIND_fast, KIND_safe };\nconstexpr int KIND = KIND_safe;\n"
                     "if constexpr (KIND == KIND_safe)\n");
  write_mini("source = 'mini.cu'", "element<TYPE>\n");
  emits("type=f64", "enum { TYPE_i8, TYPE_u8, TYPE_i16, TYPE_u16, TYPE_i32, TYPE_u32, TYPE_i64, "
                    "TYPE_u64, TYPE_f16, TYPE_bf16, TYPE_f32, TYPE_f64 };\n"
                    "constexpr int TYPE = TYPE_f64;\nelement<TYPE>\n");
  street s = street_of_mini("type=f64");
  str out = {0};
  uint64_t fields, derived;
  emit(&s, &out);
  gen_source_depends(s.t, &fields, &derived);
  assert_int_equal(fields, 1 << 2);
  str_clear(&out);
  street_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_family_has_a_folder),
      cmocka_unit_test(a_file_is_part_of_the_digest),
      cmocka_unit_test(errors_name_the_file),
      cmocka_unit_test(includes_are_spliced_once),
      cmocka_unit_test(fields_with_names_are_constants),
  };
  return cmocka_run_group_tests(tests, make_folders, folder_remove);
}
