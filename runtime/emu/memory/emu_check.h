/* emu_check.h -- the checks of the emulated device, and the report of a failed one. */
#ifndef EMU_CHECK_H
#define EMU_CHECK_H

#include <stdint.h>

/* clang-format off */
typedef enum rt_emu_check {
  EMU_GLOBAL_BOUNDS, EMU_FREED, EMU_SHARED_BOUNDS, EMU_LOCAL_BOUNDS, EMU_MISALIGNED,
  EMU_SHARED_UNINIT, EMU_GLOBAL_UNINIT, EMU_SHARED_RACE, EMU_GLOBAL_RACE, EMU_BARRIER,
  EMU_SHUFFLE, EMU_ASYNC, EMU_STEPS, EMU_TRAP, EMU_ASSERT, EMU_STACK, EMU_READ_ONLY, EMU_CALL,
  EMU_PROXY, EMU_MBARRIER, EMU_NOT_RESIDENT, EMU_TEXTURE, EMU_STALE, EMU_SURFACE_BOUNDS,
  EMU_STREAM_RACE, EMU_UNFENCED,
  EMU_NO_FINDING
} rt_emu_check;

typedef struct rt_emu_finding {
  rt_emu_check check;       /* EMU_NO_FINDING: the launch passed */
  char message[700];        /* the complete sentence */
  char kernel[160], place[200]; /* place: "templates/reduce.lua:57" if the PTX has .loc */
  uint32_t block[3], thread[3];
  int ptx_line;
  char note[400]; /* something suspicious that did not end the launch; "": nothing */
} rt_emu_finding;
/* clang-format on */

#endif
