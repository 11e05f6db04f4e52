/* dtype.h -- element types, by the names that templates, the command line and the database use. */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

/* clang-format off */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, bytes, CUDA spelling, unsigned integer / signed integer / floating point */
#define DTYPE_LIST(X)              \
  X(i8, 1, "signed char", 's')     \
  X(u8, 1, "unsigned char", 'u')   \
  X(i16, 2, "short", 's')          \
  X(u16, 2, "unsigned short", 'u') \
  X(i32, 4, "int", 's')            \
  X(u32, 4, "unsigned int", 'u')   \
  X(i64, 8, "long long", 's')      \
  X(u64, 8, "unsigned long long", 'u') \
  X(f16, 2, "__half", 'f')         \
  X(bf16, 2, "__nv_bfloat16", 'f') \
  X(f32, 4, "float", 'f')          \
  X(f64, 8, "double", 'f')

typedef enum dtype {
#define DTYPE_ENUM(name, nbytes, cuda, kind) DTYPE_##name,
  DTYPE_LIST(DTYPE_ENUM)
#undef DTYPE_ENUM
      DTYPE_COUNT
} dtype;

/* dtype_parse -- false when no type has that name */
bool dtype_parse(const char *name, dtype *out);
const char *dtype_name(dtype t);
/* dtype_cuda_name -- "unsigned int" */
const char *dtype_cuda_name(dtype t);
/* dtype_c_name -- "int32_t"; of f16 and bf16, which C lacks, "uint16_t" */
const char *dtype_c_name(dtype t);
size_t dtype_nbytes(dtype t);
bool dtype_is_float(dtype t);
bool dtype_is_signed(dtype t);
/* dtype_encode -- the value as the type's bits, rounded to nearest even (integers: truncated),
 * little-endian in the low bytes; f16 and bf16 included */
uint64_t dtype_encode(dtype t, double value);
/* dtype_decode -- the inverse; u64 and i64 beyond 2^53 round */
double dtype_decode(dtype t, uint64_t bits);

#endif
