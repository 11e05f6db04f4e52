/* test_portfolio_text.c -- the text of a portfolio: what is written is read and predicts the same
 * times, and a damaged text is refused or does no harm. */
#define _GNU_SOURCE
#include "portfolio_fixture.h"

TEST(test_text_comes_back) {
  world w;
  portfolio c, back;
  auto_str text = {0}, again = {0};
  err e = {0};
  world_new(&w, 150, 1, true);
  learn(&w, &c);
  portfolio_text(w.t, &c, &text);
  assert_ok(portfolio_read_all(w.t, str_text(&text), &w.memory, &back, &e), &e);
  portfolio_text(w.t, &back, &again);
  assert_string_equal(str_text(&text), str_text(&again));
  for (size_t j = 0; j < w.sizes.n; j++) {
    assert_int_equal(picked(&w, &c, j), picked(&w, &back, j));
  }
  world_free(&w);
}

/* Gives the sizes transpositions and variants, and lets one configuration not fit one size. */
static void vary(tiled *x) {
  int64_t *values = (int64_t *)x->w.table.values;
  for (size_t j = 0; j < TIMED; j += 2) {
    values[j * x->w.table.n_fields + 3] = 1;
  }
  x->sec[7] = INFINITY;
  for (size_t j = 0; j < TILES * TIMED; j++) {
    gen_config_default(x->w.t, &x->work[j].config);
    x->work[j].config.index[0] = (uint16_t)(j % x->w.t->params[0].n);
    x->work[j].config.index[5] = (uint16_t)(j % 3 % x->w.t->params[5].n);
  }
}

/* The formula itself: a sum over the samples of each variant. */
static double plainly(const gen_template *t, const portfolio *c, size_t i, const int64_t *values,
                      const model_work *w) {
  const model_fit *fit = &c->model.fits[i];
  const chooser_load load = chooser_load_of(&fit->chooser.costs, w->amount.flops, w->amount.blocks);
  const model_variant here = {.config = w->config, .threads = w->amount.threads};
  const chooser_fields fields = model_fields(t);
  double off = 0;
  for (size_t f = 0; f < fit->n_variants; f++) {
    for (size_t k = 0; k < fit->variants[f].n; k++) {
      const model_sample *told = &fit->variants[f].samples[k];
      const chooser_load there = {.length = (double)told->length, .tail = (double)told->tail};
      off +=
          (double)told->weight *
          chooser_covariance(model_variant_distance(t, &here, &fit->variants[f]) +
                             fields_apart(t, values, c->model.values + told->size * t->n_fields) +
                             chooser_load_distance(&load, &there));
    }
  }
  return chooser_cost_sum(&fields, &fit->chooser.costs, values, &w->amount) * exp(off);
}

/* Includes a field that is constant over the measured sizes, and a variant that was not
 * measured. */
TEST(test_the_loops_say_what_the_formula_says) {
  static tiled x;
  portfolio c;
  float apart[TIMED];
  tiled_new(&x, 0);
  vary(&x);
  learn(&x.w, &c);
  for (size_t j = 0; j < TIMED; j++) {
    int64_t v[GEN_MAX_FIELDS];
    memcpy(v, values_of(&x.w, j), x.w.table.n_fields * sizeof *v);
    v[0] += 5;
    v[6] += (int64_t)j % 2;
    chooser_size_distances(&c.model.sizes, v, apart);
    for (size_t i = 0; i < TILES; i++) {
      model_work w = x.work[i * TIMED + j];
      w.config.index[7] = (uint16_t)(j % x.w.t->params[7].n);
      if (w.amount.blocks > 0) {
        const double sec = model_fit_sec(x.w.t, &c.model.fits[i], v, &w, apart);
        assert_true(fabs(log(sec / plainly(x.w.t, &c, i, v, &w))) < 1e-5);
      }
    }
  }
  world_free(&x.w);
}

