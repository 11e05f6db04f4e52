/* cmd_learned.c -- autotune learned: the best values of parameters by problem, from the database
 * and the presets. */
#define _GNU_SOURCE
#include <string.h>

#include "db_text.h"
#include "emu.h"
#include "learned.h"
#include "print.h"
#include "serve_presets.h"
#include "verbs.h"

enum { ROWS_MOST = 4096 };

typedef struct learning {
  const cli *c;
  arena memory;
  gen_template *t;
  rt_device
      *limits; /* an emulated device: its limits decide which parameters a configuration uses */
  gen_problem wanted;
  bool given[GEN_MAX_FIELDS]; /* fields that were named */
  learned_table table;
  learned_row rows[ROWS_MOST];
} learning;

/* ---- which problems -------------------------------------------------------------------------- */

static int read_fields(learning *x, err *e) {
  for (size_t i = 1; i < x->c->n_words; i++) {
    for (size_t f = 0; f < x->t->n_fields; f++) {
      const size_t n = strlen(x->t->fields[f].name);
      x->given[f] |= !strncmp(x->c->words[i], x->t->fields[f].name, n) && x->c->words[i][n] == '=';
    }
  }
  return cli_problem(x->c, x->t, &x->wanted, e);
}

static bool is_wanted(const learning *x, const gen_problem *p) {
  for (size_t f = 0; f < x->t->n_fields; f++) {
    if (x->given[f] && p->values[f].i != x->wanted.values[f].i) {
      return false;
    }
  }
  return true;
}

