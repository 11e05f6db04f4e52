/* test_nearest.c -- the configuration that serves an untuned size, its origin, and that it needs no
 * compiler. Runs on any device: test_nearest [--device NAME]. */
#define _GNU_SOURCE
#include <math.h>

#include "serve_choose.h"
#include "serve_fixture.h"

/* ---- helpers -------------------------------------------------------------------------------- */

static void put(fixture *f, const char *problem, const char *config) {
  store_put(f, &(stored){.problem = problem, .config = config});
}

static void serves(fixture *f, const char *problem, tuned_origin origin, const char *from,
                   const char *config) {
  const tuned_kernel_info info = info_of(f, problem);
  if (info.origin != origin || !strstr(info.config, config)) {
    fail_msg("%s: origin %d, %s; wanted %d, %s", problem, (int)info.origin, info.config,
             (int)origin, config);
  }
  if (!from != !info.tuned_problem || (from && strcmp(from, info.tuned_problem))) {
    fail_msg("%s: from %s, wanted %s", problem, info.tuned_problem, from);
  }
}

static char *installed_nvrtc; /* AUTOTUNE_NVRTC at the start; NULL: unset */

/* Hides NVRTC, as on a machine without the toolkit. */
static void forbid_compiler(void) {
  setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
}

static void restore_compiler(void) {
  if (installed_nvrtc) {
    setenv("AUTOTUNE_NVRTC", installed_nvrtc, 1);
  } else {
    unsetenv("AUTOTUNE_NVRTC");
  }
}

static int allow_compiler(void **state) {
  restore_compiler();
  return teardown(state);
}

#define WITHOUT_COMPILER(name) TEST_ON(name, fixture, f, state_of, setup, allow_compiler)

/* ---- distance ------------------------------------------------------------------------------- */

CONTEXT_TEST(the_nearest_in_octaves) {
  put(f, "saxpy n=1000 align=4", "BLOCK=64");
  put(f, "saxpy n=100000 align=4", "BLOCK=512");
  reopen(f, NULL);
  serves(f, "saxpy n=9000", TUNED_NEAREST, "saxpy n=1000 align=4", "BLOCK=64");
  serves(f, "saxpy n=11200", TUNED_NEAREST, "saxpy n=100000 align=4", "BLOCK=512");
  serves(f, "saxpy n=0", TUNED_NEAREST, "saxpy n=1000 align=4", "BLOCK=64");
  serves(f, "saxpy n=1000", TUNED_EXACT, "saxpy n=1000 align=4", "BLOCK=64");
}

/* Where this size does not allow a configuration, a near one that it allows is served. */
CONTEXT_TEST(requirements_are_checked_again) {
  put(f, "saxpy n=1000 align=4", "BLOCK=64,VEC=4");
  put(f, "saxpy n=1800 align=4", "BLOCK=128,VEC=1");
  reopen(f, NULL);
  serves(f, "saxpy n=1004", TUNED_NEAREST, "saxpy n=1000 align=4", "BLOCK=64,VEC=4");
  serves(f, "saxpy n=1001", TUNED_NEAREST, "saxpy n=1800 align=4", "BLOCK=128,VEC=1");
  assert_int_equal(info_of(f, "saxpy n=1001").adapted, 0);
}

/* Where no near configuration fits, the nearest is changed as little as possible. */
CONTEXT_TEST(the_nearest_is_adapted) {
  put(f, "saxpy n=1000 align=4", "BLOCK=64,VEC=4,COARSE=2");
  put(f, "saxpy n=80000 align=4", "BLOCK=128,VEC=1");
  reopen(f, NULL);
  serves(f, "saxpy n=1002", TUNED_NEAREST, "saxpy n=1000 align=4", "BLOCK=64,VEC=2,COARSE=2");
  serves(f, "saxpy n=1001", TUNED_NEAREST, "saxpy n=1000 align=4", "BLOCK=64,VEC=1,COARSE=2");
  assert_int_equal(info_of(f, "saxpy n=1001").adapted, 1);
  assert_int_equal(info_of(f, "saxpy n=1004").adapted, 0);
}

#define TILED                                                                                      \
  "BM=128,BN=32,TM=16,TN=4,STORE=4,LM=4,LANES=interleaved,BK=8,UNROLL=8,SPLITK=3,VEC=4,STAGES=2"

