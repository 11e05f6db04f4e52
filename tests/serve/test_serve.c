/* test_serve.c -- libtuned: which kernel is served, and the header that exports it. Runs on any
 * device: test_serve [--device NAME]. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>

#include "export.h"
#include "serve_fixture.h"
#include "serve_key.h"

/* ---- the table ------------------------------------------------------------------------------ */

TEST(table_finds_what_was_put) {
  serve_table t = {0};
  static int values[5000];
  for (int64_t i = 0; i < 5000; i++) {
    const int64_t key[] = {i / 70, i % 70};
    assert_null(serve_table_get(&t, key, sizeof key));
    assert_true(serve_table_put(&t, key, sizeof key, &values[i]));
  }
  for (int64_t i = 0; i < 5000; i++) {
    const int64_t key[] = {i / 70, i % 70};
    assert_ptr_equal(serve_table_get(&t, key, sizeof key), &values[i]);
    assert_null(serve_table_get(&t, key, sizeof key[0])); /* a prefix is another key */
  }
  assert_true(serve_table_put(&t, "text", 4, values));
  assert_ptr_equal(serve_table_get(&t, "text", 4), values);
  assert_null(serve_table_get(&t, "tex", 3));
  serve_table_clear(&t);
  assert_null(serve_table_get(&t, "text", 4));
}

typedef struct reading {
  serve_table *t;
  _Atomic int *n_put;
  int n_lost;
} reading;

enum { PUTS = 3000 };

/* Everything put before a look-up is found, while the table grows. */
static void *read_all(void *ud) {
  reading *r = ud;
  for (int64_t n = 0; n < PUTS;) {
    n = atomic_load(r->n_put);
    for (int64_t i = 0; i < n; i++) {
      r->n_lost += serve_table_get(r->t, &i, sizeof i) != r;
    }
  }
  return NULL;
}

TEST(table_is_read_while_it_grows) {
  serve_table t = {0};
  _Atomic int n_put = 0;
  reading r = {&t, &n_put, 0};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, read_all, &r), 0);
  for (int64_t i = 0; i < PUTS; i++) {
    assert_true(serve_table_put(&t, &i, sizeof i, &r));
    atomic_store(&n_put, (int)i + 1);
  }
  pthread_join(thread, NULL);
  assert_int_equal(r.n_lost, 0);
  serve_table_clear(&t);
}

TEST(words_tell_choices_apart) {
  assert_int_equal(serve_key_word("n"), 'n');
  assert_int_equal(serve_key_letter('N', 0, 1), 'n');
  assert_int_equal(serve_key_letter('C', 0, 1), 't'); /* real: conjugation has no effect */
  assert_int_equal(serve_key_letter('C', 0, 0), 'c');
  assert_int_equal(serve_key_letter('u', 1, 0), 'U');
  assert_int_not_equal(serve_key_word("sum"), serve_key_word("max"));
  assert_int_equal(serve_key_word(NULL), 0);
}

/* ---- which kernel --------------------------------------------------------------------------- */

CONTEXT_TEST(nobody_tuned_gives_the_default) {
  const tuned_kernel_info info = info_of(f, "saxpy n=1000");
  assert_int_equal(info.origin, TUNED_DEFAULT);
  assert_string_equal(info.problem, "saxpy n=1000 align=4");
  assert_non_null(strstr(info.config, "BLOCK=256"));
  assert_true(info.expected_sec == 0 && !info.measured);
  assert_true(info.registers > 0);
}

CONTEXT_TEST(same_problem_same_kernel) {
  tuned_kernel *a, *b, *c;
  OK(f, tuned_find(f->ctx, "saxpy n=1000", &a, &f->err));
  OK(f, tuned_find(f->ctx, "  saxpy   align=4 n=1000", &b, &f->err));
  OK(f, tuned_find(f->ctx, "saxpy n=1001", &c, &f->err));
  assert_ptr_equal(a, b);
  assert_ptr_not_equal(a, c);
}

CONTEXT_TEST(tuned_is_served_without_compiler) {
  store_saxpy(f, "saxpy n=1000 align=4", "BLOCK=128,VEC=4", NULL);
  reopen(f, NULL);
  const tuned_kernel_info info = info_of(f, "saxpy n=1000");
  assert_int_equal(info.origin, TUNED_EXACT);
  assert_non_null(strstr(info.config, "BLOCK=128,VEC=4"));
  assert_true(info.measured && info.expected_sec == 1.25e-6);
  assert_null(inside(f)->compiler);
  assert_true(saxpy_is_right(f, 1000));
  assert_null(inside(f)->compiler);
}

