/* print.h -- times, rates and counts in readable form, and texts to where they go. */
#ifndef PRINT_H
#define PRINT_H

#include "device.h"
#include "err.h"
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
/* print_str -- to standard output; clears it */
void print_str(str *s);
/* print_file -- to a file; clears it. err  ERR_NOMEM  the text is incomplete;  ERR_IO */
int print_file(const char *path, str *s, err *e);

#endif
