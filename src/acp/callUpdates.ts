// The updates about tool calls: what runs, what it prints while it runs, and how it ended.
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { LRUCache } from 'lru-cache';
import type { PartialEvent } from '../client/parley.ts';
import { joinPartial, type OpenText } from '../events/decoder/openTexts.ts';
import type { Paths } from './clientFolders.ts';
import { callIdOf, type ToolAction, type ToolObservation, toToolCall, toToolCallEnd } from './toolCalls.ts';

/** How many calls of a session are known at the same time. */
const callsMax = 200;
/** The part of the output of a running command that is sent with each update. */
const liveOutputCharsMax = 8 * 1_024;

export interface CallUpdatesOptions {
  readonly paths: Paths;
  /**
   * Whether the client shows the output of commands in terminals of its own. It then gets only what was added, in the
   * `_meta` fields that Zed has introduced.
   */
  readonly hasTerminals: boolean;
}

interface KnownCall {
  readonly isTerminal: boolean;
  /** Up to which position the terminal of the client has the output. */
  writtenTo: number;
}

function terminalOutput(toolCallId: string, data: string): SessionUpdate[] {
  if (data === '') return [];
  const _meta = { terminal_output: { terminal_id: toolCallId, data } };
  return [{ sessionUpdate: 'tool_call_update', toolCallId, _meta }];
}

export function createCallUpdates({ paths, hasTerminals }: CallUpdatesOptions) {
  const outputs = new LRUCache<string, OpenText>({ max: callsMax });
  /** The calls that the client knows. Output may come before the event that announces its call. */
  const calls = new LRUCache<string, KnownCall>({ max: callsMax });

  function liveOutput(toolCallId: string): SessionUpdate[] {
    const [output, call] = [outputs.get(toolCallId), calls.get(toolCallId)];
    if (output === undefined || call === undefined) return [];
    if (!call.isTerminal) {
      const text = output.text.slice(-liveOutputCharsMax);
      const content = [{ type: 'content' as const, content: { type: 'text' as const, text } }];
      return [{ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress', content }];
    }
    const added = output.text.slice(Math.max(0, call.writtenTo - output.from));
    call.writtenTo = Math.max(call.writtenTo, output.from + output.text.length);
    return terminalOutput(toolCallId, added);
  }

  /** What a terminal lacks at the end: nothing if the log has only a part of the output that it shows. */
  function restOf(toolCallId: string, whole: string): string {
    const [output, writtenTo = 0] = [outputs.get(toolCallId), calls.get(toolCallId)?.writtenTo];
    if (writtenTo === 0) return whole;
    return output !== undefined && whole.startsWith(output.text, output.from) ? whole.slice(writtenTo) : '';
  }

  return {
    begin: (event: ToolAction): SessionUpdate[] => {
      const call = toToolCall(event, paths);
      const id = call.toolCallId;
      const isTerminal = hasTerminals && event.type === 'action.run';
      calls.set(id, { isTerminal, writtenTo: calls.get(id)?.writtenTo ?? 0 });
      const terminal = isTerminal && {
        content: [{ type: 'terminal' as const, terminalId: id }],
        _meta: { terminal_info: { terminal_id: id } },
      };
      return [{ sessionUpdate: 'tool_call', ...call, ...terminal }, ...liveOutput(id)];
    },

    output: (partial: PartialEvent): SessionUpdate[] => {
      const output = joinPartial(outputs.get(partial.of), partial);
      if (output === undefined) return [];
      outputs.set(partial.of, output);
      return liveOutput(partial.of);
    },

    end: (event: ToolObservation): SessionUpdate[] => {
      const id = callIdOf(event);
      const { content, ...end } = toToolCallEnd(event, paths);
      const isTerminal = calls.get(id)?.isTerminal === true && event.type === 'observation.run';
      const rest = isTerminal ? terminalOutput(id, restOf(id, event.content)) : [];
      outputs.delete(id);
      if (!isTerminal) return [{ sessionUpdate: 'tool_call_update', ...end, ...(content && { content }) }];
      const exit = { terminal_id: id, exit_code: event.extras.metadata?.exit_code ?? null, signal: null };
      return [...rest, { sessionUpdate: 'tool_call_update', ...end, _meta: { terminal_exit: exit } }];
    },
  };
}
