/* test_new_size.c -- a context stays small, whatever the number of new sizes. Only decisions are
 * made: how many kernels and modules there are is the program's choice. On the emulated device,
 * since the memory of a driver would count as well. */
#define _GNU_SOURCE
#include <malloc.h>
#include <math.h>

#include "db_text.h"
#include "file.h"
#include "random.h"
#include "serve_choose.h"
#include "serve_fixture.h"

enum { DECISIONS = 1500, MOST_NBYTES = 2 << 20 };

static size_t heap_nbytes(void) {
  const struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

static uint64_t seed = 1;

/* Evenly over the octaves from 16 to 2048. */
static int64_t side(void) {
  return (int64_t)floor(16 * exp2(7 * random_unit(&seed)));
}

static bool is_of_portfolio(serve *s, serve_family *f) {
  gen_template *t = f->t;
  bool given[GEN_MAX_FIELDS] = {true, true, true};
  gen_problem p = {.values = {{.i = side()}, {.i = side()}, {.i = side()}}};
  gen_number limits[RT_NUMBERS];
  gen_instance *g;
  auto_arena memory = {0};
  auto_str text = {0};
  serve_pick pick;
  const gen_plan *plan;
  char hash[HASH_TEXT];
  err e = {0};
  rt_numbers(&s->device->info, limits);
  assert_ok(gen_problem_complete(t, &p, given, &e), &e);
  assert_ok(gen_instance_new(t, &p, limits, RT_NUMBERS, &g, &e), &e);
  gen_problem_text(t, &p, &text);
  serve_choose c = {.from = &s->sources,
                    .t = t,
                    .p = &p,
                    .g = g,
                    .problem = str_text(&text),
                    .known = &f->known,
                    .memory = &memory};
  assert_ok(serve_choose_next(&c, &pick, &e), &e);
  assert_ok(gen_plan_make(g, &pick.config, &memory, &plan, &e), &e);
  gen_source_hash(g, &pick.config, hash); /* compiles the script */
  gen_instance_free(g);
  return pick.origin == TUNED_PORTFOLIO;
}

static void check_small(fixture *f) {
  err e = {0};
  serve_family *sgemm;
  tuned_close(f->ctx);
  const size_t before = heap_nbytes();
  if (!before) {
    skip_because("a sanitizer's allocator does not tell its size");
  }
  const tuned_options o = {.device = "emu", .database = f->db_path};
  OK(f, tuned_open(&f->ctx, &o, &f->err));
  assert_ok(serve_family_get(inside(f), "sgemm", &sgemm, &e), &e);
  size_t served = 0, least = SIZE_MAX, most = 0;
  for (int i = 0; i < DECISIONS; i++) {
    served += is_of_portfolio(inside(f), sgemm);
    const size_t now = heap_nbytes() - before;
    least = now < least ? now : least;
    most = now > most ? now : most;
  }
  printf("%zu bytes with the first of %d sizes, %zu at most\n", least, DECISIONS, most);
  assert_int_equal(served, DECISIONS);
  assert_true(least > 100000 && least < most && most < MOST_NBYTES);
}

/* With a database that knows another size. */
CONTEXT_TEST(new_sizes_fit_2_mb) {
  store_put(f, &(stored){.problem = "saxpy n=1000 align=4", .config = "BLOCK=64"});
  check_small(f);
}

/* The shipped portfolio as if it had been made here. */
static void put_portfolio(fixture *f) {
  store st;
  db *d;
  auto_str file = {0};
  db_line l = {0};
  bool none = true;
  int64_t template_id, device_id;
  store_open(&st, f, "sgemm", "m=16");
  assert_ok(file_read("db/presets/nvidia-h200.portfolio.txt", 64 << 20, &file, &st.e), &st.e);
  for (const char *at = str_text(&file), *end; *at; at = *end ? end + 1 : end) {
    end = strchrnul(at, '\n');
    assert_ok(db_text_read(at, (size_t)(end - at), &st.memory, &l, &none, &st.e), &st.e);
    if (!none && !strcmp(l.template.family, "sgemm")) {
      break;
    }
  }
  assert_string_equal(l.template.family, "sgemm");
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &st.e), &st.e);
  assert_ok(db_device_find(d, str_text(&st.s->device_key), &device_id, &st.e), &st.e);
  assert_ok(db_template_find(d, st.t->hash, &template_id, &st.e), &st.e);
  assert_ok(db_portfolio_put(d, template_id, device_id, l.config, NULL, &none, &st.e), &st.e);
  db_close(d);
  store_close(&st);
}

/* It is in the heap then. */
CONTEXT_TEST(a_portfolio_of_the_database_fits_too) {
  store_put(f, &(stored){.problem = "sgemm m=16 n=16 k=16", .config = "", .no_image = true});
  put_portfolio(f);
  check_small(f);
}

int main(void) {
  device_name = "emu";
  return tests_run();
}
