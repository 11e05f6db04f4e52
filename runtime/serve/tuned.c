/* tuned.c -- the public calls: open and close a context, find, launch and describe a kernel, and
 * the memory helpers. Each turns the caller's words into ours, and an err into a tuned_error. */
#define _GNU_SOURCE
#include "tuned.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"
#include "file.h"
#include "open_device.h"
#include "serve_presets.h"

static_assert(sizeof((tuned_error *)0)->message == sizeof((err *)0)->message, "same messages");
static_assert(sizeof((tuned_error *)0)->place == sizeof((err *)0)->place, "same places");
#define SAME_CODE(ours, theirs) static_assert((int)(ours) == (int)(theirs), "same codes")
SAME_CODE(ERR_USAGE, TUNED_E_USAGE);
SAME_CODE(ERR_DB, TUNED_E_DATABASE);
SAME_CODE(ERR_LAUNCH, TUNED_E_LAUNCH);
SAME_CODE(ERR_NOTFOUND, TUNED_E_NOTFOUND);
SAME_CODE(ERR_INTERRUPTED, TUNED_E_INTERRUPTED);

struct serve_process serve_process;
static pthread_once_t watch_forks = PTHREAD_ONCE_INIT;

static void count_fork(void) {
  atomic_fetch_add_explicit(&serve_process.forks, 1, memory_order_relaxed);
}

static void start_watching(void) {
  pthread_atfork(NULL, NULL, count_fork);
}

int serve_check_fork(const serve *s, err *e) {
  if (s->front.forks == atomic_load_explicit(&serve_process.forks, memory_order_relaxed)) {
    return 0;
  }
  return err_set(
      e, ERR_USAGE,
      "the context was opened before a fork and can't be used in the child; open another "
      "there (with a GPU: fork before the first CUDA call)");
}

/* Why it can't be used. */
int serve_refuse_context(tuned_context *ctx, err *e) {
  const uintptr_t at = (uintptr_t)ctx - (uintptr_t)serve_process.handles;
  if (!ctx) {
    return err_set(e, ERR_USAGE, "the context is NULL; tuned_open makes one");
  }
  if (at >= sizeof serve_process.handles) {
    return err_set(e, ERR_USAGE, "this is no context; tuned_open makes one");
  }
  const serve *s = atomic_load_explicit(&ctx->open, memory_order_acquire);
  TRY(s ? serve_check_fork(s, e) : 0); /* else another thread has been given its place since */
  return err_set(e, ERR_USAGE, "the context is closed; open another with tuned_open");
}

void serve_report_failure(tuned_error *to, const err *e) {
  strcpy(to->message, e->message);
  strcpy(to->place, e->place);
}

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of host memory");
}

/* ---- open and close ------------------------------------------------------------------------- */

