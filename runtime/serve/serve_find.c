/* serve_find.c -- from a problem to a kernel that can be launched.
 *
 * Which configuration: the first of serve_choose.h's candidates that can be had. Which image: the
 * one stored with the exact trial; else, by its source, one that is loaded, that is stored with the
 * neighbour, or that is stored under its key; else compiled now, and kept in memory only: serving
 * reads the database, tuning writes it. Happens once per problem and context, under the context's
 * lock. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "serve_choose.h"

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of host memory");
}

/* ---- families ------------------------------------------------------------------------------- */

static int family_new(serve *s, const char *name, gen_template *t, err *e) {
  serve_family *f = calloc(1, sizeof *f);
  char *copy = strdup(name);
  if (!f || !copy) {
    free(f);
    free(copy);
    return no_room(e);
  }
  *f = (serve_family){.next = s->families, .name = copy, .t = t};
  s->families = f;
  return 0;
}

int serve_family_get(serve *s, const char *name, gen_template **t, err *e) {
  for (const serve_family *f = s->families; f; f = f->next) {
    if (!strcmp(f->name, name)) {
      *t = f->t;
      return 0;
    }
  }
  TRY(gen_open(&s->options, name, t, e));
  const int rc = family_new(s, name, *t, e);
  if (rc) {
    gen_close(*t);
  }
  return rc;
}

static serve_family *family_of(const serve *s, const gen_template *t) {
  serve_family *f = s->families;
  while (f->t != t) {
    f = f->next;
  }
  return f;
}

const char *serve_family_name(const serve *s, const gen_template *t) {
  return family_of(s, t)->name;
}

serve_known *serve_known_of(serve *s, const gen_template *t) {
  return &family_of(s, t)->known;
}

/* ---- which image ---------------------------------------------------------------------------- */

typedef struct choice { /* while a kernel is being made */
  serve *s;
  gen_template *t;
  gen_instance *g;
  serve_pick pick;
  char key[HASH_TEXT];  /* of the image; empty: the plan launches no kernel */
  char text[HASH_TEXT]; /* the hash of its source */
  tuned_kernel *same;   /* uses that image already */
  const void *image;    /* else: its bytes */
  size_t nbytes;
  bool stored; /* they come from the database */
  int64_t spill;
  rt_image built;
  arena memory;
} choice;

/* A kernel that is loaded from this image already; the key is the image's or its source's. */
static bool take_loaded(choice *c, const char *key) {
  c->same = serve_table_get(&c->s->images, key, strlen(key));
  if (c->same) {
    c->spill = c->same->info.spill_nbytes;
  }
  return c->same;
}

/* The comments in front, which don't matter, end with an empty line (gen_source_make). */
static void hash_stored_source(const char *source, char hash[HASH_TEXT]) {
  const char *end = strstr(source, "\n\n");
  const char *body = end ? end + 2 : source;
  hash_bytes(body, strlen(body), hash);
}

/* A damaged image is no image. */
static bool take_stored(choice *c, const char *key) {
  db_image row;
  if (!c->s->sources.db || db_image_get(c->s->sources.db, key, &c->memory, &row, NULL) ||
      strcmp(row.arch, c->s->device->info.arch)) {
    return false;
  }
  const bool cubin = c->s->device->info.format == RT_CUBIN && row.n_cubin;
  c->image = cubin ? row.cubin : row.ptx;
  c->nbytes = cubin ? row.n_cubin : row.n_ptx;
  c->spill = row.spill;
  c->stored = c->nbytes > 0;
  hash_stored_source(row.source, c->text);
  return c->stored;
}

static bool take_known(choice *c, const char *key) {
  snprintf(c->key, sizeof c->key, "%s", key);
  return take_loaded(c, key) || take_stored(c, key);
}

/* The image stored with a neighbour serves this size if the size does not show in the source. */
static bool take_neighbours(choice *c, const char hash[HASH_TEXT]) {
  if (!c->pick.image || !take_stored(c, c->pick.image)) {
    return false;
  }
  snprintf(c->key, sizeof c->key, "%s", c->pick.image);
  return !strcmp(c->text, hash);
}

