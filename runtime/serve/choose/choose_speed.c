#include "choose_state.h"

#include <math.h>

#include "run.h"

static const double LAUNCH_SEC = 4e-6;

/* The least time that the peak rates of a device allow, `sms` and `bandwidth` against ours. */
static double floor_of(const serve_choose *c, const gen_plan *plan, double sms, double bandwidth) {
  const rt_info *info = c->from->device;
  const double compute = plan->flops / (rt_peak_flops(info) * sms);
  const double memory = plan->bytes / (rt_peak_bandwidth(info) * bandwidth);
  return fmax(compute, memory);
}

static double floor_at(serve_choose *c, const gen_problem *p, const gen_config *config, double sms,
                       double bandwidth) {
  const gen_plan *plan;
  gen_instance *g;
  gen_number limits[RT_NUMBERS];
  double sec = 0;
  rt_numbers(c->from->device, limits);
  if (!gen_instance_new(c->t, p, limits, RT_NUMBERS, &g, NULL)) {
    sec = gen_plan_make(g, config, c->memory, &plan, NULL) ? 0 : floor_of(c, plan, sms, bandwidth);
    gen_instance_free(g);
  }
  return sec;
}

double choose_floor(serve_choose *c, const gen_config *config) {
  const gen_plan *plan;
  return gen_plan_make(c->g, config, c->memory, &plan, NULL) ? 0 : floor_of(c, plan, 1, 1);
}

const char *choose_text(serve_choose *c, const serve_known_text *text) {
  return arena_text_n(c->memory, text->p, text->n);
}

static bool parse_problem(serve_choose *c, const serve_known_row *row, gen_problem *out) {
  const char *text = choose_text(c, &row->problem);
  return text && !gen_problem_parse(c->t, text, out, NULL);
}

bool choose_parse_config(serve_choose *c, const serve_known_row *row, gen_config *out) {
  const char *text = choose_text(c, &row->config);
  return text && !gen_config_parse(c->t, text, out, NULL);
}

double choose_slowness(serve_choose *c, serve_known_row *row, const gen_config *config) {
  gen_problem p;
  gen_config own;
  if (!(row->sec > 0)) {
    return 0;
  }
  if (row->floor_sec <= 0 && parse_problem(c, row, &p) &&
      (config || choose_parse_config(c, row, &own))) {
    row->floor_sec = floor_at(c, &p, config ? config : &own, row->sms, row->bandwidth);
  }
  return row->floor_sec > 0 ? row->sec / row->floor_sec : 0;
}

double choose_lateness(serve_choose *c, serve_known_row *row, const gen_config *config) {
  return choose_slowness(c, row, config) > 0 ? row->sec / (row->floor_sec + LAUNCH_SEC) : 0;
}
