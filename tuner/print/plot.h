/* plot.h -- SVG pictures: common parts, and bar charts. */
#ifndef TUNE_PLOT_H
#define TUNE_PLOT_H

#include "str.h"

/* plot_colour -- one of eight colours that remain distinct with red-green colour blindness */
const char *plot_colour(size_t i);
enum { PLOT_COLOURS = 8 };
/* plot_begin -- header, white background and title; end with plot_end */
void plot_begin(int width, int height, const char *title, str *out);
void plot_end(str *out);
/* plot_text -- anchor: "start", "middle" or "end" */
void plot_text(double x, double y, const char *anchor, const char *text, str *out);
void plot_line(double x1, double y1, double x2, double y2, const char *colour, str *out);

typedef struct plot_bar {
  const char *label, *text; /* on the left; at the bar's end */
  double value;
  size_t colour;
} plot_bar;

/* plot_bars -- from zero to the right */
void plot_bars(const plot_bar *bars, size_t n, const char *title, str *out);
/* plot_ratios -- from 1, larger to the right and smaller to the left, on a logarithmic axis */
void plot_ratios(const plot_bar *bars, size_t n, const char *title, str *out);

#endif
