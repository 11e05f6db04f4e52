/* test_emu_forms.c -- rarer forms of instructions: each leaves a word that was worked out by hand
 * from the PTX manual. `--device 0` runs them on a GPU of compute capability 9.0. */
#include "emu_fixture.h"
#include "open_device.h"

static const char *device = "emu";

typedef struct snippet {
  const char *code; /* leaves its result in %r0; %d1: 256 bytes of global memory, zeros */
  uint32_t expected, operands[3]; /* in %r1 to %r3 */
} snippet;

static const snippet arithmetic[] = {
    /* f16: 0x0001 and 0x83ff are subnormal, 0x0400 is the smallest normal number */
    {"abs.ftz.f16x2 %r0, %r1;", 0x04007fff, {0x8400ffff}},
    {"abs.ftz.f16x2 %r0, %r1;", 0, {0x83ff0001}},
    {"neg.ftz.f16x2 %r0, %r1;", 0x8000bc00, {0x03ff3c00}},
    {"add.ftz.f16x2 %r0, %r1, %r2;", 0x04008400, {0x00018400, 0x04000200}},
    {"mul.ftz.f16x2 %r0, %r1, %r2;", 0x00000400, {0x04000400, 0x38003c00}},
    {"fma.rn.ftz.f16x2 %r0, %r1, %r2, %r3;", 0x00000400, {0x3c003c00, 0x03ff0400, 0}},
    {"setp.gt.ftz.f16x2 %p1|%p2, %r1, %r2; selp.u32 %r0, 1, 0, %p1; @%p2 add.u32 %r0, %r0, 2;",
     2,
     {0x04000001}},
    {"set.eq.ftz.f16x2.f16x2 %r0, %r1, %r2;", 0x00003c00, {0x04000001}},
    /* xorsign: the smaller or larger magnitude with the sign of the product */
    {"max.xorsign.abs.f16x2 %r0, %r1, %r2;", 0xc0004000, {0xc0003c00, 0x3c004000}},
    {"min.NaN.xorsign.abs.bf16x2 %r0, %r1, %r2;", 0xbf807fff, {0xbf807fff, 0x40004000}},
    {"max.NaN.xorsign.abs.bf16x2 %r0, %r1, %r2;", 0xc000c000, {0xbf803f80, 0x4000c000}},
    /* fields of 4 and 2 bits: b lowest, then a, then c */
    {"cvt.pack.sat.u4.s32.b32 %r0, %r1, %r2, %r3;", 0x3456789f, {9, 77, 0x12345678}},
    {"cvt.pack.sat.s4.s32.b32 %r0, %r1, %r2, %r3;", 0x345678d8, {-3u, -77u, 0x12345678}},
    {"cvt.pack.sat.u2.s32.b32 %r0, %r1, %r2, %r3;", 0xff8, {2, -1u, 0xff}},
    {"cvt.pack.sat.s2.s32.b32 %r0, %r1, %r2, %r3;", 0xff6, {7, -7u, 0xff}},
    /* 0x7ff7 is the NaN of elements outside a tensor; other NaNs stay */
    {"fma.rn.oob.f16x2 %r0, %r1, %r2, %r3;", 0x4700, {0x7ff74000, 0x3c004200, 0x3c003c00}},
    {"fma.rn.oob.f16x2 %r0, %r1, %r2, %r3;", 0x7fff, {0x3c007e00, 0x7ff73c00, 0x3c003c00}},
    {"fma.rn.oob.relu.f16x2 %r0, %r1, %r2, %r3;", 0x4200, {0xc0004000, 0x3c003c00, 0x3c003c00}},
    {"fma.rn.oob.bf16x2 %r0, %r1, %r2, %r3;", 0x40e0, {0x7ff74000, 0x3f804040, 0x3f803f80}},
    {"cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; fma.rn.oob.f16 %h3, %h2, %h1, %h2; "
     "cvt.u32.u16 %r0, %h3;",
     0,
     {0x7ff7, 0x3c00}},
    {"cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; fma.rn.oob.relu.bf16 %h3, %h1, %h2, %h1; "
     "cvt.u32.u16 %r0, %h3;",
     0,
     {0x4000, 0xc000}},
};

