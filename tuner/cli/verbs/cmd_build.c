/* cmd_build.c -- autotune build: compile a configuration and print its registers, spills and the
 * compiler's log. */
#include <string.h>

#include "cached_compiler.h"
#include "cli.h"
#include "file.h"
#include "json_writer.h"
#include "print.h"
#include "verbs.h"
#include "print.h"

static int write_if(const char *path, const str *bytes, const char *what, err *e) {
  if (!path) {
    return 0;
  }
  if (!bytes->n) {
    return err_set(e, ERR_USAGE, "there is no %s for this architecture; --arch sm_90 gives one",
                   what);
  }
  return file_write(path, bytes->p, bytes->n, e);
}

static void print_report(const cli_kernel *k, const rt_image *image, const char *arch) {
  printf("%s for %s: %zu bytes of cubin, %zu of PTX, in %.2f s\n", str_text(&k->problem_text), arch,
         image->cubin.n, image->ptx.n, image->sec);
  for (size_t i = 0; i < image->n_kernels; i++) {
    const rt_kernel_info *x = &image->kernels[i];
    printf("  %-16s %3d registers, %lld bytes of static shared memory, %lld of stack, "
           "%lld spilled by stores, %lld by loads\n",
           x->name, x->regs, (long long)x->smem_static, (long long)x->stack,
           (long long)x->spill_stores, (long long)x->spill_loads);
  }
  if (image->log.n) {
    print_text(stdout, str_text(&image->log));
    fputs(image->log.p[image->log.n - 1] == '\n' ? "" : "\n", stdout);
  }
}

static void print_json(const cli_kernel *k, const rt_image *image, const char *arch) {
  str s = {0};
  auto_str config = {0};
  gen_config_text(k->t, &k->config, &config);
  jw_event(&s, "build");
  jw_text(&s, "problem", str_text(&k->problem_text));
  jw_text(&s, "config", str_text(&config));
  jw_text(&s, "arch", arch);
  jw_integer(&s, "cubin_nbytes", (int64_t)image->cubin.n);
  jw_integer(&s, "ptx_nbytes", (int64_t)image->ptx.n);
  jw_fixed(&s, "seconds", 3, image->sec);
  jw_open_list(&s, "kernels");
  for (size_t i = 0; i < image->n_kernels; i++) {
    const rt_kernel_info *x = &image->kernels[i];
    jw_open(&s, NULL);
    jw_text(&s, "name", x->name);
    jw_integer(&s, "registers", x->regs);
    jw_integer(&s, "smem_static", x->smem_static);
    jw_integer(&s, "stack", x->stack);
    jw_integer(&s, "spill_stores", x->spill_stores);
    jw_integer(&s, "spill_loads", x->spill_loads);
    jw_close(&s);
  }
  jw_close_list(&s);
  jw_text(&s, "log", str_text(&image->log));
  jw_end_line(&s);
  print_str(&s);
}

static int build(const cli *c, cli_kernel *k, rt_compiler *compiler, err *e) {
  auto_str source = {0};
  size_t body;
  auto_image image = {0};
  err invalid = {0};
  const int rc = cli_kernel_compile(c, k, &k->config, compiler, false, &source, &body, &image, e);
  if (rc == ERR_COMPILE && image.log.n) {
    print_text(stderr, str_text(&image.log));
  }
  TRY(rc);
  (c->json ? print_json : print_report)(k, &image, c->arch ? c->arch : k->device->info.arch);
  TRY(write_if(c->cubin, &image.cubin, "cubin", e));
  TRY(write_if(c->ptx, &image.ptx, "PTX", e));
  TRY(write_if(c->source, &source, "source", e));
  if (gen_config_check(k->g, &k->config, &invalid)) {
    fprintf(stderr, "autotune: not valid on %s: %s\n", k->device->info.name, invalid.message);
  }
  return 0;
}

int cmd_build(const cli *c, err *e) {
  auto_kernel k = {0};
  rt_compiler *compiler;
  TRY(cli_kernel_open(c, &k, e));
  TRY(cached_compiler_open(&compiler, e));
  const int rc = build(c, &k, compiler, e);
  rt_compiler_close(compiler);
  return rc;
}
