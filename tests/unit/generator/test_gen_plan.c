/* test_gen_plan.c -- the generator's plans: launches, workspaces, tensors, metrics, and what is
 * refused. */
#define _GNU_SOURCE
#include "gen_fixture.h"

TEST(plans_hold_what_is_launched) {
  auto_street s = street_mini("", "", "n=1000 kind=safe");
  const gen_plan *p;
  assert_ok(gen_config_parse(s.t, "B=64,MODE=wide", &s.c, &s.e), &s.e);
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->n, 2);
  assert_int_equal(p->n_workspaces, 1);
  assert_int_equal(p->workspaces[0], 4 * 4);
  assert_true(p->flops == 1000 && p->bytes == 8000);
  assert_int_equal(p->values[0], 1000);
  const gen_launch *set = &p->launches[0], *run = &p->launches[1];
  assert_null(set->kernel);
  assert_int_equal(set->fill, 255);
  assert_int_equal(set->nbytes, 16);
  assert_int_equal(set->operands[0].from, GEN_FROM_WORKSPACE);
  assert_string_equal(run->kernel, "twice");
  assert_int_equal(run->grid[0], 4);
  assert_int_equal(run->grid[2], 1);
  assert_int_equal(run->block[0], 64);
  assert_int_equal(run->smem, 256);
  assert_int_equal(run->n_operands, 6);
  assert_int_equal(run->operands[3].index, 3);
  assert_int_equal(run->operands[5].from, GEN_FROM_VALUE);
  assert_int_equal(run->operands[5].nbytes, 4);
  assert_int_equal(run->operands[5].bits, 256);
  assert_ok(gen_reference_plan(s.g, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->n, 1);
  assert_int_equal(p->launches[0].grid[0], 1000);
}

TEST(plans_tell_the_work_of_a_block) {
  street s = street_mini("smem = '4 * B'", "smem = '4 * B', work = { 'n / 8', 'TILE' }", "n=100");
  const gen_plan *p;
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  const double *work = p->launches[p->n - 1].work;
  assert_true(work[0] == 12.5 && work[1] == 32 && work[2] == 0 && work[3] == 0);
  street_close(&s);
  s = street_mini("smem = '4 * B'", "smem = '4 * B', work = 'n'", "n=100");
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_true(p->launches[p->n - 1].work[0] == 100);
  street_close(&s);
}

#define MINI_SET "{ memset = 'sums', value = 255, when = \"kind == 'safe'\" },"
#define MINI_LOOP(loop)                                                                            \
  "{ loop = { " loop " }, when = \"kind == 'safe'\", stages = { " MINI_LOOPED " } },"
#define MINI_LOOPED                                                                                \
  "{ memset = 'y', nbytes = 4 }, { kernel = 'more', grid = 'n', block = 'B', args = { 'x', 'y', 'sums' }, when = 'n > 30' }"

