/* harness_buffers.c -- a harness's buffers: how much memory, where each lies, what is in it before
 * a launch. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include "data_file.h"
#include "emu.h"

enum {
  ALIGNMENT = 512, /* of textures */
  CANARY_NBYTES = 256,
  L2_LINE = 128,
  MAX_SETS = 65536,
  FILLED_MAX = 1 << 20
};

bool harness_is_buffer(const rt_harness *b, size_t arg) {
  return b->t->args[arg].dir != GEN_SCALAR;
}

bool harness_is_output(const rt_harness *b, size_t arg) {
  return b->t->args[arg].dir == GEN_OUT || b->t->args[arg].dir == GEN_INOUT;
}

bool harness_is_poisoned(const rt_harness *b, const harness_case *c, size_t arg) {
  return b->t->args[arg].dir == GEN_OUT ||
         (b->t->args[arg].dir == GEN_INOUT && c->data->args[arg].overwritten);
}

uint64_t harness_nbytes(const harness_case *c, size_t arg) {
  return c->data->args[arg].count * dtype_nbytes(c->data->args[arg].type);
}

uint64_t harness_bounds_nbytes(const rt_harness *b, const harness_case *c, size_t arg) {
  const gen_datum *d = &c->data->args[arg];
  const bool bound =
      harness_is_output(b, arg) && d->error == GEN_ERROR_BOUND && !b->t->counts_wrong;
  return bound ? d->count * dtype_nbytes(d->bound_type) : 0;
}

static uint64_t shift_of(const harness_case *c, size_t arg) {
  if (c->captured) {
    return c->captured->shifts ? c->captured->shifts[arg] : 0;
  }
  return c->data->args[arg].shift;
}

uint8_t harness_poison(dtype t) {
  return dtype_is_float(t) ? 0xff : 0xa5;
}

static uint64_t round_up(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}

/* A set has room for the largest buffer of any case. */
static uint64_t largest(const rt_harness *b, size_t arg) {
  uint64_t most = 0;
  for (size_t i = 0; i < b->n_cases; i++) {
    uint64_t n = harness_nbytes(&b->cases[i], arg) + shift_of(&b->cases[i], arg);
    most = n > most ? n : most;
  }
  return most;
}

bool harness_is_recorded(const harness_case *c, size_t arg) {
  return c->captured && c->captured->bytes[arg];
}

/* ---- on the host: the cases ------------------------------------------------------------------ */

static int make_data(rt_harness *b, gen_instance *g, size_t i, err *e) {
  harness_case *c = &b->cases[i];
  if (b->captured && i == 0) {
    c->captured = b->captured;
    c->data = b->captured->data;
    return 0;
  }
  return gen_data_make(g, i - (b->captured != NULL), &b->memory, &c->data, e);
}

static bool same_fill(const gen_datum *a, const gen_datum *b) {
  return a->type == b->type && a->count == b->count && a->fill == b->fill && a->a == b->a &&
         a->b == b->b && !memcmp(&a->generator, &b->generator, sizeof a->generator);
}

/* A matrix is made once for all buffers that take parts of it. */
typedef struct made_matrix {
  const char *text; /* NULL: none yet */
  matrix_input *m;
} made_matrix;

static int make_matrix(made_matrix *made, gen_instance *g, const char *text, bool named, err *e) {
  int64_t rows, columns, entries;
  if (made->text && !strcmp(made->text, text)) {
    return 0;
  }
  matrix_input_close(made->m);
  *made = (made_matrix){0};
  TRY(matrix_input_open(text, 0, &made->m, e));
  made->text = text;
  matrix_input_size(made->m, &rows, &columns, &entries);
  return named ? gen_input_check(g, rows, columns, entries, e) : 0;
}

