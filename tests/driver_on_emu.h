/* driver_on_emu.h -- what a test asks of the driver that runs exported code on the emulated device.
 */
#ifndef TEST_DRIVER_ON_EMU_H
#define TEST_DRIVER_ON_EMU_H

#include <stdbool.h>
#include <stdint.h>

typedef struct driver_note {        /* a launch */
  uint32_t grid[3], block[3], smem; /* all 0: memory was set */
  bool overlap;                     /* it may start before the one ahead has ended */
} driver_note;

extern struct driver_notes {
  bool dry;     /* launches are noted and nothing runs */
  bool overlap; /* of the launch under way */
  driver_note list[8];
  int n; /* since a test set it to 0; no more than fit are in the list */
} driver_notes;

#endif
