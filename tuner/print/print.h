/* print.h -- times, rates, counts and configurations in readable form, and texts to where they go. */
#ifndef PRINT_H
#define PRINT_H

#include "err.h"
#include "run.h"
#include "str.h"

/* format_sec -- "12.3 us" */
void format_sec(str *s, double sec);
/* format_rate -- "46.1 TFLOP/s, 69 % of peak" or "3.92 TB/s, 82 % of peak", by the peak that bounds
 * it */
void format_rate(str *s, const rt_info *info, double flops, double bytes, double sec);
/* rate_floor -- lower bound of the time by the device's peaks; *compute: by arithmetic, not
 * bandwidth */
double rate_floor(const rt_info *info, double flops, double bytes, bool *compute);
void format_count(str *s, double n); /* "20,482" */
/* config_words -- append gen_config_words of a stored configuration, or its text unchanged when the
 * template no longer accepts it */
void config_words(gen_template *t, const rt_info *device, const char *problem, const char *config,
                  str *out);
/* print_str -- to standard output; clears it */
void print_str(str *s);
/* print_file -- to a file; clears it. err  ERR_NOMEM  the text is incomplete;  ERR_IO */
int print_file(const char *path, str *s, err *e);

#endif
