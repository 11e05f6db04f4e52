/* emu_pipe.c -- see emu_pipe.h. */
#include "emu_pipe.h"

const char *rt_emu_pipe_name(int pipe) {
  static const char *const names[] = {
#define NAME(name) #name,
      RT_EMU_PIPES(NAME)
#undef NAME
  };
  return pipe >= 0 && pipe < EMU_PIPES_N ? names[pipe] : "none";
}
