// Whether private addresses may be reached: what the operator said, or else only where one person uses the service on
// their own machine, for whom they are no more private than for their browser.
import type { Config } from '../config.ts';

const rememberedMs = 1_000;

interface RuleOptions {
  readonly config: Pick<Config, 'allowPrivateAddresses' | 'onLoopback' | 'publicUrl'>;
  /** Asked at the time of use, for users are made while the service runs. */
  readonly hasOneUser: () => Promise<boolean>;
  readonly now?: () => number;
}

/** The rule, whose answer is at most a second old. Fails as `hasOneUser` fails. */
export function createPrivateAddressRule({ config, hasOneUser, now = () => performance.now() }: RuleOptions) {
  const { allowPrivateAddresses, onLoopback, publicUrl } = config;
  let known = { answer: false, until: Number.NEGATIVE_INFINITY };

  return async (): Promise<boolean> => {
    if (allowPrivateAddresses !== undefined) return allowPrivateAddresses;
    if (!onLoopback || publicUrl !== undefined) return false;
    const at = now();
    if (at >= known.until) known = { answer: await hasOneUser(), until: at + rememberedMs };
    return known.answer;
  };
}
