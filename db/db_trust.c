#define _GNU_SOURCE
#include "db_trust.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "file.h"

bool db_trusts_all(void) {
  const char *trust = secure_getenv("TUNED_TRUST");
  return trust && *trust;
}

static int check_file(const char *path, bool trusted, err *e) {
  struct stat st;
  if (stat(path, &st)) {
    return 0;
  }
  if (!S_ISREG(st.st_mode)) {
    return err_set(e, ERR_DB, "database %s is not a file; an absent one is an empty database",
                   path);
  }
  if (trusted) {
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

int db_check_trust(const char *path, bool trusted, err *e) {
  static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
  int rc = 0;
  for (size_t i = 0; !rc && i < sizeof beside / sizeof *beside; i++) {
    auto_str name = {0};
    str_addf(&name, "%s%s", path, beside[i]);
    rc = name.failed ? err_nomem(e) : check_file(str_text(&name), trusted, e);
  }
  return rc;
}
