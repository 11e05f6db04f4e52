/* cmd_importance.c -- autotune show FAMILY ... --importance: what the time depends on. */
#include <math.h>
#include <string.h>

#include "candidate.h"
#include "importance.h"
#include "numbers.h"
#include "verbs.h"

enum { WIDTH = 30, LEAST_SHARE = 5 }; /* characters of a bar; thousandths that a pair needs */

static void add_bar(str *s, double share) {
  int n = (int)(share * WIDTH + 0.5);
  for (int i = 0; i < WIDTH; i++) {
    str_add(s, i < n ? "#" : ".");
  }
}

static void add_value(str *s, const gen_param *p, size_t i) {
  if (p->values[i].s) {
    str_add(s, p->values[i].s);
  } else {
    str_addf(s, "%lld", (long long)p->values[i].i);
  }
}

/* Parameters with the largest share first. */
static void sort_params(const gen_template *t, const importance *m, size_t *order) {
  for (size_t i = 0; i < t->n_params; i++) {
    size_t k = i;
    for (; k > 0 && m->main[order[k - 1]] < m->main[i]; k--) {
      order[k] = order[k - 1];
    }
    order[k] = i;
  }
}

static int width_of(const gen_template *t) {
  size_t width = 0;
  for (size_t i = 0; i < t->n_params; i++) {
    width = strlen(t->params[i].name) > width ? strlen(t->params[i].name) : width;
  }
  return (int)width;
}

static void add_text(const cli_kernel *k, const importance *m, size_t n, size_t top, str *s) {
  const gen_template *t = k->t;
  size_t order[GEN_MAX_PARAMS];
  int width = width_of(t);
  sort_params(t, m, order);
  str_addf(s, "%s on %s\n", str_text(&k->problem_text), k->device->info.name);
  str_addf(s,
           "  share of the time's variance (its logarithm), from %zu trials; a model of them "
           "explains %.0f %% of what it has not seen\n",
           n, 100 * (m->fit > 0 ? m->fit : 0));
  for (size_t i = 0; i < t->n_params; i++) {
    size_t p = order[i];
    str_addf(s, "  %-*s  %5.3f ", width, t->params[p].name, m->main[p]);
    add_bar(s, m->main[p]);
    if (t->params[p].n > 1) {
      str_addf(s, " %.2fx between its worst value and ", m->range[p]);
      add_value(s, &t->params[p], m->best[p]);
    }
    str_add(s, "\n");
  }
  str_add(s, "  pairs, beyond what both do by themselves\n");
  for (size_t i = 0; i < m->n_pairs && i < top; i++) {
    const importance_pair *w = &m->pairs[i];
    if (1000 * w->share >= LEAST_SHARE) {
      str_addf(s, "  %*s x %-*s  %5.3f ", width, t->params[w->a].name, width, t->params[w->b].name,
               w->share);
      add_bar(s, w->share);
      str_add(s, "\n");
    }
  }
}

static void add_json(const cli_kernel *k, const importance *m, size_t n, size_t top, str *s) {
  const gen_template *t = k->t;
  str_addf(s, "{\"trials\":%zu,\"fit\":%.4f,\"parameters\":[", n, m->fit);
  for (size_t p = 0; p < t->n_params; p++) {
    str_addf(s, "%s{\"name\":\"%s\",\"share\":%.5f,\"worst_over_best\":%.5g,\"best\":\"",
             p ? "," : "", t->params[p].name, m->main[p], m->range[p]);
    add_value(s, &t->params[p], m->best[p]);
    str_add(s, "\"}");
  }
  str_add(s, "],\"pairs\":[");
  for (size_t i = 0; i < m->n_pairs && i < top; i++) {
    const importance_pair *w = &m->pairs[i];
    str_addf(s, "%s{\"a\":\"%s\",\"b\":\"%s\",\"share\":%.5f}", i ? "," : "", t->params[w->a].name,
             t->params[w->b].name, w->share);
  }
  str_add(s, "]}\n");
}

static size_t count_ok(const known_points *k) {
  size_t n = 0;
  for (size_t i = 0; i < k->n; i++) {
    n += isfinite(k->p[i].score);
  }
  return n;
}

static int analyse(const search_space *view, const known_points *k, importance *m, err *e) {
  history t;
  TRY(history_init(&t, view, 1, e));
  for (size_t i = 0; i < k->n; i++) {
    history_tell(&t, k->p[i].point, k->p[i].score);
  }
  int rc = importance_find(&t, m, e);
  history_clear(&t);
  return rc;
}

/* By time, measured or else modelled; what failed has none. */
static scored *scores_of(const db_result *rows, size_t n, arena *a) {
  scored *list = ARENA_ARRAY(a, scored, n + 1);
  for (size_t i = 0; list && i < n; i++) {
    const double sec = rows[i].median > 0 ? rows[i].median : rows[i].modelled;
    list[i] = (scored){&rows[i], rows[i].t.status == DB_OK && sec > 0 ? sec : INFINITY};
  }
  return list;
}

int show_importance(const cli *c, cli_kernel *k, const db_result *rows, size_t n, int64_t top,
                    err *e) {
  gen_space *space;
  search_space view;
  known_points known;
  str s = {0};
  importance *m = arena_new(&k->memory, sizeof *m);
  const scored *scores = scores_of(rows, n, &k->memory);
  if (!m || !scores) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  TRY(gen_space_new(k->g, &space, e));
  search_space_view(space, k->t, &view);
  int rc = known_load(k->t, space, scores, n, &k->memory, &known, e);
  rc = rc ? rc : analyse(&view, &known, m, e);
  if (!rc) {
    (c->json ? add_json : add_text)(k, m, count_ok(&known), (size_t)top, &s);
    print_str(&s);
  }
  gen_space_free(space);
  return rc;
}
