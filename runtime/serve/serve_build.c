#define _GNU_SOURCE
#include "cached_compiler.h"
#include "serve_build.h"

#include <stdio.h>
#include <string.h>

#include "serve_kernel.h"

/* ---- where an image may be ------------------------------------------------------------------ */

/* A kernel that is loaded from this image already; the key is the image's or its source's. */
static bool take_loaded(serve_build *b, const char *key) {
  b->same = serve_table_get(&b->s->images, key, strlen(key));
  if (b->same) {
    b->spill = b->same->info.spill_nbytes;
  }
  return b->same;
}

/* The leading comments, which are not hashed, end with an empty line (gen_source_make). */
static void hash_stored_source(const char *source, char hash[HASH_TEXT]) {
  const char *end = strstr(source, "\n\n");
  const char *body = end ? end + 2 : source;
  hash_bytes(body, strlen(body), hash);
}

/* A damaged image is treated as absent. */
static bool take_stored(serve_build *b, const char *key) {
  db_image row;
  if (!b->s->sources.db || db_image_get(b->s->sources.db, key, &b->memory, &row, NULL) ||
      strcmp(row.arch, b->s->device->info.arch)) {
    return false;
  }
  const bool cubin = b->s->device->info.format == RT_CUBIN && row.n_cubin;
  b->image = cubin ? row.cubin : row.ptx;
  b->nbytes = cubin ? row.n_cubin : row.n_ptx;
  b->spill = row.spill;
  b->stored = b->nbytes > 0;
  hash_stored_source(row.source, b->text);
  return b->stored;
}

static bool take_known(serve_build *b, const char *key) {
  snprintf(b->key, sizeof b->key, "%s", key);
  return take_loaded(b, key) || take_stored(b, key);
}

/* The image stored with a neighbour serves this size if both sizes give the same source. */
static bool take_neighbours(serve_build *b, const char hash[HASH_TEXT]) {
  if (!b->pick.image || !take_stored(b, b->pick.image)) {
    return false;
  }
  snprintf(b->key, sizeof b->key, "%s", b->pick.image);
  return !strcmp(b->text, hash);
}

/* An image stored with this configuration for another size; the configuration may be an adapted one
 * or a portfolio's. */
static bool take_tried(serve_build *b, const char hash[HASH_TEXT]) {
  enum { MOST = 4 };
  const char *keys[MOST];
  size_t n = 0;
  auto_str config = {0};
  bool found = false;
  if (!b->s->sources.db) {
    return false;
  }
  gen_config_text(b->t, &b->pick.config, &config);
  if (!config.failed) {
    db_config_images(b->s->sources.db, b->t->hash, b->s->sources.device_key, str_text(&config),
                     MOST, &b->memory, keys, &n, NULL);
  }
  for (size_t i = 0; i < n && !found; i++) {
    found = take_stored(b, keys[i]) && !strcmp(b->text, hash);
    snprintf(b->key, sizeof b->key, "%s", keys[i]);
  }
  return found;
}

static bool take_given(serve_build *b, const char hash[HASH_TEXT]) {
  const serve_given *given = b->given;
  if (!given || strcmp(given->text, hash)) {
    return false;
  }
  b->image = given->bytes;
  b->nbytes = given->nbytes;
  b->spill = given->spill;
  return true;
}

/* The tuner's options, so that stored images are found. */
rt_source serve_build_source(const serve *s, const char *text, size_t body) {
  return (rt_source){.text = text,
                     .body = body,
                     .arch = s->device->info.arch,
                     .lineinfo = s->device->info.format == RT_PTX};
}

static bool take_ready(serve_build *b, const char hash[HASH_TEXT]) {
  ready_image ready;
  const rt_source source = serve_build_source(b->s, NULL, 0);
  serve_notes_open(b->s);
  if (!b->s->ready ||
      !ready_images_find(b->s->ready, &source, hash, &b->s->device->info, &b->memory, &ready)) {
    return false;
  }
  b->image = ready.bytes;
  b->nbytes = ready.nbytes;
  b->spill = ready.spill;
  b->stored = true;
  return true;
}

static int compile(serve_build *b, const rt_source *source, err *e) {
  TRY(rt_compile(b->s->compiler, source, &b->memory, &b->built, e));
  const str *bytes = b->s->device->info.format == RT_CUBIN ? &b->built.cubin : &b->built.ptx;
  b->image = str_text(bytes);
  b->nbytes = bytes->n;
  b->spill = rt_log_spill(str_text(&b->built.log));
  b->stored = false;
  return 0;
}

static int compile_or_find(serve_build *b, const rt_source *source, bool anew, err *e) {
  char key[HASH_TEXT];
  if (!b->s->compiler) {
    TRY(cached_compiler_open(&b->s->compiler, e));
  }
  rt_image_key(b->s->compiler, source, key);
  return !anew && take_known(b, key) ? 0 : compile(b, source, e);
}

static bool find_image(serve_build *b, const char hash[HASH_TEXT]) {
  bool found = take_loaded(b, hash) || take_given(b, hash) || take_neighbours(b, hash) ||
               take_tried(b, hash);
  if (!found) {
    b->key[0] = 0;
    found = take_ready(b, hash);
  }
  memcpy(b->text, hash, sizeof b->text);
  return found;
}

