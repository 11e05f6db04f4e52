/* test_base.c -- errors, strings, arenas, hashes, files and element types. */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "dtype.h"
#include "file.h"
#include "hash.h"
#include "str.h"
#include "gen.h"

/* Texts of others reach terminals without what those obey. */
TEST(control_characters_are_visible) {
  static const char text[] = "a\tb\n\x1b[31m\x7f \xc2\x9b \xc3\xa9";
  auto_str s = {0}, json = {0};
  err e = {0};
  str_add_visible(&s, text);
  assert_string_equal(str_text(&s), "a\tb\n\\x1b[31m\\x7f \\xc2\\x9b \xc3\xa9");
  assert_null(text_control(str_text(&s)));
  assert_string_equal(text_control(text), "\x1b[31m\x7f \xc2\x9b \xc3\xa9");
  str_add_json(&json, text);
  assert_string_equal(str_text(&json), "\"a\\u0009b\\u000a\\u001b[31m\\u007f \\u009b \xc3\xa9\"");
  err_at(&e, ERR_USAGE, "file\x1b", "a\nb\x1b[2J");
  assert_string_equal(e.place, "file?");
  assert_string_equal(e.message, "a b?[2J");
}

TEST(the_first_message_stays) {
  err e = {0};
  assert_int_equal(err_at(&e, ERR_TEMPLATE, "a.lua:7", "deep %d", 1), ERR_TEMPLATE);
  assert_int_equal(err_set(&e, ERR_IO, "shallow"), ERR_IO);
  assert_string_equal(e.message, "deep 1");
  assert_string_equal(e.place, "a.lua:7");
  assert_int_equal(e.code, ERR_TEMPLATE);
  err_clear(&e);
  err_set(&e, ERR_IO, "again");
  assert_string_equal(e.message, "again");
  assert_int_equal(err_set(NULL, ERR_DB, "nobody listens"), ERR_DB);
  assert_string_equal(err_name(ERR_INTERRUPTED), "interrupted");
  assert_string_equal(err_name(-99), "unknown");
}

TEST(strings_grow) {
  auto_str s = {0};
  assert_string_equal(str_text(&s), "");
  for (int i = 0; i < 1000; i++) {
    str_addf(&s, "%d,", i);
  }
  assert_int_equal(s.n, 10 * 2 + 90 * 3 + 900 * 4);
  str_reset(&s);
  str_add_json(&s, "a\"b\\c\n\x01");
  assert_string_equal(str_text(&s), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  assert_false(s.failed);
}

TEST(whole_numbers_are_read_and_nothing_else) {
  static const struct {
    const char *text;
    int64_t value;
  } good[] = {{"0", 0},
              {"-7", -7},
              {"4096", 4096},
              {"0x10", 16},
              {"2^24", 1 << 24},
              {"2^0", 1},
              {"10^3", 1000},
              {"9223372036854775807", INT64_MAX},
              {"2^62", 1ll << 62},
              {"2^31+5", (1ll << 31) + 5},
              {"2^20-1", (1 << 20) - 1}};
  static const char *const bad[] = {"",
                                    " 1",
                                    "+1",
                                    "1k",
                                    "1.5",
                                    "1e3",
                                    "0x",
                                    "2^",
                                    "^2",
                                    "2^-1",
                                    "2^63",
                                    "1^4",
                                    "abc",
                                    "12 ",
                                    "--1",
                                    "2^2^2",
                                    "2^3+",
                                    "2^3+-1",
                                    "2^3+ 1",
                                    "2^3+1x",
                                    "2^62+9223372036854775807",
                                    "9223372036854775808",
                                    "99999999999999999999"};
  int64_t v;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(text_integer(good[i].text, &v));
    assert_true(v == good[i].value);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (text_integer(bad[i], &v)) {
      fail_msg("'%s' was read as a number", bad[i]);
    }
  }
}

TEST(the_nearest_name_is_suggested) {
  static const char *const names[] = {"sgemm", "saxpy", "reduce"};
  assert_string_equal(text_nearest("sgem", names, 3), "sgemm");
  assert_string_equal(text_nearest("redcue", names, 3), "reduce");
  assert_null(text_nearest("histogram", names, 3));
  assert_null(text_nearest("", names, 3));
  char endless[200];
  memset(endless, 's', sizeof endless);
  endless[199] = 0;
  assert_null(text_nearest(endless, names, 3));
}

