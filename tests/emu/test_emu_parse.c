/* test_emu_parse.c -- loading PTX: errors with their line and reason, scopes, labels, and which
 * instructions of PTX are emulated. */
#define _GNU_SOURCE
#include "emu_fixture.h"

static int load(fixture *k, const char *text) {
  err_clear(&k->e);
  k->m = NULL;
  int rc = k->d->ops->module_load(k->d, text, strlen(text), &k->m, &k->e);
  if (!rc) {
    k->d->ops->module_unload(k->d, k->m);
  }
  return rc;
}

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define BODY_BEGIN                                                                                 \
  HEAD ".visible .entry k(.param .u64 x)\n{\n.reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;\n"
#define BODY_END "\nret;\n}\n"
#define BODY(text) BODY_BEGIN text BODY_END

ON_EMU(refusals) {
  static const struct {
    const char *text, *says, *place;
  } all[] = {
      {"hello", "not PTX", "PTX line 1"},
      {HEAD ".visible .entry k(", "ends", "PTX line 4"},
      {BODY("frobnicate.b32 %r1, %r2;"), "'frobnicate.b32' is not emulated", "PTX line 7"},
      {BODY("add.rn.bogus.s32 %r1, %r2, %r3;"), "add.rn.bogus.s32", "PTX line 7"},
      {BODY("add.s32 %r1, %r2, %d3;"), "width", "PTX line 7"},
      {BODY("add.s32 %r1, %r2, %r9;"), "register '%r9' is not declared", "PTX line 7"},
      {BODY("add.s32 %r1, %r2;"), "number of operands", "PTX line 7"},
      {BODY("@%p bra nowhere;"), "label 'nowhere' is not defined", NULL},
      {BODY("ld.global.f32 %r1, %r2;"), "address", "PTX line 7"},
      {BODY("ld.global.v4.f32 {%r1, %r2}, [%d1];"), "ld.global.v4.f32", "PTX line 7"},
      {BODY("call absent, ();"), "function is not declared", "PTX line 7"},
      {BODY("tcgen05.fence::before_thread_sync;"), "tcgen05", "PTX line 7"},
      {BODY("wgmma.fence.sync.aligned;"), "target sm_90a", "PTX line 7"},
      {BODY("shfl.down.b32 %r1, %r2, 1, 31;"), "sm_6x", "PTX line 7"},
      /* operands wider than their registers */
      {BODY("ld.global.v8.b64 {%d1, %d1, %d1, %d1, %d1, %d1, %d1, %d1}, [%d1];"), "v8.b64", NULL},
      {BODY(".reg .b16 %h<3>; selp.b8 %h1, %h2, %h2, %p;"), "selp.b8", NULL},
      {BODY(".reg .b128 %q; cvt.u64.u64 %q, %d1;"), "width", NULL},
      {BODY(".reg .b16 %h<3>; mov.b64 %d1, {%h1, %h2};"), "narrow", NULL},
      {BODY("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%d1], {%r1, %r2};"), "registers", NULL},
      {BODY(
           "wmma.mma.sync.aligned.row.row.m16n8k256.s32.s8.s8.s32 {%d1, %d1}, {%d1, %d1, %d1, %d1, "
           "%d1, %d1, %d1, %d1, %d1, %d1, %d1, %d1, %d1, %d1, %d1, %d1}, {%d1, %d1, %d1, %d1, "
           "%d1, %d1, %d1, %d1}, {%d1, %d1};"),
       "m16n8k256", NULL},
      {BODY("wmma.mma.sync.aligned.row.col.m16n16k16.b32.f32 {%r1, %r1, %r1, %r1, %r1, %r1, %r1, "
            "%r1}, {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1}, {%r1, %r1, %r1, %r1, %r1, %r1, %r1, "
            "%r1}, {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1};"),
       "b32.f32", NULL},
      {BODY(".local .b8 much[600000];"), "local memory", NULL},
      {HEAD ".visible .entry k(.param .b8 x[40000])\n{\nret;\n}\n", "parameters", NULL},
      {HEAD ".extern .func outside;\n.visible .entry k()\n{\ncall outside;\nret;\n}\n", "outside",
       NULL},
      {HEAD ".global .b8 big[99999999999];\n", "elements", NULL},
      {HEAD ".visible .entry k()\n{\n.reg .b32 %r<2000000000>;\nret;\n}\n", "registers", NULL},
      {HEAD ".global .b32 x = {1, 2, 3};\n", "longer", NULL},
      {HEAD ".visible .entry k()\n{\nret;\n}\n.visible .entry k()\n{\nret;\n}\n", "twice", NULL},
      {BODY("mov.b32 %r1, {{{{{%r2}}}}};"), "nested", NULL},
      {HEAD ".global .align 3 .b32 x;\n", "alignment", NULL},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    assert_int_not_equal(load(k, all[i].text), 0);
    if (!strstr(k->e.message, all[i].says)) {
      fail_msg("'%s' should say '%s'", k->e.message, all[i].says);
    }
    if (all[i].place) {
      assert_string_equal(k->e.place, all[i].place);
    }
    assert_null(strstr(k->e.message, "PTX line"));
    assert_null(strchr(k->e.message, '\n'));
  }
}

