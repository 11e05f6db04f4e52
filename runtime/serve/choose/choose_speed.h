/* choose_speed.h -- how fast a result is, relative to the least time that the peak rates of its
 * device allow: so results of different problems can be compared. */
#ifndef CHOOSE_SPEED_H
#define CHOOSE_SPEED_H

#include "choose_state.h"

/* choose_floor -- the least time of the problem that is being served; 0: not known */
double choose_floor(serve_choose *c, const gen_config *config);
/* choose_slowness -- a row's time over the least time of its own problem on its device; 0: not
 * known
 *   in  config  NULL: the row's */
double choose_slowness(serve_choose *c, serve_known_row *row, const gen_config *config);
/* choose_lateness -- the same with a launch's overhead in the least time, to compare small problems
 * with large */
double choose_lateness(serve_choose *c, serve_known_row *row, const gen_config *config);

/* choose_text -- of a row, as a C string in c's arena; NULL: out of memory */
const char *choose_text(serve_choose *c, const serve_known_text *text);
/* choose_parse_config -- false: the template does not accept it */
bool choose_parse_config(serve_choose *c, const serve_known_row *row, gen_config *out);

#endif
