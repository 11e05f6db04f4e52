/* cmd_warm.c -- autotune warm: compiles what libtuned may serve into the cache of images, so that
 * programs find it there. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "emu.h"
#include "file.h"
#include "image_cache.h"
#include "json_writer.h"
#include "open_device.h"
#include "print.h"
#include "serve_presets.h"
#include "verbs.h"
#include "wanted_family.h"
#include "warm_cache.h"
#include "warm_notes.h"

enum { SAMPLE = 200, TIMEOUT_SEC = 300 };

typedef struct command {
  const cli *c;
  arena memory;
  gen_options templates;
  rt_info device;
  str device_key;
  db *d;
  wanted_images wanted;
  warm_options how;
  int64_t sample;
  bool on_terminal;
  double shown_at;
} command;

/* ---- the device ----------------------------------------------------------------------------- */

/* Closed at once: the compile workers are forked from this process. */
static int read_device(const char *name, rt_info *out, err *e) {
  rt_device *d;
  TRY(rt_device_open(name, &d, e));
  *out = d->info;
  d->ops->close(d);
  return 0;
}

/* Without a device, the limits are those of an emulated one of this compute capability. */
static int find_profile(const char *arch, int cc, rt_info *out, err *e) {
  return cli_profile_of(cc, out)
             ? err_set(e, ERR_USAGE,
                       "--arch %s: the limits of such devices are not known here; name one with "
                       "--device",
                       arch)
             : 0;
}

static int use_arch(command *x, const char *arch, err *e) {
  const char *digits = strchr(arch, '_');
  const int cc = digits ? atoi(digits + 1) : 0;
  TRY(x->c->device ? read_device(x->c->device, &x->device, e)
                   : find_profile(arch, cc, &x->device, e));
  if (x->device.cc != cc) {
    return err_set(e, ERR_USAGE, "--arch %s is not the architecture of %s, which is sm_%d%s", arch,
                   x->device.name, x->device.cc, rt_arch_suffix(x->device.cc));
  }
  snprintf(x->device.arch, sizeof x->device.arch, "%s", arch);
  x->device.format = strncmp(arch, "sm_", 3) ? RT_PTX : RT_CUBIN;
  if (x->device.modelled && x->device.format == RT_CUBIN) { /* it stands for a real one */
    x->device.modelled = false;
    snprintf(x->device.name, sizeof x->device.name, "%s", arch);
  }
  return 0;
}

static int open_device(command *x, err *e) {
  TRY(x->c->arch ? use_arch(x, x->c->arch, e) : read_device(cli_device(x->c), &x->device, e));
  rt_device_key(&x->device, &x->device_key);
  return x->device_key.failed ? err_nomem(e) : 0;
}

/* ---- what is wanted ------------------------------------------------------------------------- */

static void clear_line(const command *x) {
  if (x->on_terminal) {
    fprintf(stderr, "\r\033[K");
  }
}

static int gather_family(command *x, const char *name, err *e) {
  auto_template *t = NULL;
  auto_arena a = {0};
  sizes only;
  const serve_sources from = {.device = &x->device,
                              .device_key = str_text(&x->device_key),
                              .db = x->d,
                              .presets = serve_presets,
                              .portfolios = serve_portfolios};
  if (x->on_terminal) {
    fprintf(stderr, "\r\033[K%s: %zu images so far", name, x->wanted.n);
  }
  TRY(gen_open(&x->templates, name, &t, e));
  if (x->c->sizes) {
    TRY(sizes_read(t, x->c->sizes, "", &a, &only, e));
  }
  TRY(wanted_family(&from, t, x->c->sizes ? &only : NULL, (size_t)x->sample, &x->wanted, e));
  return warm_notes_write(t, e);
}

static int gather(command *x, err *e) {
  const char *const *names = x->c->words;
  size_t n = x->c->n_words;
  if (x->c->sizes && n != 1) {
    return err_set(e, ERR_USAGE, "--sizes are of one family: autotune warm sgemm --sizes ...");
  }
  if (!n) {
    TRY(gen_families(&x->templates, &x->memory, &names, &n, e));
  }
  int rc = 0;
  for (size_t i = 0; i < n && !rc; i++) {
    rc = gather_family(x, names[i], e);
  }
  clear_line(x);
  wanted_sort(&x->wanted);
  return rc;
}

