/* fake_nvfatbin.c -- a libnvfatbin.so for tests: what is put in comes out as text, a line an image
 * with its kind, architecture, size and first bytes. FAKE_NVFATBIN=refuse: no image is taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fatbin {
  char text[4096];
};

int nvFatbinCreate(struct fatbin **h, const char **options, size_t n);
int nvFatbinDestroy(struct fatbin **h);
int nvFatbinAddPTX(struct fatbin *h, const char *code, size_t size, const char *arch,
                   const char *identifier, const char *options);
int nvFatbinAddCubin(struct fatbin *h, const void *code, size_t size, const char *arch,
                     const char *identifier);
int nvFatbinSize(struct fatbin *h, size_t *size);
int nvFatbinGet(struct fatbin *h, void *buffer);
const char *nvFatbinGetErrorString(int result);

int nvFatbinCreate(struct fatbin **h, const char **options, size_t n) {
  *h = calloc(1, sizeof **h);
  return !*h || n != 2 || strcmp(options[0], "-64") != 0;
}

int nvFatbinDestroy(struct fatbin **h) {
  free(*h);
  *h = NULL;
  return 0;
}

static int add(struct fatbin *h, const char *kind, const char *arch, size_t size,
               const char *code) {
  const size_t n = strlen(h->text);
  const char *mode = getenv("FAKE_NVFATBIN");
  snprintf(h->text + n, sizeof h->text - n, "%s %s %s %.3s\n", kind, arch,
           size > 500 ? "large" : "small", code);
  return mode && !strcmp(mode, "refuse") ? 7 : 0;
}

int nvFatbinAddPTX(struct fatbin *h, const char *code, size_t size, const char *arch,
                   const char *identifier, const char *options) {
  (void)identifier, (void)options;
  return strlen(code) + 1 != size ? 8 : add(h, "ptx", arch, size, code);
}

int nvFatbinAddCubin(struct fatbin *h, const void *code, size_t size, const char *arch,
                     const char *identifier) {
  (void)identifier;
  return add(h, "cubin", arch, size, (const char *)code + 1); /* ELF, behind its first byte */
}

int nvFatbinSize(struct fatbin *h, size_t *size) {
  *size = strlen(h->text);
  return 0;
}

int nvFatbinGet(struct fatbin *h, void *buffer) {
  memcpy(buffer, h->text, strlen(h->text));
  return 0;
}

const char *nvFatbinGetErrorString(int result) {
  return result == 7 ? "not this one" : "wrong";
}
