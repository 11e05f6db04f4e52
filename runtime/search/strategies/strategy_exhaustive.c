/* strategy_exhaustive.c -- every valid point, in declaration order. */
#include "history.h"
#include "strategy.h"

typedef struct exhaustive {
  history h;
  size_t next;
} exhaustive;

static bool ask(void *self, size_t *point) {
  exhaustive *x = self;
  *point = x->next;
  return x->next < x->h.space->n && x->next++ < x->h.space->n;
}

const search_strategy search_exhaustive = {
    .name = "exhaustive",
    .brief = "every valid point, in declaration order",
    .nbytes = sizeof(exhaustive),
    .ask = ask,
};
