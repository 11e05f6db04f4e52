/* base_make.h -- compiles the base set: the texts of base_forms.h for several architectures, into a
 * file that base_images.h reads. */
#ifndef BASE_MAKE_H
#define BASE_MAKE_H

#include "gen.h"

/* What the library is installed with: machine code of the A100 and of the H100 and H200, PTX for what
 * lies between and comes later. Texts of compute capability 9.0 that differ from those of 8.0 have
 * instructions that PTX of 8.0 has not. */
#define BASE_ARCHS "sm_80,sm_90a,compute_80,compute_90"

enum { BASE_ARCHS_MOST = 16 };

typedef struct base_request {
  const char *path; /* the file to make; what it holds already is kept if it is up to date */
  const char *archs[BASE_ARCHS_MOST]; /* "sm_90a", "compute_80"; PTX by rising capability */
  size_t n_archs;
  const gen_options *templates;
  const char *const *families;
  size_t n_families;
  int jobs; /* compile processes; 0: one per core */
} base_request;

typedef struct base_result {
  size_t n_texts, n_images, n_kept; /* kept: taken from the file as it was */
  size_t n_failed;                  /* texts that do not compile, which are left out */
  err failure;                      /* of the first of them */
  int64_t nbytes, n_packed;         /* of all images, and as they are stored */
  double sec;
} base_result;

/* base_archs_parse -- "sm_80,compute_80", or with blanks between; the names lie in the arena.
 *   err  ERR_USAGE */
int base_archs_parse(const char *list, arena *a, base_request *r, err *e);
/* base_make -- the file is replaced when the new one is complete.
 *   err  ERR_DEVICE  there is no NVRTC; nothing is written */
int base_make(const base_request *r, base_result *out, err *e);

#endif
