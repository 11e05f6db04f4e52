#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 900, TOP = 50, BOTTOM = 46, RIGHT = 90, ROW = 20, LETTER = 8, LEFT_MOST = 460 };

/* src: Okabe and Ito, Color Universal Design, 2008 */
static const char *const colours[PLOT_COLOURS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                  "#E69F00", "#56B4E9", "#000000", "#999900"};

const char *plot_colour(size_t i) {
  return colours[i % PLOT_COLOURS];
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

void plot_begin(int width, int height, const char *title, str *out) {
  str_addf(out,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
           "font-family=\"sans-serif\" font-size=\"13\">\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
           width, height);
  str_add(out, "<text x=\"60\" y=\"26\" font-size=\"16\">");
  add_escaped(out, title);
  str_add(out, "</text>\n");
}

void plot_end(str *out) {
  str_add(out, "</svg>\n");
}

void plot_text(double x, double y, const char *anchor, const char *text, str *out) {
  str_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  add_escaped(out, text);
  str_add(out, "</text>\n");
}

void plot_line(double x1, double y1, double x2, double y2, const char *colour, str *out) {
  str_addf(out, "<path d=\"M%.1f %.1f L%.1f %.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2, colour);
}

/* ---- bars ------------------------------------------------------------------------------------ */

typedef struct axis {
  double left, low, high; /* pixels; values at the left and right end */
  bool logarithmic;
  int height;
} axis;

static double x_of(const axis *a, double v) {
  double inside = a->logarithmic ? (log2(v) - log2(a->low)) / (log2(a->high) - log2(a->low))
                                 : (v - a->low) / (a->high - a->low);
  return a->left + (WIDTH - RIGHT - a->left) * fmin(fmax(inside, 0), 1);
}

static double label_width(const plot_bar *bars, size_t n) {
  size_t most = 8;
  for (size_t i = 0; i < n; i++) {
    most = strlen(bars[i].label) > most ? strlen(bars[i].label) : most;
  }
  return fmin(LEFT_MOST, 20.0 + LETTER * (double)most);
}

static void bar(const axis *a, const plot_bar *b, size_t i, double from, str *out) {
  double y = TOP + ROW * (double)i, x1 = x_of(a, from), x2 = x_of(a, b->value);
  str_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
           fmin(x1, x2), y + 3, fmax(fabs(x2 - x1), 0.5), ROW - 6, plot_colour(b->colour));
  plot_text(a->left - 8, y + 14, "end", b->label, out);
  plot_text(fmax(x1, x2) + 5, y + 14, "start", b->text, out);
}

static void tick(const axis *a, double v, str *out) {
  char text[32];
  snprintf(text, sizeof text, "%.4g", v);
  plot_line(x_of(a, v), TOP, x_of(a, v), a->height - BOTTOM, v == 1 ? "#000" : "#ddd", out);
  plot_text(x_of(a, v), a->height - BOTTOM + 18, "middle", text, out);
}

static int height_of(size_t n) {
  return TOP + BOTTOM + ROW * (int)n;
}

void plot_bars(const plot_bar *bars, size_t n, const char *title, str *out) {
  axis a = {.left = label_width(bars, n), .height = height_of(n)};
  for (size_t i = 0; i < n; i++) {
    a.high = fmax(a.high, bars[i].value);
  }
  a.high = a.high > 0 ? a.high : 1;
  plot_begin(WIDTH, a.height, title, out);
  for (size_t i = 0; i < n; i++) {
    bar(&a, &bars[i], i, 0, out);
  }
  plot_end(out);
}

void plot_ratios(const plot_bar *bars, size_t n, const char *title, str *out) {
  axis a = {.left = label_width(bars, n),
            .height = height_of(n),
            .low = 0.5,
            .high = 2,
            .logarithmic = true};
  for (size_t i = 0; i < n; i++) {
    while (bars[i].value > a.high && a.high < 1024) {
      a.high *= 2;
    }
    while (bars[i].value < a.low && a.low > 1.0 / 1024) {
      a.low /= 2;
    }
  }
  plot_begin(WIDTH, a.height, title, out);
  for (double v = a.low; v <= a.high; v *= 2) {
    tick(&a, v, out);
  }
  for (size_t i = 0; i < n; i++) {
    bar(&a, &bars[i], i, 1, out);
  }
  plot_end(out);
}
