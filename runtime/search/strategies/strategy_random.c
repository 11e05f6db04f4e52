/* strategy_random.c -- valid points in random order, each once. */
#include "history.h"
#include "strategy.h"

static bool ask(void *self, size_t *point) {
  history *h = self;
  return shuffle_next(&h->order, point);
}

const search_strategy search_random = {
    .name = "random",
    .brief = "valid points in random order",
    .nbytes = sizeof(history),
    .ask = ask,
};
