/* cmd_run_ptx.c -- autotune run-ptx: run any PTX on the emulated device, with its checks. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "emu.h"
#include "file.h"
#include "print.h"
#include "emu_report.h"
#include "open_device.h"
#include "verbs.h"

enum { MAX_ARGS = 64, SHOWN = 8, MAX_PTX = 64 << 20 };

typedef struct parameter {
  dtype type;
  bool is_buffer;
  int64_t count; /* buffers: elements */
  uint64_t bits; /* passed to the kernel: an address or a value */
  void *host;    /* buffers: contents */
} parameter;

typedef struct runner {
  const cli *c;
  arena memory;
  rt_device *d;
  rt_module *m;
  parameter p[MAX_ARGS];
  size_t n;
} runner;

/* Numbers in [-1, 1], or small integers, determined by the index. */
static double value_at(dtype t, uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z ^= z >> 31;
  return dtype_is_float(t) ? (double)(z >> 11) * 0x1p-52 - 1 : (double)(z % 100);
}

static void fill(parameter *p, const char *how) {
  size_t nbytes = dtype_nbytes(p->type);
  for (int64_t i = 0; i < p->count; i++) {
    double v = !strcmp(how, "zero")    ? 0
               : !strcmp(how, "index") ? (double)i
                                       : value_at(p->type, (uint64_t)i);
    uint64_t bits = dtype_encode(p->type, v);
    memcpy((char *)p->host + (size_t)i * nbytes, &bits, nbytes);
  }
}

static int bad(const char *word, err *e) {
  return err_set(e, ERR_USAGE,
                 "--args '%s' is neither buf:TYPE:COUNT[:random|zero|index|none], such as "
                 "buf:f32:1024, nor TYPE:VALUE, such as i32:5",
                 word);
}

/* buf:f32:1024, buf:f32:1024:zero; `none` leaves it uninitialised, for the checks to find */
static int parse_buffer(runner *r, parameter *p, char *rest, const char *word, err *e) {
  char *save = NULL, *type = strtok_r(rest, ":", &save), *count = strtok_r(NULL, ":", &save);
  char *how = strtok_r(NULL, ":", &save);
  how = how ? how : "random";
  bool known = !strcmp(how, "random") || !strcmp(how, "zero") || !strcmp(how, "index") ||
               !strcmp(how, "none");
  rt_ptr at;
  p->is_buffer = true;
  if (!type || !count || !known || !dtype_parse(type, &p->type) ||
      !text_integer(count, &p->count) || p->count < 0 || p->count > INT32_MAX) {
    return bad(word, e);
  }
  size_t nbytes = (size_t)p->count * dtype_nbytes(p->type);
  TRY(r->d->ops->alloc(r->d, nbytes, &at, e));
  p->bits = at;
  p->host = arena_new(&r->memory, nbytes);
  TRY(p->host ? 0 : err_nomem(e));
  if (!strcmp(how, "none")) {
    return 0;
  }
  fill(p, how);
  return r->d->ops->copy_in(r->d, at, p->host, nbytes, NULL, e);
}

/* A whole number must fit the type. */
static bool parse_value(parameter *p, const char *text) {
  const unsigned bits = 8 * (unsigned)dtype_nbytes(p->type);
  char *end;
  int64_t v;
  if (dtype_is_float(p->type)) {
    p->bits = dtype_encode(p->type, strtod(text, &end));
    return end != text && !*end;
  }
  if (!text_integer(text, &v) || (v < 0 && !dtype_is_signed(p->type))) {
    return false;
  }
  p->bits = (uint64_t)v & UINT64_MAX >> (64 - bits);
  const int64_t half = bits < 64 ? INT64_C(1) << (bits - 1) : INT64_MAX;
  return bits == 64 || (dtype_is_signed(p->type) ? v >= -half && v < half : v < 2 * half);
}

static int parse_parameter(runner *r, char *word, err *e) {
  parameter *p = &r->p[r->n];
  const char *shown = arena_text(&r->memory, word);
  char *colon = strchr(word, ':');
  if (r->n == MAX_ARGS || !colon) {
    return bad(shown, e);
  }
  *colon = 0;
  r->n++;
  if (!strcmp(word, "buf")) {
    return parse_buffer(r, p, colon + 1, shown, e);
  }
  return dtype_parse(word, &p->type) && parse_value(p, colon + 1) ? 0 : bad(shown, e);
}

static int parse_parameters(runner *r, err *e) {
  char *list = arena_text(&r->memory, r->c->args ? r->c->args : ""), *save = NULL;
  TRY(list ? 0 : err_nomem(e));
  for (char *w = strtok_r(list, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
    TRY(parse_parameter(r, w, e));
  }
  return 0;
}

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
  if (n != r->n) {
    return err_set(e, ERR_USAGE, "kernel %s has %zu parameter%s, but --args gives %zu", kernel, n,
                   n == 1 ? "" : "s", r->n);
  }
  for (size_t i = 0; i < n; i++) {
    const parameter *p = &r->p[i];
    const size_t given = p->is_buffer ? sizeof(rt_ptr) : dtype_nbytes(p->type);
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

static int launch(runner *r, rt_function *f, const char *kernel, err *e) {
  uint32_t grid[3], block[3];
  int64_t smem;
  void *args[MAX_ARGS];
  rt_emu_stats stats;
  str s = {0};
  TRY(parse_extent(r, "grid", r->c->grid, grid, e));
  TRY(parse_extent(r, "block", r->c->block, block, e));
  TRY(cli_number("smem", r->c->smem, 0, INT32_MAX, 0, &smem, e));
  TRY(parse_parameters(r, e));
  TRY(match_parameters(r, f, kernel, e));
  for (size_t i = 0; i < r->n; i++) {
    args[i] = &r->p[i].bits;
  }
  TRY(r->d->ops->function_smem(r->d, f, smem, e));
  TRY(r->d->ops->launch(r->d, f, grid, block, (uint32_t)smem, NULL, args, e));
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
static int print_buffers(runner *r, err *e) {
  for (size_t i = 0; i < r->n; i++) {
    parameter *p = &r->p[i];
    size_t nbytes = dtype_nbytes(p->type);
    if (!p->is_buffer) {
      continue;
    }
    TRY(r->d->ops->copy_out(r->d, p->host, p->bits, (size_t)p->count * nbytes, NULL, e));
    printf("parameter %zu, %s[%lld]:", i, dtype_name(p->type), (long long)p->count);
    for (int64_t j = 0; j < p->count && j < SHOWN; j++) {
      uint64_t bits = 0;
      memcpy(&bits, (char *)p->host + (size_t)j * nbytes, nbytes);
      printf(" %.9g", dtype_decode(p->type, bits));
    }
    printf("%s\n", p->count > SHOWN ? " ..." : "");
  }
  return 0;
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
  return r->c->json ? 0 : print_buffers(r, e);
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