/* Launches of an iteration, then those of odd ones, in which buffers have changed places. */
TEST(plans_hold_loops) {
  static const struct {
    const char *problem;
    uint64_t times;
    size_t n, odd;
    double launches;
  } cases[] = {{"n=50 kind=safe", 5, 2, 2, 10 + 1},
               {"n=20 kind=safe", 2, 1, 1, 2 + 1},
               {"n=10 kind=safe", 1, 1, 0, 1 + 1},
               {"n=9 kind=safe", 0, 0, 0, 1},
               {"n=50 kind=fast", 0, 0, 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    auto_street s = street_mini(
        MINI_SET, MINI_LOOP("times = 'n // 10', swap = { { 'x', 'y' } }, graph = 'B == 32'"),
        cases[i].problem);
    const gen_plan *p;
    assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
    assert_int_equal(p->n, cases[i].n + cases[i].odd + 1);
    assert_true(gen_plan_launches(p) == cases[i].launches);
    assert_null(p->launches[p->n - 1].loop);
    const gen_loop *loop = p->launches[0].loop;
    if (!cases[i].n) {
      assert_null(loop);
      continue;
    }
    assert_int_equal(loop->times, cases[i].times);
    assert_int_equal(loop->n, cases[i].n);
    assert_int_equal(loop->n_odd, cases[i].odd);
    assert_true(loop->graph);
    assert_int_equal(p->launches[0].operands->index, 3);
    if (cases[i].odd) {
      assert_int_equal(p->launches[loop->n].operands->index, 2);
      assert_ptr_equal(p->launches[loop->n].loop, loop);
    }
    if (cases[i].odd > 1) {
      const gen_operand *more = p->launches[loop->n + 1].operands;
      assert_true(more[0].index == 3 && more[1].index == 2);
      assert_int_equal(more[2].from, GEN_FROM_WORKSPACE);
    }
  }
}

#define MINI_INDEXED(loop)                                                                            \
  "{ loop = { times = 'n // 10', index = 'part'" loop " }, when = \"kind == 'safe'\", stages = {"     \
  " { kernel = 'more', grid = '2 + part', block = 'B', args = { { 'i32', '8 * part' }, 'x', 'y' } }," \
  " { copy = 'y', from = 'x', nbytes = 4, at = '4 * part', when = 'part ~= 1' } } },"

/* Launches of each iteration, which know its number; in odd ones buffers change places. */
TEST(iterations_have_an_index) {
  const gen_plan *p;
  auto_street s =
      street_mini(MINI_SET, MINI_INDEXED(", swap = { { 'x', 'y' } }"), "n=35 kind=safe");
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->n, 3 + 2 + 1); /* and the last stage */
  assert_true(gen_plan_launches(p) == 6);
  const size_t kernels[] = {0, 2, 3};
  for (size_t k = 0; k < 3; k++) {
    const gen_launch *l = &p->launches[kernels[k]];
    assert_null(l->loop);
    assert_int_equal(l->grid[0], 2 + k);
    assert_int_equal(l->operands[0].bits, 8 * k);
    assert_int_equal(l->operands[1].index, k % 2 ? 3 : 2);
  }
  assert_int_equal(p->launches[1].at[0], 0);
  assert_int_equal(p->launches[4].at[0], 8);
  auto_street fast = street_mini(MINI_SET, MINI_INDEXED(""), "n=35 kind=fast");
  assert_ok(gen_plan_make(fast.g, &fast.c, &fast.a, &p, &fast.e), &fast.e);
  assert_int_equal(p->n, 1);
  auto_street many = street_mini(MINI_SET, MINI_INDEXED(""), "n=81930 kind=safe");
  assert_fails(gen_plan_make(many.g, &many.c, &many.a, &p, &many.e), &many.e, ERR_TEMPLATE,
               "it can be 0 to 8192");
  auto_street both = street_mini(MINI_SET, MINI_INDEXED("") MINI_INDEXED(""), "n=50000 kind=safe");
  assert_fails(gen_plan_make(both.g, &both.c, &both.a, &p, &both.e), &both.e, ERR_TEMPLATE,
               "loops with an index make more than 16384 launches in all");
}