/* ---- reports -------------------------------------------------------------------------------- */

static void show(void *self, const warm_state *s) {
  command *x = self;
  const double every = x->on_terminal ? 0.1 : 10, now = now_sec();
  if (now - x->shown_at < every) {
    return;
  }
  x->shown_at = now;
  const double left = s->done ? s->sec / (double)s->done * (double)(s->n - s->done) : 0;
  fprintf(stderr, "%s%zu of %zu images, %zu compiled, %.1f MB, %.0f s left%s",
          x->on_terminal ? "\r\033[K" : "", s->done, s->n, s->made, (double)s->nbytes / 1e6, left,
          x->on_terminal ? "" : "\n");
}

static void print_summary(const command *x, const warm_state *s) {
  auto_str out = {0};
  if (x->c->json) {
    jw_event(&out, "warm");
    jw_text(&out, "arch", x->device.arch);
    jw_integer(&out, "wanted", (int64_t)s->n);
    jw_integer(&out, "compiled", (int64_t)s->made);
    jw_integer(&out, "there", (int64_t)s->there);
    jw_integer(&out, "failed", (int64_t)s->failed);
    jw_integer(&out, "nbytes", s->nbytes);
    jw_bool(&out, "at_limit", s->is_full);
    jw_fixed(&out, "seconds", 1, s->sec);
    jw_end_line(&out);
  } else if (!x->c->quiet) {
    str_addf(&out, "compiled %zu images for %s (%zu were there), %.1f MB, %.1f s\n", s->made,
             x->device.arch, s->there, (double)s->nbytes / 1e6, s->sec);
  }
  print_str(&out);
}

static void print_limit(const command *x, const warm_state *s) {
  if (s->is_full && !x->c->quiet) {
    fprintf(stderr, "autotune: %zu of %zu images, the least wanted, would exceed --limit %lld\n",
            s->n - s->done, s->n, (long long)x->how.limit);
  }
}

/* ---- the verb ------------------------------------------------------------------------------- */

static int parse_options(command *x, err *e) {
  const cli *c = x->c;
  int64_t jobs, timeout;
  TRY(cli_number("jobs", c->jobs, 1, 256, 0, &jobs, e));
  TRY(cli_number("timeout", c->timeout, 1, 86400, TIMEOUT_SEC, &timeout, e));
  TRY(cli_number("sample", c->sample, 0, 100000, SAMPLE, &x->sample, e));
  TRY(cli_number("limit", c->limit, 1, IMAGE_CACHE_NBYTES, IMAGE_CACHE_NBYTES, &x->how.limit, e));
  x->how.device = &x->device;
  x->how.jobs = (int)jobs;
  x->how.timeout_sec = (double)timeout;
  x->how.stop = cli_catch_signals();
  x->how.report = c->quiet || c->json ? NULL : show;
  x->how.self = x;
  x->shown_at = now_sec();
  x->on_terminal = x->how.report && isatty(STDERR_FILENO);
  return 0;
}

static int run(command *x, err *e) {
  warm_state s;
  TRY(parse_options(x, e));
  TRY(cli_template_options(x->c, &x->memory, &x->templates, e));
  TRY(open_device(x, e));
  TRY(cli_open_db_if_any(x->c, &x->d, e));
  TRY(gather(x, e));
  const int rc = warm_cache(&x->wanted, &x->how, &s, e);
  clear_line(x);
  if (rc && rc != ERR_INTERRUPTED) {
    return rc;
  }
  print_summary(x, &s);
  print_limit(x, &s);
  return rc         ? rc
         : s.failed ? err_at(e, ERR_COMPILE, s.why.place,
                             "%zu images did not compile; the first: %s", s.failed, s.why.message)
                    : 0;
}

int cmd_warm(const cli *c, err *e) {
  command x = {.c = c};
  const int rc = run(&x, e);
  wanted_clear(&x.wanted);
  db_close(x.d);
  str_clear(&x.device_key);
  arena_clear(&x.memory);
  return rc;
}
