#include "learned.h"

#include <string.h>

#include "json_writer.h"
#include "print.h"

/* ---- what is best ---------------------------------------------------------------------------- */

void learned_trial(const gen_template *t, const gen_config *c, double sec, double **least) {
  for (size_t i = 0; i < t->n_params; i++) {
    double *of = &least[i][c->index[i]];
    *of = *of > 0 && *of <= sec ? *of : sec;
  }
}

void learned_cells(const gen_template *t, double *const *least, learned_row *row) {
  for (size_t i = 0; i < t->n_params; i++) {
    learned_cell *cell = &row->cells[i];
    double second = 0;
    cell->best = row->config.index[i];
    for (size_t v = 0; v < t->params[i].n; v++) {
      const double sec = least[i][v];
      if (v != cell->best && sec > 0 && (!(second > 0) || sec < second)) {
        second = sec;
        cell->second = (uint16_t)v;
      }
    }
    cell->cost = least[i][cell->best] > 0 ? second / least[i][cell->best] : 0;
  }
}

/* ---- order ----------------------------------------------------------------------------------- */

static int by_value(const gen_template *t, const gen_problem *a, const gen_problem *b, bool words) {
  for (size_t i = 0; i < t->n_fields; i++) {
    const int64_t x = a->values[i].i, y = b->values[i].i;
    if ((t->fields[i].names != NULL) == words && x != y) {
      return x < y ? -1 : 1;
    }
  }
  return 0;
}

static bool is_before(const gen_template *t, const learned_row *a, const learned_row *b) {
  int order = strcmp(a->device, b->device);
  order = order ? order : by_value(t, &a->problem, &b->problem, true);
  return (order ? order : by_value(t, &a->problem, &b->problem, false)) < 0;
}

/* Insertion sort: qsort cannot pass the template, and there are only hundreds of rows. */
void learned_sort(learned_table *l) {
  for (size_t i = 1; i < l->n; i++) {
    const learned_row row = l->rows[i];
    size_t at = i;
    for (; at > 0 && is_before(l->t, &row, &l->rows[at - 1]); at--) {
      l->rows[at] = l->rows[at - 1];
    }
    l->rows[at] = row;
  }
}

