/* test_db_merge.c -- merging databases in any order, grouping and number gives the same facts and
 * the same export: random histories of five hosts, merged by random schedules.
 *
 * HISTORIES=5000 in the environment runs more of them, SEED=7 begins with another one. */
#define _GNU_SOURCE
#include "db_fixture.h"

#include <math.h>

#include "db_sql.h"
#include "db_text.h"
#include "random.h"

enum { HOSTS = 5, OPERATIONS = 24, SCHEDULES = 2, REPEATED = 2, HISTORIES = 60 };

static uint64_t seed;

static int draw(int n) {
  return (int)random_below(&seed, (uint32_t)n);
}

/* ---- the clock: SQLite's usual files with a time of ours ------------------------------------- */

static int64_t now = 1700000000;

static int read_clock(sqlite3_vfs *v, sqlite3_int64 *ms) {
  (void)v;
  *ms = now * 1000 + INT64_C(210866760000000); /* of a Julian day 2440587.5, which is 1970 */
  return SQLITE_OK;
}

static void install_clock(void) {
  static sqlite3_vfs layer;
  layer = *sqlite3_vfs_find(NULL);
  layer.zName = "clock";
  layer.xCurrentTimeInt64 = read_clock;
  layer.pNext = NULL;
  assert_int_equal(sqlite3_vfs_register(&layer, 1), SQLITE_OK);
}

/* ---- a few devices, templates, problems and configurations, so that histories meet ----------- */

static const db_device devices[] = {
    {.key = "H200 sm_90 132", .name = "NVIDIA H200", .cc = 90, .sms = 132},
    {.key = "L4 sm_89 58", .name = "NVIDIA L4", .cc = 89, .sms = 58}};

#define FORMER "0123456789abcdef0123456789abcdef"
#define PRESENT "fedcba9876543210fedcba9876543210"
static const char *const digests[] = {FORMER, PRESENT, "00112233445566778899aabbccddeeff"};
static const char *const paths[] = {"saxpy.lua", "/usr/share/saxpy.lua"};
static const char *const problems[] = {"saxpy n=1000", "saxpy n=1000 bits=any", "saxpy n=2000"};
static const char *const configs[] = {"OLD=1", "NEW=1", "NEW=2"};
static const char *const reasons[] = {NULL, "it was", "so it is"};
static const char *const images[] = {NULL, "00000000000000000000000000000abc",
                                     "00000000000000000000000000000abd"};
static const char *const whens[] = {"2023-11-14T22:13:21Z", "2023-11-14T22:13:22Z"};
#define PICK(list) list[draw(sizeof(list) / sizeof *(list))]

/* Configurations of the former digest have another name in the present one. */
static int rename_config(void *self, const char *family, const char *config, str *out) {
  (void)self, (void)family;
  if (strncmp(config, "OLD=", 4) != 0) {
    return 1;
  }
  str_addf(out, "NEW=%s", config + 4);
  return 0;
}

/* Problems have another field, so that two may become one. */
static int rename_problem(void *self, const char *family, const char *problem, str *out) {
  (void)self, (void)family;
  str_addf(out, "%s%s", problem, strstr(problem, " bits=") ? "" : " bits=any");
  return 0;
}

static void follow(scratch *s, db *d) {
  static const db_former list[] = {{"saxpy", FORMER, PRESENT}};
  const db_formers formers = {list, 1, rename_config, rename_problem, NULL};
  OK(s, db_follow(d, &formers, &s->e));
}

static db_template draw_template(void) {
  return (db_template){
      .family = "saxpy", .hash = PICK(digests), .path = PICK(paths), .version = 1 + draw(2)};
}

static double draw_sec(void) {
  return 1e-3 * (1 + draw(3));
}

/* ---- histories ------------------------------------------------------------------------------- */

typedef struct world {
  scratch *s;
  db *hosts[HOSTS];
} world;

static const char *file_of(world *w, const char *kind, int i) {
  return arena_format(&w->s->a, "%s/%s%d.db", w->s->folder, kind, i);
}

