/* cover_text.h -- a portfolio for people and for machines. */
#ifndef TUNE_COVER_TEXT_H
#define TUNE_COVER_TEXT_H

#include "serve_cover.h"

/* cover_text -- the configurations, and the tree as nested questions; several lines */
void cover_text(gen_template *t, const serve_cover *c, str *out);
/* cover_json -- one object, one line; `family` and `device` as named */
void cover_json(const gen_template *t, const serve_cover *c, const char *device, str *out);

#endif
