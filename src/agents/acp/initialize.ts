// Initializes an agent: checks its protocol version, reads its capabilities, and logs in if it requires that.
import type { AgentCapabilities } from '@agentclientprotocol/sdk';
import { version } from '../../process/version.ts';
import { isObject, textOf } from '../../text/foreignText.ts';
import { AgentError, quote } from './errors.ts';
import type { Params, Peer } from './peer.ts';

const protocolVersion = 1;

/** Sends a request with a timeout. A response that is not an object counts as empty. */
export type TimedRequest = (method: string, params: Params) => Promise<Params>;

export function createTimedRequest(peer: Peer, withinMs: number): TimedRequest {
  return async (method, params) => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const sentence = `The agent did not answer ${method} within ${withinMs / 1_000} s.`;
      late.reject(new AgentError('too_slow', sentence));
    }, withinMs);
    try {
      const answer = await Promise.race([peer.request(method, params), late.promise]);
      return isObject(answer) ? answer : {};
    } finally {
      clearTimeout(timer);
    }
  };
}

export async function initialize(
  request: TimedRequest,
  authMethod: string | undefined,
): Promise<AgentCapabilities> {
  const answer = await request('initialize', {
    protocolVersion,
    clientInfo: { name: 'parley', version },
    // The agent accesses files and terminals in its sandbox by itself.
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  });
  const { protocolVersion: spoken, agentCapabilities } = answer;
  if (spoken !== protocolVersion)
    throw new AgentError(
      'protocol',
      `The agent speaks version ${quote(textOf(spoken))} of its protocol, but Parley speaks version ${protocolVersion}.`,
    );
  if (authMethod !== undefined) await request('authenticate', { methodId: authMethod });
  return (isObject(agentCapabilities) ? agentCapabilities : {}) as AgentCapabilities;
}