static void put_ids(world *w, db *d, int64_t *template_id, int64_t *device_id) {
  const db_template t = draw_template();
  OK(w->s, db_template_put(d, &t, template_id, &w->s->e));
  OK(w->s, db_device_put(d, &PICK(devices), device_id, &w->s->e));
}

static int64_t put_some_trial(world *w, db *d) {
  int64_t template_id, device_id, id;
  db_trial t = {.problem = PICK(problems),
                .config = PICK(configs),
                .status = draw(4) ? DB_OK : (db_status)draw(DB_STATUSES),
                .reason = PICK(reasons),
                .image = PICK(images),
                .error = draw(2) ? 0.5 : NAN};
  put_ids(w, d, &template_id, &device_id);
  if (t.image) {
    const db_image image = image_of(t.image, "elf", 3);
    OK(w->s, db_image_put(d, &image, &w->s->e));
  }
  OK(w->s, db_trial_put(d, template_id, device_id, &t, &id, &w->s->e));
  return id;
}

static void put_some_sample(world *w, int host) {
  db *d = w->hosts[host];
  db_sample sample = sample_of(draw(2) ? DB_FINAL : DB_SCREEN, draw_sec());
  sample.launches = 1 + draw(100);
  OK(w->s, db_sample_put(d, put_some_trial(w, d), &sample, &w->s->e));
}

static void put_some_estimate(world *w, int host) {
  db *d = w->hosts[host];
  const int64_t trial = put_some_trial(w, d);
  if (draw(2)) {
    OK(w->s, db_preparation_put(d, trial, draw_sec(), &w->s->e));
  }
  OK(w->s, db_estimate_put(d, trial, "emu:h200 1", draw_sec(), &w->s->e));
}

static void put_some_effort(world *w, int host) {
  int64_t template_id, device_id;
  put_ids(w, w->hosts[host], &template_id, &device_id);
  OK(w->s,
     db_effort_add(w->hosts[host], template_id, device_id, PICK(problems), 1 + draw(9), &w->s->e));
}

static void put_some_portfolio(world *w, int host) {
  static const char *const texts[] = {"portfolio 1\n", "portfolio 2\n", "portfolio 3\n"};
  int64_t template_id, device_id;
  bool stored;
  put_ids(w, w->hosts[host], &template_id, &device_id);
  OK(w->s, db_portfolio_put(w->hosts[host], template_id, device_id, PICK(texts),
                            draw(2) ? NULL : PICK(whens), &stored, &w->s->e));
}

static void import_line(world *w, int host) {
  bool stored;
  const db_line l = {.device = PICK(devices),
                     .template = draw_template(),
                     .problem = PICK(problems),
                     .config = PICK(configs),
                     .kind = (db_kind)draw(DB_KIND_PORTFOLIO),
                     .sec = draw_sec(),
                     .launches = draw(5),
                     .driver = 13000,
                     .when = PICK(whens)};
  OK(w->s, db_line_put(w->hosts[host], &l, &stored, &w->s->e));
}

static void merge_another(world *w, int host) {
  OK(w->s, db_merge(w->hosts[host], db_path(w->hosts[draw(HOSTS)]), &w->s->e));
}

static void follow_host(world *w, int host) {
  follow(w->s, w->hosts[host]);
}

static void prune(world *w, int host) {
  int64_t n;
  OK(w->s, db_prune(w->hosts[host], 1, &n, &w->s->e));
}

static void copy_file(scratch *s, const char *from, const char *to) {
  auto_str bytes = {0};
  OK(s, file_read(from, 1 << 24, &bytes, &s->e));
  FILE *f = fopen(to, "wb"); /* not file_write: no need to wait for the disk */
  assert_int_equal(fwrite(bytes.p, 1, bytes.n, f), bytes.n);
  assert_int_equal(fclose(f), 0);
}

