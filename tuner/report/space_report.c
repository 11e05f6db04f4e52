#include "space_report.h"

#include <string.h>

#include "json_writer.h"
#include "print.h"

static void add_param(const gen_param *p, str *s) {
  str_addf(s, "  %-10s", p->name);
  for (size_t j = 0; j < p->n; j++) {
    str_add(s, " ");
    gen_add_value(&p->values[j], s);
  }
  str_addf(s, "%s%s\n", p->brief && p->brief[0] ? "    -- " : "", p->brief ? p->brief : "");
}

static void add_rejections(const gen_template *t, const gen_tally *tally, str *s) {
  str_add(s, "rejected by\n");
  for (size_t i = 0; i < tally->n; i++) {
    const gen_pair *r = &t->requirements[i];
    auto_str count = {0};
    format_count(&count, tally->rejected[i]);
    str_addf(s, "  %20s  %s", str_text(&count), r->name);
    /* is the reason the expression itself, in Python? */
    str_addf(s, strpbrk(r->name, "<>=%") ? "\n" : " (%s)\n", r->expression);
  }
}

void space_report(const char *title, const gen_template *t, const gen_tally *tally, double sec,
                  str *s) {
  str_addf(s, "%s\n  ", title);
  format_count(s, tally->candidates);
  str_add(s, " points, ");
  format_count(s, (double)tally->valid);
  str_addf(s, " valid, counted in %.*f s", sec < 0.1 ? 4 : 2, sec);
  if (tally->n_nodes) {
    str_add(s, "; too many to list, stored as a decision diagram of ");
    format_count(s, (double)tally->n_nodes);
    str_add(s, " nodes");
  }
  str_addf(s, ", %.1f MiB\n", (double)tally->nbytes / 1048576);
  for (size_t i = 0; i < t->n_params; i++) {
    add_param(&t->params[i], s);
  }
  add_rejections(t, tally, s);
}

void space_report_json(const gen_template *t, const gen_tally *tally, double sec, str *s) {
  jw_fixed(s, "candidates", 0, tally->candidates);
  jw_integer(s, "valid", (int64_t)tally->valid);
  jw_fixed(s, "seconds", 6, sec);
  jw_integer(s, "nodes", (int64_t)tally->n_nodes);
  jw_integer(s, "bytes", (int64_t)tally->nbytes);
  jw_open(s, "rejected");
  for (size_t i = 0; i < tally->n; i++) {
    jw_fixed(s, t->requirements[i].name, 0, tally->rejected[i]);
  }
  jw_close(s);
}