static bool is_known(const learning *x, const char *device, const gen_problem *p) {
  for (size_t i = 0; i < x->table.n; i++) {
    const learned_row *row = &x->table.rows[i];
    if (!strcmp(row->device, device) && gen_problem_equal(x->t, &row->problem, p)) {
      return true;
    }
  }
  return false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_named(const char *words, const char *name) {
  const size_t n = strlen(name);
  for (const char *p = words; (p = strstr(p, name)); p += n) {
    if ((p == words || p[-1] == ',' || p[-1] == ' ') && p[n] == '=') {
      return true;
    }
  }
  return false;
}

/* gen_config_words omits parameters that the configuration does not use. */
static void mark_used(learning *x, learned_row *row, const char *problem, const char *config) {
  auto_str words = {0};
  config_words(x->t, &x->limits->info, problem, config, &words);
  for (size_t i = 0; i < x->t->n_params; i++) {
    row->cells[i].used = is_named(str_text(&words), x->t->params[i].name);
  }
}

/* A new row; NULL: not wanted, a duplicate, rejected by the current template, or no room. */
static learned_row *add_row(learning *x, const char *device, const char *problem,
                            const char *config, double sec) {
  learned_row row = {.device = device, .sec = sec};
  if (x->table.n == ROWS_MOST || gen_problem_parse(x->t, problem, &row.problem, NULL) ||
      gen_config_parse(x->t, config, &row.config, NULL) || !is_wanted(x, &row.problem) ||
      is_known(x, device, &row.problem) ||
      !(row.cells = ARENA_ARRAY(&x->memory, learned_cell, x->t->n_params + 1))) {
    return NULL;
  }
  for (size_t i = 0; i < x->t->n_params; i++) {
    row.cells[i].best = row.config.index[i];
  }
  mark_used(x, &row, problem, config);
  x->rows[x->table.n] = row;
  return &x->rows[x->table.n++];
}

/* ---- the database ---------------------------------------------------------------------------- */

static double **room_for_times(learning *x, arena *a) {
  double **least = ARENA_ARRAY(a, double *, x->t->n_params + 1);
  for (size_t i = 0; least && i < x->t->n_params; i++) {
    if (!(least[i] = ARENA_ARRAY(a, double, x->t->params[i].n + 1))) {
      return NULL;
    }
  }
  return least;
}

static int weigh(learning *x, db *d, const db_problem *p, learned_row *row, err *e) {
  auto_arena a = {0};
  db_result *trials;
  size_t n;
  double **least = room_for_times(x, &a);
  TRY(least ? 0 : err_nomem(e));
  TRY(db_results(d, p->template_id, p->device_id, p->problem, &a, &trials, &n, e));
  for (size_t i = 0; i < n; i++) {
    gen_config c;
    const double sec = db_result_sec(&trials[i]);
    if (trials[i].t.status == DB_OK && sec > 0 &&
        !gen_config_parse(x->t, trials[i].t.config, &c, NULL)) {
      learned_trial(x->t, &c, sec, least);
      row->n_trials++;
    }
  }
  learned_cells(x->t, least, row);
  return 0;
}

static int read_db(learning *x, db *d, err *e) {
  db_problem *rows;
  size_t n;
  TRY(db_problems(d, x->t->name, &x->memory, &rows, &n, e));
  for (size_t i = n; i-- > 0;) { /* newest first: of a problem tuned with several versions of the
                                  * template, the newest counts */
    const double sec = rows[i].median > 0 ? rows[i].median : rows[i].modelled;
    learned_row *row = sec > 0 && rows[i].config
                           ? add_row(x, rows[i].device_name, rows[i].problem, rows[i].config, sec)
                           : NULL;
    if (row) {
      row->modelled = !(rows[i].median > 0);
      TRY(weigh(x, d, &rows[i], row, e));
    }
  }
  return 0;
}

/* ---- what is shipped ------------------------------------------------------------------------- */

static void read_line(learning *x, const char *line, size_t n) {
  db_line l;
  bool none;
  if (db_text_read(line, n, &x->memory, &l, &none, NULL) || none || l.kind == DB_KIND_PORTFOLIO ||
      strcmp(l.template.family, x->t->name) || l.template.version != x->t->version) {
    return;
  }
  learned_row *row = add_row(x, l.device.name, l.problem, l.config, l.sec);
  if (row) {
    row->shipped = true;
    row->modelled = l.kind == DB_KIND_MODEL;
    row->n_trials = 1;
  }
}

static void read_presets(learning *x) {
  for (const gen_file *f = serve_presets; f->name; f++) {
    for (const char *at = f->text, *end; *at; at = *end ? end + 1 : end) {
      end = strchrnul(at, '\n');
      read_line(x, at, (size_t)(end - at));
    }
  }
}

/* ---- which parameters ------------------------------------------------------------------------ */

/* The parameters of --by, else all in which the best configurations differ. */
static int choose_params(learning *x, err *e) {
  size_t *params = ARENA_ARRAY(&x->memory, size_t, GEN_MAX_PARAMS);
  char *list = x->c->by ? arena_text(&x->memory, x->c->by) : NULL;
  if (!params || (x->c->by && !list)) {
    return err_nomem(e);
  }
  x->table.params = params;
  for (char *name; list && (name = strsep(&list, ","));) {
    TRY(x->table.n_params < GEN_MAX_PARAMS
            ? cli_param(x->t, name, &params[x->table.n_params++], e)
            : err_set(e, ERR_USAGE, "--by names more parameters than there are"));
  }
  for (size_t i = 0; !x->c->by && i < x->t->n_params; i++) {
    if (x->table.n == 1 || learned_varies(&x->table, i)) {
      params[x->table.n_params++] = i;
    }
  }
  return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int collect(learning *x, err *e) {
  auto_db *d = NULL;
  TRY(cli_open_db_if_any(x->c, &d, e));
  TRY(d ? read_db(x, d, e) : 0);
  read_presets(x);
  return x->table.n
             ? 0
             : err_set(e, ERR_NOTFOUND, "nothing is known of %s%s; autotune %s ... tunes a problem",
                       x->t->name, x->c->n_words > 1 ? " with these fields" : "", x->c->words[0]);
}

static int learned(learning *x, err *e) {
  str s = {0};
  TRY(cli_open_template(x->c, &x->memory, &x->t, e));
  x->table = (learned_table){.t = x->t, .rows = x->rows};
  TRY(read_fields(x, e));
  TRY(rt_emu_open("", &x->limits, e));
  TRY(collect(x, e));
  TRY(choose_params(x, e));
  learned_sort(&x->table);
  if (x->c->json) {
    learned_json(&x->table, &s);
  } else {
    learned_text(&x->table, &x->memory, &s);
  }
  const bool failed = s.failed;
  print_str(&s);
  return failed ? err_nomem(e) : 0;
}

int cmd_learned(const cli *c, err *e) {
  auto_arena a = {0};
  learning *x = ARENA_ARRAY(&a, learning, 1);
  TRY(x ? 0 : err_nomem(e));
  x->c = c;
  const int rc = learned(x, e);
  if (x->limits) {
    x->limits->ops->close(x->limits);
  }
  gen_close(x->t);
  arena_clear(&x->memory);
  return rc;
}
