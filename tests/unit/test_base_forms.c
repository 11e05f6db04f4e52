/* test_base_forms.c -- the texts of the base set: they serve every size of every combination of
 * choices, on every device of their architecture. */
#define _GNU_SOURCE
#include "base_forms.h"
#include "check.h"
#include "emu.h"
#include "run.h"

static rt_info info_of(const char *profile) {
  err e = {0};
  rt_device *d;
  assert_ok(rt_emu_open(profile, &d, &e), &e);
  const rt_info info = d->info;
  d->ops->close(d);
  return info;
}

static void make(gen_template *t, int cc, base_forms *f) {
  rt_info limits[BASE_LIMITS];
  err e = {0};
  assert_ok(base_forms_limits(cc, limits, &e), &e);
  assert_ok(base_forms_add(f, t, limits, &e), &e);
  assert_true(f->n > 0);
}

static bool has(const base_forms *f, const char *hash) {
  for (size_t i = 0; i < f->n; i++) {
    if (!strcmp(f->list[i].hash, hash)) {
      return true;
    }
  }
  return false;
}

static void each_family(void (*check)(gen_template *t)) {
  auto_arena a = {0};
  const char *const *names;
  size_t n;
  err e = {0};
  assert_ok(gen_families(NULL, &a, &names, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    auto_template *t = NULL;
    assert_ok(gen_open(NULL, names[i], &t, &e), &e);
    check(t);
  }
}

/* ---- devices -------------------------------------------------------------------------------- */

/* With limits above those of any card of that capability. */
static void make_larger(gen_template *t, int cc, base_forms *f) {
  rt_info limits[BASE_LIMITS];
  err e = {0};
  assert_ok(base_forms_limits(cc, limits, &e), &e);
  for (size_t i = 0; i < BASE_LIMITS; i++) {
    limits[i].sms += 73;
    limits[i].l2_nbytes *= 3;
    limits[i].memory_nbytes *= 3;
    limits[i].smem_block += 4096;
    limits[i].smem_sm += 8192;
    limits[i].blocks_sm += 7;
  }
  assert_ok(base_forms_add(f, t, limits, &e), &e);
}

static void assert_among(const gen_template *t, const base_forms *f, int cc,
                         const base_forms *all) {
  for (size_t i = 0; i < f->n; i++) {
    if (!has(all, f->list[i].hash)) {
      fail_msg("%s: this text for compute capability %d is not made:\n%s", t->name, cc,
               f->list[i].text);
    }
  }
}

static void assert_makes(gen_template *t, int cc, const base_forms *all) {
  base_forms f = {0};
  make_larger(t, cc, &f);
  assert_among(t, &f, cc, all);
  base_forms_clear(&f);
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static bool has_text(const base_forms *f, gen_instance *g, const gen_config *c) {
  auto_str text = {0};
  size_t body;
  char hash[HASH_TEXT];
  err e = {0};
  if (!gen_source_hash(g, c, hash)) {
    assert_ok(gen_source_make(g, c, &text, &body, &e), &e);
    hash_bytes(text.p + body, text.n - body, hash);
    gen_source_remember(g, c, hash);
  }
  return has(f, hash);
}

/* As the library looks for it: of a configuration that is valid with what promises most, that text. */
static bool is_served(gen_template *t, const base_forms *f, gen_instance *g, gen_instance *most) {
  gen_config c;
  for (size_t i = 0; gen_config_base(t, i, &c); i++) {
    gen_instance *at = most && !gen_config_check(most, &c, NULL) ? most : g;
    if (!gen_config_check(at, &c, NULL) && has_text(f, at, &c)) {
      return true;
    }
  }
  return false;
}

static void assert_one_served(gen_template *t, const base_forms *f, const rt_info *info,
                              const gen_problem *p) {
  auto_instance *g = NULL, *most = NULL;
  auto_str problem = {0};
  gen_problem promising = *p;
  err e = {0};
  assert_ok(rt_instance_new(t, p, info, &g, &e), &e);
  if (gen_problem_promise_most(t, &promising)) {
    assert_ok(rt_instance_new(t, &promising, info, &most, &e), &e);
  }
  if (!is_served(t, f, g, most)) {
    gen_problem_text(t, p, &problem);
    fail_msg("no text of the base set serves %s", str_text(&problem));
  }
}

/* As given, and with what promises most: what serves that serves all between. */
static void assert_served(gen_template *t, const base_forms *f, const rt_info *info,
                          const gen_problem *p) {
  gen_problem most = *p;
  assert_one_served(t, f, info, p);
  if (gen_problem_promise_most(t, &most)) {
    assert_one_served(t, f, info, &most);
  }
}

/* Forms for other values of these are compiled as they are needed: no typed call asks for them. */
static bool is_left_out(const gen_template *t, const gen_field *f) {
  static const char *const names[] = {"scale", "bias", "act"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!strcmp(f->name, names[i])) {
      return true;
    }
  }
  return !strcmp(t->name, "dot") && !strcmp(f->name, "accuracy");
}

static void check_list(gen_template *t, const base_forms *f, const rt_info *info,
                       const char *const *sizes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    gen_problem p;
    bool given[GEN_MAX_FIELDS];
    err e = {0};
    assert_ok(gen_problem_parse(t, sizes[i], &p, &e), &e);
    for (size_t k = 0; k < t->n_fields; k++) {
      given[k] = !is_left_out(t, &t->fields[k]);
    }
    assert_ok(gen_problem_complete(t, &p, given, &e), &e);
    assert_served(t, f, info, &p);
  }
}

