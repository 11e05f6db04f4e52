/* cmd_list.c -- autotune list: the families with their fields, and the tuned problems. */
#include <string.h>

#include "cli.h"
#include "json_writer.h"
#include "print.h"
#include "verbs.h"

/* ---- list ------------------------------------------------------------------------------------ */

static void add_problem_json(str *s, const db_problem *p) {
  jw_open(s, NULL);
  jw_text(s, "problem", p->problem);
  jw_text(s, "device", p->device_name);
  jw_integer(s, "trials", p->n_trials);
  jw_integer(s, "ok", p->n_ok);
  jw_seconds(s, !(p->median > 0), p->median > 0 ? p->median : p->modelled);
  jw_text(s, "config", p->config ? p->config : "");
  jw_end_line(s);
}

static void add_problem(str *s, const db_problem *p) {
  auto_str time = {0};
  double sec = p->median > 0 ? p->median : p->modelled;
  if (sec > 0) {
    format_sec(&time, sec);
  }
  str_addf(s, "  %-48s %9s %-8s  %5lld trials  %s  %.16s\n", p->problem,
           sec > 0 ? str_text(&time) : "-", p->median > 0 || sec <= 0 ? "" : "modelled",
           (long long)p->n_trials, p->device_name, p->when);
}

/* Nothing is tuned: does the family exist? */
static int check_family(const cli *c, err *e) {
  auto_arena a = {0};
  auto_template *t = NULL;
  return cli_open_template(c, &a, &t, e);
}

int list_problems(const cli *c, db *d, const char *family, err *e) {
  auto_arena a = {0};
  db_problem *rows;
  size_t n;
  str s = {0};
  int rc = db_problems(d, family, &a, &rows, &n, e);
  rc = rc || n || !family ? rc : check_family(c, e);
  for (size_t i = 0; !rc && i < n; i++) {
    if (c->json) {
      add_problem_json(&s, &rows[i]);
    } else {
      add_problem(&s, &rows[i]);
    }
  }
  if (!rc && !n && !c->json) {
    str_addf(&s, "  nothing tuned yet%s%s; try: autotune %s\n", family ? " of " : "",
             family ? family : "", family ? family : "sgemm m=1024 n=1024 k=1024");
  }
  print_str(&s);
  return rc;
}

/* "n|t": the values of an enumeration or a short list; nothing of a range. */
static bool is_range(const gen_field *f) {
  return !f->n_names && !f->n_choices;
}

/* " m n k ta=n|t" */
static void add_fields(const gen_template *t, str *s) {
  for (size_t i = 0; i < t->n_fields; i++) {
    str_addf(s, " %s%s", t->fields[i].name, is_range(&t->fields[i]) ? "" : "=");
    gen_field_choices(&t->fields[i], "|", s);
  }
}

static void print_family(const gen_template *t) {
  str s = {0};
  str_addf(&s, "  %-18s %s\n  %-18s", t->name, t->brief, "");
  add_fields(t, &s);
  str_add(&s, "\n");
  print_str(&s);
}

/* One family: a line for each field, with its default and meaning. */
static int print_one_family(const cli *c, err *e) {
  auto_arena a = {0};
  auto_template *t = NULL;
  str s = {0};
  TRY(cli_open_template(c, &a, &t, e));
  str_addf(&s, "%s: %s\n", t->name, t->brief);
  for (size_t i = 0; i < t->n_fields; i++) {
    const gen_field *f = &t->fields[i];
    auto_str values = {0};
    gen_field_choices(f, "|", &values);
    if (is_range(f)) {
      str_addf(&values, "%lld..%lld", (long long)f->min, (long long)f->max);
    }
    str_addf(&s, "  %-12s %s, default %s%s%s\n", f->name, str_text(&values), f->preset,
             f->brief && f->brief[0] ? ": " : "", f->brief ? f->brief : "");
  }
  print_str(&s);
  return 0;
}

static int print_families(const cli *c, err *e) {
  auto_arena a = {0};
  gen_options o;
  const char *const *names = NULL;
  size_t n = 0;
  TRY(cli_template_options(c, &a, &o, e));
  TRY(gen_families(&o, &a, &names, &n, e));
  for (size_t i = 0; i < n; i++) {
    auto_template *t = NULL;
    err broken = {0};
    if (gen_open(&o, names[i], &t, &broken)) {
      printf("  %-18s broken: %s: %s\n", names[i], broken.place, broken.message);
    } else {
      print_family(t);
    }
  }
  return 0;
}

int cmd_list(const cli *c, err *e) {
  auto_db *d = NULL;
  const char *family = c->n_words ? c->words[0] : NULL;
  TRY(cli_words_most(c, 1, e));
  if (!c->json) {
    printf("%s", family ? "" : "families\n");
    TRY(family ? print_one_family(c, e) : print_families(c, e));
    printf("tuned\n");
  }
  TRY(cli_open_db_if_any(c, &d, e));
  if (!d) {
    TRY(family ? check_family(c, e) : 0);
    printf(c->json ? "" : "  nothing tuned yet; try: autotune sgemm m=1024 n=1024 k=1024\n");
    return 0;
  }
  return list_problems(c, d, family, e);
}
