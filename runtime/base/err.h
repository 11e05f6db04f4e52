/* err.h -- how a function reports a failure.
 *
 * Every such function returns int: 0, or one of the negative codes below. Its last argument is the
 * error object, which may be NULL. The object keeps the FIRST message set: the deepest function
 * knows best what went wrong, and its callers only pass the code on (TRY). A message is one line
 * without a newline; it says what is wrong and how to correct it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

enum {
  ERR_USAGE = -1,       /* the caller's input: an unknown name, a value out of range */
  ERR_TEMPLATE = -2,    /* a template is broken; place is file:line */
  ERR_IO = -3,          /* a file or folder */
  ERR_DB = -4,          /* the database: locked, corrupt, newer, read-only */
  ERR_DEVICE = -5,      /* no driver, no such device, a driver call failed */
  ERR_COMPILE = -6,     /* NVRTC refused the source */
  ERR_LAUNCH = -7,      /* a kernel could not be launched, or died */
  ERR_WRONG = -8,       /* a kernel ran and its results are wrong */
  ERR_NOMEM = -9,       /* host or device memory */
  ERR_NOTFOUND = -10,   /* does not exist; often an ordinary answer */
  ERR_LIMIT = -11,      /* a limit of this library: instructions, memory, size, time */
  ERR_INTERRUPTED = -12 /* the user pressed Ctrl-C */
};

typedef struct err {
  int code;
  char message[720];
  char place[200]; /* "templates/sgemm/sgemm.lua:41", or empty */
} err;

/* These functions are cold: the compiler moves calls of them out of the path that succeeds.
 *
 * err_set -- record a failure and return its code, for `return err_set(e, ERR_IO, "...")`.
 *   e  may be NULL; a message already there stays */
int err_set(err *e, int code, const char *format, ...) __attribute__((cold, format(printf, 3, 4)));
/* err_at -- the same, with a place: "file:line", or any name the user can find again */
int err_at(err *e, int code, const char *place, const char *format, ...)
    __attribute__((cold, format(printf, 4, 5)));
/* err_nomem -- ERR_NOMEM: "out of memory" */
int err_nomem(err *e) __attribute__((cold));
/* err_copy -- report a failure that `why` holds; nothing when rc is 0. Returns rc */
int err_copy(err *e, int rc, const err *why) __attribute__((cold));
/* err_unknown -- ERR_USAGE: `what`, "no effort" for example, and the name; suggests the nearest of
 * the n names that there are, and lists them; name NULL: none was given */
int err_unknown(err *e, const char *what, const char *name, const char *const *names, size_t n)
    __attribute__((cold));
/* err_clear -- empty the object for another attempt */
static inline void err_clear(err *e) {
  if (e) {
    e->code = 0;
    e->message[0] = e->place[0] = 0;
  }
}
/* err_name -- "usage", "template", ...; never NULL */
const char *err_name(int code);

/* Pass a failure on; its message is already set. */
#define TRY(call)                                                                                  \
  do {                                                                                             \
    int try_rc_ = (call);                                                                          \
    if (try_rc_) {                                                                                 \
      return try_rc_;                                                                              \
    }                                                                                              \
  } while (0)

#endif