CONTEXT_TEST(other_size_is_not_exact) {
  store_saxpy(f, "saxpy n=1000 align=4", "BLOCK=128,VEC=4", NULL);
  reopen(f, NULL);
  assert_int_equal(info_of(f, "saxpy n=1004").origin, TUNED_NEAREST);
  assert_non_null(strstr(info_of(f, "saxpy n=1000 align=1").config, "BLOCK=128,VEC=1"));
}

CONTEXT_TEST(changed_template_is_not_served) {
  store_saxpy(f, "saxpy n=1000 align=4", "BLOCK=128,VEC=4", "00000000000000000000000000000000");
  reopen(f, NULL);
  assert_int_equal(info_of(f, "saxpy n=1000").origin, TUNED_DEFAULT);
}

/* A stored configuration that breaks a requirement must not run. */
CONTEXT_TEST(invalid_row_is_not_served) {
  store st;
  db *d;
  store_open(&st, f, "saxpy", "n=1001");
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &st.e), &st.e);
  store_trial(&st, d,
              &(stored){.problem = "saxpy n=1001 align=1",
                        .config = "BLOCK=128,VEC=4,COARSE=1,ORDER=interleaved"},
              NULL);
  db_close(d);
  store_close(&st);
  reopen(f, NULL);
  assert_int_equal(info_of(f, "saxpy n=1001").origin, TUNED_DEFAULT);
}

/* The database has an image of the same source as the default: it is loaded, not compiled. */
CONTEXT_TEST(stored_image_of_the_same_source_is_used) {
  store_saxpy(f, "saxpy n=4096 align=4", "", "00000000000000000000000000000000");
  reopen(f, NULL);
  assert_int_equal(info_of(f, "saxpy n=1001").origin, TUNED_DEFAULT);
  assert_int_equal(info_of(f, "saxpy n=1001").spill_nbytes, STORED_SPILL);
  assert_true(saxpy_is_right(f, 1001));
}

/* Untuned sizes differ in their launch, not in their source. */
CONTEXT_TEST(other_sizes_are_not_compiled_again) {
  for (size_t n = 1001; n < 1010; n += 2) {
    assert_true(saxpy_is_right(f, n));
  }
  assert_int_equal(inside(f)->images.n, 2); /* one image, by its key and by its source */
}

static char *copy_template(fixture *f, const char *name, const char *from, const char *to) {
  auto_str text = {0};
  err e = {0};
  static char path[128];
  for (const gen_file *b = gen_builtin; b->name; b++) {
    if (!strcmp(b->name, "saxpy.lua")) {
      const char *at = strstr(b->text, from);
      assert_non_null(at);
      str_add_n(&text, b->text, (size_t)(at - b->text));
      str_addf(&text, "%s%s", to, at + strlen(from));
    }
  }
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  assert_ok(file_write(path, text.p, text.n, &e), &e);
  return path;
}

CONTEXT_TEST(own_template_by_path) {
  char problem[200];
  float host[8];
  fill(host, 8, 1, 1);
  const char *path = copy_template(f, "my own.lua", "BLOCK = 256", "BLOCK = 64");
  snprintf(problem, sizeof problem, "%s n=8", path);
  assert_non_null(strstr(info_of(f, problem).config, "BLOCK=64"));
  assert_non_null(strstr(info_of(f, "saxpy n=8").config, "BLOCK=256")); /* not mixed up */
  tuned_kernel *k;
  const float a = 3, *x = vector_new(f, host, 8), *y = vector_new(f, host, 8);
  const void *args[] = {NULL, &a, &x, &y};
  OK(f, tuned_find(f->ctx, problem, &k, &f->err));
  OK(f, tuned_launch(k, NULL, args, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, host, y, sizeof host, &f->err));
  assert_true(host[0] == 4 && host[7] == 32);
}

