/* cli_help.c -- what --help and `help` say of verbs and families, and which verb a mistyped word means. */
#include <string.h>

#include "cli.h"
#include "family_report.h"
#include "print.h"

void cli_print_usage(FILE *f) {
  fprintf(f, "usage: autotune FAMILY [FIELD=VALUE ...] [options]     tune a kernel family\n"
             "       autotune VERB ...                               see autotune VERB --help\n\n");
  for (const cli_verb *v = cli_verbs; v->name; v++) {
    if (v->heading) {
      fprintf(f, "%s%s\n", v == cli_verbs ? "" : "\n", v->heading);
    }
    fprintf(f, "  %-14s  %s\n", v->name, v->brief);
  }
  fprintf(f, "\nTry: autotune sgemm m=1024 n=1024 k=1024\n"
             "autotune sgemm --help shows a family's fields and parameters.\n"
             "No GPU? The same with --device emu, and autotune doctor says what is missing.\n");
}

/* ---- a verb ---------------------------------------------------------------------------------- */

const char *cli_option_meaning(const cli_verb *verb, const cli_option *o) {
  for (const cli_option_text *t = cli_option_texts; t->verb; t++) {
    if (!strcmp(t->verb, verb->name) && !strcmp(t->option, o->name)) {
      return t->text;
    }
  }
  return o->text;
}

static void print_options(FILE *f, const cli_verb *verb) {
  fprintf(f, "options:\n");
  for (const cli_option *o = cli_options; o->name; o++) {
    if (cli_takes(verb, o)) {
      char typed[32], left[80];
      cli_spell(o->name, typed, sizeof typed);
      snprintf(left, sizeof left, "--%s %s", typed, o->value ? o->value : "");
      fprintf(f, "  %-18s %s\n", left, cli_option_meaning(verb, o));
    }
  }
}

void cli_print_help(FILE *f, const cli_verb *verb) {
  fprintf(f, "usage: autotune %s\n\n%s\n\n", verb->usage, verb->brief);
  if (verb->details) {
    fprintf(f, "%s\n", verb->details);
  }
  print_options(f, verb);
  cli_plain_help(f, verb);
}

/* ---- a family -------------------------------------------------------------------------------- */

int cli_print_family(const cli *c, err *e) {
  auto_arena a = {0};
  auto_template *t = NULL;
  str s = {0};
  TRY(cli_open_template(c, &a, &t, e));
  str_addf(&s, "usage: autotune %s [FIELD=VALUE ...] [options]\n\n", c->words[0]);
  family_text(t, &s);
  str_add(&s, "\n");
  print_str(&s);
  print_options(stdout, &cli_verbs[0]);
  return 0;
}

/* ---- a mistyped word ------------------------------------------------------------------------- */

const cli_verb *cli_find_verb(const char *name) {
  name = strcmp(name, "cover") ? name : "portfolio"; /* the former name */
  for (const cli_verb *v = cli_verbs; v->name; v++) {
    if (!strcmp(v->name, name)) {
      return v;
    }
  }
  return NULL;
}

int cli_check_word(const cli *c, err *e) {
  enum { MOST = 512 };
  auto_arena a = {0};
  gen_options o;
  const char *const *families = NULL;
  const char *names[MOST];
  size_t n = 0, n_families = 0;
  const char *word = c->n_words ? c->words[0] : "";
  if (!*word || strpbrk(word, "/.=")) {
    return 0;
  }
  TRY(cli_template_options(c, &a, &o, e));
  TRY(gen_families(&o, &a, &families, &n_families, e));
  for (size_t i = 0; i < n_families && n < MOST; i++) {
    names[n++] = families[i];
  }
  for (const cli_verb *v = cli_verbs; v->name && n < MOST; v++) {
    names[n++] = v->name;
  }
  const char *near = text_nearest(word, names, n);
  return near && strcmp(near, word) && cli_find_verb(near)
             ? err_set(e, ERR_USAGE, "there is no verb or family '%s'; did you mean '%s'?", word,
                       near)
             : 0;
}
