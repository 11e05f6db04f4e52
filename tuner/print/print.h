/* print.h -- times, rates, counts and configurations in readable form, and texts to where they go. */
#ifndef PRINT_H
#define PRINT_H

#include <stdio.h>

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
/* config_words -- append gen_config_words of a stored configuration, with what differs from the
 * template's default first, or its text unchanged when the template no longer accepts it */
void config_words(gen_template *t, const rt_info *device, const char *problem, const char *config,
                  str *out);
/* fit_line -- shorten the line of s that begins at byte `from` and ends the text to the terminal's width;
 * nothing where standard output is no terminal */
void fit_line(str *s, size_t from);
/* style -- what makes text on a terminal bold or coloured, and `style_end` what ends it; "" where f is
 * no terminal or NO_COLOR is set */
typedef enum style_kind { STYLE_GOOD, STYLE_BAD, STYLE_NOTE } style_kind;
const char *style(FILE *f, style_kind kind);
const char *style_end(FILE *f);
/* is_terminal -- one that shows lines again and colours */
bool is_terminal(FILE *f);
/* terminal_width -- columns; 0: f is no terminal */
size_t terminal_width(FILE *f);
/* print_text -- control characters but for the colours of `style` are made visible: the text may be
 * from a database or a file of others */
void print_text(FILE *f, const char *text);
/* print_str -- the same to standard output; clears it */
void print_str(str *s);
/* print_file -- to a file; clears it. err  ERR_NOMEM  the text is incomplete;  ERR_IO */
int print_file(const char *path, str *s, err *e);

#endif
