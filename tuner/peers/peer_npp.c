/* peer_npp.c -- NPP's image functions. What is needed of them is declared here, from NPP's
 * documentation, so that the build needs neither its headers nor the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

enum { BORDER_REPLICATE = 2 }; /* of NppiBorderType */

typedef struct context { /* NppStreamContext */
  void *stream;
  int device, sms, threads_sm, threads_block;
  size_t smem_block;
  int cc_major, cc_minor;
  unsigned stream_flags, workspace; /* workspace 0: none */
} context;

typedef struct size2 { /* NppiSize, NppiPoint */
  int x, y;
} size2;

typedef struct npp npp;

typedef struct routine {        /* what a family is to NPP */
  const char *family, *choice;  /* a value of the field dtype, or of channels */
  const char *border, *rank;    /* of these fields; NULL: there are none */
  const char *library, *symbol; /* and `second`, of routines that call two functions */
  int (*call)(npp *x, const void *const *args);
  const char *second;
} routine;

enum { WIDTH, HEIGHT, SRC, SRC_PITCH, DST, DST_PITCH, FIRST_OF_FAMILY, ARGS = FIRST_OF_FAMILY + 3 };
enum { FILTERS = 2, KNOWN = 1024 };

struct npp {
  void *core, *library, *entry, *second;
  const struct { int major, minor, build; } * (*version)(void);
  int (*stream_flags)(rt_stream, unsigned *); /* of the driver; NULL: it has none */
  const routine *r;
  rt_device *d;
  context c;
  size_t at[ARGS];                    /* positions among the template's arguments */
  int radius, size;                   /* size: bytes of a pixel of dst */
  rt_ptr scratch;                     /* of the functions that take some */
  int rx, ry;                         /* of filters with taps */
  bool turns;                         /* NPP turns them around, so that it is to have them turned */
  int (*capturing)(rt_stream, int *); /* of the driver */
  rt_ptr turned[FILTERS];
  rt_ptr known[FILTERS][KNOWN]; /* where taps that are turned already came from */
  int n_known[FILTERS];
};

/* ---- arguments ------------------------------------------------------------------------------- */

static int narrow(const npp *x, const void *const *args, int i) {
  return *(const int32_t *)args[x->at[i]];
}

static int64_t wide(const npp *x, const void *const *args, int i) {
  return *(const int64_t *)args[x->at[i]];
}

static void *address(const npp *x, const void *const *args, int i) {
  return (void *)(uintptr_t) * (const rt_ptr *)args[x->at[i]];
}

static size2 size_of(const npp *x, const void *const *args) {
  return (size2){narrow(x, args, WIDTH), narrow(x, args, HEIGHT)};
}

/* Ours are of elements, NPP's of bytes. */
static int pitch(const npp *x, const void *const *args, int i) {
  return (int)wide(x, args, i) * x->size;
}

#define FROM address(x, args, SRC), pitch(x, args, SRC_PITCH)
#define TO address(x, args, DST), pitch(x, args, DST_PITCH)

/* ---- the functions --------------------------------------------------------------------------- */

static int grey(npp *x, const void *const *args) {
  int (*f)(const void *, int, void *, int, size2, const float *, context) = NULL;
  float weights[4] = {0}; /* of four channels the last does not count */
  *(void **)&f = x->entry;
  for (int i = 0; i < 3; i++) {
    weights[i] = (float)*(const double *)args[x->at[FIRST_OF_FAMILY + i]];
  }
  return f(FROM, TO, size_of(x, args), weights, x->c);
}

static const size2 origin = {0, 0};

static int blur(npp *x, const void *const *args) {
  int (*f)(const void *, int, size2, size2, void *, int, size2, size2, size2, int, context) = NULL;
  const size2 image = size_of(x, args), side = {2 * x->radius + 1, 2 * x->radius + 1};
  *(void **)&f = x->entry;
  return f(FROM, image, origin, TO, image, side, (size2){x->radius, x->radius}, BORDER_REPLICATE,
           x->c);
}

static int blur_advanced(npp *x, const void *const *args) {
  int (*f)(const void *, int, size2, size2, void *, int, size2, size2, size2, int, void *,
           context) = NULL;
  const size2 image = size_of(x, args), side = {2 * x->radius + 1, 2 * x->radius + 1};
  *(void **)&f = x->entry;
  return f(FROM, image, origin, TO, image, side, (size2){x->radius, x->radius}, BORDER_REPLICATE,
           (void *)(uintptr_t)x->scratch, x->c);
}