static const snippet memory[] = {
    {"mov.b64 %d4, 7; mov.b64 %d5, 8; mov.b128 %q2, {%d4, %d5};"
     "st.global.v2.u64 [%d1], {5, 6}; atom.global.exch.b128 %q1, [%d1], %q2;"
     "mov.b128 {%d2, %d3}, %q1; ld.global.v2.u64 {%d4, %d5}, [%d1];"
     "mad.lo.u64 %d2, %d2, 10, %d3; mad.lo.u64 %d2, %d2, 10, %d4; mad.lo.u64 %d2, %d2, 10, %d5;"
     "cvt.u32.u64 %r0, %d2;",
     5678},
    {"mov.b64 %d4, 7; mov.b64 %d5, 8; mov.b128 %q2, {%d4, %d5};"
     "st.global.v2.u64 [%d1], {7, 8}; mov.b128 %q3, {%d5, %d4};"
     "atom.global.cas.b128 %q1, [%d1], %q2, %q3; atom.global.cas.b128 %q1, [%d1], %q2, %q2;"
     "mov.b128 {%d2, %d3}, %q1; mad.lo.u64 %d2, %d2, 10, %d3; cvt.u32.u64 %r0, %d2;",
     87},
    {"mov.u32 %r1, s; mov.b64 %d4, 7; mov.b64 %d5, 8; mov.b128 %q2, {%d4, %d5};"
     "st.shared.v2.u64 [%r1], {3, 4}; atom.shared.exch.b128 %q1, [%r1], %q2;"
     "mov.b128 {%d2, %d3}, %q1; ld.shared.u64 %d4, [%r1+8]; mad.lo.u64 %d2, %d2, 10, %d3;"
     "mad.lo.u64 %d2, %d2, 10, %d4; cvt.u32.u64 %r0, %d2;",
     348},
};

static void check(const snippet *all, int n) {
  fixture k = {0};
  auto_str text = {0};
  uint32_t out[68] = {0};
  str_add(&text, ".version 8.6\n.target sm_90a\n.address_size 64\n");
  for (int i = 0; i < n; i++) {
    str_addf(
        &text,
        ".visible .entry k%d(.param .u64 x)\n{\n.reg .b16 %%h<8>; .reg .b32 %%r<16>; .reg .b64 "
        "%%d<8>; .reg .b128 %%q<4>; .reg .f32 %%f<8>; .reg .pred %%p<4>;\n"
        ".shared .align 128 .b8 s[256];\nld.param.u64 %%d7, [x];\n",
        i);
    str_addf(&text,
             "ld.global.u32 %%r1, [%%d7+4]; ld.global.u32 %%r2, [%%d7+8]; ld.global.u32 %%r3, "
             "[%%d7+12]; add.u64 %%d1, %%d7, 16;\n{\n%s\n}\nst.global.u32 [%%d7], %%r0;\nret;\n}\n",
             all[i].code);
  }
  fixture_ok(&k, rt_device_open(device, &k.d, &k.e));
  fixture_ptx(&k, str_text(&text));
  for (int i = 0; i < n; i++) {
    char name[16];
    memset(out, 0, sizeof out);
    memcpy(out + 1, all[i].operands, sizeof all[i].operands);
    rt_ptr p = fixture_copy(&k, out, sizeof out);
    void *args[] = {&p};
    snprintf(name, sizeof name, "k%d", i);
    fixture_ok(&k, fixture_launch(&k, name, 1, 1, 0, args));
    fixture_read(&k, out, p, sizeof out);
    if (out[0] != all[i].expected) {
      fail_msg("%s gives %08x, expected %08x", all[i].code, out[0], all[i].expected);
    }
    k.d->ops->release(k.d, p);
  }
  fixture_close(&k);
}
#define CHECK(all) check(all, (int)(sizeof all / sizeof *all))

TEST(arithmetic_forms) {
  CHECK(arithmetic);
}

TEST(memory_forms) {
  CHECK(memory);
}

int main(int argc, char **argv) {
  device = argc == 3 && !strcmp(argv[1], "--device") ? argv[2] : device;
  return tests_run();
}