/* A body that cannot be run refuses the kernels that reach it; the others of the module run. */
ON_EMU(refused_kernels) {
  static const struct {
    const char *kernel, *says;
  } all[] = {
      {"textured",
       "kernel textured cannot be run: unsupported instruction 'tex.cube.v4.f32.f32': cubemaps are "
       "not emulated"},
      {"referring", "texture and surface references are not emulated; pass the kernel an object"},
      {"caller", "kernel caller cannot be run: instruction 'frobnicate.b32' is not emulated"},
      {"outer", "outside, which the PTX does not define"},
      {"nobody",
       "no kernel 'nobody' in the module; it has: textured, referring, caller, outer, good"},
  };
  static const char text[] = HEAD
      ".global .texref t;\n.extern .func outside;\n.func helper\n{\n.reg .b32 %r<4>;\nfrobnicate.b32 %r1, %r2;\n}\n"
      ".visible .entry textured(.param .u64 x)\n{\n.reg .b32 %r<9>; .reg .b64 %d<4>;\n"
      ".shared .b8 s[4096]; { .reg .b64 q; mov.u64 q, s; bra L; }\n"
      "tex.cube.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%d1, {%r5, %r5, %r5, %r5}];\nL: ret;\n}\n"
      ".visible .entry referring()\n{\n.reg .b32 %r<9>;\n"
      "tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [t, {%r5}];\nret;\n}\n"
      ".visible .entry caller()\n{\ncall helper;\nret;\n}\n"
      ".visible .entry outer()\n{\ncall outside;\nret;\n}\n"
      ".visible .entry good(.param .u64 x)\n{\n.reg .b64 %d<2>; .shared .b8 t[8]; .reg .b32 %r<4>;\n"
      "ld.param.u64 %d1, [x]; mov.u32 %r1, t; st.shared.u32 [%r1], 7; ld.shared.u32 %r2, [%r1];\n"
      "L: st.global.u32 [%d1], %r2;\nret;\n}\n";
  rt_function *f;
  rt_function_info info;
  uint32_t out = 0;
  fixture_ptx(k, text);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    err_clear(&k->e);
    assert_int_not_equal(k->d->ops->function(k->d, k->m, all[i].kernel, &f, &k->e), 0);
    if (!strstr(k->e.message, all[i].says)) {
      fail_msg("'%s' should say '%s'", k->e.message, all[i].says);
    }
  }
  rt_ptr p = fixture_copy(k, &out, sizeof out);
  void *args[] = {&p};
  fixture_ok(k, fixture_launch(k, "good", 1, 1, 0, args));
  fixture_read(k, &out, p, sizeof out);
  assert_int_equal(out, 7);
  fixture_ok(k, k->d->ops->function(k->d, k->m, "good", &f, &k->e));
  fixture_ok(k, k->d->ops->function_info(k->d, f, &info, &k->e));
  assert_int_equal(info.smem_static, 8);
}

/* a copy of the text in which the word from `at` on is `_` */
static void with_sink(str *out, const char *text, const char *at) {
  size_t n = 1 + strcspn(at + 1, " ,;|]}+\n");
  str_add_n(out, text, (size_t)(at - text));
  str_add(out, "_");
  str_add(out, at + n);
}

/* The sink `_` in the place of each operand of each instruction, and a predicate there, load or
 * fail with an error. */