/* Kernels read managed memory and write the host's, pinned, in place. */
CONTEXT_TEST(managed_and_mapped_memory_are_addresses) {
  rt_device *d = inside(f)->device;
  rt_ptr managed;
  void *mapped;
  if (!d->ops->managed_alloc) {
    skip_because("needs a GPU: placement of memory is not emulated");
  }
  assert_int_equal(d->ops->managed_alloc(d, 1000 * sizeof(float), &managed, NULL), 0);
  assert_int_equal(d->ops->host_alloc(d, 1000 * sizeof(float), &mapped, NULL), 0);
  float *x = (float *)(uintptr_t)managed, *y = mapped;
  fill(x, 1000, 1, 1);
  fill(y, 1000, 2, 0);
  OK(f, tuned_saxpy(f->ctx, NULL, 1000, 3, x, y, &f->err));
  assert_int_equal(d->ops->stream_sync(d, NULL, NULL), 0);
  for (int i = 0; i < 1000; i++) {
    assert_true(y[i] == 3 * x[i] + 2);
  }
  d->ops->release(d, managed);
  d->ops->host_free(d, mapped);
}

CONTEXT_TEST(folders_come_from_the_environment) {
  char folders[160];
  tuned_close(f->ctx);
  copy_template(f, "saxpy.lua", "BLOCK = 256", "BLOCK = 512");
  snprintf(folders, sizeof folders, "/nowhere::%s", f->folder);
  setenv("TUNED_TEMPLATES", folders, 1);
  setenv("TUNED_DB", f->db_path, 1);
  OK(f, tuned_open(&f->ctx, &(tuned_options){.device = device_name}, &f->err));
  inside(f)->sources.presets = NULL;
  inside(f)->sources.portfolios = NULL;
  unsetenv("TUNED_TEMPLATES");
  unsetenv("TUNED_DB");
  assert_non_null(strstr(info_of(f, "saxpy n=4").config, "BLOCK=512"));
}

/* TUNED_TEMPLATES may replace a built-in family; the typed call serves it if it still fits. */
CONTEXT_TEST(own_family_behind_the_typed_call) {
  copy_template(f, "saxpy.lua", "BLOCK = 256", "BLOCK = 128");
  assert_true(saxpy_is_right(f, 777));
  assert_non_null(strstr(info_of(f, "saxpy n=777").config, "BLOCK=128"));
}

CONTEXT_TEST(own_family_with_other_arguments_is_refused) {
  float host[4] = {0};
  copy_template(f, "saxpy.lua", "{ \"a\", \"f32\"", "{ \"a\", \"f64\"");
  float *x = vector_new(f, host, 4);
  REFUSED(f, TUNED_E_USAGE, "use tuned_find", tuned_saxpy(f->ctx, NULL, 4, 2, x, x, &f->err));
}

/* ---- export --------------------------------------------------------------------------------- */

static void export_of(store *st, const char *config, const char *name, str *out, int expected) {
  const gen_plan *plan;
  gen_config c;
  const export_info x = {.problem = "saxpy n=1001 align=1",
                         .config = config,
                         .command = "autotune export",
                         .arch = "sm_90",
                         .device = "a GPU",
                         .sec = 2e-6,
                         .measured = true,
                         .nvrtc = 13000,
                         .name = name};
  err_clear(&st->e);
  assert_ok(gen_config_parse(st->t, config, &c, &st->e), &st->e);
  assert_ok(gen_plan_make(st->g, &c, &st->memory, &plan, &st->e), &st->e);
  assert_int_equal(export_header(st->t, plan, &x, out, &st->e), expected);
}

CONTEXT_TEST(header_says_how_to_launch) {
  store st;
  auto_str a = {0}, b = {0};
  store_open(&st, f, "saxpy", "n=1001");
  export_of(&st, "BLOCK=128", NULL, &a, 0);
  export_of(&st, "BLOCK=128", NULL, &b, 0);
  assert_string_equal(str_text(&a), str_text(&b));
  assert_non_null(strstr(str_text(&a), "#define SAXPY_n 1001\n"));
  assert_non_null(strstr(str_text(&a), "grid0[] = {8, 1, 1}, block0[] = {128, 1, 1};\n"));
  assert_non_null(
      strstr(str_text(&a), "tuned_launch_kernel(kernels->saxpy, grid0, block0, 0, stream,"));
  assert_non_null(strstr(str_text(&a), "2 microseconds a launch, measured"));
  str_reset(&b);
  export_of(&st, "BLOCK=128", "mine", &b, 0);
  assert_non_null(strstr(str_text(&b), "mine_launch("));
  export_of(&st, "BLOCK=128", "not-a-name", &b, ERR_USAGE);
  store_close(&st);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
