-- The tables of a fresh store: made by `python -m tests.schema` of their classes.

CREATE TABLE IF NOT EXISTS alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE owners (
	name TEXT COLLATE "C" NOT NULL,
	balance BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_owners PRIMARY KEY (name)
);

CREATE TABLE api_keys (
	id BYTEA NOT NULL,
	owner TEXT COLLATE "C" NOT NULL,
	label TEXT COLLATE "C",
	hash BYTEA NOT NULL,
	created_at BIGINT NOT NULL,
	last_used_at BIGINT,
	revoked_at BIGINT,
	CONSTRAINT pk_api_keys PRIMARY KEY (id),
	CONSTRAINT fk_api_keys_owner_owners FOREIGN KEY(owner) REFERENCES owners (name),
	CONSTRAINT uq_api_keys_hash UNIQUE (hash)
);

CREATE INDEX ix_api_keys_owner ON api_keys (owner);

CREATE TABLE ledger (
	id BYTEA NOT NULL,
	owner TEXT COLLATE "C" NOT NULL,
	kind TEXT COLLATE "C" NOT NULL,
	credits BIGINT NOT NULL,
	balance_after BIGINT NOT NULL,
	dataset_id BYTEA,
	run_id BYTEA,
	note TEXT COLLATE "C",
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_ledger PRIMARY KEY (id),
	CONSTRAINT fk_ledger_owner_owners FOREIGN KEY(owner) REFERENCES owners (name),
	CONSTRAINT uq_ledger_run_id UNIQUE (run_id)
);

CREATE INDEX ix_ledger_granted ON ledger (kind, owner, created_at) WHERE kind = 'grant';

CREATE INDEX ix_ledger_owner_created_at ON ledger (owner, created_at);

CREATE TABLE browser_sessions (
	hash BYTEA NOT NULL,
	key_id BYTEA NOT NULL,
	expires_at BIGINT NOT NULL,
	CONSTRAINT pk_browser_sessions PRIMARY KEY (hash),
	CONSTRAINT fk_browser_sessions_key_id_api_keys FOREIGN KEY(key_id) REFERENCES api_keys (id)
);

CREATE INDEX ix_browser_sessions_key_id ON browser_sessions (key_id);

CREATE TABLE sign_in_links (
	hash BYTEA NOT NULL,
	key_id BYTEA NOT NULL,
	expires_at BIGINT NOT NULL,
	CONSTRAINT pk_sign_in_links PRIMARY KEY (hash),
	CONSTRAINT fk_sign_in_links_key_id_api_keys FOREIGN KEY(key_id) REFERENCES api_keys (id)
);

CREATE INDEX ix_sign_in_links_key_id ON sign_in_links (key_id);

CREATE TABLE datasets (
	id BYTEA NOT NULL,
	owner TEXT COLLATE "C" NOT NULL,
	name TEXT COLLATE "C" NOT NULL,
	question TEXT COLLATE "C",
	columns TEXT COLLATE "C" NOT NULL,
	field_ids TEXT COLLATE "C" NOT NULL,
	schema_version INTEGER NOT NULL,
	recipe_version INTEGER NOT NULL,
	status TEXT COLLATE "C" NOT NULL,
	schedule TEXT COLLATE "C",
	next_run_at BIGINT,
	row_count INTEGER NOT NULL,
	head BIGINT NOT NULL,
	rows_updated_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	next_run_zone TEXT COLLATE "C",
	imported_head BIGINT,
	label_column TEXT COLLATE "C",
	heard_at BIGINT,
	dropped_columns TEXT COLLATE "C",
	takes_over BYTEA,
	CONSTRAINT pk_datasets PRIMARY KEY (id),
	CONSTRAINT uq_datasets_owner_name UNIQUE (owner, name),
	CONSTRAINT fk_datasets_owner_owners FOREIGN KEY(owner) REFERENCES owners (name)
);

CREATE INDEX ix_datasets_created_at ON datasets (owner, created_at, id);

