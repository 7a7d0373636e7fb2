// When the user wants to approve actions. The settings are read with each message, so that a change takes effect at
// once.

import type { Policy } from '../../agents/acp/permissions.ts';
import { notice } from '../../events/shapes.ts';
import type { FullSettings } from '../../settings/schema.ts';
import type { RunInputs } from '../inputs.ts';
import type { Recorder } from '../recorder.ts';

interface PoliciesOptions {
  readonly inputs: Pick<RunInputs, 'settings' | 'readSettings'>;
  readonly agentId: string;
  /** Every command and write needs approval, whatever the settings say. */
  readonly confirmAlways: boolean;
  readonly recorder: Pick<Recorder, 'add'>;
}

export interface Policies {
  now(): Policy;
  /** Reads the settings again. */
  refresh(): Promise<void>;
}

const notYet =
  'confirmation_mode is on now, but this agent was started without it. If it acts without approval, the conversation is stopped. Your next message starts it again with approval.';

export function policyOf(settings: FullSettings, forced: boolean): Policy {
  const { confirmation_mode: confirms, security_analyzer: analyzer } = settings;
  return { confirmationMode: confirms === true, securityAnalyzer: analyzer, forced };
}

export function createPolicies({
  inputs,
  agentId,
  confirmAlways: forced,
  recorder,
}: PoliciesOptions): Policies {
  const toPolicy = (settings: FullSettings) => policyOf(settings, forced);
  const first = toPolicy(inputs.settings);
  let policy = first;
  return {
    now: () => policy,
    refresh: async () => {
      const next = toPolicy(await inputs.readSettings());
      const isStricter = next.confirmationMode && !policy.confirmationMode;
      policy = next;
      // Other agents are told when they start whether they have to ask.
      const asksAnyway = agentId === 'builtin' || first.confirmationMode || forced;
      if (isStricter && !asksAnyway) await recorder.add([notice(notYet)]);
    },
  };
}
