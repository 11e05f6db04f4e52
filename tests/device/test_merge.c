/* test_merge.c -- merge and merge_sort by the properties of their results, without the reference:
 *   build/tests/test_merge [--device NAME]
 * The value of every key is a tag. Results are sorted, have every tag once and beside its key, and
 * keep equal keys in the order of their tags; different ways to one result agree. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "device_fixture.h"

typedef struct pair {
  int32_t key;
  uint32_t tag;
} pair;

typedef struct list {
  pair *p;
  size_t n;
} list;

typedef struct kernel { /* a configuration of a family, for any size */
  gen_template *t;
  gen_config config;
  int value;        /* bytes of one */
  rt_loaded *first; /* has the image */
} kernel;

/* ---- data ------------------------------------------------------------------------------------ */

static list list_new(size_t n) {
  list l = {calloc(n + 1, sizeof *l.p), n};
  assert_non_null(l.p);
  return l;
}

static int32_t draw_key(bed *b, size_t i, size_t n, int kind) {
  switch (kind) {
  case 0:
    return (int32_t)(uint32_t)(random_below(&b->random, 1u << 16) << 16 |
                               random_below(&b->random, 1u << 16)); /* any */
  case 1: return (int32_t)random_below(&b->random, 5);              /* many ties */
  case 2: return -7;                                                /* one tie */
  case 3: return (int32_t)i;                                        /* in order */
  case 4: return (int32_t)(n - i);                                  /* reversed */
  case 5: return (int32_t)(i < n / 2 ? i : n - i);                  /* organ pipe */
  default: return random_below(&b->random, 2) ? INT32_MAX : INT32_MIN;
  }
}
enum { KINDS = 7 };

static list list_random(bed *b, size_t n, int kind, uint32_t first_tag) {
  list l = list_new(n);
  for (size_t i = 0; i < n; i++) {
    l.p[i] = (pair){draw_key(b, i, n, kind), first_tag + (uint32_t)i};
  }
  return l;
}

static int by_key_and_tag(const void *x, const void *y) {
  const pair *a = x, *b = y;
  return a->key != b->key ? (a->key < b->key ? -1 : 1) : (a->tag > b->tag) - (a->tag < b->tag);
}

static list list_sorted(bed *b, size_t n, int kind, uint32_t first_tag) {
  list l = list_random(b, n, kind, 0);
  qsort(l.p, n, sizeof *l.p, by_key_and_tag);
  for (size_t i = 0; i < n; i++) {
    l.p[i].tag = first_tag + (uint32_t)i;
  }
  return l;
}