/* Taps as NPP expects them: those at args[at], or a turned copy. All buffers that a run times have
 * the same contents, so one copy serves them; it is made at the first launch with each. */
static const void *taps(npp *x, const void *const *args, int i, int n) {
  const rt_ptr from = (rt_ptr)(uintptr_t)address(x, args, FIRST_OF_FAMILY + i);
  float *host;
  int captures = 0;
  if (!x->turns) {
    return (const void *)(uintptr_t)from;
  }
  const void *turned = (const void *)(uintptr_t)x->turned[i];
  for (int k = 0; k < x->n_known[i]; k++) {
    if (x->known[i][k] == from) {
      return turned;
    }
  }
  if (x->capturing && !x->capturing(x->c.stream, &captures) && captures) {
    return turned;
  }
  host = malloc(sizeof *host * (size_t)n);
  if (!host || x->d->ops->copy_out(x->d, host, from, sizeof *host * (size_t)n, NULL, NULL)) {
    free(host);
    return NULL;
  }
  for (int k = 0; k < n / 2; k++) {
    const float swap = host[k];
    host[k] = host[n - 1 - k];
    host[n - 1 - k] = swap;
  }
  const int rc = x->d->ops->copy_in(x->d, x->turned[i], host, sizeof *host * (size_t)n, NULL, NULL);
  free(host);
  if (rc) {
    return NULL;
  }
  x->known[i][x->n_known[i]] = from;
  x->n_known[i] = (x->n_known[i] + 1) % KNOWN;
  return turned;
}

static int filter_border(npp *x, const void *const *args) {
  int (*f)(const void *, int, size2, size2, void *, int, size2, const void *, size2, size2, int,
           context) = NULL;
  const size2 image = size_of(x, args), side = {2 * x->rx + 1, 2 * x->ry + 1};
  *(void **)&f = x->entry;
  return f(FROM, image, origin, TO, image, taps(x, args, 0, side.x * side.y), side,
           (size2){x->rx, x->ry}, BORDER_REPLICATE, x->c);
}

/* Without a border: the image begins inside of what is read. */
static int filter_inside(npp *x, const void *const *args) {
  int (*f)(const void *, int, void *, int, size2, const void *, size2, size2, context) = NULL;
  const size2 image = size_of(x, args), side = {2 * x->rx + 1, 2 * x->ry + 1};
  const char *first = (const char *)address(x, args, SRC) +
                      (ptrdiff_t)pitch(x, args, SRC_PITCH) * x->ry + (ptrdiff_t)x->rx * x->size;
  *(void **)&f = x->entry;
  return f(first, pitch(x, args, SRC_PITCH), TO, (size2){image.x - 2 * x->rx, image.y - 2 * x->ry},
           taps(x, args, 0, side.x * side.y), side, (size2){x->rx, x->ry}, x->c);
}

static int filter_separable(npp *x, const void *const *args) {
  int (*along)(const void *, int, size2, size2, void *, int, size2, const void *, int, int, int,
               context) = NULL;
  const size2 image = size_of(x, args);
  void *between = (void *)(uintptr_t)x->scratch;
  const int step = image.x * x->size;
  *(void **)&along = x->entry;
  const int rc = along(FROM, image, origin, between, step, image, taps(x, args, 0, 2 * x->rx + 1),
                       2 * x->rx + 1, x->rx, BORDER_REPLICATE, x->c);
  *(void **)&along = x->second;
  return rc ? rc
            : along(between, step, image, origin, TO, image, taps(x, args, 1, 2 * x->ry + 1),
                    2 * x->ry + 1, x->ry, BORDER_REPLICATE, x->c);
}

