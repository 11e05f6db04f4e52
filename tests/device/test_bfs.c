/* test_bfs.c -- searches of graphs whose levels are known:
 *   build/tests/test_bfs [--device NAME] */
#define _GNU_SOURCE
#include "device_fixture.h"

enum { SIDE = 9, VERTICES = 200, EDGES = 1000 };
static const uint32_t NONE = UINT32_MAX;

static const char *const configs[] = {"ALG=direction,BLOCK=128",
                                      "ALG=direction,BLOCK=128,FEW=64,CHUNK=32,QUEUE=512",
                                      "ALG=push,BLOCK=128",
                                      "ALG=edge,BLOCK=128",
                                      "ALG=frontier,BLOCK=128",
                                      "ALG=privatised,BLOCK=128,QUEUE=512",
                                      "ALG=buckets,BLOCK=128,SMALL=16,LARGE=256"};
enum { CONFIGS = sizeof configs / sizeof *configs };

typedef struct graph {
  int n, edges, offsets[VERTICES + 1], targets[EDGES];
} graph;

/* Edges come in the order of their sources. */
static void add(graph *g, int from, int to) {
  assert_true(g->edges < EDGES);
  g->targets[g->edges++] = to;
  for (int v = from + 1; v <= g->n; v++) {
    g->offsets[v] = g->edges;
  }
}

typedef struct search {
  bed_kernel k;
  graph *g;
  rt_ptr offsets, targets, level, parent;
} search;

static search search_open(bed *b, graph *g, const char *config) {
  const char *words = arena_format(&b->a, "vertices=%d edges=%d parents=yes", g->n, g->edges);
  search s = {.k = bed_kernel_open(b, "bfs", words, config), .g = g};
  s.offsets = bed_put(b, g->offsets, (size_t)(g->n + 1) * sizeof *g->offsets);
  s.targets = bed_put(b, g->targets, (size_t)(g->edges + 1) * sizeof *g->targets);
  s.level = bed_alloc(b, VERTICES * sizeof(uint32_t));
  s.parent = bed_alloc(b, VERTICES * sizeof(uint32_t));
  return s;
}

static void search_close(bed *b, search *s) {
  bed_free(b, s->offsets);
  bed_free(b, s->targets);
  bed_free(b, s->level);
  bed_free(b, s->parent);
  bed_kernel_close(&s->k);
}

static bool has_edge(const graph *g, uint32_t from, uint32_t to) {
  for (int e = g->offsets[from]; e < g->offsets[from + 1]; e++) {
    if (g->targets[e] == (int)to) {
      return true;
    }
  }
  return false;
}

static void check(bed *b, const search *s, uint32_t source, const uint32_t *expected) {
  uint32_t level[VERTICES], parent[VERTICES];
  const void *args[] = {&s->offsets, &s->targets, &source, &s->level, &s->parent};
  assert_ok(rt_loaded_launch(s->k.l, NULL, args, &b->e), &b->e);
  bed_get(b, level, s->level, (size_t)s->g->n * sizeof *level);
  bed_get(b, parent, s->parent, (size_t)s->g->n * sizeof *parent);
  for (uint32_t v = 0; v < (uint32_t)s->g->n; v++) {
    const uint32_t p = parent[v];
    assert_int_equal(level[v], expected[v]);
    assert_true(level[v] == NONE ? p == NONE
                : v == source
                    ? p == v
                    : p < (uint32_t)s->g->n && level[p] + 1 == level[v] && has_edge(s->g, p, v));
  }
}

/* The graph of the text: Hwu, Kirk, El Hajj, ch. 15. A source that is no vertex reaches none. */
BED_TEST(levels_of_the_textbook) {
  static const int from[] = {0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 7},
                   to[] = {1, 2, 3, 4, 5, 6, 7, 4, 8, 5, 8, 6, 8, 0, 6};
  static const uint32_t from_0[] = {0, 1, 1, 2, 2, 2, 2, 2, 3},
                        from_2[] = {2, 3, 0, 4, 4, 1, 1, 1, 2};
  graph g = {.n = 9};
  uint32_t none[9];
  memset(none, 0xff, sizeof none);
  for (int e = 0; e < 15; e++) {
    add(&g, from[e], to[e]);
  }
  for (int i = 0; i < CONFIGS; i++) {
    search s = search_open(b, &g, configs[i]);
    check(b, &s, 0, from_0);
    check(b, &s, 2, from_2);
    check(b, &s, 9, none);
    search_close(b, &s);
  }
}

/* From the middle of a grid, 4 L vertices are at level L while it has room. */
BED_TEST(levels_of_a_grid) {
  graph g = {.n = SIDE * SIDE};
  uint32_t expected[VERTICES];
  int of_level[SIDE] = {0};
  for (int v = 0; v < g.n; v++) {
    const int x = v % SIDE, y = v / SIDE;
    expected[v] = (uint32_t)(abs(x - SIDE / 2) + abs(y - SIDE / 2));
    of_level[expected[v]]++;
    const bool has[] = {y > 0, x > 0, x < SIDE - 1, y < SIDE - 1};
    const int step[] = {-SIDE, -1, 1, SIDE};
    for (int k = 0; k < 4; k++) {
      if (has[k]) {
        add(&g, v, v + step[k]);
      }
    }
  }
  assert_true(of_level[1] == 4 && of_level[2] == 8 && of_level[3] == 12);
  search s = search_open(b, &g, configs[0]);
  check(b, &s, SIDE * SIDE / 2, expected);
  search_close(b, &s);
}

/* Loops, edges several times, a star whose edges are the work of many warps, a path, vertices apart. */
BED_TEST(levels_of_odd_graphs) {
  enum { STAR = 150 };
  graph g = {.n = VERTICES};
  uint32_t expected[VERTICES];
  memset(expected, 0xff, sizeof expected);
  expected[0] = 0;
  for (int v = 1; v < STAR; v++) {
    add(&g, 0, v);
    add(&g, 0, v);
    expected[v] = 1;
  }
  add(&g, 0, 0);
  for (int v = STAR - 1; v < VERTICES - 10; v++) {
    add(&g, v, v + 1);
    expected[v + 1] = (uint32_t)(v - STAR + 3);
  }
  add(&g, VERTICES - 5, 0);
  for (int i = 0; i < 2; i++) {
    search s = search_open(b, &g, configs[i]);
    check(b, &s, 0, expected);
    search_close(b, &s);
  }
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
