#include "portfolio.h"

/* ---- features ------------------------------------------------------------------------------- */

bool portfolio_is_number(const gen_template *t, size_t field) {
  return !t->fields[field].names;
}

bool portfolio_varies(const portfolio *c, const gen_template *t, size_t field) {
  return portfolio_is_number(t, field) ? c->least[field] != c->most[field]
                                       : (c->choices[field] & (c->choices[field] - 1)) != 0;
}

typedef struct feature_list {
  chooser_feature *list;
  size_t n, most;
} feature_list;

static void add_feature(feature_list *l, chooser_feature f) {
  if (l->n < l->most) {
    l->list[l->n++] = f;
  }
}

static void add_choices(const gen_template *t, feature_list *l, size_t i) {
  const size_t n = t->fields[i].n_names;
  for (size_t j = 0; j < n && (n > 2 || j < 1); j++) { /* of two names, one feature is enough */
    add_feature(l,
                (chooser_feature){.kind = CHOOSER_CHOICE, .a = (uint8_t)i, .choice = (int64_t)j});
  }
}

static void add_pairs(const gen_template *t, feature_list *l, size_t i) {
  for (size_t j = i + 1; j < t->n_fields; j++) {
    if (!portfolio_is_number(t, j)) {
      continue;
    }
    const chooser_feature pair = {.a = (uint8_t)i, .b = (uint8_t)j};
    add_feature(l, (chooser_feature){.kind = CHOOSER_RATIO, .a = pair.a, .b = pair.b});
    add_feature(l, (chooser_feature){.kind = CHOOSER_PRODUCT, .a = pair.a, .b = pair.b});
    for (size_t k = j + 1; k < t->n_fields; k++) {
      if (portfolio_is_number(t, k)) {
        add_feature(l, (chooser_feature){
                           .kind = CHOOSER_VOLUME, .a = pair.a, .b = pair.b, .c = (uint8_t)k});
      }
    }
  }
}

size_t portfolio_features(const gen_template *t, chooser_feature *list, size_t most) {
  feature_list l = {.list = list, .most = most};
  for (size_t i = 0; i < t->n_fields; i++) {
    if (portfolio_is_number(t, i)) {
      add_feature(&l, (chooser_feature){.kind = CHOOSER_FIELD, .a = (uint8_t)i});
    } else {
      add_choices(t, &l, i);
    }
  }
  for (size_t i = 0; i < t->n_fields; i++) {
    if (portfolio_is_number(t, i)) {
      add_pairs(t, &l, i);
    }
  }
  return l.n;
}

void portfolio_feature_text(const gen_template *t, const chooser_feature *f, str *out) {
  const gen_field *a = &t->fields[f->a];
  str_add(out, a->name);
  if (f->kind == CHOOSER_CHOICE) {
    str_addf(out, "=%s", a->names[f->choice]);
  } else if (f->kind != CHOOSER_FIELD) {
    str_addf(out, "%s%s", f->kind == CHOOSER_RATIO ? "/" : "*", t->fields[f->b].name);
  }
  if (f->kind == CHOOSER_VOLUME) {
    str_addf(out, "*%s", t->fields[f->c].name);
  }
}

/* ---- using ---------------------------------------------------------------------------------- */

static bool near_range(const portfolio *c, size_t i, double v) {
  const double least = (double)c->least[i], most = (double)c->most[i];
  return v >= (least > 0 ? least / 2 : 2 * least) && v <= (most > 0 ? 2 * most : most / 2);
}

static bool has_choice(const portfolio *c, size_t field, int64_t value) {
  return value < 64 && c->choices[field] >> value & 1;
}

static bool in_range(const gen_template *t, const portfolio *c, const int64_t *values) {
  for (size_t i = 0; i < t->n_fields; i++) {
    const bool in = portfolio_is_number(t, i) ? near_range(c, i, (double)values[i])
                                              : has_choice(c, i, values[i]);
    if (!in) {
      return false;
    }
  }
  return true;
}

/* Of a promise: one that promises no more. */
static int64_t nearest_choice(const gen_field *f, uint64_t choices, int64_t value) {
  for (int64_t apart = 0; apart < 64; apart++) {
    const int64_t near[] = {value - apart, value + apart};
    for (size_t i = 0; i < (f->is_promise ? 1 : 2); i++) {
      if (near[i] >= 0 && near[i] < 64 && choices >> near[i] & 1) {
        return near[i];
      }
    }
  }
  return value;
}

void portfolio_take_alike(const gen_template *t, const portfolio *c, int64_t *values) {
  for (size_t i = 0; i < t->n_fields; i++) {
    const gen_field *f = &t->fields[i];
    if (f->is_class) {
      values[i] = nearest_choice(f, c->choices[i], values[i]);
    } else if (f->like && !has_choice(c, i, values[i])) {
      values[i] = f->like[values[i]];
    }
  }
}

const chooser_node *portfolio_leaf(const gen_template *t, const portfolio *c,
                                   const int64_t *values) {
  return c->n_nodes && in_range(t, c, values) ? chooser_leaf(c->nodes, values) : NULL;
}
