/* test_portfolio.c -- tuned_find serves from a portfolio: the tree's choice, the models' choice,
 * and what comes before and after them. Runs on any device: test_portfolio [--device NAME]. */
#define _GNU_SOURCE
#include <math.h>

#include "db_text.h"
#include "portfolio.h"
#include "serve_choose.h"
#include "open_device.h"
#include "serve_fixture.h"

#define FAST "BLOCK=512,VEC=4,COARSE=2,ORDER=interleaved"
#define FAST_1 "BLOCK=512,VEC=1,COARSE=2,ORDER=interleaved"
#define SMALL "BLOCK=64,VEC=1,COARSE=1,ORDER=interleaved"

static const char text_of_a_portfolio[] =
    "portfolio 1\nasked 0.05\nsizes 2\nexpected 0.01 0.1\n"
    "range n 1000 1000000\nrange align 1 4\nconfig " FAST "\nconfig " SMALL "\nif n < 5000 else 2\n"
    "leaf 0.125 0.2 1 0\nleaf 0.25 0.5 0 1\n";

/* Stores a portfolio, and a tuned problem whose configuration is not in it. */
static void put_portfolio(fixture *f, const char *text) {
  store st;
  db *d;
  int64_t template_id, device_id;
  bool kept;
  store_saxpy(f, "saxpy n=3000 align=4", "BLOCK=128", NULL);
  store_open(&st, f, "saxpy", "n=3000");
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &st.e), &st.e);
  assert_ok(db_device_find(d, str_text(&st.s->device_key), &device_id, &st.e), &st.e);
  assert_ok(db_template_find(d, st.t->hash, &template_id, &st.e), &st.e);
  assert_ok(db_portfolio_put(d, template_id, device_id, text, NULL, &kept, &st.e), &st.e);
  db_close(d);
  store_close(&st);
  reopen(f, f->folder);
}

CONTEXT_TEST(test_a_portfolio_serves_other_sizes) {
  put_portfolio(f, text_of_a_portfolio);
  tuned_kernel_info k = info_of(f, "saxpy n=4000");
  assert_int_equal(k.origin, TUNED_PORTFOLIO);
  assert_string_equal(tuned_origin_name(k.origin), "portfolio");
  assert_string_equal(k.config, SMALL);
  assert_true(k.expected_loss == 0.125 && k.adapted == 0 && !k.tuned_problem);
  assert_string_equal(k.tuned_device, str_text(&inside(f)->device_key));
  assert_true(k.expected_sec > 0);
  k = info_of(f, "saxpy n=100000");
  assert_string_equal(k.config, FAST);
  assert_true(k.expected_loss == 0.25);
  k = info_of(f, "saxpy n=100001"); /* no vectors there */
  assert_int_equal(k.origin, TUNED_PORTFOLIO);
  assert_string_equal(k.config, FAST_1);
  assert_int_equal(k.adapted, 1);
  k = info_of(f, "saxpy n=3000");
  assert_int_equal(k.origin, TUNED_EXACT);
  assert_true(k.expected_loss == 0);
  k = info_of(f, "saxpy n=100");
  assert_int_equal(k.origin, TUNED_NEAREST);
}

/* Where the tree and the models differ, the models choose. */
CONTEXT_TEST(test_the_model_chooses) {
  auto_str text = {0};
  str_addf(&text, "%s%s", text_of_a_portfolio,
           "model 132\nsize 2000 1000 4\nsize 2000000 1000000 1\ncosts 1 1e-5\nform 64\nat 0 1 0\n"
           "costs 1 0 0 0 0 0 0 4e-10\nform 64\n");
  put_portfolio(f, str_text(&text));
  tuned_kernel_info k = info_of(f, "saxpy n=4000"); /* some 12 bytes an element: 10 to 19 us */
  assert_string_equal(k.config, FAST);
  assert_int_equal(k.origin, TUNED_PORTFOLIO);
  assert_true(k.expected_loss == 0.125 && fabs(k.expected_sec - 1e-5) < 1e-7);
  assert_int_equal(k.measured, !rt_names_emulator(device_name));
  k = info_of(f, "saxpy n=1500");
  assert_string_equal(k.config, SMALL);
}

static void put_two_costs(fixture *f, const char *of_small) {
  auto_str text = {0};
  str_addf(&text,
           "%smodel 132\nsize 2000 1000 4\nsize 2000000 1000000 1\ncosts 1 1e-5\nform 64\n"
           "at 0 1 0\ncosts 1 %s\nform 64\n",
           text_of_a_portfolio, of_small);
  put_portfolio(f, str_text(&text));
}

/* Fewer images serve many sizes where one that is hardly slower need not be adapted. */
CONTEXT_TEST(test_what_fits_is_preferred) {
  put_two_costs(f, "1.015e-5");
  assert_string_equal(info_of(f, "saxpy n=100001").config, SMALL); /* no vectors there */
  assert_string_equal(info_of(f, "saxpy n=100000").config, FAST);
}

CONTEXT_TEST(test_what_is_faster_is_adapted) {
  put_two_costs(f, "1.03e-5");
  assert_string_equal(info_of(f, "saxpy n=100001").config, FAST_1);
}

/* The models compare the short list of the leaf, and the others only where no configuration of the
 * list fits; the third, about which nothing is known, is never chosen. */