static int compute(rt_harness *b, gen_instance *g, made_matrix *made, size_t arg,
                   const gen_datum *d, void *bytes, err *e) {
  const char *name = b->t->args[arg].name;
  if (d->fill == GEN_FILL_LUA) {
    return gen_data_compute(g, arg, d, bytes, e);
  }
  if (!d->part) {
    return data_file_read(d, name, bytes, e);
  }
  const bool named = d->fill == GEN_FILL_MATRIX;
  const char *text = named ? d->input : arena_format(&b->memory, "file:%s", d->file);
  TRY(text ? 0 : err_nomem(e));
  TRY(make_matrix(made, g, text, named, e));
  return matrix_input_put(made->m, d->part, name, d->type, d->count, bytes, e);
}

/* The same in all cases in which there are as many elements. */
static int find_contents(rt_harness *b, gen_instance *g, made_matrix *made, harness_case *c,
                         size_t arg, err *e) {
  const gen_datum *d = &c->data->args[arg];
  for (const harness_case *o = b->cases; o < c; o++) {
    if (o->contents[arg] && same_fill(d, &o->data->args[arg])) {
      c->contents[arg] = o->contents[arg];
      return 0;
    }
  }
  void *bytes = arena_new(&b->memory, harness_nbytes(c, arg) + 1);
  if (!bytes) {
    return err_nomem(e);
  }
  c->contents[arg] = bytes;
  return compute(b, g, made, arg, d, bytes, e);
}

static int make_contents(rt_harness *b, gen_instance *g, made_matrix *made, harness_case *c,
                         err *e) {
  for (size_t i = 0; i < b->t->n_args; i++) {
    const gen_fill_kind fill = c->data->args[i].fill;
    const bool by_host = fill == GEN_FILL_FILE || fill == GEN_FILL_LUA || fill == GEN_FILL_MATRIX;
    if (by_host && harness_is_buffer(b, i) && !harness_is_recorded(c, i)) {
      TRY(find_contents(b, g, made, c, i, e));
    }
  }
  return 0;
}

static int make_case(rt_harness *b, gen_instance *g, made_matrix *made, size_t i, err *e) {
  harness_case *c = &b->cases[i];
  size_t n = b->t->n_args;
  TRY(make_data(b, g, i, e));
  c->contents = ARENA_ARRAY(&b->memory, const void *, n + 1);
  c->magnitude = ARENA_ARRAY(&b->memory, double, n + 1);
  c->valid = ARENA_ARRAY(&b->memory, uint64_t, n + 1);
  c->found = ARENA_ARRAY(&b->memory, uint64_t, n + 1);
  c->given = ARENA_ARRAY(&b->memory, rt_ptr, n + 1);
  c->at = ARENA_ARRAY(&b->memory, rt_ptr, n + 1);
  c->expected = ARENA_ARRAY(&b->memory, rt_ptr, n + 1);
  c->bounds = ARENA_ARRAY(&b->memory, rt_ptr, n + 1);
  c->values = ARENA_ARRAY(&b->memory, uint64_t, n + 1);
  c->args = ARENA_ARRAY(&b->memory, const void *, n + 1);
  c->host = ARENA_ARRAY(&b->memory, void *, n + 1);
  c->on_device = ARENA_ARRAY(&b->memory, const void *, 2 * n + 1);
  c->zones = ARENA_ARRAY(&b->memory, rt_zone, n + 2);
  if (!c->contents || !c->magnitude || !c->valid || !c->found || !c->given || !c->at ||
      !c->expected || !c->bounds || !c->values || !c->args || !c->host || !c->on_device ||
      !c->zones) {
    return err_nomem(e);
  }
  for (size_t j = 0; j < n; j++) {
    c->magnitude[j] = 1;
    c->values[j] = c->data->args[j].bits;
    c->args[j] = &c->values[j];
    c->on_device[j] = harness_is_buffer(b, j) ? (const void *)&c->at[j] : c->args[j];
    c->on_device[n + j] = &c->expected[j];
  }
  return make_contents(b, g, made, c, e);
}

static int make_all_cases(rt_harness *b, gen_instance *g, err *e) {
  made_matrix made = {0};
  int rc = 0;
  for (size_t i = 0; !rc && i < b->n_cases; i++) {
    rc = make_case(b, g, &made, i, e);
  }
  matrix_input_close(made.m);
  return rc;
}

