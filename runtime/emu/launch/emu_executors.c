/* emu_executors.c -- the table of executors by kind of instruction. */
#include "emu_exec.h"

#define ROW(name) [KIND_##name] = exec_##name,
const emu_executor emu_executors[KIND_COUNT] = {EMU_KINDS(ROW)};
#undef ROW
