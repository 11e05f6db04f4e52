/* test_presets.c -- results as text: written, read, mutated; presets served from such a text;
 * databases merged and pruned. Runs on any device: test_presets [--device NAME]. */
#define _GNU_SOURCE
#include <math.h>

#include "db_text.h"
#include "serve_fixture.h"
#include "random.h"

static db_line example(void) {
  return (db_line){.device = {.key = "NVIDIA H200|sm_90|132|6144|1980|3201",
                              .name = "NVIDIA H200",
                              .cc = 90,
                              .sms = 132},
                   .template = {.family = "saxpy",
                                .hash = "0123456789abcdef0123456789abcdef",
                                .path = "templates/saxpy/saxpy.lua",
                                .version = 1},
                   .problem = "saxpy n=1000 align=4",
                   .config = "BLOCK=128,VEC=4,COARSE=1,ORDER=interleaved",
                   .kind = DB_KIND_FINAL,
                   .sec = 1.25e-6,
                   .spread = 0.01,
                   .launches = 100,
                   .driver = 13000,
                   .nvrtc = 13000,
                   .when = "2025-01-31T12:00:00Z"};
}

/* ---- the text ------------------------------------------------------------------------------- */

static bool same(const db_line *a, const db_line *b) {
  return !strcmp(a->device.key, b->device.key) && !strcmp(a->device.name, b->device.name) &&
         a->device.cc == b->device.cc && a->device.sms == b->device.sms &&
         !strcmp(a->template.family, b->template.family) &&
         !strcmp(a->template.hash, b->template.hash) &&
         !strcmp(a->template.path, b->template.path) &&
         a->template.version == b->template.version && !strcmp(a->problem, b->problem) &&
         !strcmp(a->config, b->config) && a->kind == b->kind && a->sec == b->sec &&
         a->spread == b->spread && a->launches == b->launches && a->driver == b->driver &&
         a->nvrtc == b->nvrtc && !strcmp(a->when, b->when);
}

/* The example with this name of a device and this path, written and read again. */
static int write_and_read(const char *name, db_kind kind, db_line *in, arena *a, db_line *out,
                          err *e) {
  auto_str text = {0};
  bool none;
  *in = example();
  in->device.name = in->template.path = name;
  in->kind = kind;
  db_text_write(in, &text);
  assert_int_equal(strchr(text.p, '\n') - text.p, text.n - 1); /* one line */
  const int rc = db_text_read(text.p, text.n - 1, a, out, &none, e);
  assert_true(rc || !none);
  return rc;
}

TEST(what_is_written_is_read) {
  static const char *const names[] = {"plain", "100%", "a%09b", "\xc3\xa9\xff"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    db_line in, out;
    auto_arena a = {0};
    err e = {0};
    assert_ok(write_and_read(names[i], (db_kind)(i % DB_KINDS), &in, &a, &out, &e), &e);
    assert_true(same(&in, &out));
  }
}

TEST(control_characters_are_refused) {
  static const char *const names[] = {"with\ttab", "two\nlines\r", "\x7f\x01", "\x1b[2J"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    db_line in, out;
    auto_arena a = {0};
    err e = {0};
    assert_int_equal(write_and_read(names[i], (db_kind)(i % DB_KINDS), &in, &a, &out, &e),
                     ERR_USAGE);
    assert_non_null(strstr(e.message, "control character"));
  }
}

TEST(comments_are_nothing) {
  static const char *const comments[] = {"", "#", "# saxpy", "\r", DB_TEXT_HEAD};
  for (size_t i = 0; i < sizeof comments / sizeof *comments; i++) {
    db_line l;
    bool none = false;
    assert_int_equal(db_text_read(comments[i], strlen(comments[i]), NULL, &l, &none, NULL), 0);
    assert_true(none);
  }
}

/* Replaces `from` in the example's line by `to`: the line is refused with words about the
 * column. */
static void refused(const char *from, const char *to, const char *words) {
  const db_line in = example();
  db_line out;
  auto_str text = {0}, wrong = {0};
  auto_arena a = {0};
  err e = {0};
  bool none;
  db_text_write(&in, &text);
  const char *at = strstr(text.p, from);
  assert_non_null(at);
  str_add_n(&wrong, text.p, (size_t)(at - text.p));
  str_addf(&wrong, "%s%.*s", to, (int)(text.p + text.n - 1 - at - strlen(from)), at + strlen(from));
  assert_fails(db_text_read(wrong.p, wrong.n, &a, &out, &none, &e), &e, ERR_USAGE, words);
}

