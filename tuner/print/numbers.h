/* numbers.h -- times, rates and counts in readable form. */
#ifndef PRINT_NUMBERS_H
#define PRINT_NUMBERS_H

#include "device.h"
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

#endif
