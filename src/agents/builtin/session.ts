// A session: what it remembers, its tools, and one turn after the other.
import { randomUUID } from 'node:crypto';
import type { ContentBlock, McpServer, StopReason } from '@agentclientprotocol/sdk';
import { asNotice } from '../acp/agentNotices.ts';
import type { RecordedTurn } from '../acp/recordedTurns.ts';
import type { Client } from './client.ts';
import type { AgentConfig } from './config.ts';
import { createJournal, type Journal, resumeJournal } from './journal.ts';
import { type Knowledge, readKnowledge } from './knowledge.ts';
import { findModel, type Model } from './model.ts';
import { readInstructions, systemPrompt } from './system.ts';
import { openToolServers, type ToolServers } from './toolServers.ts';
import { createToolbox, type Toolbox } from './tools/toolbox.ts';
import { firstWordsOf, toMessage } from './userMessage.ts';

interface SessionOptions {
  readonly config: AgentConfig;
  readonly home: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly mcpServers: readonly McpServer[];
  readonly askAgainMs?: number;
}

export interface Session {
  readonly id: string;
  /** Takes one prompt at a time. Rejects with a message for the user. `turn` is written to the journal. */
  prompt(blocks: readonly ContentBlock[], client: Client, turn?: number): Promise<StopReason>;
  /** The last turn in its journal; null if that is empty, undefined if its turns have no numbers. */
  notedTurn(): RecordedTurn;
  cancel(): void;
  /** Nothing that it started is alive then. */
  close(): Promise<void>;
}

/** What is large is loaded while the service still prepares its first message. */
function loadParts() {
  const loading = Promise.all([import('./turn.ts'), import('./title.ts'), import('./condense.ts')]).then(
    ([{ takeTurn }, { findTitle }, { createCondenser }]) => ({
      takeTurn,
      findTitle,
      condenser: createCondenser(),
    }),
  );
  loading.catch(() => {
    // Whoever needs them hears of it.
  });
  return loading;
}

const remedy =
  'Settings are changed under Settings on the page, with PATCH /api/settings, or on the machine of the service: `./parley settings set llm_model anthropic/claude-sonnet-4-5` and `./parley settings set llm_api_key < key.txt`. Then send your message again.';

async function sayFault(fault: string, client: Client): Promise<StopReason> {
  const text = `I cannot start: ${fault}\n\n${remedy}`;
  await client.tell({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  return 'end_turn';
}

interface Opened extends SessionOptions {
  readonly id: string;
  readonly journal: Journal;
}

function open({ id, journal, config, home, cwd, env, mcpServers, askAgainMs }: Opened): Session {
  const parts = loadParts();
  const allowed = new Set<string>();
  let faultsTold = false;
  let client: Client | undefined;
  const toolbox: Toolbox = createToolbox({
    env,
    onPlan: (steps) => {
      const entries = steps.map((step) => ({ ...step, priority: 'medium' as const }));
      void client?.tell({ sessionUpdate: 'plan', entries });
    },
  });
  const servers: Promise<ToolServers> = openToolServers({ servers: mcpServers, cwd, env });
  const knowledge: Promise<Knowledge> = readKnowledge(cwd);
  // Before anything else runs that could write there.
  const instructions = readInstructions(home);
  let turn: AbortController | undefined;

  async function giveTitle(model: Model, said: string, to: Client, signal: AbortSignal): Promise<void> {
    const { findTitle } = await parts;
    const title = await findTitle(model, said, signal);
    if (title !== undefined) await to.tell({ sessionUpdate: 'session_info_update', title });
  }

  async function work(
    model: Model,
    blocks: readonly ContentBlock[],
    to: Client,
    signal: AbortSignal,
    turnNumber: number | undefined,
  ): Promise<StopReason> {
    const { always, calledFor } = await knowledge;
    const said = toMessage(blocks, { calledFor, seesImages: model.seesImages });
    const words = firstWordsOf(blocks);
    const { takeTurn, condenser } = await parts;
    const { tools: remoteTools, faults } = await servers;
    const text = faults.join('\n');
    if (!faultsTold && text !== '')
      await to.tell({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text }, ...asNotice });
    faultsTold = true;
    if (journal.messages.length === 0) void giveTitle(model, words, to, signal);
    const system = systemPrompt({ cwd, instructions: await instructions, knowledge: always });
    const tools = [...toolbox.tools, ...remoteTools];
    const needs = {
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
      askAgainMs,
    };
    return takeTurn(needs, said, turnNumber);
  }

  return {
    id,
    prompt: async (blocks, to, turnNumber) => {
      client = to;
      // Before all else: it may be cancelled at any time.
      turn = new AbortController();
      const { signal } = turn;
      try {
        const model = await findModel(config, signal);
        if ('fault' in model) return await sayFault(model.fault, to);
        return await work(model, blocks, to, signal, turnNumber);
      } catch (error) {
        if (signal.aborted) return 'cancelled';
        throw error;
      }
    },
    notedTurn: journal.notedTurn,
    cancel: () => turn?.abort(),
    close: async () => {
      // First: what ends now was stopped by nobody, and the next agent must not read that it was.
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

/** Undefined where the home does not know it. */
export function resumeSession(options: SessionOptions, id: string): Session | undefined {
  const journal = resumeJournal(options.home, id);
  return journal && open({ ...options, id, journal });
}
