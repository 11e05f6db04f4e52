#include "portfolio_report.h"

#include "print.h"
#include "json_writer.h"

static void add_range(const gen_template *t, const portfolio *c, size_t i, str *out) {
  const gen_field *f = &t->fields[i];
  const char *between = "";
  str_addf(out, " %s=", f->name);
  if (!f->names && c->least[i] == c->most[i]) {
    str_addf(out, "%lld", (long long)c->least[i]);
  } else if (!f->names) {
    str_addf(out, "%lld..%lld", (long long)c->least[i], (long long)c->most[i]);
  }
  for (size_t j = 0; j < f->n_names; j++) {
    if (c->choices[i] >> j & 1) {
      str_addf(out, "%s%s", between, f->names[j]);
      between = ",";
    }
  }
}

static void add_condition(const gen_template *t, const chooser_node *n, str *out) {
  portfolio_feature_text(t, &n->feature, out);
  if (n->feature.kind != CHOOSER_CHOICE) {
    str_addf(out, " < %.6g", n->below);
  }
}

static void add_leaf(const chooser_node *n, str *out) {
  for (size_t i = 0; i < n->n_order && i < 4; i++) {
    str_addf(out, i ? ", then %u" : "%u", n->order[i] + 1u);
  }
  str_addf(out, "%s   (%.1f %%, worst %.1f %%)\n", n->n_order > 4 ? ", ..." : "", 100 * n->expected,
           100 * n->worst);
}

/* Depth first, in the order of the nodes. */
static void add_node(const gen_template *t, const portfolio *c, size_t i, int depth, str *out) {
  const chooser_node *n = &c->nodes[i];
  if (!n->no) {
    add_leaf(n, out);
    return;
  }
  str_addf(out, "%s%*s", depth ? "\n" : "", 4 + 2 * depth, "");
  add_condition(t, n, out);
  str_add(out, ": ");
  add_node(t, c, i + 1, depth + 1, out);
  str_addf(out, "%*selse: ", 4 + 2 * depth, "");
  add_node(t, c, n->no, depth + 1, out);
}

/* A portfolio is for many problems; the parameters that are shown are those in use for the family's
 * preset problem. Parameters that are left out have their default. */
static void add_config(gen_template *t, const gen_config *c, str *out) {
  const rt_info nowhere = {0};
  auto_str config = {0};
  gen_config_text(t, c, &config);
  config_words(t, &nowhere, t->name, str_text(&config), out);
}

/* A tree of short lists is too long to print. */
static bool add_short_lists(const portfolio *c, str *out) {
  size_t n = 0, sum = 0;
  for (size_t i = 0; i < c->n_nodes; i++) {
    sum += c->nodes[i].n_short;
    n += c->nodes[i].n_short > 0;
  }
  if (n) {
    str_addf(out,
             "  choice: by the configurations' models, evaluated for %.1f of them on average, "
             "which a tree of %zu leaves lists (--json)\n",
             (double)sum / (double)n, n);
  }
  return n;
}

void portfolio_report(gen_template *t, const portfolio *c, str *out) {
  str_addf(out,
           "portfolio of %zu configuration%s for %zu sizes, the best of them within %.3g %%; the "
           "chosen one loses %.1f %%, at worst %.1f %%\n  for",
           c->n_configs, c->n_configs == 1 ? "" : "s", c->n_sizes, 100 * c->asked,
           100 * c->expected, 100 * c->worst);
  for (size_t i = 0; i < t->n_fields; i++) {
    add_range(t, c, i, out);
  }
  str_add(out, "\n");
  for (size_t i = 0; i < c->n_configs; i++) {
    str_addf(out, "  %2zu  ", i + 1);
    add_config(t, &c->configs[i], out);
    str_add(out, "\n");
  }
  if (add_short_lists(c, out)) {
    return;
  }
  str_add(out, c->nodes[0].no ? "  choice:\n" : "  choice: ");
  add_node(t, c, 0, 0, out);
}

static void add_leaf_json(const chooser_node *n, str *out) {
  jw_real(out, "expected_loss", 4, n->expected);
  jw_real(out, "worst_loss", 4, n->worst);
  jw_integer(out, "short", (int64_t)n->n_short);
  jw_open_list(out, "order");
  for (size_t k = 0; k < n->n_order; k++) {
    jw_integer(out, NULL, n->order[k]);
  }
  jw_close_list(out);
}

static void add_node_json(const gen_template *t, const portfolio *c, size_t i, const char *name,
                          str *out) {
  const chooser_node *n = &c->nodes[i];
  jw_open(out, name);
  if (n->no) {
    auto_str condition = {0};
    add_condition(t, n, &condition);
    jw_text(out, "if", str_text(&condition));
    add_node_json(t, c, i + 1, "then", out);
    add_node_json(t, c, n->no, "else", out);
  } else {
    add_leaf_json(n, out);
  }
  jw_close(out);
}

void portfolio_json(const gen_template *t, const portfolio *c, const char *device, str *out) {
  auto_str config = {0};
  jw_event(out, "portfolio");
  jw_text(out, "portfolio", t->name);
  jw_text(out, "device", device);
  jw_real(out, "asked_loss", 4, c->asked);
  jw_integer(out, "sizes", (int64_t)c->n_sizes);
  jw_real(out, "expected_loss", 4, c->expected);
  jw_real(out, "worst_loss", 4, c->worst);
  jw_open_list(out, "configs");
  for (size_t i = 0; i < c->n_configs; i++) {
    str_reset(&config);
    gen_config_text(t, &c->configs[i], &config);
    jw_text(out, NULL, str_text(&config));
  }
  jw_close_list(out);
  add_node_json(t, c, 0, "tree", out);
  jw_end_line(out);
}
