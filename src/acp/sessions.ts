// The sessions of one ACP client. Each is a conversation that the client follows.
import {
  type AgentContext,
  type ClientCapabilities,
  type ListSessionsRequest,
  type McpServer,
  methods,
  RequestError,
  type SessionInfo,
} from '@agentclientprotocol/sdk';
import type { ConversationInfo, Parley } from '../client/parley.ts';
import { type ClientFolders, type Paths, pathsOf, samePaths, workspacePath } from './clientFolders.ts';
import { readConfigOptions, toChange, toModes } from './configOptions.ts';
import { createConversation } from './newConversation.ts';
import { requestPermission } from './permissions.ts';
import { plainValues } from './plainValues.ts';
import { openSession, type Session } from './session.ts';
import { createUpdates } from './updates.ts';

/** Sessions that one client follows at the same time. */
const sessionsMax = 100;
const listedSessionsMax = 100;

interface SessionsOptions {
  readonly parley: Parley;
  readonly folders: ClientFolders | undefined;
}

interface Opening {
  readonly id: string;
  /** Whether the client gets the whole log, or only what is new. */
  readonly replay: boolean;
  readonly cwd: string;
  /** What the client is told with its first prompt. */
  readonly notes?: readonly string[];
  /** The client does not know the session before this settles. Undefined if it does. */
  readonly answered?: Promise<void>;
}

/** The connection of the client, and what it can show. */
export interface Client {
  readonly context: AgentContext;
  readonly capabilities: ClientCapabilities;
}

export type Sessions = ReturnType<typeof createSessions>;

const listedFields = ({
  conversation_id: sessionId,
  title,
  last_updated_at: updatedAt,
}: ConversationInfo) => ({
  sessionId,
  title,
  updatedAt,
});

