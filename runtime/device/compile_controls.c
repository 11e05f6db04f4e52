/* compile_controls.c -- see compile_controls.h. */
#define _GNU_SOURCE
#include "compile_controls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool write_all(int fd, const char *bytes, size_t n) {
  while (n) {
    const ssize_t done = write(fd, bytes, n);
    if (done <= 0 && errno != EINTR) {
      return false;
    }
    bytes += done > 0 ? done : 0;
    n -= done > 0 ? (size_t)done : 0;
  }
  return true;
}

int compile_controls_open(compile_controls *c, const char *text, const char *option, err *e) {
  auto_str bytes = {0};
  const char *name = compiler_option_controls(option);
  if (c->fd >= 0) {
    return err_set(e, ERR_USAGE, "there are two files of advanced controls, %s and %s", c->name,
                   name);
  }
  TRY(compiler_controls_of(text, name, &bytes, e));
  c->fd = memfd_create("controls", MFD_CLOEXEC);
  if (c->fd < 0 || !write_all(c->fd, str_text(&bytes), bytes.n)) {
    return err_set(e, ERR_IO, "cannot give ptxas the advanced controls %s: %s", name,
                   strerror(errno));
  }
  snprintf(c->name, sizeof c->name, "%s", name);
  snprintf(c->path, sizeof c->path, "/proc/self/fd/%d", c->fd);
  snprintf(c->option, sizeof c->option, "--ptxas-options=%s%s", COMPILER_CONTROLS, c->path);
  return 0;
}

void compile_controls_close(compile_controls *c) {
  if (c->fd >= 0) {
    close(c->fd);
    c->fd = -1;
  }
}

void compile_controls_name(const compile_controls *c, str *log) {
  const char *at = *c->path ? strstr(str_text(log), c->path) : NULL;
  if (at) {
    auto_str out = {0};
    str_add_n(&out, str_text(log), (size_t)(at - str_text(log)));
    str_add(&out, c->name);
    str_add(&out, at + strlen(c->path));
    str_clear(log);
    str_add(log, str_text(&out));
  }
}
