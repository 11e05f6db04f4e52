/* test_base_forms.c -- the texts of the base set: they serve every size of every combination of
 * choices, on every device of their architecture. */
#define _GNU_SOURCE
#include "base_forms.h"
#include "check.h"
#include "emu.h"
#include "run.h"

static rt_info info_of(const char *profile, int cc) {
  err e = {0};
  rt_device *d;
  assert_ok(rt_emu_open(profile, &d, &e), &e);
  rt_info info = d->info;
  d->ops->close(d);
  info.cc = cc;
  return info;
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

static void assert_same(gen_template *t, const rt_info *one, const rt_info *other) {
  base_forms a = {0}, b = {0};
  err e = {0};
  assert_ok(base_forms_add(&a, t, one, &e), &e);
  assert_ok(base_forms_add(&b, t, other, &e), &e);
  assert_true(a.n > 0);
  for (size_t i = 0; i < b.n; i++) {
    if (!has(&a, b.list[i].hash)) {
      fail_msg("%s: this text of %s is not among those of %s:\n%s", t->name, other->name, one->name,
               b.list[i].text);
    }
  }
  base_forms_clear(&a);
  base_forms_clear(&b);
}

/* The limits of a card that there is not. */
static rt_info larger_than(const rt_info *info, int cc) {
  rt_info larger = *info;
  larger.cc = cc;
  larger.sms = 211;
  larger.l2_nbytes *= 3;
  larger.memory_nbytes *= 3;
  larger.smem_block += 4096;
  larger.smem_sm += 8192;
  larger.blocks_sm += 7;
  return larger;
}

/* 8.9 takes machine code of 8.0, and 12.0 PTX of 9.0. */
static void check_devices(gen_template *t) {
  const rt_info a100 = info_of("a100", 80), larger_ada = larger_than(&a100, 89);
  const rt_info h200 = info_of("h200", 90), larger_blackwell = larger_than(&h200, 120);
  assert_same(t, &a100, &larger_ada);
  assert_same(t, &h200, &larger_blackwell);
}

TEST(texts_depend_on_nothing_of_the_device_but_its_capability) {
  each_family(check_devices);
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void assert_served(gen_template *t, const base_forms *f, const rt_info *info,
                          const gen_problem *p) {
  auto_instance *g = NULL;
  auto_str problem = {0};
  err e = {0};
  gen_config c;
  assert_ok(rt_instance_new(t, p, info, &g, &e), &e);
  for (size_t i = 0; gen_config_base(t, i, &c); i++) {
    auto_str text = {0};
    size_t body;
    char hash[HASH_TEXT];
    if (!gen_config_check(g, &c, NULL)) {
      assert_ok(gen_source_make(g, &c, &text, &body, &e), &e);
      hash_bytes(text.p + body, text.n - body, hash);
      if (has(f, hash)) {
        return;
      }
    }
  }
  gen_problem_text(t, p, &problem);
  fail_msg("no text of the base set serves %s", str_text(&problem));
}

static void check_list(gen_template *t, const base_forms *f, const rt_info *info,
                       const char *const *sizes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    gen_problem p;
    err e = {0};
    assert_ok(gen_problem_parse(t, sizes[i], &p, &e), &e);
    for (size_t k = 0; k < t->n_fields; k++) { /* forms for these are compiled as they are needed */
      const gen_field *field = &t->fields[k];
      if (!strcmp(field->name, "scale") || !strcmp(field->name, "bias") ||
          !strcmp(field->name, "act")) {
        p.values[k] = (gen_value){.i = 0, .s = field->names[0]};
      }
    }
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

static void check_sizes(gen_template *t) {
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
  const rt_info info = info_of("a100", 80);
  base_forms f = {0};
  err e = {0};
  assert_ok(base_forms_add(&f, t, &info, &e), &e);
  check_list(t, &f, &info, t->sizes_emu, t->n_sizes_emu);
  check_list(t, &f, &info, t->sizes_test, t->n_sizes_test);
  check_list(t, &f, &info, t->sizes_bench, t->n_sizes_bench);
  check_extremes(t, &f, &info);
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    if (!strcmp(more[i][0], t->name)) {
      check_list(t, &f, &info, &more[i][1], 1);
    }
  }
  base_forms_clear(&f);
}

TEST(every_size_is_served) {
  each_family(check_sizes);
}

int main(void) {
  return tests_run();
}
