/* cmd_emit.c -- autotune emit: print the CUDA source of a configuration. */
#include "cli.h"
#include "print.h"
#include "verbs.h"

static int valid(cli_kernel *k, err *e) {
  err why = {0};
  const int rc = gen_config_check(k->g, &k->config, &why);
  return rc ? err_at(e, rc, why.place, "not valid on %s: %s", k->device->info.name, why.message)
            : 0;
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
  print_str(&lua);
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
  print_str(&source);
  return 0;
}
