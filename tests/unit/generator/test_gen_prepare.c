/* test_gen_prepare.c -- preparations: parts, counts, buffers, and mistakes in them. */
#define _GNU_SOURCE
#include "gen_fixture.h"

static const char prepare_text[] =
    "  prepare = {\n"       /* 1 */
    "    from = { 'x' },\n" /* 2 */
    "    counts = { { 'wide', of = 'sizes', at = 1, most = 'n' }, { 'tall', of = 'sizes', most = 9 } },\n"
    "    workspace = { { 'sizes', 'u32', 2 } },\n"                                    /* 4 */
    "    outputs = { { 'table', 'f64', 'n' }, { 'cells', 'i32', 'wide * tall' } },\n" /* 5 */
    "    stages = {\n"                                                                /* 6 */
    "      { kernel = 'measure', grid = 'n', block = 'B', args = { 'n', 'x', 'table', 'sizes' } },\n"
    "      { count = { 'wide', 'tall' } },\n" /* 8 */
    "      { kernel = 'fill', grid = 'wide', block = 32, args = { { 'i32', 'tall' }, 'cells' } },\n"
    "    },\n" /* 10 */
    "  },\n";  /* 11 */

/* The small template with a preparation in which `what` is replaced, and `more` in its launch. */
static int open_with(const char *what, const char *with, const char *more, gen_template **t,
                     err *e) {
  auto_str text = {0}, all = {0};
  const char *at = strstr(prepare_text, what);
  assert_non_null(at);
  str_addf(&text, "%.*s%s%s  stages = {\n", (int)(at - prepare_text), prepare_text, with,
           at + strlen(what));
  mini_with("  stages = {\n", str_text(&text), &all);
  const char *launch = strstr(all.p, "{ 'i32', 'TILE' }");
  auto_str whole = {0};
  str_addf(&whole, "%.*s%s%s", (int)(launch - all.p), all.p, more, launch);
  folder_write("mini.lua", whole.p, whole.n);
  return gen_open(NULL, folder_path("mini.lua"), t, e);
}

static street street_of(const char *more, const char *problem) {
  street s = {0};
  assert_ok(open_with("", "", more, &s.t, &s.e), &s.e);
  street_start(&s, problem);
  return s;
}

TEST(counts_separate_parts_and_size_buffers) {
  auto_street s = street_of("'cells', { 'i32', 'wide' }, ", "n=20");
  gen_preparation part;
  gen_counts counts = {0};
  const gen_plan *run;
  bool prepares;
  assert_ok(gen_prepares(s.g, &s.c, &prepares, &s.e), &s.e);
  assert_true(prepares && s.t->has_prepare && s.t->n_prepared == 3 && s.t->n_counts == 2);
  assert_ok(gen_prepare_part(s.g, &s.c, 0, &counts, &s.a, &part, &s.e), &s.e);
  assert_int_equal(part.plan->n, 1);
  assert_int_equal(part.n_reads, 2);
  assert_int_equal(part.reads[0].at, 4);
  assert_int_equal(part.reads[0].most, 20);
  assert_int_equal(part.reads[1].most, 9);
  assert_int_equal(part.fresh, 5); /* table and sizes, of table, cells, sizes */
  assert_int_equal(part.nbytes[0], 160);
  counts = (gen_counts){3, {7, 3}};
  assert_ok(gen_prepare_part(s.g, &s.c, 1, &counts, &s.a, &part, &s.e), &s.e);
  assert_int_equal(part.fresh, 2);
  assert_int_equal(part.nbytes[1], 7 * 3 * 4);
  assert_int_equal(part.plan->launches[0].grid[0], 7);
  assert_int_equal(part.plan->launches[0].operands[0].bits, 3);
  assert_int_equal(part.plan->launches[0].operands[1].from, GEN_FROM_PREPARED);
  assert_int_equal(part.n_reads, 0);
  assert_ok(gen_prepare_part(s.g, &s.c, 2, &counts, &s.a, &part, &s.e), &s.e);
  assert_null(part.plan);
  assert_ok(gen_plan_make_for(s.g, &s.c, &counts, &s.a, &run, &s.e), &s.e);
  assert_int_equal(run->launches[0].operands[6].bits, 7);
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &run, &s.e), &s.e); /* at its bound */
  assert_int_equal(run->launches[0].operands[6].bits, 20);
}

TEST(arguments_know_what_they_are_for) {
  auto_street s = street_of("", "n=20");
  assert_int_equal(gen_arg_find(s.t, "n")->role, GEN_OF_PLAN); /* the preparation takes it */
  assert_int_equal(gen_arg_find(s.t, "x")->role, GEN_OF_PLAN);
  assert_int_equal(gen_arg_find(s.t, "factor")->role, GEN_OF_RUN);
  assert_int_equal(gen_arg_find(s.t, "y")->role, GEN_OF_RUN);
}

TEST(mistakes_have_their_line) {
  static const struct {
    const char *what, *with, *more, *words;
    int line;
  } list[] = {
      {"from = { 'x' }", "from = { 'y' }", "", "'y' is no input", 25},
      {"from = { 'x' }", "from = {}", "", "the preparation takes 'x': name it in 'from'", 30},
      {"from = { 'x' }", "values = { 'x' }", "", "stages that take it have values_only = true", 30},
      {"from = { 'x' }", "from = { 'x' }, values = { 'x' }", "", "in 'from' and in 'values'", 25},
      {", most = 9", "", "", "'most' is missing here", 26},
      {"of = 'sizes', most", "of = 'table', most", "", "'of' is a buffer of whole numbers", 26},
      {"{ 'wide', 'tall' } }", "'wide' }", "", "no stage reads the count 'tall'", 26},
      {"{ 'wide', 'tall' } }", "{ 'wide', 'tal' } }", "", "did you mean 'tall'?", 31},
      {"'sizes', 'u32'", "'y', 'u32'", "", "there are two things called 'y'", 27},
      {"", "", "'sizes', ", "'sizes' is scratch of the preparation", 38},
      {"block = 32", "block = 32, values_only = 1", "", "values_only is true or false", 32},
      {"{ 'i32', 'tall' }, 'cells'", "'sizes'", "", "", 0},
      {"block = 32, args = { { 'i32', 'tall' }", "block = 32, values_only = true, args = { 'sizes'",
       "", "'sizes' is gone when values change", 32},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    gen_template *t = NULL;
    err e = {0};
    char place[160];
    const int rc = open_with(list[i].what, list[i].with, list[i].more, &t, &e);
    gen_close(t);
    snprintf(place, sizeof place, "%s:%d", folder_path("mini.lua"), list[i].line);
    if (rc != (list[i].line ? ERR_TEMPLATE : 0) || !strstr(e.message, list[i].words) ||
        (list[i].line && strcmp(place, e.place) != 0)) {
      fail_msg("%s: got '%s' at %s, wanted '%s' at %d", list[i].with, e.message, e.place,
               list[i].words, list[i].line);
    }
  }
}

TEST(a_buffer_is_not_taken_before_its_size_is_known) {
  auto_street s = {0};
  gen_preparation part;
  const gen_counts none = {0};
  assert_ok(open_with("'table', 'sizes' } }", "'cells', 'sizes' } }", "", &s.t, &s.e), &s.e);
  street_start(&s, "");
  assert_fails(gen_prepare_part(s.g, &s.c, 0, &none, &s.a, &part, &s.e), &s.e, ERR_TEMPLATE,
               "the size of 'cells' is not known here");
}

int main(void) {
  return tests_run_with(NULL, folder_make, folder_remove);
}
