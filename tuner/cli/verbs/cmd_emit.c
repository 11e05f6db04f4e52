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

static int emit(cli_kernel *k, err *e) {
  auto_str source = {0};
  size_t body;
  int rc = valid(k, e);
  rc = rc ? rc : gen_source_make(k->g, &k->config, &source, &body, e);
  if (!rc) {
    print_str(&source);
  }
  return rc;
}

int cmd_emit(const cli *c, err *e) {
  cli_kernel k;
  int rc = cli_kernel_open(c, &k, e);
  rc = rc ? rc : emit(&k, e);
  cli_kernel_close(&k);
  return rc;
}
