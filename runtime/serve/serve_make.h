/* serve_make.h -- a kernel being made for a problem: its candidates, one of them loaded.
 *
 *   serve_make m;
 *   rc = serve_make_begin(&m, s, f, p, problem, e);
 *   rc = rc ? rc : serve_make_next(&m, e);                      the next candidate
 *   rc = rc ? rc : serve_make_load(&m, SERVE_AT_HAND, e);       its image
 *   rc = rc ? rc : serve_make_kernel(&m, &k, e);
 *   serve_make_end(&m);
 *
 * Under the context's lock and in the device's turn. */
#ifndef SERVE_MAKE_H
#define SERVE_MAKE_H

#include "data_features.h"
#include "serve_build.h"
#include "serve_choose.h"

typedef struct serve_family { /* a template in use, until the context is closed */
  struct serve_family *next;
  char *name; /* as the program calls it: "sgemm" or a path */
  gen_template *t;
  serve_known known; /* read by serve_choose */
  serve_notes notes;
  rt_features features;
} serve_family;

typedef struct serve_make {
  serve_family *f;
  const gen_problem *p;
  const char *problem; /* canonical */
  serve_build b;       /* b.pick: the candidate */
  serve_choose choose;
  rt_loaded *loaded;
} serve_make;

/* serve_make_begin -- serve_make_end, after an error too */
int serve_make_begin(serve_make *m, serve *s, serve_family *f, const gen_problem *p,
                     const char *problem, err *e);
void serve_make_end(serve_make *m);

/* serve_make_first -- the first candidate, noted by an earlier process or chosen now; serve_make_next
 * may bring it again. serve_make_next -- the next that is chosen. err  as serve_choose_next */
int serve_make_first(serve_make *m, err *e);
int serve_make_next(serve_make *m, err *e);
/* serve_make_load -- err  as serve_build_load */
int serve_make_load(serve_make *m, serve_effort effort, err *e);
/* serve_make_load_first -- the first candidate, from the next on, that can be loaded whatever it
 * takes; one whose image is damaged, say, while there is no NVRTC, is skipped. If all fail, the
 * error is the default's. */
int serve_make_load_first(serve_make *m, err *e);
/* serve_make_kernel -- of the candidate that was loaded; belongs to the context */
int serve_make_kernel(serve_make *m, tuned_kernel **k, err *e);

/* serve_make_news -- what is new of all templates of the context, to be written without its lock */
void serve_make_news(serve *s, serve_news *news);

#endif