CREATE INDEX ix_datasets_heard_at ON datasets (owner, heard_at) WHERE status <> 'paused';

CREATE INDEX ix_datasets_next_run_at ON datasets (next_run_at, id);

CREATE INDEX ix_datasets_rows_updated_at ON datasets (owner, rows_updated_at);

CREATE INDEX ix_datasets_schedule ON datasets (schedule, next_run_zone, next_run_at) WHERE status = 'active' AND schedule IS NOT NULL;

CREATE INDEX ix_datasets_unfired ON datasets (owner, schedule) WHERE status <> 'paused' AND (status = 'draft' OR schedule IS NULL);

CREATE TABLE bots (
	id BYTEA NOT NULL,
	dataset_id BYTEA NOT NULL,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_bots PRIMARY KEY (id),
	CONSTRAINT uq_bots_dataset_id UNIQUE (dataset_id),
	CONSTRAINT fk_bots_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE TABLE recipes (
	id BYTEA NOT NULL,
	dataset_id BYTEA NOT NULL,
	version INTEGER NOT NULL,
	source TEXT COLLATE "C" NOT NULL,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_recipes PRIMARY KEY (id),
	CONSTRAINT uq_recipes_dataset_id_version UNIQUE (dataset_id, version),
	CONSTRAINT fk_recipes_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE TABLE schemas (
	id BYTEA NOT NULL,
	dataset_id BYTEA NOT NULL,
	version INTEGER NOT NULL,
	columns TEXT COLLATE "C" NOT NULL,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_schemas PRIMARY KEY (id),
	CONSTRAINT uq_schemas_dataset_id_version UNIQUE (dataset_id, version),
	CONSTRAINT fk_schemas_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE TABLE runs (
	id BYTEA NOT NULL,
	dataset_id BYTEA NOT NULL,
	recipe_version INTEGER NOT NULL,
	site TEXT COLLATE "C" NOT NULL,
	status TEXT COLLATE "C" NOT NULL,
	attempt INTEGER NOT NULL,
	fence INTEGER NOT NULL,
	alone BOOLEAN NOT NULL,
	lease_owner TEXT COLLATE "C",
	lease_until BIGINT,
	checks TEXT COLLATE "C" NOT NULL,
	new_rows INTEGER NOT NULL,
	changed_rows INTEGER NOT NULL,
	gone_rows INTEGER NOT NULL,
	error TEXT COLLATE "C",
	stop TEXT COLLATE "C",
	facts TEXT COLLATE "C",
	queued_at BIGINT NOT NULL,
	started_at BIGINT,
	completed_at BIGINT,
	rowid BIGINT GENERATED ALWAYS AS IDENTITY,
	turn TEXT COLLATE "C",
	problem TEXT COLLATE "C",
	lease_origin BIGINT,
	idempotency_hash BYTEA,
	imported_at BIGINT,
	fresh BOOLEAN,
	cancel_asked_at BIGINT,
	only_hosts TEXT COLLATE "C",
	followed BOOLEAN,
	owner TEXT COLLATE "C",
	CONSTRAINT pk_runs PRIMARY KEY (id),
	CONSTRAINT fk_runs_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
)
 WITH (autovacuum_vacuum_scale_factor = 0.01, vacuum_index_cleanup = on);

CREATE INDEX ix_runs_dataset_id_completed_at ON runs (dataset_id, completed_at) WHERE facts IS NOT NULL AND status = 'succeeded';

CREATE INDEX ix_runs_dataset_id_queued_at ON runs (dataset_id, queued_at, id);

CREATE INDEX ix_runs_open ON runs (owner) WHERE status IN ('queued', 'running');

CREATE INDEX ix_runs_status_queued_at ON runs (status, queued_at);

CREATE INDEX ix_runs_unaccepted ON runs (status, dataset_id) WHERE status IN ('failed', 'blocked', 'held') AND followed IS NULL;

CREATE INDEX ix_runs_waiting ON runs (site, queued_at, id) WHERE status = 'queued';

CREATE INDEX ix_runs_waiting_of_owner ON runs (site, owner, queued_at, id) WHERE status = 'queued';

CREATE UNIQUE INDEX uq_runs_open ON runs (dataset_id) WHERE status IN ('queued', 'running');

CREATE UNIQUE INDEX uq_runs_turn ON runs (turn) WHERE status = 'running';

CREATE TABLE attempts (
	id BYTEA NOT NULL,
	run_id BYTEA NOT NULL,
	number INTEGER NOT NULL,
	started_at BIGINT NOT NULL,
	ended_at BIGINT,
	steps TEXT COLLATE "C",
	pages_read INTEGER,
	items_read INTEGER,
	CONSTRAINT pk_attempts PRIMARY KEY (id),
	CONSTRAINT uq_attempts_run_id_number UNIQUE (run_id, number),
	CONSTRAINT fk_attempts_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id)
)
 WITH (autovacuum_vacuum_scale_factor = 0.01, vacuum_index_cleanup = on);

CREATE INDEX ix_attempts_started_at ON attempts (started_at) WHERE steps IS NOT NULL;

CREATE TABLE held_outputs (
	run_id BYTEA NOT NULL,
	harvest BYTEA NOT NULL,
	kept_until BIGINT NOT NULL,
	CONSTRAINT pk_held_outputs PRIMARY KEY (run_id),
	CONSTRAINT fk_held_outputs_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE INDEX ix_held_outputs_kept_until ON held_outputs (kept_until);

CREATE TABLE failed_pages (
	run_id BYTEA NOT NULL,
	number INTEGER NOT NULL,
	url TEXT COLLATE "C" NOT NULL,
	final_url TEXT COLLATE "C" NOT NULL,
	status INTEGER NOT NULL,
	title TEXT COLLATE "C",
	markup BYTEA NOT NULL,
	cut BOOLEAN NOT NULL,
	counts TEXT COLLATE "C",
	screenshot BYTEA,
	kept_until BIGINT NOT NULL,
	CONSTRAINT pk_failed_pages PRIMARY KEY (run_id),
	CONSTRAINT fk_failed_pages_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE INDEX ix_failed_pages_kept_until ON failed_pages (kept_until);

CREATE TABLE site_turns (
	site TEXT COLLATE "C" NOT NULL,
	owner TEXT COLLATE "C" NOT NULL,
	began_at BIGINT NOT NULL,
	CONSTRAINT pk_site_turns PRIMARY KEY (site, owner)
);

CREATE TABLE skipped_fires (
	dataset_id BYTEA NOT NULL,
	fired_at BIGINT NOT NULL,
	reason TEXT COLLATE "C" NOT NULL,
	CONSTRAINT pk_skipped_fires PRIMARY KEY (dataset_id, fired_at),
	CONSTRAINT fk_skipped_fires_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE TABLE observations (
	id BYTEA NOT NULL,
	dataset_id BYTEA NOT NULL,
	run_id BYTEA NOT NULL,
	source_url TEXT COLLATE "C" NOT NULL,
	observed_at BIGINT NOT NULL,
	digest BYTEA NOT NULL,
	entries TEXT COLLATE "C" NOT NULL,
	CONSTRAINT pk_observations PRIMARY KEY (id),
	CONSTRAINT fk_observations_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE INDEX ix_observations_dataset_id ON observations (dataset_id);

CREATE TABLE rows (
	id BYTEA NOT NULL,
	dataset_id BYTEA NOT NULL,
	row_key TEXT COLLATE "C" NOT NULL,
	data TEXT COLLATE "C" NOT NULL,
	reasons TEXT COLLATE "C",
	overrides TEXT COLLATE "C",
	presence TEXT COLLATE "C" NOT NULL,
	status TEXT COLLATE "C" NOT NULL,
	revision_id BYTEA NOT NULL,
	observation_id BYTEA,
	item INTEGER,
	first_run_id BYTEA NOT NULL,
	last_run_id BYTEA NOT NULL,
	source_url TEXT COLLATE "C" NOT NULL,
	observed_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	evidence TEXT COLLATE "C",
	CONSTRAINT pk_rows PRIMARY KEY (id),
	CONSTRAINT uq_rows_dataset_id_row_key UNIQUE (dataset_id, row_key),
	CONSTRAINT fk_rows_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE INDEX ix_rows_dataset_id_updated_at_id ON rows (dataset_id, updated_at, id);

CREATE TABLE revisions (
	id BYTEA NOT NULL,
	dataset_id BYTEA NOT NULL,
	row_id BYTEA NOT NULL,
	sequence BIGINT NOT NULL,
	schema_version INTEGER NOT NULL,
	previous_id BYTEA,
	origin TEXT COLLATE "C" NOT NULL,
	kind TEXT COLLATE "C" NOT NULL,
	changed BIGINT NOT NULL,
	data TEXT COLLATE "C" NOT NULL,
	reasons TEXT COLLATE "C",
	overrides TEXT COLLATE "C",
	presence TEXT COLLATE "C" NOT NULL,
	observation_id BYTEA,
	item INTEGER,
	run_id BYTEA,
	actor_id BYTEA,
	request_id TEXT COLLATE "C",
	request_hash BYTEA,
	created_at BIGINT NOT NULL,
	was TEXT COLLATE "C",
	evidence TEXT COLLATE "C",
	CONSTRAINT pk_revisions PRIMARY KEY (id),
	CONSTRAINT uq_revisions_dataset_id_sequence UNIQUE (dataset_id, sequence),
	CONSTRAINT fk_revisions_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE INDEX ix_revisions_row_id_sequence ON revisions (row_id, sequence);

CREATE INDEX ix_revisions_run_id ON revisions (run_id) WHERE kind = 'returned';

CREATE UNIQUE INDEX uq_revisions_row_id_request_id ON revisions (row_id, request_id) WHERE request_id IS NOT NULL;

CREATE TABLE revision_fields (
	dataset_id BYTEA NOT NULL,
	position INTEGER NOT NULL,
	sequence BIGINT NOT NULL,
	CONSTRAINT pk_revision_fields PRIMARY KEY (dataset_id, position, sequence)
);

CREATE TABLE research_attempts (
	id BYTEA NOT NULL,
	run_id BYTEA NOT NULL,
	harness_version TEXT COLLATE "C" NOT NULL,
	memory BYTEA,
	started_at BIGINT NOT NULL,
	CONSTRAINT pk_research_attempts PRIMARY KEY (id),
	CONSTRAINT fk_research_attempts_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE INDEX ix_research_attempts_run_id ON research_attempts (run_id);

CREATE TABLE research_steps (
	id BYTEA NOT NULL,
	run_id BYTEA NOT NULL,
	attempt_id BYTEA NOT NULL,
	number INTEGER NOT NULL,
	step TEXT COLLATE "C" NOT NULL,
	facts BYTEA,
	started_at BIGINT NOT NULL,
	CONSTRAINT pk_research_steps PRIMARY KEY (id),
	CONSTRAINT uq_research_steps_attempt_id_number UNIQUE (attempt_id, number),
	CONSTRAINT fk_research_steps_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id),
	CONSTRAINT fk_research_steps_attempt_id_research_attempts FOREIGN KEY(attempt_id) REFERENCES research_attempts (id)
);

CREATE INDEX ix_research_steps_started_at ON research_steps (started_at);

CREATE TABLE model_calls (
	id BYTEA NOT NULL,
	run_id BYTEA NOT NULL,
	attempt_id BYTEA NOT NULL,
	step_id BYTEA NOT NULL,
	phase TEXT COLLATE "C" NOT NULL,
	took TEXT COLLATE "C" NOT NULL,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_model_calls PRIMARY KEY (id),
	CONSTRAINT fk_model_calls_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id),
	CONSTRAINT fk_model_calls_attempt_id_research_attempts FOREIGN KEY(attempt_id) REFERENCES research_attempts (id)
);

CREATE INDEX ix_model_calls_created_at ON model_calls (created_at);

CREATE INDEX ix_model_calls_run_id ON model_calls (run_id);

CREATE TABLE bodies (
	dataset_id BYTEA NOT NULL,
	hash BYTEA NOT NULL,
	used_at BIGINT NOT NULL,
	body BYTEA NOT NULL,
	CONSTRAINT pk_bodies PRIMARY KEY (dataset_id, hash),
	CONSTRAINT fk_bodies_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE INDEX ix_bodies_used_at ON bodies (used_at);

CREATE TABLE artifacts (
	id BYTEA NOT NULL,
	dataset_id BYTEA NOT NULL,
	run_id BYTEA NOT NULL,
	attempt_id BYTEA NOT NULL,
	step_id BYTEA NOT NULL,
	number INTEGER NOT NULL,
	kind TEXT COLLATE "C" NOT NULL,
	source_url TEXT COLLATE "C" NOT NULL,
	part TEXT COLLATE "C" NOT NULL,
	request_digest BYTEA NOT NULL,
	hash BYTEA NOT NULL,
	size BIGINT NOT NULL,
	kept BOOLEAN NOT NULL,
	answered_at BIGINT,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_artifacts PRIMARY KEY (id),
	CONSTRAINT uq_artifacts_run_id_number UNIQUE (run_id, number),
	CONSTRAINT fk_artifacts_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id),
	CONSTRAINT fk_artifacts_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id),
	CONSTRAINT fk_artifacts_attempt_id_research_attempts FOREIGN KEY(attempt_id) REFERENCES research_attempts (id)
);

CREATE INDEX ix_artifacts_created_at ON artifacts (created_at);

CREATE INDEX ix_artifacts_dataset_id_request_digest ON artifacts (dataset_id, request_digest);

CREATE TABLE entities (
	dataset_id BYTEA NOT NULL,
	key TEXT COLLATE "C" NOT NULL,
	number BIGINT NOT NULL,
	identity TEXT COLLATE "C" NOT NULL,
	CONSTRAINT pk_entities PRIMARY KEY (dataset_id, key),
	CONSTRAINT uq_entities_dataset_id_number UNIQUE (dataset_id, number),
	CONSTRAINT fk_entities_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE TABLE research_days (
	owner TEXT COLLATE "C" NOT NULL,
	day TEXT COLLATE "C" NOT NULL,
	tokens BIGINT NOT NULL,
	micro_usd BIGINT NOT NULL,
	stopped BIGINT NOT NULL,
	CONSTRAINT pk_research_days PRIMARY KEY (owner, day),
	CONSTRAINT fk_research_days_owner_owners FOREIGN KEY(owner) REFERENCES owners (name)
);

CREATE TABLE notices (
	id BYTEA NOT NULL,
	owner TEXT COLLATE "C" NOT NULL,
	name TEXT COLLATE "C" NOT NULL,
	channel TEXT COLLATE "C" NOT NULL,
	target TEXT COLLATE "C" NOT NULL,
	secret TEXT COLLATE "C",
	kinds TEXT COLLATE "C" NOT NULL,
	datasets TEXT COLLATE "C",
	threshold INTEGER NOT NULL,
	silent_for BIGINT,
	created_at BIGINT NOT NULL,
	ended_at BIGINT,
	change_filter TEXT COLLATE "C",
	digest TEXT COLLATE "C",
	digest_at BIGINT,
	digest_zone TEXT COLLATE "C",
	CONSTRAINT pk_notices PRIMARY KEY (id),
	CONSTRAINT uq_notices_owner_name UNIQUE (owner, name),
	CONSTRAINT fk_notices_owner_owners FOREIGN KEY(owner) REFERENCES owners (name)
);

CREATE INDEX ix_notices_digest_at ON notices (digest_at) WHERE digest_at IS NOT NULL;

CREATE TABLE notice_streams (
	notice_id BYTEA NOT NULL,
	dataset_id BYTEA NOT NULL,
	sequence BIGINT NOT NULL,
	failures INTEGER NOT NULL,
	failing BOOLEAN NOT NULL,
	silent BOOLEAN NOT NULL,
	due_at BIGINT,
	fence BIGINT NOT NULL,
	holder TEXT COLLATE "C",
	tries INTEGER NOT NULL,
	digested BIGINT,
	CONSTRAINT pk_notice_streams PRIMARY KEY (notice_id, dataset_id),
	CONSTRAINT fk_notice_streams_notice_id_notices FOREIGN KEY(notice_id) REFERENCES notices (id)
);

CREATE INDEX ix_notice_streams_due_at ON notice_streams (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE outbox (
	id BYTEA NOT NULL,
	notice_id BYTEA NOT NULL,
	dataset_id BYTEA NOT NULL,
	sequence BIGINT NOT NULL,
	kind TEXT COLLATE "C" NOT NULL,
	data TEXT COLLATE "C" NOT NULL,
	after_sequence BIGINT,
	through_sequence BIGINT,
	created_at BIGINT NOT NULL,
	status TEXT COLLATE "C" NOT NULL,
	ended_at BIGINT,
	problem TEXT COLLATE "C",
	CONSTRAINT pk_outbox PRIMARY KEY (id),
	CONSTRAINT fk_outbox_notice_id_notices FOREIGN KEY(notice_id) REFERENCES notices (id)
);

CREATE INDEX ix_outbox_status_ended_at ON outbox (status, ended_at);

CREATE UNIQUE INDEX uq_outbox_waiting ON outbox (notice_id, dataset_id, sequence) WHERE status = 'waiting';

CREATE TABLE feed_tokens (
	dataset_id BYTEA NOT NULL,
	token TEXT COLLATE "C" NOT NULL,
	created_at BIGINT NOT NULL,
	CONSTRAINT pk_feed_tokens PRIMARY KEY (dataset_id),
	CONSTRAINT fk_feed_tokens_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE TABLE shares (
	id BYTEA NOT NULL,
	owner TEXT COLLATE "C" NOT NULL,
	dataset_id BYTEA NOT NULL,
	token_hash BYTEA NOT NULL,
	label TEXT COLLATE "C",
	columns TEXT COLLATE "C",
	clauses TEXT COLLATE "C" NOT NULL,
	created_at BIGINT NOT NULL,
	revoked_at BIGINT,
	CONSTRAINT pk_shares PRIMARY KEY (id),
	CONSTRAINT fk_shares_owner_owners FOREIGN KEY(owner) REFERENCES owners (name),
	CONSTRAINT fk_shares_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE INDEX ix_shares_dataset_id ON shares (dataset_id);

CREATE UNIQUE INDEX uq_shares_token_hash ON shares (token_hash);

CREATE TABLE cursors (
	dataset_id BYTEA NOT NULL,
	name TEXT COLLATE "C" NOT NULL,
	position BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	CONSTRAINT pk_cursors PRIMARY KEY (dataset_id, name),
	CONSTRAINT fk_cursors_dataset_id_datasets FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE TABLE looks (
	id BYTEA NOT NULL,
	owner TEXT COLLATE "C" NOT NULL,
	status TEXT COLLATE "C" NOT NULL,
	wish TEXT COLLATE "C" NOT NULL,
	seen TEXT COLLATE "C",
	chosen TEXT COLLATE "C",
	tried TEXT COLLATE "C",
	error TEXT COLLATE "C",
	far TEXT COLLATE "C",
	attempt INTEGER NOT NULL,
	fence INTEGER NOT NULL,
	lease_owner TEXT COLLATE "C",
	lease_until BIGINT,
	lease_origin BIGINT,
	asked_at BIGINT NOT NULL,
	started_at BIGINT,
	dataset_id BYTEA,
	CONSTRAINT pk_looks PRIMARY KEY (id),
	CONSTRAINT fk_looks_owner_owners FOREIGN KEY(owner) REFERENCES owners (name)
);

CREATE UNIQUE INDEX uq_looks_open ON looks (owner) WHERE status IN ('queued', 'running');
