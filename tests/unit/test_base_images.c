/* test_base_images.c -- the file of a base set: what is stored comes back, the image that suits a
 * device is chosen, and a damaged, foreign or shared file is refused or ignored. */
#define _GNU_SOURCE
#include <dirent.h>

#include "base_images.h"
#include "base_set.h"
#include "db_fixture.h"

static void source_of(unsigned i, char source[HASH_TEXT]) {
  hash_bytes(&i, sizeof i, source);
}

/* The bytes of an image: its architecture, many times over. */
static void put(scratch *s, base_images *b, unsigned i, const char *arch) {
  char source[HASH_TEXT];
  auto_str bytes = {0};
  source_of(i, source);
  for (int k = 0; k < 1000; k++) {
    str_addf(&bytes, "%s ", arch);
  }
  const base_image row = {.source = source,
                          .arch = arch,
                          .key = source,
                          .spill = i,
                          .bytes = bytes.p,
                          .nbytes = bytes.n};
  OK(s, base_images_put(b, &row, &s->e));
}

/* Source 1 in all architectures, source 2 as PTX only. */
static void make(scratch *s) {
  static const char *const archs[] = {"sm_80",      "sm_86",      "sm_90a",     "sm_100f",
                                      "compute_80", "compute_90", "compute_90a"};
  base_images *b;
  OK(s, base_images_create(s->path, &b, &s->e));
  for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
    put(s, b, 1, archs[i]);
  }
  put(s, b, 2, "compute_80");
  put(s, b, 2, "compute_80"); /* already there */
  OK(s, base_images_finish(b, &s->e));
  base_images_close(b);
  setenv("TUNED_BASE", s->path, 1);
}

static base_set *open_set(scratch *s) {
  base_set *b = base_set_open(&s->e);
  if (!b) {
    fail_msg("base_set_open: %s", s->e.message);
  }
  assert_string_equal(base_set_path(b), s->path);
  return b;
}

static rt_info device_of(int cc, rt_format format) {
  rt_info device = {.cc = cc, .format = format};
  snprintf(device.arch, sizeof device.arch, "%s_%d%s", format == RT_CUBIN ? "sm" : "compute", cc,
           rt_arch_suffix(cc));
  return device;
}

/* The architecture of the image that this device gets; NULL: none. */
static const char *got(scratch *s, base_set *b, unsigned i, int cc, rt_format format) {
  const rt_info device = device_of(cc, format);
  char source[HASH_TEXT];
  const void *image;
  size_t n;
  int64_t spill;
  source_of(i, source);
  if (!base_set_get(b, source, &device, &s->a, &image, &n, &spill)) {
    return NULL;
  }
  char *text = arena_text(&s->a, image); /* ends with a NUL */
  assert_int_equal(strlen(text), n);
  assert_int_equal(spill, i);
  text[strcspn(text, " ")] = 0;
  assert_int_equal(n, 1000 * (strlen(text) + 1));
  return text;
}

