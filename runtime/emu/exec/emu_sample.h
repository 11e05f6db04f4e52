/* emu_sample.h -- which texels a texture read takes, and with which weights.
 *
 * src: CUDA C++ Programming Guide 13.0, chapter "Texture Fetching"; PTX ISA 9.0, 9.7.9. */
#ifndef EMU_SAMPLE_H
#define EMU_SAMPLE_H

#include "emu_texture.h"

/* texels of one dimension: at[0], or at[0] and at[1] with the weight of the latter */
typedef struct emu_tap {
  int64_t at[2]; /* -1: outside, which reads as zeros */
  int weight;    /* in 256ths; 0: at[0] alone */
} emu_tap;

/* emu_sample_index -- the texel that an integer coordinate of dimension k names */
emu_tap emu_sample_index(const emu_object *o, int k, int32_t x);
/* emu_sample_point -- the texel that covers a coordinate */
emu_tap emu_sample_point(const emu_object *o, int k, float x);
/* emu_sample_pair -- the two texels whose centres are around a coordinate */
emu_tap emu_sample_pair(const emu_object *o, int k, float x);

/* emu_texel_bits -- channel c of a texel as the 32 bits that a read returns */
uint32_t emu_texel_bits(const emu_object *o, const uint8_t *texel, int c);

#endif
