/* test_print.c -- numbers for people, and JSON with its commas. */
#include <math.h>

#include "check.h"
#include "json_writer.h"
#include "print.h"
#include "gen.h"

TEST(numbers_have_three_digits) {
  static const struct {
    double sec;
    const char *text;
  } cases[] = {{1.5e-6, "1.50 us"}, {12.34e-6, "12.3 us"}, {2e-3, "2.00 ms"}, {123, "123 s"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    auto_str s = {0};
    format_sec(&s, cases[i].sec);
    assert_string_equal(str_text(&s), cases[i].text);
  }
  auto_str s = {0};
  format_count(&s, 1234567);
  str_add(&s, " ");
  format_count(&s, 999);
  assert_string_equal(str_text(&s), "1,234,567 999");
}

TEST(a_rate_is_of_the_peak_that_bounds) {
  const rt_info info = {
      .sms = 1, .cc = 90, .clock_hz = 1e9, .memory_clock_hz = 1e9, .memory_bus_bits = 8};
  bool compute;
  rate_floor(&info, 1e12, 1, &compute);
  assert_true(compute);
  rate_floor(&info, 1, 1e12, &compute);
  assert_false(compute);
}

TEST(commas_separate_members) {
  auto_str s = {0};
  jw_open(&s, NULL);
  jw_text(&s, "name", "a \"b\"");
  jw_open(&s, "inner");
  jw_integer(&s, "n", -3);
  jw_bool(&s, "yes", true);
  jw_close(&s);
  jw_open_list(&s, "list");
  jw_real(&s, NULL, 3, 0.12345);
  jw_fixed(&s, NULL, 2, 1);
  jw_fixed(&s, NULL, 2, INFINITY);
  jw_close_list(&s);
  jw_open(&s, "empty");
  jw_close(&s);
  jw_seconds(&s, true, NAN);
  jw_end_line(&s);
  jw_open(&s, NULL);
  jw_seconds(&s, false, 1.5);
  jw_end_line(&s);
  assert_string_equal(str_text(&s),
                      "{\"name\":\"a \\\"b\\\"\",\"inner\":{\"n\":-3,\"yes\":true},"
                      "\"list\":[0.123,1.00,null],\"empty\":{},\"modelled_seconds\":null}\n"
                      "{\"seconds\":1.5}\n");
}

TEST(an_incomplete_text_is_not_written) {
  str s = {.failed = true};
  err e = {0};
  assert_int_equal(print_file("/nowhere/file", &s, &e), ERR_NOMEM);
  err_clear(&e);
  str_add(&s, "text");
  s.failed = false;
  assert_int_equal(print_file("/nowhere/file", &s, &e), ERR_IO);
}

int main(void) {
  return tests_run();
}
