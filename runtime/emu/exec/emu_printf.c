/* emu_printf.c -- printf and assert of kernels. src: CUDA C++ Programming Guide, formatted output.
 */
#include "emu_exec.h"

#include <stdio.h>
#include <string.h>

#include "emu_access.h"
#include "emu_finding.h"

enum { TEXT_MAX = 4096, SPEC_MAX = 32 };

static void read_text(emu_warp *w, int lane, uint64_t address, char *to, size_t n) {
  size_t i = 0;
  while (i + 1 < n && emu_peek(w, lane, address + i, 1, &to[i]) && to[i]) {
    i++;
  }
  to[i] = 0;
}

/* %[flags][width][.precision][size]conversion: its length; 0: not a conversion */
static size_t parse_spec(const char *p, char *spec, char *conversion, bool *wide) {
  size_t n = 1;
  *wide = false;
  while (p[n] && strchr("-+ #0123456789.hlzjt", p[n]) && n < SPEC_MAX - 4) {
    *wide |= p[n] == 'l' || p[n] == 'z' || p[n] == 'j' || p[n] == 't';
    n++;
  }
  if (!p[n] || !strchr("diouxXcsfFeEgGaAp", p[n])) {
    return 0;
  }
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) { /* the host's size is added later */
    if (!strchr("hlzjt", p[i])) {
      spec[kept++] = p[i];
    }
  }
  spec[kept] = 0;
  *conversion = p[n];
  return n + 1;
}

/* arguments have 4 or 8 bytes, aligned to their size */
static uint64_t take(emu_warp *w, int lane, uint64_t *at, uint64_t n) {
  uint64_t v = 0;
  *at = (*at + n - 1) / n * n;
  emu_peek(w, lane, *at, n, &v);
  *at += n;
  return v;
}

/* formats come from the kernel; parse_spec has checked that each fits its one argument */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void print_one(emu_warp *w, int lane, char *spec, char conversion, bool wide, uint64_t *at,
                      str *out) {
  char text[TEXT_MAX];
  size_t n = strlen(spec);
  if (strchr("fFeEgGaA", conversion)) {
    snprintf(spec + n, 4, "%c", conversion);
    str_addf(out, spec, emu_f64(take(w, lane, at, 8)));
  } else if (conversion == 's') {
    read_text(w, lane, take(w, lane, at, 8), text, sizeof text);
    snprintf(spec + n, 4, "s");
    str_addf(out, spec, text);
  } else if (conversion == 'p') {
    str_addf(out, "0x%llx", (unsigned long long)take(w, lane, at, 8));
  } else {
    uint64_t v = take(w, lane, at, wide ? 8 : 4);
    bool is_signed = conversion == 'd' || conversion == 'i';
    long long value = wide        ? (long long)v
                      : is_signed ? (long long)(int32_t)v
                                  : (long long)(uint32_t)v;
    snprintf(spec + n, 4, conversion == 'c' ? "%c" : "ll%c", conversion);
    if (conversion == 'c') {
      str_addf(out, spec, (int)value);
    } else {
      str_addf(out, spec, value);
    }
  }
}
#pragma GCC diagnostic pop

static void format_text(emu_warp *w, int lane, const char *format, uint64_t at, str *out) {
  for (const char *p = format; *p;) {
    char spec[SPEC_MAX + 8], conversion;
    bool wide;
    size_t n = *p == '%' ? parse_spec(p, spec, &conversion, &wide) : 0;
    if (n) {
      print_one(w, lane, spec, conversion, wide, &at, out);
      p += n;
    } else {
      str_add_n(out, p, 1);
      p += *p == '%' && p[1] == '%' ? 2 : 1;
    }
  }
}

int emu_vprintf(emu_warp *w, const emu_insn *in, int lane, uint64_t format, uint64_t arguments,
                int *printed) {
  char text[TEXT_MAX];
  str out = {0};
  (void)in;
  read_text(w, lane, format, text, sizeof text);
  format_text(w, lane, text, arguments, &out);
  *printed = 0;
  for (const char *p = text; *p; p++) { /* CUDA's printf returns the number of arguments */
    *printed += *p == '%' && p[1] != '%';
    p += *p == '%' && p[1] == '%';
  }
  pthread_mutex_lock(&w->launch->lock);
  if (w->launch->print) {
    w->launch->print(w->launch->print_context, str_text(&out));
  }
  pthread_mutex_unlock(&w->launch->lock);
  str_clear(&out);
  return RUN_ON;
}

int emu_assertfail(emu_warp *w, const emu_insn *in, int lane, const uint64_t arguments[5]) {
  char condition[120], file[120], function[100];
  read_text(w, lane, arguments[0], condition, sizeof condition);
  read_text(w, lane, arguments[1], file, sizeof file);
  read_text(w, lane, arguments[3], function, sizeof function);
  return emu_finding(w, in, lane, EMU_ASSERT, "fails the assertion `%s` at %s:%u (%s)", condition,
                     file, (unsigned)arguments[2], function);
}
