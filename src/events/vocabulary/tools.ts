// Tool calls: an action when a call begins, and an observation when it ends.
import Type from 'typebox';
import { oneOf } from '../../validation/schema.ts';
import { confirmationStates, operations, outcomes } from '../decoder/words.ts';
import { action, anyFields, Cause, observation, only, ToolCallId } from './fields.ts';

const command = { command: Type.String() };
const file = {
  path: Type.String(),
  operation: oneOf(operations),
};
const path = { path: Type.String() };
const url = { url: Type.String() };
const tool = {
  name: Type.String({ description: '`server/tool` for a tool of an MCP server.' }),
  kind: Type.Optional(
    Type.String({
      description: "The agent's own name for the kind of a tool that does not belong to an MCP server.",
    }),
  ),
  arguments: Type.Unknown(),
};

/** Fields that the action of any tool may have. */
const call = {
  diff: Type.Optional(
    Type.String({ description: 'The change that the call would make, as a unified diff.' }),
  ),
  thought: Type.String(),
  confirmation_state: Type.Optional(oneOf(confirmationStates)),
  security_risk: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2,
      description: '0: the call only reads, 1: it edits, 2: anything else.',
    }),
  ),
  request: Type.Optional(
    anyFields({
      description:
        'Everything else that the agent reported about a call that needs approval. Show all of it to the user.',
    }),
  ),
};
const ofAction = { tool_call_id: ToolCallId };
const result = { outcome: oneOf(outcomes) };
const ofResult = { tool_call_id: ToolCallId, cause: Cause };

export const RunAction = action('run', { ...command, ...call }, ofAction, {
  $id: 'RunAction',
  description: 'The agent, or the user, runs a command.',
});
export const EditAction = action('edit', { ...file, ...call }, ofAction, {
  $id: 'EditAction',
  description: 'The agent changes, deletes or moves a file.',
});
export const ReadAction = action('read', { ...path, ...call }, ofAction, {
  $id: 'ReadAction',
  description: 'The agent reads a file.',
});
export const BrowseAction = action('browse', { ...url, ...call }, ofAction, {
  $id: 'BrowseAction',
  description: 'The agent opens a URL.',
});
export const CallToolAction = action('call_tool_mcp', { ...tool, ...call }, ofAction, {
  $id: 'CallToolAction',
  description: 'The agent calls a tool of an MCP server, or another tool.',
});

export const RunObservation = observation(
  'run',
  {
    ...command,
    metadata: Type.Object({ exit_code: Type.Optional(Type.Integer()) }, only),
    ...result,
  },
  ofResult,
  { $id: 'RunObservation', description: 'The output of a command.' },
);
export const EditObservation = observation(
  'edit',
  {
    ...file,
    prev_exist: Type.Optional(Type.Boolean({ description: 'Whether the file existed before.' })),
    diff: Type.String({ description: 'The change as a unified diff; empty if the agent did not report it.' }),
    ...result,
  },
  ofResult,
  { $id: 'EditObservation', description: 'What was changed.' },
);
export const ReadObservation = observation('read', { ...path, ...result }, ofResult, {
  $id: 'ReadObservation',
  description: 'What was read.',
});
export const BrowseObservation = observation('browse', { ...url, ...result }, ofResult, {
  $id: 'BrowseObservation',
  description: 'What the URL returned.',
});
export const McpObservation = observation('mcp', { ...tool, ...result }, ofResult, {
  $id: 'McpObservation',
  description: 'What a tool returned.',
});
