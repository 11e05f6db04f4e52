/* cmd_run_ptx.c -- autotune run-ptx: run any PTX on the emulated device, with its checks. */
#define _GNU_SOURCE
#include <string.h>

#include "cli.h"
#include "emu.h"
#include "file.h"
#include "print.h"
#include "emu_report.h"
#include "open_device.h"
#include "ptx_args.h"
#include "verbs.h"

enum { SHOWN = 8, MAX_PTX = 64 << 20 };

typedef struct runner {
  const cli *c;
  arena memory;
  rt_device *d;
  rt_module *m;
  ptx_args args;
} runner;

/* "8", "8,4", "8,4,2" */
static int parse_extent(runner *r, const char *option, const char *text, uint32_t out[3], err *e) {
  char *list = arena_text(&r->memory, text ? text : "1"), *save = NULL;
  size_t n = 0;
  out[0] = out[1] = out[2] = 1;
  for (char *w = list; list && w; w = save) {
    int64_t v;
    save = strchr(w, ',');
    if (save) {
      *save++ = 0;
    }
    if (n == 3 || !text_integer(w, &v) || v < 1 || v > INT32_MAX) {
      return err_set(e, ERR_USAGE, "--%s '%s' is not one to three numbers from 1: 8 or 8,4,2",
                     option, text);
    }
    out[n++] = (uint32_t)v;
  }
  return list ? 0 : err_nomem(e);
}

/* The kernel's parameters must be those that --args gives. */
static int match_parameters(const runner *r, const rt_function *f, const char *kernel, err *e) {
  const size_t n = rt_emu_n_params(f);
  if (n != r->args.n) {
    return err_set(e, ERR_USAGE, "kernel %s has %zu parameter%s, but --args gives %zu", kernel, n,
                   n == 1 ? "" : "s", r->args.n);
  }
  for (size_t i = 0; i < n; i++) {
    const size_t given = r->args.a[i].nbytes;
    if (rt_emu_param_nbytes(f, i) != given) {
      return err_set(e, ERR_USAGE, "parameter %zu of kernel %s has %zu bytes, but --args gives %zu",
                     i, kernel, rt_emu_param_nbytes(f, i), given);
    }
  }
  return 0;
}

static void print_kernel_text(void *context, const char *text) {
  (void)context;
  fputs(text, stdout);
}

static int prepare(runner *r, err *e) {
  const volatile sig_atomic_t *stop;
  TRY(cli_limit_time(r->c, &stop, e));
  TRY(rt_device_open(r->c->device ? r->c->device : "emu", &r->d, e));
  if (!rt_emu_is(r->d)) {
    return err_set(e, ERR_USAGE,
                   "run-ptx runs on the emulated device: --device emu or emu:PROFILE");
  }
  rt_emu_set_checks(r->d, !r->c->no_checks);
  rt_emu_set_stop(r->d, stop);
  rt_emu_set_print(r->d, print_kernel_text, NULL);
  return 0;
}

static int prepare_data(runner *r, const rt_function *f, const char *kernel, err *e) {
  r->args.memory = &r->memory;
  r->args.d = r->d;
  r->args.m = r->m;
  TRY(ptx_args_parse(&r->args, r->c->args, e));
  TRY(match_parameters(r, f, kernel, e));
  TRY(ptx_set_variables(&r->args, r->c->const_, e));
  return ptx_check_dumps(&r->args, r->c->dump, e);
}

/* A kernel that waits for its grid is launched cooperatively: all blocks must fit on the device at once. */
static int launch_as_needed(const runner *r, rt_function *f, const uint32_t grid[3],
                            const uint32_t block[3], uint32_t smem, void **args, err *e) {
  rt_function_info info;
  TRY(r->d->ops->function_info(r->d, f, &info, e));
  rt_launch *start = info.grid_barrier ? r->d->ops->launch_cooperative : r->d->ops->launch;
  return start(r->d, f, grid, block, smem, NULL, args, e);
}

static int launch(runner *r, rt_function *f, const char *kernel, err *e) {
  uint32_t grid[3], block[3];
  int64_t smem;
  void *args[PTX_ARGS_MAX];
  rt_emu_stats stats;
  str s = {0};
  TRY(parse_extent(r, "grid", r->c->grid, grid, e));
  TRY(parse_extent(r, "block", r->c->block, block, e));
  TRY(cli_number("smem", r->c->smem, 0, INT32_MAX, 0, &smem, e));
  TRY(prepare_data(r, f, kernel, e));
  for (size_t i = 0; i < r->args.n; i++) {
    args[i] = r->args.a[i].is_buffer ? &r->args.a[i].at : r->args.a[i].host;
  }
  TRY(r->d->ops->function_smem(r->d, f, smem, e));
  TRY(launch_as_needed(r, f, grid, block, (uint32_t)smem, args, e));
  TRY(r->d->ops->stream_sync(r->d, NULL, e));
  if (*rt_emu_last_finding(r->d)->note) {
    fprintf(stderr, "note: %s\n", rt_emu_last_finding(r->d)->note);
  }
  rt_emu_last_stats(r->d, &stats);
  (r->c->json ? emu_report_json : emu_report_text)(&s, kernel, &stats);
  print_str(&s);
  return 0;
}

/* The first elements of every buffer. */
static void print_buffers(const runner *r) {
  for (size_t i = 0; i < r->args.n; i++) {
    const ptx_arg *a = &r->args.a[i];
    const size_t nbytes = dtype_nbytes(a->type);
    if (!a->is_buffer) {
      continue;
    }
    printf("parameter %zu, %s[%lld]:", i, dtype_name(a->type), (long long)a->count);
    for (int64_t j = 0; j < a->count && j < SHOWN; j++) {
      uint64_t bits = 0;
      memcpy(&bits, (char *)a->host + (size_t)j * nbytes, nbytes);
      printf(" %.9g", dtype_decode(a->type, bits));
    }
    printf("%s\n", a->count > SHOWN ? " ..." : "");
  }
}

static int run(runner *r, err *e) {
  auto_str ptx = {0};
  rt_function *f;
  if (r->c->n_words != 2) {
    return err_set(e, ERR_USAGE,
                   "name the file and the kernel: autotune run-ptx FILE.ptx KERNEL --grid 8 "
                   "--block 256 --args \"buf:f32:1024 i32:5\"");
  }
  TRY(prepare(r, e));
  TRY(file_read(r->c->words[0], MAX_PTX, &ptx, e));
  TRY(r->d->ops->module_load(r->d, str_text(&ptx), ptx.n, &r->m, e));
  TRY(r->d->ops->function(r->d, r->m, r->c->words[1], &f, e));
  TRY(launch(r, f, r->c->words[1], e));
  TRY(ptx_fetch(&r->args, e));
  if (!r->c->json) {
    print_buffers(r);
  }
  return ptx_dump(&r->args, r->c->dump, e);
}

int cmd_run_ptx(const cli *c, err *e) {
  runner r = {.c = c};
  int rc = run(&r, e);
  if (r.d) {
    r.d->ops->module_unload(r.d, r.m);
    r.d->ops->close(r.d);
  }
  arena_clear(&r.memory);
  return rc;
}
