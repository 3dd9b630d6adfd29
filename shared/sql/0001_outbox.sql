-- The outbox: what is owed to whom, what was tried, and the rules that no program and no
-- person at the sqlite3 prompt can break. Times are REAL Unix seconds.
--
-- A stranger's  INSERT INTO outbox (chat_id, payload, next_attempt, created_at) VALUES (?,?,?,?)
-- works as it stands and is delivered.

CREATE TABLE alert(
  id         INTEGER PRIMARY KEY AUTOINCREMENT CHECK(id BETWEEN 1 AND 9000000000000000000),
  dedup_key  TEXT NOT NULL UNIQUE,
  payload    TEXT NOT NULL,                    -- the Alert as JSON
  severity   TEXT NOT NULL,
  title      TEXT NOT NULL,
  source     TEXT NOT NULL,
  link       TEXT,
  seen       INTEGER NOT NULL DEFAULT 1,       -- how often it was offered
  cves       TEXT,                             -- of the story, sorted
  raised_from INTEGER,                         -- the alert of the same story that was less grave
  not_owed   TEXT,                             -- why it has no row in the outbox, when it has none
  created_at REAL NOT NULL,
  CONSTRAINT payload_is_an_object CHECK(json_valid(payload) AND json_type(payload)='object')
) STRICT;

CREATE INDEX alert_cves     ON alert(cves)       WHERE cves IS NOT NULL;
CREATE INDEX alert_not_owed ON alert(created_at) WHERE not_owed IS NOT NULL;

