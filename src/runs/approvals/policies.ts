// When the user wants to approve actions. The settings are read with each message, so that a change takes effect at
// once.

import type { Policy } from '../../agents/acp/permissions.ts';
import type { FullSettings } from '../../settings/schema.ts';
import type { RunInputs } from '../inputs.ts';

interface PoliciesOptions {
  readonly inputs: Pick<RunInputs, 'settings' | 'readSettings'>;
  /** Every command and write needs approval, whatever the settings say. */
  readonly confirmAlways: boolean;
}

export interface Policies {
  now(): Policy;
  /** Reads the settings again. */
  refresh(): Promise<void>;
}

export function policyOf(settings: FullSettings, forced: boolean): Policy {
  const { confirmation_mode: confirms, security_analyzer: analyzer } = settings;
  return { confirmationMode: confirms === true, securityAnalyzer: analyzer, forced };
}

export function createPolicies({ inputs, confirmAlways: forced }: PoliciesOptions): Policies {
  const toPolicy = (settings: FullSettings) => policyOf(settings, forced);
  let policy = toPolicy(inputs.settings);
  return {
    now: () => policy,
    refresh: async () => {
      policy = toPolicy(await inputs.readSettings());
    },
  };
}