static const routine plain[] = {
    {"rgb_to_grey", "3", NULL, NULL, "libnppicc", "nppiColorToGray_8u_C3C1R_Ctx", grey, NULL},
    {"rgb_to_grey", "4", NULL, NULL, "libnppicc", "nppiColorToGray_8u_AC4C1R_Ctx", grey, NULL},
    {"box_blur", "u8", "replicate", NULL, "libnppif", "nppiFilterBoxBorder_8u_C1R_Ctx", blur, NULL},
    {"box_blur", "f32", "replicate", NULL, "libnppif", "nppiFilterBoxBorder_32f_C1R_Ctx", blur,
     NULL},
    {"conv2d", "f32", "replicate", "full", "libnppif", "nppiFilterBorder_32f_C1R_Ctx",
     filter_border, NULL},
    {"conv2d", "f32", "valid", "full", "libnppif", "nppiFilter_32f_C1R_Ctx", filter_inside, NULL},
    {"conv2d", "f32", "replicate", "separable", "libnppif", "nppiFilterRowBorder_32f_C1R_Ctx",
     filter_separable, "nppiFilterColumnBorder_32f_C1R_Ctx"},
    {NULL},
};
static const routine advanced[] = {
    {"box_blur", "u8", "replicate", NULL, "libnppif", "nppiFilterBoxBorderAdvanced_8u_C1R_Ctx",
     blur_advanced, NULL},
    {"box_blur", "f32", "replicate", NULL, "libnppif", "nppiFilterBoxBorderAdvanced_32f_C1R_Ctx",
     blur_advanced, NULL},
    {NULL},
};

/* ---- what it can compute --------------------------------------------------------------------- */

static bool is_as(const char *wanted, const char *word) {
  return !wanted || (word && !strcmp(wanted, word));
}

static int find_routine(const routine *r, const gen_template *t, const gen_problem *p,
                        const routine **out, err *e) {
  char channels[24];
  const char *choice = peer_word(t, p, "dtype");
  if (!choice) {
    snprintf(channels, sizeof channels, "%lld", (long long)peer_number(t, p, "channels", 1));
    choice = channels;
  }
  for (*out = r; (*out)->family; (*out)++) {
    if (!strcmp((*out)->family, t->name) && !strcmp((*out)->choice, choice) &&
        is_as((*out)->border, peer_word(t, p, "border")) &&
        is_as((*out)->rank, peer_word(t, p, "rank"))) {
      return 0;
    }
  }
  const char *border = peer_word(t, p, "border"), *rank = peer_word(t, p, "rank");
  return err_set(e, ERR_USAGE, "NPP has no %s of %s%s%s%s%s", t->name, choice,
                 border ? ", border=" : "", border ? border : "", rank ? ", rank=" : "",
                 rank ? rank : "");
}

static int check_problem(const gen_template *t, const gen_problem *p, err *e) {
  const int64_t radius = peer_number(t, p, "radius", 0);
  if (radius >= INT_MAX / 2) {
    return err_set(e, ERR_USAGE, "NPP's sizes have 32 bits");
  }
  const char *taps = peer_word(t, p, "taps");
  if (taps && strcmp(taps, "device")) {
    return err_set(e, ERR_USAGE, "NPP has its filter in the device's memory: taps=device");
  }
  return gen_arg_find(t, "f") && !is_as("f32", peer_word(t, p, "ftype"))
             ? err_set(e, ERR_USAGE, "NPP has only filters of f32")
             : 0;
}

static int positions(npp *x, const gen_template *t, err *e) {
  static const char *const names[ARGS] = {"width nx",      "height ny", "src x",
                                          "src_pitch ldx", "dst y",     "dst_pitch ldy",
                                          "wr f",          "wg fy",     "wb"};
  const int n = gen_arg_find(t, "wr")  ? ARGS
                : gen_arg_find(t, "f") ? FIRST_OF_FAMILY + FILTERS
                                       : FIRST_OF_FAMILY;
  for (int i = 0; i < n; i++) {
    TRY(peer_argument(t, names[i], &x->at[i], e));
  }
  return 0;
}

/* ---- the library ----------------------------------------------------------------------------- */

static void *open_below(const char *folder, const char *name, const char *version) {
  char path[4096];
  const int n = snprintf(path, sizeof path, "%s%s.so%s", folder, name, version);
  return n < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* All libraries must be of one version, which the first, libnppc, decides. */
static int open_library(const char *name, void **library, err *e) {
  static const char *const versions[] = {".13", ".12", ""};
  char home[2][2048] = {"", ""};
  const char *cuda = secure_getenv("CUDA_HOME");
  if (cuda) {
    snprintf(home[0], sizeof home[0], "%s/lib64/", cuda);
    snprintf(home[1], sizeof home[1], "%s/lib/", cuda);
  }
  const char *const folders[] = {"", home[0], home[1], "/usr/local/cuda/lib64/"};
  for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
      *library = f == 0 || *folders[f] ? open_below(folders[f], name, versions[v]) : NULL;
      if (*library) {
        return 0;
      }
    }
  }
  return err_set(e, ERR_NOTFOUND,
                 "NPP is not on this machine (%s.so.13 or .12; the toolkit or the wheel nvidia-npp "
                 "has it)",
                 name);
}

