/* test_layouts.c -- programs compiled with the structs of an earlier or of a later tuned.h.
 * test_install.sh runs one of version 0.1 (program_0_1.c). */
#define _GNU_SOURCE
#include "serve_fixture.h"

typedef struct later_options {
  tuned_options now;
  int threads;
} later_options;

typedef struct later_info {
  tuned_kernel_info now;
  int better_on_its_way;
} later_info;

static int open_later(fixture *f, const later_options *o) {
  tuned_close(f->ctx);
  return tuned_open_sized(&f->ctx, &o->now, sizeof *o, &f->err);
}

CONTEXT_TEST(an_option_of_a_later_version_must_be_0) {
  later_options o = {.now = {.device = device_name, .database = f->db_path}};
  OK(f, open_later(f, &o));
  info_of(f, "saxpy n=1000");
  o.threads = 1;
  REFUSED(f, TUNED_E_USAGE, "it needs a later one", open_later(f, &o));
  assert_null(f->ctx);
}

/* What lies behind the last option is none, be it padding. */
CONTEXT_TEST(options_of_an_earlier_version_end_early) {
  tuned_options o;
  tuned_close(f->ctx);
  memset(&o, 0xff, sizeof o);
  o.device = device_name;
  OK(f, tuned_open_sized(&f->ctx, &o, sizeof o.device, &f->err));
  info_of(f, "saxpy n=1000");
  tuned_close(f->ctx);
  o.database = f->db_path;
  o.templates = NULL;
  o.trust_database = 0;
  o.reproducible = NULL;
  OK(f, tuned_open(&f->ctx, &o, &f->err));
}

CONTEXT_TEST(what_tuned_info_does_not_know_is_0) {
  tuned_kernel *k;
  later_info later;
  memset(&later, 0xff, sizeof later);
  OK(f, tuned_find(f->ctx, "saxpy n=1000", &k, &f->err));
  OK(f, tuned_info_sized(k, &later.now, sizeof later, &f->err));
  assert_int_equal(later.better_on_its_way, 0);
  assert_string_equal(later.now.config, info_of(f, "saxpy n=1000").config);
}

CONTEXT_TEST(tuned_info_writes_no_more_than_there_is) {
  tuned_kernel *k;
  tuned_kernel_info info;
  memset(&info, 0xff, sizeof info);
  const double untouched = info.expected_loss;
  OK(f, tuned_find(f->ctx, "saxpy n=1000", &k, &f->err));
  OK(f, tuned_info_sized(k, &info, offsetof(tuned_kernel_info, expected_loss), &f->err));
  assert_int_equal(info.workspace_nbytes, 0);
  assert_memory_equal(&info.expected_loss, &untouched, sizeof untouched);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
