/* serve_former.h -- a database whose rows may be of former texts of the templates. */
#ifndef SERVE_FORMER_H
#define SERVE_FORMER_H

#include "db.h"
#include "gen.h"

/* serve_follow -- after db_open: rows under digests that the built-in templates had before count as
 * theirs (gen_former_list, db_follow) */
int serve_follow(db *d, err *e);

#endif
