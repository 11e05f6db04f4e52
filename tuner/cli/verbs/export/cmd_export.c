/* cmd_export.c -- autotune export: a tuned kernel as files that need neither libtuned nor NVRTC. */
#define _GNU_SOURCE
#include <string.h>

#include "cached_compiler.h"
#include "cmd_export.h"
#include "compiler_option.h"
#include "fatbin.h"
#include "file.h"
#include "json_writer.h"
#include "print.h"
#include "verbs.h"

/* ---- architectures -------------------------------------------------------------------------- */

/* Kernels were measured with all instructions of the device's own architecture. */
static void tell_of_less(const export_run *x, const char *arch) {
  const size_t n = strlen(arch);
  if (!x->c->quiet && n + 1 == strlen(x->own_arch) && !strncmp(x->own_arch, arch, n)) {
    fprintf(stderr,
            "autotune: %s goes without instructions of %s, which the device is tuned with, and "
            "kernels that use them are slower; --arch %s has them\n",
            arch, x->own_arch, x->own_arch);
  }
}

/* The emulated device runs PTX; exported images are for the device that it emulates. */
static int parse_archs(export_run *x, err *e) {
  snprintf(x->own_arch, sizeof x->own_arch, "sm_%d%s", x->k.device->info.cc,
           rt_arch_suffix(x->k.device->info.cc));
  char *list = arena_text(&x->k.memory, x->c->arch ? x->c->arch : x->own_arch);
  for (char *word; list && (word = strsep(&list, ","));) {
    if (x->archs.n == ARCHS_MOST || !*word) {
      return err_set(e, ERR_USAGE, "--arch takes up to %d names: sm_80,sm_90,compute_90",
                     ARCHS_MOST);
    }
    x->archs.name[x->archs.n++] = word;
    tell_of_less(x, word);
  }
  return x->archs.n ? 0 : err_nomem(e);
}

bool cmd_export_is_ptx(const char *arch) {
  return !strncmp(arch, "compute", 7);
}

/* sgemm.cubin of several architectures is sgemm.sm_80.cubin, sgemm.sm_90.cubin. */
static const char *path_for(export_run *x, const char *path, const char *arch) {
  const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
  if (x->archs.n == 1) {
    return path;
  }
  if (!dot || (slash && dot < slash)) {
    return arena_format(&x->k.memory, "%s.%s", path, arch);
  }
  return arena_format(&x->k.memory, "%.*s.%s%s", (int)(dot - path), path, arch, dot);
}

const char *cmd_export_file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

int cmd_export_write(const char *path, const str *text, err *e) {
  return path ? file_write(path, str_text(text), text->n, e) : 0;
}

/* ---- one problem ---------------------------------------------------------------------------- */

/* The command that makes the same files again, whatever the database holds by then. */
static void add_command(const export_run *x, const char *config, str *out) {
  str_addf(out, "autotune export %s --config %s", str_text(&x->k.problem_text), config);
  if (x->c->arch) {
    str_addf(out, " --arch %s", x->c->arch);
  }
}

static int write_embedded(export_run *x, const export_info *what, const rt_image *built, err *e) {
  export_image list[ARCHS_MOST];
  auto_str text = {0};
  for (size_t i = 0; i < x->archs.n; i++) {
    const str *bytes = cmd_export_is_ptx(x->archs.name[i]) ? &built[i].ptx : &built[i].cubin;
    list[i] =
        (export_image){.arch = x->archs.name[i], .bytes = str_text(bytes), .nbytes = bytes->n};
  }
  TRY(export_embed(x->k.t, what, list, x->archs.n, cmd_export_file_name(x->c->header), &text, e));
  return cmd_export_write(x->c->embed, &text, e);
}

static int write_images(export_run *x, const rt_image *built, err *e) {
  size_t n_ptx = 0;
  for (size_t i = 0; i < x->archs.n; i++) {
    const char *arch = x->archs.name[i];
    if (x->c->cubin && !cmd_export_is_ptx(arch)) {
      TRY(file_write(path_for(x, x->c->cubin, arch), built[i].cubin.p, built[i].cubin.n, e));
    }
    if (x->c->ptx) {
      TRY(cmd_export_write(path_for(x, x->c->ptx, arch), &built[i].ptx, e));
    }
    n_ptx += cmd_export_is_ptx(arch);
  }
  if (x->c->cubin && n_ptx == x->archs.n) {
    return err_set(e, ERR_USAGE, "%s has no machine code; --arch sm_90 names a real architecture",
                   x->archs.name[0]);
  }
  return 0;
}

static int write_fatbin(export_run *x, const rt_image *built, err *e) {
  rt_fat_image list[ARCHS_MOST];
  auto_str fat = {0};
  for (size_t i = 0; i < x->archs.n; i++) {
    const str *bytes = cmd_export_is_ptx(x->archs.name[i]) ? &built[i].ptx : &built[i].cubin;
    list[i] =
        (rt_fat_image){.arch = x->archs.name[i], .bytes = str_text(bytes), .nbytes = bytes->n};
  }
  TRY(rt_fatbin_make(list, x->archs.n, &fat, e));
  return file_write(x->c->fatbin, str_text(&fat), fat.n, e);
}

