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
