/* test_capture_data.c -- TUNED_CAPTURE_DATA keeps the data that kernels read, as they were before the
 * launch; a file that does not fit is refused. */
#define _GNU_SOURCE
#include "capture_fixture.h"

#include <fcntl.h>

#include "run_captured.h"

static bool exists(const char *path) {
  struct stat st;
  return !stat(path, &st);
}

/* The file as the tuner opens it. */
static int open_kept(fixture *f, const char *family, const char *problem, const char *path,
                     bool trust, rt_captured *x, err *e) {
  store st;
  gen_problem p;
  auto_str text = {0};
  store_open(&st, f, family, problem);
  assert_ok(gen_problem_parse(st.t, problem, &p, &st.e), &st.e);
  gen_problem_text(st.t, &p, &text);
  const int rc = rt_captured_open(path, st.t, st.g, str_text(&text), trust, x, e);
  store_close(&st);
  return rc;
}

CONTEXT_TEST(test_data_are_kept) {
  kept d;
  rt_captured x;
  struct stat st;
  err e = {0};
  float s;
  keep(&d, f);
  OK(d.c.f, launch(&d, 7));
  static const float others[M];
  OK(d.c.f, tuned_copy_to_device(d.c.f->ctx, d.at[0], others, sizeof others, &d.c.f->err));
  OK(d.c.f, launch(&d, 8)); /* the first launch is what counts */
  assert_int_equal(stat(d.file, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  char words[400];
  snprintf(words, sizeof words, "picky n=100  # 1 calls, data %s\n", d.file);
  holds(d.c.path, words, true); /* at once */
  assert_ok(open_kept(d.c.f, "picky", "n=100", d.file, false, &x, &e), &e);
  assert_memory_equal(x.bytes[2], d.x, sizeof d.x);
  assert_null(x.bytes[3]); /* written, not read */
  memcpy(&s, &x.data->args[1].bits, sizeof s);
  assert_true(s == 7);
  rt_captured_close(&x);
  close_context(d.c.f);
  snprintf(words, sizeof words, "picky n=100  # 2 calls, data %s\n", d.file);
  holds(d.c.path, words, true);
  start(&d.c, d.c.f, "asked"); /* the reference outlives a context without data */
  close_context(d.c.f);
  holds(d.c.path, words, true);
}

/* examples/smooth.lua with another default, as a family of the folder. */
static void write_smooth(fixture *f, const char *way) {
  static const char from[] = "TAPS = \"constant\"";
  auto_str text = {0}, with = {0};
  err e = {0};
  assert_ok(file_read("examples/smooth.lua", 1 << 20, &text, &e), &e);
  const char *at = strstr(str_text(&text), from);
  assert_non_null(at);
  str_addf(&with, "%.*sTAPS = \"%s\"%s", (int)(at - text.p), text.p, way, at + strlen(from));
  write_text(f->folder, "smooth.lua", with.p, with.n);
}

/* Taps of the host's memory reach the kernels of each way as they are at the launch. */
static void smooth(captured *c, const char *problem) {
  float taps[3], x[N], y[N];
  const void *taps_at = taps;
  tuned_kernel *k;
  for (int i = 0; i < N; i++) {
    x[i] = (float)(i % 10);
  }
  OK(c->f, tuned_copy_to_device(c->f->ctx, c->x, x, sizeof x, &c->f->err));
  OK(c->f, tuned_find(c->f->ctx, problem, &k, &c->f->err));
  for (int again = 1; again < 3; again++) {
    const void *args[] = {NULL, &c->x, &taps_at, &c->y};
    taps[0] = taps[1] = taps[2] = (float)again;
    OK(c->f, tuned_launch(k, NULL, args, &c->f->err));
    OK(c->f, tuned_copy_to_host(c->f->ctx, y, c->y, sizeof y, &c->f->err));
    assert_true(y[0] == (float)again && y[5] == 15 * (float)again);
  }
  taps_at = NULL;
  const void *args[] = {NULL, &c->x, &taps_at, &c->y};
  REFUSED(c->f, TUNED_E_USAGE, "argument f is a NULL address",
          tuned_launch(k, NULL, args, &c->f->err));
}

typedef struct smooth_launch {
  captured *c;
  tuned_kernel *k;
  const void *const *args;
} smooth_launch;

static int launch_smooth(void *self, rt_stream s, err *e) {
  const smooth_launch *x = self;
  return tuned_launch(x->k, s, x->args, &x->c->f->err)
             ? err_set(e, ERR_LAUNCH, "%s", x->c->f->err.message)
             : 0;
}

/* A graph keeps taps that a kernel takes by value, and reads others when it is launched; these must be
 * pinned. */
static void smooth_in_graph(captured *c, const char *problem, bool keeps) {
  rt_device *d = inside(c->f)->device;
  rt_graph *g;
  tuned_kernel *k;
  void *taps = NULL;
  float y[N];
  err e = {0};
  if (!d->ops->graph_new || !d->ops->host_alloc) {
    return; /* emulated */
  }
  assert_ok(d->ops->host_alloc(d, 3 * sizeof(float), &taps, &e), &e);
  OK(c->f, tuned_find(c->f->ctx, problem, &k, &c->f->err));
  const void *args[] = {NULL, &c->x, &taps, &c->y};
  smooth_launch x = {c, k, args};
  for (int i = 0; i < 3; i++) {
    ((float *)taps)[i] = 1;
  }
  assert_ok(d->ops->graph_new(d, launch_smooth, &x, &g, &e), &e);
  for (int i = 0; i < 3; i++) {
    ((float *)taps)[i] = 2;
  }
  assert_ok(d->ops->graph_launch(d, g, NULL, &e), &e);
  OK(c->f, tuned_copy_to_host(c->f->ctx, y, c->y, sizeof y, &c->f->err));
  assert_true(y[5] == (keeps ? 15 : 30));
  d->ops->graph_free(d, g);
  d->ops->host_free(d, taps);
}

CONTEXT_TEST(test_arguments_of_the_host) {
  static const char *const ways[] = {"constant", "parameter", "buffer"};
  static const float ones[] = {1, 1, 1};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    char problem[64], folder[120], file[300], digest[HASH_TEXT];
    captured c;
    rt_captured x;
    err e = {0};
    snprintf(problem, sizeof problem, "smooth n=1000 r=1 taps=host");
    snprintf(folder, sizeof folder, "%s/%s", f->folder, ways[i]);
    write_smooth(f, ways[i]);
    setenv("TUNED_CAPTURE_DATA", folder, 1);
    start(&c, f, "asked");
    unsetenv("TUNED_CAPTURE_DATA");
    vectors(&c);
    smooth(&c, problem);
    if (strcmp(ways[i], "buffer") != 0) { /* it needs scratch memory, which no capture makes */
      smooth_in_graph(&c, problem, !strcmp(ways[i], "parameter"));
    }
    hash_bytes(problem, strlen(problem), digest);
    snprintf(file, sizeof file, "%s/smooth-%s.data", folder, digest);
    assert_ok(open_kept(f, "smooth", problem, file, false, &x, &e), &e);
    assert_memory_equal(x.bytes[2], ones, sizeof ones);
    rt_captured_close(&x);
  }
}

/* The file's problem has the fields that it had then. */
CONTEXT_TEST(test_data_of_a_former_text_are_read) {
  static const char before[] =
      "gemv m=4 n=2 trans=n dtype=f32 unit=1 align=4 scale=none bias=none act=none";
  unsigned char zeros[8 * sizeof(float)] = {0}, *bytes[16];
  store st;
  const gen_data *data;
  rt_captured x;
  err e = {0};
  char path[200];
  snprintf(path, sizeof path, "%s/gemv.data", f->folder);
  store_open(&st, f, "gemv", before);
  assert_ok(gen_data_make(st.g, 0, &st.memory, &data, &st.e), &st.e);
  assert_true(st.t->n_args <= 16);
  for (size_t i = 0; i < st.t->n_args; i++) {
    bytes[i] = zeros;
  }
  assert_ok(rt_captured_write(path, st.t, before, data, bytes, &e), &e);
  store_close(&st);
  assert_ok(open_kept(f, "gemv", before, path, false, &x, &e), &e);
  rt_captured_close(&x);
  assert_fails(open_kept(f, "gemv", "m=4 n=2 align=4 beta_is=1", path, false, &x, &e), &e,
               ERR_USAGE, "another problem than gemv");
  rt_captured_close(&x);
}

/* "inout" is what it was before the launch, through a typed call. */
CONTEXT_TEST(test_what_is_overwritten_is_kept_as_it_was) {
  kept d;
  float y[N];
  rt_captured x;
  err e = {0};
  keep(&d, f);
  vectors(&d.c);
  for (int i = 0; i < N; i++) {
    y[i] = (float)(3 * i);
  }
  OK(d.c.f, tuned_copy_to_device(d.c.f->ctx, d.c.x, y, sizeof y, &d.c.f->err));
  OK(d.c.f, tuned_copy_to_device(d.c.f->ctx, d.c.y, y, sizeof y, &d.c.f->err));
  call(&d.c, N, 1);
  auto_str text = {0};
  assert_ok(file_read(d.c.path, 1 << 20, &text, &e), &e);
  char *path = strstr(text.p, ", data ") + strlen(", data ");
  path[strcspn(path, "\n")] = 0;
  assert_ok(open_kept(d.c.f, "saxpy", "n=1000", path, false, &x, &e), &e);
  size_t n = 0;
  for (size_t i = 0; i < 4; i++) {
    if (x.bytes[i]) {
      assert_memory_equal(x.bytes[i], y, sizeof y);
      n++;
    }
  }
  assert_int_equal(n, 2);
  rt_captured_close(&x);
}

static void refused(kept *d, const char *path, const char *problem, int code, const char *words) {
  rt_captured x;
  err e = {0};
  assert_fails(open_kept(d->c.f, "picky", problem, path, false, &x, &e), &e, code, words);
  rt_captured_close(&x);
}

/* Captures a launch: the text of its data file, and a path for another one. */
static void keep_text(kept *d, void *state, str *text, char other[200]) {
  err e = {0};
  keep(d, state);
  OK(d->c.f, launch(d, 7));
  assert_ok(file_read(d->file, 1 << 20, text, &e), &e);
  snprintf(other, 200, "%s/other", d->c.f->folder);
}

CONTEXT_TEST(test_files_that_do_not_fit_are_refused) {
  kept d;
  auto_str text = {0};
  rt_captured x;
  err e = {0};
  char other[200];
  keep_text(&d, f, &text, other);
  refused(&d, other, "n=100", ERR_NOTFOUND, "cannot open");
  refused(&d, d.c.f->folder, "n=100", ERR_USAGE, "is not a regular file");
  refused(&d, d.file, "n=99", ERR_USAGE, "another problem than picky n=99");
  for (size_t i = 0; i < text.n; i += i < 300 ? 1 : 7) { /* bytes and lengths */
    text.p[i] ^= 1;
    write_text(d.c.f->folder, "other", text.p, text.n);
    refused(&d, other, "n=100", ERR_USAGE, "other");
    text.p[i] ^= 1;
    write_text(d.c.f->folder, "other", text.p, i);
    refused(&d, other, "n=100", ERR_USAGE, "other");
  }
  str_add_n(&text, "", 1);
  write_text(d.c.f->folder, "other", text.p, text.n);
  refused(&d, other, "n=100", ERR_USAGE, "801 bytes of data, 800 belong to picky n=100");
  assert_int_equal(chmod(d.file, 0620), 0);
  refused(&d, d.file, "n=100", ERR_USAGE, "can be written by others");
  assert_ok(open_kept(d.c.f, "picky", "n=100", d.file, true, &x, &e), &e);
  rt_captured_close(&x);
}

/* Headers with wrong counts, types or names, but a right digest. */
CONTEXT_TEST(test_a_header_that_lies_is_refused) {
  static const char *const lies[][2] = {{"f32 100 ", "f64 100 "},
                                        {"f32 100 ", "f32 99999999999999 "},
                                        {"arg x", "arg z"},
                                        {"scalar s f32", "scalar s f16"}};
  kept d;
  auto_str text = {0};
  char other[200];
  keep_text(&d, f, &text, other);
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    const char *at = strstr(text.p, lies[i][0]), *end = strstr(text.p, "header ");
    char digest[HASH_TEXT];
    auto_str lie = {0};
    assert_non_null(at);
    str_add_n(&lie, text.p, (size_t)(at - text.p));
    str_add(&lie, lies[i][1]);
    at += strlen(lies[i][0]);
    str_add_n(&lie, at, (size_t)(end - at));
    hash_bytes(lie.p, lie.n, digest);
    str_addf(&lie, "header %s\n\n", digest);
    at = strstr(end, "\n\n") + 2;
    str_add_n(&lie, at, (size_t)(text.p + text.n - at));
    write_text(d.c.f->folder, "other", lie.p, lie.n);
    refused(&d, other, "n=100", ERR_USAGE, "does not fit picky n=100");
  }
}