CREATE TABLE outbox(
  -- Triggers see -1 for an id that is left to us, so no row may have it.
  id           INTEGER PRIMARY KEY AUTOINCREMENT CHECK(id BETWEEN 1 AND 9000000000000000000),
  idempotency_key TEXT UNIQUE,                 -- 'a:<alert>:<channel>:<chat>' | 'd:<first>:<last>:<count>' | 'f:<row>:<channel>' | 'n:<event>:<about>:<channel>:<chat>'
  kind         TEXT NOT NULL DEFAULT 'raw' CHECK(kind IN('raw','alert','digest','notice')),
  alert_id     INTEGER REFERENCES alert(id),
  parent_id    INTEGER REFERENCES outbox(id),  -- the digest this row was folded into
  released_from INTEGER,                       -- the digest that it was in and that was given up: it is folded no more
  moved_to     INTEGER REFERENCES outbox(id),  -- the row on the fallback channel
  fallback_at  REAL,                           -- if it is not delivered by then, it moves to this other place
  fallback_channel TEXT,
  fallback_chat_id TEXT,
  silenced_by  INTEGER,                        -- the silence that holds it until its end
  told_by      INTEGER REFERENCES outbox(id),  -- the notice that told of this row's death
  told_at      REAL,                           -- when it was told; without told_by: in log and status
  channel      TEXT NOT NULL DEFAULT '',       -- '' until the sender fills in the default channel
  chat_id      TEXT NOT NULL,                  -- destination inside the channel: chat, topic, mailbox
  method       TEXT NOT NULL DEFAULT 'sendMessage',
  payload      TEXT NOT NULL,
  priority     INTEGER NOT NULL DEFAULT 2 CHECK(priority BETWEEN 0 AND 3), -- 0 critical, 1 high, 2 normal, 3 low
  state        TEXT NOT NULL DEFAULT 'ready' CHECK(state IN('ready','leased','folded','moved','sent','dead','expired','cancelled')),
  attempts     INTEGER NOT NULL DEFAULT 0,     -- only ever grows: it numbers the attempt rows
  single       INTEGER NOT NULL DEFAULT 0,     -- 1: in no digest any more: a copy may have arrived, or it was in one that was refused; 2 more while it is leased
  not_before   REAL NOT NULL DEFAULT 0,        -- intent: delayed delivery; healing leaves it alone
  next_attempt REAL NOT NULL DEFAULT 0,        -- backoff
  due_at       REAL GENERATED ALWAYS AS (max(not_before,next_attempt)) VIRTUAL,
  failures     INTEGER NOT NULL DEFAULT 0,     -- in a row, of those that count against it; a flood wait or a refused token does not
  failing_at   REAL,                           -- the last of them
  failed_for   REAL NOT NULL DEFAULT 0,        -- seconds, up to then: the row dies of this, and not of waiting
  expires_at   REAL,
  revived_at   REAL,                           -- when a person last requeued it; its age counts from here
  tries_from   INTEGER NOT NULL DEFAULT 0,     -- its attempts before that, which count against it no more
  lease_epoch  INTEGER,
  last_error   TEXT,
  message_id   TEXT,                           -- the provider's receipt; of several messages all, with commas between
  rest         TEXT,                           -- what is left of a delivery in several messages that was begun
  created_at   REAL NOT NULL,
  updated_at   REAL,
  CONSTRAINT payload_is_an_object   CHECK(json_valid(payload) AND json_type(payload)='object'),
  -- So a destination always equals itself, in SQL and outside. The lengths differ when a NUL hides the rest.
  CONSTRAINT destination_is_printable_ascii CHECK(
    channel NOT GLOB '*[^ -~]*' AND length(channel)=length(CAST(channel AS BLOB)) AND
    chat_id NOT GLOB '*[^ -~]*' AND length(chat_id)=length(CAST(chat_id AS BLOB)) AND
    method  NOT GLOB '*[^ -~]*' AND length(method)=length(CAST(method AS BLOB))),
  CONSTRAINT attempts_are_a_count   CHECK(attempts BETWEEN 0 AND 1000000000),
  -- A row under a key of ours that is not ours would stand in the way of what is owed.
  CONSTRAINT our_keys_name_our_rows CHECK(idempotency_key IS NULL
    OR ((kind='notice' OR idempotency_key NOT GLOB 'n:*')
      AND (kind='digest' OR idempotency_key NOT GLOB 'd:[0-9]*')
      AND (idempotency_key NOT GLOB 'a:[0-9]*' OR coalesce(idempotency_key GLOB 'a:'||alert_id||':*',0)))),
  CONSTRAINT fallback_is_whole      CHECK((fallback_at IS NULL)=(fallback_channel IS NULL) AND (fallback_at IS NULL)=(fallback_chat_id IS NULL)),
  CONSTRAINT digests_are_ours       CHECK(kind<>'digest' OR coalesce(idempotency_key GLOB 'd:[0-9]*',0)),
  CONSTRAINT rest_is_an_array       CHECK(rest IS NULL OR (state<>'sent' AND json_valid(rest) AND json_type(rest)='array')),
  CONSTRAINT leased_iff_epoch       CHECK((state='leased')=(lease_epoch IS NOT NULL)),
  CONSTRAINT folded_iff_parent      CHECK((state='folded')=(parent_id IS NOT NULL)),
  CONSTRAINT moved_iff_target       CHECK((state='moved')=(moved_to IS NOT NULL)),
  CONSTRAINT dead_has_a_reason      CHECK(state<>'dead' OR last_error IS NOT NULL),
  CONSTRAINT dead_is_told           CHECK(state<>'dead' OR kind='notice' OR told_at IS NOT NULL),
  CONSTRAINT alert_row_has_an_alert CHECK((kind='alert')=(alert_id IS NOT NULL)),
  CONSTRAINT critical_never_expires CHECK(priority>0 OR expires_at IS NULL)
) STRICT;

-- A partial index serves only statements that say state='ready' literally.
CREATE INDEX outbox_ready    ON outbox(channel, chat_id, priority, id, due_at) WHERE state='ready';
-- What may be folded into a digest, and what goes out by itself.
CREATE INDEX outbox_foldable ON outbox(channel, chat_id, priority, id, due_at)
  WHERE state='ready' AND kind='alert' AND priority>0 AND single=0;
CREATE INDEX outbox_single   ON outbox(channel, chat_id, priority, id, due_at)
  WHERE state='ready' AND (kind<>'alert' OR priority=0 OR single>0);
