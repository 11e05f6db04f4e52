/* fat_container.c -- see fat_container.h. */
#define _GNU_SOURCE
#include "fat_container.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0xba55ed50, KIND_PTX = 1, KIND_ELF = 2, LZ4 = 0x2000, ZSTD = 0x8000 };
enum { NBYTES_MAX = 1 << 30 };

typedef struct container_header {
  uint32_t magic;
  uint16_t version, nbytes;
  uint64_t entries_nbytes; /* without this header */
} container_header;

typedef struct entry_header {
  uint16_t kind, version;
  uint32_t nbytes;         /* of this header, with names and options */
  uint64_t payload_nbytes; /* padded */
  uint32_t compressed_nbytes, options_at;
  uint16_t minor, major;
  uint32_t arch; /* 90 */
  uint32_t name_at, name_nbytes;
  uint64_t flags, reserved, plain_nbytes;
} entry_header;

/* ---- decompression --------------------------------------------------------------------------- */

/* A length of 15 goes on in bytes of up to 255. */
static bool take_length(const unsigned char **p, const unsigned char *end, size_t *n) {
  if (*n < 15) {
    return true;
  }
  while (*p < end) {
    *n += **p;
    if (*(*p)++ < 255) {
      return true;
    }
  }
  return false;
}

/* src: github.com/lz4/lz4, doc/lz4_Block_format.md: literals, then a match that may overlap itself */
bool fat_expand_lz4(const unsigned char *from, size_t from_n, unsigned char *to, size_t n) {
  const unsigned char *p = from, *end = from + from_n;
  size_t at = 0;
  while (p < end) {
    const unsigned token = *p++;
    size_t literals = token >> 4, match = token & 15;
    if (!take_length(&p, end, &literals) || literals > (size_t)(end - p) || literals > n - at) {
      return false;
    }
    memcpy(to + at, p, literals);
    at += literals;
    p += literals;
    if (p == end) {
      break;
    }
    const size_t back = end - p < 2 ? 0 : p[0] | (size_t)p[1] << 8;
    p += 2;
    if (!back || back > at || !take_length(&p, end, &match) || (match += 4) > n - at) {
      return false;
    }
    for (size_t i = 0; i < match; i++, at++) {
      to[at] = to[at - back];
    }
  }
  return at == n;
}

static int expand_zstd(const void *from, size_t from_n, void *to, size_t n, err *e) {
  void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  size_t (*decompress)(void *, size_t, const void *, size_t) = NULL;
  if (library) {
    *(void **)&decompress = dlsym(library, "ZSTD_decompress");
  }
  if (!decompress) {
    return err_set(e, ERR_NOTFOUND,
                   "the program's PTX is compressed with Zstandard and there is no libzstd.so.1: "
                   "install libzstd1, or compile with nvcc -no-compress");
  }
  const bool ok = decompress(to, n, from, from_n) == n;
  dlclose(library);
  return ok ? 0 : err_set(e, ERR_USAGE, "the program's PTX is damaged (Zstandard)");
}

static int expand(const entry_header *h, const unsigned char *payload, str *out, err *e) {
  const bool packed = h->flags & (LZ4 | ZSTD);
  const size_t n = packed ? h->plain_nbytes : h->payload_nbytes;
  if (n > NBYTES_MAX || (packed && h->compressed_nbytes > h->payload_nbytes)) {
    return err_set(e, ERR_USAGE, "the program's PTX is damaged: an entry of %zu bytes", n);
  }
  unsigned char *bytes = malloc(n + 1);
  int rc = bytes ? 0 : err_nomem(e);
  if (!rc && h->flags & ZSTD) {
    rc = expand_zstd(payload, h->compressed_nbytes, bytes, n, e);
  } else if (!rc && h->flags & LZ4) {
    rc = fat_expand_lz4(payload, h->compressed_nbytes, bytes, n)
             ? 0
             : err_set(e, ERR_USAGE, "the program's PTX is damaged (LZ4)");
  } else if (!rc) {
    memcpy(bytes, payload, n);
  }
  if (!rc) {
    str_add_n(out, bytes, strnlen((char *)bytes, n));
    rc = out->failed ? err_nomem(e) : 0;
  }
  free(bytes);
  return rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* ".target sm_90a" runs on no other architecture. */
static bool is_specific(const char *ptx) {
  const char *p = strstr(ptx, ".target");
  p = p ? p + strcspn(p, "_\n") : "";
  p += *p == '_';
  p += strspn(p, "0123456789");
  return *p == 'a' || *p == 'f';
}

typedef struct walk {
  const unsigned char *at, *end;
  const entry_header *h;
} walk;

static int walk_begin(const void *container, walk *w, err *e) {
  const container_header *h = container;
  if (h->magic != MAGIC || h->nbytes < sizeof *h) {
    return err_set(e, ERR_USAGE, "the program's device code is in a container of unknown form");
  }
  w->at = (const unsigned char *)container + h->nbytes;
  w->end = w->at + h->entries_nbytes;
  return 0;
}

/* The next entry in w->h; its payload follows the header. */
static bool walk_next(walk *w) {
  const entry_header *h = (const entry_header *)(const void *)w->at;
  const size_t left = (size_t)(w->end - w->at);
  if (left < sizeof *h || h->nbytes < sizeof *h || h->nbytes > left ||
      h->payload_nbytes > left - h->nbytes) {
    return false;
  }
  w->h = h;
  w->at += h->nbytes + h->payload_nbytes;
  return true;
}

static int no_ptx(walk w, int cc, err *e) {
  char list[200] = "";
  size_t n = 0;
  while (walk_next(&w) && n < sizeof list - 1) {
    n += (size_t)snprintf(list + n, sizeof list - n, "%s%s%u", n ? ", " : "",
                          w.h->kind == KIND_PTX ? "PTX for " : "machine code for sm_", w.h->arch);
  }
  return err_set(
      e, ERR_NOTFOUND,
      "the program carries no PTX that a device of compute capability %d.%d runs (it has "
      "%s): compile and link it with nvcc -gencode arch=compute_%d,code=compute_%d",
      cc / 10, cc % 10, n ? list : "no device code", cc, cc);
}

/* The PTX for the highest architecture of at most `most`; false: there is none. */
static bool highest(walk w, int most, const entry_header **found) {
  *found = NULL;
  while (walk_next(&w)) {
    const bool fits = w.h->kind == KIND_PTX && w.h->arch <= (uint32_t)most;
    if (fits && (!*found || w.h->arch > (*found)->arch)) {
      *found = w.h;
    }
  }
  return *found;
}

int fat_find_ptx(const void *container, int cc, str *ptx, err *e) {
  const entry_header *h;
  const size_t before = ptx->n;
  walk w = {0};
  TRY(walk_begin(container, &w, e));
  for (int most = cc; highest(w, most, &h); most = (int)h->arch - 1) {
    TRY(expand(h, (const unsigned char *)h + h->nbytes, ptx, e));
    if ((int)h->arch == cc || !is_specific(str_text(ptx) + before)) {
      return 0;
    }
    ptx->n = before;
  }
  return no_ptx(w, cc, e);
}
