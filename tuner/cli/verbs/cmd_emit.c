/* cmd_emit.c -- autotune emit: print the CUDA source of a configuration. */
#include "cli.h"
#include "json_writer.h"
#include "print.h"
#include "verbs.h"

static int valid(cli_kernel *k, err *e) {
  err why = {0};
  const int rc = gen_config_check(k->g, &k->config, &why);
  return rc ? err_at(e, rc, why.place, "not valid on %s: %s", k->device->info.name, why.message)
            : 0;
}

static void print_source(const cli *c, const char *problem, const char *config, str *text) {
  str s = {0};
  if (!c->json) {
    print_str(text);
    return;
  }
  jw_event(&s, "source");
  jw_text(&s, "problem", problem);
  jw_text(&s, "config", config);
  jw_text(&s, "text", str_text(text));
  jw_end_line(&s);
  print_str(&s);
}

static int print_template(const cli *c, err *e) {
  auto_arena a = {0};
  auto_str lua = {0};
  gen_options o;
  const char *name;
  TRY(c->n_words ? 0
                 : err_set(e, ERR_USAGE, "name a CUDA file: autotune emit kernel.cu --template"));
  TRY(cli_template_named(c, &a, &o, &name, e));
  TRY(gen_plain_template(&o, name, &lua, e));
  print_source(c, name, "", &lua);
  return 0;
}

int cmd_emit(const cli *c, err *e) {
  if (c->template) {
    return print_template(c, e);
  }
  auto_kernel k = {0};
  auto_str source = {0};
  size_t body;
  TRY(cli_kernel_open(c, &k, e));
  TRY(valid(&k, e));
  TRY(gen_source_make(k.g, &k.config, &source, &body, e));
  auto_str config = {0};
  gen_config_text(k.t, &k.config, &config);
  print_source(c, str_text(&k.problem_text), str_text(&config), &source);
  return 0;
}
