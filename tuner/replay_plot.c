/* replay_plot.c -- curves of strategies as one SVG picture.
 *
 * Read from the best strategy downwards: the legend is in the order of the curves at their end. The
 * vertical axis starts where the lowest curve is after ten trials, so that the upper part, which
 * matters, has room.
 */
#include <math.h>
#include <stdlib.h>

#include "replay.h"

enum { WIDTH = 900, HEIGHT = 540, LEFT = 60, TOP = 50, RIGHT = 190, BOTTOM = 50, FIRST = 10 };

/* Told apart by eyes that confuse red and green too (src: Okabe and Ito, Color Universal Design,
 * 2008); beyond the eighth the line is dashed. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000", "#999900"};
enum { COLOURS = sizeof colours / sizeof *colours };

static double x_of(double trial) {
  return LEFT + (WIDTH - LEFT - RIGHT) * trial / REPLAY_EVALUATIONS;
}

static double y_of(double fraction, double low) {
  double inside = fmax(0, fraction - low) / (1 - low);
  return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * inside;
}

static void text(str *out, double x, double y, const char *anchor, const char *format, double v) {
  str_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  str_addf(out, format[0] == '2' ? "%.2f" : "%.0f", v);
  str_add(out, "</text>\n");
}

static void add_escaped(str *out, const char *s) {
  for (; *s; s++) {
    if (*s == '<' || *s == '&' || *s == '>') {
      str_addf(out, "&#%d;", *s);
    } else {
      str_add_n(out, s, 1);
    }
  }
}

static void grid(str *out, double low) {
  for (int trial = 0; trial <= REPLAY_EVALUATIONS; trial += 50) {
    str_addf(out, "<path d=\"M%.1f %d V%d\" stroke=\"#ddd\"/>\n", x_of(trial), TOP,
             HEIGHT - BOTTOM);
    text(out, x_of(trial), HEIGHT - BOTTOM + 18, "middle", "0", trial);
  }
  for (int i = (int)ceil(low * 20 - 1e-9); i <= 20; i++) {
    double y = y_of(i / 20.0, low);
    str_addf(out, "<path d=\"M%d %.1f H%d\" stroke=\"#ddd\"/>\n", LEFT, y, WIDTH - RIGHT);
    text(out, LEFT - 8, y + 4, "end", "2", i / 20.0);
  }
}

static void curve(str *out, const replay_line *l, size_t i, double low) {
  str_addf(out, "<polyline fill=\"none\" stroke-width=\"1.8\" stroke=\"%s\"%s points=\"",
           colours[i % COLOURS], i >= COLOURS ? " stroke-dasharray=\"6 3\"" : "");
  for (int k = FIRST - 1; k < REPLAY_EVALUATIONS; k++) {
    str_addf(out, "%.1f,%.1f ", x_of(k + 1), y_of(l->curve->fraction[k], low));
  }
  str_add(out, "\"/>\n");
}

static void legend(str *out, const replay_line *l, size_t i) {
  double y = TOP + 12 + 22.0 * (double)i;
  str_addf(out, "<path d=\"M%d %.1f h26\" stroke-width=\"2.5\" stroke=\"%s\"%s/>\n",
           WIDTH - RIGHT + 14, y, colours[i % COLOURS],
           i >= COLOURS ? " stroke-dasharray=\"6 3\"" : "");
  str_addf(out, "<text x=\"%d\" y=\"%.1f\">", WIDTH - RIGHT + 46, y + 4);
  add_escaped(out, l->name);
  str_addf(out, " %.3f</text>\n", l->curve->fraction[REPLAY_EVALUATIONS - 1]);
}

static int by_end(const void *a, const void *b) {
  const replay_line *x = a, *y = b;
  double u = x->curve->fraction[REPLAY_EVALUATIONS - 1];
  double v = y->curve->fraction[REPLAY_EVALUATIONS - 1];
  return u > v ? -1 : u < v;
}

static double lowest(const replay_line *lines, size_t n) {
  double low = 0.95;
  for (size_t i = 0; i < n; i++) {
    low = fmin(low, lines[i].curve->fraction[FIRST - 1]);
  }
  return floor(low * 20) / 20;
}

void replay_plot(const replay_line *lines, size_t n, const char *title, str *out) {
  replay_line *sorted = malloc((n + 1) * sizeof *sorted);
  if (!sorted) {
    out->failed = true;
    return;
  }
  for (size_t i = 0; i < n; i++) {
    sorted[i] = lines[i];
  }
  qsort(sorted, n, sizeof *sorted, by_end);
  double low = lowest(sorted, n);
  str_addf(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
      "font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      WIDTH, HEIGHT);
  str_addf(out, "<text x=\"%d\" y=\"26\" font-size=\"16\">", LEFT);
  add_escaped(out, title);
  str_add(out, "</text>\n");
  grid(out, low);
  for (size_t i = 0; i < n; i++) {
    curve(out, &sorted[i], i, low);
    legend(out, &sorted[i], i);
  }
  str_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">trials</text>\n</svg>\n",
           (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12);
  free(sorted);
}