int harness_make_cases(rt_harness *b, gen_instance *g, err *e) {
  size_t n = b->t->n_args;
  b->n_cases = b->t->n_cases + (b->captured != NULL);
  b->cases = ARENA_ARRAY(&b->memory, harness_case, b->n_cases + 1);
  b->masters = ARENA_ARRAY(&b->memory, rt_ptr, n + 1);
  b->filled = ARENA_ARRAY(&b->memory, gen_datum, n + 1);
  b->blocks = ARENA_ARRAY(&b->memory, rt_ptr, 3 + 2 * n + 3 * n * b->n_cases);
  b->host = ARENA_ARRAY(&b->memory, void *, n + 1);
  if (!b->cases || !b->masters || !b->filled || !b->blocks || !b->host) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < n; i++) {
    b->n_buffers += harness_is_buffer(b, i);
  }
  return make_all_cases(b, g, e);
}

/* ---- on the device: how much memory ------------------------------------------------------ */

static int take(rt_harness *b, uint64_t nbytes, rt_ptr *p, err *e) {
  TRY(b->d->ops->alloc(b->d, nbytes, p, e));
  b->blocks[b->n_blocks++] = *p;
  return 0;
}

static void lay_out(rt_harness *b) {
  uint64_t end = CANARY_NBYTES, footprint = 0;
  for (size_t i = 0; i < b->t->n_args; i++) {
    if (harness_is_buffer(b, i)) {
      end = round_up(end, ALIGNMENT) + largest(b, i) + CANARY_NBYTES;
      footprint += round_up(harness_nbytes(&b->cases[0], i), L2_LINE);
    }
  }
  b->stride = round_up(end, ALIGNMENT);
  b->set_nbytes = footprint;
}

/* One set, masters, expected results, and recorded contents. */
static uint64_t least_nbytes(const rt_harness *b) {
  uint64_t n = b->stride;
  for (size_t i = 0; i < b->t->n_args; i++) {
    n += harness_is_buffer(b, i) && b->t->args[i].dir != GEN_OUT ? largest(b, i) : 0;
    n += harness_is_recorded(&b->cases[0], i) ? harness_nbytes(&b->cases[0], i) : 0;
    for (size_t j = 0; j < b->n_cases; j++) {
      n += harness_is_output(b, i) ? harness_nbytes(&b->cases[j], i) : 0;
      n += harness_bounds_nbytes(b, &b->cases[j], i);
    }
  }
  return n;
}

/* Enough sets to exceed twice the L2 together, in at most half of the remaining memory. */
static uint64_t count_sets(const rt_harness *b, uint64_t left) {
  uint64_t twice = 2 * (uint64_t)b->d->info.l2_nbytes;
  uint64_t room = left / 2 / b->stride + 1;
  if (b->separate || b->set_nbytes == 0 || b->set_nbytes > twice) {
    return 1;
  }
  uint64_t wanted = twice / b->set_nbytes + 1;
  wanted = wanted < MAX_SETS ? wanted : MAX_SETS;
  return wanted < room ? wanted : room;
}

static int measure_memory(rt_harness *b, err *e) {
  int64_t left;
  TRY(b->d->ops->memory_free(b->d, &left, e));
  lay_out(b);
  uint64_t least = least_nbytes(b);
  if (least > (uint64_t)left) {
    return err_set(
        e, ERR_NOMEM,
        "the problem needs %.6g MB on the device (buffers, inputs, the reference's results "
        "of %zu cases) and %.6g MB are free; take a smaller one",
        (double)least / 1e6, b->n_cases, (double)left / 1e6);
  }
  b->n_sets = count_sets(b, (uint64_t)left - least);
  return 0;
}

/* ---- on the device: where each buffer lies --------------------------------------------------- */

/* All buffers of a set lie in one allocation. A canary reaches from the end that a buffer has in
 * this case to the start of the next buffer. */