/* A database without facts; making one is slow. */
static const char *make_empty(world *w) {
  db *d;
  const char *empty = file_of(w, "empty", 0);
  if (access(empty, R_OK)) {
    OK(w->s, db_open(empty, DB_WRITE, &d, &w->s->e));
    db_close(d);
  }
  return empty;
}

/* A database of before facts had keys. */
static const char *make_older(world *w) {
  auto_str sql = {0};
  const char *older = file_of(w, "older", 0);
  if (access(older, R_OK)) {
    OK(w->s, file_read("tests/fixtures/schema_4.sql", 1 << 20, &sql, &w->s->e));
    run_sql(older, str_text(&sql));
  }
  return older;
}

/* Some hosts begin with copies of the older one. */
static void make_hosts(world *w) {
  const char *empty = make_empty(w), *older = make_older(w);
  for (int i = 0; i < HOSTS; i++) {
    char sql[80];
    const bool anew = draw(5) > 0;
    snprintf(sql, sizeof sql, "UPDATE host SET key = '%032x' WHERE id = 1", i + 1);
    copy_file(w->s, anew ? empty : older, file_of(w, "host", i));
    run_sql(file_of(w, "host", i), anew ? sql : "");
  }
}

static void open_host(world *w, int host) {
  OK(w->s, db_open(file_of(w, "host", host), DB_WRITE, &w->hosts[host], &w->s->e));
}

static void reopen(world *w, int host) {
  db_close(w->hosts[host]);
  open_host(w, host);
}

/* From now on the host has a copy of another one's file. */
static void take_a_copy(world *w, int host) {
  const int from = draw(HOSTS);
  if (from != host) {
    db_close(w->hosts[host]);
    db_close(w->hosts[from]);
    copy_file(w->s, file_of(w, "host", from), file_of(w, "host", host));
    open_host(w, from);
    open_host(w, host);
  }
}

static void (*const operations[])(world *w, int host) = {put_some_sample,   put_some_sample,
                                                         put_some_sample,   put_some_sample,
                                                         put_some_estimate, put_some_estimate,
                                                         import_line,       import_line,
                                                         put_some_effort,   put_some_portfolio,
                                                         merge_another,     merge_another,
                                                         follow_host,       reopen,
                                                         take_a_copy,       prune};

/* Clocks differ, and go back at times. */
static void live(world *w) {
  make_hosts(w);
  for (int i = 0; i < HOSTS; i++) {
    open_host(w, i);
  }
  for (int i = 0; i < OPERATIONS; i++) {
    now = 1700000000 + draw(4);
    PICK(operations)(w, draw(HOSTS));
  }
  for (int i = 0; i < HOSTS; i++) {
    db_close(w->hosts[i]);
  }
}

/* ---- schedules ------------------------------------------------------------------------------- */

/* Merges the copy `from` into the copy `to`. */
static void merge(world *w, db *copies[HOSTS], int from, int to) {
  OK(w->s, db_merge(copies[to], db_path(copies[from]), &w->s->e));
  if (!draw(4)) {
    follow(w->s, copies[to]);
  }
}

/* Merges copies of the hosts' files in a random order and grouping, some of them again, until one
 * has all. */
static db *merge_all(world *w) {
  int left[HOSTS] = {0, 1, 2, 3, 4};
  db *copies[HOSTS];
  for (int i = 0; i < HOSTS; i++) {
    const char *path = file_of(w, "copy", i);
    copy_file(w->s, file_of(w, "host", i), path);
    OK(w->s, db_open(path, DB_WRITE, &copies[i], &w->s->e));
  }
  for (int i = 0; i < REPEATED; i++) {
    merge(w, copies, draw(HOSTS), draw(HOSTS));
  }
  for (int n = HOSTS; n > 1; n--) {
    const int from = draw(n);
    const int merged = left[from];
    left[from] = left[n - 1];
    merge(w, copies, merged, left[draw(n - 1)]);
  }
  merge(w, copies, draw(HOSTS), left[0]);
  for (int i = 0; i < HOSTS; i++) {
    db_close(i == left[0] ? NULL : copies[i]);
  }
  follow(w->s, copies[left[0]]);
  return copies[left[0]];
}

