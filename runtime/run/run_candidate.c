#include "run_candidate.h"

int rt_candidate_load(rt_candidate *k, rt_device *d, const str *image, const gen_template *t,
                      gen_instance *g, const gen_config *c, const gen_plan *plan, err *e) {
  *k = (rt_candidate){0};
  TRY(rt_loaded_new(d, str_text(image), image->n, t, plan, &k->loaded, e));
  return t->has_prepare ? rt_prepared_new(k->loaded, t, g, c, &k->prepared, e) : 0;
}

void rt_candidate_clear(rt_candidate *k) {
  rt_prepared_free(k->prepared);
  rt_loaded_free(k->loaded);
  *k = (rt_candidate){0};
}

rt_contender rt_candidate_contender(rt_candidate *k) {
  return k->prepared ? rt_prepared_contender(k->prepared) : rt_loaded_contender(k->loaded);
}

int rt_candidate_plan(const rt_candidate *k, gen_instance *g, const gen_config *c, arena *a,
                      const gen_plan **out, err *e) {
  return k->prepared ? gen_plan_make_for(g, c, rt_prepared_counts(k->prepared), a, out, e)
                     : gen_plan_make(g, c, a, out, e);
}

int rt_stage_open(rt_stage *x, rt_candidate *of, const gen_template *t, const gen_plan *plan,
                  size_t i, err *e) {
  gen_plan one = *plan;
  gen_launch launch = plan->launches[i];
  launch.loop = NULL;
  one.launches = &launch;
  one.n = 1;
  *x = (rt_stage){.of = of};
  return rt_loaded_new_from(of->loaded, t, &one, &x->loaded, e);
}

void rt_stage_close(rt_stage *x) {
  rt_loaded_free(x->loaded);
  x->loaded = NULL;
}

static int prepare_stage(void *self, rt_stream s, const void *const *args, uint64_t n_copies,
                         double *sec, err *e) {
  rt_stage *x = self;
  const rt_contender all = rt_candidate_contender(x->of);
  TRY(rt_loaded_reserve(x->loaded, e));
  *sec = 0;
  return all.prepare ? all.prepare(all.self, s, args, n_copies, sec, e) : 0;
}

static int launch_stage(void *self, rt_stream s, const void *const *args, err *e) {
  rt_stage *x = self;
  const void *full[RT_ARGS_MOST];
  if (!x->of->prepared) {
    return rt_loaded_launch(x->loaded, s, args, e);
  }
  rt_prepared_args(x->of->prepared, args, full);
  return rt_loaded_launch(x->loaded, s, full, e);
}

rt_contender rt_stage_contender(rt_stage *x) {
  return (rt_contender){.launch = launch_stage, .self = x, .prepare = prepare_stage};
}