static void place_case(rt_harness *b, harness_case *c) {
  uint64_t room_end = CANARY_NBYTES;
  rt_ptr end = b->sets;
  rt_zone *zone = c->zones;
  for (size_t i = 0; i < b->t->n_args; i++) {
    if (harness_is_buffer(b, i)) {
      uint64_t offset = round_up(room_end, ALIGNMENT);
      c->at[i] = b->sets + offset + shift_of(c, i);
      *zone++ = (rt_zone){end, c->at[i] - end};
      end = c->at[i] + harness_nbytes(c, i);
      room_end = offset + largest(b, i) + CANARY_NBYTES;
    }
  }
  *zone = (rt_zone){end, b->sets + b->stride - end};
}

static int place_separately(rt_harness *b, harness_case *c, err *e) {
  for (size_t i = 0; i < b->t->n_args; i++) {
    if (harness_is_buffer(b, i)) {
      TRY(take(b, harness_nbytes(c, i) + shift_of(c, i), &c->at[i], e));
      c->at[i] += shift_of(c, i);
    }
  }
  return 0;
}

/* Pinned, where the device can. */
static int take_host(rt_harness *b, size_t arg, err *e) {
  const uint64_t nbytes = largest(b, arg) + 1;
  if (b->d->ops->host_alloc) {
    return b->d->ops->host_alloc(b->d, nbytes, &b->host[arg], e);
  }
  b->host[arg] = malloc(nbytes);
  return b->host[arg] ? 0 : err_nomem(e);
}

static int place_on_host(rt_harness *b, harness_case *c, size_t arg, err *e) {
  TRY(b->host[arg] ? 0 : take_host(b, arg, e));
  c->host[arg] = b->host[arg];
  c->values[arg] = (uintptr_t)b->host[arg];
  return 0;
}

void harness_free_host(rt_harness *b) {
  for (size_t i = 0; b->host && i < b->t->n_args; i++) {
    b->d->ops->host_alloc ? b->d->ops->host_free(b->d, b->host[i]) : free(b->host[i]);
  }
}

static int place(rt_harness *b, err *e) {
  b->n_zones = b->separate ? 0 : b->n_buffers + 1;
  if (!b->separate) {
    TRY(take(b, b->n_sets * b->stride, &b->sets, e));
  }
  for (size_t i = 0; i < b->n_cases; i++) {
    harness_case *c = &b->cases[i];
    if (b->separate) {
      TRY(place_separately(b, c, e));
    } else {
      place_case(b, c);
    }
    for (size_t j = 0; j < b->t->n_args; j++) {
      c->values[j] = harness_is_buffer(b, j) ? c->at[j] : c->values[j];
      TRY(c->data->args[j].host ? place_on_host(b, c, j, e) : 0);
    }
  }
  return 0;
}

/* Where the reference's results of a case are kept. */
static int take_expected(rt_harness *b, harness_case *c, size_t arg, err *e) {
  const uint64_t nbytes = harness_bounds_nbytes(b, c, arg);
  TRY(nbytes ? take(b, nbytes, &c->bounds[arg], e) : 0);
  return take(b, harness_nbytes(c, arg), &c->expected[arg], e);
}

int harness_allocate(rt_harness *b, err *e) {
  TRY(measure_memory(b, e));
  TRY(place(b, e));
  for (size_t i = 0; i < b->t->n_args; i++) {
    if (harness_is_buffer(b, i) && b->t->args[i].dir != GEN_OUT) {
      TRY(take(b, largest(b, i), &b->masters[i], e));
    }
    if (harness_is_recorded(&b->cases[0], i)) {
      TRY(take(b, harness_nbytes(&b->cases[0], i), &b->cases[0].given[i], e));
    }
    for (size_t j = 0; j < b->n_cases && harness_is_output(b, i); j++) {
      TRY(take_expected(b, &b->cases[j], i, e));
    }
  }
  if (b->t->counts_wrong) {
    TRY(take(b, rt_loaded_workspace_nbytes(b->reference), &b->counted, e));
  }
  b->found = ARENA_ARRAY(&b->memory, rt_finding, b->n_buffers + b->n_zones + 1);
  if (!b->found) {
    return err_nomem(e);
  }
  TRY(take(b, (b->n_buffers + b->n_zones) * sizeof(rt_finding), &b->findings, e));
  return take(b, b->n_zones * sizeof(rt_zone), &b->zones, e);
}