/* An odd size beside a tuned one keeps the tiles, although vector accesses are impossible. */
CONTEXT_TEST(odd_sizes_keep_the_tiles) {
  put(f, "sgemm m=160 n=96 k=64 ta=n tb=t align=4", TILED);
  reopen(f, NULL);
  const tuned_kernel_info info = info_of(f, "sgemm m=159 n=95 k=63 ta=n tb=t");
  print_message("%d changed: %s\n", info.adapted, info.config);
  assert_int_equal(info.origin, TUNED_NEAREST);
  assert_true(info.adapted >= 2);
  assert_non_null(strstr(info.config, "BM=128,BN=32,TM=16,TN=4"));
  assert_non_null(strstr(info.config, "STORE=1"));
  assert_non_null(strstr(info.config, "VEC=1"));
}

CONTEXT_TEST(choices_must_be_equal) {
  put(f, "sgemm m=256 n=256 k=256 ta=n tb=t align=4", "");
  reopen(f, NULL);
  serves(f, "sgemm m=250 n=256 k=256 ta=n tb=t align=1", TUNED_NEAREST,
         "sgemm m=256 n=256 k=256 ta=n tb=t align=4", "BM=");
  serves(f, "sgemm m=256 n=256 k=256 ta=n tb=n", TUNED_DEFAULT, NULL, "BM=");
}

/* A template's suggestion serves an untuned problem, but a near neighbour precedes it. */
CONTEXT_TEST(suggestions_stand_among_neighbours) {
  static const char near[] =
      "histogram n=100000 bins=300 dtype=i32 lower=0 span=300 used=300 align=16";
  put(f, near, "ALG=shared,BLOCK=384,VEC=2");
  reopen(f, NULL);
  serves(f, "histogram n=100000 bins=256 dtype=f32", TUNED_DEFAULT, NULL, "ALG=shared,BLOCK=256");
  serves(f, "histogram n=100000 bins=400", TUNED_NEAREST, near, "BLOCK=384");
  serves(f, "histogram n=100000 bins=8000", TUNED_DEFAULT, NULL, "ALG=shared,BLOCK=256");
  /* a neighbour is not adapted where a suggestion fits */
  serves(f, "histogram n=100000 bins=300 align=1", TUNED_DEFAULT, NULL, "ALG=shared,BLOCK=256");
}

/* Where none of the conditions of a template's suggestions holds, its default precedes a result that is
 * many octaves away: of short segments in a small array, a thread each. */
CONTEXT_TEST(the_default_stands_among_suggestions) {
  static const char far[] = "segmented_reduce n=16777216 segments=4096 op=sum dtype=f32 align=4 "
                            "reproducible=any";
  put(f, far, "ALG=block,BLOCK=256,VEC=4,COARSE=4");
  reopen(f, NULL);
  serves(f, "segmented_reduce n=2000 segments=2000", TUNED_DEFAULT, NULL, "ALG=thread");
  serves(f, "segmented_reduce n=8000000 segments=4096", TUNED_NEAREST, far, "ALG=block");
}

/* A neighbour that is many times slower than one hardly farther away comes from a failed search. */
CONTEXT_TEST(a_failed_search_is_passed_over) {
  static const char good[] = "saxpy n=16777215 align=4", bad[] = "saxpy n=4194303 align=4";
  store_put(f, &(stored){.problem = good, .config = "BLOCK=128", .median = 50e-6});
  store_put(f, &(stored){.problem = bad, .config = "BLOCK=512", .median = 60e-6});
  reopen(f, NULL);
  serves(f, "saxpy n=6000000 align=4", TUNED_NEAREST, bad, "BLOCK=512");
  store_put(f, &(stored){.problem = bad, .config = "BLOCK=512", .median = 600e-6});
  reopen(f, NULL);
  serves(f, "saxpy n=6000000 align=4", TUNED_NEAREST, good, "BLOCK=128");
  serves(f, "saxpy n=3000000 align=4", TUNED_NEAREST, bad, "BLOCK=512"); /* that is too far */
}

/* Of two at the same distance the one that ran closer to the peak is served. */
CONTEXT_TEST(ties_go_to_the_faster) {
  const stored slow = {
      .problem = "saxpy n=1023 align=4", .config = "BLOCK=64,VEC=1", .median = 8e-6};
  const stored fast = {
      .problem = "saxpy n=4095 align=4", .config = "BLOCK=128,VEC=1", .median = 9e-6};
  store_put(f, &slow);
  store_put(f, &fast);
  reopen(f, NULL);
  serves(f, "saxpy n=2047 align=4", TUNED_NEAREST, fast.problem, "BLOCK=128");
  /* not because it is the larger or the later one */
  store_put(f,
            &(stored){.problem = "saxpy n=16383 align=4", .config = "BLOCK=512", .median = 1e-3});
  reopen(f, NULL);
  serves(f, "saxpy n=8191 align=4", TUNED_NEAREST, fast.problem, "BLOCK=128");
}

/* ---- expected time -------------------------------------------------------------------------- */

