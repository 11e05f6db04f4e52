/* test_notes.c -- what a process notes in the cache of images, so that the next one need neither make a
 * text nor choose a configuration. Runs on any device: test_notes [--device NAME]. */
#define _GNU_SOURCE
#include <sqlite3.h>

#include "background_fixture.h"
#include "serve_make.h"

/* Since the context was opened, and no note was written. */
static size_t count_texts(fixture *f) {
  size_t n = 0;
  const gen_source_row *ignored;
  for (serve_family *x = inside(f)->families; x; x = x->next) {
    n += gen_source_rows_new(x->t, &ignored);
  }
  return n;
}

static void copy_template(fixture *f, const char *extension) {
  auto_str text = {0};
  char from[64], to[128];
  err e = {0};
  snprintf(from, sizeof from, "templates/saxpy/saxpy.%s", extension);
  snprintf(to, sizeof to, "%s/saxpy.%s", f->folder, extension);
  assert_ok(file_read(from, 1 << 20, &text, &e), &e);
  assert_ok(file_write(to, text.p, text.n, &e), &e);
}

/* Of the template in the test's folder; by a context that has compiled its default. */
static void leave_notes(fixture *f) {
  copy_template(f, "lua");
  copy_template(f, "cu");
  reopen(f, f->folder);
  assert_true(saxpy_is_right(f, 1000));
  assert_non_null(inside(f)->compiler);
  reopen(f, f->folder);
}

static void change_cache(fixture *f, const char *sql) {
  sqlite3 *cache;
  char path[128];
  snprintf(path, sizeof path, "%s/images.db", f->cache);
  assert_int_equal(sqlite3_open(path, &cache), SQLITE_OK);
  assert_int_equal(sqlite3_exec(cache, sql, NULL, NULL, NULL), SQLITE_OK);
  assert_true(sqlite3_changes(cache) > 0);
  sqlite3_close(cache);
}

CONTEXT_TEST(next_program_makes_no_text) {
  leave_notes(f);
  assert_true(saxpy_is_right(f, 1000));
  assert_int_equal(count_texts(f), 0);
  assert_true(saxpy_is_right(f, 1004)); /* its form is known, too */
  assert_int_equal(count_texts(f), 0);
  assert_null(inside(f)->compiler);
  change_cache(f, "DELETE FROM note");
  reopen(f, f->folder);
  assert_true(saxpy_is_right(f, 1000));
  assert_int_equal(count_texts(f), 1);
  assert_null(inside(f)->compiler);
}

CONTEXT_TEST(damaged_notes_do_not_count) {
  leave_notes(f);
  change_cache(f, "UPDATE note SET value = zeroblob(length(value))");
  assert_true(saxpy_is_right(f, 1000));
  assert_int_equal(count_texts(f), 1);
}

/* The image that a note leads to was dropped: the text is made, and compiled. */
CONTEXT_TEST(note_of_an_absent_image) {
  leave_notes(f);
  change_cache(f, "DELETE FROM image");
  assert_true(saxpy_is_right(f, 1000));
  assert_non_null(inside(f)->compiler);
}

static float product_of(fixture *f) {
  float *x = vector_new(f, (float[]){5, 5, 5, 5}, 4), *y = vector_new(f, (float[4]){0}, 4), z[4];
  OK(f, tuned_saxpy(f->ctx, NULL, 4, 2, x, y, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, z, y, sizeof z, &f->err));
  return z[0];
}

CONTEXT_TEST(notes_of_another_text_of_the_template_do_not_count) {
  auto_str text = {0};
  char path[128];
  err e = {0};
  leave_notes(f);
  assert_true(product_of(f) == 10);
  snprintf(path, sizeof path, "%s/saxpy.cu", f->folder);
  assert_ok(file_read(path, 1 << 20, &text, &e), &e);
  char *at = strstr(text.p, "a * xs");
  assert_non_null(at);
  *at = '3'; /* instead of 2 */
  assert_ok(file_write(path, text.p, text.n, &e), &e);
  reopen(f, f->folder);
  assert_true(product_of(f) == 15);
  copy_template(f, "cu");
  reopen(f, f->folder);
  assert_true(product_of(f) == 10);
  assert_int_equal(count_texts(f), 0);
}

/* Without a database, and with what the library ships; as a program has it. */
static void reopen_untuned(fixture *f) {
  unlink(f->db_path);
  reopen(f, f->folder);
  inside(f)->sources.presets = serve_presets;
  inside(f)->sources.portfolios = serve_portfolios;
}

/* Or is the choice noted? */
static bool chooses(fixture *f, const char *problem, tuned_kernel_info *info) {
  *info = info_of(f, problem);
  return inside(f)->families->known.read;
}

CONTEXT_TEST(next_program_does_not_choose) {
  tuned_kernel_info first, then;
  reopen_untuned(f);
  assert_true(chooses(f, "saxpy n=1000", &first));
  char config[256];
  const tuned_origin origin = first.origin;
  snprintf(config, sizeof config, "%s", first.config);
  reopen_untuned(f);
  assert_false(chooses(f, "saxpy n=1000", &then));
  assert_string_equal(then.config, config);
  assert_int_equal(then.origin, origin);
  assert_true(saxpy_is_right(f, 1000));
  assert_true(chooses(f, "saxpy n=3000", &then)); /* another problem */
  reopen_untuned(f);
  change_cache(f, "UPDATE note SET value = zeroblob(length(value)) WHERE name LIKE 'saxpy%'");
  assert_true(chooses(f, "saxpy n=1000", &then));
  assert_string_equal(then.config, config);
}

CONTEXT_TEST(noted_choices_count_where_nothing_is_tuned) {
  tuned_kernel_info info;
  reopen_untuned(f);
  assert_true(chooses(f, "saxpy n=1000 align=4", &info));
  reopen(f, f->folder); /* presets of its own: none */
  assert_true(chooses(f, "saxpy n=1000 align=4", &info));
  store_put(f, &(stored){.problem = "saxpy n=1000 align=4", .config = "BLOCK=64,VEC=4"});
  reopen(f, f->folder);
  inside(f)->sources.presets = serve_presets;
  inside(f)->sources.portfolios = serve_portfolios;
  info = info_of(f, "saxpy n=1000 align=4");
  assert_int_equal(info.origin, TUNED_EXACT);
  assert_non_null(strstr(info.config, "BLOCK=64,VEC=4"));
}

/* A text's image for another device or other options is another one. */
CONTEXT_TEST(form_tells_options_apart) {
  const rt_source sources[] = {{.arch = "compute_90"},
                               {.arch = "compute_80"},
                               {.arch = "sm_90"},
                               {.arch = "compute_90", .lineinfo = 1},
                               {.arch = "compute_90", .registers = 1}};
  enum { N = sizeof sources / sizeof *sources };
  char forms[N][HASH_TEXT], other[HASH_TEXT];
  (void)f;
  for (size_t i = 0; i < N; i++) {
    rt_image_form(&sources[i], "0123", forms[i]);
    rt_image_form(&sources[i], "0124", other);
    assert_string_not_equal(forms[i], other);
    for (size_t k = 0; k < i; k++) {
      assert_string_not_equal(forms[i], forms[k]);
    }
  }
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