static list list_joined(list x, list y) {
  list l = list_new(x.n + y.n);
  memcpy(l.p, x.p, x.n * sizeof *x.p);
  memcpy(l.p + x.n, y.p, y.n * sizeof *y.p);
  return l;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* The mistake in y, the result for x, whose tags count from 0; NULL: it is right. */
static const char *find_mistake(list x, list y) {
  const char *wrong = NULL;
  bool *seen = calloc(x.n + 1, sizeof *seen);
  assert_non_null(seen);
  for (size_t i = 0; i < y.n && !wrong; i++) {
    uint32_t tag = y.p[i].tag;
    wrong = tag >= x.n                                                         ? "a foreign tag"
            : seen[tag]                                                        ? "a tag twice"
            : x.p[tag].key != y.p[i].key                                       ? "a wrong tag"
            : i && y.p[i - 1].key > y.p[i].key                                 ? "no order"
            : i && y.p[i - 1].key == y.p[i].key && y.p[i - 1].tag > y.p[i].tag ? "not stable"
                                                                               : NULL;
    if (!wrong) {
      seen[tag] = true;
    }
  }
  free(seen);
  return x.n != y.n ? "another length" : wrong;
}

static void assert_right(const kernel *k, list x, list y, int kind) {
  const char *wrong = find_mistake(x, y);
  if (wrong) {
    str config = {0};
    gen_config_text(k->t, &k->config, &config);
    fail_msg("%s of %zu keys, kind %d: %s; %s", k->t->name, x.n, kind, wrong, str_text(&config));
  }
}

static void assert_equal(list x, list y) {
  assert_int_equal(x.n, y.n);
  assert_memory_equal(x.p, y.p, x.n * sizeof *x.p);
}

/* ---- running --------------------------------------------------------------------------------- */

static gen_instance *instance(bed *b, const kernel *k, const char *problem) {
  gen_problem p;
  gen_instance *g;
  assert_ok(gen_problem_parse(k->t, problem, &p, &b->e), &b->e);
  assert_ok(gen_instance_new(k->t, &p, b->limits, RT_NUMBERS, &g, &b->e), &b->e);
  return g;
}

static kernel open_kernel_for(bed *b, const char *family, int value, const char *sizes,
                              const char *config) {
  kernel k = {.value = value};
  assert_ok(gen_open(NULL, family, &k.t, &b->e), &b->e);
  assert_ok(gen_config_parse(k.t, config, &k.config, &b->e), &b->e);
  gen_instance *g = instance(b, &k, arena_format(&b->a, "value=%d%s", value, sizes));
  assert_ok(gen_config_check(g, &k.config, &b->e), &b->e);
  assert_ok(bed_load(b, k.t, g, &k.config, &k.first), &b->e);
  gen_instance_free(g);
  return k;
}

static kernel open_kernel(bed *b, const char *family, const char *config) {
  return open_kernel_for(b, family, 4, "", config);
}

static void close_kernel(kernel *k) {
  rt_loaded_free(k->first);
  gen_close(k->t);
}

static void launch(bed *b, const kernel *k, const char *problem, const void *const *args) {
  gen_instance *g = instance(b, k, problem);
  const gen_plan *plan;
  rt_loaded *l;
  assert_ok(gen_config_check(g, &k->config, &b->e), &b->e);
  assert_ok(gen_plan_make(g, &k->config, &b->a, &plan, &b->e), &b->e);
  assert_ok(rt_loaded_new_from(k->first, k->t, plan, &l, &b->e), &b->e);
  assert_ok(rt_loaded_launch(l, NULL, args, &b->e), &b->e);
  assert_ok(rt_loaded_launch(l, NULL, args, &b->e), &b->e); /* finds its workspace used */
  assert_ok(b->d->ops->stream_sync(b->d, NULL, &b->e), &b->e);
  rt_loaded_free(l);
  gen_instance_free(g);
}

typedef struct buffers { /* a list on the device */
  rt_ptr keys, tags;
} buffers;

static rt_ptr upload(bed *b, list l, size_t offset) {
  uint32_t *words = calloc(l.n + 1, sizeof *words);
  assert_non_null(words);
  for (size_t i = 0; i < l.n; i++) {
    memcpy(&words[i], (const char *)&l.p[i] + offset, sizeof *words);
  }
  const rt_ptr p = bed_put(b, words, l.n * sizeof *words);
  free(words);
  return p;
}

static buffers put(bed *b, list l) {
  return (buffers){upload(b, l, offsetof(pair, key)), upload(b, l, offsetof(pair, tag))};
}

static void drop(bed *b, buffers m) {
  bed_free(b, m.keys);
  bed_free(b, m.tags);
}

static list take(bed *b, buffers m, size_t n) {
  list l = list_new(n);
  uint32_t *words = calloc(2 * n + 1, sizeof *words);
  assert_non_null(words);
  bed_get(b, words, m.keys, n * sizeof *words);
  bed_get(b, words + n, m.tags, n * sizeof *words);
  for (size_t i = 0; i < n; i++) {
    l.p[i] = (pair){(int32_t)words[i], words[n + i]};
  }
  free(words);
  return l;
}

static list merged(bed *b, const kernel *k, list x, list y) {
  list room = list_joined(x, y);
  buffers mx = put(b, x), my = put(b, y), mz = put(b, room);
  const void *args[] = {NULL, NULL, &mx.keys, &my.keys, &mz.keys, &mx.tags, &my.tags, &mz.tags};
  launch(b, k, arena_format(&b->a, "m=%zu n=%zu value=4", x.n, y.n), args);
  list z = take(b, mz, x.n + y.n);
  drop(b, mx);
  drop(b, my);
  drop(b, mz);
  free(room.p);
  return z;
}

static list sorted(bed *b, const kernel *k, list x) {
  buffers mx = put(b, x), my = put(b, x);
  const void *args[] = {NULL, &mx.keys, &my.keys, &mx.tags, &my.tags};
  launch(b, k, arena_format(&b->a, "n=%zu value=%d", x.n, k->value), args);
  list y = take(b, my, x.n);
  drop(b, mx);
  drop(b, my);
  return y;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const char *const MERGES[] = {
    "ALG=corank,PARTITION=thread,BLOCK=64,ITEMS=7,STORE=direct",
    "ALG=tiled,PARTITION=block,BLOCK=64,ITEMS=4,TILES=4,STORE=direct",
    "ALG=circular,PARTITION=launch,SEARCH_LANES=4,BLOCK=64,ITEMS=5,TILES=8,STORE=direct",
    "ALG=merge_path,PARTITION=launch,BLOCK=64,ITEMS=8,VEC=4,LOADER=cp_async,STORE=warp",
    "ALG=merge_path,PARTITION=block,BLOCK=64,ITEMS=9,STORE=block",
    "ALG=merge_path,PARTITION=block,BLOCK=64,ITEMS=8,MERGE=network,STORE=block",
    "ALG=merge_path,PARTITION=launch,SEARCH_LANES=32,BLOCK=64,ITEMS=32,MERGE=network,"
    "VEC=4,STORE=warp,OVERLAP=on",
    "ALG=merge_path,PARTITION=block,BLOCK=64,ITEMS=4,MERGE=network,VEC=4,LOADER=bulk,STORE=warp,"
    "STAGES=2",
};
static const char *const SORTS[] = {
    "SORT_BLOCK=64,SORT_ITEMS=5,NETWORK=odd_even,BLOCK=64,ITEMS=5",
    "SORT_BLOCK=64,SORT_ITEMS=8,NETWORK=batcher,WARP_MERGE=shuffle,WAYS=4,BLOCK=64,ITEMS=4,"
    "PARTITION=block,VEC=4,LOADER=cp_async",
    "ALG=tasks,SORT_BLOCK=64,SORT_ITEMS=8,NETWORK=batcher,WAYS=4,BLOCK=64,ITEMS=8,PARTITION=block,"
    "STORE=warp",
    "SORT_BLOCK=128,SORT_ITEMS=4,NETWORK=batcher,WARP_MERGE=shuffle,MERGE=network,BLOCK=64,"
    "ITEMS=16",
    "SORT_BLOCK=64,SORT_ITEMS=8,NETWORK=batcher,WARP_MERGE=mixed,MERGE=network,WAYS=4,BLOCK=64,"
    "ITEMS=4,PARTITION=block,VEC=4,LOADER=bulk,STAGES=2,OVERLAP=on",
};
enum { N_MERGES = sizeof MERGES / sizeof *MERGES, N_SORTS = sizeof SORTS / sizeof *SORTS };

static void check_merge(bed *b, const kernel *k, size_t m, size_t n, int kind) {
  list x = list_sorted(b, m, kind, 0), y = list_sorted(b, n, kind, (uint32_t)m);
  list all = list_joined(x, y), z = merged(b, k, x, y);
  assert_right(k, all, z, kind);
  free(x.p);
  free(y.p);
  free(all.p);
  free(z.p);
}

BED_TEST(merges_are_right) {
  for (size_t c = 0; c < N_MERGES; c++) {
    kernel k = open_kernel(b, "merge", MERGES[c]);
    for (int kind = 0; kind < KINDS; kind++) {
      check_merge(b, &k, random_below(&b->random, 3000), random_below(&b->random, 3000), kind);
    }
    check_merge(b, &k, 0, 1 + random_below(&b->random, 700), 0);
    check_merge(b, &k, 1 + random_below(&b->random, 700), 0, 1);
    check_merge(b, &k, 1, 1, 2);
    close_kernel(&k);
  }
}

BED_TEST(sorts_are_right) {
  for (size_t c = 0; c < N_SORTS; c++) {
    kernel k = open_kernel(b, "merge_sort", SORTS[c]);
    for (int kind = 0; kind < KINDS; kind++) {
      list x = list_random(b, 1025 + random_below(&b->random, 5000), kind, 0), y = sorted(b, &k, x);
      assert_right(&k, x, y, kind);
      free(x.p);
      free(y.p);
    }
    close_kernel(&k);
  }
}

/* Few distinct keys; one launch samples them and divides them into ranges. */
static const struct {
  size_t most, samples;
  int value;
  const char *config;
} RANGES[] = {
    {6144, 128, 4,
     "ALG=sample_sort,SORT_BLOCK=128,SORT_ITEMS=12,CLUSTER=4,CLUSTERS=4,SAMPLES=128,BINS=32"},
    {2048, 64, 0,
     "ALG=sample_sort,SORT_BLOCK=128,SORT_ITEMS=16,CLUSTER=1,CLUSTERS=7,SAMPLES=64,BINS=64,NETWORK="
     "batcher"},
    {2560, 256, 0,
     "ALG=sample_sort,SORT_BLOCK=64,SORT_ITEMS=5,CLUSTER=8,CLUSTERS=2,SAMPLES=256,NETWORK=batcher"},
    {3072, 64, 4,
     "ALG=sample_sort,SORT_BLOCK=384,SORT_ITEMS=4,CLUSTER=2,CLUSTERS=4,SAMPLES=64,BINS=128"},
    {2048, 256, 0,
     "ALG=sample_sort,SORT_BLOCK=256,SORT_ITEMS=2,CLUSTER=4,CLUSTERS=7,SAMPLES=256,"
     "NETWORK=odd_even"},
    {1024, 64, 4, "ALG=bitonic,SORT_BLOCK=64,SORT_ITEMS=8,CLUSTER=2"},
    {1024, 64, 0, "ALG=bitonic,SORT_BLOCK=128,SORT_ITEMS=2,CLUSTER=4"},
    {1024, 64, 4, "ALG=odd_even_merge,SORT_BLOCK=64,SORT_ITEMS=4,CLUSTER=4"},
    {512, 64, 4, "ALG=odd_even,SORT_BLOCK=64,SORT_ITEMS=8"},
};
enum { N_RANGES = sizeof RANGES / sizeof *RANGES };

/* All keys are larger than those in the sample of sample_sort.cu and sample_passes.cu: they fall into one range. */
static list list_misleading(bed *b, size_t n, size_t samples) {
  list l = list_random(b, n, 0, 0);
  for (size_t i = 0; i < n; i++) {
    l.p[i].key |= 1 << 30;
  }
  for (size_t j = 0; j < samples && n > samples; j++) {
    const size_t first = j * n / samples, stretch = (j + 1) * n / samples - first;
    const uint32_t hash = (uint32_t)(j + 1) * 2654435761u;
    l.p[first + (size_t)((uint64_t)hash * stretch >> 32)].key =
        INT32_MIN + (int)random_below(&b->random, 100);
  }
  return l;
}

static void assert_sorted(bed *b, const kernel *k, list x, int kind) {
  list y = sorted(b, k, x);
  if (k->value == 0) { /* equal keys have no values: any of their tags is right */
    qsort(x.p, x.n, sizeof *x.p, by_key_and_tag);
    for (size_t i = 0; i < x.n; i++) {
      x.p[i].tag = y.p[i].tag = (uint32_t)i;
    }
  }
  assert_right(k, x, y, kind);
  free(x.p);
  free(y.p);
}

BED_TEST(ranges_are_right) {
  static const size_t few[] = {0, 1, 2, 65, 511};
  for (size_t c = 0; c < N_RANGES; c++) {
    const size_t most = RANGES[c].most, samples = RANGES[c].samples;
    kernel k = open_kernel_for(b, "merge_sort", RANGES[c].value,
                               arena_format(&b->a, " n=%zu", most), RANGES[c].config);
    for (int kind = 0; kind < KINDS; kind++) {
      assert_sorted(
          b, &k, list_random(b, most / 2 + random_below(&b->random, most / 2 + 1), kind, 0), kind);
    }
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
      assert_sorted(b, &k, list_random(b, few[i], (int)(i % 2), 0), (int)(i % 2));
    }
    assert_sorted(b, &k, list_misleading(b, most, samples), KINDS);
    close_kernel(&k);
  }
}

/* Many keys: launches move them to buckets. */
static const struct {
  size_t least, most;
  size_t mean; /* keys of a bucket of the first level */
  int value;
  const char *config;
} BUCKETS[] = {
    {300, 1536, 48, 0, "LEVELS=1,BLOCK=64,ITEMS=4"},
    {300, 1536, 48, 4, "LEVELS=1,BLOCK=64,ITEMS=4"},
    {4200, 5000, 48 * 32 * 2 / 3, 0, "LEVELS=2,BLOCK=128,ITEMS=2"},
    {4200, 5000, 48 * 32 * 2 / 3, 4, "LEVELS=2,BLOCK=64,ITEMS=2"},
};

BED_TEST(buckets_are_right) {
  for (size_t c = 0; c < sizeof BUCKETS / sizeof *BUCKETS; c++) {
    const size_t least = BUCKETS[c].least, most = BUCKETS[c].most;
    const char *config =
        arena_format(&b->a,
                     "ALG=sample_passes,NETWORK=batcher,SORT_BLOCK=64,SORT_ITEMS=4,"
                     "WARP_MERGE=shuffle,SPLITTERS=32,OVERSAMPLE=8,FILL=3,%s",
                     BUCKETS[c].config);
    kernel k = open_kernel_for(b, "merge_sort", BUCKETS[c].value,
                               arena_format(&b->a, " n=%zu", most), config);
    for (int kind = 0; kind < KINDS; kind++) {
      const size_t n = least + random_below(&b->random, (uint32_t)(most - least));
      assert_sorted(b, &k, list_random(b, n, kind, 0), kind);
    }
    const size_t buckets = (most + BUCKETS[c].mean - 1) / BUCKETS[c].mean;
    assert_sorted(b, &k, list_misleading(b, most, 8 * buckets), KINDS);
    close_kernel(&k);
  }
}

/* Merging with an empty list changes nothing, two configurations merge alike, and sorting two parts
 * and merging them equals sorting the whole. */
BED_TEST(identities_hold) {
  kernel one = open_kernel(b, "merge", MERGES[3]), other = open_kernel(b, "merge", MERGES[2]);
  kernel sort = open_kernel(b, "merge_sort", SORTS[2]);
  for (int kind = 0; kind < 3; kind++) {
    list x = list_random(b, 1500 + random_below(&b->random, 1000), kind, 0), none = {x.p, 0};
    list y = list_random(b, 1100, kind, (uint32_t)x.n), all = list_joined(x, y);
    list sx = sorted(b, &sort, x), sy = sorted(b, &sort, y), sall = sorted(b, &sort, all);
    list again = sorted(b, &sort, sall), alone = merged(b, &one, sx, none);
    list z = merged(b, &one, sx, sy), z2 = merged(b, &other, sx, sy);
    assert_equal(alone, sx);
    assert_equal(again, sall);
    assert_equal(z, z2);
    assert_equal(z, sall);
    list made[] = {x, y, all, sx, sy, sall, again, alone, z, z2};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
      free(made[i].p);
    }
  }
  close_kernel(&one);
  close_kernel(&other);
  close_kernel(&sort);
}

