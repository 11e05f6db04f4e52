/* test_call_draw.c -- calls drawn at random: of all kinds, reproduced by the seed, and as lines of
 * calls.txt say; and the kinds of data that their buffers hold. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "call_draw.h"
#include "data_kind.h"
#include "gen_fixture.h"
#include "peer.h"

static int64_t word_value(const char *text, const char *name) {
  char key[40];
  snprintf(key, sizeof key, " %s=", name);
  const char *at = strstr(text, key);
  at = at ? at : !strncmp(text, key + 1, strlen(key + 1)) ? text - 1 : NULL;
  assert_non_null(at);
  return atoll(at + strlen(key));
}

/* Of every family with a typed call: all that it may be given is drawn, and the seed says what. */
TEST(every_typed_call_is_drawn) {
  auto_arena a = {0};
  const char *const *names;
  size_t n;
  err e = {0};
  assert_ok(gen_families(NULL, &a, &names, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    gen_template *t = open_family(names[i]);
    call_drawer *one, *two;
    if (t->n_call) {
      assert_ok(call_drawer_open(t, NULL, 0, 7, &one, &e), &e);
      assert_ok(call_drawer_open(t, NULL, 0, 7, &two, &e), &e);
      for (int k = 0; k < 40; k++) {
        drawn_call x, y;
        assert_ok(call_draw(one, &x, &e), &e);
        assert_ok(call_draw(two, &y, &e), &e);
        assert_string_equal(str_text(&x.text), str_text(&y.text));
        assert_true(gen_problem_equal(t, &x.p, &y.p));
        drawn_call_clear(&x);
        drawn_call_clear(&y);
      }
      call_drawer_close(one);
      call_drawer_close(two);
    }
    gen_close(t);
  }
}

TEST(drawn_calls_are_of_all_kinds) {
  gen_template *t = open_family("sgemm");
  call_drawer *d;
  err e = {0};
  size_t padded = 0, transposed = 0, misaligned = 0, reads_c = 0;
  assert_ok(call_drawer_open(t, NULL, 0, 1, &d, &e), &e);
  for (int i = 0; i < 200; i++) {
    drawn_call c;
    assert_ok(call_draw(d, &c, &e), &e);
    const char *text = str_text(&c.text);
    const int64_t m = word_value(text, "m"), ldc = word_value(text, "ldc");
    assert_true(m >= 16 && m <= 8192 && ldc >= m);
    assert_int_equal(c.bits[gen_arg_find(t, "ldc") - t->args], ldc);
    padded += ldc > m;
    transposed += !strcmp(peer_word(t, &c.p, "ta"), "t");
    reads_c += strcmp(peer_word(t, &c.p, "beta_is"), "0") != 0;
    const uint64_t shift = c.shifts[gen_arg_find(t, "C") - t->args];
    misaligned += shift != 0;
    /* what the call computes from the address and the leading dimension */
    assert_true(peer_number(t, &c.p, "align", 0) <= (shift / 4 % 4 ? 2 : 4));
    assert_true(ldc % peer_number(t, &c.p, "align", 0) == 0);
    drawn_call_clear(&c);
  }
  assert_true(padded > 30 && padded < 90);
  assert_true(transposed > 25 && transposed < 80);
  assert_true(reads_c > 70 && reads_c < 130);
  assert_true(misaligned > 25 && misaligned < 90);
  call_drawer_close(d);
  gen_close(t);
}

/* The field n of a call of saxpy. */
static int draw_n(const char *lines, int64_t most, int64_t *n, err *e) {
  auto_template *t = open_family("saxpy");
  call_drawer *d;
  drawn_call c;
  TRY(call_drawer_open(t, lines, most, 1, &d, e));
  const int rc = call_draw(d, &c, e);
  *n = rc ? 0 : peer_number(t, &c.p, "n", 0);
  drawn_call_clear(&c);
  call_drawer_close(d);
  return rc;
}

TEST(lines_say_what_is_drawn) {
  static const char *const wrong[][2] = {{"n=3..x", "'x'"},
                                         {"n=8 n=9", "twice"},
                                         {"n", "NAME=VALUES"},
                                         {"n=1..2.5", "two whole ends"},
                                         {"m=4", "no line says what is drawn"}};
  int64_t n;
  err e = {0};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_fails(draw_n(wrong[i][0], 0, &n, &e), &e, ERR_USAGE, wrong[i][1]);
  }
  assert_ok(draw_n("base=5 n=base*3,(base + 10) a=2.5 # both are 15", 0, &n, &e), &e);
  assert_int_equal(n, 15);
  assert_ok(draw_n("n=100..1000", 50, &n, &e), &e);
  assert_int_equal(n, 50);
}

TEST(kinds_of_data_are_what_they_say) {
  enum { N = 1000 };
  int32_t x[N];
  gen_datum m = {.type = DTYPE_i32, .count = N, .fill = GEN_FILL_UNIFORM, .a = -500, .b = 499};
  for (const char *const *kind = data_kind_names; *kind; kind++) {
    size_t rises = 0, falls = 0, changes = 0;
    if (!data_kind_fill(*kind, &m, 3, (unsigned char *)x)) {
      assert_string_equal(*kind, "uniform");
      continue;
    }
    for (int i = 0; i < N; i++) {
      assert_in_range(x[i] + 500, 0, 999);
      rises += i && x[i] > x[i - 1];
      falls += i && x[i] < x[i - 1];
      changes += i && x[i] != x[i - 1];
    }
    assert_true(strcmp(*kind, "equal") || !changes);
    assert_true(strcmp(*kind, "sorted") || (!falls && rises > N / 2));
    assert_true(strcmp(*kind, "reversed") || (!rises && falls > N / 2));
    assert_true(strcmp(*kind, "nearly") || (falls && falls < N / 16));
  }
  m.fill = GEN_FILL_SORTED;
  assert_true(data_kind_fill("zipf", &m, 3, (unsigned char *)x));
  for (int i = 1; i < N; i++) {
    assert_true(x[i] >= x[i - 1]);
  }
  m.fill = GEN_FILL_RAMP;
  assert_false(data_kind_fill("zipf", &m, 3, (unsigned char *)x));
}

int main(void) {
  return tests_run();
}