TEST(test_too_much_is_not_kept) {
  const gen_arg args[2] = {{.name = "x", .dir = GEN_IN}, {.name = "y", .dir = GEN_INOUT}};
  const gen_template t = {.args = args, .n_args = 2};
  gen_datum datum[2] = {{.type = DTYPE_f32, .count = (1 << 28) - 1},
                        {.type = DTYPE_u8, .count = 4}};
  const gen_data data = {.args = datum};
  uint64_t nbytes;
  err e = {0};
  assert_ok(rt_captured_nbytes(&t, &data, &nbytes, &e), &e);
  assert_int_equal(nbytes, RT_CAPTURED_MOST);
  datum[1].count = 5;
  assert_fails(rt_captured_nbytes(&t, &data, &nbytes, &e), &e, ERR_LIMIT, "larger than the");
  err_clear(&e);
  datum[0].count = UINT64_MAX / 4 + 2;
  assert_fails(rt_captured_nbytes(&t, &data, &nbytes, &e), &e, ERR_LIMIT, "larger than the");
}

CONTEXT_TEST(test_a_folder_that_cannot_be_written_is_told) {
  tuned_context *ctx;
  char list[100];
  const tuned_options o = {.device = device_name, .database = f->db_path};
  snprintf(list, sizeof list, "%s/asked", f->folder);
  setenv("TUNED_CAPTURE_DATA", "/dev/null/data", 1);
  REFUSED(f, TUNED_E_USAGE, "TUNED_CAPTURE is not", tuned_open(&ctx, &o, &f->err));
  setenv("TUNED_CAPTURE", list, 1);
  REFUSED(f, TUNED_E_IO, "TUNED_CAPTURE_DATA: /dev/null/data", tuned_open(&ctx, &o, &f->err));
  unsetenv("TUNED_CAPTURE");
  unsetenv("TUNED_CAPTURE_DATA");
}