/* ---- contents ------------------------------------------------------------------------------ */

/* Each input has a seed of its own, the same in all cases, but for parts of the same places. */
static uint64_t seed_of(const rt_harness *b, const gen_datum *d, size_t arg) {
  const bool given = d->fill == GEN_FILL_PATTERN && d->generator.seed >= 0;
  return (given ? ~(uint64_t)d->generator.seed : arg + 1) + (b->draw << 32);
}

/* The emulator runs a sample of each launch's blocks, which must not apply to the filling kernels:
 * inputs of zeros cost other than random ones where data decide (atomics on bins). A kernel fills
 * only the beginning of a large input, and copies repeat it, since filling all of it would take
 * longer than the candidate. */
static int fill_sampled(rt_harness *b, const gen_datum *wanted, size_t arg, int64_t sample,
                        err *e) {
  gen_datum some = *wanted;
  uint64_t size = dtype_nbytes(wanted->type);
  some.count = wanted->count < FILLED_MAX ? wanted->count : FILLED_MAX;
  rt_emu_set_sample(b->d, 0);
  int rc = rt_checker_fill(b->checker, &some, seed_of(b, wanted, arg), b->masters[arg], e);
  rt_emu_set_sample(b->d, sample);
  for (uint64_t have = some.count; !rc && have < wanted->count;) {
    uint64_t n = wanted->count - have < have ? wanted->count - have : have;
    rc = b->d->ops->copy(b->d, b->masters[arg] + have * size, b->masters[arg], n * size, NULL, e);
    have += n;
  }
  return rc;
}

static bool is_random(const gen_datum *d) {
  const gen_fill_kind fill = d->fill;
  const int64_t pattern = d->generator.pattern;
  if (fill == GEN_FILL_PATTERN) {
    return pattern == GEN_IMAGE_NOISE || pattern == GEN_POINTS_UNIFORM ||
           pattern == GEN_POINTS_CLUSTER || pattern == GEN_ATOMS_WATER ||
           pattern == GEN_KSPACE_RANDOM;
  }
  return fill == GEN_FILL_UNIFORM || fill == GEN_FILL_NORMAL || fill == GEN_FILL_BITS ||
         fill == GEN_FILL_SORTED;
}

static bool find_kind(const char *name, size_t n, rt_kind *out) {
  const char *const *names = gen_kind_names();
  for (size_t i = 0; i < RT_KINDS && names[i]; i++) {
    if (strlen(names[i]) == n && !memcmp(names[i], name, n)) {
      *out = (rt_kind)i;
      return true;
    }
  }
  return false;
}

int rt_kinds_parse(const char *text, unsigned *kinds, err *e) {
  *kinds = 0;
  for (const char *p = text; p && *p; p += strspn(p, ",")) {
    const size_t n = strcspn(p, ",");
    rt_kind kind;
    if (!find_kind(p, n, &kind)) {
      return err_set(e, ERR_USAGE, "'%.*s' is no kind of data; there are own, sorted, equal, small",
                     (int)n, p);
    }
    *kinds |= 1u << kind | 1u << RT_KIND_OWN;
    p += n;
  }
  return 0;
}

enum { SMALL_SHARE = 1024, BITS_EQUAL = 64, BITS_SMALL = 16 };

/* Bits are the and of so many random words; of 64 all are 0. */
static void set_bits(rt_kind kind, gen_datum *d) {
  d->a = kind == RT_KIND_EQUAL ? BITS_EQUAL : kind == RT_KIND_SMALL ? BITS_SMALL : d->a;
  if (kind == RT_KIND_SORTED && !dtype_is_float(d->type)) {
    *d = (gen_datum){.type = d->type, .count = d->count, .fill = GEN_FILL_RAMP, .b = 1};
  }
}