TEST(wrong_columns_are_told) {
  refused("\t90\t", "\t9\t", "column cc");
  refused("\t90\t", "\t-90\t", "column cc");
  refused("\t132\t", "\t\t", "column sms");
  refused("0123456789abcdef\t", "0123456789abcdeg\t", "column hash");
  refused("\tfinal\t", "\tFINAL\t", "column kind");
  refused("\t1.25e-06\t", "\tnan\t", "column seconds");
  refused("\t1.25e-06\t", "\t1e300\t", "column seconds");
  refused("\t1.25e-06\t", "\t0\t", "column seconds");
  refused("\t1.25e-06\t", "\t1.25e-06 \t", "column seconds");
  refused("\t100\t", "\t99999999999999999999\t", "column launches");
  refused("driver 13000 nvrtc 13000", "driver 13000", "column versions");
  refused("12:00:00Z", "12:00Z", "column when");
  refused("12:00:00Z", "12:00:00Z\tmore", "more than sixteen");
  refused("\t2025-01-31T12:00:00Z", "", "column when is missing");
  refused("NVIDIA H200\t", "NVIDIA%41\t", "column name has");
  refused("NVIDIA H200\t", "NVIDIA%0\t", "column name has");
  refused("NVIDIA H200\t", "NVIDIA%00\t", "column name has");
  refused("NVIDIA H200\t", "\t", "column name is empty");
  refused("saxpy n=1000", "sgemm n=1000", "family");
}

static void write_closed(str *out) {
  db_line l = example();
  db_text_head(out);
  for (int i = 0; i < 3; i++) {
    l.sec = 1e-6 * (i + 1);
    db_text_write(&l, out);
  }
  db_text_end(out);
}

static int check_closed(const char *text, size_t n, bool *closed) {
  size_t number;
  char *exactly = malloc(n + !n); /* exactly as long as it may be read */
  memcpy(exactly, text, n);
  const int rc = db_text_check(exactly, n, closed, &number, NULL);
  free(exactly);
  return rc;
}

/* Wherever a closed file is cut or changed, it is refused or counts as not closed. */
TEST(damage_of_a_closed_file_is_seen) {
  auto_str text = {0};
  bool closed;
  write_closed(&text);
  assert_int_equal(check_closed(text.p, text.n, &closed), 0);
  assert_true(closed);
  assert_int_equal(check_closed(text.p, text.n - 1, &closed), 0); /* but for its newline */
  assert_true(closed);
  for (size_t n = 0; n < text.n - 1; n++) {
    assert_true(check_closed(text.p, n, &closed) || !closed);
  }
  const size_t head = (size_t)(strstr(text.p, "\nNVIDIA") + 1 - text.p);
  for (size_t i = head; i < text.n - 1; i++) {
    text.p[i] ^= 1;
    assert_true(check_closed(text.p, text.n, &closed) || !closed);
    text.p[i] ^= 1;
  }
}

TEST(closed_files_follow_each_other) {
  auto_str text = {0};
  bool closed;
  size_t number;
  err e = {0};
  write_closed(&text);
  write_closed(&text);
  str_add(&text, "# a comment\n\n");
  assert_int_equal(check_closed(text.p, text.n, &closed), 0);
  assert_true(closed);
  db_line l = example();
  db_text_write(&l, &text);
  assert_int_equal(check_closed(text.p, text.n, &closed), 0);
  assert_false(closed);
  db_text_end(&text); /* of that one */
  assert_non_null(strstr(text.p, "# end: 1 results, digest "));
  str_add(&text, "# end: 2 results, digest 0123456789abcdef\r\n");
  assert_fails(db_text_check(text.p, text.n, &closed, &number, &e), &e, ERR_USAGE,
               "it closes 2 results, but 0 are here; copy the file again");
  assert_int_equal(number, 17);
}

