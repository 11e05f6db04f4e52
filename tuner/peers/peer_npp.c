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

typedef struct routine {       /* what a family is to NPP */
  const char *family, *choice; /* a value of the field dtype, or of channels */
  const char *library, *symbol;
  int (*call)(npp *x, const void *const *args);
} routine;

enum { WIDTH, HEIGHT, SRC, SRC_PITCH, DST, DST_PITCH, FIRST_OF_FAMILY, ARGS = FIRST_OF_FAMILY + 3 };

struct npp {
  void *core, *library, *entry;
  const struct { int major, minor, build; } * (*version)(void);
  int (*stream_flags)(rt_stream, unsigned *); /* of the driver; NULL: it has none */
  const routine *r;
  rt_device *d;
  context c;
  size_t at[ARGS];  /* positions among the template's arguments */
  int radius, size; /* size: bytes of a pixel of dst */
  rt_ptr scratch;   /* of the functions that take some */
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

static const routine plain[] = {
    {"rgb_to_grey", "3", "libnppicc", "nppiColorToGray_8u_C3C1R_Ctx", grey},
    {"rgb_to_grey", "4", "libnppicc", "nppiColorToGray_8u_AC4C1R_Ctx", grey},
    {"box_blur", "u8", "libnppif", "nppiFilterBoxBorder_8u_C1R_Ctx", blur},
    {"box_blur", "f32", "libnppif", "nppiFilterBoxBorder_32f_C1R_Ctx", blur},
    {NULL},
};
static const routine advanced[] = {
    {"box_blur", "u8", "libnppif", "nppiFilterBoxBorderAdvanced_8u_C1R_Ctx", blur_advanced},
    {"box_blur", "f32", "libnppif", "nppiFilterBoxBorderAdvanced_32f_C1R_Ctx", blur_advanced},
    {NULL},
};

/* ---- what it can compute --------------------------------------------------------------------- */

static int find_routine(const routine *r, const gen_template *t, const gen_problem *p,
                        const routine **out, err *e) {
  char channels[24];
  const char *choice = peer_word(t, p, "dtype");
  if (!choice) {
    snprintf(channels, sizeof channels, "%lld", (long long)peer_number(t, p, "channels", 1));
    choice = channels;
  }
  for (*out = r; (*out)->family; (*out)++) {
    if (!strcmp((*out)->family, t->name) && !strcmp((*out)->choice, choice)) {
      return 0;
    }
  }
  return err_set(e, ERR_USAGE, "NPP has no %s of %s", t->name, choice);
}

static int check_problem(const gen_template *t, const gen_problem *p, err *e) {
  const char *border = peer_word(t, p, "border");
  if (border && strcmp(border, "replicate")) {
    return err_set(e, ERR_USAGE, "NPP's box filters know only border=replicate, not %s", border);
  }
  const int64_t radius = peer_number(t, p, "radius", 0);
  return radius < INT_MAX / 2 ? 0 : err_set(e, ERR_USAGE, "NPP's sizes have 32 bits");
}

static int positions(npp *x, const gen_template *t, err *e) {
  static const char *const names[ARGS] = {"width",     "height", "src", "src_pitch", "dst",
                                          "dst_pitch", "wr",     "wg",  "wb"};
  const int n = gen_arg_find(t, "wr") ? ARGS : FIRST_OF_FAMILY;
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
  x->c.stream = s;
  if (!x->stream_flags || x->stream_flags(s, &x->c.stream_flags)) {
    x->c.stream_flags = 0;
  }
  const int rc = x->r->call(x, args);
  return rc ? err_set(e, ERR_LAUNCH, "%s failed with status %d", x->r->symbol, rc) : 0;
}

static void close_(void *self) {
  npp *x = self;
  if (x->scratch) {
    x->d->ops->release(x->d, x->scratch);
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

static int load(npp *x, err *e) {
  TRY(open_library("libnppc", &x->core, e));
  TRY(peer_symbols(x->core, "NPP", &(peer_symbol){"nppGetLibVersion", &x->version}, 1, e));
  TRY(open_library(x->r->library, &x->library, e));
  return peer_symbols(x->library, "NPP", &(peer_symbol){x->r->symbol, &x->entry}, 1, e);
}

static int open_npp(const routine *routines, const gen_template *t, const gen_problem *p,
                    rt_device *d, peer *out, err *e) {
  npp *x = calloc(1, sizeof *x);
  TRY(x ? 0 : err_nomem(e));
  /* A tolerance is a quarter of a level: where NPP rounds elsewhere, its levels are beside ours. */
  *out = (peer){.self = x, .close = close_, .loosest = 4, .contender = {launch, x}};
  x->d = d;
  x->radius = (int)peer_number(t, p, "radius", 0);
  TRY(find_routine(routines, t, p, &x->r, e));
  x->size = strcmp(x->r->choice, "f32") ? 1 : 4;
  TRY(check_problem(t, p, e));
  TRY(positions(x, t, e));
  TRY(load(x, e));
  fill_context(x);
  snprintf(out->version, sizeof out->version, "NPP %d.%d.%d", x->version()->major,
           x->version()->minor, x->version()->build);
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

static const char *const families[] = {"rgb_to_grey", "box_blur", NULL};
const peer_kind peer_npp = {.name = "npp",
                            .brief = "NPP: nppiColorToGray, nppiFilterBoxBorder",
                            .families = families,
                            .prepare = prepare,
                            .open = open_plain};
static const char *const advanced_families[] = {"box_blur", NULL};
const peer_kind peer_npp_advanced = {.name = "npp-advanced",
                                     .brief = "NPP's filters for large masks",
                                     .families = advanced_families,
                                     .prepare = prepare,
                                     .open = open_advanced};
