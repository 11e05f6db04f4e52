// while_loop.cuh -- loops until a word on the device is 0 (a stage `loop` with `while_word`). The word is the
// first element of its workspace; the second counts the iterations that a graph may still run.
#pragma once

// What a stage passes to a kernel that has { loop = "state" } among its args.
struct while_loop {
  unsigned long long
      handle;  // of a graph's conditional node; 0: the host, or this kernel, drives the loop
  unsigned *unfinished;  // set when the bound is reached; may be NULL
};

// Resolved by the driver when the module is loaded.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);

// Says that the loop was given up: the host tells it with the next launch. One thread.
__device__ __forceinline__ void while_give_up(while_loop w) {
  if (w.unfinished) *(volatile unsigned *)w.unfinished = 1;
}

// Ends an iteration: one thread of its last kernel calls this when state[0] is final, for all drivers.
__device__ __forceinline__ void while_go_on(while_loop w, volatile unsigned *state) {
  if (!w.handle) return;
  const unsigned left = state[1] ? state[1] - 1 : 0, word = state[0];
  state[1] = left;
  if (word && !left) while_give_up(w);
  cudaGraphSetConditional(w.handle, word && left);
}

// Launched by themselves around the iterations of a graph.
extern "C" __global__ void while_begin(while_loop w, unsigned *state, unsigned most) {
  state[1] = most;
  if (state[0] && !most) while_give_up(w);
  cudaGraphSetConditional(w.handle, state[0] && most);
}

extern "C" __global__ void while_next(while_loop w, unsigned *state) { while_go_on(w, state); }