static void mutate(char *text, size_t *n, uint64_t *x) {
  const int changes = 1 + (int)(random_next(x) % 4);
  for (int i = 0; i<changes && * n> 1; i++) {
    const size_t at = random_next(x) % *n;
    switch (random_next(x) % 4) {
    case 0: text[at] = (char)random_next(x); break;
    case 1: memmove(text + at, text + at + 1, --*n - at); break;
    case 2: text[at] = "\t%-9.e\n#"[random_next(x) % 8]; break;
    default: *n = at; break;
    }
  }
}

enum { MUTATIONS = 20000 };

/* A mutated line is read without harm, and what is accepted can be written and read again. */
TEST(mutated_lines_do_no_harm) {
  const db_line in = example();
  auto_str text = {0};
  uint64_t x = 88172645463325252u;
  int n_taken = 0;
  db_text_write(&in, &text);
  for (int i = 0; i < MUTATIONS; i++) {
    auto_arena a = {0};
    db_line out, again;
    auto_str copy = {0};
    bool none;
    size_t n = text.n - 1;
    char *whole = strdup(text.p);
    mutate(whole, &n, &x);
    char *line = malloc(n + !n); /* exactly as long as it may be read */
    memcpy(line, whole, n);
    free(whole);
    if (!db_text_read(line, n, &a, &out, &none, NULL) && !none) {
      n_taken++;
      db_text_write(&out, &copy);
      assert_int_equal(db_text_read(copy.p, copy.n - 1, &a, &again, &none, NULL), 0);
      assert_string_equal(out.problem, again.problem);
      assert_string_equal(out.device.key, again.device.key);
    }
    free(line);
  }
  assert_true(n_taken > 100 && n_taken < MUTATIONS);
}

/* ---- presets -------------------------------------------------------------------------------- */

/* The database of the context as a preset file, perhaps edited, beside an empty database. */
typedef struct shipped {
  str text;
  gen_file files[2];
} shipped;

static void ship(fixture *f, shipped *p, void (*edit)(db_line *)) {
  db *d;
  db_line *rows;
  size_t n;
  auto_arena a = {0};
  err e = {0};
  *p = (shipped){0};
  assert_ok(db_open(f->db_path, DB_READ, &d, &e), &e);
  assert_ok(db_lines(d, NULL, NULL, &a, &rows, &n, &e), &e);
  db_text_head(&p->text);
  str_add(&p->text, "rubbish about saxpy\n");
  for (size_t i = 0; i < n; i++) {
    if (edit) {
      edit(&rows[i]);
    }
    db_text_write(&rows[i], &p->text);
  }
  db_close(d);
  assert_int_equal(remove(f->db_path), 0);
  p->files[0] = (gen_file){.name = "generated.txt", .text = p->text.p, .n = p->text.n};
  reopen(f, NULL);
  inside(f)->sources.presets = p->files;
}

CONTEXT_TEST(presets_are_served) {
  shipped p;
  store_put(f,
            &(stored){.problem = "saxpy n=1048576 align=4", .config = "BLOCK=64", .median = 1e-3});
  ship(f, &p, NULL);
  const tuned_kernel_info info = info_of(f, "saxpy n=2097152");
  assert_int_equal(info.origin, TUNED_PRESET);
  assert_non_null(strstr(info.config, "BLOCK=64"));
  assert_string_equal(info.tuned_problem, "saxpy n=1048576 align=4");
  assert_true(info.measured && fabs(info.expected_sec - 2e-3) < 1e-6);
  assert_string_equal(tuned_origin_name(info.origin), "preset");
  str_clear(&p.text);
}

static void change_device(db_line *l) {
  l->device.key = "NVIDIA H100|sm_90|132|5120|1980|2619";
}

static void change_cc(db_line *l) {
  l->device.cc += 10;
}

static void change_version(db_line *l) {
  l->template.version++;
}

static void change_hash(db_line *l) {
  l->template.hash = "00000000000000000000000000000000";
}

