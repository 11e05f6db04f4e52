/* fuzz_ptx.c -- libFuzzer target: PTX text to a decoded module, and back to nothing.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -Iruntime/base -Iruntime/device -Iruntime/emu
 * \
 *     tests/fuzz_ptx.c
 * runtime/emu/emu_{lex,map,parse,build,live,layout,decode,decode_alu,decode_mem}.c \
 *     runtime/emu/emu_{decode_flow,decode_mma,decode_async,decode_bulk,sreg,type,float,cvt,round,lanes_base,lanes_avx2}.c \
 *     runtime/base/{arena,err,str}.c -lm -o build/fuzz_ptx
 *   build/fuzz_ptx -max_len=4096 CORPUS
 */
#include <stddef.h>
#include <stdint.h>

#include "emu_code.h"

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
