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

/* Larger than any limit, and of no other card. */
static void enlarge(rt_info *info) {
  info->sms = 211;
  info->l2_nbytes *= 3;
  info->memory_nbytes *= 3;
  info->smem_block += 4096;
  info->smem_sm += 8192;
  info->blocks_sm += 7;
}

static void check_devices(gen_template *t) {
  rt_info a100 = info_of("a100", 80), h200 = info_of("h200", 90);
  rt_info larger80 = a100, larger90 = h200, later = h200;
  enlarge(&larger80);
  enlarge(&larger90);
  enlarge(&later);
  later.cc = 120; /* takes PTX of 9.0 */
  assert_same(t, &a100, &larger80);
  assert_same(t, &h200, &larger90);
  assert_same(t, &h200, &later);
  const rt_info ada = info_of("l40s", 89); /* takes machine code of 8.0 */
  assert_same(t, &a100, &ada);
}

TEST(texts_depend_on_nothing_of_the_device_but_its_capability) {
  each_family(check_devices);
}

int main(void) {
  return tests_run();
}