static int tell(const export_run *x, const choice *ch, const char *arch, const char *config,
                err *e) {
  const char *problem = str_text(&x->k.problem_text);
  auto_str words = {0};
  str s = {0};
  TRY(gen_config_words(x->k.g, &ch->config, &words, e));
  if (x->c->json) {
    jw_event(&s, "export");
    jw_text(&s, "problem", problem);
    jw_text(&s, "arch", arch);
    jw_text(&s, "origin", ch->origin);
    jw_text(&s, "config", config);
    jw_end_line(&s);
  } else if (!x->c->quiet) {
    str_addf(&s, "%s for %s: %s, %s\n", problem, arch, ch->origin, str_text(&words));
  }
  print_str(&s);
  return 0;
}

/* What the text's line of compiler options says. */
static void options_of(const char *source, str *out) {
  static const char start[] = "\n" COMPILER_OPTIONS " ";
  const char *line = strstr(source, start);
  if (line) {
    line += sizeof start - 1;
    str_add_n(out, line, strcspn(line, "\n"));
  }
}

static int write_texts(export_run *x, const choice *ch, const rt_image *built, const char *source,
                       err *e) {
  auto_str command = {0}, config = {0}, header = {0}, text = {0}, options = {0};
  cli_kernel *k = &x->k;
  const gen_plan *plan;
  gen_config_text(k->t, &ch->config, &config);
  add_command(x, str_text(&config), &command);
  options_of(source, &options);
  const export_info what = {.command = str_text(&command),
                            .problem = str_text(&k->problem_text),
                            .config = str_text(&config),
                            .device = ch->row.problem ? ch->row.device.name : NULL,
                            .arch = x->c->arch ? x->c->arch : x->own_arch,
                            .nvrtc = rt_compiler_version(x->compiler),
                            .sec = ch->row.sec,
                            .measured = ch->row.kind != DB_KIND_MODEL,
                            .name = x->c->name,
                            .options = options.n ? str_text(&options) : NULL,
                            .embedded = x->c->embed != NULL};
  TRY(gen_plan_make(k->g, &ch->config, &k->memory, &plan, e));
  TRY(x->c->header ? export_header(k->t, plan, &what, &header, e) : 0);
  TRY(export_source(k->t, source, &what, &text, e));
  TRY(cmd_export_write(x->c->header, &header, e));
  TRY(cmd_export_write(x->c->source, &text, e));
  TRY(x->c->embed ? write_embedded(x, &what, built, e) : 0);
  TRY(x->c->manifest ? cmd_export_manifest(x, &what, ch, NULL, e) : 0);
  return tell(x, ch, what.arch, str_text(&config), e);
}

/* What a driver compiles lacks the device runtime. */
static int check_linked(const export_run *x, const char *text, err *e) {
  if (!compiler_options_relocatable(text)) {
    return 0;
  }
  for (size_t i = 0; i < x->archs.n; i++) {
    if (x->c->ptx || cmd_export_is_ptx(x->archs.name[i])) {
      return err_set(e, ERR_USAGE,
                     "PTX of kernels that launch kernels does not load without the device runtime; "
                     "export --cubin, for sm_90a and the like");
    }
  }
  return 0;
}

static int compile_all(export_run *x, const str *source, size_t body, rt_image *built, err *e) {
  TRY(check_linked(x, str_text(source) + body, e));
  for (size_t i = 0; i < x->archs.n; i++) {
    const rt_source s = {.text = str_text(source), .body = body, .arch = x->archs.name[i]};
    TRY(rt_compile(x->compiler, &s, &x->k.memory, &built[i], e));
  }
  return 0;
}

static int export_kernel(export_run *x, err *e) {
  auto_str source = {0};
  size_t body;
  choice ch;
  rt_image built[ARCHS_MOST];
  for (size_t i = 0; i < ARCHS_MOST; i++) {
    rt_image_init(&built[i]);
  }
  int rc = cmd_export_choose(x, &ch, e);
  rc = rc ? rc : gen_source_make(x->k.g, &ch.config, &source, &body, e);
  rc = rc ? rc : compile_all(x, &source, body, built, e);
  rc = rc ? rc : write_images(x, built, e);
  rc = rc || !x->c->fatbin ? rc : write_fatbin(x, built, e);
  rc = rc ? rc : write_texts(x, &ch, built, str_text(&source), e);
  for (size_t i = 0; i < ARCHS_MOST; i++) {
    rt_image_clear(&built[i]);
  }
  return rc;
}

/* ---- the verb ------------------------------------------------------------------------------- */

static int check_words(const cli *c, err *e) {
  if (!c->cubin && !c->fatbin && !c->ptx && !c->source && !c->header && !c->embed && !c->manifest) {
    return err_set(
        e, ERR_USAGE,
        "name what to write: --cubin F, --fatbin F, --ptx F, --source F, --header F, --embed F, "
        "--manifest F");
  }
  return !c->embed || c->header
             ? 0
             : err_set(e, ERR_USAGE, "--embed F.c goes with --header F.h, which it includes");
}

int cmd_export(const cli *c, err *e) {
  export_run x = {.c = c};
  TRY(check_words(c, e));
  int rc = cli_kernel_open(c, &x.k, e);
  rc = rc ? rc : parse_archs(&x, e);
  rc = rc ? rc : cached_compiler_open(&x.compiler, e);
  if (!rc) {
    rt_device_key(&x.k.device->info, &x.device_key);
    rc = c->portfolio ? cmd_export_portfolio(&x, e) : export_kernel(&x, e);
  }
  serve_known_clear(&x.shipped);
  str_clear(&x.device_key);
  rt_compiler_close(x.compiler);
  cli_kernel_close(&x.k);
  return rc;
}
