#include "objective.h"

#include <math.h>
#include <string.h>

/* ---- from text ------------------------------------------------------------------------------- */

static const struct {
  const char *word, *expression;
} words[] = {{"time", "sec"}, {"energy", "joules"}, {"edp", "sec * joules"}};

static const char *expression_of(const char *text) {
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!strcmp(text, words[i].word)) {
      return words[i].expression;
    }
  }
  return text;
}

static int parse_goal(gen_template *t, const char *text, arena *a, tune_goal *out, err *e) {
  const char *p = text;
  err why = {0};
  out->text = text;
  if (!strncmp(p, "max ", 4) || !strncmp(p, "min ", 4)) {
    out->direction = p[1] == 'a' ? GOAL_MOST : GOAL_LEAST;
    p += 4;
  }
  const int rc = gen_metric_parse(t, expression_of(p), a, &out->m, &why);
  return rc ? err_set(e, rc,
                      "--objective %s: %s; it is time, energy, edp, or an expression over sec, "
                      "joules, registers, spill, smem, error, flops, bytes, fields and parameters",
                      text, why.message)
            : 0;
}

/* Up to the next comma outside of parentheses. */
static size_t length_of(const char *p) {
  size_t n = 0;
  int depth = 0;
  for (; p[n] && (depth > 0 || p[n] != ','); n++) {
    depth += (p[n] == '(') - (p[n] == ')');
  }
  return n;
}

static const char *trimmed(arena *a, const char *p, size_t n) {
  while (n && *p == ' ') {
    p++, n--;
  }
  while (n && p[n - 1] == ' ') {
    n--;
  }
  return arena_text_n(a, p, n);
}

int tune_objective_parse(gen_template *t, const char *text, arena *a, tune_objective *out, err *e) {
  *out = (tune_objective){.text = arena_text(a, text)};
  for (const char *p = text;; p++) {
    const size_t n = length_of(p);
    if (out->n == OBJECTIVE_MOST) {
      return err_set(e, ERR_USAGE, "--objective: more than %d objectives", OBJECTIVE_MOST);
    }
    const char *part = trimmed(a, p, n);
    TRY(part && out->text ? 0 : err_nomem(e));
    TRY(parse_goal(t, part, a, &out->goals[out->n], e));
    out->measured |= out->goals[out->n].m.measured;
    out->reads_config = out->reads_config || out->goals[out->n].m.reads_config;
    out->n++;
    p += n;
    if (!*p) {
      return 0;
    }
  }
}

const char *tune_objective_name(const tune_objective *o) {
  return o->n ? o->text : "time";
}

bool tune_objective_is_time(const tune_objective *o) {
  return !o->n ||
         (o->n == 1 && !strcmp(o->goals[0].m.text, "sec") && o->goals[0].direction != GOAL_MOST);
}

/* ---- which way is better --------------------------------------------------------------------- */

static int check_direction(scorer *s, size_t i, const gen_config *c, err *e) {
  const tune_goal *goal = &s->o->goals[i];
  double values[2];
  for (int k = 0; k < 2; k++) {
    const double by = k + 1;
    const double measured[GEN_MEASURED] = {
        [GEN_MEASURED_sec] = by * 1e-3,     [GEN_MEASURED_joules] = by * 1e-2,
        [GEN_MEASURED_registers] = by * 32, [GEN_MEASURED_spill] = by * 16,
        [GEN_MEASURED_smem] = by * 1024,    [GEN_MEASURED_error] = by * 0.125};
    TRY(gen_metric_value(s->g, c, &goal->m, measured, &values[k], e));
  }
  s->most[i] =
      goal->direction == GOAL_MOST || (goal->direction == GOAL_BY_ITSELF && values[1] < values[0]);
  return goal->direction || values[0] != values[1]
             ? 0
             : err_set(e, ERR_USAGE,
                       "--objective %s: whether more of it is better does not follow; write \"min "
                       "%s\" or \"max %s\"",
                       goal->text, goal->text, goal->text);
}

int scorer_init(scorer *s, const tune_objective *o, gen_template *t, gen_instance *g, err *e) {
  gen_config c;
  *s = (scorer){.o = o, .g = g};
  gen_config_default(t, &c);
  for (size_t i = 0; i < o->n; i++) {
    TRY(check_direction(s, i, &c, e));
  }
  return 0;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static double joules_of(const scorer *s, double sec, double joules) {
  return joules > 0 ? joules : sec * (s->watts > 0 ? s->watts : 1);
}

/* Strategies take the logarithm. */
static double cost_of(double value, bool most) {
  static const double LEAST = 1e-12;
  const double positive = value > LEAST ? value : LEAST;
  return most ? 1 / positive : positive;
}

double scorer_score(const scorer *s, const gen_config *c, const double measured[GEN_MEASURED],
                    double values[OBJECTIVE_MOST]) {
  double x[GEN_MEASURED], sum = 0, value;
  if (!s->o || !s->o->n) {
    return measured[GEN_MEASURED_sec];
  }
  memcpy(x, measured, sizeof x);
  x[GEN_MEASURED_joules] = joules_of(s, x[GEN_MEASURED_sec], x[GEN_MEASURED_joules]);
  for (size_t i = 0; i < s->o->n; i++) {
    if (gen_metric_value(s->g, c, &s->o->goals[i].m, x, &value, NULL) || !isfinite(value)) {
      return INFINITY;
    }
    sum += log(cost_of(value, s->most[i]));
    if (values) {
      values[i] = value;
    }
  }
  return s->o->n == 1 ? cost_of(value, s->most[0]) : exp(sum / (double)s->o->n);
}

void scorer_note(scorer *s, double sec, double joules) {
  s->watts = joules > 0 ? joules / sec : s->watts;
}

void measured_of(const db_result *row, double joules, double out[GEN_MEASURED]) {
  const double values[GEN_MEASURED] = {
      [GEN_MEASURED_sec] = db_result_sec(row), [GEN_MEASURED_joules] = joules,
      [GEN_MEASURED_registers] = row->regs,    [GEN_MEASURED_spill] = (double)row->spill,
      [GEN_MEASURED_smem] = (double)row->smem, [GEN_MEASURED_error] = row->t.error};
  memcpy(out, values, sizeof values);
}

/* ---- several at once ------------------------------------------------------------------------- */

static bool beats(const scorer *s, const double *a, const double *b) {
  bool better = false;
  for (size_t i = 0; i < s->o->n; i++) {
    if (s->most[i] ? a[i] < b[i] : a[i] > b[i]) {
      return false;
    }
    better = better || a[i] != b[i];
  }
  return better;
}

void pareto_front(const scorer *s, const double (*values)[OBJECTIVE_MOST], size_t n, bool *front) {
  for (size_t i = 0; i < n; i++) {
    front[i] = true;
    for (size_t k = 0; k < n && front[i]; k++) {
      front[i] = !beats(s, values[k], values[i]);
    }
  }
}