/* Tried with this configuration for another size: an adapted one, or a portfolio's. */
static bool take_tried(choice *c, const char hash[HASH_TEXT]) {
  enum { MOST = 4 };
  const char *keys[MOST];
  size_t n = 0;
  str config = {0};
  bool found = false;
  gen_config_text(c->t, &c->pick.config, &config);
  if (c->s->sources.db && !config.failed) {
    db_config_images(c->s->sources.db, c->t->hash, c->s->sources.device_key, str_text(&config),
                     MOST, &c->memory, keys, &n, NULL);
  }
  for (size_t i = 0; i < n && !found; i++) {
    found = take_stored(c, keys[i]) && !strcmp(c->text, hash);
    snprintf(c->key, sizeof c->key, "%s", keys[i]);
  }
  str_clear(&config);
  return found;
}

static int64_t most_spilled(const rt_image *image) {
  int64_t most = 0;
  for (size_t i = 0; i < image->n_kernels; i++) {
    const int64_t spill = image->kernels[i].spill_stores + image->kernels[i].spill_loads;
    most = spill > most ? spill : most;
  }
  return most;
}

static int compile(choice *c, const rt_source *source, err *e) {
  TRY(rt_compile(c->s->compiler, source, &c->memory, &c->built, e));
  const str *bytes = c->s->device->info.format == RT_CUBIN ? &c->built.cubin : &c->built.ptx;
  c->image = str_text(bytes);
  c->nbytes = bytes->n;
  c->spill = most_spilled(&c->built);
  c->stored = false;
  return 0;
}

static int compile_or_find(choice *c, const rt_source *source, bool anew, err *e) {
  char key[HASH_TEXT];
  if (!c->s->compiler) {
    TRY(rt_compiler_open(&c->s->compiler, e));
  }
  rt_image_key(c->s->compiler, source, key);
  return !anew && take_known(c, key) ? 0 : compile(c, source, e);
}

/* As another size of the same text, which need not be written then. */
static bool take_seen(choice *c) {
  char hash[HASH_TEXT];
  if (!gen_source_hash(c->g, &c->pick.config, hash) || !take_loaded(c, hash)) {
    return false;
  }
  memcpy(c->text, hash, sizeof c->text);
  return true;
}

static int find_or_build(choice *c, const rt_source *source, bool anew, err *e) {
  char hash[HASH_TEXT];
  hash_bytes(source->text + source->body, strlen(source->text + source->body), hash);
  gen_source_remember(c->g, &c->pick.config, hash);
  if (!anew && (take_loaded(c, hash) || take_neighbours(c, hash) || take_tried(c, hash))) {
    return 0;
  }
  const int rc = compile_or_find(c, source, anew, e);
  memcpy(c->text, hash, sizeof c->text);
  return rc;
}

/* anew: what is stored is of no use. */
static int build(choice *c, bool anew, err *e) {
  str text = {0};
  /* as the tuner compiles, so that stored images are found */
  rt_source source = {.arch = c->s->device->info.arch,
                      .lineinfo = c->s->device->info.format == RT_PTX};
  if (!anew && take_seen(c)) {
    return 0;
  }
  int rc = gen_source_make(c->g, &c->pick.config, &text, &source.body, e);
  if (!rc) {
    source.text = str_text(&text);
    rc = find_or_build(c, &source, anew, e);
  }
  str_clear(&text);
  return rc;
}

static bool launches_kernels(const gen_plan *plan) {
  for (size_t i = 0; i < plan->n; i++) {
    if (plan->launches[i].kernel) {
      return true;
    }
  }
  return false;
}

static int choose_image(choice *c, const gen_plan *plan, err *e) {
  const bool exact = c->pick.origin == TUNED_EXACT && c->pick.image;
  return !launches_kernels(plan) || (exact && take_known(c, c->pick.image)) ? 0
                                                                            : build(c, false, e);
}

/* Is there any use in trying something else? */
static bool is_final(const choice *c, int rc) {
  return rc == ERR_NOMEM || rc == ERR_INTERRUPTED || c->s->device->dead;
}

