/* cmd_emit.c -- autotune emit: the CUDA source that a configuration becomes. */
#include "cli.h"
#include "verbs.h"

static int emit(cli_kernel *k, err *e) {
  str source = {0};
  size_t body;
  err invalid = {0};
  int rc = gen_source_make(k->g, &k->config, &source, &body, e);
  if (!rc) {
    cli_print(&source);
  }
  if (!rc && gen_config_check(k->g, &k->config, &invalid)) { /* worth a look, not worth a refusal */
    fprintf(stderr, "autotune: not valid on %s: %s\n", k->device->info.name, invalid.message);
  }
  str_clear(&source);
  return rc;
}

int cmd_emit(const cli *c, err *e) {
  cli_kernel k;
  int rc = cli_kernel_open(c, &k, e);
  rc = rc ? rc : emit(&k, e);
  cli_kernel_close(&k);
  return rc;
}
