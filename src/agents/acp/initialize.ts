// The first words with an agent: which version it speaks, what it can do, and a login where it wants one.
import type { AgentCapabilities } from '@agentclientprotocol/sdk';
import { version } from '../../process/version.ts';
import { isObject, textOf } from '../../text/foreignText.ts';
import { AgentError, quote } from './errors.ts';
import type { Params, Peer } from './peer.ts';

const protocolVersion = 1;

/** A request that must be answered in time. An answer that is no object counts as an empty one. */
export type Ask = (method: string, params: Params) => Promise<Params>;

export function createAsk(peer: Peer, withinMs: number): Ask {
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

export async function initialize(ask: Ask, authMethod: string | undefined): Promise<AgentCapabilities> {
  const answer = await ask('initialize', {
    protocolVersion,
    clientInfo: { name: 'parley', version },
    // It has hands of its own in its sandbox.
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  });
  const { protocolVersion: spoken, agentCapabilities } = answer;
  if (spoken !== protocolVersion)
    throw new AgentError(
      'protocol',
      `The agent speaks version ${quote(textOf(spoken))} of its protocol; this service speaks version ${protocolVersion}.`,
    );
  if (authMethod !== undefined) await ask('authenticate', { methodId: authMethod });
  return (isObject(agentCapabilities) ? agentCapabilities : {}) as AgentCapabilities;
}
