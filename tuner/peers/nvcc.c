#define _GNU_SOURCE
#include "nvcc.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "threads.h"

extern char **environ;

enum { OUTPUT_MOST = 1 << 20, WORDS_MOST = 32 };

/* ---- running a program ----------------------------------------------------------------------- */

/* Standard output and standard error go to the file. */
static int start(char *const *words, const char *output, pid_t *pid, err *e) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  int failed = posix_spawn(pid, words[0], &files, NULL, words, environ);
  posix_spawn_file_actions_destroy(&files);
  return failed ? err_set(e, ERR_IO, "cannot start %s: %s", words[0], strerror(failed)) : 0;
}

/* The exit status; 128 plus the signal for a process that was killed. */
static int wait_for(pid_t pid) {
  int status;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) {
      return 128;
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- which nvcc ------------------------------------------------------------------------------ */

static bool is_program(const char *path) {
  struct stat st;
  return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

static bool try_folder(const char *folder, size_t n, const char *name, str *path) {
  str_reset(path);
  str_addf(path, "%.*s/%s", (int)n, folder, name);
  return n && is_program(str_text(path));
}

static int find_nvcc(str *path, err *e) {
  const char *home = secure_getenv("CUDA_HOME"), *folders = secure_getenv("PATH");
  if (home && try_folder(home, strlen(home), "bin/nvcc", path)) {
    return 0;
  }
  for (const char *p = folders ? folders : ""; *p; p += strspn(p, ":")) {
    size_t n = strcspn(p, ":");
    if (try_folder(p, n, "nvcc", path)) {
      return 0;
    }
    p += n;
  }
  if (try_folder("/usr/local/cuda", strlen("/usr/local/cuda"), "bin/nvcc", path)) {
    return 0;
  }
  return err_set(e, ERR_NOTFOUND,
                 "nvcc, which compiles this peer, is not in $CUDA_HOME/bin, $PATH or "
                 "/usr/local/cuda/bin; install the CUDA toolkit");
}

/* ---- where it is kept ------------------------------------------------------------------------ */

static int cache_folder(str *out, err *e) {
  const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
  if (cache && cache[0] == '/') { /* XDG specification: relative paths are ignored */
    str_addf(out, "%s/autotune/peers/", cache);
  } else if (home && home[0]) {
    str_addf(out, "%s/.cache/autotune/peers/", home);
  } else {
    return err_set(e, ERR_IO,
                   "neither XDG_CACHE_HOME nor HOME is set: no folder to keep the compiled peer");
  }
  return 0;
}

/* The compiler's version, as it reports it. */
static int add_version(const char *nvcc, const char *folder, str *text, err *e) {
  char *words[] = {(char *)nvcc, "--version", NULL};
  auto_str output = {0};
  pid_t pid;
  str_addf(&output, "%sversion.%ld", folder, (long)getpid());
  int rc = file_make_parents(str_text(&output), e);
  rc = rc ? rc : start(words, str_text(&output), &pid, e);
  if (!rc && wait_for(pid)) {
    rc = err_set(e, ERR_COMPILE, "%s --version fails", nvcc);
  }
  rc = rc ? rc : file_read(str_text(&output), OUTPUT_MOST, text, e);
  unlink(str_text(&output));
  return rc;
}

/* ---- one library ----------------------------------------------------------------------------- */

typedef struct build {
  const nvcc_source *source;
  str folder, library, fresh, output;
  pid_t pid; /* 0: there is nothing to wait for */
} build;

static void place(build *b, const char *cache, const char *version) {
  auto_str text = {0};
  char hash[HASH_TEXT];
  str_addf(&text, "%s\n%s\n%s\n", version, b->source->arch, b->source->flags);
  if (b->source->headers) {
    str_addf(&text, "%s\n%s\n", b->source->headers, b->source->headers_version);
  }
  for (size_t i = 0; i < b->source->n_files; i++) {
    str_add_n(&text, b->source->files[i].text, b->source->files[i].n + 1);
  }
  hash_bytes(str_text(&text), text.n, hash);
  str_addf(&b->folder, "%s%s/", cache, hash);
  str_addf(&b->library, "%speer.so", str_text(&b->folder));
  str_addf(&b->fresh, "%speer.so.%ld", str_text(&b->folder), (long)getpid());
  str_addf(&b->output, "%snvcc.log", str_text(&b->folder));
}

static int write_files(const build *b, err *e) {
  TRY(file_make_parents(str_text(&b->library), e));
  for (size_t i = 0; i < b->source->n_files; i++) {
    const gen_file *f = &b->source->files[i];
    auto_str path = {0};
    str_addf(&path, "%s%s", str_text(&b->folder), f->name);
    TRY(file_write(str_text(&path), f->text, f->n, e));
  }
  return 0;
}

static int compile(build *b, const char *nvcc, err *e) {
  auto_str arch = {0}, text = {0}, headers = {0};
  char *flags = strdup(b->source->flags), *rest = NULL;
  char *words[WORDS_MOST] = {(char *)nvcc, "-shared", "-std=c++17",
                             "-O3",        "-w",      "-Xcompiler",
                             "-fPIC",      "-o",      (char *)str_text(&b->fresh)};
  size_t n = 9;
  str_addf(&arch, "-arch=%s", b->source->arch);
  str_addf(&text, "%s%s", str_text(&b->folder), b->source->files[0].name);
  words[n++] = arch.p;
  words[n++] = text.p;
  if (b->source->headers) { /* nvcc searches its own folders after these, but before -isystem */
    str_addf(&headers, "-I%s", b->source->headers);
    words[n++] = (char *)str_text(&headers);
  }
  for (char *p = flags ? strtok_r(flags, " ", &rest) : NULL; p && n + 1 < WORDS_MOST;
       p = strtok_r(NULL, " ", &rest)) {
    words[n++] = p;
  }
  int rc = !flags || arch.failed || text.failed || headers.failed
               ? err_nomem(e)
               : start(words, str_text(&b->output), &b->pid, e);
  free(flags);
  return rc;
}

/* The line with the first error, else the last line. */
static void first_error(char *text, char *out, size_t size) {
  char *rest = NULL;
  snprintf(out, size, "no output");
  for (char *p = strtok_r(text, "\n", &rest); p; p = strtok_r(NULL, "\n", &rest)) {
    snprintf(out, size, "%s", p);
    if (strstr(p, "error")) {
      return;
    }
  }
}

static int explain(const build *b, int status, err *e) {
  auto_str text = {0};
  char line[400] = "";
  if (!file_read(str_text(&b->output), OUTPUT_MOST, &text, NULL) && text.p) {
    first_error(text.p, line, sizeof line);
  }
  return err_set(e, ERR_COMPILE, "nvcc failed (status %d): %s; full output: %s", status, line,
                 str_text(&b->output));
}

static int finish(build *b, err *e) {
  if (!b->pid) {
    return 0;
  }
  int status = wait_for(b->pid);
  b->pid = 0;
  if (status) {
    unlink(str_text(&b->fresh));
    return explain(b, status, e);
  }
  return rename(str_text(&b->fresh), str_text(&b->library))
             ? err_set(e, ERR_IO, "cannot write %s: %s", str_text(&b->library), strerror(errno))
             : 0;
}

static bool is_there(const build *b) {
  return !access(str_text(&b->library), R_OK);
}

static int begin(build *b, const char *nvcc, err *e) {
  if (is_there(b)) {
    return 0;
  }
  TRY(write_files(b, e));
  return compile(b, nvcc, e);
}

static void clear(build *b) {
  str_clear(&b->folder);
  str_clear(&b->library);
  str_clear(&b->fresh);
  str_clear(&b->output);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Build i starts when build i - cores is done. After a failure all started builds are awaited. */
static int build_all(build *b, size_t n, const char *nvcc, err *e) {
  size_t cores = threads_cores(), missing = 0;
  int rc = 0;
  for (size_t i = 0; i < n; i++) {
    missing += !is_there(&b[i]);
  }
  if (missing) {
    fprintf(stderr, "compiling %zu %s of the peer with %s, once\n", missing,
            missing == 1 ? "kernel" : "kernels", nvcc);
  }
  for (size_t i = 0; i < n + cores; i++) {
    if (i >= cores && i - cores < n) {
      int end = finish(&b[i - cores], rc ? NULL : e);
      rc = rc ? rc : end;
    }
    if (!rc && i < n) {
      rc = begin(&b[i], nvcc, e);
    }
  }
  return rc;
}

int nvcc_build(const nvcc_source *sources, size_t n, str *paths, err *e) {
  auto_str nvcc = {0}, cache = {0}, version = {0};
  build *b = calloc(n + 1, sizeof *b);
  int rc = b ? find_nvcc(&nvcc, e) : err_nomem(e);
  rc = rc ? rc : cache_folder(&cache, e);
  rc = rc ? rc : add_version(str_text(&nvcc), str_text(&cache), &version, e);
  for (size_t i = 0; !rc && i < n; i++) {
    b[i].source = &sources[i];
    place(&b[i], str_text(&cache), str_text(&version));
  }
  rc = rc ? rc : build_all(b, n, str_text(&nvcc), e);
  for (size_t i = 0; b && i < n; i++) {
    str_add(&paths[i], str_text(&b[i].library));
    clear(&b[i]);
  }
  free(b);
  return rc;
}
