/* serve_fixture.h -- what the tests of libtuned share: a context with a database of its own, and
 * tuned kernels to put into it. */
#ifndef SERVE_FIXTURE_H
#define SERVE_FIXTURE_H

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "context.h"
#include "file.h"

static const char *device_name; /* set by main */

/* ---- a context, a scratch folder, a database in it ------------------------------------------ */

typedef struct fixture {
  char folder[64], db_path[96];
  tuned_context *ctx;
  tuned_error err;
} fixture;

#define OK(f, call)                                                                                \
  do {                                                                                             \
    if (call) {                                                                                    \
      fail_msg("%s: %s", #call, (f)->err.message);                                                 \
    }                                                                                              \
  } while (0)

/* The call is refused with this code, in one line that contains the words. */
#define REFUSED(f, expected, words, call)                                                          \
  do {                                                                                             \
    const int refused_rc_ = (call);                                                                \
    if (refused_rc_ != (expected) || (f)->err.code != (expected) ||                                \
        !strstr((f)->err.message, words) || strchr((f)->err.message, '\n')) {                      \
      fail_msg("%s: got %d '%s', wanted %d '%s'", #call, refused_rc_, (f)->err.message, expected,  \
               words);                                                                             \
    }                                                                                              \
  } while (0)

static inline serve *inside(fixture *f) {
  serve *s = NULL;
  assert_int_equal(serve_of(f->ctx, &s, NULL), 0);
  return s;
}

/* The shipped presets are results of one day's search; a test has its own, or none. */
static const gen_file no_presets[] = {{NULL, NULL, 0}};

static inline void reopen(fixture *f, const char *templates) {
  const tuned_options o = {.device = device_name, .database = f->db_path, .templates = templates};
  tuned_close(f->ctx);
  OK(f, tuned_open(&f->ctx, &o, &f->err));
  inside(f)->sources.presets = no_presets;
}

static inline int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  strcpy(f->folder, "/tmp/test_serve.XXXXXX");
  assert_non_null(mkdtemp(f->folder));
  snprintf(f->db_path, sizeof f->db_path, "%s/tuned.db", f->folder);
  reopen(f, f->folder);
  *state = f;
  return 0;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  (void)st, (void)type, (void)ftw;
  return remove(path);
}