ON_EMU(sinks) {
  static const char *const seeds[] = {"alu",      "async", "bulk",  "call",    "cluster",
                                      "columns",  "flow",  "newer", "texture", "local",
                                      "mbarrier", "mem",   "mma",   "reduce",  "sparse",
                                      "tensor",   "video", "warp",  "wgmma",   "wmma"};
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    char path[80];
    snprintf(path, sizeof path, "tests/emu/seeds/%s.ptx", seeds[i]);
    auto_str text = fixture_read_file(path);
    const char *body = strstr(str_text(&text), ".reg");
    for (const char *at = body; (at = strchr(at, '%')); at++) {
      auto_str changed = {0};
      with_sink(&changed, str_text(&text), at);
      int rc = load(k, str_text(&changed));
      assert_true(!rc || rc == ERR_COMPILE);
    }
  }
  assert_int_equal(load(k, BODY("cvt.rn.f32.s32 _, %r1; cvt.f64.f32 _, %r1; cvt.u8.u32 _, %r1;")),
                   0);
}

/* A statement without operands does not take those of the statement before it. */
ON_EMU(missing_operands) {
  static const char *const words[] = {"nanosleep.u32", "createpolicy.fractional.L2::evict_last.b64",
                                      "cp.async.wait_group", "mov.b64 {%p, %p}, %d1"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    auto_str text = {0};
    str_addf(&text,
             HEAD ".visible .entry k()\n{\n.reg .b32 %%r<90000>;\nadd.s32 %%r89999, "
                  "%%r89998, %%r89997;\nret;\n}\n.visible .entry l()\n{\n.reg .pred %%p; .reg .b64 "
                  "%%d<2>;\n%s;\nret;\n}\n",
             words[i]);
    rt_function *f;
    fixture_ptx(k, str_text(&text));
    assert_int_equal(k->d->ops->function(k->d, k->m, "l", &f, &k->e), ERR_COMPILE);
    k->d->ops->module_unload(k->d, k->m);
  }
}

/* Every prefix of a valid module either loads or fails with an error. */
ON_EMU(prefixes) {
  static const char text[] =
      BODY("ld.param.u64 %d1, [x];\n@%p bra L;\nadd.s32 %r1, %r2, -5; // comment\nL:\n"
           "st.global.v2.b32 [%d1+8], {%r1, %r2};");
  for (size_t n = 0; n <= sizeof text - 1; n++) {
    err_clear(&k->e);
    if (!k->d->ops->module_load(k->d, text, n, &k->m, &k->e)) {
      k->d->ops->module_unload(k->d, k->m);
    } else {
      assert_true(n < sizeof text - 2);
    }
  }
}

/* 2500 labels; bench_emu measures the time. */
ON_EMU(many_labels) {
  enum { LABELS = 2500 };
  auto_str text = {0};
  str_add(&text, HEAD ".visible .entry k()\n{\n.reg .pred %p; .reg .b32 %r<4>;\n");
  for (int i = 0; i < LABELS; i++) {
    str_addf(&text, "L%d: add.s32 %%r1, %%r1, %d;\n@%%p bra L%d;\n", i, i, (i * 7 + 3) % LABELS);
  }
  str_add(&text, "ret;\n}\n");
  fixture_ok(k, load(k, str_text(&text)));
}

/* Names are local to their scope; two scopes may have the same label. */
ON_EMU(scopes) {
  uint32_t out = 0;
  fixture_ptx(k,
              BODY("ld.param.u64 %d1, [x]; mov.u32 %r1, 1;\n"
                   "{ .reg .b32 %r<2>; .reg .pred q; mov.u32 %r1, 5; setp.eq.u32 q, %r1, 5; @q bra "
                   "DONE; trap; DONE: }\n"
                   "{ .reg .pred q; setp.eq.u32 q, %r1, 1; @q bra DONE; trap; DONE: }\n"
                   "st.global.u32 [%d1], %r1;"));
  rt_ptr p = fixture_copy(k, &out, 4);
  void *args[] = {&p};
  fixture_ok(k, fixture_launch(k, "k", 1, 1, 0, args));
  fixture_read(k, &out, p, 4);
  assert_int_equal(out, 1);
}