bool learned_varies(const learned_table *l, size_t param) {
  for (size_t i = 1; i < l->n; i++) {
    if (l->rows[i].config.index[param] != l->rows[0].config.index[param]) {
      return true;
    }
  }
  return false;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Powers of two from 1024 on are written as 2^10. */
static void add_number(const gen_value *v, str *out) {
  int exponent = 0;
  while (!v->s && exponent < 62 && v->i > (int64_t)1 << exponent) {
    exponent++;
  }
  if (!v->s && exponent >= 10 && v->i == (int64_t)1 << exponent) {
    str_addf(out, "2^%d", exponent);
  } else {
    gen_add_value(v, out);
  }
}

static void add_cell(const gen_param *p, const learned_cell *cell, str *out) {
  if (!cell->used) {
    str_add(out, ".");
    return;
  }
  gen_add_value(&p->values[cell->best], out);
  if (cell->cost > 0) {
    str_add(out, " (");
    gen_add_value(&p->values[cell->second], out);
    str_addf(out, " %+.0f%%)", 100 * (cell->cost - 1));
  }
}

/* ---- one device ------------------------------------------------------------------------------ */

enum { COLUMNS_MOST = GEN_MAX_FIELDS + GEN_MAX_PARAMS + 1 };

typedef struct page {
  const learned_table *l;
  const learned_row *rows;
  size_t n;
  arena *a;
  const char **texts; /* heads of the columns, then the rows, COLUMNS_MOST each */
  size_t n_columns;
  bool differs[GEN_MAX_FIELDS];
} page;

static void find_differences(page *p) {
  for (size_t f = 0; f < p->l->t->n_fields; f++) {
    for (size_t i = 1; i < p->n; i++) {
      p->differs[f] |= p->rows[i].problem.values[f].i != p->rows[0].problem.values[f].i;
    }
  }
}

static void put(page *p, size_t row, str *text) {
  const char *copy = arena_text(p->a, str_text(text));
  p->texts[row * COLUMNS_MOST + p->n_columns++] = copy ? copy : "";
  str_clear(text);
}

static void put_head(page *p) {
  const gen_template *t = p->l->t;
  str s = {0};
  for (size_t f = 0; f < t->n_fields; f++) {
    if (p->differs[f]) {
      str_add(&s, t->fields[f].name);
      put(p, 0, &s);
    }
  }
  str_add(&s, "time");
  put(p, 0, &s);
  for (size_t i = 0; i < p->l->n_params; i++) {
    str_add(&s, t->params[p->l->params[i]].name);
    put(p, 0, &s);
  }
}

static void put_row(page *p, size_t i) {
  const gen_template *t = p->l->t;
  const learned_row *row = &p->rows[i];
  str s = {0};
  p->n_columns = 0;
  for (size_t f = 0; f < t->n_fields; f++) {
    if (p->differs[f]) {
      add_number(&row->problem.values[f], &s);
      put(p, i + 1, &s);
    }
  }
  format_sec(&s, row->sec);
  put(p, i + 1, &s);
  for (size_t k = 0; k < p->l->n_params; k++) {
    add_cell(&t->params[p->l->params[k]], &row->cells[p->l->params[k]], &s);
    put(p, i + 1, &s);
  }
}

static void add_heading(const page *p, str *out) {
  const gen_template *t = p->l->t;
  str_addf(out, "%s on %s%s:", t->name, p->rows[0].device,
           p->rows[0].modelled ? " (emulated: times are modelled, not measured)" : "");
  for (size_t f = 0; f < t->n_fields; f++) {
    if (!p->differs[f]) {
      str_addf(out, " %s=", t->fields[f].name);
      add_number(&p->rows[0].problem.values[f], out);
    }
  }
  str_add(out, "\n");
}

static void add_columns(const page *p, str *out) {
  for (size_t row = 0; row <= p->n; row++) {
    for (size_t c = 0; c < p->n_columns; c++) {
      size_t width = 0;
      for (size_t i = 0; i <= p->n; i++) {
        const size_t n = strlen(p->texts[i * COLUMNS_MOST + c]);
        width = n > width ? n : width;
      }
      str_addf(out, "  %-*s", c + 1 < p->n_columns ? (int)width : 0,
               p->texts[row * COLUMNS_MOST + c]);
    }
    str_add(out, "\n");
  }
}

static void add_page(page *p, str *out) {
  p->texts = ARENA_ARRAY(p->a, const char *, (p->n + 1) * COLUMNS_MOST);
  if (!p->texts) {
    out->failed = true;
    return;
  }
  find_differences(p);
  put_head(p);
  for (size_t i = 0; i < p->n; i++) {
    put_row(p, i);
  }
  add_heading(p, out);
  add_columns(p, out);
}

void learned_text(const learned_table *l, arena *a, str *out) {
  for (size_t i = 0, n; i < l->n; i += n) {
    for (n = 1; i + n < l->n && !strcmp(l->rows[i + n].device, l->rows[i].device); n++) {
    }
    page p = {.l = l, .rows = &l->rows[i], .n = n, .a = a};
    add_page(&p, out);
  }
  str_add(out, "Brackets: the next best value tried, and what it costs. Dot: the "
               "best does not depend on the parameter.\n");
}

/* ---- for machines ---------------------------------------------------------------------------- */

static void add_value_json(const char *name, const gen_value *v, str *out) {
  if (v->s) {
    jw_text(out, name, v->s);
  } else {
    jw_integer(out, name, v->i);
  }
}

static void add_cells_json(const learned_table *l, const learned_row *row, str *out) {
  for (size_t i = 0; i < l->n_params; i++) {
    const gen_param *p = &l->t->params[l->params[i]];
    const learned_cell *cell = &row->cells[l->params[i]];
    if (!cell->used) {
      continue;
    }
    jw_open(out, p->name);
    add_value_json("best", &p->values[cell->best], out);
    if (cell->cost > 0) {
      add_value_json("second", &p->values[cell->second], out);
      jw_real(out, "cost", 6, cell->cost);
    }
    jw_close(out);
  }
}

static void add_row_json(const learned_table *l, const learned_row *row, str *out) {
  auto_str problem = {0};
  gen_problem_text(l->t, &row->problem, &problem);
  jw_event(out, "learned");
  jw_text(out, "problem", str_text(&problem));
  jw_text(out, "device", row->device);
  jw_seconds(out, row->modelled, row->sec);
  jw_bool(out, "shipped", row->shipped);
  jw_integer(out, "trials", (int64_t)row->n_trials);
  jw_open(out, "parameters");
  add_cells_json(l, row, out);
  jw_close(out);
  jw_end_line(out);
}

void learned_json(const learned_table *l, str *out) {
  for (size_t i = 0; i < l->n; i++) {
    add_row_json(l, &l->rows[i], out);
  }
}
