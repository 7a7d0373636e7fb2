// The stored rows. Times are milliseconds since 1970 by the database's clock, except for the use and expiry of keys,
// which the checking process decides.
import type { Generated } from 'kysely';

export interface Tables {
  users: {
    id: Generated<number>;
    name: string;
    created_at: number;
    disabled_at: number | null;
    removed_at: number | null;
    /** When the deletion of what the user owned began, after which the user cannot be restored. */
    purging_at: number | null;
    /** When nothing was left. The row stays without its name, so that the id is never used again. */
    purged_at: number | null;
    /** In billionths of a US dollar. Null means the budget of all users, 0 no limit. */
    budget_day_nanos: number | null;
    budget_month_nanos: number | null;
  };
  /** What users have spent on models. A day is the number of days since 1970, in UTC. */
  spending: { user_id: number; day: number; cost_nanos: number };
  /** What open model requests of users with a budget may cost. They count while the run has its conversation. */
  budget_reservations: {
    id: string;
    user_id: number;
    conversation_key: number;
    run_id: string;
    cost_nanos: number;
  };
  keys: {
    id: string;
    user_id: number;
    kind: string;
    name: string;
    hash: string;
    scopes: string;
    /** 1 if the key is also accepted as Authorization: Bearer on every route. */
    bearer: Generated<number>;
    created_at: number;
    expires_at: number | null;
    last_used_at: number | null;
    revoked_at: number | null;
  };
  /** Accounts at an OpenID Connect provider. Issuer and subject identify the account; the rest may change. */
  identities: {
    id: string;
    user_id: number;
    issuer: string;
    subject: string;
    name: string | null;
    email: string | null;
    created_at: number;
    signed_in_at: number | null;
  };
  /** Who is signed in. A session is a credential like a key; ended ones are kept for a while. */
  sessions: {
    id: string;
    user_id: number;
    identity_id: string;
    /** The hash of the sign-in that created it, so that none can be used twice. */
    sign_in: string;
    hash: string;
    scopes: string;
    /** What the browser calls itself. */
    browser: string;
    created_at: number;
    last_used_at: number;
    /** When it ends unless it is used; each use extends it up to `ends_at`. */
    expires_at: number;
    ends_at: number;
    ended_at: number | null;
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
    /** The current run, whose id is part of all its writes. */
    run_id: string | null;
    /** The process of that run. */
    owner: string | null;
    lease_until: number | null;
    /** `stop` means that the run must end and release the conversation. */
    wanted: string | null;
    /** When the run claimed it. */
    claimed_at: number | null;
    /** Last progress of the run. */
    active_at: number | null;
    /** When somebody last followed it with a stream or a socket, to within a few seconds. */
    followed_at: number | null;
    /** How many commands of the user the run has not answered yet. */
    commands: Generated<number>;
    /** The first event that may be such a command; null if there is none. */
    command_from: number | null;
    /** The id of its agent, chosen by its user or set when the first session is opened. */
    agent: string | null;
    /** The model that its user chose for it; null means the one in the settings. */
    llm_model: string | null;
    /** 1 or 0: whether its user has to approve actions. Null means what the settings say. */
    confirmation_mode: number | null;
    /** The folder on the client's machine that the workspace corresponds to. */
    client_folder: string | null;
    /** The agent's own id of the session, for resuming it. */
    agent_session: string | null;
    /** A JSON list of the tool kinds that the user has always allowed. */
    always_allowed: string | null;
    /** The machine that stores the workspace. */
    workspace_node: string | null;
    /** That machine and the volume or pod with the workspace, if it is in a cluster. */
    workspace_volume: string | null;
    /** While it waits for a worker: the only machine that may take it. Empty means any. */
    reserved_for: Generated<string>;
    reserved_until: Generated<number>;
    /** The agent was given the user's events below this id. */
    heard: Generated<number>;
    /** The event id after the newest user message. If it is above `heard`, that message is unanswered. */
    said: Generated<number>;
    /** The user has cancelled the turn or the messages before this event id. */
    cancelled: Generated<number>;
    /** 1 while the agent works on a turn. */
    turn_open: Generated<number>;
    /** The first event of the unfinished turn; the turn's messages are between it and `heard`. */
    turn_from: number | null;
    /** The `next_event` when the agent's session was opened; null once the session has completed a turn. */
    session_from: number | null;
    /** The event of the open approval request. */
    question: number | null;
    /** How many steps the run has recorded, so that a repeated step is recorded once. */
    steps: Generated<number>;
    /** The `next_event` when the last of these steps was recorded: the id of its first event. */
    step_from: number | null;
    /** How many runs have claimed it since one made progress. */
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
    /** 1 if its user has pinned or archived it. */
    pinned: Generated<number>;
    archived: Generated<number>;
    /** The event id after the last one that its user has seen. Null in conversations of older versions, which count as read. */
    seen: Generated<number | null>;
    /** The trace of the last request that gave it work; null unless traces are recorded. */
    traceparent: string | null;
    /** The conversation that it was forked from, and the last event of it that was copied. */
    forked_from: string | null;
    forked_event: number | null;
  };
  /** The place is too large for a JavaScript number, so only the database creates and splits it. */
  events: { place: number; json: string };
  idempotency: {
    user_id: number;
    key_hash: string;
    fingerprint: string;
    conversation_id: string;
    /** The event of a message; null for a creation. */
    event_id: number | null;
    expires_at: number;
  };
  /** Conversations whose import or fork is in progress: see the stores in `conversations/import` and `conversations/fork`. */
  imports: {
    user_id: number;
    conversation_id: string;
    conversation_key: number;
    next_event: number;
    /** When the last events were copied, if it is a fork; null if it is an import. */
    forked_at: number | null;
  };
  /** Changes to the conversations of a user, for subscribers. The engines number them differently. */
  changes: { user_id: number; id: Generated<number>; at: number; json: string };
  webhooks: {
    id: string;
    user_id: number;
    /** Masked if it is a credential: then it is encrypted with the secret. */
    url: string;
    events: string;
    sealed: string;
    description: string | null;
    created_at: number;
    format: Generated<string>;
  };
  /** Webhook deliveries that are pending or have failed for good. */
  deliveries: {
    id: string;
    webhook_id: string;
    user_id: number;
    conversation_key: number;
    conversation_id: string;
    type: string;
    /** The payload, except for what is read from the log when it is sent. */
    payload: string | null;
    event_id: number | null;
    created_at: number;
    state: string;
    /** When it entered this state, or was redelivered. */
    since: number;
    attempts: number;
    /** When to send it; while it is being sent, when that counts as failed. */
    next_at: number;
    last_status: number | null;
    last_error: string | null;
  };
  /** The running processes of a cluster. Processes that share a data folder have the same node id. */
  nodes: {
    process_id: string;
    node_id: string;
    url: string;
    seen_at: number;
    /** 1 if the process answers API requests and is not stopping. */
    serves: Generated<number>;
    /** 1 if the process runs conversations and is not stopping. */
    takes_work: Generated<number>;
    /** Empty for processes of older versions. */
    version: Generated<string>;
    /** How many conversations it runs at most. */
    slots: Generated<number>;
    /** The id of its snapshot store, `off` or `unusable`; empty if that is unknown. */
    snapshot_store: Generated<string>;
  };
  /** Uploaded files that wait for the start of their conversation. They are on the node. */
  uploads: {
    id: string;
    conversation_key: number;
    user_id: number;
    node_id: string;
    files: number;
    bytes: number;
    created_at: number;
  };
  /** Patches that workspaces start with, in Base64. They are kept for workspaces that have to be created again. */
  workspace_patches: { conversation_key: number; patch: string };
  /** Where the files of a conversation are in the snapshot store. It exists before the first blob does. */
  snapshots: {
    /** The name of the folder of its blobs, too. */
    id: string;
    conversation_key: number;
    user_id: number;
    conversation_id: string;
    /** The key that encrypts the blobs. */
    sealed: string;
    /** The blob that lists all others; null until the first snapshot is complete. */
    blob: string | null;
    /** When its files were copied, in milliseconds since 1970. */
    taken_at: number | null;
    /** What the agent had been given by then: see `heard` of a conversation. */
    heard: number | null;
    created_at: number;
    /** Since when nobody needs it. Its blobs are removed, and then the row. */
    removed_at: number | null;
    /**
     * The snapshot of another conversation that a fork starts with, and the blob of it that lists the others. Null once
     * the fork has a snapshot of its own. The blobs of the other one are kept until then.
     */
    source_id: string | null;
    source_blob: string | null;
  };
  /** The files after each of the last turns of a conversation. */
  snapshot_turns: {
    snapshot_id: string;
    /** The agent was given what the user said from `given_from` on and before `heard` in this turn, or before it. */
    heard: number;
    given_from: number;
    blob: string;
    taken_at: number;
  };
  /** What users think of their conversations. */
  feedback: {
    id: string;
    user_id: number;
    conversation_key: number;
    conversation_id: string;
    polarity: string;
    comment: string;
    email: string;
    version: string;
    permissions: string;
    created_at: number;
  };
  /** Events below `next_event`, and this title, are in the search index. */
  search_positions: { conversation_key: number; next_event: number; title: string };
  /** The words of events and titles, see `conversations/search/indexStore.ts`. The engines store them differently. */
  search_documents: { place: number; words: string };
  facts: { name: string; value: string };
  audit: {
    id: Generated<number>;
    at: number;
    user_id: number;
    key_id: string;
    action: string;
    subject: string;
  };
  migrations: { name: string; applied_at: number; kind: Generated<string> };
}
