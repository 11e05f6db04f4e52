/* test_loaded_textures.c -- textures of plans on a fake device: their objects, arrays, and graphs. */
#define _GNU_SOURCE
#include "check.h"
#include "loaded_fixture.h"

static struct {
  int made, live, arrays, copies;
  rt_texture last;
  rt_array_copy copy;
} textures;

static int texture_new(rt_device *d, const rt_texture *t, rt_object *o, err *e) {
  (void)d, (void)e;
  textures.last = *t;
  textures.live++;
  *o = (rt_object)++textures.made;
  return 0;
}

static int texture_free(rt_device *d, rt_object o, err *e) {
  (void)d, (void)e;
  assert_true(o > 0 && o <= (rt_object)textures.made);
  textures.live--;
  return 0;
}

static int array_new(rt_device *d, const rt_array_shape *shape, rt_array **a, err *e) {
  (void)d, (void)e;
  assert_true(shape->dims[0] == 4 && shape->dims[1] == 3 && shape->channels == 2);
  textures.arrays++;
  *a = (rt_array *)&textures;
  return 0;
}

static void array_free(rt_device *d, rt_array *a) {
  (void)d;
  assert_ptr_equal(a, &textures);
  textures.arrays--;
}

static int array_copy(rt_device *d, rt_array *a, const rt_array_copy *c, rt_stream s, err *e) {
  (void)d, (void)a, (void)s, (void)e;
  textures.copies++;
  textures.copy = *c;
  return 0;
}

static const rt_device_ops *ops_with_textures(void) {
  static rt_device_ops able;
  able = fake_ops;
  able.texture_new = texture_new;
  able.texture_free = texture_free;
  able.array_new = array_new;
  able.array_free = array_free;
  able.array_copy = array_copy;
  return &able;
}

static rt_loaded *load_texture(fake *f, const gen_texture *x) {
  err e = {0};
  rt_loaded *l;
  const gen_operand operands[] = {{.from = GEN_FROM_TEXTURE, .nbytes = 8, .texture = x},
                                  {.from = GEN_FROM_VALUE, .nbytes = 8},
                                  {.from = GEN_FROM_VALUE, .nbytes = 8},
                                  {.from = GEN_FROM_VALUE, .nbytes = 8}};
  const uint64_t values[] = {0, 0, 0};
  const gen_launch launch = {"look", {1, 1, 1}, {32, 1, 1}, .operands = operands, .n_operands = 4};
  const gen_plan plan = {.launches = &launch, .n = 1, .values = values};
  memset(&textures, 0, sizeof textures);
  assert_ok(rt_loaded_new(&f->device, "x", 1, &look_template, &plan, &l, &e), &e);
  return l;
}

/* The object that a launch with the i-th buffer takes. */
static uint64_t object_of(rt_loaded *l, int i) {
  err e = {0};
  const rt_ptr at = 512 * (rt_ptr)(1 + i);
  const void *args[] = {NULL, NULL, &at};
  assert_ok(rt_loaded_launch(l, NULL, args, &e), &e);
  return last_call.args[0];
}

/* Launches with one object for each of n buffers, twice each; returns the loaded plan. */
static rt_loaded *launch_textures(fake *f, const gen_texture *x, int n) {
  rt_loaded *l = load_texture(f, x);
  for (int i = 0; i < 2 * n; i++) {
    assert_int_equal(object_of(l, i / 2), x->array ? 1 : 1 + i / 2);
  }
  return l;
}

/* An object is made once for each buffer, the least recently used making room for new ones; an array
 * has one, and is filled by every launch. */
