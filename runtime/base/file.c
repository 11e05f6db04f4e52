#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int file_read(const char *path, size_t max_nbytes, str *out, err *e) {
  FILE *f = fopen(path, "rb");
  if (!f) {
    return err_set(e, errno == ENOENT ? ERR_NOTFOUND : ERR_IO, "cannot open %s: %s", path,
                   strerror(errno));
  }
  char block[16384];
  size_t total = 0, n;
  while ((n = fread(block, 1, sizeof block, f)) && total <= max_nbytes) {
    total += n;
    str_add_n(out, block, n);
  }
  int failed = ferror(f);
  fclose(f);
  if (failed) {
    return err_set(e, ERR_IO, "cannot read %s: %s", path, strerror(errno));
  }
  if (total > max_nbytes) {
    return err_set(e, ERR_LIMIT, "%s is larger than the %zu bytes allowed here", path, max_nbytes);
  }
  return out->failed ? err_set(e, ERR_NOMEM, "out of memory reading %s", path) : 0;
}

static int write_all(int fd, const char *p, size_t n) {
  while (n) {
    ssize_t w = write(fd, p, n);
    if (w < 0 && errno != EINTR) {
      return -1;
    }
    if (w > 0) {
      p += w;
      n -= (size_t)w;
    }
  }
  return 0;
}

/* The temporary lies beside the target, so that the rename stays on one file system. mkostemp makes
 * it private to its owner; unless it is to be, it gets the mode that a plain open() would give. */
static int open_temporary(char *path, bool is_private) {
  int fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0 && !is_private) {
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
  }
  return fd;
}

static int write_error(const char *path, int number, err *e) {
  return err_set(e, ERR_IO, "cannot write %s: %s", path, strerror(number));
}

static int write_parts(int fd, const file_part *parts, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (write_all(fd, parts[i].bytes, parts[i].nbytes)) {
      return -1;
    }
  }
  return 0;
}

static int replace_file(const char *path, const file_part *parts, size_t n, bool is_private,
                        err *e) {
  str temporary = {0};
  str_addf(&temporary, "%s.XXXXXX", path);
  if (temporary.failed) {
    return err_set(e, ERR_NOMEM, "out of memory writing %s", path);
  }
  int fd = open_temporary(temporary.p, is_private);
  int failed = fd < 0 || write_parts(fd, parts, n) || fsync(fd);
  int saved = errno;
  if (fd >= 0 && close(fd) && !failed) {
    failed = 1;
    saved = errno;
  }
  if (!failed && rename(temporary.p, path)) {
    failed = 1;
    saved = errno;
  }
  if (failed && fd >= 0) {
    unlink(temporary.p);
  }
  str_clear(&temporary);
  return failed ? write_error(path, saved, e) : 0;
}

/* A device or a pipe is written to: replacing it would remove it for all of its users. */
static int write_special(const char *path, const void *bytes, size_t n, err *e) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) {
    return write_error(path, errno, e);
  }
  const int failed = write_all(fd, bytes, n), saved = errno;
  return close(fd) || failed ? write_error(path, failed ? saved : errno, e) : 0;
}

/* A link stays, and its target is replaced. */
int file_write(const char *path, const void *bytes, size_t n, err *e) {
  struct stat st;
  if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
    return write_special(path, bytes, n, e);
  }
  char *real = realpath(path, NULL);
  const int rc = replace_file(real ? real : path, &(file_part){bytes, n}, 1, false, e);
  free(real);
  return rc;
}

int file_write_private(const char *path, const file_part *parts, size_t n, err *e) {
  return replace_file(path, parts, n, true, e);
}

file_safety file_is_safe(const struct stat *st) {
  if (st->st_mode & (S_IWGRP | S_IWOTH)) {
    return FILE_SHARED;
  }
  return st->st_uid && st->st_uid != geteuid() ? FILE_FOREIGN : FILE_SAFE;
}

const char *file_distrust(const char *path) {
  struct stat file, folder = {0};
  const char *slash = strrchr(path, '/');
  char *above = slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
  if (!above || stat(path, &file) || !S_ISREG(file.st_mode) || stat(above, &folder)) {
    free(above);
    return NULL;
  }
  free(above);
  if (file.st_mode & S_IWOTH) {
    return "anybody can write to it";
  }
  if (!(folder.st_mode & S_IWOTH)) {
    return NULL;
  }
  if (!(folder.st_mode & S_ISVTX)) {
    return "anybody can write to its folder";
  }
  return file.st_uid && file.st_uid != geteuid()
             ? "another user put it into a folder that anybody can write to"
             : NULL;
}

bool file_name_leaves(const char *name) {
  const char *p = name;
  while ((p = strstr(p, ".."))) {
    if ((p == name || p[-1] == '/') && (p[2] == '/' || !p[2])) {
      return true;
    }
    p += 2;
  }
  return *name == '/';
}

int file_make_parents(const char *path, err *e) {
  char *copy = strdup(path);
  if (!copy) {
    return err_nomem(e);
  }
  int rc = 0;
  for (char *p = strchr(copy + 1, '/'); p && !rc; p = strchr(p + 1, '/')) {
    *p = 0;
    if (mkdir(copy, 0777) && errno != EEXIST) {
      rc = err_set(e, ERR_IO, "cannot create folder %s: %s", copy, strerror(errno));
    }
    *p = '/';
  }
  free(copy);
  return rc;
}

/* $HOME; in a program with more rights than its user, who sets the variables, the home folder of
 * the account whose rights it has. The text is borrowed until the next call of getpwuid. */
static const char *home_folder(void) {
  const struct passwd *account = getauxval(AT_SECURE) ? getpwuid(geteuid()) : NULL;
  return account ? account->pw_dir : secure_getenv("HOME");
}

/* The folder in $variable, else below the home folder. */
static int xdg_folder(const char *variable, const char *below_home, const char *remedy, str *out,
                      err *e) {
  const char *xdg = secure_getenv(variable);
  const char *home = home_folder();
  if (xdg && xdg[0] == '/') { /* the specification ignores relative paths */
    str_addf(out, "%s/autotune", xdg);
  } else if (home && home[0]) {
    str_addf(out, "%s/%s/autotune", home, below_home);
  } else {
    return err_set(e, ERR_IO, "neither %s nor HOME is set; %s", variable, remedy);
  }
  return out->failed ? err_nomem(e) : 0;
}

int file_data_home(str *out, err *e) {
  return xdg_folder("XDG_DATA_HOME", ".local/share", "name the database (--db, TUNED_DB)", out, e);
}

int file_cache_home(str *out, err *e) {
  return xdg_folder("XDG_CACHE_HOME", ".cache", "name the folder of the cache (TUNED_CACHE)", out,
                    e);
}

double now_sec(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
