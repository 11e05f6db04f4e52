/* cudart_exports.c -- the exported names: jumps to the functions that answer them.
 *
 * A program that was linked with libcudart.so.12 or .13 asks for NAME@libcudart.so.12 or .13; the dynamic linker
 * takes only a definition of that version, so each name has both. A jump keeps arguments and return address. */
#include "cudart_api.h"
#include "cudart_process.h"

/* clang-format off */
#define LABEL(name, version, does)                                                                 \
  ".globl at_" version "_" #name "\n.type at_" version "_" #name ",@function\n"                    \
  "at_" version "_" #name ": " does "\n"
#define EXPORT(name, does) EXPORT_TWO(name, does, does)
#define EXPORT_TWO(name, does_12, does_13)                                                         \
  __asm__(".text\n" LABEL(name, "12", does_12) LABEL(name, "13", does_13)                          \
          ".symver at_12_" #name ", " #name "@libcudart.so.12\n"                                   \
          ".symver at_13_" #name ", " #name "@@libcudart.so.13\n");
#define JUMP(name, target) EXPORT(name, "jmp " #target)
#define CHANGED(name, target_12, target_13) EXPORT_TWO(name, "jmp " #target_12, "jmp " #target_13)
#define CALL(name) JUMP(name, emu_##name)
#define STREAM_CALL(name) JUMP(name, emu_##name) JUMP(name##_ptsz, emu_##name)
#define DEFAULT_STREAM_CALL(name) JUMP(name, emu_##name) JUMP(name##_ptds, emu_##name)
#define REFUSE(name)                                                                               \
  __asm__(".section .rodata.str1.1,\"aMS\",@progbits,1\nname_" #name ": .asciz \"" #name "\"\n");  \
  EXPORT(name, "lea name_" #name "(%rip), %rdi\n jmp emu_refuse")
/* clang-format on */

CUDART_CALLS(CALL)
CUDART_STREAM_CALLS(STREAM_CALL)
CUDART_DEFAULT_STREAM_CALLS(DEFAULT_STREAM_CALL)
CUDART_ALIASES(JUMP)
CUDART_CHANGED(CHANGED)
CUDART_REFUSED(REFUSE)

void emu_refuse(const char *name) {
  cudart_ends("the program calls %s, which the emulated device does not have", name);
}

cudaError_t emu_nothing(void) {
  return cudaSuccess;
}
