/* replay_plot.c -- the curves of strategies as an SVG picture.
 *
 * The legend is in the order of the curves at their right end. The vertical axis starts at the
 * lowest curve after ten trials, which leaves room for the upper part, where the curves differ. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plot.h"
#include "replay.h"

enum { WIDTH = 900, HEIGHT = 540, LEFT = 60, TOP = 50, RIGHT = 190, BOTTOM = 50, FIRST = 10 };

static double x_of(double trial) {
  return LEFT + (WIDTH - LEFT - RIGHT) * trial / REPLAY_EVALUATIONS;
}

static double y_of(double fraction, double low) {
  double inside = fmax(0, fraction - low) / (1 - low);
  return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * inside;
}

static void number(str *out, double x, double y, const char *anchor, int digits, double v) {
  char text[32];
  snprintf(text, sizeof text, "%.*f", digits, v);
  plot_text(x, y, anchor, text, out);
}

static void grid(str *out, double low) {
  for (int trial = 0; trial <= REPLAY_EVALUATIONS; trial += 50) {
    plot_line(x_of(trial), TOP, x_of(trial), HEIGHT - BOTTOM, "#ddd", out);
    number(out, x_of(trial), HEIGHT - BOTTOM + 18, "middle", 0, trial);
  }
  for (int i = (int)ceil(low * 20 - 1e-9); i <= 20; i++) {
    double y = y_of(i / 20.0, low);
    plot_line(LEFT, y, WIDTH - RIGHT, y, "#ddd", out);
    number(out, LEFT - 8, y + 4, "end", 2, i / 20.0);
  }
}

static void curve(str *out, const replay_line *l, size_t i, double low) {
  str_addf(out, "<polyline fill=\"none\" stroke-width=\"1.8\" stroke=\"%s\"%s points=\"",
           plot_colour(i), i >= PLOT_COLOURS ? " stroke-dasharray=\"6 3\"" : "");
  for (int k = FIRST - 1; k < REPLAY_EVALUATIONS; k++) {
    str_addf(out, "%.1f,%.1f ", x_of(k + 1), y_of(l->curve->fraction[k], low));
  }
  str_add(out, "\"/>\n");
}

static void legend(str *out, const replay_line *l, size_t i) {
  double y = TOP + 12 + 22.0 * (double)i;
  str_addf(out, "<path d=\"M%d %.1f h26\" stroke-width=\"2.5\" stroke=\"%s\"%s/>\n",
           WIDTH - RIGHT + 14, y, plot_colour(i),
           i >= PLOT_COLOURS ? " stroke-dasharray=\"6 3\"" : "");
  char text[100];
  snprintf(text, sizeof text, "%s %.3f", l->name, l->curve->fraction[REPLAY_EVALUATIONS - 1]);
  plot_text(WIDTH - RIGHT + 46, y + 4, "start", text, out);
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
  plot_begin(WIDTH, HEIGHT, title, out);
  grid(out, low);
  for (size_t i = 0; i < n; i++) {
    curve(out, &sorted[i], i, low);
    legend(out, &sorted[i], i);
  }
  plot_text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle", "trials", out);
  plot_end(out);
  free(sorted);
}
