/* test_emu_cost.c -- occupancy and counts are exact; modelled times order kernels whose order is
 * known. */
#include <math.h>

#include "emu_fixture.h"
#include "emu_report.h"

static const char path[] = "tests/emu/cost.cu";

static int open_cost(void **state) {
  fixture_set_up(state);
  fixture_cuda_file(*state, path);
  return 0;
}

/* COST_TEST -- k is a device of the default profile, an H200, with the kernels of cost.cu */
#define COST_TEST(name) TEST_ON(name, fixture, k, state_of, open_cost, fixture_tear_down)

static double seconds_of(const char *kernel, uint32_t grid, uint32_t block, int n) {
  fixture k;
  rt_emu_stats s;
  fixture_open(&k, "h200");
  fixture_cuda_file(&k, path);
  rt_emu_set_checks(k.d, false);
  rt_emu_set_sample(k.d, 8);
  rt_ptr p = fixture_alloc(&k, 4 * (size_t)(grid + block));
  fixture_ok(&k, k.d->ops->set(k.d, p, 0, 4 * (size_t)(grid + block), NULL, &k.e));
  void *args[] = {&p, &n};
  fixture_ok(&k, fixture_launch(&k, kernel, grid, block, 0, args));
  rt_emu_last_stats(k.d, &s);
  fixture_close(&k);
  return s.sec;
}

/* Each block of a chain sleeps 2 us; blocks that publish first wait at the same time. */
TEST(waiting_blocks) {
  double chain = seconds_of("wait", 2048, 32, 0), apart = seconds_of("wait", 2048, 32, 1);
  assert_true(chain > 2048 * 1.9e-6 && chain < 2048 * 2.5e-6);
  assert_true(apart < chain / 20);
}

/* The work of the last block is modelled although no block of the sample is the last: 10^5
 * dependent IMADs take 2e-4 s. */
TEST(last_block) {
  double none = seconds_of("arrive", 2048, 64, 0), some = seconds_of("arrive", 2048, 64, 100000);
  assert_true(some - none > 1.5e-4 && some - none < 1e-3);
}

/* A block that waits for one outside the sample is a finding, not an endless loop. */
COST_TEST(absent_blocks) {
  int n = 0;
  rt_emu_set_checks(k->d, false);
  rt_ptr p = fixture_alloc(k, 4 * 2048);
  void *args[] = {&p, &n};
  fixture_ok(k, k->d->ops->set(k->d, p, 0, 4 * 2048, NULL, &k->e));
  rt_emu_set_sample(k->d, 8);
  assert_int_not_equal(fixture_launch(k, "await", 2048, 32, 0, args), 0);
  assert_non_null(strstr(k->e.message, "not among the 8 of 2048 that run"));
  err_clear(&k->e);
  rt_emu_set_sample(k->d, 0);
  fixture_ok(k, fixture_launch(k, "await", 2048, 32, 0, args));
}

/* Work in one warp takes as long as the same work in all warps, and no longer. */
TEST(roles) {
  double one = seconds_of("alone", 1, 256, 1), all = seconds_of("alone", 1, 256, 8);
  assert_true(one > 0.8 * all && one <= all);
}

/* Eight sampled blocks fetch all work from a counter; the model shares it among 132. */
TEST(dynamic_work) {
  double fetched = seconds_of("fetch", 132, 128, 1320),
         shared = seconds_of("share", 132, 128, 10000);
  assert_true(fetched > 0.8 * shared && fetched < 2 * shared);
}

/* One block with the work of 100 dominates the launch. */
TEST(longest_block) {
  double one = seconds_of("uneven", 8, 128, 1000), all = seconds_of("share", 8, 128, 100000);
  assert_true(one > 0.8 * all && one < 1.5 * all);
}