/* Two launches timed on an idle host may take less time than a busy host needs to launch them. */
TEST(test_several_launches_take_the_host_its_time) {
  static tiled x;
  portfolio c;
  float apart[TIMED];
  tiled_new(&x, 0);
  learn(&x.w, &c);
  const int64_t *v = x.w.table.values;
  model_work w = x.work[0];
  chooser_size_distances(&c.model.sizes, v, apart);
  model_fit fit = c.model.fits[0];
  fit.chooser.costs.cost[0] = 0; /* of a launch: it was part of the time of one */
  const double once = model_fit_sec(x.w.t, &fit, v, &w, apart);
  w.amount.launches = 1 + ceil(once / CHOOSER_LAUNCH);
  const double often = model_fit_sec(x.w.t, &fit, v, &w, apart);
  assert_true(fabs(often / (w.amount.launches * CHOOSER_LAUNCH) - 1) < 2e-3);
  for (size_t i = 0; i < CHOOSER_COSTS; i++) {
    fit.chooser.costs.cost[i] *=
        0.9; /* waiting for the host takes as long, yet this one is better */
  }
  assert_true(model_fit_sec(x.w.t, &fit, v, &w, apart) < often);
  w.amount.launches = 1;
  const double again = model_fit_sec(x.w.t, &fit, v, &w, apart);
  assert_true(once > 0 && fabs(again / once - 0.9) < 1e-9);
  world_free(&x.w);
}

TEST(test_the_model_comes_back) {
  static tiled x;
  portfolio c, back, served;
  auto_str text = {0}, again = {0};
  err e = {0};
  float apart[TIMED], apart_back[TIMED], apart_served[TIMED];
  tiled_new(&x, 0);
  const int64_t *values = x.w.table.values;
  vary(&x);
  learn(&x.w, &c);
  assert_int_equal(c.model.sizes.n, TIMED);
  size_t told = 0;
  for (size_t i = 0; i < c.model.fits[0].n_variants; i++) {
    told += c.model.fits[0].variants[i].n;
  }
  assert_int_equal(told, TIMED - 1);
  portfolio_text(x.w.t, &c, &text);
  assert_ok(portfolio_read_all(x.w.t, str_text(&text), &x.w.memory, &back, &e), &e);
  portfolio_text(x.w.t, &back, &again);
  assert_string_equal(str_text(&text), str_text(&again));
  assert_ok(portfolio_read(x.w.t, str_text(&text), &x.w.memory, &served, &e), &e);
  assert_null(served.model.fits[0].variants);
  for (size_t j = 0; j < TIMED; j++) {
    const int64_t *v = values + j * x.w.table.n_fields;
    chooser_size_distances(&c.model.sizes, v, apart);
    chooser_size_distances(&back.model.sizes, v, apart_back);
    chooser_size_distances(&served.model.sizes, v, apart_served);
    for (size_t i = 0; i < TILES; i++) {
      const model_work *w = &x.work[i * TIMED + j];
      const double a = model_fit_sec(x.w.t, &c.model.fits[i], v, w, apart);
      const double b = model_fit_sec(x.w.t, &back.model.fits[i], v, w, apart_back);
      assert_true(fabs(log(a / b)) < 0.002);
      assert_true(model_fit_sec(x.w.t, &served.model.fits[i], v, w, apart_served) == b);
    }
  }
  world_free(&x.w);
}

static const char good_model[] =
    "model 132\nsize 8192 16 16 16 t 4 4 4\nsize 16000 20 20 20 n 1 1 1\n"
    "costs 2 1e-6\nform 128\nat 0 1 -7.5\n"
    "costs 8 0 1e-6 0 1e-12\nform 64 BM=64 VEC=4\nat 1 9 20.1\nform 256\nat 0 4 0.3\n";

static const char good[] = "portfolio 1\nasked 0.05\nsizes 2\nexpected 0.01 0.1\n"
                           "range m 16 8192\nrange n 16 8192\nrange k 16 8192\nrange ta n t\n"
                           "range tb n\nrange align 1 4\nrange align_a 1 4\nrange align_b 1 "
                           "4\nrange scale none\nrange bias none\nrange "
                           "act none\nrange accuracy strict\nconfig BM=64\nconfig BM=32\n"
                           "if m*n < 1000 else 2\nleaf 0.1 0.2 0 1\nif ta=t else 4\nleaf 0 0 1\n"
                           "leaf 0 0 1 0\n";