/* saxpy is bound by memory: twice the size is twice the time. */
CONTEXT_TEST(expectation_is_scaled) {
  store_put(f, &(stored){.problem = "saxpy n=1048576 align=4", .config = "", .median = 1e-3});
  reopen(f, NULL);
  const tuned_kernel_info info = info_of(f, "saxpy n=2097152");
  assert_true(info.measured);
  assert_true(fabs(info.expected_sec - 2e-3) < 1e-6);
  assert_string_equal(info.tuned_device, str_text(&inside(f)->device_key));
}

/* A launch takes a minimum of time, however small the problem. */
CONTEXT_TEST(expectation_is_a_launch_at_least) {
  store_put(f, &(stored){.problem = "saxpy n=1048576 align=4", .config = "", .median = 5e-6});
  reopen(f, NULL);
  assert_true(info_of(f, "saxpy n=1024").expected_sec == 1e-6);
}

CONTEXT_TEST(modelled_stays_modelled) {
  store_put(f, &(stored){.problem = "saxpy n=4096 align=4", .config = "", .modelled = 1e-6});
  reopen(f, NULL);
  const tuned_kernel_info info = info_of(f, "saxpy n=8192");
  assert_int_equal(info.origin, TUNED_NEAREST);
  assert_true(!info.measured && fabs(info.expected_sec - 2e-6) < 1e-8);
}

/* ---- elsewhere ------------------------------------------------------------------------------ */

#define CARD "NVIDIA H100|sm_90|132|5120|1980|2619"

CONTEXT_TEST(other_devices_of_the_architecture) {
  const int cc = inside(f)->device->info.cc;
  store_put(f, &(stored){.problem = "saxpy n=1000 align=4",
                         .config = "BLOCK=64",
                         .device_key = "some card|sm_80|108|5120|1410|1593",
                         .cc = cc + 10});
  reopen(f, NULL);
  serves(f, "saxpy n=1000", TUNED_DEFAULT, NULL, "BLOCK=256");
  store_put(f, &(stored){.problem = "saxpy n=1000 align=4",
                         .config = "BLOCK=128",
                         .device_key = CARD,
                         .cc = cc});
  store_put(f, &(stored){.problem = "saxpy n=1000 align=4",
                         .config = "BLOCK=512",
                         .device_key = "NVIDIA small|sm_90|16|5120|1980|2619",
                         .cc = cc,
                         .sms = 16});
  reopen(f, NULL);
  serves(f, "saxpy n=1000", TUNED_OTHER_DEVICE, "saxpy n=1000 align=4", "BLOCK=128");
  assert_string_equal(info_of(f, "saxpy n=1000").tuned_device, CARD);
}

/* Results of this device win among comparable sizes, but not from far away. */
CONTEXT_TEST(this_device_goes_first) {
  const int cc = inside(f)->device->info.cc;
  put(f, "saxpy n=1500 align=4", "BLOCK=64");
  store_put(f, &(stored){.problem = "saxpy n=1000 align=4",
                         .config = "BLOCK=128",
                         .device_key = CARD,
                         .cc = cc});
  store_put(f, &(stored){.problem = "saxpy n=16777216 align=4",
                         .config = "BLOCK=512",
                         .device_key = CARD,
                         .cc = cc});
  reopen(f, NULL);
  serves(f, "saxpy n=1000", TUNED_NEAREST, "saxpy n=1500 align=4", "BLOCK=64");
  serves(f, "saxpy n=16777216", TUNED_OTHER_DEVICE, "saxpy n=16777216 align=4", "BLOCK=512");
}

/* ---- images --------------------------------------------------------------------------------- */

WITHOUT_COMPILER(a_neighbours_image_needs_no_compiler) {
  put(f, "sgemm m=128 n=128 k=128 ta=n tb=n align=4", "");
  forbid_compiler();
  reopen(f, NULL);
  serves(f, "sgemm m=96 n=160 k=64", TUNED_NEAREST, "sgemm m=128 n=128 k=128 ta=n tb=n align=4",
         "BM=");
  serves(f, "sgemm m=97 n=161 k=65", TUNED_NEAREST, "sgemm m=128 n=128 k=128 ta=n tb=n align=4",
         "BM=");
  assert_null(inside(f)->compiler);
  assert_int_equal(info_of(f, "sgemm m=96 n=160 k=64").spill_nbytes, STORED_SPILL);
  assert_int_equal(inside(f)->images.n, 2);
}

static void spoil_images(fixture *f) {
  char command[300];
  snprintf(command, sizeof command,
           "sqlite3 %s \"UPDATE image_bulk SET ptx = CAST('rubbish' AS BLOB), cubin = NULL\"",
           f->db_path);
  assert_int_equal(system(command), 0);
}