/* From another size, or another process: then no source is made to look for its image. */
static bool knows_text(serve_build *b, char hash[HASH_TEXT]) {
  if (b->notes) {
    serve_notes_read(b->s, b->t, b->notes);
  }
  return gen_source_hash(b->g, &b->pick.config, hash);
}

static bool take_seen(serve_build *b) {
  char hash[HASH_TEXT];
  if (!knows_text(b, hash) || !take_loaded(b, hash)) {
    return false;
  }
  memcpy(b->text, hash, sizeof b->text);
  return true;
}

/* not_at_hand: the digest of a text whose image was looked for */
static int make_and_find(serve_build *b, serve_effort effort, bool anew, const char *not_at_hand,
                         err *e) {
  char hash[HASH_TEXT];
  str_reset(&b->source);
  TRY(gen_source_make(b->g, &b->pick.config, &b->source, &b->body, e));
  const rt_source source = serve_build_source(b->s, str_text(&b->source), b->body);
  hash_bytes(source.text + source.body, b->source.n - source.body, hash);
  const bool looked = anew || !strcmp(not_at_hand, hash);
  if (!looked) {
    gen_source_remember(b->g, &b->pick.config, hash);
  }
  if (!looked && find_image(b, hash)) {
    return 0;
  }
  return effort == SERVE_COMPILE ? compile_or_find(b, &source, anew, e) : ERR_NOTFOUND;
}

/* anew: do not use what is stored. */
static int build(serve_build *b, serve_effort effort, bool anew, err *e) {
  char hash[HASH_TEXT] = "";
  if (effort == SERVE_LOADED) {
    return take_seen(b) ? 0 : ERR_NOTFOUND;
  }
  if (!anew && knows_text(b, hash) && find_image(b, hash)) {
    return 0;
  }
  return make_and_find(b, effort, anew, hash, e);
}

/* Kernels and variables are an image's. */
static bool needs_image(const gen_plan *plan) {
  for (size_t i = 0; i < plan->n; i++) {
    if (plan->launches[i].kernel || plan->launches[i].symbol) {
      return true;
    }
  }
  return false;
}

static int choose_image(serve_build *b, serve_effort effort, err *e) {
  const bool exact = b->pick.origin == TUNED_EXACT && b->pick.image;
  if (!needs_image(b->plan) || (exact && take_known(b, b->pick.image))) {
    return 0;
  }
  return build(b, effort, false, e);
}

bool serve_build_is_final(const serve_build *b, int rc) {
  return rc == ERR_NOMEM || rc == ERR_INTERRUPTED || b->s->device->dead;
}

static int load_image(serve_build *b, rt_loaded **loaded, err *e) {
  return rt_loaded_new(b->s->device, b->image, b->nbytes, b->t, b->plan, loaded, e);
}

/* The first kernel of an image loads it, the others share it. A stored image that the device
 * refuses is compiled again. */
static int load(serve_build *b, serve_effort effort, rt_loaded **loaded, err *e) {
  err why = {0};
  if (b->same) {
    return rt_loaded_new_from(b->same->loaded, b->t, b->plan, loaded, e);
  }
  if (!b->stored) {
    return load_image(b, loaded, e);
  }
  const int rc = load_image(b, loaded, &why);
  if (!rc || serve_build_is_final(b, rc)) {
    return rc ? err_copy(e, rc, &why) : 0;
  }
  if (build(b, effort, true, NULL)) {
    return effort == SERVE_COMPILE ? err_copy(e, rc, &why) : ERR_NOTFOUND;
  }
  return load_image(b, loaded, e);
}

static void forget_image(serve_build *b) {
  b->key[0] = b->text[0] = 0;
  b->same = NULL;
  b->image = NULL;
  b->nbytes = 0;
  b->stored = false;
  rt_image_clear(&b->built);
}

int serve_build_load(serve_build *b, serve_effort effort, rt_loaded **loaded, err *e) {
  forget_image(b);
  if (effort == SERVE_LOADED && !take_seen(b)) {
    return ERR_NOTFOUND;
  }
  TRY(gen_plan_make(b->g, &b->pick.config, &b->memory, &b->plan, e));
  TRY(choose_image(b, effort, e));
  return load(b, effort, loaded, e);
}

static bool share_as(const serve_build *b, const char *key, tuned_kernel *k) {
  const size_t n = strlen(key);
  return !n || serve_table_get(&b->s->images, key, n) || serve_table_put(&b->s->images, key, n, k);
}

int serve_build_share(const serve_build *b, tuned_kernel *k, err *e) {
  tuned_kernel *first = b->same ? b->same : k;
  if (!share_as(b, b->key, first)) {
    return err_nomem(e);
  }
  share_as(b, b->text, first); /* a failure only means that another size compiles it again */
  return 0;
}

void serve_build_clear(serve_build *b) {
  rt_image_clear(&b->built);
  str_clear(&b->source);
  arena_clear(&b->memory);
}
