/* cmd_completion.c -- autotune completion: scripts for shells, from the table of verbs and options. */
#include <string.h>

#include "cli.h"
#include "json_writer.h"
#include "print.h"
#include "verbs.h"

typedef struct families {
  arena memory;
  gen_options options;
  const char *const *names;
  size_t n;
} families;

/* Verbs that take templates begin with a family. */
static bool takes_family(const cli_verb *v) {
  return strstr(v->options, " templates ") && !v->actions;
}

static void add_names(const families *f, str *s) {
  for (size_t i = 0; i < f->n; i++) {
    str_addf(s, " %s", f->names[i]);
  }
}

/* " m= n= k=" of a family; nothing of a broken one. */
static void add_fields(const families *f, const char *name, str *s) {
  auto_template *t = NULL;
  if (!gen_open(&f->options, name, &t, NULL)) {
    for (size_t i = 0; i < t->n_fields; i++) {
      str_addf(s, " %s=", t->fields[i].name);
    }
  }
}

static void add_options(const cli_verb *v, str *s) {
  for (const cli_option *o = cli_options; o->name; o++) {
    char typed[32];
    cli_spell(o->name, typed, sizeof typed);
    if (cli_takes(v, o)) {
      str_addf(s, " --%s", typed);
    }
  }
}

