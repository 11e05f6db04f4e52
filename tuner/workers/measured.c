#include "measured.h"

#include <string.h>

void measured_put_image(str *s, const measure_image *image) {
  wire_put_bytes(s, &image->config, sizeof image->config);
  wire_put_bytes(s, image->bytes, image->n);
}

void measured_get_image(wire_reader *r, measure_image *image) {
  size_t n;
  const void *config = wire_get_bytes(r, &n);
  if (n == sizeof image->config) {
    memcpy(&image->config, config, n);
  } else {
    r->failed = true;
  }
  image->bytes = wire_get_bytes(r, &image->n);
}

void measured_put(str *s, const measured *m) {
  wire_put_u64(s, m->status);
  wire_put_err(s, &m->why);
  wire_put_f64(s, m->error);
  wire_put_bytes(s, &m->times, sizeof m->times);
  wire_put_bytes(s, &m->health, sizeof m->health);
  wire_put_u64(s, m->retaken);
  wire_put_f64(s, m->energy_j);
  wire_put_f64(s, m->load_sec);
  wire_put_f64(s, m->check_sec);
  wire_put_f64(s, m->time_sec);
  wire_put_u64(s, m->dead);
}

void measured_get(wire_reader *r, measured *m) {
  size_t n;
  m->status = (db_status)wire_get_u64(r);
  wire_get_err(r, &m->why);
  m->error = wire_get_f64(r);
  const void *times = wire_get_bytes(r, &n);
  if (n == sizeof m->times) {
    memcpy(&m->times, times, n);
  }
  const void *health = wire_get_bytes(r, &n);
  if (n == sizeof m->health) {
    memcpy(&m->health, health, n);
  }
  m->retaken = (uint32_t)wire_get_u64(r);
  m->energy_j = wire_get_f64(r);
  m->load_sec = wire_get_f64(r);
  m->check_sec = wire_get_f64(r);
  m->time_sec = wire_get_f64(r);
  m->dead = wire_get_u64(r);
}
