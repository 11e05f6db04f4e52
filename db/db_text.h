/* db_text.h -- the best results as text, one line each, for text tools to sort, compare and merge;
 * the format of presets.
 *
 * A file starts with the line DB_TEXT_HEAD; after it, empty lines and lines that start with # are
 * comments. A result has sixteen columns separated by tabs; the header that db_text_head writes
 * names them. In a column, control characters and % are written as %XX. Lines are not trusted: a
 * value out of range is an error that names the column.
 *
 * A closing comment holds the count and a digest of the results before it, in any order:
 *
 *   # end: 12 results, digest 0123456789abcdef
 *
 * It covers the results since the previous closing line, so a concatenation of closed files is a
 * closed file. Lines collected by hand need none. */
#ifndef DB_TEXT_H
#define DB_TEXT_H

#include "db.h"
#include "str.h"

#define DB_TEXT_HEAD "# autotune results 1"
#define DB_TEXT_END "# end: "

typedef enum db_kind {
  DB_KIND_FINAL,
  DB_KIND_SCREEN,
  DB_KIND_MODEL,
  DB_KIND_PORTFOLIO, /* a portfolio: config holds its text, problem the family alone; seconds are 1
                      * and launches 0, since its times belong to its sizes */
  DB_KINDS
} db_kind;

typedef struct db_line {
  db_device device;
  db_template template; /* path: of the template file when it was tuned */
  const char *problem, *config;
  db_kind kind; /* measured in finals or in screening, or modelled */
  double sec, spread;
  int64_t launches;
  int driver, nvrtc; /* versions, 13000; 0: not known */
  const char *when;  /* 2025-01-31T12:00:00Z */
} db_line;

/* db_text_head -- append the first lines of a file */
void db_text_head(str *out);
/* db_text_write -- append one result and its newline */
void db_text_write(const db_line *l, str *out);
/* db_text_end -- append the closing line of the file that *out holds */
void db_text_end(str *out);
/* db_text_check -- check the closing lines of a whole file.
 *   out  *closed  only comments follow the last closing line
 *        *number  of the line that is wrong
 *   err  ERR_USAGE  results are missing, added or changed */
int db_text_check(const char *text, size_t n, bool *closed, size_t *number, err *e);
/* db_text_read -- one line without its newline; n bytes of any content.
 *   out  *l     texts in the arena; each begins as far behind device.key as in the line
 *        *none  a comment
 *   err  ERR_USAGE  the column and what is wrong with it */
int db_text_read(const char *line, size_t n, arena *a, db_line *l, bool *none, err *e);

/* db_lines -- the best of every matching problem, by family, device and problem, then the
 * portfolios; an argument of NULL matches any. Strings in the arena */
int db_lines(db *d, const char *family, const char *device_key, arena *a, db_line **rows, size_t *n,
             err *e);
/* db_line_put -- store the line as a trial with its time, unless the database has an equal or
 * better measurement of the configuration */
int db_line_put(db *d, const db_line *l, bool *stored, err *e);

#endif
