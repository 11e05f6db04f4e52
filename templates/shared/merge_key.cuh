// merge_key.cuh -- the type of the keys of merge and merge_sort, and their order.
@ local types = { i8 = "signed char", u8 = "unsigned char", i16 = "short", u16 = "unsigned short",
@   i32 = "int", u32 = "unsigned", i64 = "long long", u64 = "unsigned long long", f32 = "float",
@   f64 = "double" }
using key = @{types[dtype]};

@include "merge_order.cuh"
