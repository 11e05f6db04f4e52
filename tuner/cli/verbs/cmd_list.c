/* cmd_list.c -- autotune list: the families with their fields, and the tuned problems. */
#include <string.h>

#include "cli.h"
#include "family_report.h"
#include "json_writer.h"
#include "print.h"
#include "verbs.h"

/* ---- list ------------------------------------------------------------------------------------ */

static void add_problem_json(str *s, const db_problem *p) {
  jw_event(s, "problem");
  jw_text(s, "problem", p->problem);
  jw_text(s, "device", p->device_name);
  jw_integer(s, "trials", p->n_trials);
  jw_integer(s, "ok", p->n_ok);
  jw_seconds(s, !(p->median > 0), p->median > 0 ? p->median : p->modelled);
  jw_text(s, "config", p->config ? p->config : "");
  jw_end_line(s);
}

/* The file of the template, unless it is FAMILY.lua: saxpy.cu is another saxpy. */
static const char *file_of(const db_problem *p) {
  const char *slash = strrchr(p->path, '/'), *file = slash ? slash + 1 : p->path;
  const size_t n = strlen(p->family);
  return !strncmp(file, p->family, n) && !strcmp(file + n, ".lua") ? "" : p->path;
}

static void add_problem(str *s, const db_problem *p) {
  auto_str time = {0};
  double sec = p->median > 0 ? p->median : p->modelled;
  if (sec > 0) {
    format_sec(&time, sec);
  }
  const char *file = file_of(p);
  str_addf(s, "  %-48s %9s %-8s  %5lld trials  %s  %.16s%s%s\n", p->problem,
           sec > 0 ? str_text(&time) : "-", p->median > 0 || sec <= 0 ? "" : "modelled",
           (long long)p->n_trials, p->device_name, p->when, *file ? "  " : "", file);
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
             family ? family : "", family ? c->words[0] : "sgemm m=1024 n=1024 k=1024");
  }
  print_str(&s);
  return rc;
}

static void print_family(const gen_template *t) {
  str s = {0};
  str_addf(&s, "  %-18s %s\n  %-18s", t->name, t->brief, "");
  family_fields(t, &s);
  str_add(&s, "\n");
  print_str(&s);
}

static int print_one_family(const cli *c, err *e) {
  auto_arena a = {0};
  auto_template *t = NULL;
  str s = {0};
  TRY(cli_open_template(c, &a, &t, e));
  (c->json ? family_json : family_text)(t, &s);
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
    const int rc = gen_open(&o, names[i], &t, &broken);
    if (c->json && !rc) {
      str s = {0};
      family_json(t, &s);
      print_str(&s);
    } else if (rc && !c->json) {
      printf("  %-18s broken: %s: %s\n", names[i], broken.place, broken.message);
    } else if (!rc) {
      print_family(t);
    }
  }
  return 0;
}

/* Of a file: the name of its template. */
static int family_of(const cli *c, arena *a, const char **name, err *e) {
  auto_template *t = NULL;
  *name = c->n_words ? c->words[0] : NULL;
  if (*name && strpbrk(*name, "./")) {
    TRY(cli_open_template(c, a, &t, e));
    *name = arena_text(a, t->name);
  }
  return 0;
}

int cmd_list(const cli *c, err *e) {
  auto_arena a = {0};
  auto_db *d = NULL;
  const char *family;
  TRY(cli_words_most(c, 1, e));
  TRY(family_of(c, &a, &family, e));
  printf("%s", family || c->json ? "" : "families\n");
  TRY(family ? print_one_family(c, e) : print_families(c, e));
  printf("%s", c->json ? "" : "tuned\n");
  TRY(cli_open_db_if_any(c, &d, e));
  if (!d) {
    TRY(family ? check_family(c, e) : 0);
    printf(c->json ? "" : "  nothing tuned yet; try: autotune %s\n",
           family ? c->words[0] : "sgemm m=1024 n=1024 k=1024");
    return 0;
  }
  return list_problems(c, d, family, e);
}
