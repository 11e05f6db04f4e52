/* test_surface.c -- surfaces, and mistakes with textures and surfaces, on any device:
 *   build/tests/test_surface [--device NAME] */
#define _GNU_SOURCE
#include "texture_fixture.h"

enum { W = 8 };

/* ---- surfaces ---- */

BED_TEST(test_surfaces) {
  enum { X = 13, Y = 7 };
  const rt_array_shape s = {.type = DTYPE_u16, .channels = 4, .dims = {X, Y}, .surface = true};
  uint16_t texels[Y][X][4], back[Y][X][4];
  rt_array *a = array_of(b, &s, NULL);
  rt_object o = surface(b, a);
  rt_ptr to = bed_alloc(b, sizeof back);
  int w = X, h = Y;
  void *args[] = {&o, &w, &h, &to};
  const shape tiles = {{2, 1, 1}, {8, 8, 1}};
  OK(b, launch(b, "fill", tiles, args));
  OK(b, launch(b, "read_back", tiles, args));
  array_read(b, a, &s, texels);
  bed_get(b, back, to, sizeof back);
  assert_memory_equal(texels, back, sizeof back);
  for (int y = 0; y < Y; y++) {
    for (int x = 0; x < X; x++) {
      const uint16_t want[] = {(uint16_t)x, (uint16_t)y, (uint16_t)(x + y), (uint16_t)(x * y)};
      assert_memory_equal(texels[y][x], want, sizeof want);
    }
  }
  OK(b, b->d->ops->surface_free(b->d, o, &b->e));
  b->d->ops->array_free(b->d, a);
  bed_free(b, to);
}

static const rt_array_shape words = {
    .type = DTYPE_i32, .channels = 1, .dims = {W, 2}, .surface = true};

BED_TEST(test_surface_edges) {
  int texels[2][W], out[64];
  for (int i = 0; i < 2 * W; i++) {
    texels[i / W][i % W] = 100 + i;
  }
  rt_array *a = array_of(b, &words, texels);
  rt_object o = surface(b, a);
  rt_ptr to = bed_alloc(b, sizeof out);
  void *args[] = {&o, &to};
  OK(b, launch(b, "edges", threads(16), args));
  bed_get(b, out, to, sizeof out);
  for (int i = 0; i < 16; i++) {
    const int x = i - 4;
    assert_int_equal(out[i], texels[0][x < 0 ? 0 : x >= W ? W - 1 : x]);
    assert_int_equal(out[32 + i], x < 0 || x >= W ? 0 : texels[0][x]);
  }
  OK(b, launch(b, "write_zero", threads(16), args));
  OK(b, launch(b, "reduce", threads(32), args));
  array_read(b, a, &words, texels);
  for (int x = 0; x < W; x++) {
    int sum = 100 + x;
    for (int i = 0; x < 4 && i < 32; i++) {
      sum += i % 4 == x ? i : 0;
    }
    assert_int_equal(texels[0][x], sum);
    assert_int_equal(texels[1][x], 1004 + x);
  }
  OK(b, b->d->ops->surface_free(b->d, o, &b->e));
  b->d->ops->array_free(b->d, a);
  bed_free(b, to);
}

/* The manual does not say what becomes of further channels: here they stay. */
BED_TEST(test_formatted_reduction) {
  const rt_array_shape s = {.type = DTYPE_i32, .channels = 4, .dims = {4, 1}, .surface = true};
  int texels[4][4] = {{0}};
  if (!rt_emu_is(b->d)) {
    skip_because("not defined for several channels");
  }
  rt_array *a = array_of(b, &s, texels);
  rt_object o = surface(b, a);
  void *args[] = {&o};
  OK(b, launch(b, "reduce_formatted", threads(32), args));
  array_read(b, a, &s, texels);
  for (int x = 0; x < 4; x++) {
    assert_int_equal(texels[x][0], 8 * x + 4 * 28);
    assert_true(!texels[x][1] && !texels[x][2] && !texels[x][3]);
  }
  OK(b, b->d->ops->surface_free(b->d, o, &b->e));
  b->d->ops->array_free(b->d, a);
}

