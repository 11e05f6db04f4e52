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
    {"alloca.u64 %d2, 64, 16; st.local.u32 [%d2], %r1; st.local.u32 [%d2+60], %r2; stacksave.u64 "
     "%d3; cvt.u64.u32 %d4, %r3; alloca.u64 %d4, %d4; st.local.u32 [%d4], %r3; stackrestore.u64 "
     "%d3; alloca.u64 %d5, 32; ld.local.u32 %r4, [%d2]; ld.local.u32 %r5, [%d2+60]; sub.u64 %d6, "
     "%d4, %d5; cvt.u32.u64 %r6, %d6; cvt.u32.u64 %r7, %d2; and.b32 %r7, %r7, 15;"
     "mad.lo.u32 %r0, %r4, 10, %r5; add.u32 %r0, %r0, %r6; add.u32 %r0, %r0, %r7;",
     23,
     {2, 3, 32}},
};

/* an mbarrier at s, which waits for `n` bytes; data from s + 16 on */
#define EXPECT(n)                                                                                  \
  "mov.u32 %r9, s; mbarrier.init.shared.b64 [%r9], 1; st.shared.v4.u32 [%r9+16], {%r1, %r2, %r3, " \
  "%r1};"                                                                                          \
  "fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;"                            \
  "mbarrier.arrive.expect_tx.shared.b64 %d2, [%r9], " #n ";"
#define WAIT "W: mbarrier.try_wait.shared.b64 %p1, [%r9], %d2; @!%p1 bra W;"
#define BY_BYTES ".shared::cluster.mbarrier::complete_tx::bytes"
#define SUM                                                                                        \
  "mad.lo.u32 %r4, %r4, 10, %r5; mad.lo.u32 %r4, %r4, 10, %r6; mad.lo.u32 %r0, %r4, 10, %r7;"
/* reduces 16 bytes of shared memory into 16 of global memory that hold 1 2 3 4 */
#define REDUCE(op)                                                                                 \
  "mov.u32 %r9, s; st.shared.v4.u32 [%r9+16], {%r1, %r2, %r3, %r1}; add.u32 %r10, %r9, 16;"        \
  "fence.proxy.async.shared::cta; mov.u32 %r4, 1; mov.u32 %r5, 2; mov.u32 %r6, 3; mov.u32 %r7, 4;" \
  "st.global.v4.u32 [%d1], {%r4, %r5, %r6, %r7}; fence.proxy.async;"                               \
  "cp.reduce.async.bulk.global.shared::cta.bulk_group." op " [%d1], [%r10], 16;"                   \
  "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; fence.proxy.async;"                     \
  "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d1];"

static const snippet asynchronous[] = {
    {EXPECT(16) "st.async.weak" BY_BYTES ".v4.u32 [%r9+32], {%r1, %r2, %r3, %r1}, [%r9];" WAIT
                "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r9+32];" SUM,
     2342,
     {2, 3, 4}},
    {EXPECT(8) "mov.b64 %d3, {%r1, %r2}; st.async" BY_BYTES ".b64 [%r9+32], %d3, [%r9];" WAIT
               "ld.shared.v2.u32 {%r4, %r5}, [%r9+32]; mad.lo.u32 %r0, %r4, 10, %r5;",
     23,
     {2, 3}},
    {EXPECT(12) "red.async.relaxed.cluster" BY_BYTES ".add.u32 [%r9+16], %r3, [%r9];"
                "red.async.relaxed.cluster" BY_BYTES ".max.s32 [%r9+20], %r1, [%r9];"
                "red.async.relaxed.cluster" BY_BYTES ".xor.b32 [%r9+24], %r2, [%r9];" WAIT
                "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r9+16];" SUM,
     7515, /* 5 + 2, max(3, 5), 2 ^ 3, 5 */
     {5, 3, 2}},
    {EXPECT(16) "add.u32 %r10, %r9, 16; add.u32 %r11, %r9, 32; st.shared.v4.u32 [%r11], {%r3, %r3, "
                "%r3, %r3}; fence.proxy.async.shared::cta;"
                "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add."
                "u32 [%r11], [%r10], 16, [%r9];" WAIT
                "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r11];" SUM,
     4564,
     {1, 2, 3}},
    {REDUCE("add.u32") SUM, 3576, {2, 3, 4}},
    {REDUCE("min.s32") SUM, 1232, {2, 3, 9}},
    {REDUCE("inc.u32") SUM, 2305, {9, 9, 2}},
    {REDUCE("or.b32") SUM, 3377, {3, 1, 4}},
    {REDUCE("add.u64") SUM, 3576, {2, 3, 4}},
};

