-- Where alerts come from: feeds, the items they showed, the verdicts on them, and the heartbeat.

CREATE TABLE feed(
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  url           TEXT NOT NULL UNIQUE,          -- as the configuration says it
  title         TEXT,                          -- as the feed says it
  etag          TEXT, last_modified TEXT,
  full_at       REAL,                          -- when it last came in full, not as "not modified"
  guids_unreliable INTEGER NOT NULL DEFAULT 0, -- it repeated a guid once: its items go by link, for good
  seeded_at     REAL,                          -- the first good fetch, whose items were not told
  seed_told_at  REAL,                          -- when the notice about that went out
  attempted_at  REAL, succeeded_at REAL, new_item_at REAL,
  storm_at      REAL, storm_items INTEGER,     -- when all its items came under new names, and how many
  storm_told_at REAL,
  -- What is told of the feed itself, each event once, and what a person decided about it.
  failing_since REAL, failing_told_at REAL,    -- of the last row of failures
  gone_at       REAL, gone_told_at    REAL,    -- its server answered 410
  quiet_told_at REAL,                          -- that it brings nothing new
  paused_at     REAL, paused_until    REAL,    -- by a person; without an end until it is resumed
  retry_at      REAL NOT NULL DEFAULT 0,       -- what the server asked for; else the schedule decides
  failures      INTEGER NOT NULL DEFAULT 0,    -- in a row
  prints        BLOB,                          -- of the entries of its last document: what still stands so is not read again
  ttl           REAL,                          -- for so many seconds, its server says, there is nothing new
  location      TEXT,                          -- where it lives now, when it was seen to have moved for good
  moved_to      TEXT,                          -- where permanent redirects lead, not yet believed
  moved_since   REAL, moved_seen INTEGER NOT NULL DEFAULT 0,
  last_error    TEXT,
  -- It is not in the configuration any more: since when, and a sum that no wrong clock lengthens, in seconds.
  left_at       REAL, left_counted_at REAL, left_for REAL NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE item(
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  feed_id       INTEGER NOT NULL REFERENCES feed(id),
  dedup_key     TEXT NOT NULL,
  link_key      TEXT,                          -- the alias: the normalised link
  title         TEXT NOT NULL, summary TEXT NOT NULL, link TEXT, guid TEXT, tags TEXT NOT NULL DEFAULT '[]',
  published_at  REAL,
  first_seen_at REAL NOT NULL, last_seen_at REAL NOT NULL,
  state         TEXT NOT NULL CHECK(state IN('seeded','pending','judged')),
  severity      TEXT, category TEXT, reason TEXT, judge TEXT, verdict_summary TEXT, judged_at REAL,
  alert_id      INTEGER,                       -- the alert that tells it; it may have been pruned since
  alert_pruned  INTEGER NOT NULL DEFAULT 0,
  route         TEXT,                          -- which route took it, in words
  -- What the source itself says of it; a feed says nothing.
  said_severity TEXT, said_category TEXT,
  thread        TEXT,                          -- what goes on: its items begin it, and one ends it
  is_end        INTEGER NOT NULL DEFAULT 0,
  UNIQUE(feed_id,dedup_key),
  CONSTRAINT judged_iff_verdict CHECK((state='judged')=(severity IS NOT NULL)),
  CONSTRAINT told_iff_it_matters CHECK(state<>'judged' OR (severity='ignore')=(alert_id IS NULL))
) STRICT;
CREATE INDEX item_link    ON item(feed_id,link_key) WHERE link_key IS NOT NULL;
CREATE INDEX item_by_feed ON item(feed_id,id);
CREATE INDEX item_thread  ON item(feed_id,thread,id) WHERE thread IS NOT NULL;
CREATE INDEX item_last_seen ON item(feed_id,last_seen_at);
CREATE INDEX item_pending ON item(id)       WHERE state='pending';
CREATE INDEX item_alert   ON item(alert_id) WHERE alert_id IS NOT NULL;
-- What a person remembers of an item, in its order: who asks reads a tenth of the table.
CREATE INDEX item_glimpse ON item(id,title,link,guid);

INSERT INTO ledger VALUES('item_in',0),('item_out',0);
CREATE TRIGGER item_is_counted_in AFTER INSERT ON item
  BEGIN UPDATE ledger SET n=n+1 WHERE name='item_in'; END;
CREATE TRIGGER item_is_counted_out AFTER DELETE ON item
  BEGIN UPDATE ledger SET n=n+1 WHERE name='item_out'; END;
CREATE TRIGGER items_outlive_their_alert AFTER DELETE ON alert
  BEGIN UPDATE item SET alert_pruned=1 WHERE alert_id=OLD.id; END;

-- A story that several feeds bring is one alert: which other items tell it.
CREATE INDEX item_story ON item(link_key) WHERE link_key IS NOT NULL AND alert_id IS NOT NULL;
CREATE TABLE also(
  alert_id INTEGER NOT NULL, item_id INTEGER NOT NULL, source TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY(alert_id,item_id)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER other_sources_leave_with_their_alert AFTER DELETE ON alert
  BEGIN DELETE FROM also WHERE alert_id=OLD.id; END;

-- Edits of known items, where a feed wants them told: the words that were told last.
CREATE TABLE edit(
  item_id    INTEGER PRIMARY KEY REFERENCES item(id) ON DELETE CASCADE,
  title      TEXT NOT NULL, summary TEXT NOT NULL,
  changed_at REAL,                             -- since when the item says something else; NULL: it does not
  told       INTEGER NOT NULL DEFAULT 0,       -- how many edits were told,
  told_at    REAL, alert_id INTEGER            -- the last one when, and by which alert
) STRICT;
CREATE INDEX edit_untold ON edit(item_id)  WHERE changed_at IS NOT NULL;
CREATE INDEX edit_alert  ON edit(alert_id) WHERE alert_id IS NOT NULL;

-- A person asks by the short id of a notice, too.
CREATE INDEX outbox_notice_id ON outbox(json_extract(payload,'$.short_id')) WHERE kind='notice';

-- What came to a webhook, each once: by its sender's number, and by its body, which is signed.
CREATE TABLE arrival(
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  feed_id  INTEGER NOT NULL REFERENCES feed(id),
  delivery TEXT,                               -- as its sender numbers it
  body     TEXT NOT NULL,                      -- a hash of it
  items    INTEGER NOT NULL,                   -- how many it brought
  at       REAL NOT NULL,
  UNIQUE(feed_id,delivery)
) STRICT;
CREATE INDEX arrival_body ON arrival(feed_id,body,at);
CREATE INDEX arrival_at   ON arrival(at);

-- Our own signs of life, and what a tick remembers to watch over us: 'tick'; 'clock', what both clocks showed
-- then; 'sender', since when it seems not to drain and when that was last seen.
CREATE TABLE heartbeat(
  name TEXT PRIMARY KEY, started_at REAL, finished_at REAL, report TEXT, steady REAL, boot TEXT
) STRICT, WITHOUT ROWID;

-- Heartbeats of others: what was heard of each job, and what was told of it and is not over.
CREATE TABLE beat(
  name        TEXT PRIMARY KEY,
  known_at    REAL NOT NULL,                   -- since when it is expected
  seen_at     REAL,                            -- the last success,
  failed_at   REAL, status INTEGER,            -- the last failure with its exit status,
  is_failed   INTEGER NOT NULL DEFAULT 0,      -- and which of the two was later
  started_at  REAL,                            -- the run that goes on
  note        TEXT,                            -- what came with the last call
  -- What is waited for since then, for how much of that we were there to hear it, in seconds, and when a tick last looked.
  waits_since REAL, waited REAL NOT NULL DEFAULT 0, looked_at REAL,
  told        TEXT CHECK(told IN('missed','overrun','failed')), told_at REAL, alert_id INTEGER,
  told_due    REAL,                            -- when what was missed was due
  is_past     INTEGER NOT NULL DEFAULT 0,      -- it has succeeded since
  is_raised   INTEGER NOT NULL DEFAULT 0,      -- it was told again, as critical
  CONSTRAINT told_iff_when CHECK((told IS NULL)=(told_at IS NULL))
) STRICT, WITHOUT ROWID;

-- The models that judge: how they fare, what was told of that, and what was asked of the cloud.
CREATE TABLE model(
  name      TEXT PRIMARY KEY CHECK(name IN('ollama','cloud')),
  failures  INTEGER NOT NULL DEFAULT 0,        -- in a row
  trouble   TEXT, trouble_since REAL,          -- what a person was told; NULL: it works, or nobody was told
  seconds   REAL,                              -- that a request takes, on average
  day       INTEGER NOT NULL DEFAULT 0,        -- the day (UTC, since 1970) of
  requests  INTEGER NOT NULL DEFAULT 0         -- so many requests
) STRICT, WITHOUT ROWID;
INSERT INTO model(name) VALUES('ollama'),('cloud');

-- What a model said to a prompt: the same words are not asked about twice.
CREATE TABLE answer(
  prompt TEXT PRIMARY KEY,                     -- a hash of the whole prompt and of the model's name
  answer TEXT NOT NULL, judge TEXT NOT NULL, made_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX answer_made ON answer(made_at);

-- Answers to an item that could not be used: it is asked about with fewer words each time.
CREATE TABLE unusable(item_id INTEGER PRIMARY KEY REFERENCES item(id) ON DELETE CASCADE, answers INTEGER NOT NULL) STRICT;

-- What happened, counted for who draws curves of it (/metrics): it only grows, whatever is pruned or revived.
-- In a histogram `le` is the bound up to which a row counts, and `seconds` the sum of what was counted.
CREATE TABLE tally(
  name    TEXT NOT NULL,                       -- attempt, limited, asked, repeat, delivered, dead, expired, judged, tick
  channel TEXT NOT NULL, label TEXT NOT NULL,  -- '' where it has none
  le REAL NOT NULL DEFAULT 0, n INTEGER NOT NULL DEFAULT 1, seconds REAL NOT NULL DEFAULT 0,
  PRIMARY KEY(name,channel,label,le)
) STRICT, WITHOUT ROWID;
CREATE TABLE bound(le REAL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO bound VALUES(1),(2),(5),(10),(30),(60),(300),(900),(3600),(14400),(86400),(9e999);
ALTER TABLE attempt ADD COLUMN is_repeat INTEGER NOT NULL DEFAULT 0; -- it goes out with the mark of a possible repeat

CREATE TRIGGER attempts_are_counted AFTER UPDATE OF outcome ON attempt WHEN OLD.outcome IS NULL AND NEW.outcome IS NOT NULL
  BEGIN
    INSERT INTO tally(name,channel,label) SELECT 'attempt',channel,NEW.outcome FROM outbox WHERE id=NEW.outbox_id
        ON CONFLICT DO UPDATE SET n=n+1;
    INSERT INTO tally(name,channel,label) SELECT 'limited',channel,'' FROM outbox WHERE id=NEW.outbox_id AND NEW.status=429
        ON CONFLICT DO UPDATE SET n=n+1;
    INSERT INTO tally(name,channel,label) SELECT 'repeat',channel,'' FROM outbox
     WHERE id=NEW.outbox_id AND NEW.is_repeat AND NEW.outcome IN('ok','unknown','interrupted')
        ON CONFLICT DO UPDATE SET n=n+1;
    INSERT INTO tally(name,channel,label,le,seconds)
    SELECT 'asked',channel,'',(SELECT min(le) FROM bound WHERE le>=NEW.retry_after),NEW.retry_after FROM outbox
     WHERE id=NEW.outbox_id AND NEW.retry_after IS NOT NULL
        ON CONFLICT DO UPDATE SET n=n+1,seconds=seconds+excluded.seconds;
  END;
-- From when it was owed: each alert of a digest by itself. A stranger's times may be any.
CREATE TRIGGER deliveries_are_counted AFTER UPDATE OF state ON outbox WHEN NEW.state='sent' AND OLD.state<>'sent'
  BEGIN
    INSERT INTO tally(name,channel,label,le,seconds)
    SELECT 'delivered','',priority,(SELECT min(le) FROM bound WHERE le>=took),took
      FROM (SELECT priority,min(max(coalesce(NEW.updated_at-max(created_at,not_before,coalesce(revived_at,0)),0),0),1e9) AS took
              FROM outbox WHERE kind<>'digest' AND (id=NEW.id OR parent_id=NEW.id))
     WHERE true
        ON CONFLICT DO UPDATE SET n=n+1,seconds=seconds+excluded.seconds;
  END;
CREATE TRIGGER ends_are_counted AFTER UPDATE OF state ON outbox WHEN NEW.state IN('dead','expired') AND OLD.state<>NEW.state
  BEGIN INSERT INTO tally(name,channel,label) VALUES(NEW.state,NEW.channel,'') ON CONFLICT DO UPDATE SET n=n+1; END;
CREATE TRIGGER verdicts_are_counted AFTER UPDATE OF state ON item WHEN NEW.state='judged' AND OLD.state<>'judged'
  BEGIN INSERT INTO tally(name,channel,label) VALUES('judged','',coalesce(NEW.judge,'')) ON CONFLICT DO UPDATE SET n=n+1; END;

CREATE VIEW feeds AS
  SELECT id, coalesce(title,'') AS title, url,
         CASE WHEN left_at IS NOT NULL THEN 'left' WHEN paused_at IS NOT NULL AND coalesce(paused_until>unixepoch(),1) THEN 'paused'
              WHEN gone_at IS NOT NULL THEN 'gone' WHEN failures>0 THEN 'failing' WHEN succeeded_at IS NULL THEN 'new' ELSE 'ok' END AS health,
         datetime(succeeded_at,'unixepoch') AS last_success, datetime(new_item_at,'unixepoch') AS last_new,
         failures, last_error
    FROM feed ORDER BY failures DESC, id;
CREATE VIEW beats AS
  SELECT name, coalesce(told, CASE WHEN started_at IS NOT NULL THEN 'running' WHEN is_failed THEN 'failed'
                                   WHEN waits_since IS NOT NULL THEN 'late' WHEN seen_at IS NULL THEN 'new' ELSE 'up' END) AS state,
         datetime(seen_at,'unixepoch') AS last_success, datetime(failed_at,'unixepoch') AS last_failure, status, note,
         datetime(told_at,'unixepoch') AS told
    FROM beat ORDER BY told_at IS NULL, name;
CREATE VIEW sources AS
  SELECT feed.id, coalesce(feed.title,feed.url) AS source, count(item.id) AS items,
         coalesce(sum(item.state='seeded'),0) AS seeded, coalesce(sum(item.state='pending'),0) AS pending,
         coalesce(sum(item.severity='ignore'),0) AS ignored, count(item.alert_id) AS alerted
    FROM feed LEFT JOIN item ON item.feed_id=feed.id GROUP BY feed.id;
