/* db_text.h -- the best results as text: one line each, to be read, sorted, compared and merged
 * with the tools that text has; what presets are shipped as.
 *
 * A file starts with the line DB_TEXT_HEAD; after it, empty lines and those that start with # are
 * comments. A result is sixteen columns separated by tabs (the header that db_text_head writes
 * names them). In the texts of a column, a control character or % is written as %XX. Nothing in a
 * line is trusted: whatever is out of range is an error that names the column.
 *
 * Behind its results a file is closed by a comment that counts them and digests them, in whatever
 * order they stand:
 *
 *   # end: 12 results, digest 0123456789abcdef
 *
 * It is about the results since the line of this kind before it, so that closed files one behind
 * the other are a closed file. Lines put together from elsewhere need none.
 */
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
  DB_KIND_PORTFOLIO, /* a portfolio: its text is the line's config, the problem the family alone;
                        one second and no launches, since its times are those of its sizes */
  DB_KINDS
} db_kind;

typedef struct db_line {
  db_device device;
  db_template template; /* path: of the file it was read from when tuned */
  const char *problem, *config;
  db_kind kind; /* measured in finals, in a first look, or modelled */
  double sec, spread;
  int64_t launches;
  int driver, nvrtc; /* versions, 13000; 0: not known */
  const char *when;  /* 2025-01-31T12:00:00Z */
} db_line;

/* db_text_head -- append the lines a file starts with */
void db_text_head(str *out);
/* db_text_write -- append one result, with its newline */
void db_text_write(const db_line *l, str *out);
/* db_text_end -- append the line that closes the file, which is in *out as far as it is written */
void db_text_end(str *out);
/* db_text_check -- of a whole file: does every closing line tell of the results before it?
 *   out  *closed  nothing but comments is behind the last of them
 *        *number  of the line that is wrong
 *   err  ERR_USAGE  results are missing, more or others */
int db_text_check(const char *text, size_t n, bool *closed, size_t *number, err *e);
/* db_text_read -- one line, without its newline; n bytes, which may hold anything.
 *   out  *l     texts in the arena
 *        *none  nothing but a comment
 *   err  ERR_USAGE  what is wrong with which column */
int db_text_read(const char *line, size_t n, arena *a, db_line *l, bool *none, err *e);

/* db_lines -- the best of every problem that matches, by family, device and problem, and after all
 * of them the portfolios; each argument may be NULL for any. Strings in the arena */
int db_lines(db *d, const char *family, const char *device_key, arena *a, db_line **rows, size_t *n,
             err *e);
/* db_line_put -- store it as a trial with its times, unless the database knows this configuration
 * better already: *stored */
int db_line_put(db *d, const db_line *l, bool *stored, err *e);

#endif
