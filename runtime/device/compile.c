#define _GNU_SOURCE
#include "compile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile_controls.h"
#include "compile_exit.h"
#include "compile_include.h"
#include "compile_log.h"
#include "compile_signals.h"
#include "compiler_option.h"
#include "file.h"
#include "device_link.h"
#include "nvrtc_api.h"

struct rt_compiler {
  nvrtc_api api;
  int version;
  rt_image_store store;        /* all NULL: none */
  const atomic_bool *stopping; /* NULL: never */
  compile_signals signals;
};

static int open_nvrtc(nvrtc_api *api, err *e) {
  if (!compile_exit_enter(false)) {
    return err_set(e, ERR_INTERRUPTED, "the program is ending");
  }
  const int rc = nvrtc_api_open(api, e);
  compile_exit_register();
  compile_exit_leave();
  return rc;
}

int rt_compiler_open(rt_compiler **out, err *e) {
  *out = NULL;
  rt_compiler *c = calloc(1, sizeof *c);
  if (!c) {
    return err_nomem(e);
  }
  int rc = open_nvrtc(&c->api, e), major = 0, minor = 0;
  if (rc) {
    free(c);
    return rc;
  }
  c->api.nvrtcVersion(&major, &minor);
  c->version = 1000 * major + 10 * minor;
  *out = c;
  return 0;
}

void rt_compiler_close(rt_compiler *c) {
  if (c && c->store.close) {
    c->store.close(c->store.self);
  }
  free(c);
}

void rt_compiler_keep(rt_compiler *c, rt_image_store store) {
  c->store = store;
}

void rt_compiler_stop_on(rt_compiler *c, const atomic_bool *stopping) {
  c->stopping = stopping;
}

int rt_compiler_version(const rt_compiler *c) {
  return c->version;
}
const char *rt_compiler_path(const rt_compiler *c) {
  return c->api.path;
}

/* ---- options and the key ------------------------------------------------------------------- */

enum { OPTIONS_MAX = 12 + COMPILER_OPTIONS_MAX, OPTION_TEXT = PATH_MAX + 16 };

typedef struct options {
  const char *list[OPTIONS_MAX];
  int n;
  int n_hashed; /* the first n_hashed options belong to the key */
  char arch[64], include[OPTION_TEXT], cccl[OPTION_TEXT];
  compiler_options own; /* of the text */
  compile_controls controls;
} options;

static bool is_cubin(const rt_source *s) {
  return !strncmp(s->arch, "sm_", 3);
}

static bool runs_ptxas(const rt_source *s) {
  return is_cubin(s) || s->registers;
}

/* Options that determine the code. */
static void make_hashed_options(const rt_source *s, options *o) {
  o->n = 0;
  const char *number = strchr(s->arch, '_');
  bool real = runs_ptxas(s) && number;
  snprintf(o->arch, sizeof o->arch, "--gpu-architecture=%s%s", real ? "sm" : "",
           real ? number : s->arch);
  o->list[o->n++] = o->arch;
  o->list[o->n++] = "--std=c++17";
  if (s->lineinfo) {
    o->list[o->n++] = "-lineinfo";
  }
  o->n_hashed = o->n;
}

/* Those of the text, which its hash covers; its own standard takes the place of ours. */
static int add_own_options(const rt_source *s, options *o, err *e) {
  TRY(compiler_options_of(s->text + s->body, &o->own, e));
  for (int i = 0; i < o->own.n; i++) {
    const char *option = o->own.text[i], *name = option + strspn(option, "-");
    if (!strncmp(name, "std=", 4)) {
      o->list[1] = option;
    } else if (compiler_option_controls(option)) {
      TRY(compile_controls_open(&o->controls, s->text + s->body, option, e));
      o->list[o->n++] = o->controls.option;
    } else {
      o->list[o->n++] = option;
    }
  }
  return 0;
}