/* Reads outside the parameters fail, whatever the offset. */
TEST(parameter_bounds) {
  static const char *const offsets[] = {"x-4", "x+8", "x+4096", "x-8"};
  uint64_t value = 0;
  void *args[] = {&value};
  for (int i = 0; i < 4; i++) {
    fixture k;
    auto_str text = {0};
    fixture_open(&k, "");
    str_add(&text, HEAD ".visible .entry k(.param .u64 x)\n{\n.reg .b32 %r<2>;\n");
    str_addf(&text, "ld.param.u32 %%r1, [%s];\nret;\n}\n", offsets[i]);
    fixture_ptx(&k, str_text(&text));
    assert_int_equal(fixture_launch(&k, "k", 1, 1, 0, args), ERR_LAUNCH);
    fixture_close(&k);
  }
}

/* brx.idx, with valid indices and one outside the table */
ON_EMU(branch_tables) {
  uint32_t out[4] = {0};
  fixture_ptx(k, BODY("ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mad.wide.u32 %d1, %r1, 4, %d1;\n"
                      "T: .branchtargets A, B, C;\nbrx.idx %r1, T;\nA: mov.u32 %r2, 10; bra E;\nB: "
                      "mov.u32 %r2, 20; bra E;\n"
                      "C: mov.u32 %r2, 30;\nE: st.global.u32 [%d1], %r2;"));
  rt_ptr p = fixture_copy(k, out, sizeof out);
  void *args[] = {&p};
  fixture_ok(k, fixture_launch(k, "k", 1, 3, 0, args));
  fixture_read(k, out, p, sizeof out);
  assert_int_equal(out[0], 10);
  assert_int_equal(out[1], 20);
  assert_int_equal(out[2], 30);
  assert_int_equal(fixture_launch(k, "k", 1, 4, 0, args), ERR_LAUNCH);
}

/* ---- which instructions of PTX are emulated ---- */

/* src: PTX ISA 9.0, 9.7: the first word of every instruction of sm_90a */
static const char *const instructions =
    "abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev "
    "brkpt brx call clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 "
    "exit fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad "
    "mad24 madc mapa match max mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep "
    "neg not or pmevent popc prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set "
    "setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix sub subc "
    "suld suq sured sust szext tanh tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 "
    "vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 "
    "vshl vshr vsub vsub2 vsub4 wgmma wmma xor";
static const char *const refused = " istypep multimem";

static bool is_emulated(fixture *k, const char *name) {
  auto_str text = {0};
  str_add(&text, BODY_BEGIN);
  str_addf(&text, "%s;", name);
  str_add(&text, BODY_END);
  assert_true(load(k, str_text(&text)) == 0 || k->e.code == ERR_COMPILE);
  return !strstr(k->e.message, "is not emulated");
}

ON_EMU(emulated_instructions) {
  char words[2048], *rest = NULL;
  auto_str missing = {0};
  int n = 0, n_refused = 0;
  snprintf(words, sizeof words, "%s", instructions);
  for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest), n++) {
    if (!is_emulated(k, w)) {
      str_addf(&missing, " %s", w);
      n_refused++;
    }
  }
  printf("note: the emulated device executes %d of %d PTX instructions and refuses%s\n",
         n - n_refused, n, str_text(&missing));
  assert_string_equal(str_text(&missing), refused);
}

/* Each form loads, or is refused with a message that names it. */
static void check_form(fixture *k, const char *form, bool refuse) {
  auto_str text = {0};
  str_add(&text, ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
                 ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>;\n"
                 ".reg .b128 %q<4>; .reg .pred %p<4>;\n");
  str_addf(&text, "%s;" BODY_END, form);
  const int rc = load(k, str_text(&text));
  const bool named = strstr(k->e.message, "not emulated") ||
                     strstr(k->e.message, "unsupported instruction") ||
                     strstr(k->e.message, "is not declared"); /* special registers, %r1.b0 */
  if (rc != (refuse ? ERR_COMPILE : 0) || (refuse && !named)) {
    fail_msg("%s: %s", form, rc ? k->e.message : "loads");
  }
}

ON_EMU(forms) {
  auto_str text = fixture_read_file("tests/emu/forms.txt");
  char *rest = NULL;
  int n = 0, n_refused = 0;
  for (char *l = strtok_r(text.p, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
    if (*l != '#') {
      const bool refuse = *l == '-';
      check_form(k, l + 2 * refuse, refuse);
      n_refused += refuse;
      n++;
    }
  }
  printf("note: %d of %d forms decode, the others are refused by name\n", n - n_refused, n);
}

int main(void) {
  return tests_run();
}
