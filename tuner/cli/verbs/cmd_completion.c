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

enum { TUNE }; /* the first verb, which may be left out */

/* " --kernel --param ...", the lines of a CUDA file as options */
static void add_plain(str *s) {
  const char *names[CLI_PLAIN_MOST];
  const size_t n = cli_plain_names(&cli_verbs[TUNE], names);
  for (size_t i = 0; i < n; i++) {
    str_addf(s, " --%s", names[i]);
  }
}

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
  add_options(&cli_verbs[TUNE], s);
  str_add(s, "' ;;\n  esac\n  case $family in\n");
  for (size_t i = 0; i < f->n; i++) {
    str_addf(s, "  %s) fields='", f->names[i]);
    add_fields(f, f->names[i], s);
    str_add(s, "' ;;\n");
  }
  str_add(
      s,
      "  *.cu) fields=$(\"${COMP_WORDS[0]}\" completion fields \"$family\" 2>/dev/null) words=\"$words");
  add_plain(s);
  str_add(
      s,
      "\" ;;\n"
      "  *.lua | *.json) fields=$(\"${COMP_WORDS[0]}\" completion fields \"$family\" 2>/dev/null) ;;\n");
  str_add(
      s,
      "  esac\n"
      "  if [ \"$COMP_CWORD\" -gt 2 ] && [ \"${COMP_WORDS[COMP_CWORD - 1]}\" = --config ]; then\n"
      "    words= fields=$(\"${COMP_WORDS[0]}\" completion params \"$family\" 2>/dev/null)\n"
      "  fi\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || words=\"$families --help --version help");
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

