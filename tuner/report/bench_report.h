/* bench_report.h -- the output of bench: rows of times, their summary, a picture. Arithmetic and
 * text only. */
#ifndef TUNE_BENCH_REPORT_H
#define TUNE_BENCH_REPORT_H

#include "device.h"
#include "str.h"

typedef struct bench_time {
  double sec; /* 0: did not take part */
  double spread, error;
} bench_time;

typedef struct bench_row {
  const char *label, *problem;         /* short; canonical */
  const char *origin, *config;         /* of the kernel that libtuned serves: "exact", "nearest",
                                        * ... */
  const char *tuned_for;               /* problem; NULL: a default */
  bench_time ours, plain, given, peer; /* the served kernel; the template's default; --config; the
                                        * vendor's */
  const char
      *differs;     /* where the peer is less exact than its arithmetic explains; NULL: nowhere */
  double floor_sec; /* lower bound of the time by the device's peaks */
} bench_row;

typedef struct bench_report {
  const char *device, *family, *peer, *version; /* peer NULL: the default stands in */
  bool modelled, hot, graph, errors;
  int width;         /* of the labels */
  double sum;        /* of the ratios' logarithms */
  size_t n, n_ahead; /* ratios; those of at least 1 */
  double worst;      /* ratio */
  char worst_label[200];
} bench_report;

/* bench_report_count -- add a row to the summary; once a row, before it is printed */
void bench_report_count(bench_report *r, const bench_row *row);
double bench_report_mean(const bench_report *r); /* geometric; NAN: of nothing */

void bench_report_head(const bench_report *r, str *out);
void bench_report_row(const bench_report *r, const bench_row *row, str *out);
/* bench_report_differs -- a line with both errors, if the peer is less exact than it should be */
void bench_report_differs(const bench_report *r, const bench_row *row, str *out);
void bench_report_end(const bench_report *r, str *out);
void bench_report_row_json(const bench_report *r, const bench_row *row, str *out);
void bench_report_end_json(const bench_report *r, str *out);
/* bench_report_plot -- SVG: a bar with the ratio of each row */
void bench_report_plot(const bench_report *r, const bench_row *rows, size_t n, str *out);

#endif
