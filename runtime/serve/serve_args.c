#include "serve_args.h"

#include <string.h>

void serve_args_describe(const gen_template *t, const gen_data *data, serve_need *needs,
                         serve_addresses *addresses) {
  addresses->n = 0;
  for (size_t i = 0; i < t->n_args; i++) {
    const gen_datum *d = &data->args[i];
    if (t->args[i].dir == GEN_SCALAR) {
      needs[i] = t->args[i].value ? SERVE_FIXED : SERVE_GIVEN;
    } else if (!d->count || d->optional) {
      needs[i] = SERVE_GIVEN;
    } else {
      needs[i] = SERVE_ADDRESS;
      addresses->list[addresses->n++] =
          (serve_address){.index = (uint8_t)i, .stray = (uint8_t)(dtype_nbytes(d->type) - 1)};
    }
  }
}

bool serve_args_nothing(const gen_template *t, const gen_data *data) {
  size_t n = 0;
  for (size_t i = 0; i < t->n_args; i++) {
    const bool is_output = t->args[i].dir == GEN_OUT || t->args[i].dir == GEN_INOUT;
    if (is_output && data->args[i].count) {
      return false;
    }
    n += is_output;
  }
  return n > 0;
}

static int refuse(const gen_template *t, size_t i, const char *what, err *e) {
  return err_set(e, ERR_USAGE, "%s: argument %s %s", t->name, t->args[i].name, what);
}

int serve_args_missing(const gen_template *t, const serve_need *needs, const void *const *args,
                       err *e) {
  if (!args) {
    return err_set(e, ERR_USAGE, "%s: args is NULL; give a pointer per argument", t->name);
  }
  for (size_t i = 0; i < t->n_args; i++) {
    if (needs[i] != SERVE_FIXED && !args[i]) {
      return refuse(t, i, "is missing", e);
    }
  }
  return 0;
}

int serve_addresses_refuse(const gen_template *t, const serve_addresses *addresses,
                           const void *const *args, err *e) {
  for (size_t i = 0; i < addresses->n; i++) {
    const serve_address *a = &addresses->list[i];
    const rt_ptr at = serve_address_of(a, args);
    if (!at || at & a->stray) {
      return refuse(t, a->index, at ? "is not aligned to its elements" : "is a NULL address", e);
    }
  }
  return 0;
}

int serve_args_data(const gen_template *t, const serve_need *needs, gen_instance *g,
                    const void *const *args, arena *a, const gen_data **data, err *e) {
  dtype type;
  uint64_t *bits = ARENA_ARRAY(a, uint64_t, t->n_args + 1);
  if (!bits) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < t->n_args; i++) {
    if (needs[i] == SERVE_GIVEN && t->args[i].dir == GEN_SCALAR && args[i] &&
        dtype_parse(t->args[i].type, &type)) {
      memcpy(&bits[i], args[i], dtype_nbytes(type));
    }
  }
  return gen_data_given(g, bits, a, data, e);
}
