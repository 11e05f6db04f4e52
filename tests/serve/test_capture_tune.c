/* test_capture_tune.c -- problems are tuned on the data that TUNED_CAPTURE_DATA keeps. */
#define _GNU_SOURCE
#include "capture_fixture.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "tune.h"
#include "verbs.h"

static const char TUNE[] = "--tune"; /* this program as the tuner: see tune_here */

static void contains(const str *text, const char *words) {
  if (!strstr(str_text(text), words)) {
    fail_msg("'%s' is not in: %s", words, str_text(text));
  }
}

/* Tunes in another process, because what measures is forked, and a forked process cannot use a
 * driver that this one has started. The database is another one, since the key is the same. Out:
 * what is printed on both streams; returns the exit status. */
static int tune_list(fixture *f, const char *list, const char *name, str *out) {
  char base[200], path[200];
  err e = {0};
  int status = -1;
  snprintf(base, sizeof base, "%s/%s.db", f->folder, name);
  snprintf(path, sizeof path, "%s/printed", f->folder);
  const pid_t child = fork();
  if (!child) {
    const int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(to, 1);
    dup2(to, 2);
    execl("/proc/self/exe", "test_capture_tune", TUNE, list, device_name, base, f->folder,
          (char *)NULL);
    _exit(127);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  str_reset(out);
  assert_ok(file_read(path, 1 << 20, out, &e), &e);
  return status;
}

/* The verb tune-captured, in that process. */
static int tune_here(char **words) {
  const char *list = words[0];
  err e = {0};
  const cli c = {.verb = "tune-captured",
                 .words = &list,
                 .n_words = 1,
                 .device = words[1],
                 .db = words[2],
                 .templates = words[3],
                 .budget = "4",
                 .jobs = "1"};
  const int rc = cmd_captured(&c, &e);
  printf("error: %s\n", e.message);
  return rc ? 1 : 0;
}

/* Tunes picky with 100 numbers on this data, NULL: on the template's; all four ways are tried. */
static int tune_on(fixture *f, const char *name, const char *data, str *out) {
  char list[500];
  snprintf(list, sizeof list, "picky n=100%s%s\n", data ? "  # 1 calls, data " : "",
           data ? data : "");
  write_text(f->folder, "list", list, strlen(list));
  snprintf(list, sizeof list, "%s/list", f->folder);
  return tune_list(f, list, name, out);
}

CONTEXT_TEST(test_a_problem_is_tuned_on_its_data) {
  kept d;
  auto_str out = {0};
  const float s = 7;
  keep(&d, f);
  const void *args[] = {NULL, &s, &d.at[0], &d.at[1], &d.z};
  OK(d.c.f, tuned_launch_with(d.k, NULL, args, NULL, 0, &d.c.f->err));
  assert_int_equal(tune_on(d.c.f, "filled", NULL, &out), 0);
  contains(&out, "4 trials, 0 failed");
  assert_int_equal(tune_on(d.c.f, "recorded", d.file, &out), 0);
  contains(&out, "4 trials, 2 failed");
  assert_int_not_equal(tune_on(d.c.f, "absent", "/no/such/data", &out), 0);
  contains(&out, "cannot open /no/such/data");
}

/* Seconds of WAY=right, measured or modelled. */
static double time_in(fixture *f, const char *name) {
  char path[200];
  auto_template *t = NULL;
  auto_db *d = NULL;
  db_result *rows;
  size_t n;
  int64_t template_id, device_id;
  auto_arena a = {0};
  err e = {0};
  double sec = 0;
  snprintf(path, sizeof path, "%s/%s.db", f->folder, name);
  assert_ok(gen_open(&inside(f)->options, "picky", &t, &e), &e);
  assert_ok(db_open(path, DB_READ, &d, &e), &e);
  assert_ok(db_template_find(d, t->hash, &template_id, &e), &e);
  assert_ok(db_device_find(d, str_text(&inside(f)->device_key), &device_id, &e), &e);
  assert_ok(db_results(d, template_id, device_id, "picky n=100", &a, &rows, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(rows[i].t.config, "WAY=right")) {
      sec = rows[i].median > 0 ? rows[i].median : rows[i].modelled;
    }
  }
  return sec;
}

/* One of the recorded numbers takes many rounds, none of the template's does. */
CONTEXT_TEST(test_time_is_that_of_the_data) {
  kept d;
  auto_str out = {0};
  keep(&d, f);
  OK(d.c.f, launch(&d, 7));
  assert_int_equal(tune_on(d.c.f, "even", NULL, &out), 0);
  assert_int_equal(tune_on(d.c.f, "recorded", d.file, &out), 0);
  const double filled = time_in(d.c.f, "even"), recorded = time_in(d.c.f, "recorded");
  assert_true(filled > 0 && recorded > 2 * filled);
}

CONTEXT_TEST(test_tune_captured_takes_the_data) {
  kept d;
  auto_str out = {0};
  keep(&d, f);
  OK(d.c.f, launch(&d, 7));
  assert_int_equal(tune_list(d.c.f, d.c.path, "verb", &out), 0);
  contains(&out, "on data recorded in a program: ");
  contains(&out, "4 trials, 2 failed");
  /* what does not fit is left out, the other problem is tuned */
  assert_int_equal(truncate(d.file, 200), 0);
  char list[400];
  snprintf(list, sizeof list, "picky n=100 # 1 calls, data %s\npicky n=50\n", d.file);
  write_text(d.c.f->folder, "list", list, strlen(list));
  snprintf(list, sizeof list, "%s/list", d.c.f->folder);
  assert_true(tune_list(d.c.f, list, "other", &out) != 0);
  contains(&out, "picky n=100 is left out: ");
  contains(&out, "picky n=50 on ");
  contains(&out, "4 trials, 0 failed");
  contains(&out, "error: picky: 1 of 2 problems could not be tuned");
}

int main(int argc, char **argv) {
  if (argc == 6 && !strcmp(argv[1], TUNE)) {
    return tune_here(argv + 2);
  }
  return context_tests_run(argc, argv);
}
