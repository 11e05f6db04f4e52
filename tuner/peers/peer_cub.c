/* peer_cub.c -- CUB, from the headers of the installed toolkit or of $TUNED_CCCL: peer_cub.cu,
 * compiled by nvcc for the types of the problem, on the template's own buffers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"
#include "file.h"
#include "nvcc.h"
#include "peer.h"
#include "peer_cub.h"
#include "tuner_files.h"

/* ---- families -------------------------------------------------------------------------------- */

/* How a family's problem maps to CUB's call: names of its fields and arguments. */
typedef struct recipe {
  const char *family, *algorithm;
  const char *payload;         /* field: bytes of the value that accompanies a key; NULL: none */
  const char *in[PEER_CUB_IN]; /* arguments; the last two only for pairs */
  const char
      *out[PEER_CUB_OUT]; /* arguments; where there may be values, the second is of pairs only */
} recipe;

static const recipe recipes[] = {
    {"reduce", "PEER_REDUCE", NULL, {"x"}, {"y"}},
    {"argmax", "PEER_ARGMAX", NULL, {"x"}, {"y"}},
    {"scan", "PEER_SCAN", NULL, {"x"}, {"y"}},
    {"segmented_reduce", "PEER_SEGMENTED_REDUCE", NULL, {"x", "starts"}, {"y"}},
    {"segmented_scan", "PEER_SCAN_BY_KEY", NULL, {"x", "starts"}, {"y"}},
    {"histogram", "PEER_HISTOGRAM", NULL, {"x"}, {"y"}},
    {"radix_sort",
     "PEER_RADIX_SORT",
     "value_bytes",
     {"keys_in", NULL, "values_in"},
     {"keys_out", "values_out"}},
    {"segmented_sort",
     "PEER_SEGMENTED_SORT",
     "value_bytes",
     {"keys_in", "offsets", "values_in"},
     {"keys_out", "values_out"}},
    {"merge", "PEER_MERGE", "value", {"a", "b", "av", "bv"}, {"c", "cv"}},
    {"merge_sort", "PEER_MERGE_SORT", "value", {"x", NULL, "xv"}, {"y", "yv"}},
    {"vector_add", "PEER_TRANSFORM", NULL, {"a", "b"}, {"c"}},
    {"quadtree", "PEER_QUADTREE", NULL, {"x", "y"}, {"nodes", "node_count", "permutation"}},
};
static const char *const families[] = {
    "reduce",     "argmax",         "scan",  "segmented_reduce", "segmented_scan", "histogram",
    "radix_sort", "segmented_sort", "merge", "merge_sort",       "vector_add",     "quadtree",
    NULL};

static const recipe *recipe_of(const gen_template *t) {
  const recipe *r = recipes;
  while (strcmp(r->family, t->name)) {
    r++;
  }
  return r;
}

/* Types as peer_cub.cu spells them. */
static const struct {
  const char *dtype, *text;
  double
      loosest; /* rounding in this type, compared with a template that accumulates in a wider one */
} types[] = {{"u8", "uint8_t", 1},       {"i8", "int8_t", 1},
             {"u16", "uint16_t", 1},     {"i16", "int16_t", 1},
             {"u32", "uint32_t", 1},     {"i32", "int32_t", 1},
             {"u64", "uint64_t", 1},     {"i64", "int64_t", 1},
             {"f16", "__half", 1 << 20}, {"bf16", "__nv_bfloat16", 1 << 24},
             {"f32", "float", 1 << 10},  {"f64", "double", 1 << 10}};
enum { TYPES_KNOWN = sizeof types / sizeof *types };

static int type_of(const gen_template *t, const gen_problem *p, size_t *out, err *e) {
  const char *of = peer_word(t, p, "dtype"), *word = of ? of : "f32";
  for (*out = 0; *out < TYPES_KNOWN; (*out)++) {
    if (!strcmp(types[*out].dtype, word)) {
      return 0;
    }
  }
  return err_set(e, ERR_USAGE, "cub is not used for elements of type %s", word);
}

static const char *payload_of(const gen_template *t, const gen_problem *p) {
  const char *field = recipe_of(t)->payload;
  const int64_t nbytes = field ? peer_number(t, p, field, 0) : 0;
  return nbytes == 8 ? "uint64_t" : nbytes == 4 ? "uint32_t" : NULL;
}

/* ---- what a problem asks for ----------------------------------------------------------------- */

static bool is_word(const gen_template *t, const gen_problem *p, const char *names,
                    const char *prefix) {
  const char *word = peer_word(t, p, names);
  return word && !strncmp(word, prefix, strlen(prefix));
}

static int check_range(const peer_cub_call *c, err *e) {
  if (c->bins >= INT32_MAX || c->lower < INT32_MIN || c->upper > INT32_MAX) {
    return err_set(e, ERR_USAGE, "CUB has 32-bit levels: the bins reach from %.0f to %.0f",
                   c->lower, c->upper);
  }
  return 0;
}

