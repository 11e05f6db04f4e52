/* emu_pipe.h -- the units of a multiprocessor that instructions are issued to. */
#ifndef EMU_PIPE_H
#define EMU_PIPE_H

/* clang-format off */
#define RT_EMU_PIPES(X)                                                                       \
  X(fma) X(alu) X(fp64) X(half) X(mufu) X(imad) X(cvt) X(lsu) X(tensor) X(control) X(uniform) \
  X(tex) X(none)
/* clang-format on */

typedef enum emu_pipe {
#define EMU_PIPE_ENUM(name) EMU_PIPE_##name,
  RT_EMU_PIPES(EMU_PIPE_ENUM)
#undef EMU_PIPE_ENUM
      EMU_PIPES_N
} emu_pipe;

/* rt_emu_pipe_name -- "fma", ... */
const char *rt_emu_pipe_name(int pipe);

#endif
