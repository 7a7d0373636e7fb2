// The rows as they are stored. Times are milliseconds since 1970: by the database's clock, but for the use and the
// end of keys, which the process decides that checks them.
import type { Generated } from 'kysely';

export interface Tables {
  users: { id: Generated<number>; name: string; created_at: number };
  keys: {
    id: string;
    user_id: number;
    kind: string;
    name: string;
    hash: string;
    scopes: string;
    created_at: number;
    expires_at: number | null;
    last_used_at: number | null;
    revoked_at: number | null;
  };
  settings: { user_id: number; version: number; document: string; updated_at: number };
  secrets: {
    user_id: number;
    kind: string;
    name: string;
    sealed: string;
    host: string | null;
    description: string | null;
  };
  conversations: {
    key: Generated<number>;
    user_id: number;
    id: string;
    fingerprint: string;
    status: string;
    title: string;
    trigger: string;
    repository: string | null;
    branch: string | null;
    git_provider: string | null;
    request: string;
    sealed: string | null;
    next_event: number;
    created_at: number;
    updated_at: number;
    /** The progress of the start, or why the conversation waits. */
    runtime_status: string | null;
    stop_code: string | null;
    stop_sentence: string | null;
    /** The run that has it now; what it writes carries this. */
    run_id: string | null;
    /** The process of that run. */
    owner: string | null;
    lease_until: number | null;
    /** `stop`: the run is to end, and gives the conversation free. */
    wanted: string | null;
    /** When the run took it. */
    claimed_at: number | null;
    /** Last progress of the run. */
    active_at: number | null;
    /** The id of its agent, set when the first session is opened. */
    agent: string | null;
    /** The agent's own name for the session, by which it can be resumed. */
    agent_session: string | null;
    /** A JSON list of the tool kinds that the user has always allowed. */
    always_allowed: string | null;
    /** The machine that has the workspace. */
    workspace_node: string | null;
    /** Events of the user below this one were given to the agent. */
    heard: Generated<number>;
    /** The event id after the newest user message. If it is above `heard`, that message is unanswered. */
    said: Generated<number>;
    /** 1: the agent works on what it was given. */
    turn_open: Generated<number>;
    /** The first event of the unfinished turn; the turn's messages are between it and `heard`. */
    turn_from: number | null;
    /** The `next_event` when the agent's session was opened; null once the session has completed a turn. */
    session_from: number | null;
    /** The event that asks the user, while it waits for the answer. */
    question: number | null;
    /** Steps that the run has recorded: one that is sent again is not recorded again. */
    steps: Generated<number>;
    /** The `next_event` when the last of these steps was recorded: the id of its first event. */
    step_from: number | null;
    /** Runs that took it since one got on. */
    claims: Generated<number>;
    /** How many of these runs ended with an uncaught error. */
    crashes: Generated<number>;
    model_requests: Generated<number>;
    input_tokens: Generated<number>;
    output_tokens: Generated<number>;
    cache_read_tokens: Generated<number>;
    cache_write_tokens: Generated<number>;
    /** In billionths of a US dollar. */
    cost_nanos: Generated<number>;
  };
  /** The place is too large for a number of JavaScript: it is made and taken apart by the database alone. */
  events: { place: number; json: string };
  idempotency: {
    user_id: number;
    key_hash: string;
    fingerprint: string;
    conversation_id: string;
    expires_at: number;
  };
  /** What happened to conversations of a user, for those who follow. The engines number it in their own ways. */
  changes: { user_id: number; id: Generated<number>; at: number; json: string };
  webhooks: {
    id: string;
    user_id: number;
    url: string;
    events: string;
    sealed: string;
    description: string | null;
    created_at: number;
  };
  /** Messages that were not delivered yet, or were given up. */
  deliveries: {
    id: string;
    webhook_id: string;
    user_id: number;
    conversation_key: number;
    conversation_id: string;
    type: string;
    /** Of a status; events are read when they are sent. */
    payload: string | null;
    event_id: number | null;
    created_at: number;
    state: string;
    /** When it came into this state, or was asked for again. */
    since: number;
    attempts: number;
    /** When to send it; for one that is being sent, when that is held to have failed. */
    next_at: number;
    last_status: number | null;
    last_error: string | null;
  };
  facts: { name: string; value: string };
  audit: {
    id: Generated<number>;
    at: number;
    user_id: number;
    key_id: string;
    action: string;
    subject: string;
  };
  migrations: { name: string; applied_at: number };
}