/* Every row without the ids of the file, in order. */
static const char facts[] =
    "WITH known AS (SELECT p.id, m.hash || v.key || p.text AS text, p.at FROM problem AS p"
    " JOIN template AS m ON m.id = p.template JOIN device AS v ON v.id = p.device),"
    "tried AS (SELECT t.*, k.text || t.config AS text FROM trial AS t JOIN known AS k"
    " ON k.id = t.problem)"
    "SELECT group_concat(line, char(10)) FROM (SELECT line FROM ("
    " SELECT 'device' || quote(key) || quote(name) || cc || sms || at AS line FROM device"
    " UNION ALL SELECT 'template' || hash || family || version || path || at FROM template"
    " UNION ALL SELECT 'problem' || text || at FROM known"
    " UNION ALL SELECT 'trial' || t.text || status || quote(reason) || quote(image) || quote(error)"
    "  || at || ' ' || h.key || run || ' ' || t.sequence"
    "  FROM tried AS t JOIN host AS h ON h.id = t.host"
    " UNION ALL SELECT 'sample' || t.text || stage || median || ' ' || launches || ' ' || x.at"
    "  || ' ' || h.key || x.run || ' ' || x.sequence FROM sample AS x JOIN tried AS t"
    "  ON t.id = x.trial JOIN host AS h ON h.id = x.host"
    " UNION ALL SELECT 'estimate' || t.text || model || sec || ' ' || x.at"
    "  || ' ' || h.key || x.run || ' ' || x.sequence FROM estimate AS x JOIN tried AS t"
    "  ON t.id = x.trial JOIN host AS h ON h.id = x.host"
    " UNION ALL SELECT 'effort' || k.text || h.key || run || ' ' || sec FROM effort AS x"
    "  JOIN known AS k ON k.id = x.problem JOIN host AS h ON h.id = x.host"
    " UNION ALL SELECT 'portfolio' || m.hash || v.key || o.text || o.at FROM portfolio AS o"
    "  JOIN template AS m ON m.id = o.template JOIN device AS v ON v.id = o.device"
    ") ORDER BY line)";

/* The facts and the exported results of a database. */
static const char *tell(scratch *s, db *d) {
  auto_str text = {0};
  db_line *lines;
  size_t n;
  db_query q = db_ask(d, facts, &s->e);
  str_addf(&text, "%s\n", db_row(&q) ? db_out_text(&q, &s->a) : "");
  OK(s, db_done(&q));
  OK(s, db_lines(d, NULL, NULL, &s->a, &lines, &n, &s->e));
  for (size_t i = 0; i < n; i++) {
    db_text_write(&lines[i], &text);
  }
  db_text_end(&text);
  return arena_text(&s->a, str_text(&text));
}

static void one_history(scratch *s, uint64_t number) {
  world w = {.s = s};
  const char *first = NULL;
  seed = number;
  live(&w);
  for (int i = 0; i < SCHEDULES; i++) {
    auto_db *d = merge_all(&w);
    const char *told = tell(s, d);
    OK(s, db_verify(d, &s->e));
    if (first && strcmp(first, told) != 0) {
      fail_msg("history %d: schedule %d gives\n%s\nand not\n%s", (int)number, i, told, first);
    }
    first = told;
  }
  arena_clear(&s->a);
}

static long number_of(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text ? atol(text) : otherwise;
}

SCRATCH_TEST(test_merging_is_a_join_of_sets) {
  const long from = number_of("SEED", 1), n = number_of("HISTORIES", HISTORIES);
  for (long i = 0; i < n; i++) {
    one_history(s, (uint64_t)(from + i));
  }
  print_message("%ld histories of %d hosts, %d schedules each\n", n, HOSTS, SCHEDULES);
}

int main(void) {
  install_clock();
  return tests_run();
}