TEST(arenas_are_taken_over) {
  arena a = {0}, b = {0}, empty = {0};
  char *own = arena_text(&a, "own");
  char *first = arena_text(&b, "first"), *large = arena_new(&b, 100000);
  memset(large, 7, 100000);
  arena_take(&a, &b);
  arena_take(&a, &empty);
  assert_null(b.blocks);
  assert_string_equal(arena_text(&a, "next"), "next");
  assert_string_equal(own, "own");
  assert_string_equal(first, "first");
  assert_int_equal(large[99999], 7);
  arena_take(&empty, &a);
  assert_string_equal(first, "first");
  arena_clear(&empty);
}

TEST(arenas_zero_and_align) {
  arena a = {0};
  for (size_t n = 1; n < 40000; n = n * 3 + 1) {
    char *p = arena_new(&a, n);
    assert_int_equal((uintptr_t)p % 16, 0);
    for (size_t i = 0; i < n; i++) {
      assert_int_equal(p[i], 0);
    }
    memset(p, 0xff, n);
  }
  assert_string_equal(arena_format(&a, "%s-%d", "x", 5), "x-5");
  assert_string_equal(arena_text_n(&a, "abcdef", 3), "abc");
  arena_clear(&a);
  arena_clear(&a);
}

TEST(hashes_are_the_published_ones) {
  char h[HASH_TEXT];
  hash_bytes("", 0, h); /* XXH3's own test vector for the empty input, seed 0 */
  assert_string_equal(h, "99aa06d3014798d86001c324468d497f");
  char other[HASH_TEXT];
  hash_bytes("a", 1, other);
  assert_string_not_equal(h, other);
  char text[5000], parts[HASH_TEXT];
  for (size_t i = 0; i < sizeof text; i++) {
    text[i] = (char)(i * 7);
  }
  hash_bytes(text, sizeof text, h);
  for (size_t cut = 0; cut <= sizeof text; cut += 250) { /* wherever they are cut */
    const hash_part list[] = {{text, cut}, {NULL, 0}, {text + cut, sizeof text - cut}};
    hash_parts(list, 3, parts);
    assert_string_equal(h, parts);
  }
  assert_true(hash_more(0, "", 0) == UINT64_C(0x2d06800538d394c2)); /* likewise, 64 bits */
  assert_true(hash_more(hash_more(0, "a", 1), "b", 1) != hash_more(hash_more(0, "b", 1), "a", 1));
}

/* Values with well-known bits. */
TEST(element_types_round_as_ieee) {
  static const struct {
    dtype t;
    double v;
    uint64_t bits;
  } known[] = {{DTYPE_f16, 1, 0x3c00},
               {DTYPE_f16, -2, 0xc000},
               {DTYPE_f16, 65504, 0x7bff},
               {DTYPE_f16, 65520, 0x7c00},
               {DTYPE_f16, 65519, 0x7bff},
               {DTYPE_f16, 0x1p-24, 1},
               {DTYPE_f16, 0x1p-25, 0},
               {DTYPE_f16, 0x1.8p-25, 1},
               {DTYPE_f16, 0x1p-14, 0x0400},
               {DTYPE_f16, 1 + 0x1p-11, 0x3c00},
               {DTYPE_f16, 1 + 0x1.8p-10, 0x3c02},
               {DTYPE_bf16, 1, 0x3f80},
               {DTYPE_bf16, -0.0, 0x8000},
               {DTYPE_bf16, 3.140625, 0x4049},
               {DTYPE_bf16, 1e39, 0x7f80},
               {DTYPE_f32, 1.5, 0x3fc00000},
               {DTYPE_f64, 1, 0x3ff0000000000000},
               {DTYPE_i8, -1, 0xff},
               {DTYPE_i32, -2, 0xfffffffe},
               {DTYPE_u16, 65535, 0xffff}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    assert_int_equal(dtype_encode(known[i].t, known[i].v), known[i].bits);
  }
  assert_int_equal(dtype_encode(DTYPE_f16, INFINITY), 0x7c00);
  assert_true(isnan(dtype_decode(DTYPE_bf16, dtype_encode(DTYPE_bf16, NAN))));
  for (uint64_t bits = 0; bits < 0x7c00; bits++) { /* every finite positive half survives */
    assert_int_equal(dtype_encode(DTYPE_f16, dtype_decode(DTYPE_f16, bits)), bits);
  }
  for (uint64_t bits = 0; bits <= 0x7f80; bits++) {
    assert_int_equal(dtype_encode(DTYPE_bf16, dtype_decode(DTYPE_bf16, bits)), bits);
  }
}