/* In single quotes, for zsh and fish; a colon ends a word's name in zsh. */
static void add_quoted(const char *text, bool zsh, str *s) {
  for (const char *p = text; *p; p++) {
    if (*p == '\'') {
      str_add(s, zsh ? "'\\''" : "\\'");
    } else if (*p == ':' && zsh) {
      str_add(s, "\\:");
    } else {
      str_addf(s, "%c", *p);
    }
  }
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void add_bash(const families *f, str *s) {
  str_add(s, "_autotune() {\n"
             "  local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} family=${COMP_WORDS[1]}\n"
             "  local families='");
  add_names(f, s);
  str_add(s, "' words= fields=\n  case $verb in\n");
  for (const cli_verb *v = cli_verbs; v->name; v++) {
    str_addf(s, "  %s) family=${COMP_WORDS[2]} words='", v->name);
    add_options(v, s);
    str_addf(s, " %s'", v->actions ? v->actions : "");
    str_addf(s, "%s ;;\n", takes_family(v) ? "; words=\"$words $families\"" : "");
  }
  str_add(s, "  *) words='");
  add_options(&cli_verbs[0], s);
  str_add(s, "' ;;\n  esac\n  case $family in\n");
  for (size_t i = 0; i < f->n; i++) {
    str_addf(s, "  %s) fields='", f->names[i]);
    add_fields(f, f->names[i], s);
    str_add(s, "' ;;\n");
  }
  str_add(s, "  esac\n  [ \"$COMP_CWORD\" -gt 1 ] || words=\"$families --help --version help");
  for (const cli_verb *v = cli_verbs; v->name; v++) {
    str_addf(s, " %s", v->name);
  }
  str_add(s, "\" fields=\n"
             "  COMPREPLY=($(compgen -W \"$words $fields\" -- \"$cur\"))\n"
             "  case ${COMPREPLY[*]} in *=) compopt -o nospace 2>/dev/null ;; esac\n"
             "}\n"
             "complete -o default -F _autotune autotune\n");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void add_zsh_options(const cli_verb *v, str *s) {
  for (const cli_option *o = cli_options; o->name; o++) {
    char typed[32];
    cli_spell(o->name, typed, sizeof typed);
    if (cli_takes(v, o)) {
      str_addf(s, " '--%s:", typed);
      add_quoted(cli_option_meaning(v, o), true, s);
      str_add(s, "'");
    }
  }
}

static void add_zsh(const families *f, str *s) {
  str_add(s,
          "local -a verbs families options fields\nlocal verb=$words[2] family=$words[2]\nverbs=(");
  for (const cli_verb *v = cli_verbs; v->name; v++) {
    str_addf(s, "\n  '%s:", v->name);
    add_quoted(v->brief, true, s);
    str_add(s, "'");
  }
  str_add(s, ")\nfamilies=(");
  add_names(f, s);
  str_add(s, ")\ncase $verb in\n");
  for (const cli_verb *v = cli_verbs; v->name; v++) {
    str_addf(s, "%s) family=$words[3] fields=(%s) options=(", v->name,
             v->actions        ? v->actions
             : takes_family(v) ? "$families"
                               : "");
    add_zsh_options(v, s);
    str_add(s, ") ;;\n");
  }
  str_add(s, "*) options=(");
  add_zsh_options(&cli_verbs[0], s);
  str_add(s, ") ;;\nesac\ncase $family in\n");
  for (size_t i = 0; i < f->n; i++) {
    str_addf(s, "%s) fields=(", f->names[i]);
    add_fields(f, f->names[i], s);
    str_add(s, ") ;;\n");
  }
  str_add(s, "esac\n"
             "if (( CURRENT == 2 )); then\n"
             "  _describe verb verbs\n"
             "  compadd -a families\n"
             "else\n"
             "  _describe option options\n"
             "  compadd -S '' -a fields\n"
             "fi\n"
             "_files\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void add_fish_options(const cli_verb *v, const char *when, str *s) {
  for (const cli_option *o = cli_options; o->name; o++) {
    char typed[32];
    cli_spell(o->name, typed, sizeof typed);
    if (cli_takes(v, o)) {
      str_addf(s, "complete -c autotune -n '__fish_seen_subcommand_from %s' -l %s%s -d '", when,
               typed, o->value ? " -r" : "");
      add_quoted(cli_option_meaning(v, o), false, s);
      str_add(s, "'\n");
    }
  }
}

static void add_fish(const families *f, str *s) {
  str_add(s, "set -l families");
  add_names(f, s);
  str_add(s, "\ncomplete -c autotune -n __fish_use_subcommand -a \"$families\" -d family\n");
  for (const cli_verb *v = cli_verbs; v->name; v++) {
    str_addf(s, "complete -c autotune -n __fish_use_subcommand -a %s -d '", v->name);
    add_quoted(v->brief, false, s);
    str_add(s, "'\n");
    add_fish_options(v, v->name, s);
    if (v->actions || takes_family(v)) {
      str_addf(s, "complete -c autotune -n '__fish_seen_subcommand_from %s' -a \"%s\"\n", v->name,
               v->actions ? v->actions : "$families");
    }
  }
  for (size_t i = 0; i < f->n; i++) {
    str_addf(s, "complete -c autotune -n '__fish_seen_subcommand_from %s' -a '", f->names[i]);
    add_fields(f, f->names[i], s);
    str_add(s, "'\n");
  }
  auto_str all = {0};
  add_names(f, &all);
  add_fish_options(&cli_verbs[0], str_text(&all) + 1, s);
}

/* ---- the verb -------------------------------------------------------------------------------- */

int cmd_completion(const cli *c, err *e) {
  static const struct {
    const char *name, *first;
    void (*add)(const families *f, str *s);
  } shells[] = {
      {"bash", "", add_bash}, {"zsh", "#compdef autotune\n", add_zsh}, {"fish", "", add_fish}};
  TRY(cli_words_most(c, 1, e));
  for (size_t i = 0; c->n_words && i < sizeof shells / sizeof *shells; i++) {
    if (!strcmp(shells[i].name, c->words[0])) {
      families f = {.options = {.lazy = true}}; /* those built in, wherever it runs */
      str s = {0};
      const int rc = gen_families(&f.options, &f.memory, &f.names, &f.n, e);
      str_addf(&s, "%s# made by: autotune completion %s\n", shells[i].first, c->words[0]);
      shells[i].add(&f, &s);
      if (c->json) {
        str line = {0};
        jw_event(&line, "completion");
        jw_text(&line, "shell", c->words[0]);
        jw_text(&line, "text", str_text(&s));
        jw_end_line(&line);
        str_clear(&s);
        s = line;
      }
      print_str(&s);
      arena_clear(&f.memory);
      return rc;
    }
  }
  return cli_no_action(c, e);
}
