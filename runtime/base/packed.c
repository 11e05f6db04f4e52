#include "packed.h"

#include <stdlib.h>
#include <zlib.h>

void packed_add(const void *bytes, size_t n, str *out) {
  uLongf n_packed = compressBound(n);
  void *packed = malloc(n_packed);
  if (packed && compress2(packed, &n_packed, bytes, n, Z_BEST_COMPRESSION) == Z_OK) {
    str_add_n(out, packed, n_packed);
  } else {
    out->failed = true;
  }
  free(packed);
}

bool packed_read(const void *packed, size_t n_packed, void *out, size_t n) {
  uLongf n_out = n;
  return uncompress(out, &n_out, packed, n_packed) == Z_OK && n_out == n;
}
