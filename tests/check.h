/* check.h -- cmocka with the headers it wants before it, and what every test program shares. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"

/* The call succeeds; when it does not, its message is the test's. */
#define assert_ok(call, e)                                                                         \
  do {                                                                                             \
    if (call) {                                                                                    \
      fail_msg("%s: %s (%s)", #call, (e)->message, (e)->place);                                    \
    }                                                                                              \
  } while (0)

/* The call fails with this code, in one line that contains the words. */
#define assert_fails(call, e, expected, words)                                                     \
  do {                                                                                             \
    err_clear(e);                                                                                  \
    int fails_rc_ = (call);                                                                        \
    if (fails_rc_ != (expected) || !strstr((e)->message, words) || strchr((e)->message, '\n')) {   \
      fail_msg("%s: got %s '%s', wanted %s '%s'", #call, err_name(fails_rc_), (e)->message,        \
               err_name(expected), words);                                                         \
    }                                                                                              \
  } while (0)

/* device_argument -- what follows --device, or `otherwise` */
static inline const char *device_argument(int argc, char **argv, const char *otherwise) {
  for (int i = 1; i + 1 < argc; i++) {
    if (!strcmp(argv[i], "--device")) {
      return argv[i + 1];
    }
  }
  return otherwise;
}

#endif