/* The number of lines that these calls write to standard error. */
static size_t lines_told(kept *d, int launches, const char *words) {
  char path[200];
  auto_str text = {0};
  err e = {0};
  size_t n = 0;
  snprintf(path, sizeof path, "%s/told", d->c.f->folder);
  const int own = dup(2), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(to, 2);
  close(to);
  for (int i = 0; i < launches; i++) {
    OK(d->c.f, launch(d, 7));
  }
  call(&d->c, N, 1);
  dup2(own, 2);
  close(own);
  assert_ok(file_read(path, 1 << 20, &text, &e), &e);
  for (const char *p = str_text(&text); (p = strchr(p, '\n')); p++) {
    n++;
  }
  if (n && !strstr(text.p, words)) {
    fail_msg("'%s' is not in: %s", words, text.p);
  }
  return n;
}

CONTEXT_TEST(test_what_cannot_be_written_is_told_once) {
  kept d;
  keep(&d, f);
  vectors(&d.c);
  assert_int_equal(rmdir(d.folder), 0);
  assert_int_equal(lines_told(&d, 3, "libtuned: TUNED_CAPTURE_DATA: picky: cannot write"), 1);
  close_context(d.c.f);
  holds(d.c.path, "picky n=100  # 3 calls\n", true);
}

/* Data behind addresses, as in arrays of pointers, cannot be kept. */
CONTEXT_TEST(test_what_has_no_address_is_not_kept) {
  kept d;
  keep(&d, f);
  vectors(&d.c);
  d.z = NULL;
  assert_int_equal(lines_told(&d, 2, "picky: z is NULL: what only addresses lead to"), 1);
  assert_false(exists(d.file));
}

static bool always_capturing(rt_device *d, rt_stream s) {
  (void)d, (void)s;
  return true;
}

CONTEXT_TEST(test_a_stream_that_is_captured_is_not_waited_for) {
  kept d;
  keep(&d, f);
  vectors(&d.c);
  rt_device *device = inside(d.c.f)->device;
  const rt_device_ops *own = device->ops;
  rt_device_ops capturing = *own;
  capturing.capturing = always_capturing;
  device->ops = &capturing;
  const size_t n = lines_told(&d, 3, "picky: the stream is being captured");
  device->ops = own;
  assert_int_equal(n, 1);
  assert_false(exists(d.file));
  OK(d.c.f, launch(&d, 7));
  assert_true(exists(d.file));
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
