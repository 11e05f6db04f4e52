#include "embedded_portfolio.h"

#include <string.h>

enum { NOT_THERE = UINT16_MAX };

typedef struct mapping { /* of the embedded indices to the template's */
  const gen_template *t;
  uint8_t param[GEN_MAX_PARAMS];
  uint16_t *value[GEN_MAX_PARAMS]; /* NOT_THERE: the template has no such value */
  arena *a;
  err *e;
} mapping;

static int refuse(mapping *m, const char *name) {
  return err_set(m->e, ERR_USAGE, "the portfolio is of another template: its %s differs", name);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The order of fields and of their names is part of the models. */
static int check_field(mapping *m, const gen_field *f, const embedded_names *names) {
  bool same = !strcmp(f->name, names->name) && !f->names == !names->values;
  for (size_t i = 0; same && i < names->n; i++) {
    same = i < f->n_names && !strcmp(f->names[i], names->values[i]);
  }
  return same ? 0 : refuse(m, names->name);
}

static int map_param(mapping *m, size_t i, const embedded_names *names) {
  const gen_param *p = gen_param_find(m->t, names->name);
  if (!p) {
    return refuse(m, names->name);
  }
  m->param[i] = (uint8_t)(p - m->t->params);
  m->value[i] = ARENA_ARRAY(m->a, uint16_t, names->n + 1);
  for (size_t k = 0; m->value[i] && k < names->n; k++) {
    if (!gen_param_choice(p, names->values[k], &m->value[i][k])) {
      m->value[i][k] = NOT_THERE;
    }
  }
  return m->value[i] ? 0 : err_nomem(m->e);
}

static int map_names(mapping *m, const embedded_portfolio *from) {
  if (from->n_fields != m->t->n_fields) {
    return refuse(m, "number of fields");
  }
  for (size_t i = 0; i < from->n_fields; i++) {
    TRY(check_field(m, &m->t->fields[i], &from->fields[i]));
  }
  for (size_t i = 0; i < from->n_params; i++) {
    TRY(map_param(m, i, &from->params[i]));
  }
  return 0;
}

/* ---- configurations ------------------------------------------------------------------------- */

/* Parameters that only the template has take their default. */
static int map_config(mapping *m, const embedded_portfolio *from, const gen_config *config,
                      gen_config *out) {
  gen_config_default(m->t, out);
  for (size_t i = 0; i < from->n_params; i++) {
    const uint16_t value = m->value[i][config->index[i]];
    if (value == NOT_THERE) {
      return refuse(m, from->params[i].name);
    }
    out->index[m->param[i]] = value;
  }
  return 0;
}

static int map_configs(mapping *m, const embedded_portfolio *from, portfolio *c) {
  gen_config *configs = ARENA_ARRAY(m->a, gen_config, c->n_configs + 1);
  TRY(configs ? 0 : err_nomem(m->e));
  for (size_t i = 0; i < c->n_configs; i++) {
    TRY(map_config(m, from, &from->portfolio.configs[i], &configs[i]));
  }
  c->configs = configs;
  return 0;
}

/* ---- models --------------------------------------------------------------------------------- */

static int map_variants(mapping *m, const embedded_portfolio *from, const model_fit *fit,
                        model_fit *out) {
  const size_t n = fit->chooser.rows.n_variants;
  uint8_t *param = ARENA_ARRAY(m->a, uint8_t, fit->n_params + 1);
  uint8_t *index = ARENA_ARRAY(m->a, uint8_t, fit->n_params * n + 1);
  TRY(param && index ? 0 : err_nomem(m->e));
  for (size_t k = 0; k < fit->n_params; k++) {
    const uint16_t *value = m->value[fit->param[k]];
    param[k] = m->param[fit->param[k]];
    for (size_t i = k * n; i < (k + 1) * n; i++) {
      if (value[fit->index[i]] == NOT_THERE) {
        return refuse(m, from->params[fit->param[k]].name);
      }
      index[i] = (uint8_t)value[fit->index[i]];
    }
  }
  out->param = param;
  out->index = index;
  return map_config(m, from, &fit->one, &out->one);
}

static int map_fits(mapping *m, const embedded_portfolio *from, portfolio *c) {
  const portfolio_model *model = &from->portfolio.model;
  model_fit *fits = ARENA_ARRAY(m->a, model_fit, model->n_configs + 1);
  TRY(fits ? 0 : err_nomem(m->e));
  for (size_t i = 0; i < model->n_configs; i++) {
    fits[i] = model->fits[i];
    TRY(fits[i].chooser.rows.n_variants ? map_variants(m, from, &model->fits[i], &fits[i]) : 0);
  }
  c->model.fits = fits;
  return 0;
}

static int map_all(mapping *m, const embedded_portfolio *from, arena *a, portfolio *out) {
  TRY(map_names(m, from));
  m->a = a;
  TRY(map_configs(m, from, out));
  return map_fits(m, from, out);
}

int embedded_portfolio_open(const gen_template *t, const embedded_portfolio *from, arena *a,
                            portfolio *c, err *e) {
  auto_arena scratch = {0};
  *c = from->portfolio;
  c->model.sizes = *from->sizes;
  c->model.embedded = true;
  const int rc = map_all(&(mapping){.t = t, .a = &scratch, .e = e}, from, a, c);
  if (rc) {
    *c = (portfolio){0};
  }
  return rc;
}
