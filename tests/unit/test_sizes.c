/* test_sizes.c -- lists of problems in one file: what is read, what is refused and at which line,
 * and the order of tuning. */
#define _GNU_SOURCE
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "sizes.h"
#include "gen.h"

typedef struct bed {
  gen_template *t;
  arena a;
  err e;
} bed;

static int lay(void **state) {
  bed *b = calloc(1, sizeof *b);
  gen_options o = {0};
  assert_ok(gen_open(&o, "sgemm", &b->t, &b->e), &b->e);
  *state = b;
  return 0;
}

static int clear(void **state) {
  bed *b = *state;
  gen_close(b->t);
  arena_clear(&b->a);
  free(b);
  return 0;
}

#define BED_TEST(name) TEST_ON(name, bed, b, state_of, lay, clear)

/* m, n, k of each, in order: "1,2,3 4,5,6" */
static void expect(bed *b, const sizes *s, const char *wanted) {
  auto_str got = {0};
  for (size_t i = 0; i < s->n; i++) {
    str_addf(&got, "%s%lld,%lld,%lld", i ? " " : "", (long long)s->p[i].values[0].i,
             (long long)s->p[i].values[1].i, (long long)s->p[i].values[2].i);
  }
  assert_string_equal(str_text(&got), wanted);
  (void)b;
}

static void reads(bed *b, const char *text, const char *common, const char *wanted) {
  sizes s;
  assert_ok(sizes_read(b->t, text, common, &b->a, &s, &b->e), &b->e);
  expect(b, &s, wanted);
}

BED_TEST(lists_and_ranges_are_multiplied_out) {
  reads(b, "m=1 n=2 k=3", "", "1,2,3");
  reads(b, "m=1 n=2 k=3; sgemm m=4 n=5 k=6;", "", "1,2,3 4,5,6");
  reads(b, "m=1,2 n=7 k=3,4", "", "1,7,3 1,7,4 2,7,3 2,7,4");
  reads(b, "m=64..300*2 n=1", "k=9", "64,1,9 128,1,9 256,1,9");
  reads(b, "m=1000..1300+100 n=1", "k=9", "1000,1,9 1100,1,9 1200,1,9 1300,1,9");
  reads(b, "m=3,2^4..32*2 n=1 k=1", "", "3,1,1 16,1,1 32,1,1");
  reads(b, "m={3,2^4..32*2} n=k=1,2", "", "3,1,1 3,2,2 16,1,1 16,2,2 32,1,1 32,2,2");
  reads(b, "m=5..5+9 n=k=5..5*2", "", "5,5,5");
  reads(b, "m=1 n=2 k=3;m=1 n=2 k=3 ta=n", "", "1,2,3"); /* the same, written otherwise */
}

BED_TEST(a_file_has_comments_and_empty_lines) {
  const char text[] = "# sizes of a network\r\n\n  m=1 n=2 k=3   # first\n\t\n[more]\nm=4 n=5 k=6";
  char path[] = "/tmp/test-sizes-XXXXXX";
  close(mkstemp(path));
  assert_ok(file_write(path, text, sizeof text - 1, &b->e), &b->e);
  reads(b, path, "", "1,2,3 4,5,6");
  unlink(path);
}

static void refuses(bed *b, const char *text, const char *place, const char *words) {
  sizes s;
  err_clear(&b->e);
  assert_int_equal(sizes_read(b->t, text, "", &b->a, &s, &b->e), ERR_USAGE);
  if (!strstr(b->e.message, words) || strcmp(b->e.place, place)) {
    fail_msg("'%s' says '%s: %s'; wanted '%s: %s'", text, b->e.place, b->e.message, place, words);
  }
}

BED_TEST(what_is_wrong_is_told_with_its_line) {
  sizes s;
  refuses(b, "m=1;n=2;q=3", "--sizes:3", "did you mean");
  refuses(b, "m=1;m=", "--sizes:2", "'m=' has no value");
  refuses(b, "m=1 nonsense", "--sizes:1", "'nonsense' is not FIELD=VALUE");
  refuses(b, "m=1,,2", "--sizes:1", "empty value");
  refuses(b, "m=1,", "--sizes:1", "empty value");
  refuses(b, "m={1,2", "--sizes:1", "has no closing }");
  refuses(b, "m=4..9223372036854775807*2 n=1", "--sizes:1", "m");
  refuses(b, "m=9..4*2", "--sizes:1", "64..1024*2");
  refuses(b, "m=0..4*2", "--sizes:1", "a range is");
  refuses(b, "m=4..8", "--sizes:1", "a range is");
  refuses(b, "m=4..8*1", "--sizes:1", "a range is");
  refuses(b, "m=4..x*2", "--sizes:1", "a range is");
  refuses(b, "m=1 m=2", "--sizes:1", "m");
  refuses(b, "m=1..9000+1 n=4", "--sizes:1", "more than 4096 problems");
  refuses(b, "m=1..100+1 n=1..100+1 k=1", "--sizes:1", "more than 4096 problems");
  refuses(b, "#m=1", "", "--sizes names no problem");
  err_clear(&b->e);
  assert_fails(sizes_read(b->t, "/no/such/file", "", &b->a, &s, &b->e), &b->e, ERR_NOTFOUND,
               "/no/such/file");
}

static void ordered(bed *b, const char *text, const gen_problem *tuned, size_t n,
                    const char *wanted) {
  sizes s;
  assert_ok(sizes_read(b->t, text, "", &b->a, &s, &b->e), &b->e);
  assert_ok(sizes_order(b->t, &s, tuned, n, &b->e), &b->e);
  expect(b, &s, wanted);
}

/* From the middle of the list outwards, or from a size that is tuned already. */
BED_TEST(each_comes_next_to_one_that_is_done) {
  gen_problem tuned;
  const char *text = "m=8192,16,1024,64,4096 n=512 k=512";
  ordered(b, text, NULL, 0, "1024,512,512 4096,512,512 8192,512,512 64,512,512 16,512,512");
  assert_ok(gen_problem_parse(b->t, "m=17 n=512 k=512", &tuned, &b->e), &b->e);
  ordered(b, text, &tuned, 1, "16,512,512 64,512,512 1024,512,512 4096,512,512 8192,512,512");
}

/* Sizes with another transposition are no neighbours: a choice is equal or different. */
BED_TEST(another_transposition_comes_last) {
  gen_problem tuned;
  assert_ok(gen_problem_parse(b->t, "m=100 n=1 k=1", &tuned, &b->e), &b->e);
  ordered(b, "m=100 n=1 k=1 ta=t;m=9000 n=1 k=1 ta=n;m=200 n=1 k=1 ta=t", &tuned, 1,
          "9000,1,1 100,1,1 200,1,1");
}

int main(void) {
  return tests_run();
}
