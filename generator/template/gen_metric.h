/* gen_metric.h -- the metrics that a template declares, while it is read. */
#ifndef GEN_METRIC_H
#define GEN_METRIC_H

#include "gen_reader.h"

/* gen_read_metrics -- the key `metrics` of the table here; flops and bytes are read before */
void gen_read_metrics(gen_reader *r);

#endif
