#include "seeds.h"

#include "serve_choose.h"
#include "serve_presets.h"
#include "context.h"
#include "session.h"

static void add(tune_session *s, const gen_config *c, size_t *points, size_t *n) {
  size_t point;
  if (!gen_space_find(s->space, c, &point)) {
    return;
  }
  for (size_t i = 0; i < *n; i++) {
    if (points[i] == point) {
      return;
    }
  }
  points[(*n)++] = point;
}

static int add_neighbours(tune_session *s, serve_choose *choose, size_t *points, size_t *n,
                          err *e) {
  serve_pick pick;
  int rc = 0;
  while (*n < SEEDS_MOST && !(rc = serve_choose_next(choose, &pick, e))) {
    add(s, &pick.config, points, n);
  }
  return rc == ERR_NOTFOUND ? 0 : rc;
}

/* libtuned's own search for a kernel, over this session's database; the device is only asked for
 * its limits, so the measuring process can keep it. */
int seeds_find(tune_session *s, size_t *points, size_t *n, err *e) {
  static const gen_file none[] = {{NULL, NULL, 0}};
  rt_device limits = {.info = s->m.info};
  serve here = {.device = &limits,
                .db = s->db,
                .presets = s->o.start == TUNE_START_ALL ? serve_presets : none};
  serve_known known = {0};
  serve_choose choose = {.s = &here,
                         .t = s->t,
                         .p = &s->p,
                         .g = s->g,
                         .problem = str_text(&s->problem),
                         .known = &known,
                         .memory = &s->memory};
  *n = 0;
  points[(*n)++] = s->default_point;
  if (s->o.start == TUNE_START_NONE) {
    return 0;
  }
  rt_device_key(&s->m.info, &here.device_key);
  int rc = add_neighbours(s, &choose, points, n, e);
  serve_known_clear(&known);
  str_clear(&here.device_key);
  return rc;
}