static int load_image(choice *c, const gen_plan *plan, tuned_kernel *k, err *e) {
  return rt_loaded_new(c->s->device, c->image, c->nbytes, c->t, plan, &k->loaded, e);
}

/* The first kernel of an image loads it, the others share it. A stored one that the device refuses
 * is made again. */
static int load(choice *c, const gen_plan *plan, tuned_kernel *k, err *e) {
  err why = {0};
  if (c->same) {
    return rt_loaded_new_from(c->same->loaded, c->t, plan, &k->loaded, e);
  }
  if (!c->stored) {
    return load_image(c, plan, k, e);
  }
  const int rc = load_image(c, plan, k, &why);
  if (!rc || is_final(c, rc) || build(c, true, NULL)) {
    return rc ? err_at(e, rc, why.place, "%s", why.message) : 0;
  }
  return load_image(c, plan, k, e);
}

/* ---- which configuration -------------------------------------------------------------------- */

static void forget_image(choice *c) {
  c->key[0] = c->text[0] = 0;
  c->same = NULL;
  c->image = NULL;
  c->nbytes = 0;
  c->stored = false;
  rt_image_clear(&c->built);
}

static int try_pick(tuned_kernel *k, choice *c, const gen_plan **plan, err *e) {
  forget_image(c);
  TRY(gen_plan_make(c->g, &c->pick.config, &c->memory, plan, e));
  TRY(choose_image(c, *plan, e));
  return load(c, *plan, k, e);
}

enum { TRIES_MOST = 6 }; /* that pass the requirements and then can't be had; the default is left */

/* A candidate that can't be had (its image is damaged and there is no NVRTC, say) leaves its place
 * to the next; the error, if all fail, is the default's. */
static int make_first(tuned_kernel *k, choice *c, serve_choose *choose, const gen_plan **plan,
                      err *e) {
  for (int tries = 0;; tries++) {
    err why = {0};
    if (tries == TRIES_MOST) {
      serve_choose_default(choose);
    }
    TRY(serve_choose_next(choose, &c->pick, e));
    const int rc = try_pick(k, c, plan, &why);
    if (!rc) {
      return 0;
    }
    if (c->pick.origin == TUNED_DEFAULT || is_final(c, rc)) {
      return err_at(e, rc, why.place, "%s", why.message);
    }
  }
}

/* ---- the kernel ----------------------------------------------------------------------------- */

static void describe_needs(tuned_kernel *k, const gen_data *data, serve_need *needs) {
  for (size_t i = 0; i < k->t->n_args; i++) {
    const gen_arg *a = &k->t->args[i];
    if (a->dir == GEN_SCALAR) {
      needs[i] = a->value ? SERVE_FIXED : SERVE_GIVEN;
    } else {
      needs[i] = data->args[i].count && !data->args[i].optional ? SERVE_ADDRESS : SERVE_GIVEN;
    }
  }
  for (size_t i = 0; i < k->t->n_args; i++) { /* at most 64: gen_read_args.c */
    if (needs[i] == SERVE_ADDRESS) {
      k->addresses[k->n_addresses++] = (serve_address){
          .index = (uint8_t)i, .stray = (uint8_t)(dtype_nbytes(data->args[i].type) - 1)};
    }
  }
  k->needs = needs;
}

/* Some kernels have a grid even then. */
static bool writes_nothing(const gen_template *t, const gen_data *data) {
  size_t n = 0;
  for (size_t i = 0; i < t->n_args; i++) {
    const bool is_output = t->args[i].dir == GEN_OUT || t->args[i].dir == GEN_INOUT;
    if (is_output && data->args[i].count) {
      return false;
    }
    n += is_output;
  }
  return n > 0;
}

static int describe_args(tuned_kernel *k, choice *c, err *e) {
  const gen_data *data;
  TRY(gen_data_make(c->g, 0, &c->memory, &data, e));
  serve_need *needs = ARENA_ARRAY(&k->memory, serve_need, k->t->n_args + 1);
  if (!needs) {
    return no_room(e);
  }
  describe_needs(k, data, needs);
  k->is_empty = writes_nothing(k->t, data);
  return 0;
}

