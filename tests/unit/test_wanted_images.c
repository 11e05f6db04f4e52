/* test_wanted_images.c -- what autotune warm compiles: each source once, the most wanted first, and
 * all that serving chooses for the problems it was asked for. */
#define _GNU_SOURCE
#include <string.h>

#include "adapt.h"
#include "check.h"
#include "emu.h"
#include "run.h"
#include "serve_presets.h"
#include "wanted_family.h"
#include "warm_problems.h"

typedef struct family {
  err e;
  rt_info device;
  gen_template *t;
  serve_sources from;
  wanted_images w;
  arena memory;
} family;

static void family_open(family *f, const char *name) {
  rt_device *d;
  *f = (family){0};
  assert_ok(rt_emu_open("h200", &d, &f->e), &f->e);
  f->device = d->info;
  d->ops->close(d);
  assert_ok(gen_open(NULL, name, &f->t, &f->e), &f->e);
  f->from = (serve_sources){.device = &f->device,
                            .device_key = "a card that nothing was tuned on",
                            .presets = serve_presets,
                            .portfolios = serve_portfolios};
}

static void family_close(family *f) {
  wanted_clear(&f->w);
  gen_close(f->t);
  arena_clear(&f->memory);
}

static gen_instance *instance(family *f, const char *problem) {
  gen_problem p = {0};
  gen_instance *g;
  assert_ok(gen_problem_parse(f->t, problem, &p, &f->e), &f->e);
  assert_ok(rt_instance_new(f->t, &p, &f->device, &g, &f->e), &f->e);
  return g;
}

static void want(family *f, const char *problem, const char *config, wanted_by by) {
  auto_instance *g = instance(f, problem);
  gen_config c;
  assert_ok(gen_config_parse(f->t, config, &c, &f->e), &f->e);
  assert_ok(wanted_add(&f->w, g, &c, by, problem, &f->e), &f->e);
}

TEST(equal_sources_are_wanted_once) {
  family f;
  family_open(&f, "saxpy");
  want(&f, "n=1000", "VEC=4", WANTED_UNTUNED);
  want(&f, "n=2000", "VEC=4", WANTED_UNTUNED);
  assert_int_equal(f.w.n, 1);
  assert_int_equal(f.w.items[0].n_problems, 2);
  want(&f, "n=3000", "VEC=4", WANTED_PORTFOLIO); /* does not count */
  assert_int_equal(f.w.items[0].n_problems, 2);
  want(&f, "n=4000", "VEC=4", WANTED_SERVED); /* counts anew */
  assert_int_equal(f.w.n, 1);
  assert_int_equal(f.w.items[0].n_problems, 1);
  assert_int_equal(f.w.items[0].by, WANTED_SERVED);
  assert_string_equal(f.w.items[0].problem, "n=1000");
  family_close(&f);
}

TEST(most_wanted_come_first) {
  family f;
  family_open(&f, "saxpy");
  want(&f, "n=1000", "VEC=4", WANTED_UNTUNED);
  want(&f, "n=1000", "VEC=1", WANTED_SERVED);
  want(&f, "n=1000", "VEC=2", WANTED_SERVED);
  want(&f, "n=2000", "VEC=2", WANTED_SERVED);
  assert_int_equal(f.w.n, 3);
  wanted_sort(&f.w);
  assert_int_equal(f.w.items[0].n_problems, 2);
  assert_int_equal(f.w.items[1].number, 1);
  assert_int_equal(f.w.items[2].by, WANTED_UNTUNED);
  family_close(&f);
}

TEST(given_problems_want_one_image_each) {
  family f;
  gen_problem p = {0};
  const sizes only = {.p = &p, .n = 1};
  family_open(&f, "sgemm");
  assert_ok(gen_problem_parse(f.t, "m=1000 n=333 k=77 tb=t", &p, &f.e), &f.e);
  assert_ok(wanted_family(&f.from, f.t, &only, 100, &f.w, &f.e), &f.e);
  assert_int_equal(f.w.n, 1);
  assert_int_equal(f.w.items[0].by, WANTED_SERVED);
  assert_non_null(strstr(f.w.items[0].text + f.w.items[0].body, "__global__"));
  family_close(&f);
}

static bool is_wanted(const family *f, gen_instance *g, const gen_config *c, err *e) {
  auto_str text = {0};
  size_t body;
  char hash[HASH_TEXT];
  assert_ok(gen_source_make(g, c, &text, &body, e), e);
  hash_bytes(text.p + body, text.n - body, hash);
  for (size_t i = 0; i < f->w.n; i++) {
    if (!strcmp(f->w.items[i].hash, hash)) {
      return true;
    }
  }
  return false;
}

/* As they are for sizes to which every alignment and every tile fits. */
TEST(every_configuration_of_the_portfolio_is_wanted_in_each_layout) {
  static const char *const problems[] = {
      "m=512 n=512 k=512 ta=n tb=n", "m=512 n=512 k=512 ta=n tb=t", "m=512 n=512 k=512 ta=t tb=n",
      "m=512 n=512 k=512 ta=t tb=t"};
  family f;
  serve_known known = {0};
  family_open(&f, "sgemm");
  assert_ok(serve_known_read(&f.from, f.t, &known, &f.e), &f.e);
  assert_true(known.portfolio.n_configs > 1);
  assert_ok(wanted_family(&f.from, f.t, NULL, 10, &f.w, &f.e), &f.e);
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    auto_instance *g = instance(&f, problems[i]);
    for (size_t k = 0; k < known.portfolio.n_configs; k++) {
      gen_config c = known.portfolio.configs[k];
      int changed;
      if (adapt_config(f.t, g, &c, &changed) && !is_wanted(&f, g, &c, &f.e)) {
        auto_str config = {0};
        gen_config_text(f.t, &c, &config);
        fail_msg("%s: no image of %s", problems[i], str_text(&config));
      }
    }
  }
  serve_known_clear(&known);
  family_close(&f);
}

TEST(drawn_problems_are_in_the_range_and_other_values_occur) {
  family f;
  serve_known known = {0};
  sizes all;
  size_t n_f64 = 0;
  family_open(&f, "transpose");
  assert_ok(serve_known_read(&f.from, f.t, &known, &f.e), &f.e);
  assert_ok(warm_problems(f.t, &known, 50, &f.memory, &all, &f.e), &f.e);
  assert_in_range(all.n, 50, 200);
  for (size_t i = 0; i < all.n; i++) {
    auto_str text = {0};
    gen_problem_text(f.t, &all.p[i], &text);
    n_f64 += strstr(str_text(&text), "dtype=f64") != NULL;
  }
  assert_true(n_f64 > 0 && n_f64 < all.n);
  serve_known_clear(&known);
  family_close(&f);
}

TEST(without_a_portfolio_there_are_no_combinations) {
  family f;
  const portfolio none = {0};
  sizes all;
  family_open(&f, "transpose");
  assert_ok(warm_combinations(f.t, &none, &f.memory, &all, &f.e), &f.e);
  assert_int_equal(all.n, 0);
  family_close(&f);
}

int main(void) {
  return tests_run();
}