CREATE INDEX outbox_due      ON outbox(due_at)    WHERE state='ready';
CREATE INDEX outbox_fallback ON outbox(fallback_at) WHERE state='ready' AND fallback_at IS NOT NULL;
CREATE INDEX outbox_silenced ON outbox(silenced_by) WHERE state='ready' AND silenced_by IS NOT NULL;
CREATE INDEX outbox_expires ON outbox(expires_at) WHERE state='ready' AND expires_at IS NOT NULL;
CREATE INDEX outbox_notices  ON outbox(channel, chat_id) WHERE state='ready' AND kind='notice';
CREATE INDEX outbox_leased   ON outbox(id)        WHERE state='leased';
CREATE INDEX outbox_dead     ON outbox(id)        WHERE state='dead';
CREATE INDEX outbox_expired  ON outbox(id)        WHERE state='expired';
CREATE INDEX outbox_parent   ON outbox(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX outbox_moved    ON outbox(moved_to)  WHERE moved_to IS NOT NULL;
CREATE INDEX outbox_told     ON outbox(told_by)   WHERE told_by IS NOT NULL;
CREATE INDEX outbox_alert    ON outbox(alert_id)  WHERE alert_id IS NOT NULL;
CREATE INDEX outbox_finished ON outbox(updated_at) WHERE state IN('sent','moved','cancelled','expired');

-- Written before the network call. No outcome: under way. 'unknown': the channel did not say.
-- 'interrupted': the sender ended in the middle. After either, the next copy is a possible repeat.
CREATE TABLE attempt(
  outbox_id INTEGER NOT NULL, n INTEGER NOT NULL, epoch INTEGER NOT NULL,
  started_at REAL NOT NULL, ended_at REAL,
  outcome TEXT CHECK(outcome IN('ok','unknown','interrupted','deferred','rejected','released')),
  status INTEGER, retry_after REAL, detail TEXT,
  PRIMARY KEY(outbox_id,n),
  CONSTRAINT ended_iff_outcome CHECK((ended_at IS NULL)=(outcome IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_open ON attempt(epoch) WHERE ended_at IS NULL;

-- One row per scope and key; written by the sender only, but for paused_until.
CREATE TABLE gate(
  scope TEXT NOT NULL CHECK(scope IN('bot','method','chat','channel')), key TEXT NOT NULL,
  next_at REAL NOT NULL DEFAULT 0,             -- the limiter's next free moment
  ring BLOB,                                   -- the last sends, for 'so many a minute'
  stretch REAL NOT NULL DEFAULT 1,             -- of the nominal interval, after 429s
  clean_since REAL,
  blocked_until REAL NOT NULL DEFAULT 0,
  blocked_for REAL NOT NULL DEFAULT 0,         -- seconds, from when that was set: no clock makes it longer
  breaker TEXT NOT NULL DEFAULT 'closed', strikes INTEGER NOT NULL DEFAULT 0,
  failing_since REAL, reason TEXT,
  refused_since REAL,                          -- since when it refuses us as a person would have to mend it
  alias_of TEXT,                               -- of an upgraded group: its id from then on
  folded_at REAL NOT NULL DEFAULT 0,           -- of a chat: when its alerts were last folded into digests
  paused_until REAL NOT NULL DEFAULT 0,        -- set by the operator
  PRIMARY KEY(scope,key)
) STRICT, WITHOUT ROWID;

-- What a person does not want to hear of for a while: alerts whose title, summary or source matches wait
-- for its end.
CREATE TABLE silence(
  id INTEGER PRIMARY KEY AUTOINCREMENT, pattern TEXT NOT NULL, until REAL NOT NULL, created_at REAL NOT NULL,
  ended_at REAL                                -- a person ended it before its time
) STRICT;

-- What is wrong with watchalert itself and is not over; told: by a notice, not by the log alone.
CREATE TABLE alarm(name TEXT PRIMARY KEY, since REAL NOT NULL, told INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;

CREATE TABLE sender_lease(
  one INTEGER PRIMARY KEY CHECK(one=1), epoch INTEGER NOT NULL, holder TEXT NOT NULL, since REAL NOT NULL,
  stepped INTEGER NOT NULL DEFAULT 0           -- milliseconds by which the wall clock was set since, and the waits here moved along
) STRICT;
INSERT INTO sender_lease(one,epoch,holder,since) VALUES(1,0,'nobody',0);

-- What ever came in and what was pruned, kept by triggers: in - pruned = rows, or something is lost.
-- repeat_marked counts the copies that were sent with the mark of a possible repeat.
CREATE TABLE ledger(name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO ledger VALUES('alert_in',0),('alert_pruned',0),('outbox_in',0),('outbox_pruned',0),('repeat_marked',0);

CREATE TRIGGER alert_is_counted_in AFTER INSERT ON alert
  BEGIN UPDATE ledger SET n=n+1 WHERE name='alert_in'; END;
CREATE TRIGGER alert_is_counted_out AFTER DELETE ON alert
  BEGIN UPDATE ledger SET n=n+1 WHERE name='alert_pruned'; END;
CREATE TRIGGER row_is_counted_in AFTER INSERT ON outbox
  BEGIN UPDATE ledger SET n=n+1 WHERE name='outbox_in'; END;
CREATE TRIGGER row_is_counted_out AFTER DELETE ON outbox
  BEGIN UPDATE ledger SET n=n+1 WHERE name='outbox_pruned'; DELETE FROM attempt WHERE outbox_id=OLD.id; END;

CREATE TRIGGER ids_leave_room BEFORE INSERT ON outbox WHEN NEW.id>1000000000000000
  BEGIN SELECT RAISE(ABORT,'outbox: an id this large leaves no room for the next ones; leave it out'); END;
CREATE TRIGGER rows_are_never_replaced BEFORE INSERT ON outbox
  WHEN (NEW.id>0 AND EXISTS(SELECT 1 FROM outbox WHERE id=NEW.id))
    OR EXISTS(SELECT 1 FROM outbox WHERE idempotency_key=NEW.idempotency_key)
  BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER rows_start_ready BEFORE INSERT ON outbox WHEN NEW.state<>'ready'
  BEGIN SELECT RAISE(ABORT,'outbox: a row starts ready'); END;
-- Drivers that bind numbers as floats write -1001234567890.0.
CREATE TRIGGER chat_ids_are_integers AFTER INSERT ON outbox WHEN NEW.chat_id GLOB '*[0-9].0'
  BEGIN UPDATE outbox SET chat_id=substr(chat_id,1,length(chat_id)-2) WHERE id=NEW.id; END;
CREATE TRIGGER identity_stays BEFORE UPDATE OF id,idempotency_key,kind,alert_id,created_at ON outbox
  WHEN OLD.id IS NOT NEW.id OR OLD.idempotency_key IS NOT NEW.idempotency_key OR OLD.kind IS NOT NEW.kind
    OR OLD.alert_id IS NOT NEW.alert_id OR OLD.created_at IS NOT NEW.created_at
  BEGIN SELECT RAISE(ABORT,'outbox: id, key, kind, alert and creation time never change'); END;
CREATE TRIGGER attempts_only_grow BEFORE UPDATE OF attempts ON outbox WHEN NEW.attempts<OLD.attempts
  BEGIN SELECT RAISE(ABORT,'outbox: attempts only grow'); END;
-- What was begun goes on where it was, to whom it was begun; an upgraded group alone has another id.
CREATE TRIGGER begun_rows_go_on BEFORE UPDATE OF rest,channel,chat_id ON outbox
  WHEN OLD.state=NEW.state AND OLD.rest IS NOT NULL
   AND (NEW.rest IS NOT OLD.rest OR NEW.channel<>OLD.channel
     OR (NEW.chat_id<>OLD.chat_id AND NOT EXISTS(SELECT 1 FROM gate WHERE scope='chat' AND alias_of=NEW.chat_id)))
  BEGIN SELECT RAISE(ABORT,'outbox: a part of this row has arrived; it goes on where it was'); END;
CREATE TRIGGER unfinished_rows_stay BEFORE DELETE ON outbox
  WHEN OLD.state NOT IN('sent','moved','cancelled','expired')
   AND NOT (OLD.state='folded' AND (SELECT state FROM outbox WHERE id=OLD.parent_id) IN('sent','moved','cancelled','expired'))
  BEGIN SELECT RAISE(ABORT,'outbox: only finished rows may be deleted'); END;
CREATE TRIGGER only_legal_moves BEFORE UPDATE OF state ON outbox
  WHEN OLD.state<>NEW.state AND (OLD.state||'>'||NEW.state) NOT IN(
   'ready>leased','ready>folded','ready>moved','ready>expired','ready>cancelled','ready>dead',
   'leased>sent','leased>ready','leased>dead','folded>ready',
   'dead>ready','expired>ready','dead>cancelled','expired>cancelled')
  BEGIN SELECT RAISE(ABORT,'outbox: illegal transition'); END;
-- OR REPLACE would delete the accepted one without a trigger hearing of it.
CREATE TRIGGER alerts_are_never_replaced BEFORE INSERT ON alert
  WHEN (NEW.id>0 AND EXISTS(SELECT 1 FROM alert WHERE id=NEW.id))
    OR EXISTS(SELECT 1 FROM alert WHERE dedup_key=NEW.dedup_key)
  BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER attempts_are_never_replaced BEFORE INSERT ON attempt
  WHEN EXISTS(SELECT 1 FROM attempt WHERE outbox_id=NEW.outbox_id AND n=NEW.n)
  BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER attempts_stay BEFORE DELETE ON attempt WHEN EXISTS(SELECT 1 FROM outbox WHERE id=OLD.outbox_id)
  BEGIN SELECT RAISE(ABORT,'attempt: it stays as long as its row'); END;
CREATE TRIGGER alerts_are_immutable BEFORE UPDATE OF id,dedup_key,payload,severity,title,source,link,created_at ON alert
  BEGIN SELECT RAISE(ABORT,'alert: an accepted alert never changes'); END;
CREATE TRIGGER owed_alerts_stay BEFORE DELETE ON alert WHEN EXISTS(SELECT 1 FROM outbox WHERE alert_id=OLD.id)
  BEGIN SELECT RAISE(ABORT,'alert: its rows in the outbox go first'); END;

-- Whoever prunes, and whatever its clock said: no alert stays behind without a row or a reason.
CREATE TRIGGER alert_leaves_with_its_last_row AFTER DELETE ON outbox
  WHEN OLD.alert_id IS NOT NULL AND NOT EXISTS(SELECT 1 FROM outbox WHERE alert_id=OLD.alert_id)
  BEGIN DELETE FROM alert WHERE id=OLD.alert_id; END;

-- For the sqlite3 prompt: what waits, what is dead, what went out lately.
CREATE VIEW queue AS
  SELECT id, state, CASE priority WHEN 0 THEN 'critical' WHEN 1 THEN 'high' WHEN 2 THEN 'normal' ELSE 'low' END AS priority,
         channel, chat_id, kind,
         substr(coalesce(json_extract(payload,'$.title'), json_extract(payload,'$.text'), ''),1,80) AS text,
         attempts, datetime(created_at,'unixepoch') AS created,
         CASE WHEN due_at>unixepoch() THEN datetime(due_at,'unixepoch') ELSE 'now' END AS due, last_error
    FROM outbox
   WHERE state IN('ready','leased')
      OR (state='folded' AND (SELECT state FROM outbox AS digest WHERE digest.id=outbox.parent_id) IN('ready','leased'))
   ORDER BY outbox.priority, id;
CREATE VIEW dead_letters AS
  SELECT id, channel, chat_id, kind,
         substr(coalesce(json_extract(payload,'$.title'), json_extract(payload,'$.text'), ''),1,80) AS text,
         attempts, last_error, datetime(created_at,'unixepoch') AS created,
         datetime(updated_at,'unixepoch') AS died, datetime(told_at,'unixepoch') AS told
    FROM outbox WHERE state='dead' ORDER BY id;
CREATE VIEW recent AS
  SELECT id, state, channel, chat_id, kind,
         substr(coalesce(json_extract(payload,'$.title'), json_extract(payload,'$.text'), ''),1,80) AS text,
         attempts, message_id, datetime(created_at,'unixepoch') AS created, datetime(updated_at,'unixepoch') AS finished
    FROM outbox WHERE state IN('sent','moved','cancelled','expired') ORDER BY updated_at DESC LIMIT 100;
