/* cmd_space.c -- autotune space: how many points, how many valid, what rejected the others. */
#include "cli.h"
#include "file.h"
#include "verbs.h"

static void add_text(str *s, const cli_kernel *k, const gen_tally *t, double sec) {
  str_addf(s, "%s on %s\n  ", str_text(&k->problem_text), k->device->info.name);
  format_count(s, t->candidates);
  str_add(s, " points, ");
  format_count(s, (double)t->valid);
  str_addf(s, " valid, counted in %.2f s", sec);
  if (t->n_nodes) {
    str_add(s, "; too many to list, kept as a diagram of ");
    format_count(s, (double)t->n_nodes);
    str_add(s, " nodes");
  }
  str_addf(s, ", %.1f MiB\n", (double)t->nbytes / 1048576);
  for (size_t i = 0; i < k->t->n_params; i++) {
    const gen_param *p = &k->t->params[i];
    str_addf(s, "  %-10s", p->name);
    for (size_t j = 0; j < p->n; j++) {
      if (p->values[j].s) {
        str_addf(s, " %s", p->values[j].s);
      } else {
        str_addf(s, " %lld", (long long)p->values[j].i);
      }
    }
    str_addf(s, "%s%s\n", p->brief && p->brief[0] ? "    -- " : "", p->brief ? p->brief : "");
  }
  str_add(s, "rejected by\n");
  for (size_t i = 0; i < t->n; i++) {
    str count = {0};
    format_count(&count, t->rejected[i]);
    str_addf(s, "  %20s  %s (%s)\n", str_text(&count), k->t->requirements[i].name,
             k->t->requirements[i].expression);
    str_clear(&count);
  }
}

static void add_json(str *s, const cli_kernel *k, const gen_tally *t, double sec) {
  str_add(s, "{\"problem\":");
  str_add_json(s, str_text(&k->problem_text));
  str_addf(s,
           ",\"candidates\":%.0f,\"valid\":%llu,\"seconds\":%.6f,\"nodes\":%zu,\"bytes\":%zu,"
           "\"rejected\":{",
           t->candidates, (unsigned long long)t->valid, sec, t->n_nodes, t->nbytes);
  for (size_t i = 0; i < t->n; i++) {
    str_add(s, i ? "," : "");
    str_add_json(s, k->t->requirements[i].name);
    str_addf(s, ":%.0f", t->rejected[i]);
  }
  str_add(s, "}}\n");
}

static int count(const cli *c, cli_kernel *k, err *e) {
  gen_space *space;
  str s = {0};
  double from = now_sec();
  TRY(gen_space_new(k->g, &space, e));
  double sec = now_sec() - from;
  if (c->json) {
    add_json(&s, k, gen_space_tally(space), sec);
  } else {
    add_text(&s, k, gen_space_tally(space), sec);
  }
  cli_print(&s);
  gen_space_free(space);
  return 0;
}

int cmd_space(const cli *c, err *e) {
  cli_kernel k;
  int rc = cli_kernel_open(c, &k, e);
  rc = rc ? rc : count(c, &k, e);
  cli_kernel_close(&k);
  return rc;
}
