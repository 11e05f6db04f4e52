/* emu_product_base.c -- the loops of matrix products for every processor. */
#define EMU_PRODUCT emu_product_base
#include "emu_product_loops.h"