BED_TEST(test_surface_volumes) {
  const rt_array_shape bytes = {.type = DTYPE_u8,
                                .channels = 1,
                                .dims = {5, 4, 3},
                                .surface = true},
                       pairs = {.type = DTYPE_f32,
                                .channels = 2,
                                .dims = {4, 3, 5},
                                .layered = true,
                                .surface = true},
                       halves = {.type = DTYPE_f16, .channels = 1, .dims = {4, 1}, .surface = true};
  uint8_t volume[3][4][5];
  float layers[5][3][4][2];
  uint16_t half[4];
  rt_array *a = array_of(b, &bytes, NULL), *p = array_of(b, &pairs, NULL),
           *h = array_of(b, &halves, NULL);
  rt_object o[] = {surface(b, a), surface(b, p), surface(b, h)};
  void *first[] = {&o[0], &o[0]}, *second[] = {&o[1]}, *third[] = {&o[2]};
  OK(b, launch(b, "volume", (shape){{1, 1, 1}, {5, 4, 3}}, first));
  OK(b, launch(b, "layers", (shape){{5, 1, 1}, {4, 3, 1}}, second));
  OK(b, launch(b, "formatted", threads(4), third));
  array_read(b, a, &bytes, volume);
  array_read(b, p, &pairs, layers);
  array_read(b, h, &halves, half);
  for (int i = 0; i < 60; i++) {
    const int x = i % 5, y = i / 5 % 4, z = i / 20;
    assert_int_equal(volume[z][y][x], x + 10 * y + 50 * z);
    assert_true(layers[i / 12][i / 4 % 3][i % 4][0] == (float)(i % 4));
    assert_true(layers[i / 12][i / 4 % 3][i % 4][1] == (float)(i / 12));
  }
  for (int i = 0; i < 4; i++) {
    assert_int_equal(half[i], dtype_encode(DTYPE_f16, 0.5 + i));
  }
  for (int i = 0; i < 3; i++) {
    OK(b, b->d->ops->surface_free(b->d, o[i], &b->e));
  }
  b->d->ops->array_free(b->d, a);
  b->d->ops->array_free(b->d, p);
  b->d->ops->array_free(b->d, h);
}

/* ---- mistakes, which the emulated device reports with their line ---- */

static void expect(bed *b, int rc, rt_emu_check check, const char *mark, const char *says) {
  const rt_emu_finding *f = rt_emu_last_finding(b->d);
  auto_str text = {0};
  OK(b, file_read(path, 1 << 20, &text, &b->e));
  int line = 0;
  const char *at = mark ? strstr(str_text(&text), mark) : NULL;
  for (const char *p = str_text(&text); at && p <= at; p++) {
    line += p == str_text(&text) || p[-1] == '\n';
  }
  char place[80];
  snprintf(place, sizeof place, "%s:%d", path, line);
  assert_int_equal(rc, ERR_LAUNCH);
  assert_int_equal(f->check, check);
  if (!strstr(f->message, says)) {
    fail_msg("'%s' should say '%s'", f->message, says);
  }
  if (mark) {
    assert_string_equal(f->place, place);
  }
  err_clear(&b->e);
}

BED_TEST(test_findings) {
  if (!rt_emu_is(b->d)) {
    skip_because("only the emulated device finds mistakes, not a GPU");
  }
  float numbers[32] = {0};
  int n = 1;
  rt_ptr p = bed_put(b, numbers, sizeof numbers), y = bed_alloc(b, 1024);
  rt_object t = texture(b, &(rt_texture){.at = p, .type = DTYPE_f32, .channels = 1, .width = 32});
  void *args[] = {&t, &p, &y}, *places[] = {&t, &p, &n, &y};
  expect(b, launch(b, "stale", threads(32), args), EMU_STALE, "// fault: stale",
         "reads 4 bytes that this launch has written");
  expect(b, launch(b, "at_1d", threads(1), places), EMU_TEXTURE, NULL, "only tex1Dfetch reads it");
  expect(b, launch(b, "at_2d", threads(1), places), EMU_TEXTURE, NULL, "linear memory");
  OK(b, launch(b, "fetch_f32", threads(1), places));
  bed_free(b, p);
  rt_ptr x = bed_put(b, numbers, sizeof numbers);
  places[1] = &x;
  expect(b, launch(b, "fetch_f32", threads(1), places), EMU_FREED, NULL, "freed allocation");
  OK(b, b->d->ops->texture_free(b->d, t, &b->e));
  expect(b, launch(b, "fetch_f32", threads(1), places), EMU_TEXTURE, NULL, "was destroyed");
  assert_fails(b->d->ops->texture_free(b->d, t, &b->e), &b->e, ERR_DEVICE, "no texture object");
  err_clear(&b->e);
  t = 42;
  expect(b, launch(b, "fetch_f32", threads(1), places), EMU_TEXTURE, NULL,
         "takes 0x2a for a texture object: it is none");
  bed_free(b, x);
  bed_free(b, y);
}

