// The length and size of each measurement: in full, and in a quick run that only shows that everything works.
import type { Amount } from './fillPostgres.ts';

interface Messages {
  /** Before those that are counted. */
  readonly warmups: number;
  readonly counted: number;
}

export interface Plan {
  readonly connections: readonly number[];
  /** How often the two servers of a comparison are restarted, because processes of the same program differ permanently. */
  readonly pairs: number;
  /** Turns of each server. The figure is the median of all. */
  readonly rounds: number;
  readonly roundMs: number;
  /** Before the first round of a server, which is not counted. */
  readonly warmupMs: number;
  /** At the start of each round, which is not counted either. */
  readonly settleMs: number;
  /** Creations that wait for the store at the same time. */
  readonly inFlight: number;
  readonly starts: number;
  /** Conversations of one user, few and many. */
  readonly sizes: { readonly small: number; readonly large: number };
  readonly flatness: {
    readonly rounds: number;
    readonly creations: number;
    readonly lookups: number;
  };
  readonly streams: {
    readonly audiences: readonly { readonly conversations: number; readonly readers: number }[];
    /** The delay before memory is measured. */
    readonly settleMs: number;
    /** To a conversation with few readers, and to one with many. */
    readonly messages: { readonly few: Messages; readonly many: Messages };
  };
  readonly partials: {
    /** Messages, for the delay of their first text. */
    readonly messages: number;
    /** Pieces of one long message. */
    readonly pieces: number;
    readonly audiences: readonly number[];
  };
  readonly v0Sockets: { readonly messages: number };
  readonly runs: {
    /** One after the other. */
    readonly starts: number;
    /** At the same time, for their memory. */
    readonly crowd: number;
    readonly takeovers: number;
  };
  /** Of the built-in agent, with each model API. */
  readonly agent: { readonly starts: number };
  /** Programs in each kind of sandbox. */
  readonly sandboxes: { readonly starts: number };
  /** Messages of one conversation; the first and the last are compared. */
  readonly longConversation: {
    readonly warmups: number;
    readonly messages: number;
    readonly counted: number;
  };
  /** Visits in a browser. */
  readonly page: { readonly opens: number };
  readonly gateway: {
    /** Sizes of a request, for one connection; the first also for the streams. */
    readonly bodyBytes: readonly number[];
    readonly warmups: number;
    readonly requests: number;
    readonly streams: number;
    readonly rounds: number;
    readonly pieces: number;
    readonly everyMs: number;
  };
  /** Beside pgbench, in turns of whole seconds, in which pgbench also connects. */
  readonly pgbench: { readonly connections: number; readonly turns: number; readonly turnMs: number };
  /** Several processes on one PostgreSQL. */
  readonly cluster: {
    readonly processes: readonly number[];
    readonly small: Amount;
    readonly large: Amount;
    /** How many users send requests: a multiple of `connections`, so that no two connections share a user. */
    readonly activeUsers: number;
    readonly connections: number;
    readonly turns: number;
    readonly turnMs: number;
    /** Leases of so many running conversations are renewed so many times. */
    readonly renewals: { readonly runs: number; readonly rounds: number };
    readonly streams: Messages & { readonly conversations: number; readonly readers: number };
  };
  readonly append: { readonly connections: number; readonly rounds: number };
  readonly fairness: {
    readonly rounds: number;
    /** In a round. */
    readonly claims: number;
    /** Users with one conversation beside the one with a long queue. */
    readonly users: number;
  };
  readonly list: {
    readonly rounds: number;
    /** Pages in a round at the store. */
    readonly pages: number;
    /** Searches that find nothing. */
    readonly searches: number;
  };
}

export const fullPlan: Plan = {
  connections: [1, 64, 256],
  pairs: 5,
  // Turns are short, so that short disturbances affect both sides of a ratio.
  rounds: 12,
  roundMs: 250,
  warmupMs: 1_500,
  settleMs: 100,
  inFlight: 256,
  starts: 5,
  sizes: { small: 1_000, large: 1_000_000 },
  flatness: { rounds: 7, creations: 1_000, lookups: 5_000 },
  streams: {
    audiences: [
      { conversations: 1, readers: 1 },
      { conversations: 1, readers: 100 },
      { conversations: 1, readers: 10_000 },
      { conversations: 1_000, readers: 10_000 },
    ],
    settleMs: 3_000,
    messages: { few: { warmups: 2_000, counted: 1_000 }, many: { warmups: 10, counted: 40 } },
  },
  partials: { messages: 200, pieces: 400, audiences: [1, 1_000] },
  v0Sockets: { messages: 200 },
  runs: { starts: 30, crowd: 40, takeovers: 3 },
  agent: { starts: 10 },
  sandboxes: { starts: 20 },
  longConversation: { warmups: 50, messages: 2_000, counted: 100 },
  page: { opens: 10 },
  gateway: {
    bodyBytes: [2_000, 200_000],
    warmups: 300,
    requests: 1_500,
    streams: 100,
    rounds: 3,
    pieces: 200,
    everyMs: 20,
  },
  pgbench: { connections: 64, turns: 7, turnMs: 4_000 },
  cluster: {
    processes: [1, 2, 4],
    small: { users: 1_000, conversations: 10_000 },
    large: { users: 100_000, conversations: 1_000_000 },
    activeUsers: 960,
    connections: 64,
    turns: 4,
    turnMs: 2_500,
    renewals: { runs: 1_000, rounds: 20 },
    streams: { conversations: 100, readers: 1_000, warmups: 100, counted: 300 },
  },
  append: { connections: 64, rounds: 24 },
  fairness: { rounds: 9, claims: 50, users: 60 },
  list: { rounds: 6, pages: 1_000, searches: 10 },
};

export const quickPlan: Plan = {
  connections: [64],
  pairs: 1,
  rounds: 2,
  roundMs: 300,
  warmupMs: 300,
  settleMs: 50,
  inFlight: 256,
  starts: 2,
  sizes: { small: 1_000, large: 10_000 },
  flatness: { rounds: 3, creations: 500, lookups: 1_000 },
  streams: {
    audiences: [
      { conversations: 1, readers: 1 },
      { conversations: 1, readers: 10_000 },
      { conversations: 1_000, readers: 10_000 },
    ],
    settleMs: 1_500,
    messages: { few: { warmups: 300, counted: 200 }, many: { warmups: 5, counted: 10 } },
  },
  partials: { messages: 20, pieces: 80, audiences: [1, 1_000] },
  v0Sockets: { messages: 50 },
  runs: { starts: 5, crowd: 10, takeovers: 1 },
  agent: { starts: 2 },
  sandboxes: { starts: 3 },
  longConversation: { warmups: 10, messages: 200, counted: 20 },
  page: { opens: 2 },
  gateway: {
    bodyBytes: [2_000, 200_000],
    warmups: 50,
    requests: 200,
    streams: 100,
    rounds: 1,
    pieces: 100,
    everyMs: 20,
  },
  pgbench: { connections: 64, turns: 1, turnMs: 4_000 },
  cluster: {
    processes: [1, 2],
    small: { users: 1_000, conversations: 2_000 },
    large: { users: 2_000, conversations: 20_000 },
    activeUsers: 960,
    connections: 64,
    turns: 1,
    turnMs: 1_000,
    renewals: { runs: 100, rounds: 2 },
    streams: { conversations: 10, readers: 100, warmups: 5, counted: 20 },
  },
  append: { connections: 64, rounds: 2 },
  fairness: { rounds: 3, claims: 20, users: 40 },
  list: { rounds: 2, pages: 200, searches: 2 },
};
