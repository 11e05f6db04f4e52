// lanes.cuh -- PTX instructions by which lanes of a warp, and blocks, tell each other something; as in
// ptx.cuh, one wrapper each. A file of its own, since what is tuned with a template is tuned with all
// that it includes.
#pragma once

// "ld" and "st", .relaxed at the scope of the device: words of 32 bits.
__device__ __forceinline__ unsigned load_relaxed(const unsigned *p) {
  unsigned v;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ void store_relaxed(unsigned *p, unsigned v) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

// "Special registers": the lanes up to and with this one, and those after it, a bit each.
__device__ __forceinline__ unsigned lanemask_le() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(mask));
  return mask;
}
__device__ __forceinline__ unsigned lanemask_gt() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(mask));
  return mask;
}

// "vote.sync": the lanes of the whole warp in which this bit is the same as in this one. The
// predicate that is voted on also inverts the votes, where C++ would compare twice.
__device__ __forceinline__ unsigned vote_same(unsigned word, unsigned bit) {
  unsigned lanes;
  asm volatile(
      "{\n"
      ".reg .pred one;\n"
      "and.b32 %0, %1, %2;\n"
      "setp.ne.u32 one, %0, 0;\n"
      "vote.sync.ballot.b32 %0, one, 0xffffffff;\n"
      "@!one not.b32 %0, %0;\n"
      "}"
      : "=&r"(lanes)
      : "r"(word), "r"(bit));
  return lanes;
}
// The same with a multiplication for the inversion: it goes to another unit than votes and logic do.
// `minus` is -1, but the compiler must not know.
__device__ __forceinline__ unsigned vote_same(unsigned word, unsigned bit, int minus) {
  unsigned lanes;
  asm volatile(
      "{\n"
      ".reg .pred one;\n"
      "and.b32 %0, %1, %2;\n"
      "setp.ne.u32 one, %0, 0;\n"
      "vote.sync.ballot.b32 %0, one, 0xffffffff;\n"
      "@!one mad.lo.s32 %0, %0, %3, %3;\n"
      "}"
      : "=&r"(lanes)
      : "r"(word), "r"(bit), "r"(minus));
  return lanes;
}

// "lop3": the bits that all three have, in one instruction; 0x80 is its table of "and".
__device__ __forceinline__ unsigned and3(unsigned a, unsigned b, unsigned c) {
  unsigned all;
  asm("lop3.b32 %0, %1, %2, %3, 0x80;" : "=r"(all) : "r"(a), "r"(b), "r"(c));
  return all;
}

// "griddepcontrol", compute capability 9.0: the launch after this one, if it may overlap, can start
// when all blocks have said so or have ended; and waits until the launch before has ended and what it
// wrote can be seen. Without such launches neither does anything.
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ __forceinline__ void griddepcontrol_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