/* For an edited template the configuration serves, but its time is not promised. */
CONTEXT_TEST(presets_of_the_architecture_and_version_are_served) {
  static const struct {
    const char *what;
    void (*edit)(db_line *);
    tuned_origin origin;
    bool timed;
  } cases[] = {{"another device", change_device, TUNED_PRESET, true},
               {"another architecture", change_cc, TUNED_DEFAULT, false},
               {"another version", change_version, TUNED_DEFAULT, false},
               {"an edited template", change_hash, TUNED_PRESET, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    shipped p;
    store_put(f, &(stored){.problem = "saxpy n=4096 align=4", .config = "BLOCK=64"});
    ship(f, &p, cases[i].edit);
    const tuned_kernel_info info = info_of(f, "saxpy n=4096");
    if (info.origin != cases[i].origin || (info.expected_sec > 0) != cases[i].timed) {
      fail_msg("%s: origin %d, %g s", cases[i].what, (int)info.origin, info.expected_sec);
    }
    assert_true(!info.measured || cases[i].timed);
    str_clear(&p.text);
  }
}

/* Results of this machine precede presets unless they are much farther away. */
CONTEXT_TEST(own_results_go_before_presets) {
  shipped p;
  store_put(f, &(stored){.problem = "saxpy n=4096 align=4", .config = "BLOCK=64"});
  ship(f, &p, NULL);
  store_put(f, &(stored){.problem = "saxpy n=16384 align=4", .config = "BLOCK=512"});
  reopen(f, NULL);
  inside(f)->sources.presets = p.files;
  assert_int_equal(info_of(f, "saxpy n=8192").origin, TUNED_NEAREST);
  assert_int_equal(info_of(f, "saxpy n=2048").origin, TUNED_PRESET);
  str_clear(&p.text);
}

/* Mutated presets cause no error and no wrong kernel; some kernel is always served. */
CONTEXT_TEST(mutated_presets_do_no_harm) {
  shipped p;
  uint64_t x = 42;
  store_put(f, &(stored){.problem = "saxpy n=4096 align=4", .config = "BLOCK=64"});
  ship(f, &p, NULL);
  for (int i = 0; i < 60; i++) {
    size_t n = p.text.n;
    char *text = malloc(n + 1);
    memcpy(text, p.text.p, n);
    mutate(text, &n, &x);
    text[n] = 0;
    gen_file files[2] = {{.name = "mutated.txt", .text = text, .n = n}};
    reopen(f, NULL);
    inside(f)->sources.presets = files;
    const tuned_kernel_info info = info_of(f, "saxpy n=4096");
    assert_true(info.origin == TUNED_PRESET || info.origin == TUNED_DEFAULT);
    tuned_close(f->ctx);
    f->ctx = NULL;
    free(text);
  }
  str_clear(&p.text);
}

/* ---- importing, merging, pruning ------------------------------------------------------------ */

static void put_line(fixture *f, const db_line *l, bool expected) {
  auto_db *d = NULL;
  err e = {0};
  bool taken;
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &e), &e);
  assert_ok(db_line_put(d, l, &taken, &e), &e);
  assert_int_equal(taken, expected);
  assert_ok(db_verify(d, &e), &e);
}

static double best_of(const char *path, const char *problem) {
  const db_line l = example();
  db *d;
  db_result best;
  auto_arena a = {0};
  err e = {0};
  assert_ok(db_open(path, DB_READ, &d, &e), &e);
  assert_ok(db_best(d, l.template.hash, l.device.key, problem, &a, &best, &e), &e);
  db_close(d);
  return best.median;
}

CONTEXT_TEST(the_better_line_counts) {
  db_line l = example();
  put_line(f, &l, true);
  put_line(f, &l, false); /* the same again */
  l.sec = 2e-6;
  l.when = "2025-01-30T12:00:00Z";
  put_line(f, &l, false); /* older */
  l.when = "2025-02-01T12:00:00Z";
  l.kind = DB_KIND_SCREEN;
  put_line(f, &l, false); /* newer, but only screened */
  assert_true(best_of(f->db_path, l.problem) == 1.25e-6);
  l.kind = DB_KIND_FINAL;
  put_line(f, &l, true);
  assert_true(best_of(f->db_path, l.problem) == 2e-6);
}

static int64_t rows_of(const char *path, const char *table) {
  auto_db *d = NULL;
  db_stats s;
  err e = {0};
  int64_t n = -1;
  assert_ok(db_open(path, DB_READ, &d, &e), &e);
  assert_ok(db_stat(d, &s, &e), &e);
  for (int i = 0; i < DB_TABLES; i++) {
    n = strcmp(s.tables[i].table, table) ? n : s.tables[i].rows;
  }
  return n;
}

