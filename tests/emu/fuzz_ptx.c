/* fuzz_ptx.c -- libFuzzer target: loads, links and frees a module.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined \
 *     $(find runtime -type d -printf '-I%p ') tests/emu/fuzz_ptx.c \
 *     $(find runtime/emu/{isa,code,parse,decode} -name "*.c") \
 *     runtime/base/{arena,array,err,str}.c -lm -o build/fuzz_ptx
 *   build/fuzz_ptx -max_len=4096 -dict=tests/emu/ptx.dict CORPUS tests/emu/seeds
 */
#include <stddef.h>
#include <stdint.h>

#include "emu_decode.h"
#include "emu_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  emu_module *m;
  err e = {0};
  if (!emu_module_parse((const char *)data, n, &m, &e)) {
    emu_module_link(m);
    emu_module_free(m);
  }
  return 0;
}