/* Merging unsorted lists gives an unsorted result and no access out of bounds. */
BED_TEST(disorder_stays_inside) {
  for (size_t c = 0; c < N_MERGES; c++) {
    kernel k = open_kernel(b, "merge", MERGES[c]);
    list x = list_random(b, 1777, 0, 0), y = list_random(b, 2100, 0, 1777), z = merged(b, &k, x, y);
    free(x.p);
    free(y.p);
    free(z.p);
    close_kernel(&k);
  }
}

TEST(mistakes_are_found) {
  pair xs[] = {{5, 0}, {3, 1}, {5, 2}}, ys[] = {{3, 1}, {5, 0}, {5, 2}};
  list x = {xs, 3}, y = {ys, 3};
  assert_null(find_mistake(x, y));
  y.n = 2;
  assert_string_equal(find_mistake(x, y), "another length");
  y.n = 3;
  ys[1].tag = 2, ys[2].tag = 0;
  assert_string_equal(find_mistake(x, y), "not stable");
  ys[2].tag = 2;
  assert_string_equal(find_mistake(x, y), "a tag twice");
  ys[2].tag = 3;
  assert_string_equal(find_mistake(x, y), "a foreign tag");
  ys[1] = (pair){5, 1};
  assert_string_equal(find_mistake(x, y), "a tag twice");
  ys[0] = (pair){3, 0};
  assert_string_equal(find_mistake(x, y), "a wrong tag");
  pair zs[] = {{5, 0}, {3, 1}, {5, 2}};
  assert_string_equal(find_mistake(x, (list){zs, 3}), "no order");
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
