/* export_launch.c -- how exported C launches a kernel: the function that does it. */
#include "export_parts.h"

/* What waits by itself for the kernel ahead of it says so in the launch (device.h,
 * launch_overlapping). */
static const char function[] =
    "  if (overlap) {\n"
    "    CUlaunchAttribute early;\n"
    "    CUlaunchConfig how;\n"
    "    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;\n"
    "    early.value.programmaticStreamSerializationAllowed = 1;\n"
    "    how.gridDimX = grid[0];\n"
    "    how.gridDimY = grid[1];\n"
    "    how.gridDimZ = grid[2];\n"
    "    how.blockDimX = block[0];\n"
    "    how.blockDimY = block[1];\n"
    "    how.blockDimZ = block[2];\n"
    "    how.sharedMemBytes = smem;\n"
    "    how.hStream = stream;\n"
    "    how.attrs = &early;\n"
    "    how.numAttrs = 1;\n"
    "    return cuLaunchKernelEx(&how, f, operands, NULL);\n"
    "  }\n"
    "#endif\n"
    "  (void)overlap;\n"
    "  return cuLaunchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], smem,\n"
    "                        stream, operands, NULL);\n"
    "}\n\n";

void export_launch_function(const char *name, str *out) {
  str_addf(out,
           "/* overlap: it may start before the kernel ahead of it has ended, for which it waits "
           "itself;\n * headers before CUDA 12 can't say so. */\n"
           "static inline CUresult %s_launch_kernel(CUfunction f, const unsigned grid[3],\n"
           "    const unsigned block[3], unsigned smem, CUstream stream, void **operands, int "
           "overlap) {\n#if CUDA_VERSION >= 12000\n%s",
           name, function);
}
