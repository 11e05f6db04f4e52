#include "online_search.h"

#include <string.h>

static bool is_there(const online_search *s, const gen_config *c) {
  for (size_t i = 0; i < s->n; i++) {
    if (gen_config_equal(s->t, &s->list[i].config, c)) {
      return true;
    }
  }
  return false;
}

static bool open_space(online_search *s) {
  if (s->searcher || s->failed) {
    return s->searcher;
  }
  if (!gen_space_new(s->g, &s->space, NULL)) {
    search_space_view(s->space, s->t, &s->view);
    search_open(&s->view, &(search_options){.seed = 1}, &s->searcher, NULL);
  }
  s->failed = !s->searcher;
  return s->searcher;
}

/* Results arrive before the space is open, and from threads that must not wait for the search. */
static void pass_results(online_search *s) {
  for (size_t i = 0; i < s->n; i++) {
    online_point *x = &s->list[i];
    const double sec = x->sec;
    size_t point;
    if (!x->told && sec > 0) {
      x->told = true;
      if (gen_space_find(s->space, &x->config, &point)) {
        search_tell(s->searcher, point, sec);
      }
    }
  }
}

bool online_search_next(online_search *s, gen_config *c, size_t *place) {
  size_t point;
  if (s->n == ONLINE_SEARCH_MOST || !open_space(s)) {
    return false;
  }
  pass_results(s);
  while (search_ask(s->searcher, &point)) {
    gen_space_at(s->space, point, c);
    if (online_search_add(s, c, place)) {
      return true;
    }
  }
  return false;
}

bool online_search_add(online_search *s, const gen_config *c, size_t *place) {
  if (s->n == ONLINE_SEARCH_MOST || is_there(s, c)) {
    return false;
  }
  *place = s->n;
  s->list[s->n].config = *c;
  atomic_fetch_add(&s->n, 1);
  return true;
}

void online_search_tell(online_search *s, size_t place, double sec) {
  atomic_store(&s->list[place].sec, sec);
}

void online_search_init(online_search *s, const gen_template *t, gen_instance *g) {
  memset(s, 0, sizeof *s);
  s->t = t;
  s->g = g;
}

void online_search_clear(online_search *s) {
  search_close(s->searcher);
  gen_space_free(s->space);
  s->searcher = NULL;
  s->space = NULL;
}