TEST(wrong_loops_are_refused) {
  static const char *const wrong[][2] = {
      {MINI_LOOP("swap = { { 'sums', 'y' } }"),
       "'times', how often the stages run, or 'while_word' is"},
      {MINI_LOOP("times = 3, swap = { { 'sums' } }"), "swap lists pairs of buffers"},
      {MINI_LOOP("times = 3, swap = { { 'n', 'y' } }"), "'n' is a scalar; swap exchanges buffers"},
      {MINI_LOOP("times = 3, swap = { { 'z', 'y' } }"), "there is no argument or workspace 'z'"},
      {MINI_LOOP("times = 3, often = 4"), "'often' means nothing here"},
      {MINI_INDEXED(", graph = true"), "a graph cannot repeat one"},
      {MINI_LOOP("times = 3, index = 'n'"), "there are two things called 'n'"},
      {MINI_LOOP("times = 'part', index = 'part'"), "there is no 'part' here"},
      {"{ loop = { times = 3 }, stages = {} },", "there are no stages"},
      {"{ loop = { times = 3 } },", "'stages' is missing here"},
      {"{ loop = { times = 2 }, stages = { " MINI_LOOP("times = 3") " } },",
       "a loop in a loop is not supported"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    gen_template *t = NULL;
    err e = {0};
    assert_fails(mini_open(NULL, MINI_SET, wrong[i][0], &t, &e), &e, ERR_TEMPLATE, wrong[i][1]);
  }
  auto_street s = street_mini(MINI_SET, MINI_LOOP("times = 'n - 60'"), "n=50 kind=safe");
  const gen_plan *p;
  assert_fails(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e, ERR_TEMPLATE,
               "times is -10; it can be 0");
}

#define MINI_COPY(rest) "{ copy = 'y', from = 'x', nbytes = '4 * n'" rest " },"

TEST(stages_copy_and_have_streams) {
  auto_street s =
      street_mini(MINI_SET, MINI_COPY(", stream = 'n // 50', after = { 0, 'n // 25' }"), "n=100");
  const gen_plan *p;
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  const gen_launch *l = p->launches;
  assert_true(!l->kernel && l->copy && l->nbytes == 400 && l->n_operands == 2);
  assert_true(l->operands[0].index == 3 && l->operands[1].index == 2);
  assert_int_equal(l->stream, 2);
  assert_int_equal(l->after, 1 | 1 << 4);
  assert_true(l[1].kernel && !l[1].stream && !l[1].after);
  static const char *const wrong[][2] = {
      {"{ copy = 'x', from = 'y', nbytes = 4 },", "copy writes a workspace or an output buffer"},
      {"{ copy = 'y', from = 'n', nbytes = 4 },", "'n' is a scalar"},
      {"{ copy = 'y', from = 'x' },", "'nbytes' is missing here: how many bytes to copy"},
      {"{ constant = 'f; g', from = 'x', nbytes = 4 },", "'f; g' is not the name of a variable"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    gen_template *t = NULL;
    err e = {0};
    assert_fails(mini_open(NULL, MINI_SET, wrong[i][0], &t, &e), &e, ERR_TEMPLATE, wrong[i][1]);
  }
  auto_street many = street_mini(MINI_SET, MINI_COPY(", stream = 8"), "n=100");
  assert_fails(gen_plan_make(many.g, &many.c, &many.a, &p, &many.e), &many.e, ERR_TEMPLATE,
               "stream is 8; it can be 0 to 7");
}

/* A template whose argument f may be in the host's memory, with this stage. */
static int open_hosted(const char *stage, gen_template **t, err *e) {
  auto_str text = {0};
  str_addf(
      &text,
      "return { name = 'hosted', version = 1, brief = 'b', cite = 'c',\n"
      "  problem = { { 'n', 0, 10000, default = 7 }, { 'of', { 'host', 'device' }, default = 'host' } },\n"
      "  args = { { 'f', 'f32', 'in', count = 'n', host = \"of == 'host'\" },\n"
      "           { 'd', 'f64', 'in', count = 'n', host = \"of == 'host'\" },\n"
      "           { 'h', 'f32', 'out', count = 'n', host = true }, { 'y', 'f32', 'out', count = 'n' } },\n"
      "  workspace = { { 'w', 'f32', 'n' } }, space = { { 'B', { 32 } } }, default = { B = 32 },\n"
      "  derive = {}, require = {}, tolerance = { abs = 0, rel = 0 }, flops = 1, bytes = 1,\n"
      "  stages = { %s },\n"
      "  source = 'k', reference = { stages = { { kernel = 'slow', grid = 1, block = 1,\n"
      "    args = { 'f', 'h', 'y' } } }, source = 'k' }\n}\n",
      stage);
  return gen_open_text(NULL, "hosted.lua", text.p, text.n, t, e);
}

static street street_hosted(const char *stage, const char *problem) {
  street s = {0};
  assert_ok(open_hosted(stage, &s.t, &s.e), &s.e);
  street_start(&s, problem);
  return s;
}

#define HOSTED(args) "{ kernel = 'k', grid = 1, block = 'B', args = { " args " } }"

TEST(arguments_may_be_in_the_hosts_memory) {
  auto_street s = street_hosted(
      "{ copy = 'w', from = 'f', at = 4, from_at = 8, nbytes = '4 * n - 8' }, "
      "{ copy = 'h', from = 'w', nbytes = 4 }, { constant = 'c', from = 'f', nbytes = 4 }, " HOSTED(
          "'w', { parameter = 'd', count = 'n - 1' }, 'y'"),
      "n=9");
  const gen_plan *p;
  const gen_data *d;
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  const gen_launch *l = p->launches;
  assert_int_equal(p->n, 4);
  assert_true(l[0].copy && l[0].nbytes == 28 && l[0].at[0] == 4 && l[0].at[1] == 8);
  assert_int_equal(l[3].operands[1].from, GEN_FROM_CONTENTS);
  assert_int_equal(l[3].operands[1].nbytes, 64);
  assert_true(p->on_host[0] && p->on_host[1] && p->on_host[2] && !p->on_host[3]);
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_true(d->args[0].host && !d->args[3].host);
  auto_street empty =
      street_hosted("{ constant = 'c', from = 'f', nbytes = 4 }, { kernel = 'k', grid = 'n - 9', "
                    "block = 'B', args = { 'y' } }",
                    "n=9");
  assert_ok(gen_plan_make(empty.g, &empty.c, &empty.a, &p, &empty.e), &empty.e);
  assert_int_equal(p->n, 0); /* no kernel would read the variable */
  assert_ok(gen_reference_plan(s.g, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->launches[0].operands[0].from, GEN_FROM_ARG);
  assert_false(p->on_host[0]);
}

TEST(arguments_of_the_host_have_no_address_for_kernels) {
  static const char *const wrong[][3] = {
      {HOSTED("'f'"), "", "k takes the address of f, which is in the host's memory"},
      {HOSTED("{ tensor = 'f', dims = { 'n' }, box = { 4 } }"), "", "k takes the address of f"},
      {HOSTED("{ parameter = 'f', count = 'n' }"), "of=device", "k takes f by value"},
      {HOSTED("{ parameter = 'f', count = 'n + 1' }"), "",
       "k takes 8 elements of f, which has fewer"},
      {HOSTED("{ parameter = 'f', count = 'n' }"), "n=9000",
       "the count of a parameter is 9000; it can be 1 to 8191"},
      {HOSTED("{ parameter = 'f', count = 'n' }, { parameter = 'd', count = 'n' }"), "n=3000",
       "the parameters of k take 36000 bytes; at most 32764"},
      {"{ copy = 'h', from = 'f', nbytes = 4 }", "", "a copy within the host's memory"},
      {"{ copy = 'w', at = 25, from = 'f', nbytes = 4 }", "", "nbytes is 4; it can be 0 to 3"},
      {"{ copy = 'w', from = 'f', from_at = 20, nbytes = 12 }", "",
       "a copy of 12 bytes from byte 20 of f, which has 28"},
      {"{ constant = 'c', from = 'd', nbytes = 60 }", "", "a copy of 60 bytes from byte 0 of d"},
      {"{ constant = 'c', from = 'd', from_at = 8, nbytes = 56 }", "",
       "a copy of 56 bytes from byte 8 of d, which has 56"},
      {"{ memset = 'h', nbytes = 4 }", "", "memset cannot set the host's memory"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    auto_street s = street_hosted(wrong[i][0], wrong[i][1]);
    const gen_plan *p;
    assert_fails(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e, ERR_TEMPLATE, wrong[i][2]);
  }
  static const char *const refused[][2] = {
      {HOSTED("{ parameter = 'y', count = 1 }"), "'y' cannot be passed by value"},
      {HOSTED("{ parameter = 'h', count = 1 }"), "'h' cannot be passed by value"},
      {HOSTED("{ parameter = 'f' }"), "'count' is missing here"},
      {"{ loop = { times = 2, swap = { { 'h', 'w' } } }, stages = { " HOSTED("'w'") " } }",
       "'h' may be in the host's memory"}};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    gen_template *t = NULL;
    err e = {0};
    assert_fails(open_hosted(refused[i][0], &t, &e), &e, ERR_TEMPLATE, refused[i][1]);
  }
  auto_street s = street_hosted(HOSTED("{ parameter = 'f', count = 1 }"), "");
  gen_texts texts;
  assert_fails(gen_texts_make(s.t, &s.a, &texts, &s.e), &s.e, ERR_USAGE,
               "a portfolio in C cannot pass f by value");
}

TEST(plans_describe_tensors) {
  street s = street_mini("{ 'i32', 'TILE' }",
                         "{ tensor = 'x', dims = { 'n', 3 }, strides = { '2 * n' }, "
                         "box = { 'B', 2 }, swizzle = 32 }",
                         "n=1000 kind=safe");
  const gen_plan *p;
  gen_texts texts;
  assert_ok(gen_config_parse(s.t, "B=64,MODE=wide", &s.c, &s.e), &s.e);
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->launches[1].operands[5].from, GEN_FROM_TENSOR);
  const gen_tensor *x = p->launches[1].operands[5].tensor;
  assert_int_equal(x->at.from, GEN_FROM_ARG);
  assert_string_equal(s.t->args[x->at.index].name, "x");
  assert_int_equal(x->type, DTYPE_f32);
  assert_int_equal(x->rank, 2);
  assert_int_equal(x->dims[0], 1000);
  assert_int_equal(x->dims[1], 3);
  assert_int_equal(x->strides[0].bits, 2000);
  assert_int_equal(x->box[0], 64);
  assert_int_equal(x->box[1], 2);
  assert_int_equal(x->swizzle, 32);
  assert_ok(gen_texts_make(s.t, &s.a, &texts, &s.e), &s.e);
  assert_string_equal(texts.launches[1].operands[5].tensor->strides[0].value, "2 * n");
  street_close(&s);
}

TEST(plans_describe_textures) {
  street s = street_mini(
      "{ 'i32', 'TILE' }",
      "{ texture = 'x', dims = { 'n', 3, 2 }, array = 'TILE > 1', filter = 'linear', channels = 2, "
      "coordinates = 'normalized', address = { 'wrap', 'mirror', 'border' } }",
      "n=64 kind=safe");
  const gen_plan *p;
  gen_texts texts;
  assert_ok(gen_config_parse(s.t, "B=64,MODE=wide", &s.c, &s.e), &s.e);
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  const gen_operand *o = &p->launches[1].operands[5];
  assert_int_equal(o->from, GEN_FROM_TEXTURE);
  const gen_texture *x = o->texture;
  assert_string_equal(x->at.text, "x");
  assert_true(x->rank == 3 && x->dims[0] == 64 && x->dims[1] == 3 && x->dims[2] == 2);
  assert_true(x->array && x->channels == 2 && x->type == DTYPE_f32);
  assert_true(x->strides[0].bits == 128 && x->strides[1].bits == 384);
  assert_true(x->how.linear && x->how.normalized_coords && !x->how.normalized);
  assert_true(x->how.edge[0] == GEN_WRAP && x->how.edge[1] == GEN_MIRROR &&
              x->how.edge[2] == GEN_BORDER);
  assert_fails(gen_texts_make(s.t, &s.a, &texts, &s.e), &s.e, ERR_USAGE,
               "exported C cannot make the textures");
  street_close(&s);
}

TEST(plans_tell_how_many_launches_may_be_pending) {
  auto_street s = street_mini("smem = '4 * B'", "smem = '4 * B', pool = '3 * n'", "n=1000");
  const gen_plan *p;
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->launches[p->n - 1].pool, 3000);
}

TEST(portfolios_in_c_refuse_what_they_cannot_launch) {
  static const struct {
    const char *from, *to, *why;
  } cases[] = {{MINI_SET, "{ constant = 'filter', from = 'x', nbytes = 4 },",
                "cannot set the __constant__ variable filter; export problems of mini one by one"},
               {MINI_SET, MINI_COPY(""), "cannot copy buffers as mini does"},
               {MINI_SET, MINI_LOOP("times = 2"), "cannot repeat the stages of mini"},
               {"smem = '4 * B'", "smem = '4 * B', cooperative = 'B == 32'",
                "cannot launch twice cooperatively"},
               {"smem = '4 * B'", "smem = '4 * B', pool = 'n'",
                "cannot launch twice, which launches kernels"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    auto_street s = street_mini(cases[i].from, cases[i].to, "n=100");
    gen_texts texts;
    assert_fails(gen_texts_make(s.t, &s.a, &texts, &s.e), &s.e, ERR_USAGE, cases[i].why);
  }
  auto_street s = street_mini("", "", "n=100");
  gen_texts texts;
  assert_ok(gen_texts_make(s.t, &s.a, &texts, &s.e), &s.e);
}

TEST(a_box_too_large_is_refused) {
  street s = street_mini("{ 'i32', 'TILE' }", "{ tensor = 'x', dims = { 'n' }, box = { '8 * B' } }",
                         "n=1000 kind=safe");
  const gen_plan *p;
  assert_ok(gen_config_parse(s.t, "B=64,MODE=wide", &s.c, &s.e), &s.e);
  assert_fails(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e, ERR_TEMPLATE,
               "a side of a tensor's box is 512; it can be 1 to 256");
  street_close(&s);
}

TEST(an_empty_problem_launches_nothing) {
  auto_street s = street_mini("", "", "n=0 kind=safe");
  const gen_plan *p;
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->n, 0);
}

TEST(launches_beyond_the_limits_are_refused) {
  static const char *const wrong[][3] = {
      {"block = { 'B', 1 }", "block = { 'B', 64 }",
       "a block of 2048 threads; the device allows 1024"},
      {"block = { 'B', 1 }", "block = { 'B', 1, 65 }", "block.z is 65; it can be 1 to 64"},
      {"block = { 'B', 1 }", "block = 'B - 32'", "block.x is 0; it can be 1 to 1024"},
      {"grid = 'ceildiv(n, TILE)'", "grid = { 1, '2^16' }",
       "grid.y is 65536; it can be 0 to 65535"},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n - 101'", "grid.x is -1; it can be 0 to"},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n / 7'", "a whole number is needed, not 14.2857"},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n // (B - 32)'",
       "division by zero, in \"n // (B - 32)\""},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n > 3 and kind or n'",
       "a whole number is needed, not 'fast'"},
      {"grid = 'ceildiv(n, TILE)'", "grid = 'n > 3 or n'",
       "a whole number is needed, not a condition"},
      {"grid = 'ceildiv(n, TILE)'", "grid = '(n > 3 or n) + 1'",
       "+: a number is needed, not a condition"},
      {"smem = '4 * B'", "smem = 'B * 2^20'", "smem is 33554432; it can be 0 to 232448"},
      {"smem = '4 * B'", "pool = 'n - 100'", "pool is 0; it can be 1 to 1048576"},
      {"smem = '4 * B'", "work = { 1, 'n - 101' }", "a block's work is -1; it can be 0 or more"},
      {"smem = '4 * B'", "work = 'n / 0'", "a block's work is inf; it can be 0 or more"},
      {"{ 'i32', 'TILE' }", "{ 'u8', 'TILE * 8' }", "256 does not fit u8"},
      {"{ 'i32', 'TILE' }", "{ 'u8', '-1' }", "-1 does not fit u8"},
      {"{ 'i32', 'TILE' }", "{ 'u8', 'n > 3 and kind or n' }", "a number is needed, not 'fast'"},
      {"'ceildiv(n, TILE)' } },", "'n - 200' } },", "the count is -100"},
      {"when = \"kind == 'safe'\"", "when = 'n < 3 or n'", "a condition is needed, not 100"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    auto_street s = street_mini(wrong[i][0], wrong[i][1], "");
    const gen_plan *p;
    assert_fails(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e, ERR_TEMPLATE, wrong[i][2]);
    assert_true(strstr(s.e.place, "mini.lua:2") != NULL);
  }
}