static rt_emu_stats run(fixture *k, const char *kernel, uint32_t grid, uint32_t block, int n) {
  rt_emu_stats s;
  rt_ptr p = fixture_alloc(k, (size_t)grid * block * 4 * 32);
  void *args[] = {&p, &n};
  fixture_ok(k, fixture_launch(k, kernel, grid, block, 0, args));
  rt_emu_last_stats(k->d, &s);
  k->d->ops->release(k->d, p);
  return s;
}

static const char empty_kernel[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f() { ret; }\n";

/* expected values by the rules of the CUDA occupancy calculator */
TEST(occupancy) {
  static const struct {
    const char *profile;
    int regs, threads;
    int64_t smem;
    int blocks;
  } all[] = {
      {"h200", 32, 256, 0, 8},
      {"h200", 33, 256, 0, 6},
      {"h200", 255, 256, 0, 1},
      {"h200", 128, 256, 0, 2},
      {"h200", 16, 32, 0, 32},
      {"h200", 32, 128, 49152, 4},
      {"h200", 32, 128, 232448 - 8192, 1},
      {"a100", 32, 128, 49152, 3},
      {"t4", 64, 256, 0, 4},
      {"t4", 16, 1024, 0, 1},
      {"rtx4090", 40, 512, 0, 3},
      {"rtx4090", 32, 768, 0, 2},
      {"t4", 16, 64, 16384, 4},
      {"h200", 168, 384, 0, 1},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    fixture k;
    rt_function *f;
    int blocks;
    char ptx[400];
    snprintf(ptx, sizeof ptx, "%s// ptxas: f registers %d spill stores 0 spill loads 0\n",
             empty_kernel, all[i].regs);
    fixture_open(&k, all[i].profile);
    fixture_ptx(&k, ptx);
    fixture_ok(&k, k.d->ops->function(k.d, k.m, "f", &f, &k.e));
    fixture_ok(&k, k.d->ops->occupancy(k.d, f, all[i].threads, all[i].smem, &blocks, &k.e));
    if (blocks != all[i].blocks) {
      print_error("%s regs %d threads %d smem %d\n", all[i].profile, all[i].regs, all[i].threads,
                  (int)all[i].smem);
    }
    assert_int_equal(blocks, all[i].blocks);
    fixture_close(&k);
  }
}

COST_TEST(sectors) {
  assert_true(run(k, "stride", 4, 256, 1).store_sectors == 4 * 8 * 4);
  assert_true(run(k, "stride", 4, 256, 2).store_sectors == 4 * 8 * 8);
  assert_true(run(k, "stride", 4, 256, 8).store_sectors == 4 * 8 * 32);
}

COST_TEST(bank_conflicts) {
  rt_emu_stats one = run(k, "banks", 264, 256, 1), two = run(k, "banks", 264, 256, 2);
  rt_emu_stats most = run(k, "banks", 264, 256, 32);
  double filling = 264 * 8 * 4; /* wavefronts of the stores, without conflict */
  assert_true(one.shared_wavefronts == one.shared_requests);
  assert_true(two.shared_wavefronts - filling == 2 * (two.shared_requests - filling));
  assert_true(most.shared_wavefronts - filling == 32 * (most.shared_requests - filling));
  assert_true(one.sec < most.sec);
}

/* Each address of a warp beyond the first is a replay. */
COST_TEST(constants) {
  const rt_emu_stats same = run(k, "constants", 264, 256, 0),
                     eight = run(k, "constants", 264, 256, 1);
  assert_true(same.constant_requests == 264 * 8 * 64 && same.constant_replays == 0);
  assert_true(eight.constant_replays == 7 * eight.constant_requests);
  assert_true(eight.global_requests == same.global_requests);
  assert_true(same.sec < eight.sec);
}

/* The same kernel with two numbers, of which one makes it slower by a factor in the range. */
COST_TEST(accesses_cost_more) {
  static const struct {
    const char *why, *kernel;
    uint32_t grid;
    int slow, fast;
    double least, most;
    bool checks;
    long sample;
  } cases[] = {
      {"storing 4 bytes of a sector costs more than its share, less than the sector", "stride",
       1 << 15, 8, 1, 3, 12, false, 8},
      {"atomics on words of one line take a few turns, on one word 32", "same", 4096, 0, 1, 4,
       INFINITY, false, 0},
      {"consecutive stores of a warp to the same sectors merge", "fill", 4096, 0, 1, 1.5, INFINITY,
       false, 8},
      {"match.any takes longer than a ballot", "match", 264, 255, 0, 3, INFINITY, true, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rt_emu_set_checks(k->d, cases[i].checks);
    rt_emu_set_sample(k->d, cases[i].sample);
    const double slow = run(k, cases[i].kernel, cases[i].grid, 256, cases[i].slow).sec,
                 fast = run(k, cases[i].kernel, cases[i].grid, 256, cases[i].fast).sec;
    if (!(slow > cases[i].least * fast && slow < cases[i].most * fast)) {
      fail_msg("%s: %g s and %g s", cases[i].why, slow, fast);
    }
  }
}

/* 16 bytes per lane: 4 wavefronts, or 2 where neighbours read the same address */
COST_TEST(wide_accesses) {
  assert_true(run(k, "wide", 1, 32, 0).shared_wavefronts == 4 + 4);
  assert_true(run(k, "wide", 1, 32, 1).shared_wavefronts == 4 + 2);
}

/* 4 schedulers: five warps take as long as eight */
COST_TEST(schedulers) {
  double five = run(k, "work", 132, 32 * 5, 2000).sec,
         eight = run(k, "work", 132, 32 * 8, 2000).sec;
  double four = run(k, "work", 132, 32 * 4, 2000).sec;
  assert_true(five > 0.99 * eight && five < 1.01 * eight);
  assert_true(five > 1.05 * four);
}

/* ptxas's report in the PTX sets the registers; an invalid one is ignored */
ON_EMU(noted_registers) {
  static const struct {
    const char *note;
    int regs;
  } all[] = {{"// ptxas: f registers 168 spill stores 8 spill loads 4\n", 168},
             {"// ptxas: f registers 999 spill stores 0 spill loads 0\n", 0},
             {"// ptxas: g registers 168 spill stores 0 spill loads 0\n", 0}};
  rt_module *m;
  rt_function *f;
  rt_function_info info;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char ptx[400];
    int n = snprintf(ptx, sizeof ptx, "%s%s", empty_kernel, all[i].note);
    fixture_ok(k, k->d->ops->module_load(k->d, ptx, (size_t)n, &m, &k->e));
    fixture_ok(k, k->d->ops->function(k->d, m, "f", &f, &k->e));
    fixture_ok(k, k->d->ops->function_info(k->d, f, &info, &k->e));
    assert_true(all[i].regs ? info.regs == all[i].regs : info.regs < 32);
    k->d->ops->module_unload(k->d, m);
  }
}

/* more work takes longer, a smaller card takes longer, a sample predicts the whole launch */
COST_TEST(order) {
  fixture small;
  fixture_open(&small, "t4");
  fixture_cuda_file(&small, path);
  rt_emu_stats little = run(k, "work", 1056, 256, 100), much = run(k, "work", 1056, 256, 400);
  assert_true(much.sec > 2 * little.sec);
  assert_true(much.pipes[EMU_PIPE_fma] >= 400.0 * 4 * 1056 * 8);
  assert_true(run(&small, "work", 1056, 256, 400).sec > 2 * much.sec);
  rt_emu_set_sample(k->d, 16);
  rt_emu_stats sampled = run(k, "work", 1056, 256, 400);
  assert_int_equal(sampled.blocks_run, 16);
  assert_true(sampled.sec > 0.99 * much.sec && sampled.sec < 1.01 * much.sec);
  assert_true(sampled.warp_instructions > 0.99 * much.warp_instructions);
  fixture_close(&small);
}

/* modelled bandwidth and FMA rate stay below the card's peaks, but near them */
COST_TEST(peaks) {
  rt_emu_set_checks(k->d, false);
  rt_emu_set_sample(k->d, 64);
  rt_emu_stats busy = run(k, "work", 132 * 8 * 4, 256, 1000);
  double fma = busy.pipes[EMU_PIPE_fma] * 32 / busy.sec, most = 132 * 128 * 1.98e9;
  assert_true(fma < most && fma > 0.5 * most);
  rt_emu_stats copy = run(k, "stride", 1 << 16, 256, 1);
  double bytes = copy.store_sectors * 32 / copy.sec;
  assert_true(bytes < 4.9e12 && bytes > 1e12);
  assert_string_equal(copy.bound, "dram");
}

/* on an H200 2^24 atomics on 1 KiB take 4.4 ms, on 16 KiB 0.58 ms */
COST_TEST(contended_atomics) {
  rt_emu_set_checks(k->d, false);
  double one = run(k, "count", 1024, 256, 0).sec, spread = run(k, "count", 1024, 256, 16).sec;
  assert_true(one > 0.2e-3 && one < 2e-3);
  assert_true(spread < one / 10);
}

COST_TEST(elapsed) {
  rt_event *from, *to;
  double sec;
  fixture_ok(k, k->d->ops->event_new(k->d, &from, &k->e));
  fixture_ok(k, k->d->ops->event_new(k->d, &to, &k->e));
  fixture_ok(k, k->d->ops->event_record(k->d, from, NULL, &k->e));
  rt_emu_stats s = run(k, "work", 16, 256, 10);
  fixture_ok(k, k->d->ops->event_record(k->d, to, NULL, &k->e));
  fixture_ok(k, k->d->ops->elapsed(k->d, from, to, &sec, &k->e));
  assert_true(sec > 0.999 * s.sec && sec < 1.001 * s.sec);
  k->d->ops->event_free(k->d, from);
  k->d->ops->event_free(k->d, to);
}

/* Each statement of the PTX counts once, and the units' shares add up to 100 %. */
TEST(counts_of_instructions) {
  fixture k;
  rt_emu_stats x;
  uint32_t out[64] = {0};
  auto_str text = {0};
  fixture_open(&k, "");
  fixture_ptx(&k, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 "
                  "x)\n{\n.reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p<3>; .local .b32 v;\n"
                  "ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, "
                  "%ntid.x; mov.u64 %d3, %clock64; mov.u64 %d3, %clock; mad.lo.u32 %r1, %r2, %r3, "
                  "%r1; mul.hi.u32 %r4, %r1, %r1; div.u32 %r4, %r4, 3; mul.wide.u32 %d2, %r1, 4; "
                  "add.u64 %d1, %d1, %d2; setp.lt.u32 %p1, %r1, 40; and.pred %p2, !%p1, !%p1; "
                  "lop3.or.b32 _|%p2, %r1, %r2, %r3, 3, %p2; st.local.u32 [v], %r1; @%p1 "
                  "st.global.u32 [%d1], %r1;\nret;\n}\n");
  rt_ptr p = fixture_copy(&k, out, sizeof out);
  void *args[] = {&p};
  fixture_ok(&k, fixture_launch(&k, "k", 2, 32, 0, args));
  rt_emu_last_stats(k.d, &x);
  assert_int_equal((int)x.thread_instructions, 16 * 64 + 40);
  assert_int_equal((int)x.warp_instructions, 17 * 2);
  double sum = 0;
  emu_report_text(&text, "k", &x);
  const char *at = strstr(str_text(&text), "by unit");
  for (const char *end = strchr(at, '\n'); at && at < end; at = strpbrk(at + 1, " \n")) {
    double share;
    sum += sscanf(at, " %lf %%", &share) == 1 ? share : 0;
  }
  assert_true(sum > 99.5 && sum < 100.5);
  fixture_close(&k);
}

int main(void) {
  return tests_run();
}