static void merge(const char *into, const char *from) {
  auto_db *d = NULL;
  err e = {0};
  assert_ok(db_open(into, DB_WRITE, &d, &e), &e);
  assert_ok(db_merge(d, from, &e), &e);
  assert_ok(db_verify(d, &e), &e);
}

/* The databases of two machines: one trial in common, measured at different times, and one each of
 * its own. */
static void make_two(fixture *f, char other[100]) {
  char own[96];
  db_line l = example();
  snprintf(other, 100, "%s/other.db", f->folder);
  strcpy(own, f->db_path);
  put_line(f, &l, true);
  l.problem = "saxpy n=2000 align=4";
  put_line(f, &l, true);
  snprintf(f->db_path, sizeof f->db_path, "%s/other.db", f->folder);
  l = example();
  l.sec = 3e-6;
  l.when = "2025-01-01T00:00:00Z";
  put_line(f, &l, true);
  l.problem = "saxpy n=3000 align=4";
  put_line(f, &l, true);
  strcpy(f->db_path, own);
}

CONTEXT_TEST(merging_loses_nothing) {
  char other[100];
  make_two(f, other);
  for (int again = 0; again < 2; again++) {
    merge(f->db_path, other);
    assert_int_equal(rows_of(f->db_path, "problem"), 3);
    assert_int_equal(rows_of(f->db_path, "trial"), 3);
    assert_int_equal(rows_of(f->db_path, "sample"), 4);
    assert_true(best_of(f->db_path, "saxpy n=1000 align=4") == 1.25e-6); /* the later one */
    assert_true(best_of(f->db_path, "saxpy n=3000 align=4") == 3e-6);
  }
  merge(other, f->db_path); /* merging in the other direction gives the same */
  assert_int_equal(rows_of(other, "sample"), 4);
  assert_true(best_of(other, "saxpy n=1000 align=4") == 1.25e-6);
}

CONTEXT_TEST(merging_with_rubbish_changes_nothing) {
  char path[100];
  db *d;
  err e = {0};
  const db_line l = example();
  put_line(f, &l, true);
  snprintf(path, sizeof path, "%s/rubbish.db", f->folder);
  assert_ok(file_write(path, "this is no database, whatever it is called", 42, &e), &e);
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &e), &e);
  assert_fails(db_merge(d, path, &e), &e, ERR_DB, "rubbish.db");
  assert_fails(db_merge(d, "/nowhere/x.db", &e), &e, ERR_NOTFOUND, "no database");
  db_close(d);
  assert_int_equal(rows_of(f->db_path, "sample"), 1);
}

/* Images are merged too, and serve without a compiler. */
CONTEXT_TEST(merged_images_are_served) {
  char other[100], moved[96];
  store_put(f, &(stored){.problem = "saxpy n=1000 align=4", .config = "BLOCK=128"});
  snprintf(other, sizeof other, "%s/other.db", f->folder);
  strcpy(moved, f->db_path);
  assert_int_equal(rename(moved, other), 0);
  merge(f->db_path, other);
  reopen(f, NULL);
  assert_int_equal(info_of(f, "saxpy n=1000").origin, TUNED_EXACT);
  assert_int_equal(info_of(f, "saxpy n=1000").spill_nbytes, STORED_SPILL);
}

CONTEXT_TEST(pruning_keeps_the_best) {
  db *d;
  err e = {0};
  int64_t n = 0;
  static const char *const configs[] = {"BLOCK=64", "BLOCK=128", "BLOCK=256", "BLOCK=512"};
  for (size_t i = 0; i < 4; i++) {
    store_put(f, &(stored){.problem = "saxpy n=1000 align=4",
                           .config = configs[i],
                           .median = 1e-6 * (double)(4 - i)});
  }
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &e), &e);
  assert_ok(db_prune(d, 1, &n, &e), &e);
  assert_ok(db_verify(d, &e), &e);
  db_close(d);
  assert_int_equal(n, 3);
  assert_int_equal(rows_of(f->db_path, "image_bulk"), 1);
  assert_int_equal(rows_of(f->db_path, "sample"), 4);
  reopen(f, NULL);
  assert_non_null(strstr(info_of(f, "saxpy n=1000").config, "BLOCK=512"));
  assert_int_equal(info_of(f, "saxpy n=1000").spill_nbytes, STORED_SPILL);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