static gen_datum of_kind(const gen_datum *wanted, rt_kind kind) {
  gen_datum d = *wanted;
  if (d.fill == GEN_FILL_BITS) {
    set_bits(kind, &d);
  } else if (d.fill == GEN_FILL_UNIFORM || d.fill == GEN_FILL_SORTED) {
    d.fill = kind == RT_KIND_SORTED  ? GEN_FILL_SORTED
             : kind == RT_KIND_EQUAL ? GEN_FILL_CONSTANT
                                     : d.fill;
    d.b = kind == RT_KIND_SMALL ? d.a + floor((d.b - d.a) / SMALL_SHARE) : d.b;
  }
  return d;
}

bool rt_harness_redraw(rt_harness *b, uint64_t draw, rt_kind kind) {
  const harness_case *c = &b->cases[0];
  bool any = false;
  for (size_t i = 0; i < b->t->n_args; i++) {
    any |= harness_is_buffer(b, i) && !harness_is_poisoned(b, c, i) && !harness_is_recorded(c, i) &&
           !c->contents[i] && is_random(&c->data->args[i]);
    b->filled[i] =
        draw == b->draw && kind == b->kind ? b->filled[i] : (gen_datum){.count = UINT64_MAX};
  }
  b->draw = draw;
  b->kind = kind;
  return any;
}

static int refresh_master(rt_harness *b, const harness_case *c, size_t arg, err *e) {
  const gen_datum *wanted = &c->data->args[arg];
  if (same_fill(wanted, &b->filled[arg])) {
    return 0;
  }
  const gen_datum drawn = of_kind(wanted, b->kind);
  int64_t sample = rt_emu_is(b->d) ? rt_emu_sample(b->d) : 0;
  TRY(c->contents[arg] ? b->d->ops->copy_in(b->d, b->masters[arg], c->contents[arg],
                                            harness_nbytes(c, arg), NULL, e)
      : sample         ? fill_sampled(b, &drawn, arg, sample, e)
               : rt_checker_fill(b->checker, &drawn, seed_of(b, wanted, arg), b->masters[arg], e));
  b->filled[arg] = *wanted;
  return 0;
}

static int start_buffer(rt_harness *b, harness_case *c, size_t arg, err *e) {
  const rt_device_ops *ops = b->d->ops;
  uint64_t nbytes = harness_nbytes(c, arg);
  if (harness_is_poisoned(b, c, arg)) {
    return ops->set(b->d, c->at[arg], harness_poison(c->data->args[arg].type), nbytes, NULL, e);
  }
  if (harness_is_recorded(c, arg)) {
    return ops->copy(b->d, c->at[arg], c->given[arg], nbytes, NULL, e);
  }
  TRY(refresh_master(b, c, arg, e));
  return ops->copy(b->d, c->at[arg], b->masters[arg], nbytes, NULL, e);
}

int harness_collect(rt_harness *b, const harness_case *c, err *e) {
  for (size_t i = 0; i < b->t->n_args; i++) {
    if (c->host[i]) {
      TRY(b->d->ops->stream_sync(b->d, NULL, e));
      TRY(b->d->ops->copy_in(b->d, c->at[i], c->host[i], harness_nbytes(c, i), NULL, e));
    }
  }
  return 0;
}

int harness_start(rt_harness *b, harness_case *c, err *e) {
  for (size_t i = 0; i < b->n_zones; i++) {
    TRY(b->d->ops->set(b->d, c->zones[i].at, HARNESS_CANARY, c->zones[i].nbytes, NULL, e));
  }
  for (size_t i = 0; i < b->t->n_args; i++) {
    if (harness_is_buffer(b, i)) {
      TRY(start_buffer(b, c, i, e));
      TRY(c->host[i]
              ? b->d->ops->copy_out(b->d, c->host[i], c->at[i], harness_nbytes(c, i), NULL, e)
              : 0);
    }
  }
  return 0;
}