BED_TEST(test_surface_findings) {
  if (!rt_emu_is(b->d)) {
    skip_because("only the emulated device finds mistakes, not a GPU");
  }
  int texels[2][W] = {{0}}, n = 1;
  rt_array *a = array_of(b, &words, texels), *fresh = array_of(b, &words, NULL);
  rt_object o = surface(b, a), unset = surface(b, fresh);
  rt_ptr y = bed_alloc(b, 1024);
  void *args[] = {&o, &y}, *as_texture[] = {&o, &y, &n, &y}, *early[] = {&unset, &y};
  rt_ptr x = bed_put(b, texels, sizeof texels);
  expect(b, launch(b, "beyond", threads(W + 1), args), EMU_SURFACE_BOUNDS, "// fault: beyond",
         "accesses 4 bytes at byte 32 of row 0 of slice 0; the surface ends with byte 31 of row 1");
  expect(b, launch(b, "skewed", threads(1), args), EMU_MISALIGNED, "// fault: skewed",
         "x counts bytes");
  expect(b, launch(b, "volume", threads(1), args), EMU_TEXTURE, NULL,
         "accesses a 2-D surface as a 3-D one");
  expect(b, launch(b, "beyond", threads(1), early), EMU_GLOBAL_UNINIT, "// fault: beyond",
         "never written");
  as_texture[1] = &x;
  expect(b, launch(b, "at_2d", threads(1), as_texture), EMU_TEXTURE, NULL, "is a surface");
  OK(b, b->d->ops->surface_free(b->d, o, &b->e));
  OK(b, b->d->ops->surface_free(b->d, unset, &b->e));
  b->d->ops->array_free(b->d, a);
  b->d->ops->array_free(b->d, fresh);
  bed_free(b, x);
  bed_free(b, y);
}

/* Shapes and settings that no device has. */
BED_TEST(test_refused) {
  rt_array *a;
  rt_object o;
  const rt_array_shape wide = {.type = DTYPE_f32, .channels = 1, .dims = {1 << 20, 16}},
                       triple = {.type = DTYPE_u8, .channels = 3, .dims = {4, 4}},
                       doubles = {.type = DTYPE_f64, .channels = 1, .dims = {4, 4}};
  rt_ptr p = bed_alloc(b, 4096);
  rt_texture t = {
      .at = p + 4, .type = DTYPE_f32, .channels = 1, .width = 8, .height = 2, .pitch = 64};
  assert_fails(b->d->ops->array_new(b->d, &wide, &a, &b->e), &b->e, ERR_USAGE, "1048576 x 16 x 0");
  err_clear(&b->e);
  assert_fails(b->d->ops->array_new(b->d, &triple, &a, &b->e), &b->e, ERR_USAGE, "1, 2 or 4");
  err_clear(&b->e);
  assert_fails(b->d->ops->array_new(b->d, &doubles, &a, &b->e), &b->e, ERR_USAGE, "f64");
  err_clear(&b->e);
  assert_fails(b->d->ops->texture_new(b->d, &t, &o, &b->e), &b->e, ERR_USAGE, "512");
  bed_free(b, p);
}

int main(int argc, char **argv) {
  return texture_tests(argc, argv);
}
