/* fuzz_run.c -- libFuzzer target: loads PTX and runs its kernels on at most two clusters of blocks
 * with a step limit. Every input must end in a result, a finding or an error.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
 *     $(find runtime -type d -printf '-I%p ') tests/emu/fuzz_run.c \
 *     $(find runtime/emu -name '*.c') \
 *     runtime/base/{arena,array,dtype,err,hash,str,threads}.c -lm -lpthread -o build/fuzz_run
 *   build/fuzz_run -max_len=6000 -dict=tests/emu/ptx.dict CORPUS tests/emu/seeds
 *
 * The seeds are small kernels, one for each kind of instruction; the dictionary holds PTX's words.
 */
#include <stdlib.h>
#include <string.h>

#include "emu.h"
#include "emu_device_state.h"

enum { BUFFER = 4096, STEPS = 4000, ARGS = 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static rt_device *device;
static rt_ptr buffer;
static rt_object objects[3]; /* a texture and a surface of one array, a texture of linear memory */

static void open_objects(void) {
  const rt_array_shape shape = {
      .type = DTYPE_f32, .channels = 1, .dims = {16, 8}, .surface = true, .gather = true};
  rt_texture of_array = {.linear = true, .normalized_coords = true};
  const rt_texture of_memory = {
      .at = buffer, .type = DTYPE_u32, .channels = 1, .width = BUFFER / 4};
  err e = {0};
  if (device->ops->array_new(device, &shape, &of_array.array, &e) ||
      device->ops->texture_new(device, &of_array, &objects[0], &e) ||
      device->ops->surface_new(device, of_array.array, &objects[1], &e) ||
      device->ops->texture_new(device, &of_memory, &objects[2], &e)) {
    abort();
  }
}

static void open_device(void) {
  err e = {0};
  if (rt_emu_open("h200,memory=4194304", &device, &e) ||
      device->ops->alloc(device, BUFFER, &buffer, &e)) {
    abort();
  }
  rt_emu_set_threads(device, 1);
  rt_emu_set_steps(device, STEPS);
  open_objects();
}

/* a tensor map of tiles, one of columns, then ones */
static void fill_buffer(void) {
  rt_tensor t = {.type = DTYPE_u32,
                 .rank = 2,
                 .at = buffer,
                 .dims = {32, 32},
                 .strides = {128},
                 .box = {8, 4}};
  const rt_tensor columns = {.type = DTYPE_u32,
                             .rank = 4,
                             .at = buffer,
                             .dims = {8, 5, 4, 3},
                             .strides = {32, 160, 640},
                             .box = {4},
                             .pixels = 8,
                             .upper = {-1, -1}};
  rt_tensor_map maps[2];
  err e = {0};
  if (device->ops->set(device, buffer, 1, BUFFER, NULL, &e) ||
      device->ops->tensor_map(device, &t, &maps[0], &e) ||
      device->ops->tensor_map(device, &columns, &maps[1], &e) ||
      device->ops->copy_in(device, buffer, maps, sizeof maps, NULL, &e)) {
    abort();
  }
}

/* Every parameter starts with the buffer's address, then the objects, and is as large as a tensor
 * map. */
static void run(rt_module *m, const emu_func *f) {
  static uint64_t values[ARGS][4096];
  void *args[ARGS];
  rt_function *function;
  err e = {0};
  uint32_t grid[3] = {1, 1, 1}, block[3] = {64, 1, 1};
  for (int i = 0; i < ARGS; i++) {
    values[i][0] = buffer;
    memcpy(&values[i][1], objects, sizeof objects);
    args[i] = values[i];
  }
  for (int i = 0; i < 3; i++) {
    grid[i] = f->cluster[i] > 0 && f->cluster[i] <= 8 ? 2 * (uint32_t)f->cluster[i] : 2;
    block[i] = f->required[i] > 0 && f->required[i] <= 128 ? (uint32_t)f->required[i] : block[i];
  }
  fill_buffer();
  grid[2] = f->cluster[2] > 0 ? (uint32_t)f->cluster[2] : 1;
  if (!device->ops->function(device, m, f->name, &function, &e) &&
      !device->ops->function_smem(device, function, 4096, &e)) {
    device->ops->launch(device, function, grid, block, 4096, NULL, args, &e);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  rt_module *m;
  err e = {0};
  if (!device) {
    open_device();
  }
  if (n > 1 && !device->ops->module_load(device, data, n, &m, &e)) {
    for (int checks = 0; checks < 2; checks++) {
      rt_emu_set_checks(device, checks);
      for (int i = 0; i < m->m->n_funcs; i++) {
        if (m->m->funcs[i]->entry && m->m->funcs[i]->defined) {
          run(m, m->m->funcs[i]);
        }
      }
    }
    device->ops->module_unload(device, m);
  }
  return 0;
}
