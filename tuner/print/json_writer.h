/* json_writer.h -- write JSON member by member. Commas are placed automatically; a name of NULL
 * writes an element of an array, or the outermost value. */
#ifndef PRINT_JSON_WRITER_H
#define PRINT_JSON_WRITER_H

#include "str.h"

void jw_open(str *s, const char *name); /* { */
/* jw_event -- open the object of a line, whose "event" says what it holds: see autotune.schema.json */
void jw_event(str *s, const char *event);
void jw_close(str *s);
/* jw_end_line -- close the outermost object of a line */
void jw_end_line(str *s);
void jw_open_list(str *s, const char *name); /* [ */
void jw_close_list(str *s);

void jw_text(str *s, const char *name, const char *text);
void jw_bool(str *s, const char *name, bool v);
void jw_integer(str *s, const char *name, int64_t v);
/* jw_real -- with this number of significant digits; null when it is not finite */
void jw_real(str *s, const char *name, int digits, double v);
/* jw_fixed -- with this number of digits after the point */
void jw_fixed(str *s, const char *name, int decimals, double v);
/* jw_seconds -- "seconds", or "modelled_seconds" of the emulated device */
void jw_seconds(str *s, bool modelled, double sec);
/* jw_member -- the name alone; the value follows as text */
void jw_member(str *s, const char *name);

#endif