TEST(element_types_have_names_and_sizes) {
  dtype t;
  assert_true(dtype_parse("bf16", &t));
  assert_int_equal(dtype_nbytes(t), 2);
  assert_true(dtype_is_float(t));
  assert_true(dtype_parse("u64", &t));
  assert_false(dtype_is_signed(t));
  assert_false(dtype_parse("float", &t));
  assert_true(dtype_decode(DTYPE_i16, 0xffff) == -1);
}

TEST(files_are_replaced_whole) {
  char folder[] = "/tmp/tuned-test-XXXXXX", path[64];
  str s = {0};
  err e = {0};
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a/b/file", folder);
  assert_fails(file_read(path, 100, &s, &e), &e, ERR_NOTFOUND, path);
  assert_fails(file_write(path, "x", 1, &e), &e, ERR_IO, path);
  err_clear(&e);
  assert_ok(file_make_parents(path, &e), &e);
  assert_ok(file_write(path, "first", 5, &e), &e);
  assert_ok(file_write(path, "second", 6, &e), &e);
  assert_ok(file_read(path, 6, &s, &e), &e);
  assert_string_equal(str_text(&s), "second");
  assert_fails(file_read(path, 5, &s, &e), &e, ERR_LIMIT, "larger");
  str_clear(&s);
  char special[160], bytes[8] = {0};
  struct stat st;
  snprintf(special, sizeof special, "%s.link", path);
  assert_int_equal(symlink(path, special), 0);
  assert_ok(file_write(special, "third", 5, &e), &e); /* a link stays a link */
  assert_true(!lstat(special, &st) && S_ISLNK(st.st_mode));
  assert_ok(file_read(path, 6, &s, &e), &e);
  assert_string_equal(str_text(&s), "third");
  str_clear(&s);
  assert_int_equal(unlink(special), 0);
  assert_int_equal(mkfifo(special, 0600), 0);
  const int fd = open(special, O_RDWR);
  assert_ok(file_write(special, "pipe", 4, &e), &e); /* and a pipe a pipe */
  assert_true(!lstat(special, &st) && S_ISFIFO(st.st_mode));
  assert_int_equal(read(fd, bytes, sizeof bytes), 4);
  assert_string_equal(bytes, "pipe");
  close(fd);
  assert_int_equal(unlink(special), 0);
  assert_fails(file_write("/dev/full", "x", 1, &e), &e, ERR_IO, "No space left");
  err_clear(&e);
  char command[128];
  snprintf(command, sizeof command, "test \"$(ls %s/a/b)\" = file && rm -r %s", folder, folder);
  assert_int_equal(system(command), 0); /* no temporary file is left */
}

TEST(the_data_folder_follows_xdg) {
  auto_str s = {0};
  setenv("XDG_DATA_HOME", "/data", 1);
  assert_ok(file_data_home(&s, NULL), &(err){0});
  assert_string_equal(str_text(&s), "/data/autotune");
  str_reset(&s);
  setenv("XDG_DATA_HOME", "relative", 1); /* to be ignored */
  setenv("HOME", "/home/x", 1);
  assert_ok(file_data_home(&s, NULL), &(err){0});
  assert_string_equal(str_text(&s), "/home/x/.local/share/autotune");
  unsetenv("HOME");
  err e = {0};
  assert_fails(file_data_home(&s, &e), &e, ERR_IO, "--db");
}

int main(void) {
  return tests_run();
}
