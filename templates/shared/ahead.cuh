// ahead.cuh -- a kernel that starts while the one ahead of it in the stream ends, whoever launched that:
// its blocks take the place of those that are done, and what a launch costs is over by the time they may
// begin. The template says with EARLY whether its launch asks for that ("early" of a stage).

// Comes first in every thread: waits until all ahead has ended and what it wrote can be seen, and lets
// the launch after this one start as early. Returns 0, which is added to a pointer that is read from:
// loads of what nobody writes are else free to go ahead of the wait.
// src: "griddepcontrol" in the PTX ISA; compute capability 9.0
__device__ __forceinline__ int wait_for_ahead() {
@ if EARLY then
  int none;
  asm volatile(
      "griddepcontrol.launch_dependents;\n\t"
      "griddepcontrol.wait;\n\t"
      "mov.b32 %0, 0;"
      : "=r"(none)::"memory");
  return none;
@ else
  return 0;
@ end
}