/* They come first; paths of headers and NVRTC's own settings follow. */
static int make_options(const rt_compiler *c, const rt_source *s, bool minimal, options *o,
                        err *e) {
  make_hashed_options(s, o);
  TRY(add_own_options(s, o, e));
  if (runs_ptxas(s)) {
    o->list[o->n++] = "--ptxas-options=-v";
  }
  if (c->version >= 12090) { /* the first version with a cache of its own */
    o->list[o->n++] = "--no-cache";
  }
  if (minimal) {
    o->list[o->n++] = "--minimal";
  }
  if (*c->api.include) {
    snprintf(o->include, sizeof o->include, "-I%s", c->api.include);
    snprintf(o->cccl, sizeof o->cccl, "-I%s/cccl", c->api.include); /* CUB, since CUDA 13 */
    o->list[o->n++] = o->include;
    o->list[o->n++] = o->cccl;
  }
  return 0;
}

static void hash_with(const rt_source *s, const char *version, const char *text,
                      char key[HASH_TEXT]) {
  options o;
  auto_str all = {0};
  make_hashed_options(s, &o);
  for (int i = 0; i < o.n_hashed; i++) {
    str_addf(&all, "%s ", o.list[i]);
  }
  str_addf(&all, "%s%s\n", version, is_cubin(s) || !s->registers ? "" : " registers");
  str_add(&all, text);
  hash_bytes(str_text(&all), all.n, key);
}

void rt_image_key(const rt_compiler *c, const rt_source *s, char key[HASH_TEXT]) {
  char version[24];
  snprintf(version, sizeof version, "nvrtc %d", c->version);
  hash_with(s, version, s->text + s->body, key);
}

void rt_image_form(const rt_source *s, const char *hash, char form[HASH_TEXT]) {
  hash_with(s, "any", hash, form);
}

/* ---- is the architecture one that this NVRTC knows? ---------------------------------------- */

static void list_archs(const int *archs, int n, str *out) {
  for (int i = 0; i < n; i++) {
    str_addf(out, "%s%d", i ? " " : "", archs[i]);
  }
}

/* "sm_90a" and "compute_120f" to 90 and 120; -1 for anything else */
static int arch_number(const char *arch) {
  const char *digits = strchr(arch, '_');
  if (!digits || (strncmp(arch, "sm_", 3) && strncmp(arch, "compute_", 8)) ||
      !isdigit((unsigned char)digits[1])) {
    return -1;
  }
  char *end;
  long number = strtol(digits + 1, &end, 10);
  bool suffix = *end && strchr("af", *end) && !end[1];
  return (*end == 0 || suffix) && number < 10000 ? (int)number : -1;
}

static int check_arch(rt_compiler *c, const char *arch, err *e) {
  int archs[64], n = 0, wanted = arch_number(arch);
  if (c->api.nvrtcGetNumSupportedArchs(&n) || n > 64 || c->api.nvrtcGetSupportedArchs(archs)) {
    return 0; /* unknown: let the compilation decide */
  }
  for (int i = 0; i < n; i++) {
    if (archs[i] == wanted) {
      return 0;
    }
  }
  auto_str known = {0};
  list_archs(archs, n, &known);
  int rc =
      err_set(e, ERR_USAGE,
              "NVRTC %d.%d can't compile for %.40s; use sm_N or compute_N with N one of %s, or "
              "another CUDA toolkit",
              c->version / 1000, c->version % 1000 / 10, arch, str_text(&known));
  return rc;
}

/* ---- compiling ----------------------------------------------------------------------------- */

typedef nvrtcResult size_function(nvrtcProgram, size_t *);
typedef nvrtcResult get_function(nvrtcProgram, char *);

/* Appends the output of a pair of NVRTC's functions; no output is no error. */
static int fetch(nvrtcProgram p, size_function *size, get_function *get, bool text, str *out,
                 err *e) {
  size_t n = 0;
  if (size(p, &n) || n <= (size_t)text) {
    return 0;
  }
  char *bytes = malloc(n);
  if (bytes && get(p, bytes) == NVRTC_SUCCESS) {
    str_add_n(out, bytes, n - text); /* the size of a text includes its NUL */
  }
  bool failed = !bytes || out->failed;
  free(bytes);
  return failed ? err_set(e, ERR_NOMEM, "out of memory for %zu bytes of NVRTC's output", n) : 0;
}

