/* cmd_importance.c -- autotune show FAMILY ... --importance: which parameters the time depends
 * on. */
#include <math.h>
#include <string.h>

#include "importance.h"
#include "json_writer.h"
#include "known.h"
#include "print.h"
#include "verbs.h"

enum {
  WIDTH = 30,
  LEAST_SHARE = 5
}; /* characters of a bar; least share of a pair that is shown,
                                       * in thousandths */

static void add_bar(str *s, double share) {
  int n = (int)(share * WIDTH + 0.5);
  for (int i = 0; i < WIDTH; i++) {
    str_add(s, i < n ? "#" : ".");
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
           "  share of the time's variance (its logarithm), from %zu trials; the model "
           "explains %.0f %% of that of trials it was not fitted to\n",
           n, 100 * (m->fit > 0 ? m->fit : 0));
  for (size_t i = 0; i < t->n_params; i++) {
    size_t p = order[i];
    str_addf(s, "  %-*s  %5.3f ", width, t->params[p].name, m->main[p]);
    add_bar(s, m->main[p]);
    if (t->params[p].n > 1) {
      str_addf(s, " %.2fx between its worst value and ", m->range[p]);
      gen_add_value(&t->params[p].values[m->best[p]], s);
    }
    str_add(s, "\n");
  }
  str_add(s, "  pairs, beyond the shares of their parameters\n");
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
  auto_str best = {0};
  jw_event(s, "importance");
  jw_integer(s, "trials", (int64_t)n);
  jw_fixed(s, "fit", 4, m->fit);
  jw_open_list(s, "parameters");
  for (size_t p = 0; p < t->n_params; p++) {
    str_reset(&best);
    gen_add_value(&t->params[p].values[m->best[p]], &best);
    jw_open(s, NULL);
    jw_text(s, "name", t->params[p].name);
    jw_fixed(s, "share", 5, m->main[p]);
    jw_real(s, "worst_over_best", 5, m->range[p]);
    jw_text(s, "best", str_text(&best));
    jw_close(s);
  }
  jw_close_list(s);
  jw_open_list(s, "pairs");
  for (size_t i = 0; i < m->n_pairs && i < top; i++) {
    jw_open(s, NULL);
    jw_text(s, "a", t->params[m->pairs[i].a].name);
    jw_text(s, "b", t->params[m->pairs[i].b].name);
    jw_fixed(s, "share", 5, m->pairs[i].share);
    jw_close(s);
  }
  jw_close_list(s);
  jw_end_line(s);
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

int show_importance(const cli *c, cli_kernel *k, const db_result *rows, size_t n, int64_t top,
                    err *e) {
  auto_space *space = NULL;
  search_space view;
  known_points known;
  str s = {0};
  scorer by_time = {0};
  scored *scores;
  importance *m = arena_new(&k->memory, sizeof *m);
  TRY(m ? 0 : err_nomem(e));
  TRY(known_score(k->t, NULL, &by_time, rows, n, &k->memory, &scores, e));
  TRY(gen_space_new(k->g, &space, e));
  search_space_view(space, k->t, &view);
  TRY(known_load(k->t, space, scores, n, &k->memory, &known, e));
  TRY(analyse(&view, &known, m, e));
  (c->json ? add_json : add_text)(k, m, count_ok(&known), (size_t)top, &s);
  print_str(&s);
  return 0;
}