static const char *environment(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

static int open_device(serve *s, const char *name, err *e) {
  if (!name && !rt_cuda_open(-1, &s->device, NULL)) {
    return 0; /* the thread's current context */
  }
  if (!name) {
    name = environment("TUNED_DEVICE");
  }
  return rt_device_open(name ? name : "0", &s->device, e);
}

static int check_file(const char *path, const tuned_options *o, err *e) {
  struct stat st;
  if (stat(path, &st)) {
    return 0;
  }
  if (!S_ISREG(st.st_mode)) {
    return err_set(e, ERR_DB, "database %s is not a file; an absent one is an empty database",
                   path);
  }
  if (o->trust_database || environment("TUNED_TRUST")) {
    return 0;
  }
  const file_safety safety = file_is_safe(&st);
  if (safety == FILE_SHARED) {
    return err_set(
        e, ERR_DB,
        "others can write to database %s, and what it holds runs on the GPU; `chmod go-w` "
        "it, or set TUNED_TRUST=1 to use it as it is",
        path);
  }
  if (safety == FILE_FOREIGN) {
    return err_set(
        e, ERR_DB,
        "database %s belongs to another user, and what it holds runs on the GPU; copy it, "
        "or set TUNED_TRUST=1 to use it as it is",
        path);
  }
  return 0;
}

/* Who can write a database can run code on the GPU with the caller's data. So can who puts a log of
 * changes beside it, which SQLite takes for its own. */
static int check_trust(const char *path, const tuned_options *o, err *e) {
  static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
  str name = {0};
  int rc = 0;
  for (size_t i = 0; !rc && i < sizeof beside / sizeof *beside; i++) {
    str_reset(&name);
    str_addf(&name, "%s%s", path, beside[i]);
    rc = name.failed ? no_room(e) : check_file(str_text(&name), o, e);
  }
  str_clear(&name);
  return rc;
}

static int open_database(serve *s, const tuned_options *o, err *e) {
  arena a = {0};
  err why = {0};
  const char *path = o->database;
  int rc = path ? 0 : db_default_path(&a, &path, e);
  rc = rc ? rc : check_trust(path, o, e);
  if (!rc) {
    s->db_path = strdup(path);
    rc = db_open(path, DB_READ, &s->sources.db, &why);
    rc = rc && rc != ERR_NOTFOUND ? err_at(e, rc, why.place, "%s", why.message) : 0;
  }
  arena_clear(&a);
  return rc;
}

/* "a:b" as a list of folders. */
static int set_folders(serve *s, const char *text, err *e) {
  if (!text && !(text = environment("TUNED_TEMPLATES"))) {
    return 0;
  }
  s->folders = strdup(text);
  const char **list = calloc(strlen(text) + 1, sizeof *list);
  s->options.folders = list;
  if (!s->folders || !list) {
    return no_room(e);
  }
  char *rest = s->folders, *folder;
  while ((folder = strsep(&rest, ":"))) {
    if (*folder) {
      list[s->options.n_folders++] = folder;
    }
  }
  return 0;
}

static int fill(serve *s, const tuned_options *o, err *e) {
  TRY(open_device(s, o->device, e));
  s->options.lazy = true; /* a stored kernel needs few of a template's expressions, and no source */
  s->one_at_a_time = s->device->info.serial;
  rt_device_key(&s->device->info, &s->device_key);
  s->sources.device = &s->device->info;
  s->sources.device_key = str_text(&s->device_key);
  TRY(set_folders(s, o->templates, e));
  TRY(open_database(s, o, e));
  const char *capture = secure_getenv("TUNED_CAPTURE"); /* names a file to be written */
  const char *data = secure_getenv("TUNED_CAPTURE_DATA");
  if (capture && *capture) {
    TRY(serve_capture_open(capture, data, &s->capture, e));
  } else if (data && *data) {
    return err_set(e, ERR_USAGE,
                   "TUNED_CAPTURE_DATA is set and TUNED_CAPTURE is not; set TUNED_CAPTURE=FILE "
                   "too: that list says which problem has which data");
  }
  return s->device_key.failed ? no_room(e) : 0;
}

static void free_kernels(serve *s) {
  for (tuned_kernel *k = s->newest, *older; k; k = older) {
    older = k->next;
    serve_kernel_free(k);
  }
}

static void free_families(serve *s) {
  for (serve_family *f = s->families, *next; f; f = next) {
    next = f->next;
    serve_known_clear(&f->known);
    gen_close(f->t);
    free(f->name);
    free(f);
  }
}

static void serve_free(serve *s) {
  serve_online_stop(s);
  serve_capture_close(s);
  serve_online_free(s);
  serve_table_clear(&s->front.kernels);
  serve_table_clear(&s->images);
  serve_workspaces_free(s);
  free_kernels(s);
  free_families(s);
  rt_compiler_close(s->compiler);
  db_close(s->sources.db);
  if (s->device) {
    s->device->ops->close(s->device);
  }
  str_clear(&s->device_key);
  free((void *)s->options.folders);
  free(s->folders);
  free(s->db_path);
  pthread_mutex_destroy(&s->turn);
  pthread_mutex_destroy(&s->lock);
  free(s);
}

static int serve_new(const tuned_options *o, serve **out, err *e) {
  serve *s = calloc(1, sizeof *s);
  if (!s) {
    return no_room(e);
  }
  pthread_once(&watch_forks, start_watching);
  s->front.forks = atomic_load(&serve_process.forks);
  s->sources.presets = serve_presets;
  pthread_mutex_init(&s->lock, NULL);
  pthread_mutex_init(&s->turn, NULL);
  const int rc = fill(s, o, e);
  if (rc) {
    serve_free(s);
    return rc;
  }
  *out = s;
  return 0;
}

static tuned_context *take_handle(serve *s) {
  for (unsigned i = 0; i < SERVE_MAX_CONTEXTS; i++) {
    tuned_context *h =
        &serve_process
             .handles[atomic_fetch_add(&serve_process.next_handle, 1) % SERVE_MAX_CONTEXTS];
    serve *nobody = NULL;
    if (atomic_compare_exchange_strong(&h->open, &nobody, s)) {
      return h;
    }
  }
  return NULL;
}

static int open_context(tuned_context **ctx, const tuned_options *o, err *e) {
  const tuned_options defaults = {0};
  serve *s;
  if (!ctx) {
    return err_set(e, ERR_USAGE, "tuned_open: ctx is NULL; give the address of a tuned_context *");
  }
  *ctx = NULL;
  TRY(serve_new(o ? o : &defaults, &s, e));
  if (!(*ctx = take_handle(s))) {
    serve_free(s);
    return err_set(e, ERR_LIMIT, "tuned_open: %d contexts are open already; close some",
                   SERVE_MAX_CONTEXTS);
  }
  return 0;
}

int tuned_open(tuned_context **ctx, const tuned_options *options, tuned_error *error) {
  err e;
  err_clear(&e);
  open_context(ctx, options, &e);
  return serve_report(error, &e);
}

void tuned_close(tuned_context *ctx) {
  serve *s;
  if (!serve_of(ctx, &s, NULL) && atomic_compare_exchange_strong(&ctx->open, &s, NULL)) {
    serve_free(s);
  }
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* The first word is the family or a template's path; the path may hold spaces, up to ".lua". */
static size_t name_length(const char *text) {
  const char *lua = strstr(text, ".lua");
  const bool path = lua && strchr(" \t\n", lua[4]);
  return path ? (size_t)(lua + 4 - text) : strcspn(text, " \t\n");
}

static int find_family(serve *s, const char *text, size_t n, gen_template **t, err *e) {
  char *name = strndup(text, n);
  if (!name) {
    return no_room(e);
  }
  const int rc = serve_family_get(s, name, t, e);
  free(name);
  return rc;
}

static int find_locked(serve *s, const char *text, tuned_kernel **k, err *e) {
  const char *words = text + strspn(text, " \t\n");
  const size_t n = name_length(words);
  gen_template *t;
  gen_problem p;
  TRY(find_family(s, words, n, &t, e));
  TRY(gen_problem_parse(t, words + n, &p, e));
  TRY(serve_kernel_get(s, t, &p, k, e));
  return serve_remember(s, text, strlen(text), *k, e);
}

static int find(tuned_context *ctx, const char *text, tuned_kernel **k, err *e) {
  serve *s;
  TRY(serve_of(ctx, &s, e));
  if (!text || !k) {
    return err_set(e, ERR_USAGE, "tuned_find: %s is NULL", text ? "kernel" : "problem");
  }
  if ((*k = serve_table_get(&s->front.kernels, text, strlen(text)))) {
    return 0;
  }
  pthread_mutex_lock(&s->lock);
  const int rc = find_locked(s, text, k, e);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

int tuned_find(tuned_context *ctx, const char *problem, tuned_kernel **kernel, tuned_error *error) {
  err e;
  err_clear(&e);
  if (find(ctx, problem, kernel, &e) && kernel) {
    *kernel = NULL;
  }
  return serve_report(error, &e);
}

int tuned_launch(tuned_kernel *kernel, tuned_stream stream, const void *const *args,
                 tuned_error *error) {
  err e;
  err_clear(&e);
  if (!kernel) {
    err_set(&e, ERR_USAGE, "tuned_launch: the kernel is NULL; tuned_find finds one");
  } else if (!serve_check_launch(kernel, args, &e)) {
    serve_launch(kernel, stream, args, &e);
  }
  return serve_report(error, &e);
}

int tuned_launch_with(tuned_kernel *kernel, tuned_stream stream, const void *const *args,
                      void *workspace, size_t nbytes, tuned_error *error) {
  err e;
  err_clear(&e);
  if (!kernel) {
    err_set(&e, ERR_USAGE, "tuned_launch_with: the kernel is NULL; tuned_find finds one");
  } else if (!serve_check_launch(kernel, args, &e)) {
    serve_launch_with(kernel, stream, args, workspace, nbytes, &e);
  }
  return serve_report(error, &e);
}

int tuned_workspace_bytes(const tuned_kernel *kernel, size_t *nbytes, tuned_error *error) {
  err e;
  err_clear(&e);
  if (kernel && nbytes) {
    *nbytes = (size_t)kernel->info.workspace_nbytes;
  } else {
    err_set(&e, ERR_USAGE, "tuned_workspace_bytes: %s is NULL", kernel ? "nbytes" : "the kernel");
  }
  return serve_report(error, &e);
}

int tuned_info(const tuned_kernel *kernel, tuned_kernel_info *info, tuned_error *error) {
  err e;
  err_clear(&e);
  if (kernel && info) {
    const tuned_kernel *better = atomic_load_explicit(&kernel->better, memory_order_acquire);
    *info = better ? better->info : kernel->info;
  } else {
    err_set(&e, ERR_USAGE, "tuned_info: %s is NULL", kernel ? "info" : "the kernel");
  }
  return serve_report(error, &e);
}

const char *tuned_origin_name(tuned_origin origin) {
  static const char *const names[] = {
      [TUNED_EXACT] = "exact",     [TUNED_PORTFOLIO] = "portfolio",
      [TUNED_NEAREST] = "nearest", [TUNED_OTHER_DEVICE] = "other device",
      [TUNED_PRESET] = "preset",   [TUNED_DEFAULT] = "default",
      [TUNED_ONLINE] = "online"};
  return origin >= TUNED_EXACT && origin <= TUNED_ONLINE ? names[origin] : "unknown";
}

const char *tuned_version(void) {
  return TUNED_VERSION;
}

static int set_online(tuned_context *ctx, double fraction, err *e) {
  serve *s;
  TRY(serve_of(ctx, &s, e));
  if (!(fraction >= 0 && fraction <= 1)) {
    return err_set(e, ERR_USAGE,
                   "tuned_online: the share of the time is %g; it must lie between 0, off, and 1",
                   fraction);
  }
  return serve_online_set(s, fraction, e);
}

int tuned_online(tuned_context *ctx, double budget_fraction, tuned_error *error) {
  err e;
  err_clear(&e);
  set_online(ctx, budget_fraction, &e);
  return serve_report(error, &e);
}

/* ---- memory --------------------------------------------------------------------------------- */

static rt_ptr address_of(const void *p) {
  return (rt_ptr)(uintptr_t)p;
}

/* What the helpers have in common: an open context, and the device's turn. */
static int begin(tuned_context *ctx, serve **s, err *e) {
  err_clear(e);
  TRY(serve_of(ctx, s, e));
  serve_turn_take(*s);
  return 0;
}

static int end(serve *s, const err *e, tuned_error *error) {
  serve_turn_end(s);
  return serve_report(error, e);
}

int tuned_alloc(tuned_context *ctx, size_t nbytes, void **address, tuned_error *error) {
  err e;
  serve *s;
  rt_ptr p = 0;
  if (begin(ctx, &s, &e)) {
    return serve_report(error, &e);
  }
  if (address) {
    s->device->ops->alloc(s->device, nbytes, &p, &e);
    *address = (void *)(uintptr_t)p;
  } else {
    err_set(&e, ERR_USAGE, "tuned_alloc: address is NULL");
  }
  return end(s, &e, error);
}

int tuned_free(tuned_context *ctx, void *address, tuned_error *error) {
  err e;
  serve *s;
  if (begin(ctx, &s, &e)) {
    return serve_report(error, &e);
  }
  s->device->ops->give_back(s->device, address_of(address), &e);
  return end(s, &e, error);
}

/* A copy of nothing needs no addresses. */
static int copyable(const void *to, const void *from, size_t nbytes, const char *function, err *e) {
  if (nbytes && (!to || !from)) {
    return err_set(e, ERR_USAGE, "%s: %s is NULL", function, to ? "from" : "to");
  }
  return 0;
}

int tuned_copy_to_device(tuned_context *ctx, void *to, const void *from, size_t nbytes,
                         tuned_error *error) {
  err e;
  serve *s;
  if (begin(ctx, &s, &e)) {
    return serve_report(error, &e);
  }
  if (!copyable(to, from, nbytes, "tuned_copy_to_device", &e) && nbytes) {
    s->device->ops->copy_in(s->device, address_of(to), from, nbytes, NULL, &e);
  }
  return end(s, &e, error);
}

int tuned_copy_to_host(tuned_context *ctx, void *to, const void *from, size_t nbytes,
                       tuned_error *error) {
  err e;
  serve *s;
  if (begin(ctx, &s, &e)) {
    return serve_report(error, &e);
  }
  if (!copyable(to, from, nbytes, "tuned_copy_to_host", &e) && nbytes) {
    s->device->ops->copy_out(s->device, to, address_of(from), nbytes, NULL, &e);
  }
  return end(s, &e, error);
}

int tuned_zero(tuned_context *ctx, tuned_stream stream, void *address, size_t nbytes,
               tuned_error *error) {
  err e;
  serve *s;
  if (begin(ctx, &s, &e)) {
    return serve_report(error, &e);
  }
  if (nbytes && !address) {
    err_set(&e, ERR_USAGE, "tuned_zero: address is NULL");
  } else if (nbytes) {
    s->device->ops->set(s->device, address_of(address), 0, nbytes, stream, &e);
  }
  return end(s, &e, error);
}

int tuned_sync(tuned_context *ctx, tuned_stream stream, tuned_error *error) {
  err e;
  serve *s;
  if (begin(ctx, &s, &e)) {
    return serve_report(error, &e);
  }
  s->device->ops->stream_sync(s->device, stream, &e);
  return end(s, &e, error);
}
