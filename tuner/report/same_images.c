#include "same_images.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "image_cache.h"

typedef struct variant {
  uint64_t digest; /* of its image and its launches */
  size_t i;        /* of the row */
} variant;

static uint64_t add_launch(uint64_t h, const gen_launch *l) {
  h = l->kernel ? hash_more(h, l->kernel, strlen(l->kernel)) : h;
  h = hash_more(h, l->grid, sizeof l->grid);
  h = hash_more(h, l->block, sizeof l->block);
  h = hash_more(h, &l->smem, sizeof l->smem);
  const uint64_t loop[] = {l->loop ? l->loop->times : 0, l->loop ? l->loop->graph : 0,
                           l->loop ? l->loop->is_while : 0, l->loop ? l->loop->batch : 0};
  h = l->loop ? hash_more(h, loop, sizeof loop) : h;
  const uint64_t more[] = {l->overlap, l->cooperative, l->stream, l->after,
                           l->fill,    l->nbytes,      l->pool};
  h = hash_more(h, more, sizeof more);
  for (size_t i = 0; i < l->n_operands; i++) {
    h = hash_more(h, &l->operands[i].bits, sizeof l->operands[i].bits);
  }
  return h;
}

static uint64_t code_digest(const void *cubin, size_t n_cubin, const void *ptx, size_t n_ptx) {
  return n_cubin ? hash_more(1, cubin, n_cubin) : hash_more(1, ptx, n_ptx);
}

/* Of the machine code. The compiler's cache has that of all variants that were tried, as it was compiled;
 * the database that of the few best. Where both lack it: of the key of the text it was made from. */
static uint64_t image_digest(db *d, image_cache *cache, const char *key, arena *a) {
  db_image image;
  cached_image kept;
  if (cache && !image_cache_get(cache, key, a, &kept, NULL) && (kept.n_cubin || kept.n_ptx)) {
    return code_digest(kept.cubin, kept.n_cubin, kept.ptx, kept.n_ptx);
  }
  if (!db_image_get(d, key, a, &image, NULL) && (image.n_cubin || image.n_ptx)) {
    return code_digest(image.cubin, image.n_cubin, image.ptx, image.n_ptx);
  }
  return hash_more(0, key, strlen(key));
}

static int digest(db *d, image_cache *cache, const gen_template *t, gen_instance *g,
                  const db_result *row, uint64_t *out, err *e) {
  auto_arena a = {0};
  gen_config c;
  const gen_plan *plan;
  TRY(gen_config_parse(t, row->t.config, &c, e));
  TRY(gen_plan_make(g, &c, &a, &plan, e));
  *out = image_digest(d, cache, row->t.image, &a);
  for (size_t i = 0; i < plan->n; i++) {
    *out = add_launch(*out, &plan->launches[i]);
  }
  return 0;
}

static int by_digest(const void *a, const void *b) {
  const variant *x = a, *y = b;
  return x->digest != y->digest ? (x->digest > y->digest) - (x->digest < y->digest)
                                : (x->i > y->i) - (x->i < y->i);
}

static void describe(const db_result *rows, variant *v, size_t n, str *out) {
  size_t same = 0, first = 0;
  qsort(v, n, sizeof *v, by_digest);
  for (size_t i = 1; i < n; i++) {
    if (v[i].digest == v[i - 1].digest) {
      first = same++ ? first : i;
    }
  }
  if (same) {
    str_addf(
        out,
        "  %zu of %zu variants have the machine code and the launch of another, such as %s and "
        "%s: does the text use what differs?\n",
        same, n, rows[v[first - 1].i].t.config, rows[v[first].i].t.config);
  }
}

static int digest_all(db *d, image_cache *cache, const gen_template *t, gen_instance *g,
                      const db_result *rows, size_t n, variant *v, size_t *n_v, err *e) {
  enum { MOST = 1000 }; /* a second of reading */
  for (size_t i = 0; i < n && *n_v < MOST; i++) {
    if (rows[i].t.image && rows[i].t.status == DB_OK) {
      v[*n_v].i = i;
      TRY(digest(d, cache, t, g, &rows[i], &v[*n_v].digest, e));
      ++*n_v;
    }
  }
  return 0;
}

int same_images(db *d, const gen_template *t, gen_instance *g, const db_result *rows, size_t n,
                str *out, err *e) {
  auto_arena a = {0};
  image_cache *cache = NULL;
  variant *v = ARENA_ARRAY(&a, variant, n + 1);
  size_t n_v = 0;
  TRY(v ? 0 : err_nomem(e));
  if (image_cache_open_all(&cache, NULL)) {
    cache = NULL;
  }
  const int rc = digest_all(d, cache, t, g, rows, n, v, &n_v, e);
  image_cache_close(cache);
  if (!rc) {
    describe(rows, v, n_v, out);
  }
  return rc;
}
