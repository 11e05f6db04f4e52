#include "online_chooser.h"

#include <string.h>

#include "run.h"
#include "serve_choose.h"
#include "serve_find.h"
#include "serve_kernel.h"

/* ---- what near problems suggest ------------------------------------------------------------- */

static void add_near(online_chooser *c, serve_choose *choose) {
  serve_pick pick;
  gen_config list[ONLINE_NEAR_MOST];
  size_t n = 0;
  while (n < ONLINE_NEAR_MOST && !serve_choose_next(choose, &pick, NULL)) {
    list[n++] = pick.config;
  }
  while (n > 0) {
    c->near[c->n_near++] = list[--n];
  }
}

void online_chooser_init(online_chooser *c, serve *s, const tuned_kernel *k, const gen_problem *p,
                         gen_instance *g) {
  auto_arena a = {0};
  gen_template *t = (gen_template *)k->t;
  c->s = s;
  c->k = k;
  c->p = *p;
  pthread_mutex_init(&c->lock, NULL);
  serve_choose choose = {.from = &s->sources,
                         .t = t,
                         .p = p,
                         .g = g,
                         .problem = k->info.problem,
                         .known = &k->family->known,
                         .memory = &a};
  add_near(c, &choose);
}

/* ---- the search ----------------------------------------------------------------------------- */

static bool open_search(online_chooser *c) {
  const rt_info *info = &c->s->device->info;
  gen_config found;
  size_t place;
  if (gen_open(&c->s->options, c->k->name, &c->t, NULL) || strcmp(c->t->hash, c->k->t->hash) != 0 ||
      rt_instance_new(c->t, &c->p, info, &c->g, NULL) ||
      gen_config_parse(c->t, c->k->info.config, &found, NULL)) {
    return false;
  }
  online_search_init(&c->search, c->t, c->g);
  return online_search_add(&c->search, &found, &place);
}

static bool next_config(online_chooser *c, gen_config *config, size_t *place) {
  if (!c->t && !open_search(c)) {
    return false;
  }
  while (c->n_near) {
    *config = c->near[--c->n_near];
    if (online_search_add(&c->search, config, place)) {
      return true;
    }
  }
  return online_search_next(&c->search, config, place);
}

static int make_source(online_chooser *c, const gen_config *config, str *text, rt_source *source) {
  TRY(gen_source_make(c->g, config, text, &source->body, NULL));
  source->text = str_text(text);
  source->arch = c->s->device->info.arch;
  source->lineinfo = c->s->device->info.format == RT_PTX;
  return 0;
}

int online_chooser_next(online_chooser *c, gen_config *config, size_t *place, str *text,
                        rt_source *source) {
  int rc = ERR_NOTFOUND;
  pthread_mutex_lock(&c->lock);
  if (!c->exhausted && next_config(c, config, place)) {
    rc = make_source(c, config, text, source) ? ERR_TEMPLATE : 0;
  } else {
    c->exhausted = true;
  }
  pthread_mutex_unlock(&c->lock);
  return rc;
}

void online_chooser_tell(online_chooser *c, size_t place, double sec) {
  online_search_tell(&c->search, place, sec);
}

bool online_chooser_has_more(const online_chooser *c, size_t most) {
  return !c->exhausted && c->search.n < most;
}

void online_chooser_close(online_chooser *c) {
  online_search_clear(&c->search);
  gen_instance_free(c->g);
  gen_close(c->t);
  c->g = NULL;
  c->t = NULL;
}

void online_chooser_clear(online_chooser *c) {
  online_chooser_close(c);
  pthread_mutex_destroy(&c->lock);
}