static int prepare(const gen_template *t, const gen_problem *p, size_t n, const rt_info *info,
                   err *e) {
  void *library;
  (void)t, (void)p, (void)n, (void)info;
  TRY(open_library("libnppc", &library, e));
  dlclose(library);
  return 0;
}

static void fill_context(npp *x) {
  const rt_info *i = &x->d->info;
  x->c = (context){.device = i->ordinal,
                   .sms = i->sms,
                   .threads_sm = i->threads_sm,
                   .threads_block = i->threads_block,
                   .smem_block = (size_t)i->smem_static,
                   .cc_major = i->cc / 10,
                   .cc_minor = i->cc % 10};
  *(void **)&x->stream_flags = peer_driver_symbol("cuStreamGetFlags");
}

/* ---- a peer ---------------------------------------------------------------------------------- */

static int launch(void *self, rt_stream s, const void *const *args, err *e) {
  npp *x = self;
  if (wide(x, args, SRC_PITCH) > INT_MAX / 4 || wide(x, args, DST_PITCH) > INT_MAX / 4) {
    return err_set(e, ERR_USAGE, "NPP's pitches have 32 bits");
  }
  if (!strcmp(x->r->choice, "4") &&
      ((uintptr_t)address(x, args, SRC) | (uintptr_t)pitch(x, args, SRC_PITCH)) % 4) {
    return err_set(e, ERR_USAGE,
                   "NPP faults where pixels of four channels begin at no multiple of 4 bytes");
  }
  x->c.stream = s;
  if (!x->stream_flags || x->stream_flags(s, &x->c.stream_flags)) {
    x->c.stream_flags = 0;
  }
  const int rc = x->r->call(x, args);
  return rc ? err_set(e, ERR_LAUNCH, "%s failed with status %d", x->r->symbol, rc) : 0;
}

static void close_(void *self) {
  npp *x = self;
  x->d->ops->release(x->d, x->scratch);
  for (int i = 0; i < FILTERS; i++) {
    x->d->ops->release(x->d, x->turned[i]);
  }
  if (x->library) {
    dlclose(x->library);
  }
  if (x->core) {
    dlclose(x->core);
  }
  free(x);
}

static int take_scratch(npp *x, const gen_template *t, const gen_problem *p, err *e) {
  int (*nbytes)(size2, int, int *) = NULL;
  const size2 image = {(int)peer_number(t, p, "width", 0), (int)peer_number(t, p, "height", 0)};
  int n = 0;
  TRY(peer_symbols(x->library, "NPP",
                   &(peer_symbol){"nppiFilterBoxBorderAdvancedGetDeviceBufferSize", &nbytes}, 1,
                   e));
  if (nbytes(image, 1, &n) || n < 0) {
    return err_set(e, ERR_USAGE, "NPP has no scratch size for this image");
  }
  return x->d->ops->alloc(x->d, (uint64_t)n + 1, &x->scratch, e);
}

/* ---- filters with taps ----------------------------------------------------------------------- */

/* Does NPP turn filters around? A filter of ascending taps at a lone pixel tells. */
static int probe(npp *x, err *e) {
  enum { SIDE = 8, TAPS = 3, PIXELS = SIDE * SIDE };
  float host[3][PIXELS] = {{0}};
  rt_ptr at = 0;
  const int rx = x->rx, ry = x->ry, inside = !strcmp(x->r->border, "valid");
  host[0][4 * SIDE + 4] = 1;
  for (int i = 0; i < TAPS * TAPS; i++) {
    host[2][i] = (float)(i + 1);
  }
  TRY(x->d->ops->alloc(x->d, sizeof host, &at, e));
  const rt_ptr src = at, dst = at + sizeof host[0], f = dst + sizeof host[1];
  const int32_t side = SIDE;
  const int64_t row = SIDE;
  const void *const values[] = {&side, &side, &src, &row, &dst, &row, &f, &f};
  const void *args[32];
  for (int i = 0; i < FIRST_OF_FAMILY + FILTERS; i++) {
    args[x->at[i]] = values[i];
  }
  x->rx = x->ry = 1;
  int rc = x->d->ops->copy_in(x->d, at, host, sizeof host, NULL, e);
  if (!rc && x->r->call(x, args)) {
    rc = err_set(e, ERR_LAUNCH, "%s fails", x->r->symbol);
  }
  rc = rc ? rc : x->d->ops->copy_out(x->d, host, at, sizeof host, NULL, e);
  x->d->ops->release(x->d, at);
  x->rx = rx, x->ry = ry;
  x->turns = host[1][(3 - inside) * SIDE + 3 - inside] < 2;
  return rc;
}

