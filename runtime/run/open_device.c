#include "open_device.h"

#include <stdlib.h>
#include <string.h>

#include "emu.h"

static int no_such_name(const char *name, err *e) {
  return err_set(e, ERR_DEVICE,
                 "there is no device \"%.60s\"; use 0 (or cuda:0) for the first GPU, emu or "
                 "emu:PROFILE for the emulated device",
                 name);
}

/* "cuda:1", "cuda" and "1"; -1 for anything else. */
static int parse_ordinal(const char *name) {
  if (!strcmp(name, "cuda")) {
    return 0;
  }
  const char *digits = strncmp(name, "cuda:", 5) ? name : name + 5;
  size_t n = strspn(digits, "0123456789");
  return n > 0 && n < 5 && !digits[n] ? atoi(digits) : -1;
}

static int open_gpu(int ordinal, rt_device **d, err *e) {
  err why = {0};
  int rc = rt_cuda_open(ordinal, d, &why);
  if (rc == ERR_DEVICE) {
    int n = 0;
    bool none = rt_cuda_count(&n, NULL) != 0 || n == 0;
    return none ? err_set(e, rc, "no GPU found: %.600s; `--device emu` runs without one",
                          why.message)
                : err_set(e, rc, "%s", why.message);
  }
  return err_copy(e, rc, &why);
}

bool rt_names_emulator(const char *name) {
  return !strncmp(name, "emu", 3) && (!name[3] || name[3] == ':');
}

int rt_device_open(const char *name, rt_device **d, err *e) {
  *d = NULL;
  if (rt_names_emulator(name)) {
    return rt_emu_open(name[3] ? name + 4 : NULL, d, e);
  }
  int ordinal = parse_ordinal(name);
  return ordinal < 0 ? no_such_name(name, e) : open_gpu(ordinal, d, e);
}