/* No device holds the matrix of 2^62 elements that transpose refuses. */
static bool is_possible(gen_template *t, const rt_info *info, const gen_problem *p) {
  auto_instance *g = NULL;
  gen_config c;
  gen_config_default(t, &c);
  return !rt_instance_new(t, p, info, &g, NULL) && !gen_config_check(g, &c, NULL);
}

/* A field at either end of its range, the others at their defaults. */
static void check_extremes(gen_template *t, const base_forms *f, const rt_info *info) {
  for (size_t i = 0; i < 2 * t->n_fields; i++) {
    const gen_field *field = &t->fields[i / 2];
    gen_problem p = {0};
    bool given[GEN_MAX_FIELDS] = {0};
    if (!field->n_names && !field->n_choices) {
      p.values[i / 2].i = i % 2 ? field->max : field->min;
      given[i / 2] = true;
      err e = {0};
      assert_ok(gen_problem_complete(t, &p, given, &e), &e);
      if (is_possible(t, info, &p)) {
        assert_served(t, f, info, &p);
      }
    }
  }
}

static void check_all(gen_template *t, const base_forms *f, const rt_info *info) {
  static const char *const more[][2] = {
      {"gemm", "m=3 n=2 k=100000 align=1"},
      {"sgemm", "m=1001 n=7 k=100000 align=1"},
      {"histogram", "n=100000 bins=16777216 lower=-9 span=33554433"},
      {"histogram", "n=2^31 bins=12289 dtype=f32"},
      {"gemm_batched", "m=1 n=128 k=1"},
      {"gemm_batched", "m=128 n=1 k=32768 dtype=f64 layout=strided align=1"},
      {"gemm_batched", "m=67 n=33 k=5 batch=3 layout=pointers align=1"},
      {"radix_sort", "n=2^31"},
      {"radix_sort", "n=2^31 dtype=u64 value_bytes=8 begin_bit=3 end_bit=14"},
      {"radix_sort", "n=1000 begin_bit=9 end_bit=5"},
  };
  check_list(t, f, info, t->sizes_emu, t->n_sizes_emu);
  check_list(t, f, info, t->sizes_test, t->n_sizes_test);
  check_list(t, f, info, t->sizes_bench, t->n_sizes_bench);
  check_extremes(t, f, info);
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    if (!strcmp(more[i][0], t->name)) {
      check_list(t, f, info, &more[i][1], 1);
    }
  }
}

/* 8.9 takes machine code of 8.0, and 12.0 PTX of 9.0. */
static void check_family(gen_template *t) {
  static const char *const of_80[] = {"a100", "l40s", "rtx3090"};
  const rt_info h200 = info_of("h200");
  base_forms f80 = {0}, f90 = {0};
  make(t, 80, &f80);
  make(t, 90, &f90);
  assert_makes(t, 89, &f80);
  assert_makes(t, 120, &f90);
  for (size_t i = 0; i < sizeof of_80 / sizeof *of_80; i++) {
    const rt_info info = info_of(of_80[i]);
    check_all(t, &f80, &info);
  }
  check_all(t, &f90, &h200);
  base_forms_clear(&f80);
  base_forms_clear(&f90);
}

TEST(texts_serve_every_size_on_every_device) {
  each_family(check_family);
}

int main(void) {
  return tests_run();
}