/* Replaces the first occurrence of changes[i][0] by changes[i][1]: the text is refused. */
static void refuse(const gen_template *t, const char *from, const char *const changes[][2],
                   size_t n) {
  auto_arena a = {0};
  portfolio c;
  for (size_t i = 0; i < n; i++) {
    auto_str text = {0};
    const char *at = strstr(from, changes[i][0]);
    str_add_n(&text, from, (size_t)(at - from));
    str_add(&text, changes[i][1]);
    str_add(&text, at + strlen(changes[i][0]));
    if (portfolio_read(t, str_text(&text), &a, &c, NULL) != ERR_USAGE) {
      fail_msg("'%s' for '%s' was accepted", changes[i][1], changes[i][0]);
    }
  }
}

static const char *const changes[][2] = {{"portfolio 1", "portfolio 6"},
                                         {"portfolio 1", "portfolio 2"},
                                         {"portfolio 1", "portfolio 3"},
                                         {"leaf 0 0 1 0\n", ""},
                                         {"else 2", "else 0"},
                                         {"else 2", "else 1"},
                                         {"else 4", "else 5"},
                                         {"else 4", "else 99"},
                                         {"range align 1 4\n", ""},
                                         {"m*n", "m*q"},
                                         {"m*n", "ta*n"},
                                         {"ta=t", "ta=x"},
                                         {"leaf 0 0 1\n", "leaf 0 0\n"},
                                         {"leaf 0 0 1\n", "leaf 0 0 2\n"},
                                         {"leaf 0 0 1\n", "leaf 0 0 then 1\n"},
                                         {"leaf 0 0 1\n", "leaf 0 0 1 then then\n"},
                                         {"leaf 0 0 1\n", "leaf 0 0 1 than\n"},
                                         {"config BM=64", "config BM=65"},
                                         {"16 8192", "8192 16"},
                                         {"asked 0.05", "asked -1"},
                                         {"asked 0.05", "asked nan"},
                                         {"range tb n", "range tb"},
                                         {"sizes 2", "sizes two"},
                                         {"< 1000", "> 1000"},
                                         {"< 1000", "< inf"}};
static const char *const model_changes[][2] = {{"model 132", "model 0"},
                                               {"model 132", "model x"},
                                               {"model 132\n", ""},
                                               {"model 132\n", "model 132\nmodel 132\n"},
                                               {"model 132\n", "model 132\nsizes 3\n"},
                                               {"model 132\n", "model 132\nat 0 1 1\n"},
                                               {"model 132\n", "model 132\nform 64\n"},
                                               {"model 132\n", "model 132\ncosts 2 1e-6\n"},
                                               {"costs 2 1e-6", "costs 0 1e-6"},
                                               {"costs 2 1e-6", "costs 2 -1e-6"},
                                               {"costs 2 1e-6\n", ""},
                                               {"costs 8", "costs 8\ncosts 8"},
                                               {"form 64", "form 0"},
                                               {"form 64", "form x"},
                                               {"BM=64 VEC", "BM=63 VEC"},
                                               {"VEC=4\n", "VEC\n"},
                                               {"VEC=4\n", "XYZ=4\n"},
                                               {"at 1 9 20.1", "at 2 9 20.1"},
                                               {"at 1 9 20.1", "at 1 0 20.1"},
                                               {"at 1 9 20.1", "at 1 9 nan"},
                                               {"at 1 9 20.1", "at 1 9"},
                                               {"at 1 9 20.1", "at 1 9 20.1 20.1"},
                                               {"at 1 9 20.1", "at 1 9 1\nat 0 9 1\nat 0 9 1"},
                                               {"20 20 20 n 1 1 1", "20 20 20 x 1 1 1"},
                                               {"size 16000 20 20 20 n 1 1 1\n", ""},
                                               {"size 16000", "size -16000"},
                                               {"form 256\n", "if ta=t else 4\n"}};

TEST(test_damaged_text_is_refused) {
  auto_template *t = NULL;
  auto_arena a = {0};
  portfolio c;
  err e = {0};
  assert_ok(gen_open(NULL, "sgemm", &t, &e), &e);
  assert_ok(portfolio_read(t, good, &a, &c, &e), &e);
  refuse(t, good, changes, sizeof changes / sizeof *changes);
  auto_str text = {0};
  str_addf(&text, "%s%s", good, good_model);
  assert_ok(portfolio_read(t, str_text(&text), &a, &c, &e), &e);
  assert_int_equal(c.model.sizes.n, 2);
  refuse(t, str_text(&text), model_changes, sizeof model_changes / sizeof *model_changes);
}