SCRATCH_TEST(the_image_that_suits_the_device_is_chosen) {
  make(s);
  base_set *b = open_set(s);
  static const struct {
    int cc;
    rt_format format;
    const char *arch;
  } list[] = {
      {80, RT_CUBIN, "sm_80"},     {86, RT_CUBIN, "sm_86"},       {89, RT_CUBIN, "sm_86"},
      {90, RT_CUBIN, "sm_90a"},    {100, RT_CUBIN, "compute_90"}, {120, RT_CUBIN, "compute_90"},
      {80, RT_PTX, "compute_80"},  {89, RT_PTX, "compute_80"},    {90, RT_PTX, "compute_90a"},
      {120, RT_PTX, "compute_90"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    assert_string_equal(got(s, b, 1, list[i].cc, list[i].format), list[i].arch);
  }
  assert_null(got(s, b, 1, 75, RT_CUBIN));
  assert_null(got(s, b, 1, 75, RT_PTX));
  assert_null(got(s, b, 3, 80, RT_CUBIN));
  assert_string_equal(got(s, b, 2, 90, RT_CUBIN), "compute_80");
  assert_null(got(s, b, 2, 75, RT_CUBIN));
  base_set_close(b);
}

static int count_files(const char *folder) {
  int n = 0;
  DIR *d = opendir(folder);
  while (readdir(d)) {
    n++;
  }
  closedir(d);
  return n - 2;
}

SCRATCH_TEST(reading_leaves_no_files_beside) {
  make(s);
  assert_int_equal(count_files(s->folder), 1);
  chmod(s->folder, 0500);
  base_set *b = open_set(s);
  assert_string_equal(got(s, b, 1, 90, RT_CUBIN), "sm_90a");
  assert_int_equal(count_files(s->folder), 1);
  base_set_close(b);
  assert_int_equal(count_files(s->folder), 1);
}

SCRATCH_TEST(totals_are_by_architecture) {
  base_images *b;
  base_totals *list;
  size_t n;
  make(s);
  OK(s, base_images_open(s->path, &b, &s->e));
  OK(s, base_images_stat(b, &s->a, &list, &n, &s->e));
  assert_int_equal(n, 7);
  assert_string_equal(list[0].arch, "sm_90a");
  assert_int_equal(list[0].n, 1);
  assert_int_equal(list[0].nbytes, 7000);
  assert_in_range(list[0].n_packed, 1, 200);
  assert_string_equal(list[6].arch, "compute_80");
  assert_int_equal(list[6].n, 2);
  base_images_close(b);
}

SCRATCH_TEST(an_image_is_copied_by_what_made_it) {
  base_images *from, *to;
  base_image row;
  char key[HASH_TEXT], path[128];
  make(s);
  source_of(1, key);
  snprintf(path, sizeof path, "%s/copy", s->folder);
  OK(s, base_images_open(s->path, &from, &s->e));
  OK(s, base_images_create(path, &to, &s->e));
  OK(s, base_images_copy(to, from, key, "sm_80", &s->e));
  assert_int_equal(base_images_copy(to, from, key, "sm_70", &s->e), ERR_NOTFOUND);
  OK(s, base_images_finish(to, &s->e));
  base_images_close(to);
  OK(s, base_images_open(path, &to, &s->e));
  OK(s, base_images_get(to, key, "sm_80", &s->a, &row, &s->e));
  assert_int_equal(row.nbytes, 6000);
  assert_memory_equal(row.bytes, "sm_80 sm_80", 11);
  assert_int_equal(base_images_get(to, key, "sm_86", &s->a, &row, &s->e), ERR_NOTFOUND);
  base_images_close(to);
  base_images_close(from);
}

static void execute(scratch *s, const char *sql) {
  sqlite3 *d;
  assert_int_equal(sqlite3_open(s->path, &d), SQLITE_OK);
  assert_int_equal(sqlite3_exec(d, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(d);
}

SCRATCH_TEST(a_damaged_row_is_ignored) {
  static const char *const damages[] = {
      "UPDATE image SET packed = zeroblob(length(packed)) WHERE arch = 'sm_90a'",
      "UPDATE image SET packed = substr(packed, 2) WHERE arch = 'sm_90a'",
      "UPDATE image SET nbytes = nbytes + 1 WHERE arch = 'sm_90a'",
      "UPDATE image SET nbytes = 1 << 40 WHERE arch = 'sm_90a'",
      "UPDATE image SET spill = 7 WHERE arch = 'sm_90a'",
      "UPDATE image SET source = (SELECT source FROM image WHERE spill = 2) WHERE arch = 'sm_90a'",
  };
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    make(s);
    execute(s, damages[i]);
    base_set *b = open_set(s);
    assert_null(got(s, b, i == 5 ? 2 : 1, 90, RT_CUBIN));
    assert_string_equal(got(s, b, 1, 80, RT_CUBIN), "sm_80");
    base_set_close(b);
  }
}

static void assert_refused(scratch *s, const char *words) {
  err_clear(&s->e);
  assert_null(base_set_open(&s->e));
  if (!strstr(s->e.message, words) || strchr(s->e.message, '\n')) {
    fail_msg("got '%s', wanted '%s'", s->e.message, words);
  }
}

SCRATCH_TEST(a_file_that_cannot_be_used_is_refused) {
  make(s);
  chmod(s->path, 0666);
  assert_refused(s, "others can write");
  setenv("TUNED_TRUST", "1", 1);
  base_set_close(open_set(s));
  unsetenv("TUNED_TRUST");
  chmod(s->path, 0644);
  execute(s, "PRAGMA user_version = 2");
  assert_refused(s, "newer version");
  execute(s, "PRAGMA user_version = 1; PRAGMA application_id = 5");
  assert_refused(s, "another program");
  assert_int_equal(truncate(s->path, 3000), 0);
  assert_refused(s, s->path);
  assert_int_equal(truncate(s->path, 0), 0);
  assert_refused(s, "is empty");
  remove(s->path);
  assert_refused(s, "there is no base set");
  unsetenv("TUNED_BASE");
  assert_refused(s, "make base"); /* none is beside this program */
}

int main(void) {
  return tests_run();
}
