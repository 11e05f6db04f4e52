#include "config_words.h"

#include "run.h"

static int add_words(gen_template *t, const rt_info *device, const char *problem,
                     const char *config, str *out) {
  gen_problem p;
  gen_config c;
  gen_instance *g;
  TRY(gen_problem_parse(t, problem, &p, NULL));
  TRY(gen_config_parse(t, config, &c, NULL));
  TRY(rt_instance_new(t, &p, device, &g, NULL));
  const int rc = gen_config_words(g, &c, out, NULL);
  gen_instance_free(g);
  return rc;
}

void config_words(gen_template *t, const rt_info *device, const char *problem, const char *config,
                  str *out) {
  str words = {0};
  str_add(out, add_words(t, device, problem, config, &words) ? config : str_text(&words));
  str_clear(&words);
}
