/* cmd_export.c -- autotune export: a tuned kernel as files that need neither libtuned nor NVRTC. */
#include <string.h>

#include "cli.h"
#include "file.h"
#include "serve.h"
#include "verbs.h"

typedef struct choice { /* which configuration, and why */
  gen_config config;
  const char *origin;
  double sec; /* 0: not known */
  bool measured;
} choice;

/* --config, else the tuned one, else the template's default. A database that can't be read is an
 * error only when there is one. */
static int choose(const cli *c, cli_kernel *k, choice *out, err *e) {
  db *d;
  db_result best;
  str key = {0};
  err miss = {0};
  *out = (choice){.config = k->config, .origin = c->config ? "--config" : "the template's default"};
  if (c->config) {
    return gen_config_check(k->g, &k->config, e);
  }
  int rc = cli_open_db(c, DB_READ, &d, &miss);
  if (rc == ERR_NOTFOUND) {
    return 0;
  }
  if (rc) {
    return err_set(e, rc, "%s", miss.message);
  }
  rt_device_key(&k->device->info, &key);
  rc = db_best(d, k->t->hash, str_text(&key), str_text(&k->problem_text), &k->memory, &best, &miss);
  str_clear(&key);
  db_close(d);
  if (rc == ERR_NOTFOUND) {
    return 0;
  }
  if (rc) {
    return err_set(e, rc, "%s", miss.message);
  }
  out->origin = "tuned";
  out->measured = best.median > 0;
  out->sec = out->measured ? best.median : best.modelled;
  return gen_config_parse(k->t, best.t.config, &out->config, e);
}

/* The command that makes the same files again, whatever the database holds by then. */
static void add_command(const cli *c, const cli_kernel *k, const char *config, str *out) {
  str_addf(out, "autotune export %s --config %s", str_text(&k->problem_text), config);
  if (c->arch) {
    str_addf(out, " --arch %s", c->arch);
  }
}

static int write_texts(const cli *c, cli_kernel *k, const choice *ch, const char *arch, int nvrtc,
                       const char *source, err *e) {
  str command = {0}, config = {0}, header = {0}, text = {0};
  const gen_plan *plan;
  gen_config_text(k->t, &ch->config, &config);
  add_command(c, k, str_text(&config), &command);
  serve_export x = {.command = str_text(&command),
                    .problem = str_text(&k->problem_text),
                    .config = str_text(&config),
                    .device = ch->sec > 0 ? k->device->info.name : NULL,
                    .arch = arch,
                    .nvrtc = nvrtc,
                    .sec = ch->sec,
                    .measured = ch->measured};
  int rc = gen_plan_make(k->g, &ch->config, &k->memory, &plan, e);
  rc = rc ? rc : serve_export_header(k->t, plan, &x, &header, e);
  rc = rc ? rc : serve_export_source(k->t, source, &x, &text, e);
  if (!rc && c->header) {
    rc = file_write(c->header, str_text(&header), header.n, e);
  }
  if (!rc && c->source) {
    rc = file_write(c->source, str_text(&text), text.n, e);
  }
  if (!rc) {
    printf("%s for %s: %s, %s\n", str_text(&k->problem_text), arch, ch->origin, str_text(&config));
  }
  str_clear(&command);
  str_clear(&config);
  str_clear(&header);
  str_clear(&text);
  return rc;
}

static int write_images(const cli *c, const rt_image *image, const char *arch, err *e) {
  if (c->cubin && !image->cubin.n) {
    return err_set(e, ERR_USAGE, "%s has no machine code; --arch sm_90 names a real architecture",
                   arch);
  }
  if (c->cubin) {
    TRY(file_write(c->cubin, image->cubin.p, image->cubin.n, e));
  }
  return c->ptx ? file_write(c->ptx, str_text(&image->ptx), image->ptx.n, e) : 0;
}

/* The emulated device runs PTX; what leaves this machine is for the card it emulates. */
static const char *export_arch(const cli *c, const cli_kernel *k, char *buffer, size_t n) {
  if (c->arch) {
    return c->arch;
  }
  snprintf(buffer, n, "sm_%d%s", k->device->info.cc, rt_arch_suffix(k->device->info.cc));
  return buffer;
}

static int export_kernel(const cli *c, cli_kernel *k, rt_compiler *compiler, err *e) {
  str source = {0};
  size_t body;
  choice ch;
  char buffer[16];
  rt_image image;
  const char *arch = export_arch(c, k, buffer, sizeof buffer);
  rt_image_init(&image);
  int rc = choose(c, k, &ch, e);
  rc = rc ? rc : gen_source_make(k->g, &ch.config, &source, &body, e);
  rt_source s = {.text = str_text(&source), .body = body, .arch = arch};
  rc = rc ? rc : rt_compile(compiler, &s, &k->memory, &image, e);
  rc = rc ? rc : write_images(c, &image, arch, e);
  rc = rc ? rc : write_texts(c, k, &ch, arch, rt_compiler_version(compiler), str_text(&source), e);
  rt_image_clear(&image);
  str_clear(&source);
  return rc;
}

int cmd_export(const cli *c, err *e) {
  cli_kernel k;
  rt_compiler *compiler = NULL;
  if (!c->cubin && !c->ptx && !c->source && !c->header) {
    return err_set(e, ERR_USAGE, "name what to write: --cubin F, --ptx F, --source F, --header F");
  }
  int rc = cli_kernel_open(c, &k, e);
  rc = rc ? rc : rt_compiler_open(&compiler, e);
  rc = rc ? rc : export_kernel(c, &k, compiler, e);
  rt_compiler_close(compiler);
  cli_kernel_close(&k);
  return rc;
}