/* The emulated device has no NPP; tests have one that doesn't turn. */
static int prepare_filter(npp *x, const gen_template *t, const gen_problem *p, err *e) {
  const uint64_t n[FILTERS] = {(2 * (uint64_t)x->rx + 1) * (2 * (uint64_t)x->ry + 1),
                               2 * (uint64_t)x->ry + 1};
  for (int i = 0; i < FILTERS; i++) {
    TRY(x->d->ops->alloc(x->d, 4 * n[i], &x->turned[i], e));
  }
  if (x->r->second) {
    const uint64_t pixels =
        (uint64_t)peer_number(t, p, "nx", 0) * (uint64_t)peer_number(t, p, "ny", 0);
    TRY(x->d->ops->alloc(x->d, 4 * pixels + 4 * 64, &x->scratch, e));
  }
  *(void **)&x->capturing = peer_driver_symbol("cuStreamIsCapturing");
  return x->d->info.modelled ? 0 : probe(x, e);
}

static int load(npp *x, err *e) {
  TRY(open_library("libnppc", &x->core, e));
  TRY(peer_symbols(x->core, "NPP", &(peer_symbol){"nppGetLibVersion", &x->version}, 1, e));
  TRY(open_library(x->r->library, &x->library, e));
  const peer_symbol symbols[] = {{x->r->symbol, &x->entry}, {x->r->second, &x->second}};
  return peer_symbols(x->library, "NPP", symbols, x->r->second ? 2 : 1, e);
}

static int open_npp(const routine *routines, const gen_template *t, const gen_problem *p,
                    rt_device *d, peer *out, err *e) {
  npp *x = calloc(1, sizeof *x);
  TRY(x ? 0 : err_nomem(e));
  /* A tolerance is a quarter of a level: where NPP rounds elsewhere, its levels are beside ours. */
  *out = (peer){.self = x, .close = close_, .loosest = 4, .contender = {launch, x}};
  x->d = d;
  x->radius = (int)peer_number(t, p, "radius", 0);
  x->rx = (int)peer_number(t, p, "rx", 0);
  x->ry = (int)peer_number(t, p, "ry", 0);
  TRY(find_routine(routines, t, p, &x->r, e));
  x->size = strcmp(x->r->choice, "f32") ? 1 : 4;
  TRY(check_problem(t, p, e));
  TRY(positions(x, t, e));
  TRY(load(x, e));
  fill_context(x);
  snprintf(out->version, sizeof out->version, "NPP %d.%d.%d", x->version()->major,
           x->version()->minor, x->version()->build);
  if (gen_arg_find(t, "f")) {
    out->loosest = 16;
    return prepare_filter(x, t, p, e);
  }
  return routines == advanced ? take_scratch(x, t, p, e) : 0;
}

static int open_plain(const gen_template *t, const gen_problem *p, rt_device *d, peer *out,
                      err *e) {
  return open_npp(plain, t, p, d, out, e);
}

static int open_advanced(const gen_template *t, const gen_problem *p, rt_device *d, peer *out,
                         err *e) {
  return open_npp(advanced, t, p, d, out, e);
}

static const char *const families[] = {"rgb_to_grey", "box_blur", "conv2d", NULL};
const peer_kind peer_npp = {.name = "npp",
                            .brief = "NPP: nppiColorToGray, nppiFilterBoxBorder, nppiFilter",
                            .families = families,
                            .prepare = prepare,
                            .open = open_plain};
static const char *const advanced_families[] = {"box_blur", NULL};
const peer_kind peer_npp_advanced = {.name = "npp-advanced",
                                     .brief = "NPP's filters for large masks",
                                     .families = advanced_families,
                                     .prepare = prepare,
                                     .open = open_advanced};
