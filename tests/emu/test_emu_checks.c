/* test_emu_checks.c -- for every check of the emulated device a kernel with a fault, whose line the
 * finding names, and one without. The kernels are in tests/emu/checks.cu. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

#include "emu_fixture.h"

static const char path[] = "tests/emu/checks.cu";

typedef struct expectation {
  const char *kernel;
  rt_emu_check check;
  const char *mark; /* of the line; NULL: any line */
  uint32_t grid, block, smem;
  int n;
} expectation;

static const expectation all[] = {
    {"bounds_bad", EMU_GLOBAL_BOUNDS, "bounds", 2, 64, 0, 64},
    {"bounds_good", EMU_NO_FINDING, NULL, 2, 64, 0, 64},
    {"null_bad", EMU_GLOBAL_BOUNDS, "null", 1, 64, 0, 1},
    {"null_bad", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"shared_bounds_bad", EMU_SHARED_BOUNDS, "shared_bounds", 1, 64, 256, 1},
    {"shared_bounds_bad", EMU_NO_FINDING, NULL, 1, 64, 256, 0},
    {"local_bounds_bad", EMU_LOCAL_BOUNDS, "local_bounds", 1, 64, 0, 1000},
    {"local_bounds_bad", EMU_NO_FINDING, NULL, 1, 8, 0, 0},
    {"misaligned_bad", EMU_MISALIGNED, "misaligned", 1, 8, 0, 1},
    {"misaligned_bad", EMU_NO_FINDING, NULL, 1, 8, 0, 4},
    {"uninit_shared_bad", EMU_SHARED_UNINIT, "uninit_shared", 1, 64, 0, 63},
    {"uninit_shared_bad", EMU_NO_FINDING, NULL, 1, 64, 0, 64},
    {"uninit_unused_good", EMU_NO_FINDING, NULL, 1, 64, 0, 33},
    {"uninit_branch_bad", EMU_SHARED_UNINIT, "uninit_branch", 1, 64, 0, 33},
    {"uninit_branch_bad", EMU_NO_FINDING, NULL, 1, 64, 0, 64},
    {"uninit_address_bad", EMU_SHARED_UNINIT, "uninit_address", 1, 64, 0, 33},
    {"uninit_address_bad", EMU_NO_FINDING, NULL, 1, 64, 0, 64},
    {"uninit_shuffle_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"uninit_shuffle_bad", EMU_SHARED_UNINIT, "uninit_shuffle", 1, 64, 0, 0},
    {"uninit_copy_bad", EMU_SHARED_UNINIT, "uninit_copy", 1, 64, 0, 33},
    {"uninit_copy_bad", EMU_NO_FINDING, NULL, 1, 64, 0, 64},
    {"race_bad", EMU_SHARED_RACE, "race", 1, 64, 0, 0},
    {"race_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"warp_race_bad", EMU_SHARED_RACE, "warp_race", 1, 64, 0, 0},
    {"warp_race_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"war_bad", EMU_SHARED_RACE, "war", 1, 64, 0, 0},
    {"same_value_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"named_good", EMU_NO_FINDING, NULL, 1, 128, 0, 0},
    {"named_bad", EMU_SHARED_RACE, "named", 1, 128, 0, 0},
    {"atomic_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"atomic_bad", EMU_SHARED_RACE, "atomic", 1, 64, 0, 0},
    {"global_race_bad", EMU_GLOBAL_RACE, "global_race", 2, 64, 0, 0},
    {"global_race_good", EMU_NO_FINDING, NULL, 2, 64, 0, 7},
    {"ordered_good", EMU_NO_FINDING, NULL, 5, 32, 0, 0},
    {"unfenced_bad", EMU_UNFENCED, "unfenced", 4, 32, 0, 0},
    {"fenced_in_block_bad", EMU_UNFENCED, "unfenced", 4, 32, 0, 0},
    {"late_fence_bad", EMU_UNFENCED, "unfenced", 4, 32, 0, 0},
    {"fenced_good", EMU_NO_FINDING, NULL, 4, 32, 0, 0},
    {"all_fenced_good", EMU_NO_FINDING, NULL, 4, 32, 0, 0},
    {"acq_rel_good", EMU_NO_FINDING, NULL, 4, 32, 0, 0},
    {"release_good", EMU_NO_FINDING, NULL, 4, 32, 0, 0},
    {"chain_bad", EMU_UNFENCED, "chain", 4, 32, 0, 0},
    {"early_fence_bad", EMU_UNFENCED, "chain", 4, 32, 0, 0},
    {"chain_good", EMU_NO_FINDING, NULL, 4, 32, 0, 0},
    {"counted_good", EMU_NO_FINDING, NULL, 2, 32, 0, 0},
    {"divergent_bad", EMU_BARRIER, NULL, 1, 64, 0, 16},
    {"divergent_bad", EMU_NO_FINDING, NULL, 1, 64, 0, 64},
    {"tree_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"divergent_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"early_exit_good", EMU_NO_FINDING, NULL, 1, 64, 0, 34},
    {"deadlock_bad", EMU_BARRIER, "deadlock", 1, 64, 0, 0},
    {"shuffle_bad", EMU_SHUFFLE, "shuffle", 1, 32, 0, 16},
    {"shuffle_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"shuffle_meet_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"async_bad", EMU_ASYNC, "async", 1, 32, 0, 0},
    {"async_good", EMU_NO_FINDING, NULL, 1, 32, 0, 0},
    {"steps_bad", EMU_STEPS, NULL, 1, 32, 0, 0},
    {"trap_bad", EMU_TRAP, NULL, 1, 32, 0, 0},
    {"trap_bad", EMU_NO_FINDING, NULL, 1, 5, 0, 0},
    {"stack_bad", EMU_STACK, NULL, 1, 32, 0, 0},
    {"stack_good", EMU_NO_FINDING, NULL, 1, 32, 0, 0},
    {"constant_bad", EMU_READ_ONLY, "constant", 1, 4, 0, 0},
};

enum { N = 256 };

static void check_one(fixture *k, const expectation *x) {
  float data[N];
  for (int i = 0; i < N; i++) {
    data[i] = (float)(i + 1);
  }
  /* bounds_*: exactly the elements that the kernel is allowed to access */
  size_t nbytes = !strncmp(x->kernel, "bounds", 6) ? (size_t)x->n * 4 : sizeof data;
  rt_ptr p = fixture_copy(k, data, nbytes);
  int n = x->n;
  void *args[] = {&p, &n};
  int rc = fixture_launch(k, x->kernel, x->grid, x->block, x->smem, args);
  fixture_assert_finding(k, rc, x->kernel, x->check, path, x->mark);
  k->d->ops->release(k->d, p);
}

ON_EMU(each_check) {
  rt_emu_set_steps(k->d, 1 << 22);
  fixture_cuda_file(k, path);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    check_one(k, &all[i]);
  }
}

/* Findings name the user's line, the header's that is inlined there and the kernel's that calls. */
ON_EMU(inlined_lines) {
  uint64_t x = 0;
  void *args[] = {&x};
  fixture_ptx(
      k, ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x)\n{\n"
         ".reg .b32 %r<4>; .shared .align 4 .b32 _ZZ9long_nameILi12EEvPfE12twelve_chars_0[8];\n"
         ".loc 1 9 3\nmov.u32 %r1, _ZZ9long_nameILi12EEvPfE12twelve_chars_0;\n"
         ".loc 1 6 3, function_name $L__info_string0, inlined_at 1 9 3\n"
         ".loc 1 3 3, function_name $L__info_string1 + 5, inlined_at 1 6 3\n"
         ".loc 2 708 1, function_name $L__info_string2, inlined_at 1 3 3\n"
         "atom.shared.add.u32 %r2, [%r1+8], 1;\nret;\n}\n"
         ".file 1 \"/home/user/a.cu\"\n.file 2 \"/usr/include/cuda_fp16.hpp\"\n");
  assert_int_equal(fixture_launch(k, "k", 1, 1, 0, args), ERR_LAUNCH);
  assert_string_equal(k->e.place, "/home/user/a.cu:3");
  assert_non_null(strstr(k->e.message, "atomically updates twelve_chars[2], which has not"));
  assert_non_null(strstr(k->e.message, ", inlined from cuda_fp16.hpp:708, called from "
                                       "/home/user/a.cu:9]"));
}

/* An exit beside threads that wait at a barrier is allowed, and noted. */
ON_EMU(early_exit) {
  float data[N] = {0};
  int n = 34;
  fixture_cuda_file(k, path);
  rt_ptr p = fixture_copy(k, data, sizeof data);
  void *args[] = {&p, &n};
  fixture_ok(k, fixture_launch(k, "race_good", 1, 64, 0, args));
  assert_string_equal(rt_emu_last_finding(k->d)->note, "");
  fixture_ok(k, fixture_launch(k, "early_exit_good", 1, 64, 0, args));
  assert_non_null(
      strstr(rt_emu_last_finding(k->d)->note, "thread (34,0,0) of block (0,0,0) exits"));
  fixture_ok(k, fixture_launch(k, "tree_good", 1, 64, 0, args));
  assert_string_equal(rt_emu_last_finding(k->d)->note, "");
  fixture_ok(k, fixture_launch(k, "tree_within", 1, 64, 0, args));
  assert_non_null(strstr(rt_emu_last_finding(k->d)->note, " of block (0,0,0) exits"));
}

/* The message has the line of the store as well. */
ON_EMU(unfenced_store) {
  float data[N] = {1};
  char stored[200];
  int n = 0;
  fixture_cuda_file(k, path);
  fixture_place_of_mark(path, "stored", stored, sizeof stored);
  rt_ptr p = fixture_copy(k, data, sizeof data);
  void *args[] = {&p, &n};
  assert_int_equal(fixture_launch(k, "unfenced_bad", 4, 32, 0, args), ERR_LAUNCH);
  assert_non_null(strstr(k->e.message, "published without a fence: thread (0,0,0) of block ("));
  assert_non_null(strstr(k->e.message, stored));
}

/* Lanes wait for lanes that never arrive; the step limit ends the launch. */
ON_EMU(absent_lanes) {
  float data[N] = {0};
  int n = 16;
  rt_emu_set_steps(k->d, 1 << 20);
  fixture_cuda_file(k, path);
  rt_ptr p = fixture_copy(k, data, sizeof data);
  void *args[] = {&p, &n};
  assert_int_equal(fixture_launch(k, "never_bad", 1, 32, 0, args), ERR_LAUNCH);
  assert_int_equal(rt_emu_last_finding(k->d)->check, EMU_STEPS);
}

/* a module of one kernel with these lines before its body, and in it */
static void load_kernel(fixture *k, const char *directives, const char *body) {
  auto_str text = {0};
  str_add(&text,
          ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 x)\n");
  str_add(&text, directives);
  str_add(&text,
          "{\n.reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<4>; .shared .align 8 .b8 s[64];\n"
          "mov.u32 %r1, %tid.x; mov.u32 %r3, s; ld.param.u64 %d1, [x];\n");
  str_add(&text, body);
  str_add(&text, "\nret;\n}\n");
  fixture_ptx(k, str_text(&text));
}

/* Endless loops whose instructions all end the slice of the warp. */
ON_EMU(endless_waits) {
  static const char *const loops[] = {
      "V: bar.sync 0; bra V;",
      "V: barrier.sync 1; bra V;",
      "V: barrier.cluster.arrive; barrier.cluster.wait; bra V;",
      "V: bar.warp.sync -1; bra V;",
      "V: nanosleep.u32 20; bra V;",
      "setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [s], 32; bar.sync 0;\n"
      "V: mbarrier.test_wait.parity.shared.b64 %p1, [s], 0; bra V;",
      "setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [s], 32; bar.sync 0; mov.u32 %r2, 0;\n"
      "V: mbarrier.arrive.shared.b64 %d1, [s];\n"
      "mbarrier.try_wait.parity.shared.b64 %p1, [s], %r2; xor.b32 %r2, %r2, 1; bra V;",
  };
  uint64_t x = 0;
  void *args[] = {&x};
  rt_emu_set_steps(k->d, 1 << 18);
  for (size_t i = 0; i < 2 * sizeof loops / sizeof *loops; i++) {
    rt_emu_set_checks(k->d, i % 2);
    load_kernel(k, "", loops[i / 2]);
    int rc = fixture_launch(k, "k", 2, 32, 0, args);
    fixture_assert_finding(k, rc, loops[i / 2], EMU_STEPS, NULL, NULL);
    k->d->ops->module_unload(k->d, k->m);
  }
}

/* A block outside a cluster is a cluster of one: addresses with its own rank are its own memory. */
ON_EMU(own_rank) {
  static const char *const forms[] = {
      "mapa.shared::cluster.u32 %r4, %r3, 0;\n"
      "st.shared::cluster.u32 [%r4+4], 40; atom.shared::cluster.add.u32 %r5, [%r4+4], 2;\n"
      "ld.shared::cluster.u32 %r6, [%r4+4]; st.global.u32 [%d1], %r6;",
      "mov.u64 %d3, s; cvta.shared.u64 %d3, %d3; mapa.u64 %d4, %d3, 0;\n"
      "st.u32 [%d4+4], 40; atom.add.u32 %r5, [%d4+4], 2; ld.u32 %r6, [%d4+4]; st.global.u32 [%d1], %r6;",
      "st.shared::cluster.u32 [%r3+4], 40;\n"
      "atom.shared::cluster.add.u32 %r5, [%r3+4], 2; ld.shared::cluster.u32 %r6, [%r3+4]; st.global.u32 [%d1], %r6;",
  };
  for (size_t i = 0; i < 4 * sizeof forms / sizeof *forms; i++) {
    uint32_t out = 0;
    rt_emu_set_checks(k->d, i & 2);
    load_kernel(k, i & 1 ? ".explicitcluster\n.reqnctapercluster 1, 1, 1\n" : "", forms[i / 4]);
    rt_ptr p = fixture_copy(k, &out, sizeof out);
    void *args[] = {&p};
    fixture_ok(k, fixture_launch(k, "k", 1, 1, 0, args));
    fixture_read(k, &out, p, sizeof out);
    assert_int_equal(out, 42);
    k->d->ops->module_unload(k->d, k->m);
  }
}

/* Checks hold for addresses with the block's own rank as for any others. */
ON_EMU(own_rank_is_checked) {
  static const struct {
    const char *code;
    rt_emu_check check;
  } kernels[] = {
      {"mapa.shared::cluster.u32 %r4, %r3, 0; ld.shared::cluster.u32 %r6, [%r4+8]; "
       "st.global.u32 [%d1], %r6;",
       EMU_SHARED_UNINIT},
      {"mapa.shared::cluster.u32 %r4, %r3, 0; ld.shared::cluster.u32 %r6, [%r4+65536];",
       EMU_SHARED_BOUNDS},
      {"mapa.shared::cluster.u32 %r4, %r3, 0; st.shared::cluster.u32 [%r4], %r1;", EMU_SHARED_RACE},
      {"mov.u32 %r5, 0x7000000; st.shared::cluster.u32 [%r5], %r1;", EMU_SHARED_BOUNDS},
  };
  uint64_t x = 0;
  void *args[] = {&x};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    load_kernel(k, "", kernels[i].code);
    int rc = fixture_launch(k, "k", 1, 64, 0, args);
    fixture_assert_finding(k, rc, kernels[i].code, kernels[i].check, NULL, NULL);
    k->d->ops->module_unload(k->d, k->m);
  }
}

/* The name of a variable goes with its module. */
ON_EMU(a_variable_outlives_no_module) {
  static const char variable[] =
      ".version 8.6\n.target sm_90a\n.address_size 64\n.global .align 8 .b8 kept[64];\n"
      ".visible .entry where(.param .u64 x)\n{\n.reg .b64 %d<4>;\n"
      "ld.param.u64 %d1, [x]; mov.u64 %d2, kept; st.global.u64 [%d1], %d2;\nret;\n}\n";
  uint64_t where = 0;
  rt_ptr p = fixture_copy(k, &where, sizeof where);
  void *args[] = {&p};
  fixture_ptx(k, variable);
  fixture_ok(k, fixture_launch(k, "where", 1, 1, 0, args));
  fixture_read(k, &where, p, sizeof where);
  k->d->ops->module_unload(k->d, k->m);
  load_kernel(k, "", "st.global.u32 [%d1], %r1;");
  args[0] = &where;
  int rc = fixture_launch(k, "k", 1, 1, 0, args);
  fixture_assert_finding(k, rc, "k", EMU_FREED, NULL, NULL);
  assert_non_null(strstr(k->e.message, "the freed allocation #"));
  k->d->ops->module_unload(k->d, k->m);
}

static void *stop_later(void *stop) {
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  *(volatile int *)stop = 1;
  return NULL;
}

/* The same launch, ended from outside as a signal handler would. */
ON_EMU(interruption) {
  float data[N] = {0};
  int n = 16;
  volatile int stop = 0;
  pthread_t thread;
  fixture_cuda_file(k, path);
  rt_emu_set_stop(k->d, &stop);
  rt_ptr p = fixture_copy(k, data, sizeof data);
  void *args[] = {&p, &n};
  assert_int_equal(pthread_create(&thread, NULL, stop_later, (void *)&stop), 0);
  assert_int_equal(fixture_launch(k, "never_bad", 1, 32, 0, args), ERR_INTERRUPTED);
  pthread_join(thread, NULL);
  assert_int_equal(rt_emu_last_finding(k->d)->check, EMU_NO_FINDING);
  rt_emu_set_stop(k->d, NULL);
  assert_int_equal(fixture_launch(k, "stack_good", 1, 32, 0, args), 0);
}

ON_EMU(use_after_free) {
  float data[N] = {0};
  int n = 1;
  fixture_cuda_file(k, path);
  rt_ptr p = fixture_copy(k, data, sizeof data);
  void *args[] = {&p, &n};
  assert_int_equal(fixture_launch(k, "freed", 1, 32, 0, args), 0);
  k->d->ops->release(k->d, p);
  assert_int_equal(fixture_launch(k, "freed", 1, 32, 0, args), ERR_LAUNCH);
  assert_int_equal(rt_emu_last_finding(k->d)->check, EMU_FREED);
}

ON_EMU(uninitialised_global) {
  int n = 0;
  fixture_cuda_file(k, path);
  rt_ptr p = fixture_alloc(k, 4 * N);
  void *args[] = {&p, &n};
  assert_int_equal(fixture_launch(k, "uninit_global_bad", 1, 32, 0, args), ERR_LAUNCH);
  assert_int_equal(rt_emu_last_finding(k->d)->check, EMU_GLOBAL_UNINIT);
  fixture_ok(k, k->d->ops->set(k->d, p, 0, 4 * N, NULL, &k->e));
  fixture_ok(k, fixture_launch(k, "uninit_global_bad", 1, 32, 0, args));
}

/* Without checks faults pass unnoticed, but host memory cannot be accessed. */
ON_EMU(checks_off) {
  float data[N] = {0};
  int n = 1;
  fixture_cuda_file(k, path);
  rt_ptr p = fixture_copy(k, data, sizeof data);
  void *args[] = {&p, &n};
  rt_emu_set_checks(k->d, false);
  fixture_ok(k, fixture_launch(k, "race_bad", 1, 64, 0, args));
  assert_int_equal(fixture_launch(k, "null_bad", 1, 64, 0, args), ERR_LAUNCH);
  rt_ptr wild = p + (UINT64_C(1) << 43);
  void *far[] = {&wild, &n};
  assert_int_equal(fixture_launch(k, "race_bad", 1, 64, 0, far), ERR_LAUNCH);
  rt_emu_set_checks(k->d, true);
  assert_int_equal(fixture_launch(k, "race_bad", 1, 64, 0, args), ERR_LAUNCH);
}

int main(void) {
  return tests_run();
}