CONTEXT_TEST(test_the_short_list_comes_first) {
  static const char text[] =
      "portfolio 5\nasked 0.05\nsizes 2\nexpected 0.01 0.1\n"
      "range n 1000 1000000\nrange align 1 4\nconfig " FAST "\nconfig " SMALL
      "\nconfig BLOCK=128\nif n < 5000 else 4\nif n < 2000 else 3\n"
      "leaf 0.125 0.2 2 then\nleaf 0.125 0.2 1 then 0\nleaf 0.25 0.5 2 0 1 then\n"
      "model 132\nsize 2000 1000 4\nsize 2000000 1000000 1\n"
      "costs 1 1e-5\nform 64\nat 0 1 0\ncosts 1 2e-5\nform 64\ncosts 1\nform 64\n";
  put_portfolio(f, text);
  tuned_kernel_info k = info_of(f, "saxpy n=4000"); /* 10 us with FAST, 20 with SMALL */
  assert_string_equal(k.config, SMALL);
  assert_true(fabs(k.expected_sec - 2e-5) < 1e-7);
  k = info_of(f, "saxpy n=100000");
  assert_string_equal(k.config, FAST);
  k = info_of(f, "saxpy n=1500");
  assert_int_equal(k.origin, TUNED_PORTFOLIO);
  assert_string_equal(k.config, FAST);
}

/* Without fitted models the order of the tree serves, to its end. */
CONTEXT_TEST(test_models_of_nothing_leave_it_to_the_tree) {
  auto_str text = {0};
  str_addf(&text, "%s%s", text_of_a_portfolio,
           "model 132\nsize 2000 1000 4\nsize 2000000 1000000 1\ncosts 1\ncosts 1\n");
  put_portfolio(f, str_text(&text));
  serve_pick pick;
  gen_problem p;
  serve_family *family;
  gen_instance *g;
  gen_number numbers[RT_NUMBERS];
  auto_arena memory = {0};
  err e = {0};
  size_t n = 0;
  assert_ok(serve_family_get(inside(f), "saxpy", &family, &e), &e);
  gen_template *t = family->t;
  assert_ok(gen_problem_parse(t, "saxpy n=4000", &p, &e), &e);
  rt_numbers(&inside(f)->device->info, numbers);
  assert_ok(gen_instance_new(t, &p, numbers, RT_NUMBERS, &g, &e), &e);
  serve_choose c = {.from = &inside(f)->sources,
                    .t = t,
                    .p = &p,
                    .g = g,
                    .problem = "saxpy n=4000 align=4",
                    .known = &family->known,
                    .memory = &memory};
  while (!serve_choose_next(&c, &pick, &e)) {
    n += pick.origin == TUNED_PORTFOLIO;
  }
  assert_int_equal(n, 2);
  gen_instance_free(g);
}

/* Another size has stored the image already, so nothing is compiled. */
CONTEXT_TEST(test_stored_images_serve_the_portfolio) {
  put_portfolio(f, text_of_a_portfolio);
  store_saxpy(f, "saxpy n=200001 align=1", FAST_1, NULL);
  store_saxpy(f, "saxpy n=200000 align=4", FAST, NULL);
  reopen(f, f->folder);
  tuned_kernel_info k = info_of(f, "saxpy n=100001");
  assert_string_equal(k.config, FAST_1);
  assert_int_equal(k.spill_nbytes, STORED_SPILL);
  k = info_of(f, "saxpy n=100000");
  assert_string_equal(k.config, FAST);
  assert_int_equal(k.spill_nbytes, STORED_SPILL);
}

CONTEXT_TEST(test_a_damaged_portfolio_is_none) {
  put_portfolio(f, "portfolio 1\nasked");
  const tuned_kernel_info k = info_of(f, "saxpy n=4000");
  assert_int_equal(k.origin, TUNED_NEAREST);
}

/* A shipped portfolio of another device serves only where nothing is tuned. */
CONTEXT_TEST(test_a_portfolio_is_shipped) {
  db_line l = {.device = {.name = "a card", .cc = inside(f)->device->info.cc, .sms = 100},
               .template = {.family = "saxpy", .path = "saxpy.lua"},
               .problem = "saxpy",
               .config = text_of_a_portfolio,
               .kind = DB_KIND_PORTFOLIO,
               .sec = 1,
               .when = "2026-01-01T00:00:00Z"};
  auto_template *t = NULL;
  err e = {0};
  auto_str text = {0}, key = {0};
  assert_ok(gen_open(NULL, "saxpy", &t, &e), &e);
  l.template.hash = t->hash;
  l.template.version = t->version;
  str_addf(&key, "%s|x", str_text(&inside(f)->device_key));
  l.device.key = str_text(&key);
  db_text_head(&text);
  db_text_write(&l, &text);
  l.device.sms = inside(f)->device->info.sms;
  l.problem = "saxpy n=8000 align=4";
  l.config = "BLOCK=256";
  l.kind = DB_KIND_FINAL;
  db_text_write(&l, &text);
  const gen_file shipped[] = {{"a.txt", str_text(&text), text.n}, {NULL, NULL, 0}};
  inside(f)->sources.presets = shipped;
  tuned_kernel_info k = info_of(f, "saxpy n=4000");
  assert_int_equal(k.origin, TUNED_PORTFOLIO);
  assert_string_equal(k.config, SMALL);
  assert_string_equal(k.tuned_device, str_text(&key));
  k = info_of(f, "saxpy n=8000"); /* shipped for exactly this size */
  assert_int_equal(k.origin, TUNED_PRESET);
  assert_string_equal(k.config, "BLOCK=256,VEC=1,COARSE=1,ORDER=interleaved");
  store_saxpy(f, "saxpy n=3000 align=4", "BLOCK=128", NULL);
  reopen(f, f->folder);
  inside(f)->sources.presets = shipped;
  k = info_of(f, "saxpy n=4000");
  assert_int_equal(k.origin, TUNED_NEAREST);
  tuned_close(f->ctx);
  f->ctx = NULL;
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