/* As strtod reads them. */
TEST(test_numbers_are_read_to_the_last_bit) {
  static const char *const wrong[] = {"e5", "1e", "1e-", "1.2.3", "1-", ".", "1e400", "-1", "1 -"};
  auto_template *t = NULL;
  err e = {0};
  assert_ok(gen_open(NULL, "sgemm", &t, &e), &e);
  for (int round = 0; round < 2000; round++) {
    auto_arena a = {0};
    portfolio c;
    char number[64], text[sizeof good + sizeof good_model + 64];
    const double v = uniform() * pow(10, round % 60 - 30);
    snprintf(number, sizeof number, round % 2 ? "%.*g" : "%.*f", 1 + round % 18, v);
    const char *rest = strchr(strstr(good_model, "costs 2"), '\n');
    snprintf(text, sizeof text, "%s%.*scosts 2 %s%s", good,
             (int)(strstr(good_model, "costs 2") - good_model), good_model, number, rest);
    assert_ok(portfolio_read(t, text, &a, &c, &e), &e);
    assert_true(c.model.fits[0].chooser.costs.cost[0] == strtod(number, NULL));
    snprintf(text, sizeof text, "%s%.*scosts 2 %s%s", good,
             (int)(strstr(good_model, "costs 2") - good_model), good_model,
             wrong[round % (int)(sizeof wrong / sizeof *wrong)], rest);
    assert_fails(portfolio_read(t, text, &a, &c, &e), &e, ERR_USAGE, "damaged");
  }
}

/* Every accepted portfolio has a leaf for every size, with existing configurations and positive
 * times. */
TEST(test_no_text_does_harm) {
  auto_template *t = NULL;
  err e = {0};
  size_t accepted = 0, with_model = 0;
  assert_ok(gen_open(NULL, "sgemm", &t, &e), &e);
  for (int round = 0; round < 20000; round++) {
    auto_arena a = {0};
    portfolio c;
    char text[sizeof good + sizeof good_model];
    snprintf(text, sizeof text, "%s%s", good, round % 2 ? good_model : "");
    for (int k = 0; k < 1 + round % 3; k++) {
      text[(size_t)(uniform() * (double)strlen(text))] =
          uniform() < 0.5 ? "0123456789 \n<=*/n"[(int)(uniform() * 17)]
                          : (char)(1 + uniform() * 255);
    }
    if (!portfolio_read(t, text, &a, &c, NULL)) {
      int64_t values[GEN_MAX_FIELDS] = {100, 100, 100, 1, 0, 4};
      const chooser_node *leaf = portfolio_leaf(t, &c, values);
      accepted++;
      for (size_t i = 0; leaf && i < leaf->n_order; i++) {
        assert_true(leaf->order[i] < c.n_configs);
      }
      float apart[8];
      assert_true(c.model.sizes.n <= 8);
      chooser_size_distances(&c.model.sizes, values, apart);
      for (size_t i = 0; c.model.sizes.n && i < c.n_configs; i++) {
        const model_work w = {
            .amount = {.launches = 1, .blocks = 3, .threads = 64, .flops = 2e6, .bytes = 1e6}};
        assert_true(model_fit_sec(t, &c.model.fits[i], values, &w, apart) > 0);
        with_model++;
      }
    }
  }
  assert_true(accepted > 100 && with_model > 100);
}

TEST(test_the_range_is_kept) {
  auto_template *t = NULL;
  auto_arena a = {0};
  portfolio c;
  err e = {0};
  assert_ok(gen_open(NULL, "sgemm", &t, &e), &e);
  assert_ok(portfolio_read(t, good, &a, &c, &e), &e);
  int64_t inside[GEN_MAX_FIELDS] = {8, 16384, 100, 1, 0, 4, 4, 4},
          small[GEN_MAX_FIELDS] = {7, 100, 100, 1, 0, 4, 4, 4},
          large[GEN_MAX_FIELDS] = {100, 100, 16385, 1, 0, 4, 4, 4},
          other[GEN_MAX_FIELDS] = {100, 100, 100, 1, 1, 4, 4, 4};
  assert_non_null(portfolio_leaf(t, &c, inside));
  assert_null(portfolio_leaf(t, &c, small));
  assert_null(portfolio_leaf(t, &c, large));
  assert_null(portfolio_leaf(t, &c, other));
}

int main(void) {
  return tests_run();
}