/* A damaged image is compiled again where there is a compiler. */
CONTEXT_TEST(a_damaged_image_is_built_again) {
  put(f, "saxpy n=1000 align=4", "BLOCK=64");
  spoil_images(f);
  reopen(f, NULL);
  serves(f, "saxpy n=1000", TUNED_EXACT, "saxpy n=1000 align=4", "BLOCK=64");
  assert_int_not_equal(info_of(f, "saxpy n=1000").spill_nbytes, STORED_SPILL);
}

/* Without a compiler the next candidate with a sound image is served, or the reason is reported. */
WITHOUT_COMPILER(a_damaged_image_leaves_its_place) {
  tuned_kernel *k;
  put(f, "saxpy n=1000 align=4", "BLOCK=64");
  spoil_images(f);
  forbid_compiler();
  reopen(f, NULL);
  REFUSED(f, TUNED_E_DEVICE, "NVRTC", tuned_find(f->ctx, "saxpy n=1000", &k, &f->err));
  restore_compiler();
  put(f, "saxpy n=2000 align=4", "BLOCK=128");
  forbid_compiler();
  reopen(f, NULL);
  serves(f, "saxpy n=1000", TUNED_NEAREST, "saxpy n=2000 align=4", "BLOCK=128");
}

/* ---- the database moves on ------------------------------------------------------------------ */

CONTEXT_TEST(new_rows_are_seen) {
  put(f, "saxpy n=1000 align=4", "BLOCK=64");
  reopen(f, NULL);
  serves(f, "saxpy n=3000", TUNED_NEAREST, "saxpy n=1000 align=4", "BLOCK=64");
  put(f, "saxpy n=2800 align=4", "BLOCK=512");
  serves(f, "saxpy n=2804", TUNED_NEAREST, "saxpy n=2800 align=4", "BLOCK=512");
  serves(f, "saxpy n=3000", TUNED_NEAREST, "saxpy n=1000 align=4", "BLOCK=64"); /* found before */
}

/* Rows that the template cannot read are ignored. */
CONTEXT_TEST(rubbish_rows_are_passed_over) {
  static const char *const problems[] = {"saxpy",        "saxpy n=x align=4", "",
                                         "saxpy n=1000", "saxpy q=1",         "%s%s%s%n",
                                         "saxpy n=2^63", "sgemm m=4",         "saxpy align=3"};
  store st;
  db *d;
  put(f, "saxpy n=1000 align=4", "BLOCK=64");
  store_open(&st, f, "saxpy", "n=4");
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &st.e), &st.e);
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    store_trial(&st, d, &(stored){.problem = problems[i], .config = "BLOCK=\x01\xff,,,=,VEC=9"},
                NULL);
  }
  db_close(d);
  store_close(&st);
  reopen(f, NULL);
  serves(f, "saxpy n=1200", TUNED_NEAREST, "saxpy n=1000 align=4", "BLOCK=64");
}

/* ---- cost ----------------------------------------------------------------------------------- */

enum { TUNED = 60, NEW = 200 };

static void put_many(fixture *f) {
  store st;
  auto_db *d = NULL;
  gen_config c;
  auto_str full = {0};
  char key[HASH_TEXT], problem[100];
  store_open(&st, f, "sgemm", "m=4");
  gen_config_default(st.t, &c);
  gen_config_text(st.t, &c, &full);
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &st.e), &st.e);
  store_image(&st, d, &c, key);
  for (int i = 0; i < TUNED; i++) {
    snprintf(problem, sizeof problem, "sgemm m=%d n=%d k=%d ta=n tb=n align=4", 64 << i % 4,
             64 << i / 4 % 4, 48 << i / 16);
    store_trial(&st, d, &(stored){.problem = problem, .config = str_text(&full)}, key);
  }
  store_close(&st);
}

/* Each of many new sizes finds a neighbour, and none needs a compiler. */
WITHOUT_COMPILER(new_sizes_find_neighbours) {
  char problem[100];
  put_many(f);
  forbid_compiler();
  reopen(f, NULL);
  for (int i = 0; i < NEW; i++) {
    snprintf(problem, sizeof problem, "sgemm m=%d n=%d k=%d", 60 + i, 50 + 3 * i, 40 + 2 * i);
    assert_int_equal(info_of(f, problem).origin, TUNED_NEAREST);
  }
}

int main(int argc, char **argv) {
  device_name = device_argument(argc, argv, "emu");
  installed_nvrtc = getenv("AUTOTUNE_NVRTC") ? strdup(getenv("AUTOTUNE_NVRTC")) : NULL;
  return tests_run();
}
