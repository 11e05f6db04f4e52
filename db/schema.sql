-- schema.sql -- the database, as the ordered steps that lead to it.
--
-- Each "-- step" line below starts the SQL that takes a database from the version before to the
-- next one; PRAGMA user_version says how many steps a file has seen. A step that has been released
-- is never edited: a change is a new step at the end.
--
--   device ---+           effort                  seconds spent searching
--             |             |
--             +-- problem --+-- trial --+-- sample     measured times
--             |                   |     +-- estimate   what a model says
--   template -+                 |     +-- preparation  seconds that preparing takes
--                               image ---- image_bulk  source, log, cubin, PTX
--
--   device, template -- portfolio                 a few configurations for a range of sizes
--
-- Facts are only added, and each is known by host, run and sequence (step 5). Triggers derive
-- `standing` from them, so that the best of a problem is one index look-up however many trials it
-- has; read the views `result` and `best`. Every `at` is in seconds since 1970.

-- step 1

CREATE TABLE device ( -- a kind of device: cards with equal keys are interchangeable
  id   INTEGER PRIMARY KEY,
  key  TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  cc   INTEGER NOT NULL, -- compute capability: 90 is 9.0
  sms  INTEGER NOT NULL, -- multiprocessors
  at   INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;

CREATE TABLE template ( -- one text of a template; an edited one is another row
  id      INTEGER PRIMARY KEY,
  hash    TEXT NOT NULL UNIQUE,
  family  TEXT NOT NULL,
  version INTEGER NOT NULL,
  path    TEXT NOT NULL, -- where it was read from first
  at      INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;

CREATE TABLE problem ( -- what is tuned: one template, one kind of device, one problem
  id       INTEGER PRIMARY KEY,
  template INTEGER NOT NULL REFERENCES template (id),
  device   INTEGER NOT NULL REFERENCES device (id),
  text     TEXT NOT NULL, -- canonical
  at       INTEGER NOT NULL DEFAULT (unixepoch()),
  UNIQUE (template, device, text)
) STRICT;

CREATE TABLE image ( -- one compilation, failed ones included
  key   TEXT PRIMARY KEY, -- the hash of what went into it
  arch  TEXT NOT NULL,
  nvrtc INTEGER NOT NULL, -- version
  regs  INTEGER NOT NULL, -- the largest of its kernels, as are the next two
  spill INTEGER NOT NULL, -- bytes
  smem  INTEGER NOT NULL, -- bytes
  sec   REAL NOT NULL,    -- compile time
  at    INTEGER NOT NULL DEFAULT (unixepoch()),
  CONSTRAINT key_is_a_hash CHECK (length(key) = 32 AND key NOT GLOB '*[^0-9a-f]*')
) STRICT;

CREATE TABLE image_bulk ( -- nearly all the bytes of the file, apart so that no scan meets them
  id     INTEGER PRIMARY KEY,
  image  TEXT NOT NULL UNIQUE REFERENCES image (key),
  digest TEXT NOT NULL, -- of the four below: a damaged image is never served
  source TEXT NOT NULL,
  log    TEXT,
  cubin  BLOB,
  ptx    BLOB
) STRICT;

CREATE TABLE trial ( -- one candidate and what became of it
  id      INTEGER PRIMARY KEY,
  problem INTEGER NOT NULL REFERENCES problem (id),
  config  TEXT NOT NULL, -- canonical
  status  TEXT NOT NULL
    CHECK (status IN ('ok', 'invalid', 'compile', 'launch', 'wrong', 'timeout', 'crashed')),
  reason  TEXT,
  image   TEXT REFERENCES image (key),
  error   REAL, -- in units of the tolerance; NULL is not a number
  at      INTEGER NOT NULL DEFAULT (unixepoch()),
  UNIQUE (problem, config)
) STRICT;
CREATE INDEX trial_status ON trial (problem, status); -- counts without reading the rows

CREATE TABLE sample ( -- one measured set of times
  id            INTEGER PRIMARY KEY,
  trial         INTEGER NOT NULL REFERENCES trial (id),
  stage         TEXT NOT NULL CHECK (stage IN ('screen', 'final')),
  median        REAL NOT NULL CHECK (median >= 0), -- seconds
  spread        REAL NOT NULL,                     -- (p75 - p25) / median
  launches      INTEGER NOT NULL,
  cold          INTEGER NOT NULL CHECK (cold IN (0, 1)),
  driver        INTEGER NOT NULL,
  uuid          TEXT,
  clock_mhz     REAL, -- NULL, as the next two: not known
  power_w       REAL,
  temperature_c REAL,
  at            INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
CREATE INDEX sample_trial ON sample (trial);

CREATE TABLE estimate ( -- what a model says; never mixed with measured times
  id    INTEGER PRIMARY KEY,
  trial INTEGER NOT NULL REFERENCES trial (id),
  model TEXT NOT NULL,
  sec   REAL NOT NULL CHECK (sec >= 0),
  at    INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
CREATE INDEX estimate_trial ON estimate (trial);

CREATE TABLE effort ( -- so long was searched, in all runs: what is left of a budget
  problem INTEGER PRIMARY KEY REFERENCES problem (id),
  sec     REAL NOT NULL CHECK (sec >= 0)
) STRICT;

CREATE TABLE standing ( -- derived: where a trial stands among those of its problem
  trial   INTEGER PRIMARY KEY REFERENCES trial (id),
  problem INTEGER NOT NULL REFERENCES problem (id),
  rank    INTEGER NOT NULL, -- 0 latest final sample, 1 latest screening, 2 latest estimate
  sec     REAL NOT NULL,
  spread  REAL NOT NULL,
  at      INTEGER NOT NULL
) STRICT;
CREATE INDEX standing_order ON standing (problem, rank, sec);

-- A newer fact counts unless it is of a lesser kind than the one that stands.
CREATE TRIGGER sample_stands AFTER INSERT ON sample BEGIN
  INSERT INTO standing (trial, problem, rank, sec, spread, at)
  SELECT id, problem, iif(NEW.stage = 'final', 0, 1), NEW.median, NEW.spread, NEW.at
  FROM trial WHERE id = NEW.trial
  ON CONFLICT (trial) DO UPDATE
  SET rank = excluded.rank, sec = excluded.sec, spread = excluded.spread, at = excluded.at
  WHERE excluded.rank <= rank;
END;
CREATE TRIGGER estimate_stands AFTER INSERT ON estimate BEGIN
  INSERT INTO standing (trial, problem, rank, sec, spread, at)
  SELECT id, problem, 2, NEW.sec, 0, NEW.at
  FROM trial WHERE id = NEW.trial
  ON CONFLICT (trial) DO UPDATE
  SET rank = excluded.rank, sec = excluded.sec, spread = excluded.spread, at = excluded.at
  WHERE excluded.rank <= rank;
END;

CREATE VIEW result AS -- every trial with its times summed up
SELECT t.id AS trial, t.problem AS problem_id, m.family, m.hash AS template, v.key AS device,
       p.text AS problem, t.config, t.status, t.reason, t.image, t.error, s.rank, s.sec,
       iif(s.rank < 2, s.sec, 0.0) AS median, coalesce(s.spread, 0.0) AS spread,
       coalesce(s.rank = 0, 0) AS final,
       coalesce((SELECT sec FROM estimate WHERE trial = t.id ORDER BY id DESC LIMIT 1), 0.0)
         AS modelled,
       coalesce(i.regs, 0) AS regs, coalesce(i.spill, 0) AS spill, coalesce(i.smem, 0) AS smem
FROM trial AS t
JOIN problem AS p ON p.id = t.problem
JOIN template AS m ON m.id = p.template
JOIN device AS v ON v.id = p.device
LEFT JOIN standing AS s ON s.trial = t.id
LEFT JOIN image AS i ON i.key = t.image;

CREATE VIEW winner AS -- each problem's fastest final, else fastest screened, else least modelled
SELECT p.id AS problem_id,
       (SELECT s.trial FROM standing AS s JOIN trial AS t ON t.id = s.trial
        WHERE s.problem = p.id AND t.status = 'ok'
        ORDER BY s.rank, s.sec, s.trial LIMIT 1) AS trial
FROM problem AS p;

CREATE VIEW best AS
SELECT r.* FROM winner AS w JOIN result AS r ON r.trial = w.trial AND r.problem_id = w.problem_id;

-- step 2

-- How a sample was taken, and the state of the device. NULL: not known.
ALTER TABLE sample ADD COLUMN memory_mhz REAL;
ALTER TABLE sample ADD COLUMN held INTEGER;    -- what held the clocks back: NVML's bits (nvml.h)
ALTER TABLE sample ADD COLUMN retaken INTEGER; -- so often it was taken again, clocks held back badly
ALTER TABLE sample ADD COLUMN energy_j REAL;   -- joules per launch
ALTER TABLE sample ADD COLUMN ended TEXT;      -- full, precise, slower, look, race (run.h, rt_ended)
ALTER TABLE sample ADD COLUMN replay TEXT;     -- stream or graph
ALTER TABLE sample ADD COLUMN batches TEXT;    -- seconds per launch of each batch, in order

-- step 3

CREATE TABLE portfolio ( -- a few configurations that serve a range of sizes, and which of them when
  id       INTEGER PRIMARY KEY,
  template INTEGER NOT NULL REFERENCES template (id),
  device   INTEGER NOT NULL REFERENCES device (id),
  text     TEXT NOT NULL, -- as serve_cover.h has it; a later one takes its place
  at       INTEGER NOT NULL DEFAULT (unixepoch()),
  UNIQUE (template, device)
) STRICT;

-- step 4

-- Every sample and estimate keeps a digest of its row, which shows a flipped bit in the file.
-- db_open.c defines row_digest: other programs can read the file, but not add to it.
CREATE VIEW sample_seal AS SELECT id, row_digest(
  trial, stage, median, spread, launches, cold, driver, uuid, clock_mhz, power_w, temperature_c, at,
  memory_mhz, held, retaken, energy_j, ended, replay, batches) AS digest FROM sample;
CREATE VIEW estimate_seal AS SELECT id, row_digest(trial, model, sec, at) AS digest FROM estimate;
ALTER TABLE sample ADD COLUMN digest INTEGER;
ALTER TABLE estimate ADD COLUMN digest INTEGER;
UPDATE sample SET digest = (SELECT digest FROM sample_seal AS s WHERE s.id = sample.id);
UPDATE estimate SET digest = (SELECT digest FROM estimate_seal AS s WHERE s.id = estimate.id);
CREATE TRIGGER sample_sealed AFTER INSERT ON sample BEGIN
  UPDATE sample SET digest = (SELECT digest FROM sample_seal WHERE id = NEW.id) WHERE id = NEW.id;
END;
CREATE TRIGGER estimate_sealed AFTER INSERT ON estimate BEGIN
  UPDATE estimate SET digest = (SELECT digest FROM estimate_seal WHERE id = NEW.id)
  WHERE id = NEW.id;
END;

-- step 5

-- A fact (trial, sample, estimate) is known by host, run and sequence in every file that it is
-- copied to, so that merging files is a join of sets: order and repetitions make no difference. Of
-- a trial's facts the last in the order of (at, sequence, run) counts. `sequence` is above that of
-- every fact that the file held when it was stored, which orders the facts of one second; `run` is
-- a random number per opening, so that a copy of the file adds other facts than the original.
CREATE TABLE host ( -- a file that facts come from
  id       INTEGER PRIMARY KEY, -- 1: this file; 0: any file before this step
  key      TEXT NOT NULL UNIQUE,
  sequence INTEGER NOT NULL     -- of this file: the largest in it; of others: 0
) STRICT;
INSERT INTO host (id, key, sequence)
VALUES (0, '00000000000000000000000000000000', 0), (1, lower(hex(randomblob(16))), 0);

-- The key of an older fact is derived from its contents, so that copies of a file agree: `run` is a
-- digest, and `sequence` keeps the order of the facts of one second. db_merge.c has the same for
-- older files that it reads.
ALTER TABLE trial ADD COLUMN host INTEGER REFERENCES host (id);
ALTER TABLE trial ADD COLUMN run INTEGER;
ALTER TABLE trial ADD COLUMN sequence INTEGER;
UPDATE trial SET host = 0, run = row_digest(status, reason, image, error, at),
  sequence = image IS NOT NULL;
CREATE TRIGGER trial_counts AFTER INSERT ON trial BEGIN
  UPDATE host SET sequence = NEW.sequence WHERE id = 1 AND sequence < NEW.sequence;
END;
CREATE TRIGGER trial_counts_again AFTER UPDATE OF sequence ON trial BEGIN
  UPDATE host SET sequence = NEW.sequence WHERE id = 1 AND sequence < NEW.sequence;
END;

DROP TRIGGER sample_stands;
DROP TRIGGER estimate_stands;
DROP INDEX sample_trial;
DROP INDEX estimate_trial;
ALTER TABLE sample ADD COLUMN host INTEGER REFERENCES host (id);
ALTER TABLE sample ADD COLUMN run INTEGER;
ALTER TABLE sample ADD COLUMN sequence INTEGER;
ALTER TABLE estimate ADD COLUMN host INTEGER REFERENCES host (id);
ALTER TABLE estimate ADD COLUMN run INTEGER;
ALTER TABLE estimate ADD COLUMN sequence INTEGER;

-- A row that does not match its digest keeps it, and does not match the new one either.
UPDATE sample SET host = 0, run = row_digest(
  stage, median, spread, launches, cold, driver, uuid, clock_mhz, power_w, temperature_c, at,
  memory_mhz, held, retaken, energy_j, ended, replay, batches),
  digest = nullif(coalesce(digest, 0),
    (SELECT digest FROM sample_seal AS s WHERE s.id = sample.id));
UPDATE estimate SET host = 0, run = row_digest(model, sec, at),
  digest = nullif(coalesce(digest, 0),
    (SELECT digest FROM estimate_seal AS s WHERE s.id = estimate.id));
UPDATE sample SET sequence = place FROM (
  SELECT id AS same, row_number() OVER (PARTITION BY trial, stage, at ORDER BY id) - 1 AS place
  FROM sample) WHERE id = same;
UPDATE estimate SET sequence = place FROM (
  SELECT id AS same, row_number() OVER (PARTITION BY trial, at ORDER BY id) - 1 AS place
  FROM estimate) WHERE id = same;
DROP VIEW sample_seal;
DROP VIEW estimate_seal;
CREATE VIEW sample_seal AS SELECT id, row_digest(
  trial, stage, median, spread, launches, cold, driver, uuid, clock_mhz, power_w, temperature_c, at,
  memory_mhz, held, retaken, energy_j, ended, replay, batches,
  (SELECT key FROM host WHERE id = x.host), run, sequence) AS digest FROM sample AS x;
CREATE VIEW estimate_seal AS SELECT id, row_digest(
  trial, model, sec, at, (SELECT key FROM host WHERE id = x.host), run, sequence) AS digest
  FROM estimate AS x;
UPDATE sample SET digest = (SELECT digest FROM sample_seal AS s WHERE s.id = sample.id)
WHERE digest IS NULL;
UPDATE estimate SET digest = (SELECT digest FROM estimate_seal AS s WHERE s.id = estimate.id)
WHERE digest IS NULL;
CREATE UNIQUE INDEX sample_key ON sample (trial, host, run, sequence);
CREATE UNIQUE INDEX estimate_key ON estimate (trial, host, run, sequence);

CREATE VIEW timing AS -- samples and estimates; of the lowest rank, the last of a trial counts
SELECT trial, iif(stage = 'final', 0, 1) AS rank, median AS sec, spread, at, sequence, run
FROM sample
UNION ALL
SELECT trial, 2 AS rank, sec, 0.0 AS spread, at, sequence, run FROM estimate;

UPDATE host SET sequence = coalesce((
  SELECT max(sequence) FROM (SELECT sequence FROM trial UNION ALL SELECT sequence FROM timing)), 0)
WHERE id = 1;

DROP TABLE standing;
CREATE TABLE standing ( -- derived: where a trial stands among those of its problem
  trial    INTEGER PRIMARY KEY REFERENCES trial (id),
  problem  INTEGER NOT NULL REFERENCES problem (id),
  rank     INTEGER NOT NULL, -- 0 final sample, 1 screening, 2 estimate
  sec      REAL NOT NULL,
  spread   REAL NOT NULL,
  at       INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  run      INTEGER NOT NULL
) STRICT;
INSERT INTO standing (trial, problem, rank, sec, spread, at, sequence, run)
SELECT trial, problem, rank, sec, spread, at, sequence, run FROM (
  SELECT x.*, t.problem, row_number() OVER (
    PARTITION BY x.trial ORDER BY x.rank, x.at DESC, x.sequence DESC, x.run DESC) AS place
  FROM timing AS x JOIN trial AS t ON t.id = x.trial) WHERE place = 1;
CREATE INDEX standing_order ON standing (problem, rank, sec);
CREATE TRIGGER sample_stands AFTER INSERT ON sample BEGIN
  UPDATE host SET sequence = NEW.sequence WHERE id = 1 AND sequence < NEW.sequence;
  INSERT INTO standing (trial, problem, rank, sec, spread, at, sequence, run)
  SELECT id, problem, iif(NEW.stage = 'final', 0, 1), NEW.median, NEW.spread, NEW.at, NEW.sequence,
    NEW.run
  FROM trial WHERE id = NEW.trial
  ON CONFLICT (trial) DO UPDATE
  SET (rank, sec, spread, at, sequence, run) = (excluded.rank, excluded.sec, excluded.spread,
    excluded.at, excluded.sequence, excluded.run)
  WHERE (-excluded.rank, excluded.at, excluded.sequence, excluded.run) >
    (-rank, at, sequence, run);
END;
CREATE TRIGGER estimate_stands AFTER INSERT ON estimate BEGIN
  UPDATE host SET sequence = NEW.sequence WHERE id = 1 AND sequence < NEW.sequence;
  INSERT INTO standing (trial, problem, rank, sec, spread, at, sequence, run)
  SELECT id, problem, 2, NEW.sec, 0, NEW.at, NEW.sequence, NEW.run FROM trial WHERE id = NEW.trial
  ON CONFLICT (trial) DO UPDATE
  SET (rank, sec, spread, at, sequence, run) = (excluded.rank, excluded.sec, excluded.spread,
    excluded.at, excluded.sequence, excluded.run)
  WHERE (-excluded.rank, excluded.at, excluded.sequence, excluded.run) >
    (-rank, at, sequence, run);
END;

DROP VIEW best;
DROP VIEW winner;
DROP VIEW result;
CREATE VIEW result AS -- every trial with its times summed up
SELECT t.id AS trial, t.problem AS problem_id, m.family, m.hash AS template, v.key AS device,
       p.text AS problem, t.config, t.status, t.reason, t.image, t.error, s.rank, s.sec,
       iif(s.rank < 2, s.sec, 0.0) AS median, coalesce(s.spread, 0.0) AS spread,
       coalesce(s.rank = 0, 0) AS final,
       coalesce((SELECT sec FROM estimate WHERE trial = t.id
                 ORDER BY at DESC, sequence DESC, run DESC LIMIT 1), 0.0) AS modelled,
       coalesce(i.regs, 0) AS regs, coalesce(i.spill, 0) AS spill, coalesce(i.smem, 0) AS smem
FROM trial AS t
JOIN problem AS p ON p.id = t.problem
JOIN template AS m ON m.id = p.template
JOIN device AS v ON v.id = p.device
LEFT JOIN standing AS s ON s.trial = t.id
LEFT JOIN image AS i ON i.key = t.image;

CREATE VIEW winner AS -- each problem's fastest final, else fastest screened, else least modelled
SELECT p.id AS problem_id,
       (SELECT s.trial FROM standing AS s JOIN trial AS t ON t.id = s.trial
        WHERE s.problem = p.id AND t.status = 'ok'
        ORDER BY s.rank, s.sec, t.config LIMIT 1) AS trial
FROM problem AS p;

CREATE VIEW best AS
SELECT r.* FROM winner AS w JOIN result AS r ON r.trial = w.trial AND r.problem_id = w.problem_id;

-- Each run has its own sum, which only grows: of two copies of it, the larger one holds.
CREATE TEMP TABLE before AS SELECT problem, sec FROM main.effort;
DROP TABLE effort;
CREATE TABLE effort ( -- seconds spent searching by a run; their sum is what a budget has spent
  problem INTEGER NOT NULL REFERENCES problem (id),
  host    INTEGER NOT NULL REFERENCES host (id),
  run     INTEGER NOT NULL,
  sec     REAL NOT NULL CHECK (sec >= 0),
  PRIMARY KEY (problem, host, run)
) STRICT, WITHOUT ROWID;
INSERT INTO effort (problem, host, run, sec) SELECT problem, 0, 0, sec FROM temp.before;
DROP TABLE temp.before;

-- step 6

-- What a trial's preparation took, by the last measurement. Its times are those of a launch and the
-- preparation's share of it, sec / uses, by the field `uses` of the problem.
CREATE TABLE preparation (
  trial INTEGER PRIMARY KEY REFERENCES trial (id),
  sec   REAL NOT NULL CHECK (sec >= 0),
  at    INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