static inline int teardown(void **state) {
  fixture *f = *state;
  tuned_close(f->ctx);
  nftw(f->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  free(f);
  return 0;
}

static inline tuned_kernel_info info_of(fixture *f, const char *problem) {
  tuned_kernel *k;
  tuned_kernel_info info;
  OK(f, tuned_find(f->ctx, problem, &k, &f->err));
  OK(f, tuned_info(k, &info, &f->err));
  return info;
}

/* ---- storing a tuned kernel, as the tuner would --------------------------------------------- */

enum { STORED_SPILL = 12345 }; /* by which a stored image is told from one just built */

typedef struct store {
  serve *s;
  gen_template *t;
  gen_instance *g;
  rt_compiler *compiler;
  arena memory;
  err e;
} store;

static inline void store_open(store *st, fixture *f, const char *family, const char *problem) {
  gen_problem p;
  gen_number numbers[RT_NUMBERS];
  *st = (store){.s = inside(f)};
  assert_ok(gen_open(&st->s->options, family, &st->t, &st->e), &st->e);
  assert_ok(gen_problem_parse(st->t, problem, &p, &st->e), &st->e);
  rt_numbers(&st->s->device->info, numbers);
  assert_ok(gen_instance_new(st->t, &p, numbers, RT_NUMBERS, &st->g, &st->e), &st->e);
  assert_ok(rt_compiler_open(&st->compiler, &st->e), &st->e);
}

static inline void store_close(store *st) {
  rt_compiler_close(st->compiler);
  gen_instance_free(st->g);
  gen_close(st->t);
  arena_clear(&st->memory);
}

static inline void store_image(store *st, db *d, const gen_config *c, char key[HASH_TEXT]) {
  str text = {0};
  rt_image image;
  const rt_info *info = &st->s->device->info;
  rt_source source = {.arch = info->arch, .lineinfo = info->format == RT_PTX};
  rt_image_init(&image);
  assert_ok(gen_source_make(st->g, c, &text, &source.body, &st->e), &st->e);
  source.text = str_text(&text);
  assert_ok(rt_compile(st->compiler, &source, &st->memory, &image, &st->e), &st->e);
  const db_image row = {.key = image.key,
                        .arch = info->arch,
                        .source = source.text,
                        .log = "",
                        .nvrtc = rt_compiler_version(st->compiler),
                        .cubin = image.cubin.p,
                        .n_cubin = image.cubin.n,
                        .spill = STORED_SPILL,
                        .ptx = image.ptx.p,
                        .n_ptx = image.ptx.n};
  assert_ok(db_image_put(d, &row, &st->e), &st->e);
  strcpy(key, image.key);
  rt_image_clear(&image);
  str_clear(&text);
}

typedef struct stored { /* a row of the database; what is not given is as on the context's device */
  const char *problem, *config;
  const char *hash, *device_key;
  int cc, sms;
  double median, modelled; /* neither: 1.25 us measured */
  bool no_image;
} stored;

static inline void store_time(store *st, db *d, int64_t trial, const stored *row) {
  const db_sample sample = {.stage = DB_FINAL,
                            .median = row->median > 0 ? row->median : 1.25e-6,
                            .spread = 0.01,
                            .launches = 100,
                            .driver = 13000,
                            .uuid = ""};
  if (row->modelled > 0) {
    assert_ok(db_estimate_put(d, trial, "a model", row->modelled, &st->e), &st->e);
  } else {
    assert_ok(db_sample_put(d, trial, &sample, &st->e), &st->e);
  }
}

static inline void store_trial(store *st, db *d, const stored *row, const char *image) {
  int64_t template_id, device_id, trial;
  const rt_info *info = &st->s->device->info;
  const db_device device = {.key = row->device_key ? row->device_key : str_text(&st->s->device_key),
                            .name = info->name,
                            .cc = row->cc ? row->cc : info->cc,
                            .sms = row->sms ? row->sms : info->sms};
  const db_template template = {.family = st->t->name,
                                .hash = row->hash ? row->hash : st->t->hash,
                                .path = st->t->path,
                                .version = st->t->version};
  const db_trial trial_row = {
      .problem = row->problem, .config = row->config, .status = DB_OK, .image = image};
  assert_ok(db_device_put(d, &device, &device_id, &st->e), &st->e);
  assert_ok(db_template_put(d, &template, &template_id, &st->e), &st->e);
  assert_ok(db_trial_put(d, template_id, device_id, &trial_row, &trial, &st->e), &st->e);
  store_time(st, d, trial, row);
}

/* Put a tuned kernel into the database: configurations are completed, problems are to be complete.
 */
static inline void store_put(fixture *f, const stored *row) {
  store st;
  db *d;
  gen_config c;
  char key[HASH_TEXT], family[32];
  str full = {0};
  stored complete = *row;
  snprintf(family, sizeof family, "%.*s", (int)strcspn(row->problem, " "), row->problem);
  store_open(&st, f, family, row->problem);
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &st.e), &st.e);
  assert_ok(gen_config_parse(st.t, row->config, &c, &st.e), &st.e);
  gen_config_text(st.t, &c, &full);
  complete.config = str_text(&full);
  if (!row->no_image) {
    store_image(&st, d, &c, key);
  }
  store_trial(&st, d, &complete, row->no_image ? NULL : key);
  str_clear(&full);
  db_close(d);
  store_close(&st);
}

static inline void store_saxpy(fixture *f, const char *problem, const char *config,
                               const char *hash) {
  store_put(f, &(stored){.problem = problem, .config = config, .hash = hash});
}

#define WITH_CONTEXT(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
