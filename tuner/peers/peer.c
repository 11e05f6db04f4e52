/* peer.c -- the list of peers, and their shared code. */
#define _GNU_SOURCE
#include "peer.h"

#include <dlfcn.h>
#include <string.h>

static const peer_kind *const kinds[] = {
    &peer_cublas, &peer_cublas_tf32,  &peer_cub,   &peer_driver,     &peer_textbook,
    &peer_npp,    &peer_npp_advanced, &peer_cudnn, &peer_cudnn_tf32, &peer_cusparse};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- which ----------------------------------------------------------------------------------- */

static bool serves(const peer_kind *k, const gen_template *t) {
  gen_config ignored;
  if (k->config) {
    return k->config(t, 0, &ignored);
  }
  for (const char *const *f = k->families; *f; f++) {
    if (!strcmp(*f, t->name)) {
      return true;
    }
  }
  return false;
}

static int not_served(const peer_kind *k, const gen_template *t, err *e) {
  auto_str list = {0};
  str_addf(&list, k->config ? "template %s has no %s configuration" : "", t->name, k->name);
  for (const char *const *f = k->families; f && *f; f++) {
    str_addf(&list, "%s%s", f == k->families ? "" : ", ", *f);
  }
  for (size_t i = 0; i < KINDS; i++) {
    if (serves(kinds[i], t)) {
      str_addf(&list, "; for %s there is --vs %s", t->name, kinds[i]->name);
    }
  }
  return k->config ? err_set(e, ERR_USAGE, "%s", str_text(&list))
                   : err_set(e, ERR_USAGE, "%s does not support %s; it supports %s", k->name,
                             t->name, str_text(&list));
}

int peer_find(const char *name, const gen_template *t, const peer_kind **out, err *e) {
  const char *names[KINDS];
  for (size_t i = 0; i < KINDS; i++) {
    names[i] = kinds[i]->name;
    if (!strcmp(names[i], name)) {
      *out = kinds[i];
      return serves(kinds[i], t) ? 0 : not_served(kinds[i], t, e);
    }
  }
  return err_unknown(e, "no peer", name, names, KINDS);
}

/* ---- the device ------------------------------------------------------------------------------ */

void *peer_driver_symbol(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void *symbol = driver ? dlsym(driver, name) : NULL;
  if (driver) {
    dlclose(driver); /* the device keeps it */
  }
  return symbol;
}

/* The libraries use the calling thread's current context, which must be the device's. */
static int make_current(const rt_device *d, err *e) {
  int (*get)(int *, int) = NULL, (*retain)(void **, int) = NULL, (*set)(void *) = NULL;
  int device;
  void *context;
  *(void **)&get = peer_driver_symbol("cuDeviceGet");
  *(void **)&retain = peer_driver_symbol("cuDevicePrimaryCtxRetain");
  *(void **)&set = peer_driver_symbol("cuCtxSetCurrent");
  if (!get || !retain || !set || get(&device, d->info.ordinal) || retain(&context, device) ||
      set(context)) {
    return err_set(e, ERR_DEVICE, "cannot make the context of %s current for the peer",
                   d->info.name);
  }
  return 0;
}

int peer_prepare(const peer_kind *k, const gen_template *t, const gen_problem *p, size_t n,
                 rt_device *d, err *e) {
  if (k->config) {
    return 0;
  }
  if (d->info.modelled) {
    return err_set(e, ERR_USAGE, "%s needs a GPU; this is %s", k->name, d->info.name);
  }
  TRY(make_current(d, e));
  return k->prepare ? k->prepare(t, p, n, &d->info, e) : 0;
}

int peer_open(const peer_kind *k, const gen_template *t, const gen_problem *p, rt_device *d,
              peer *out, err *e) {
  *out = (peer){0};
  return k->open(t, p, d, out, e);
}

int peer_turn(const peer_kind *k, const gen_template *t, const gen_problem *p, rt_device *d,
              peer *x, err *e) {
  if (x->self && x->turn) {
    return x->turn(x->self, t, p, e);
  }
  peer_close(x);
  return peer_open(k, t, p, d, x, e);
}

void peer_close(peer *p) {
  if (p->self) {
    p->close(p->self);
  }
  *p = (peer){0};
}

/* ---- what they ask of a template ------------------------------------------------------------- */

static bool is_among(const char *names, const char *name) {
  size_t n = strlen(name);
  for (const char *p = names; (p = strstr(p, name)); p += n) {
    if ((p == names || p[-1] == ' ') && (p[n] == 0 || p[n] == ' ')) {
      return true;
    }
  }
  return false;
}

static const gen_value *field(const gen_template *t, const gen_problem *p, const char *names) {
  for (size_t i = 0; i < t->n_fields; i++) {
    if (is_among(names, t->fields[i].name)) {
      return &p->values[i];
    }
  }
  return NULL;
}

int64_t peer_number(const gen_template *t, const gen_problem *p, const char *names, int64_t other) {
  const gen_value *v = field(t, p, names);
  return v && !v->s ? v->i : other;
}

const char *peer_word(const gen_template *t, const gen_problem *p, const char *names) {
  const gen_value *v = field(t, p, names);
  return v ? v->s : NULL;
}

int peer_argument(const gen_template *t, const char *names, size_t *out, err *e) {
  for (*out = 0; *out < t->n_args; (*out)++) {
    if (is_among(names, t->args[*out].name)) {
      return 0;
    }
  }
  return err_set(e, ERR_USAGE, "template %s has no argument %s, which the peer needs", t->name,
                 names);
}

int peer_symbols(void *library, const char *what, const peer_symbol *s, size_t n, err *e) {
  for (size_t i = 0; i < n; i++) {
    *(void **)s[i].to = dlsym(library, s[i].name);
    if (!*(void **)s[i].to) {
      return err_set(e, ERR_NOTFOUND, "this %s lacks the function %s", what, s[i].name);
    }
  }
  return 0;
}