export function createSessions({ parley, folders }: SessionsOptions) {
  const open = new Map<string, Session>();
  /** The titles of open sessions that the client knows. */
  const titles = new Map<string, string>();
  const closing = new AbortController();
  const ended = Promise.withResolvers<void>();
  let isWatching = false;
  let openingCount = 0;
  /** The sessions that are being cancelled, and whether to cancel them once more. */
  const cancelling = new Map<string, boolean>();

  /** Tells the client about new titles. Ends when the key of the client is no longer valid. */
  async function watchTitles({ context }: Client): Promise<void> {
    if (isWatching) return;
    isWatching = true;
    try {
      for await (const { conversation_id: sessionId, title, at } of parley.changes({
        signal: closing.signal,
      })) {
        if (!open.has(sessionId) || title === null || titles.get(sessionId) === title) continue;
        titles.set(sessionId, title);
        const update = { sessionUpdate: 'session_info_update' as const, title, updatedAt: at };
        await context.notify(methods.client.session.update, { sessionId, update });
      }
    } finally {
      isWatching = false;
      ended.resolve();
    }
  }

  function forget(id: string): void {
    open.get(id)?.close();
    open.delete(id);
    titles.delete(id);
  }

  /** Counts a session that is being opened, so that many at once do not exceed the limit. */
  async function withinLimit<Out>(
    id: string | undefined,
    work: (release: () => void) => Promise<Out>,
  ): Promise<Out> {
    const others = open.size - (id !== undefined && open.has(id) ? 1 : 0);
    if (others + openingCount >= sessionsMax)
      throw RequestError.invalidRequest({ sessionsMax }, 'too many sessions are open; close one first');
    openingCount += 1;
    let isHeld = true;
    const release = () => {
      if (isHeld) openingCount -= 1;
      isHeld = false;
    };
    return work(release).finally(release);
  }

  /** Follows a conversation instead of the session that followed it before, if any. */
  function keep(session: Session): void {
    forget(session.id);
    if (closing.signal.aborted) session.close();
    else open.set(session.id, session);
  }

  /** If the client opens the session in the folder of the workspace, it gets the paths of its own files. */
  async function pathsFor({ client_folder: root }: ConversationInfo, cwd: string): Promise<Paths> {
    if (folders === undefined || root === null || (await folders.findRoot(cwd)) !== root) return samePaths;
    return pathsOf(root);
  }

  /** Returns the options that the client can change. */
  async function openOne(
    client: Client,
    { id, replay, cwd, notes = [], answered }: Opening,
    release: () => void,
  ) {
    const info = await parley.conversations.get(id);
    const paths = await pathsFor(info, cwd);
    forget(id);
    const { context, capabilities } = client;
    const session = await openSession({
      parley,
      id,
      client: {
        send: async (update) => {
          await answered;
          await context.notify(methods.client.session.update, { sessionId: id, update: plainValues(update) });
        },
        requestApproval: (question, signal) =>
          requestPermission(question, { context, sessionId: id, paths, signal }),
      },
      updates: createUpdates({
        paths,
        hasNotices: capabilities.session?.notices != null,
        hasTerminals: capabilities._meta?.['terminal_output'] === true,
      }),
      paths,
      notes,
      replay,
    });
    keep(session);
    release();
    titles.set(id, info.title);
    watchTitles(client).catch(() => {
      // The client is gone, or its key is no longer valid.
    });
    if (answered === undefined)
      await session.replayed.catch((error) => {
        if (open.get(id) === session) forget(id);
        throw error;
      });
    const configOptions = await readConfigOptions(parley, info);
    return { configOptions, modes: toModes(configOptions) };
  }

  function get(id: string): Session {
    const session = open.get(id);
    if (session === undefined) throw RequestError.sessionNotFound(id);
    return session;
  }

  /** Many notifications at once cancel a session once more after the cancellation that is in progress. */
  async function cancel(id: string): Promise<void> {
    if (cancelling.has(id)) return void cancelling.set(id, true);
    do {
      cancelling.set(id, false);
      // An error would only be written to the log; the client sees that its turn goes on.
      await open
        .get(id)
        ?.cancel()
        .catch(() => {});
    } while (cancelling.get(id) === true);
    cancelling.delete(id);
  }

  async function createOne(
    client: Client,
    { cwd, servers }: { readonly cwd: string; readonly servers: readonly McpServer[] },
    release: () => void,
  ) {
    const { id, notes } = await createConversation({ parley, folders, cwd, servers });
    const answered = Promise.withResolvers<void>();
    const opening = { id, replay: true, cwd, notes, answered: answered.promise };
    try {
      return { sessionId: id, ...(await openOne(client, opening, release)) };
    } finally {
      // The response is written before then.
      setImmediate(answered.resolve);
    }
  }

  return {
    /** Resolves when the service no longer accepts the key of the client. */
    ended: ended.promise,
    get,
    cancel,
    open: (client: Client, opening: Opening) =>
      withinLimit(opening.id, (release) => openOne(client, opening, release)),

    create: (client: Client, cwd: string, servers: readonly McpServer[]) =>
      withinLimit(undefined, (release) => createOne(client, { cwd, servers }, release)),

    list: async ({ cursor, cwd }: ListSessionsRequest) => {
      const folder = cwd ? ((await folders?.findRoot(cwd)) ?? cwd) : undefined;
      const page = await parley.conversations.list({
        limit: listedSessionsMax,
        ...(cursor ? { page_id: cursor } : {}),
        ...(folder === undefined ? {} : { client_folder: folder }),
      });
      const sessions = page.results.map(
        (info): SessionInfo => ({ ...listedFields(info), cwd: cwd || (info.client_folder ?? workspacePath) }),
      );
      return { sessions, nextCursor: page.next_page_id };
    },

    change: async (id: string, configId: string, value: unknown) => {
      await parley.conversations.update(get(id).id, toChange(configId, value));
      return { configOptions: await readConfigOptions(parley, await parley.conversations.get(id)) };
    },

    /** Stops the conversation. It can be loaded again. */
    stop: async (id: string) => {
      await parley.conversations.stop(id);
      forget(id);
      return {};
    },

    delete: async (id: string) => {
      await parley.conversations.delete(id);
      forget(id);
      return {};
    },

    /** Stops following all conversations. They go on. */
    close: () => {
      closing.abort();
      for (const id of [...open.keys()]) forget(id);
    },
  };
}