static int describe_config(tuned_kernel *k, choice *c, err *e) {
  str text = {0};
  gen_config_text(c->t, &c->pick.config, &text);
  k->info.config = arena_text(&k->memory, str_text(&text));
  const bool ok = !text.failed && k->info.config;
  str_clear(&text);
  return ok ? 0 : no_room(e);
}

static char *copy_or_null(arena *a, const char *text) {
  return text ? arena_text(a, text) : NULL;
}

static int describe_origin(tuned_kernel *k, const choice *c, err *e) {
  tuned_kernel_info *info = &k->info;
  info->origin = c->pick.origin;
  info->measured = c->pick.measured;
  info->adapted = c->pick.changed;
  info->expected_sec = c->pick.sec;
  info->expected_loss = c->pick.loss;
  info->tuned_problem = copy_or_null(&k->memory, c->pick.problem);
  info->tuned_device = copy_or_null(&k->memory, c->pick.device_key);
  return !info->tuned_problem == !c->pick.problem && !info->tuned_device == !c->pick.device_key
             ? 0
             : no_room(e);
}

/* Scaled down to a small problem a time forgets that a launch takes some: no card starts and ends a
 * kernel within a microsecond. */
static const double LAUNCH_LEAST_SEC = 1e-6;

static int describe_load(tuned_kernel *k, const choice *c, const gen_plan *plan, err *e) {
  rt_function_info f = {0};
  uint32_t dynamic = 0;
  TRY(rt_loaded_info(k->loaded, &f, e));
  for (size_t i = 0; i < plan->n; i++) {
    dynamic = plan->launches[i].smem > dynamic ? plan->launches[i].smem : dynamic;
  }
  k->is_empty = k->is_empty || !plan->n;
  if (k->info.expected_sec > 0 && k->info.origin != TUNED_EXACT) {
    k->info.expected_sec = fmax(k->info.expected_sec, LAUNCH_LEAST_SEC * (double)plan->n);
  }
  k->info.workspace_nbytes = (int64_t)rt_loaded_workspace_nbytes(k->loaded);
  k->has_workspace = k->info.workspace_nbytes;
  k->info.registers = f.regs;
  k->info.spill_nbytes = c->spill;
  k->info.shared_nbytes = f.smem_static + dynamic;
  return 0;
}

static int kernel_fill(tuned_kernel *k, choice *c, const gen_problem *p, err *e) {
  const gen_plan *plan;
  serve_choose choose = {.from = &c->s->sources,
                         .t = c->t,
                         .p = p,
                         .g = c->g,
                         .problem = k->info.problem,
                         .known = serve_known_of(c->s, c->t),
                         .memory = &c->memory};
  TRY(make_first(k, c, &choose, &plan, e));
  TRY(describe_args(k, c, e));
  TRY(describe_config(k, c, e));
  TRY(describe_origin(k, c, e));
  return describe_load(k, c, plan, e);
}

static int instance_new(choice *c, const gen_problem *p, err *e) {
  gen_number limits[RT_NUMBERS];
  rt_numbers(&c->s->device->info, limits);
  return gen_instance_new(c->t, p, limits, RT_NUMBERS, &c->g, e);
}

/* From now on others may use its image. */
static bool share_as(const choice *c, const char *key, tuned_kernel *k) {
  const size_t n = strlen(key);
  return !n || serve_table_get(&c->s->images, key, n) || serve_table_put(&c->s->images, key, n, k);
}

static int share(const choice *c, tuned_kernel *k, err *e) {
  tuned_kernel *first = c->same ? c->same : k;
  if (!share_as(c, c->key, first)) {
    return no_room(e);
  }
  share_as(c, c->text, first); /* without it another size may be compiled again, that is all */
  return 0;
}

static int kernel_make(tuned_kernel *k, choice *c, const gen_problem *p, err *e) {
  if (!k->info.problem) {
    return no_room(e);
  }
  TRY(instance_new(c, p, e));
  TRY(kernel_fill(k, c, p, e));
  return share(c, k, e);
}