/* NVRTC 13.0 puts a NUL between ptxas's errors and its report of the kernels; without it the log is
 * one text. */
static void remove_nuls(str *text) {
  size_t kept = 0;
  for (size_t i = 0; i < text->n; i++) {
    if (text->p[i]) {
      text->p[kept++] = text->p[i];
    }
  }
  if (text->n) {
    text->n = kept;
    text->p[kept] = 0;
  }
}

/* May NVRTC omit its declarations of textures and of the CUDA runtime? They take a quarter of a
 * small kernel's compile time and do not change the code, but headers may need them. */
static bool may_be_minimal(const rt_compiler *c, const rt_source *s) {
  return c->version >= 13000 && !strstr(s->text, "#include");
}

static bool is_stopping(const rt_compiler *c) {
  return (c->stopping && atomic_load(c->stopping)) || compile_exit_began(c->stopping);
}

/* src  nvrtcSetFlowCallback */
static int asks_to_stop(void *compiler, void *reserved) {
  rt_compiler *c = compiler;
  (void)reserved;
  compile_exit_register();
  return is_stopping(c) || compile_signals_came(&c->signals);
}

static nvrtcResult run_nvrtc(rt_compiler *c, nvrtcProgram p, const options *o) {
  if (!c->api.set_flow_callback) {
    return c->api.nvrtcCompileProgram(p, o->n, o->list);
  }
  c->api.set_flow_callback(p, asks_to_stop, c);
  compile_signals_hold(&c->signals);
  const nvrtcResult result = c->api.nvrtcCompileProgram(p, o->n, o->list);
  compile_signals_release(&c->signals);
  return result;
}

static int run(rt_compiler *c, nvrtcProgram p, const rt_source *s, bool minimal, rt_image *image,
               err *e) {
  options o = {.controls = {.fd = -1}};
  const int rc = make_options(c, s, minimal, &o, e);
  if (rc) {
    compile_controls_close(&o.controls);
    return rc;
  }
  double start = now_sec();
  nvrtcResult result = run_nvrtc(c, p, &o);
  image->sec += now_sec() - start;
  compile_controls_close(&o.controls);
  if (result && is_stopping(c)) {
    return err_set(e, ERR_INTERRUPTED, "the compilation was stopped");
  }
  str_clear(&image->log);
  TRY(fetch(p, c->api.nvrtcGetProgramLogSize, c->api.nvrtcGetProgramLog, true, &image->log, e));
  remove_nuls(&image->log);
  compile_controls_name(&o.controls, &image->log);
  return result ? log_error(str_text(&image->log), c->api.nvrtcGetErrorString(result), e) : 0;
}

/* A cubin of relocatable code is no image yet. */
static bool is_linked(const rt_source *s) {
  return is_cubin(s) && compiler_options_relocatable(s->text + s->body);
}

static int fetch_image(rt_compiler *c, nvrtcProgram p, const rt_source *s, rt_image *image,
                       err *e) {
  TRY(fetch(p, c->api.nvrtcGetPTXSize, c->api.nvrtcGetPTX, true, &image->ptx, e));
  if (is_cubin(s)) {
    TRY(fetch(p, c->api.nvrtcGetCUBINSize, c->api.nvrtcGetCUBIN, false, &image->cubin, e));
  }
  if (is_linked(s)) {
    TRY(rt_link(s->arch, &image->cubin, e));
  }
  bool whole = image->ptx.n && (!is_cubin(s) || image->cubin.n);
  return whole ? 0 : err_set(e, ERR_COMPILE, "NVRTC returned no image for %s", s->arch);
}