static void write_snippet(str *text, const snippet *x) {
  str_add(text, ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 x)\n"
                ".explicitcluster .reqnctapercluster 1, 1, 1\n{\n.reg .b16 %h<8>; .reg .b32 "
                "%r<16>; .reg .b64 %d<8>; .reg .b128 %q<4>; .reg .f32 %f<8>; .reg .pred %p<4>;\n"
                ".shared .align 128 .b8 s[256];\nld.param.u64 %d7, [x];\nld.global.u32 %r1, "
                "[%d7+4]; ld.global.u32 %r2, [%d7+8]; ld.global.u32 %r3, [%d7+12]; add.u64 %d1, "
                "%d7, 16;\n{\n");
  str_addf(text, "%s\n}\nst.global.u32 [%%d7], %%r0;\nret;\n}\n", x->code);
}

/* In a context of its own: a fault of a GPU ends the context. Prints what is wrong. */
static bool fails(const snippet *x) {
  fixture k = {0};
  auto_str text = {0};
  uint32_t out[68] = {0};
  write_snippet(&text, x);
  memcpy(out + 1, x->operands, sizeof x->operands);
  fixture_ok(&k, rt_device_open(device, &k.d, &k.e));
  fixture_ptx(&k, str_text(&text));
  rt_ptr p = fixture_copy(&k, out, sizeof out);
  void *args[] = {&p};
  int rc = fixture_launch(&k, "k", 1, 1, 0, args);
  rc = rc ? rc : k.d->ops->copy_out(k.d, out, p, sizeof out, NULL, &k.e);
  if (rc || out[0] != x->expected) {
    print_error("%s gives %08x, expected %08x %s\n", x->code, out[0], x->expected, k.e.message);
  }
  fixture_close(&k);
  return rc || out[0] != x->expected;
}

static void check(const snippet *all, int n) {
  int failed = 0;
  for (int i = 0; i < n; i++) {
    failed += fails(&all[i]);
  }
  assert_int_equal(failed, 0);
}
#define CHECK(all) check(all, (int)(sizeof all / sizeof *all))

TEST(arithmetic_forms) {
  CHECK(arithmetic);
}

TEST(memory_forms) {
  CHECK(memory);
}

TEST(asynchronous_forms) {
  CHECK(asynchronous);
}

/* adds a tile of 8 x 2 times 10 at (8, 1) to a matrix of 32 x 4 */
TEST(tensor_reduction) {
  static const char *const text =
      ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry add(.param .align 64 .b8 "
      "map[128])\n{\n.reg .b32 %r<9>; .reg .b64 %d<4>; .shared .align 128 .b8 s[64];\n"
      "mov.u32 %r1, s; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r2, 4, %r1; mov.u32 %r4, 10;"
      "st.shared.u32 [%r3], %r4; fence.proxy.async.shared::cta; bar.sync 0; .reg .pred %p;"
      "setp.ne.u32 %p, %r2, 0; @%p bra L; mov.b64 %d1, map; cvta.param.u64 %d1, %d1;"
      "mov.u32 %r5, 8; mov.u32 %r6, 1;\n"
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%d1, {%r5, %r6}], "
      "[%r1];\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nL: ret;\n}\n";
  fixture k = {0};
  rt_tensor_map map;
  int32_t x[128];
  for (int i = 0; i < 128; i++) {
    x[i] = i;
  }
  fixture_ok(&k, rt_device_open(device, &k.d, &k.e));
  fixture_ptx(&k, text);
  rt_ptr p = fixture_copy(&k, x, sizeof x);
  rt_tensor t = {
      .type = DTYPE_i32, .rank = 2, .at = p, .dims = {32, 4}, .strides = {128}, .box = {8, 2}};
  fixture_ok(&k, k.d->ops->tensor_map(k.d, &t, &map, &k.e));
  void *args[] = {&map};
  fixture_ok(&k, fixture_launch(&k, "add", 1, 16, 0, args));
  fixture_read(&k, x, p, sizeof x);
  for (int i = 0; i < 128; i++) {
    const bool inside = i / 32 >= 1 && i / 32 < 3 && i % 32 >= 8 && i % 32 < 16;
    assert_int_equal(x[i], i + (inside ? 10 : 0));
  }
  fixture_close(&k);
}

