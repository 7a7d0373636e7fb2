// A session: its journal, its tools and its turns.
import { randomUUID } from 'node:crypto';
import type { ContentBlock, McpServer, StopReason } from '@agentclientprotocol/sdk';
import { asNotice } from '../acp/agentNotices.ts';
import type { RecordedTurn } from '../acp/recordedTurns.ts';
import type { AcpClient } from './client.ts';
import type { AgentConfig } from './config.ts';
import { createJournal, type Journal, resumeJournal } from './journal.ts';
import { type Knowledge, readKnowledge } from './knowledge.ts';
import { type McpServers, openMcpServers } from './mcpServers.ts';
import { findModel, type Model } from './model.ts';
import { readInstructions, systemPrompt } from './system.ts';
import { createToolbox, type Toolbox } from './tools/toolbox.ts';
import { firstWordsOf, toMessage } from './userMessage.ts';

interface SessionOptions {
  readonly config: AgentConfig;
  readonly home: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly mcpServers: readonly McpServer[];
  readonly retryMs?: number;
}

export interface Session {
  readonly id: string;
  /** Handles one prompt at a time. Rejects with a message for the user. `turn` is written to the journal. */
  prompt(blocks: readonly ContentBlock[], client: AcpClient, turn?: number): Promise<StopReason>;
  /** The last turn in its journal; null if that is empty, undefined if its turns have no numbers. */
  recordedTurn(): RecordedTurn;
  cancel(): void;
  /** Ends every process that the session has started. */
  close(): Promise<void>;
}

/** Loads large modules while the service still prepares the first message. */
function loadParts() {
  const loading = Promise.all([
    import('./turn.ts'),
    import('./title.ts'),
    import('./condense.ts'),
    import('./searchAgent.ts'),
  ]).then(([{ takeTurn }, { findTitle }, { createCondenser }, { createSearchAgent }]) => ({
    takeTurn,
    findTitle,
    createSearchAgent,
    condenser: createCondenser(),
  }));
  loading.catch(() => {
    // The error is thrown when the parts are used.
  });
  return loading;
}

const remedy =
  'Change your settings in the web UI, with PATCH /api/settings, or on the machine where Parley runs: `./parley settings set llm_model anthropic/claude-sonnet-4-5` and `./parley settings set llm_api_key < key.txt`. Then send your message again.';

interface Opened extends SessionOptions {
  readonly id: string;
  readonly journal: Journal;
}

function open({ id, journal, config, home, cwd, env, mcpServers, retryMs }: Opened): Session {
  const parts = loadParts();
  const allowed = new Set<string>();
  let faultsReported = false;
  let client: AcpClient | undefined;
  const toolbox: Toolbox = createToolbox({
    env,
    onPlan: (steps) => {
      const entries = steps.map((step) => ({ ...step, priority: 'medium' as const }));
      void client?.send({ sessionUpdate: 'plan', entries });
    },
  });
  const servers: Promise<McpServers> = openMcpServers({ servers: mcpServers, cwd, env });
  const knowledge: Promise<Knowledge> = readKnowledge(cwd);
  // Read before anything runs that could write there.
  const instructions = readInstructions(home);
  let turn: AbortController | undefined;

  async function giveTitle(model: Model, said: string, to: AcpClient, signal: AbortSignal): Promise<void> {
    const { findTitle } = await parts;
    const title = await findTitle(model, said, signal);
    if (title !== undefined) await to.send({ sessionUpdate: 'session_info_update', title });
  }

  async function work(
    model: Model,
    blocks: readonly ContentBlock[],
    to: AcpClient,
    signal: AbortSignal,
    turnNumber: number | undefined,
  ): Promise<StopReason> {
    const { always, triggeredBy } = await knowledge;
    const said = toMessage(blocks, { triggeredBy, seesImages: model.seesImages });
    const words = firstWordsOf(blocks);
    const { takeTurn, createSearchAgent, condenser } = await parts;
    const { tools: remoteTools, faults } = await servers;
    const text = faults.join('\n');
    if (!faultsReported && text !== '')
      await to.send({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text }, ...asNotice });
    faultsReported = true;
    if (journal.messages.length === 0) void giveTitle(model, words, to, signal);
    const system = systemPrompt({ cwd, instructions: await instructions, knowledge: always });
    const searchAgent = createSearchAgent({ model, tools: toolbox.readers, retryMs });
    const tools = [...toolbox.tools, searchAgent, ...remoteTools];
    const needs = {
      sessionId: id,
      config,
      model,
      system,
      cwd,
      journal,
      tools,
      client: to,
      signal,
      allowed,
      condenser,
      retryMs,
    };
    return takeTurn(needs, said, turnNumber);
  }

  return {
    id,
    prompt: async (blocks, to, turnNumber) => {
      client = to;
      // Created first, because the turn may be cancelled at any time.
      turn = new AbortController();
      const { signal } = turn;
      try {
        const model = await findModel(config, signal);
        if ('fault' in model) throw new Error(`${model.fault}\n\n${remedy}`);
        return await work(model, blocks, to, signal, turnNumber);
      } catch (error) {
        if (signal.aborted) return 'cancelled';
        throw error;
      }
    },
    recordedTurn: journal.recordedTurn,
    cancel: () => turn?.abort(),
    close: async () => {
      // Closed first: the user has not stopped anything, so the journal must not say that.
      journal.close();
      turn?.abort();
      await toolbox.close();
      await (await servers).close();
    },
  };
}

export function createSession(options: SessionOptions): Session {
  const id = randomUUID();
  return open({ ...options, id, journal: createJournal(options.home, id) });
}

/** Returns undefined if there is no journal for this id. */
export function resumeSession(options: SessionOptions, id: string): Session | undefined {
  const journal = resumeJournal(options.home, id);
  return journal && open({ ...options, id, journal });
}