/* PTX does not know the card's registers: one comment for each kernel holds ptxas's report. */
static void note_registers(rt_image *image) {
  for (size_t i = 0; i < image->n_kernels; i++) {
    const rt_kernel_info *k = &image->kernels[i];
    str_addf(&image->ptx, "%s// ptxas: %s registers %d spill stores %lld spill loads %lld\n",
             i ? "" : "\n", k->name, k->regs, (long long)k->spill_stores,
             (long long)k->spill_loads);
  }
}

static int compile_once(rt_compiler *c, const rt_source *s, bool minimal, rt_image *image, err *e) {
  nvrtcProgram p;
  nvrtcResult made = c->api.nvrtcCreateProgram(&p, s->text, "kernel.cu", 0, NULL, NULL);
  if (made) {
    return err_set(e, ERR_COMPILE, "NVRTC: %s", c->api.nvrtcGetErrorString(made));
  }
  int rc = run(c, p, s, minimal, image, e);
  rc = rc ? rc : fetch_image(c, p, s, image, e);
  c->api.nvrtcDestroyProgram(&p);
  return rc;
}

static int compile(rt_compiler *c, const rt_source *s, bool minimal, rt_image *image, err *e) {
  if (!compile_exit_enter(c->stopping)) {
    return err_set(e, ERR_INTERRUPTED, "the program is ending");
  }
  int rc = 0;
  do {
    err_clear(e);
    c->signals.came = false;
    rc = compile_once(c, s, minimal, image, e);
  } while (rc && c->signals.came && !is_stopping(c));
  compile_exit_leave();
  return rc;
}

/* did the front end fail, not ptxas? */
static bool text_failed(const rt_image *image, const err *e) {
  return e->code == ERR_COMPILE && !strstr(str_text(&image->log), "ptxas");
}

static int compile_fully(rt_compiler *c, const rt_source *s, rt_image *image, err *e) {
  err first = {0};
  TRY(include_check(s->text, e));
  TRY(is_linked(s) ? rt_link_check(e) : 0);
  const bool minimal = may_be_minimal(c, s);
  const int rc = compile(c, s, minimal, image, &first);
  if (rc && minimal && text_failed(image, &first)) { /* perhaps for lack of the declarations */
    return compile(c, s, false, image, e);
  }
  return rc ? err_at(e, rc, first.place, "%s", first.message) : 0;
}

static int find_or_compile(rt_compiler *c, const rt_source *s, rt_image *image, err *e) {
  if (!c->store.find) {
    return compile_fully(c, s, image, e);
  }
  if (c->store.find(c->store.self, image)) {
    return 0;
  }
  const int rc = compile_fully(c, s, image, e);
  c->store.made(c->store.self, rc ? NULL : image);
  return rc;
}

int rt_compile(rt_compiler *c, const rt_source *s, arena *a, rt_image *image, err *e) {
  char text[HASH_TEXT];
  rt_image_clear(image);
  TRY(check_arch(c, s->arch, e));
  rt_image_key(c, s, image->key);
  hash_bytes(s->text + s->body, strlen(s->text + s->body), text);
  rt_image_form(s, text, image->form);
  TRY(find_or_compile(c, s, image, e));
  TRY(log_kernels(str_text(&image->log), a, &image->kernels, &image->n_kernels, e));
  if (s->registers && !is_cubin(s)) {
    note_registers(image);
  }
  return 0;
}

int64_t rt_log_spill(const char *log) {
  auto_arena a = {0};
  const rt_kernel_info *kernels;
  size_t n = 0;
  int64_t most = 0;
  log_kernels(log, &a, &kernels, &n, NULL);
  for (size_t i = 0; i < n; i++) {
    const int64_t spill = kernels[i].spill_stores + kernels[i].spill_loads;
    most = spill > most ? spill : most;
  }
  return most;
}

void rt_image_init(rt_image *image) {
  *image = (rt_image){0};
}

void rt_image_clear(rt_image *image) {
  str_clear(&image->cubin);
  str_clear(&image->ptx);
  str_clear(&image->log);
  rt_image_init(image);
}
