#include "chooser.h"

double chooser_feature_value(const chooser_feature *f, const int64_t *values) {
  const double a = (double)values[f->a], b = (double)values[f->b], c = (double)values[f->c];
  switch (f->kind) {
  case CHOOSER_RATIO: return a / (b > 1 ? b : 1);
  case CHOOSER_PRODUCT: return a * b;
  case CHOOSER_VOLUME: return a * b * c;
  default: return a;
  }
}

bool chooser_feature_holds(const chooser_feature *f, double below, const int64_t *values) {
  return f->kind == CHOOSER_CHOICE ? values[f->a] == f->choice
                                   : chooser_feature_value(f, values) < below;
}

const chooser_node *chooser_leaf(const chooser_node *nodes, const int64_t *values) {
  size_t i = 0;
  while (nodes[i].no) {
    i = chooser_feature_holds(&nodes[i].feature, nodes[i].below, values) ? i + 1 : nodes[i].no;
  }
  return &nodes[i];
}