static int check_gaps(const gen_template *t, const gen_problem *p, err *e) {
  return peer_number(t, p, "rows", 1) > 1 && peer_number(t, p, "ld", 0) > peer_number(t, p, "n", 0)
             ? err_set(e, ERR_USAGE, "CUB has no sum of rows that lie apart")
             : 0;
}

static int call_of(const gen_template *t, const gen_problem *p, size_t type, peer_cub_call *c,
                   err *e) {
  dtype d = DTYPE_u8;
  dtype_parse(types[type].dtype, &d);
  const int bits = (int)(8 * dtype_nbytes(d));
  *c = (peer_cub_call){.n = peer_number(t, p, "n", 0) * peer_number(t, p, "rows", 1),
                       .m = peer_number(t, p, "m", peer_number(t, p, "segments", 0)),
                       .exclusive = is_word(t, p, "kind", "exclusive"),
                       .descending = is_word(t, p, "order", "d"),
                       .begin_bit = (int)peer_number(t, p, "begin_bit", 0),
                       .end_bit = (int)peer_number(t, p, "end_bit", bits),
                       .bins = peer_number(t, p, "bins", 0),
                       .lower = (double)peer_number(t, p, "lower", 0),
                       .min_points = (int)peer_number(t, p, "min_points", 0),
                       .max_depth = (int)peer_number(t, p, "max_depth", 0),
                       .first = 1};
  c->upper = c->lower + (double)peer_number(t, p, "span", 0);
  TRY(check_gaps(t, p, e));
  return check_range(c, e);
}

/* Flags that select what is compiled. */
static int flags_of(const gen_template *t, const gen_problem *p, str *flags, err *e) {
  const recipe *r = recipe_of(t);
  const char *op = peer_word(t, p, "op"), *payload = payload_of(t, p);
  size_t type;
  peer_cub_call c;
  TRY(type_of(t, p, &type, e));
  TRY(call_of(t, p, type, &c, e));
  if (op && !strncmp(op, "norm", 4)) {
    return err_set(e, ERR_USAGE, "CUB has no op=%s", op);
  }
  str_addf(flags, "-D%s -DPEER_TYPE=%s -DPEER_OFFSET=%s -DPEER_OPERATOR=peer_%s", r->algorithm,
           types[type].text, c.n + c.m > INT32_MAX ? "int64_t" : "int", op ? op : "sum");
  if (payload) {
    str_addf(flags, " -DPEER_PAYLOAD=%s", payload);
  }
  return 0;
}

/* Another CCCL than the toolkit's: the folder that holds cub/, and what its version header says. */
typedef struct headers {
  const char *folder; /* NULL: the toolkit's */
  str version;
} headers;

static int find_headers(headers *h, err *e) {
  auto_str path = {0};
  const char *folder = secure_getenv("TUNED_CCCL");
  *h = (headers){.folder = folder && *folder ? folder : NULL};
  if (!h->folder) {
    return 0;
  }
  str_addf(&path, "%s/cub/version.cuh", folder);
  return file_read(str_text(&path), 1 << 20, &h->version, NULL)
             ? err_set(e, ERR_NOTFOUND,
                       "TUNED_CCCL is %s, where there is no cub/version.cuh: name the folder of "
                       "CCCL's headers, or unset it for the toolkit's",
                       folder)
             : 0;
}

static nvcc_source source_of(const char *arch, const char *flags, const headers *h,
                             gen_file files[2]) {
  files[0] = *tuner_file("peer_cub.cu");
  files[1] = *tuner_file("peer_cub.h");
  return (nvcc_source){.files = files,
                       .n_files = 2,
                       .arch = arch,
                       .flags = flags,
                       .headers = h->folder,
                       .headers_version = str_text(&h->version)};
}

/* Every combination of types once. */
static size_t distinct(const gen_template *t, const gen_problem *p, size_t n, str *flags) {
  size_t n_flags = 0;
  for (size_t i = 0; i < n; i++) {
    str *mine = &flags[n_flags];
    str_reset(mine);
    bool isnew = !flags_of(t, &p[i], mine, NULL);
    for (size_t j = 0; isnew && j < n_flags; j++) {
      isnew = strcmp(str_text(mine), str_text(&flags[j])) != 0;
    }
    n_flags += isnew;
  }
  return n_flags;
}

static int prepare(const gen_template *t, const gen_problem *p, size_t n, const rt_info *info,
                   err *e) {
  str *flags = calloc(n + 1, sizeof *flags), *paths = calloc(n + 1, sizeof *paths);
  nvcc_source *sources = calloc(n + 1, sizeof *sources);
  gen_file files[2];
  headers h = {0};
  size_t n_flags = flags && paths && sources ? distinct(t, p, n, flags) : 0;
  int rc = flags && paths && sources ? find_headers(&h, e) : err_nomem(e);
  for (size_t i = 0; i < n_flags; i++) {
    sources[i] = source_of(info->arch, str_text(&flags[i]), &h, files);
  }
  rc = rc ? rc : nvcc_build(sources, n_flags, paths, e);
  for (size_t i = 0; i < n; i++) {
    flags ? str_clear(&flags[i]) : (void)0;
    paths ? str_clear(&paths[i]) : (void)0;
  }
  str_clear(&h.version);
  free(flags);
  free(paths);
  free(sources);
  return rc;
}