/* a map of another matrix with another box, made of a parameter's map; a tile by it */
TEST(replaced_tensor_map) {
  static const char *const text =
      ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry tile(.param .align 64 .b8 "
      "map[128], .param .u64 to, .param .u64 other, .param .u64 out)\n{\n.reg .b32 %r<12>; .reg "
      ".b64 %d<9>; .reg .pred %p<3>; .shared .align 128 .b8 s[256]; .shared .align 128 .b8 m[128]; "
      ".shared .align 8 .b8 bar[8];\n"
      "mov.u32 %r1, s; mov.u32 %r2, %tid.x; mov.u32 %r3, m; mov.u32 %r4, bar; mov.b64 %d1, map;"
      "cvta.param.u64 %d1, %d1; ld.param.u64 %d2, [to]; ld.param.u64 %d3, [other]; ld.param.u64 "
      "%d4, [out]; mul.wide.u32 %d5, %r2, 4; add.u64 %d6, %d1, %d5; ld.u32 %r5, [%d6]; shl.b32 "
      "%r6, %r2, 2; add.u32 %r7, %r3, %r6; st.shared.u32 [%r7], %r5; setp.ne.u32 %p1, %r2, 0; "
      "bar.sync 0;\n"
      "mov.u32 %r8, 2; mov.u32 %r9, 12; mov.u64 %d7, 64; mov.u32 %r10, 8; @%p1 bra L;\n"
      "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r3], %d3;\n"
      "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r3], 0, %r9;\n"
      "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r3], 0, %d7;\n"
      "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r3], 0, %r10;\n"
      "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r3], 1, %r8;\nL: bar.warp.sync -1;\n"
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
      "[%d2], [%r3], 128;\n@%p1 bra E;\nfence.proxy.tensormap::generic.acquire.gpu [%d2], 128;\n"
      "mbarrier.init.shared.b64 [%r4], 1; fence.mbarrier_init.release.cluster;\n"
      "mbarrier.arrive.expect_tx.shared.b64 %d8, [%r4], 64; mov.u32 %r5, 8; mov.u32 %r6, 1;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], "
      "[%d2, {%r5, %r6}], [%r4];\nW: mbarrier.try_wait.shared.b64 %p2, [%r4], %d8; @!%p2 bra W;\nE: "
      "bar.sync 0; shl.b32 %r6, %r2, 2; add.u32 %r7, %r1, %r6; setp.gt.u32 %p1, %r2, 15; @%p1 bra "
      "R; ld.shared.u32 %r5, [%r7]; add.u64 %d6, %d4, %d5; st.global.u32 [%d6], %r5;\nR: ret;\n}\n";
  fixture k = {0};
  rt_tensor_map map;
  int32_t x[64], out[16] = {0};
  for (int i = 0; i < 64; i++) {
    x[i] = i + 1;
  }
  fixture_ok(&k, rt_device_open(device, &k.d, &k.e));
  fixture_ptx(&k, text);
  rt_ptr first = fixture_copy(&k, out, sizeof out), p = fixture_copy(&k, x, sizeof x);
  rt_ptr to = fixture_alloc(&k, 128), y = fixture_alloc(&k, sizeof out);
  rt_tensor t = {
      .type = DTYPE_i32, .rank = 2, .at = first, .dims = {4, 4}, .strides = {16}, .box = {4, 1}};
  fixture_ok(&k, k.d->ops->tensor_map(k.d, &t, &map, &k.e));
  void *args[] = {&map, &to, &p, &y};
  fixture_ok(&k, fixture_launch(&k, "tile", 1, 32, 0, args));
  fixture_read(&k, out, y, sizeof out);
  for (int i = 0; i < 16; i++) { /* of rows of 16 words, 12 of them inside */
    assert_int_equal(out[i], i % 8 < 4 ? (i / 8 + 1) * 16 + 8 + i % 8 + 1 : 0);
  }
  fixture_close(&k);
}

int main(int argc, char **argv) {
  device = argc == 3 && !strcmp(argv[1], "--device") ? argv[2] : device;
  return tests_run();
}
