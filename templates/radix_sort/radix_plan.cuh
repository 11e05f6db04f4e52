// radix_plan.cuh -- which passes are made: those in which all keys have the same digit are left out.
#pragma once

enum { SKIP = 1, FIRST = 2, LAST = 4, TO_OUT = 8, PARITY = 16 };  // steps of a pass

// `left` passes follow. Consecutive passes that are made have opposite parities, which distinguish their states of
// tiles.
__device__ __forceinline__ unsigned steps_of(bool first, int left, unsigned parity) {
  return (first ? FIRST : 0) | (left == 0 ? LAST : 0) | (left % 2 == 0 ? TO_OUT : 0) |
         (parity % 2 ? PARITY : 0);
}

// Where no pass is left out.
__device__ __forceinline__ unsigned usual_steps(int pass) {
  return steps_of(pass == 0, PASSES - 1 - pass, pass + 1);
}

// By one thread. plan[pass] is how the steps differ from the usual ones: zero in memory that is zero. plan[PASSES] is
// the parity of the last pass that is made.
__device__ __forceinline__ void make_plan(const bool *same, unsigned parity, unsigned *plan) {
  int left = 0;
  for (int p = 0; p < PASSES; p++) left += !same[p];
  const bool none = left == 0;
  bool first = true;
  left = none ? 1 : left;
  for (int p = 0; p < PASSES; p++) {
    unsigned steps = SKIP;
    if (!same[p] || (none && p == 0)) {
      steps = steps_of(first, --left, parity ^= 1);
      first = false;
    }
    plan[p] = steps ^ usual_steps(p);
  }
  plan[PASSES] = parity;
}
