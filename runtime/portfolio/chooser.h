/* chooser.h -- the decision tree of a portfolio: from a problem's fields to a leaf.
 *
 * chooser.h, chooser.c, chooser_model.h and chooser_model.c are plain C99, accepted as C++ too, and
 * include nothing but the standard library. libtuned compiles them; an exported portfolio contains
 * their text, with CHOOSER_FN defined as static inline, and tables as initialised structs. */
#ifndef CHOOSER_H
#define CHOOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef CHOOSER_FN
#define CHOOSER_FN
#endif

typedef enum chooser_feature_kind {
  CHOOSER_FIELD,
  CHOOSER_RATIO,
  CHOOSER_PRODUCT,
  CHOOSER_VOLUME, /* the product of three fields */
  CHOOSER_CHOICE  /* a field that is a name has this value */
} chooser_feature_kind;

typedef struct chooser_feature {
  chooser_feature_kind kind;
  uint8_t a, b, c; /* fields */
  int64_t choice;  /* index of the name */
} chooser_feature;

/* Nodes stand in an array, a node before those below it. An inner node leads to the next one where
 * its feature is less than `below`, or is the choice, else to number `no`. */
typedef struct chooser_node {
  chooser_feature feature;
  double below;
  size_t no;               /* 0: a leaf */
  double expected, worst;  /* leaf: the share of the least time that is lost there */
  const uint16_t *order;   /* leaf: configurations, or variants, best first */
  size_t n_order, n_short; /* n_short: the models are asked about this many of them; 0: about all */
} chooser_node;

/* values: of the problem's fields in order; of a field that is a name, its index */
CHOOSER_FN double chooser_feature_value(const chooser_feature *f, const int64_t *values);
CHOOSER_FN bool chooser_feature_holds(const chooser_feature *f, double below,
                                      const int64_t *values);
CHOOSER_FN const chooser_node *chooser_leaf(const chooser_node *nodes, const int64_t *values);

#endif
