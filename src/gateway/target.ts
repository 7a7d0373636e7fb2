// The model of a conversation: its URL, and what an agent is told about it.

import type { Models } from '../models/catalogue.ts';
import { type Protocol, protocolBases } from '../models/protocols.ts';
import {
  findUpstream,
  type ModelHosts,
  missingKeySentence,
  nativeProtocol,
  plainModelName,
  type Upstream,
} from '../models/providers.ts';
import type { CurrentModel } from './currentModel.ts';
import { Refusal } from './refusal.ts';

export interface Target {
  readonly model: string | null;
  readonly baseUrl: string | null;
  readonly key: string | undefined;
}

/** Throws Refusal if a setting is missing. */
export function getUpstream(
  { model, baseUrl, key }: Target,
  protocol: Protocol,
  modelHosts: ModelHosts,
): Upstream {
  const found = findUpstream({ model, baseUrl, protocol, modelHosts });
  if ('fault' in found) throw new Refusal(found.fault);
  if (key === undefined && !found.upstream.keyless) throw new Refusal(missingKeySentence(model));
  return found.upstream;
}

function faultOf(target: Target, protocol: Protocol, modelHosts: ModelHosts): string | null {
  try {
    getUpstream(target, protocol, modelHosts);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

export function describeTarget(target: Target, modelHosts: ModelHosts, models: Models): CurrentModel {
  const { model, baseUrl } = target;
  const protocol = nativeProtocol(model, baseUrl);
  const { context = null, max_output = null, images = null } = models.find(model ?? '') ?? {};
  return {
    name: plainModelName(model),
    protocol,
    base: protocolBases[protocol],
    fault: faultOf(target, protocol, modelHosts),
    context,
    max_output,
    images,
  };
}
