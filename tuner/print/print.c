#define _GNU_SOURCE
#include "print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "file.h"

static void format_scaled(str *s, double v, const char *const *units, double step) {
  size_t i = 0;
  while (v >= step && units[i + 1]) {
    v /= step;
    i++;
  }
  str_addf(s, "%.*f %s", v < 10 ? 2 : v < 100 ? 1 : 0, v, units[i]);
}

void format_sec(str *s, double sec) {
  static const char *const units[] = {"us", "ms", "s", NULL};
  format_scaled(s, sec * 1e6, units, 1000);
}

double rate_floor(const rt_info *info, double flops, double bytes, bool *compute) {
  double by_flops = flops / rt_peak_flops(info), by_bytes = bytes / rt_peak_bandwidth(info);
  *compute = by_flops >= by_bytes;
  return *compute ? by_flops : by_bytes;
}

void format_rate(str *s, const rt_info *info, double flops, double bytes, double sec) {
  static const char *const flop_units[] = {"GFLOP/s", "TFLOP/s", "PFLOP/s", NULL};
  static const char *const byte_units[] = {"GB/s", "TB/s", "PB/s", NULL};
  bool compute;
  double least = rate_floor(info, flops, bytes, &compute);
  if (sec > 0 && least > 0) {
    format_scaled(s, (compute ? flops : bytes) / sec / 1e9, compute ? flop_units : byte_units,
                  1000);
    str_addf(s, ", %.0f %% of peak", 100 * least / sec);
  }
}

void format_count(str *s, double n) {
  char digits[64];
  int length = snprintf(digits, sizeof digits, "%.0f", n);
  for (int i = 0; i < length; i++) {
    str_addf(s, "%s%c", i && (length - i) % 3 == 0 && digits[i - 1] != '-' ? "," : "", digits[i]);
  }
}

/* The settings in `words`, separated by commas, that differ from the default, or those that do not. */
static void add_settings(const gen_template *t, const char *words, bool differing, str *out) {
  const size_t start = out->n;
  gen_config def;
  gen_config_default(t, &def);
  for (const char *at = words; *at;) {
    char setting[2 * GEN_MAX_NAME + 2];
    const size_t n = strcspn(at, ",");
    gen_config c = def;
    snprintf(setting, sizeof setting, "%.*s", (int)n, at);
    if (gen_config_set(t, setting, &c) && gen_config_equal(t, &c, &def) != differing) {
      str_addf(out, "%s%s", out->n > start ? "," : "", setting);
    }
    at += n + (at[n] == ',');
  }
}

static int add_words(gen_template *t, const rt_info *device, const char *problem,
                     const char *config, str *out) {
  gen_problem p;
  gen_config c;
  auto_str words = {0}, same = {0};
  auto_instance *g = NULL;
  TRY(gen_problem_parse(t, problem, &p, NULL));
  TRY(gen_config_parse(t, config, &c, NULL));
  TRY(rt_instance_new(t, &p, device, &g, NULL));
  TRY(gen_config_words(g, &c, &words, NULL));
  add_settings(t, str_text(&words), true, out);
  add_settings(t, str_text(&words), false, &same);
  str_addf(out, "%s%s", out->n && same.n ? "," : "", str_text(&same));
  return 0;
}

void config_words(gen_template *t, const rt_info *device, const char *problem, const char *config,
                  str *out) {
  auto_str words = {0};
  str_add(out, add_words(t, device, problem, config, &words) ? config : str_text(&words));
}

/* ---- terminals ------------------------------------------------------------------------------- */

bool is_terminal(FILE *f) {
  const char *term = secure_getenv("TERM");
  return isatty(fileno(f)) && (!term || strcmp(term, "dumb"));
}

size_t terminal_width(FILE *f) {
  struct winsize size = {0};
  if (!isatty(fileno(f))) {
    return 0;
  }
  ioctl(fileno(f), TIOCGWINSZ, &size);
  return size.ws_col > 1 ? size.ws_col : 80;
}

/* Where the text's column of this number begins; escape sequences have no width. */
static size_t column(const char *text, size_t wanted) {
  size_t at = 0;
  for (size_t n = 0; text[at] && n < wanted; at++) {
    if (text[at] == '\033') {
      at += strcspn(text + at, "m");
      at -= !text[at]; /* no end: the text's */
    } else {
      n++;
    }
  }
  return at;
}

void fit_line(str *s, size_t from) {
  const size_t width = terminal_width(stdout);
  if (s->failed || !width || width < 20 || s->n <= from || s->p[s->n - 1] != '\n') {
    return;
  }
  s->p[--s->n] = 0;
  if (s->p[from + column(s->p + from, width)]) {
    s->n = from + column(s->p + from, width - 4);
    str_add(s, " ...");
  }
  str_add(s, "\n");
}

static bool has_colour(FILE *f) {
  const char *none = secure_getenv("NO_COLOR"); /* https://no-color.org */
  return is_terminal(f) && !(none && none[0]);
}

const char *style(FILE *f, style_kind kind) {
  static const char *const codes[] = {
      [STYLE_GOOD] = "\033[32m", [STYLE_BAD] = "\033[31m", [STYLE_NOTE] = "\033[33m"};
  return has_colour(f) ? codes[kind] : "";
}

const char *style_end(FILE *f) {
  return has_colour(f) ? "\033[0m" : "";
}

/* the length of a colour that style and style_end write; 0: it is something else */
static size_t style_nbytes(const char *p) {
  static const char *const codes[] = {"\033[0m", "\033[31m", "\033[32m", "\033[33m"};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    if (!strncmp(p, codes[i], strlen(codes[i]))) {
      return strlen(codes[i]);
    }
  }
  return 0;
}

void print_text(FILE *f, const char *text) {
  auto_str visible = {0};
  const char *control;
  while ((control = text_control(text))) {
    const size_t n = style_nbytes(control);
    const bool pair = (unsigned char)*control == 0xc2;
    const char one[3] = {control[0], pair ? control[1] : 0};
    str_add_n(&visible, text, (size_t)(control - text));
    n ? str_add_n(&visible, control, n) : str_add_visible(&visible, one);
    text = control + (n ? n : strlen(one));
  }
  str_add(&visible, text);
  fputs(str_text(&visible), f);
}

void print_str(str *s) {
  print_text(stdout, str_text(s));
  str_clear(s);
}

int print_file(const char *path, str *s, err *e) {
  const int rc = s->failed ? err_nomem(e) : file_write(path, str_text(s), s->n, e);
  str_clear(s);
  return rc;
}
