#include "print.h"

#include <stdio.h>

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

static int add_words(gen_template *t, const rt_info *device, const char *problem,
                     const char *config, str *out) {
  gen_problem p;
  gen_config c;
  auto_instance *g = NULL;
  TRY(gen_problem_parse(t, problem, &p, NULL));
  TRY(gen_config_parse(t, config, &c, NULL));
  TRY(rt_instance_new(t, &p, device, &g, NULL));
  return gen_config_words(g, &c, out, NULL);
}

void config_words(gen_template *t, const rt_info *device, const char *problem, const char *config,
                  str *out) {
  auto_str words = {0};
  str_add(out, add_words(t, device, problem, config, &words) ? config : str_text(&words));
}

void print_str(str *s) {
  fputs(str_text(s), stdout);
  str_clear(s);
}

int print_file(const char *path, str *s, err *e) {
  const int rc = s->failed ? err_nomem(e) : file_write(path, str_text(s), s->n, e);
  str_clear(s);
  return rc;
}
