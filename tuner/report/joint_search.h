/* joint_search.h -- what is lost where parameters are not searched jointly: every point of a grid against
 * one axis at a time, and against the points that a Pareto filter leaves. Text and arithmetic only.
 *
 * src: Ryoo et al., Program optimization space pruning for a multithreaded GPU, CGO 2008: of two
 * points, one that issues fewer instructions and has more warps on a multiprocessor is tried first.
 */
#ifndef REPORT_JOINT_SEARCH_H
#define REPORT_JOINT_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

enum { JOINT_AXES = 8, JOINT_POINTS = 2048 };

typedef struct joint_axis {
  const char *name;
  const char *const *values;
  size_t n;
} joint_axis;

typedef struct joint_point {
  uint16_t index[JOINT_AXES];
  double sec;          /* 0: it failed */
  double instructions; /* that its warps issue; counted on the emulated device */
  double warps;        /* on a multiprocessor at a time */
} joint_point;

typedef struct joint_space {
  const char *problem, *device;
  bool modelled;
  const joint_axis *axes;
  size_t n_axes;
  const joint_point *points;
  size_t n;
  size_t start; /* the point with the default's values, where it is one; else n */
} joint_space;

typedef struct joint_summary {
  size_t failed;
  size_t best;             /* n: no point worked */
  size_t by_axes;          /* one axis after the other, from the start, or the first point */
  double by_axes_median;   /* time over the best, from all points */
  double by_axes_worst;    /* likewise */
  size_t front, best_left; /* how many points the filter leaves; the best of them */
} joint_summary;

/* joint_by_axes -- the point that a pass over the axes comes to, the best of each in turn */
size_t joint_by_axes(const joint_space *s, size_t from);
/* joint_is_left -- does no other point issue at most as many instructions with at least as many warps,
 * and differ in one of them? */
bool joint_is_left(const joint_space *s, size_t i);
void joint_summarise(const joint_space *s, joint_summary *out);
void joint_text(const joint_space *s, const joint_summary *of, str *out);
void joint_json(const joint_space *s, const joint_summary *of, str *out);

#endif