/* ---- one problem ----------------------------------------------------------------------------- */

typedef struct cub {
  void *library;
  int (*run)(void *, size_t *, const peer_cub_call *, void *);
  const char *(*error)(int);
  int (*version)(void);
  rt_device *d;
  rt_ptr temporary;
  size_t nbytes;
  peer_cub_call call;
  size_t in[PEER_CUB_IN], out[PEER_CUB_OUT]; /* positions of the arguments, from 1; 0: not used */
  size_t box[PEER_CUB_BOX];
} cub;

static int launch(void *self, rt_stream s, const void *const *args, err *e) {
  cub *x = self;
  for (int i = 0; i < PEER_CUB_IN; i++) {
    x->call.in[i] = x->in[i] ? *(const void *const *)args[x->in[i] - 1] : NULL;
  }
  for (int i = 0; i < PEER_CUB_OUT; i++) {
    x->call.out[i] = x->out[i] ? *(void *const *)args[x->out[i] - 1] : NULL;
  }
  for (int i = 0; i < PEER_CUB_BOX && x->box[i]; i++) {
    memcpy(&x->call.box[i], args[x->box[i] - 1], sizeof x->call.box[i]);
  }
  int rc = x->run((void *)(uintptr_t)x->temporary, &x->nbytes, &x->call, s);
  x->call.first = 0;
  return rc ? err_set(e, ERR_LAUNCH, "CUB failed: %s", x->error(rc)) : 0;
}

static void close_(void *self) {
  cub *x = self;
  if (x->d) {
    x->d->ops->release(x->d, x->temporary);
  }
  if (x->library) {
    dlclose(x->library);
  }
  free(x);
}

static int load(cub *x, const char *flags, const rt_info *info, err *e) {
  gen_file files[2];
  headers h;
  auto_str path = {0};
  int rc = find_headers(&h, e);
  nvcc_source source = source_of(info->arch, flags, &h, files);
  rc = rc ? rc : nvcc_build(&source, 1, &path, e);
  str_clear(&h.version);
  TRY(rc);
  if (!(x->library = dlopen(str_text(&path), RTLD_NOW | RTLD_LOCAL))) {
    return err_set(e, ERR_IO, "cannot open the compiled peer: %s", dlerror());
  }
  const peer_symbol symbols[] = {
      {"peer_cub_run", &x->run}, {"peer_cub_error", &x->error}, {"peer_cub_version", &x->version}};
  return peer_symbols(x->library, "peer", symbols, 3, e);
}

static int position(const gen_template *t, const char *names, size_t *out, err *e) {
  TRY(peer_argument(t, names, out, e));
  ++*out;
  return 0;
}

static int positions(cub *x, const gen_template *t, const gen_problem *p, err *e) {
  const recipe *r = recipe_of(t);
  const bool pairs = payload_of(t, p) != NULL;
  for (int i = 0; i < PEER_CUB_IN; i++) {
    if ((i < 2 || pairs) && r->in[i]) {
      TRY(position(t, r->in[i], &x->in[i], e));
    }
  }
  for (int i = 0; i < PEER_CUB_OUT && r->out[i] && (!i || pairs || !r->payload); i++) {
    TRY(position(t, r->out[i], &x->out[i], e));
  }
  static const char *const box[PEER_CUB_BOX] = {"left", "bottom", "width", "height"};
  for (int i = 0; i < PEER_CUB_BOX && x->call.max_depth; i++) {
    TRY(position(t, box[i], &x->box[i], e));
  }
  return 0;
}

static int reserve(cub *x, rt_device *d, err *e) {
  int rc = x->run(NULL, &x->nbytes, &x->call, NULL);
  if (rc) {
    return err_set(e, ERR_LAUNCH, "CUB refuses the problem: %s", x->error(rc));
  }
  TRY(d->ops->alloc(d, x->nbytes ? x->nbytes : 1, &x->temporary, e));
  x->d = d;
  return 0;
}

static int open_cub(const gen_template *t, const gen_problem *p, rt_device *d, peer *out, err *e) {
  cub *x = calloc(1, sizeof *x);
  auto_str flags = {0};
  size_t type = 0;
  TRY(x ? 0 : err_nomem(e));
  *out = (peer){.self = x, .close = close_, .contender = {.launch = launch, .self = x}};
  TRY(flags_of(t, p, &flags, e));
  TRY(type_of(t, p, &type, e));
  TRY(call_of(t, p, type, &x->call, e));
  TRY(positions(x, t, p, e));
  TRY(load(x, str_text(&flags), &d->info, e));
  out->loosest = types[type].loosest;
  const int version = x->version();
  snprintf(out->version, sizeof out->version, "CUB %d.%d.%d", version / 100000,
           version / 100 % 1000, version % 100);
  return reserve(x, d, e);
}

const peer_kind peer_cub = {.name = "cub",
                            .brief =
                                "the device-wide algorithms of CUB, the toolkit's or $TUNED_CCCL's",
                            .families = families,
                            .prepare = prepare,
                            .open = open_cub};