/* "[[ ]]" compares with the pattern *.cu */
static void add_zsh_plain(str *s) {
  const char *names[CLI_PLAIN_MOST];
  const size_t n = cli_plain_names(&cli_verbs[TUNE], names);
  str_add(s, "if [[ $family == *.(cu|lua|json) ]]; then\n"
             "  fields=($($words[1] completion fields $family 2>/dev/null))\n"
             "fi\nif [[ $family == *.cu ]]; then\n  options+=(");
  for (size_t i = 0; i < n; i++) {
    str_addf(s, " '--%s:", names[i]);
    add_quoted(cli_plain_meaning(names[i]), true, s);
    str_add(s, "'");
  }
  str_add(s, ")\nfi\n"
             "if [[ $words[CURRENT-1] == --config ]]; then\n"
             "  compadd -S '' -- $($words[1] completion params $family 2>/dev/null)\n"
             "  return\nfi\n");
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
  add_zsh_options(&cli_verbs[TUNE], s);
  str_add(s, ") ;;\nesac\ncase $family in\n");
  for (size_t i = 0; i < f->n; i++) {
    str_addf(s, "%s) fields=(", f->names[i]);
    add_fields(f, f->names[i], s);
    str_add(s, ") ;;\n");
  }
  str_add(s, "esac\n");
  add_zsh_plain(s);
  str_add(s, "if (( CURRENT == 2 )); then\n"
             "  _describe verb verbs\n"
             "  compadd -a families\n"
             "else\n"
             "  _describe option options\n"
             "  compadd -S '' -a fields\n"
             "fi\n"
             "_files\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

#define SEEN "__fish_seen_subcommand_from "

static void add_fish_options(const cli_verb *v, const char *when, str *s) {
  for (const cli_option *o = cli_options; o->name; o++) {
    char typed[32];
    cli_spell(o->name, typed, sizeof typed);
    if (cli_takes(v, o)) {
      str_addf(s, "complete -c autotune -n '%s' -l %s%s -d '", when, typed, o->value ? " -r" : "");
      add_quoted(cli_option_meaning(v, o), false, s);
      str_add(s, "'\n");
    }
  }
}

/* The file of the command line, and what autotune says of it. */
static void add_fish_plain(str *s) {
  const char *names[CLI_PLAIN_MOST];
  const size_t n = cli_plain_names(&cli_verbs[TUNE], names);
  str_add(s,
          "function __autotune_is_file\n"
          "  string match -qr -- '.*\\.(?:cu|lua|json)$' $argv\n"
          "end\n"
          "function __autotune_file\n"
          "  string match -r -- '.*\\.(?:cu|lua|json)$' (commandline -opc)[2..-1] | head -n 1\n"
          "end\n"
          "function __autotune_ask\n"
          "  set -l words (commandline -opc)\n"
          "  set -l family (__autotune_file)\n"
          "  test -n \"$family\"; or set family $words[2]\n"
          "  $words[1] completion $argv[1] $family 2>/dev/null | string split -n ' '\n"
          "end\n"
          "complete -c autotune -n 'test -n \"$(__autotune_file)\"' -a '(__autotune_ask fields)'\n"
          "complete -c autotune -l config -r -f -a '(__autotune_ask params)'\n");
  for (size_t i = 0; i < n; i++) {
    str_addf(
        s, "complete -c autotune -n 'string match -q \"*.cu\" -- (__autotune_file)' -l %s -r -d '",
        names[i]);
    add_quoted(cli_plain_meaning(names[i]), false, s);
    str_add(s, "'\n");
  }
}

static void add_fish(const families *f, str *s) {
  char when[80];
  str_add(s, "set -l families");
  add_names(f, s);
  str_add(s, "\ncomplete -c autotune -n __fish_use_subcommand -a \"$families\" -d family\n");
  for (const cli_verb *v = cli_verbs; v->name; v++) {
    str_addf(s, "complete -c autotune -n __fish_use_subcommand -a %s -d '", v->name);
    add_quoted(v->brief, false, s);
    str_add(s, "'\n");
    snprintf(when, sizeof when, SEEN "%s", v->name);
    add_fish_options(v, when, s);
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
  str_add(&all, SEEN);
  add_names(f, &all);
  add_fish_options(&cli_verbs[TUNE], str_text(&all), s);
  add_fish_options(&cli_verbs[TUNE], "__autotune_is_file (commandline -opc)[2]", s);
  add_fish_plain(s);
}

/* ---- what the scripts ask -------------------------------------------------------------------- */

/* " n= m=" or " BLOCK= TILE=" of the file, or the family, that the second word names */
static int add_asked(const cli *c, str *s, err *e) {
  auto_arena memory = {0};
  auto_template *t = NULL;
  cli of = *c;
  of.words++;
  of.n_words--;
  TRY(cli_open_template(&of, &memory, &t, e));
  const bool fields = !strcmp(c->words[0], "fields");
  for (size_t i = 0; i < (fields ? t->n_fields : t->n_params); i++) {
    str_addf(s, " %s=", fields ? t->fields[i].name : t->params[i].name);
  }
  str_add(s, "\n");
  return 0;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static void print_it(const cli *c, const str *s) {
  auto_str line = {0};
  if (c->json) {
    jw_event(&line, "completion");
    jw_text(&line, "shell", c->words[0]);
    jw_text(&line, "text", str_text(s));
    jw_end_line(&line);
  }
  print_text(stdout, str_text(c->json ? &line : s));
}

int cmd_completion(const cli *c, err *e) {
  static const struct {
    const char *name, *first;
    void (*add)(const families *f, str *s);
  } shells[] = {
      {"bash", "", add_bash}, {"zsh", "#compdef autotune\n", add_zsh}, {"fish", "", add_fish}};
  auto_str s = {0};
  if (c->n_words == 2 && (!strcmp(c->words[0], "fields") || !strcmp(c->words[0], "params"))) {
    TRY(add_asked(c, &s, e));
    print_it(c, &s);
    return 0;
  }
  TRY(cli_words_most(c, 1, e));
  for (size_t i = 0; c->n_words && i < sizeof shells / sizeof *shells; i++) {
    if (!strcmp(shells[i].name, c->words[0])) {
      families f = {.options = {.lazy = true}}; /* those built in, wherever it runs */
      const int rc = gen_families(&f.options, &f.memory, &f.names, &f.n, e);
      str_addf(&s, "%s# made by: autotune completion %s\n", shells[i].first, c->words[0]);
      shells[i].add(&f, &s);
      print_it(c, &s);
      arena_clear(&f.memory);
      return rc;
    }
  }
  return cli_no_action(c, e);
}