TEST(test_textures) {
  enum { MOST = 4096 };
  fake f;
  gen_texture x = {.at = {.from = GEN_FROM_ARG, .index = 2},
                   .type = DTYPE_f32,
                   .rank = 2,
                   .channels = 2,
                   .dims = {4, 3},
                   .strides = {{.from = GEN_FROM_VALUE, .nbytes = 8, .bits = 16}},
                   .how = {.edge = {GEN_WRAP, GEN_BORDER}, .linear = true}};
  fake_init(&f, look_only);
  f.device.ops = ops_with_textures();
  rt_loaded *l = launch_textures(&f, &x, MOST + 3);
  assert_int_equal(textures.made, MOST + 3);
  assert_int_equal(textures.live, MOST);
  assert_true(textures.last.width == 4 && textures.last.height == 3 && textures.last.pitch == 64);
  assert_true(textures.last.linear && !textures.last.normalized_coords);
  assert_true(textures.last.edge[0] == RT_EDGE_WRAP && textures.last.edge[1] == RT_EDGE_BORDER);
  rt_loaded_free(l);
  assert_int_equal(textures.live, 0);
  l = load_texture(&f, &x);
  memset(&textures, 0, sizeof textures);
  for (int i = 1; i < MOST + 3; i++) { /* what is in use stays */
    assert_int_equal(object_of(l, 0), 1);
    assert_int_equal(object_of(l, i), 1 + i);
  }
  rt_loaded_free(l);
  x.array = true;
  l = launch_textures(&f, &x, 3);
  assert_true(textures.made == 1 && textures.copies == 6 && textures.arrays == 1);
  assert_true(textures.copy.device == 3 * 512 && textures.copy.pitch == 64 &&
              textures.copy.rows == 3 && textures.copy.texel == 8);
  rt_loaded_free(l);
  assert_true(textures.live == 0 && textures.arrays == 0);
  assert_int_equal(f.live, 0);
}

static bool is_captured;

static bool capturing(rt_device *d, rt_stream s) {
  (void)d, (void)s;
  return is_captured;
}

/* What a caller's graph has captured is never replaced, and a capture replaces nothing. */
TEST(test_texture_in_a_callers_graph) {
  enum { MOST = 4096 };
  fake f;
  const gen_texture x = {.at = {.from = GEN_FROM_ARG, .index = 2},
                         .type = DTYPE_f32,
                         .rank = 1,
                         .channels = 2,
                         .dims = {4}};
  fake_init(&f, look_only);
  rt_device_ops able = *ops_with_textures();
  able.capturing = capturing;
  f.device.ops = &able;
  rt_loaded *l = load_texture(&f, &x);
  for (int i = 0; i < MOST + 2; i++) {
    is_captured = i < 2 || i >= MOST;
    assert_int_equal(object_of(l, i), 1 + i);
  }
  assert_int_equal(textures.live, MOST + 2);
  is_captured = false;
  for (int i = MOST + 2; i < 2 * MOST; i++) {
    assert_int_equal(object_of(l, i), 1 + i);
  }
  assert_int_equal(textures.live, MOST + 2);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(object_of(l, i), 1 + i);
    assert_int_equal(object_of(l, MOST + i), 1 + MOST + i);
  }
  rt_loaded_free(l);
  assert_int_equal(textures.live, 0);
}

/* A recorded graph keeps texture objects: only those of arrays live as long as the plan. */
TEST(test_texture_in_graph) {
  fake f;
  err e = {0};
  rt_loaded *l;
  gen_texture x = {.at = {.from = GEN_FROM_ARG, .index = 2},
                   .type = DTYPE_f32,
                   .rank = 2,
                   .channels = 2,
                   .dims = {4, 3},
                   .strides = {{.from = GEN_FROM_VALUE, .nbytes = 8, .bits = 16}}};
  const gen_operand operands[] = {{.from = GEN_FROM_TEXTURE, .nbytes = 8, .texture = &x}};
  gen_loop loop = {.times = 4, .n = 1, .graph = true};
  const gen_launch launch = {"look",          {1, 1, 1},    {32, 1, 1}, .operands = operands,
                             .n_operands = 1, .loop = &loop};
  const gen_plan plan = {.launches = &launch, .n = 1};
  memset(&textures, 0, sizeof textures);
  fake_init(&f, look_only);
  f.device.ops = ops_with_textures();
  assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), ERR_USAGE);
  assert_non_null(strstr(e.message, "kernel look reads a texture of a buffer in a loop"));
  err_clear(&e);
  for (int i = 0; i < 2; i++) { /* of an array, or without a graph */
    x.array = i == 0;
    loop.graph = i == 0;
    assert_ok(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), &e);
    rt_loaded_free(l);
  }
  assert_true(textures.live == 0 && textures.arrays == 0);
  assert_int_equal(f.live, 0);
}

int main(void) {
  return tests_run();
}