static int kernel_new(serve *s, gen_template *t, const gen_problem *p, const char *problem,
                      tuned_kernel **out, err *e) {
  choice c = {.s = s, .t = t};
  tuned_kernel *k = calloc(1, sizeof *k);
  if (!k) {
    return no_room(e);
  }
  k->owner = s;
  k->t = t;
  k->name = family_of(s, t)->name;
  k->info.problem = arena_text(&k->memory, problem);
  rt_image_init(&c.built);
  serve_turn_take(s);
  const int rc = kernel_make(k, &c, p, e);
  if (rc) {
    serve_kernel_free(k);
  }
  serve_turn_end(s);
  gen_instance_free(c.g);
  rt_image_clear(&c.built);
  arena_clear(&c.memory);
  *out = rc ? NULL : k;
  return rc;
}

/* ---- variants ------------------------------------------------------------------------------- */

static int variant_fill(tuned_kernel *k, choice *c, const void *image, size_t nbytes, err *e) {
  const gen_plan *plan;
  k->info.problem = arena_text(&k->memory, k->info.problem);
  if (!k->info.problem) {
    return no_room(e);
  }
  TRY(gen_plan_make(c->g, &c->pick.config, &c->memory, &plan, e));
  TRY(rt_loaded_new(c->s->device, image, nbytes, c->t, plan, &k->loaded, e));
  TRY(describe_args(k, c, e));
  TRY(describe_config(k, c, e));
  TRY(describe_origin(k, c, e));
  return describe_load(k, c, plan, e);
}

int serve_kernel_variant(const tuned_kernel *from, gen_instance *g, const gen_config *config,
                         const void *image, size_t nbytes, int64_t spill, tuned_kernel **out,
                         err *e) {
  serve *s = from->owner;
  choice c = {.s = s, .t = (gen_template *)from->t, .g = g, .spill = spill};
  tuned_kernel *k = calloc(1, sizeof *k);
  if (!k) {
    return no_room(e);
  }
  c.pick = (serve_pick){.config = *config,
                        .origin = TUNED_ONLINE,
                        .problem = from->info.problem,
                        .device_key = s->sources.device_key};
  k->owner = s;
  k->t = from->t;
  k->name = from->name;
  k->info.problem = from->info.problem;
  const int rc = variant_fill(k, &c, image, nbytes, e);
  arena_clear(&c.memory);
  if (rc) {
    serve_kernel_free(k);
    return rc;
  }
  k->next = s->newest;
  s->newest = k;
  *out = k;
  return 0;
}

void serve_kernel_unload(tuned_kernel *k) {
  rt_loaded_free(k->loaded);
  k->loaded = NULL;
}

void serve_kernel_free(tuned_kernel *k) {
  rt_loaded_free(k->loaded);
  arena_clear(&k->memory);
  free(k);
}

int serve_remember(serve *s, const void *key, size_t nbytes, tuned_kernel *k, err *e) {
  if (serve_table_get(&s->front.kernels, key, nbytes)) {
    return 0;
  }
  return serve_table_put(&s->front.kernels, key, nbytes, k) ? 0 : no_room(e);
}

static int get_by_text(serve *s, gen_template *t, const gen_problem *p, const char *problem,
                       const str *key, tuned_kernel **k, err *e) {
  if ((*k = serve_table_get(&s->front.kernels, key->p, key->n))) {
    return 0;
  }
  TRY(kernel_new(s, t, p, problem, k, e));
  (*k)->next = s->newest;
  s->newest = *k;
  serve_capture_note(s);
  serve_online_attach(s, *k);
  return serve_remember(s, key->p, key->n, *k, e);
}

/* Two templates may share a family's name (one by its path), so the key names the template. */
int serve_kernel_get(serve *s, gen_template *t, const gen_problem *p, tuned_kernel **k, err *e) {
  str key = {0};
  str_add_n(&key, &t, sizeof t);
  gen_problem_text(t, p, &key);
  const int rc = key.failed ? no_room(e) : get_by_text(s, t, p, key.p + sizeof t, &key, k, e);
  str_clear(&key);
  return rc;
}