/* A launch may overlap with the kernel before it, and the first with the caller's; each where the
 * template says so. */
TEST(launches_may_overlap) {
  static const struct {
    const char *problem, *overlap, *early;
    bool first, second;
  } cases[] = {{"kind=fast", "B == 32", "B > 32", false, true},
               {"kind=fast", "B > 32", "B == 32", true, false},
               {"kind=safe", "B == 32", "B == 32", false, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char stage[400];
    const gen_plan *p;
    snprintf(stage, sizeof stage,
             "{ kernel = 'again', overlap = '%s', early = '%s', grid = 1, block = 1,\n"
             "      args = { 'n' } },\n"
             "    { kernel = 'more', overlap = '%s', early = 'true', grid = 1, block = 1,\n"
             "      args = { 'n' } },\n"
             "    { kernel = 'twice', grid =",
             cases[i].overlap, cases[i].early, cases[i].overlap);
    auto_street s = street_mini("{ kernel = 'twice', grid =", stage, cases[i].problem);
    assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
    assert_int_equal(p->n, strstr(cases[i].problem, "safe") ? 4 : 3);
    const gen_launch *last = p->launches + p->n;
    assert_int_equal(last[-3].overlap, cases[i].first);
    assert_int_equal(last[-2].overlap, cases[i].second);
    assert_false(last[-1].overlap);
  }
}

#define METRICS "metrics = { { 'rate', 'flops / sec' }, { 'cost', 'rate * B + joules' } },\n  sizes"

static double metric(street *s, const char *text, const char *config) {
  const double x[GEN_MEASURED] = {
      [GEN_MEASURED_sec] = 0.5, [GEN_MEASURED_joules] = 3, [GEN_MEASURED_registers] = 40};
  gen_metric m = {0};
  double value;
  assert_ok(gen_config_parse(s->t, config, &s->c, &s->e), &s->e);
  assert_ok(gen_metric_parse(s->t, text, &s->a, &m, &s->e), &s->e);
  assert_ok(gen_metric_value(s->g, &s->c, &m, x, &value, &s->e), &s->e);
  return value;
}

TEST(metrics_read_what_was_measured) {
  auto_street s = street_mini("sizes", METRICS, "n=100");
  gen_metric m = {0};
  const gen_data *d;
  assert_int_equal(s.t->n_metrics, 2);
  assert_string_equal(s.t->metrics[1].name, "cost");
  assert_true(metric(&s, "flops / joules", "B=32") == 100.0 / 3);
  assert_true(metric(&s, "rate", "B=32") == 200);
  assert_true(metric(&s, "cost + TILE", "B=64") == 200 * 64 + 3 + 64);
  assert_true(metric(&s, "cost + TILE", "B=64,MODE=wide") == 200 * 64 + 3 + 256);
  assert_true(metric(&s, "registers * n + dev_warp * bytes", "B=32") == 4000 + 32 * 800);
  assert_ok(gen_metric_parse(s.t, "cost", &s.a, &m, &s.e), &s.e);
  assert_int_equal(m.measured,
                   1 << GEN_MEASURED_sec | 1 << GEN_MEASURED_joules | 1 << GEN_MEASURED_flops);
  assert_true(m.reads_config);
  assert_ok(gen_metric_parse(s.t, "rate", &s.a, &m, &s.e), &s.e);
  assert_false(m.reads_config);
  assert_ok(gen_data_make(s.g, 1, &s.a, &d, &s.e), &s.e); /* arguments have their values again */
  assert_true(dtype_decode(DTYPE_f32, d->args[1].bits) == 12.5);
}

TEST(metrics_are_checked) {
  static const char *const wrong[][2] = {{"flop / sec", "did you mean 'flops'?"},
                                         {"kind", "a number is needed, not a text"},
                                         {"sec +", "a value is missing"},
                                         {"factor", "there is no 'factor'"}};
  auto_street s = street_mini("sizes", METRICS, "n=100");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    gen_metric m = {0};
    err e = {0};
    assert_fails(gen_metric_parse(s.t, wrong[i][0], &s.a, &m, &e), &e, ERR_USAGE, wrong[i][1]);
  }
}

int main(void) {
  return tests_run_with(NULL, folder_make, folder_remove);
}
