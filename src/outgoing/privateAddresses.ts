// Whether private addresses may be reached: as the operator configured, or by default only for a single user on their
// own machine, where they are no more private than for a browser.
import { repeat } from '../process/repeat.ts';
import type { PrivateAccess } from './privateHosts.ts';

const rememberedMs = 1_000;
const watchEveryMs = 10_000;

interface RuleConfig {
  readonly allowPrivateAddresses: PrivateAccess | undefined;
  readonly onLoopback: boolean;
  readonly publicUrl: string | undefined;
}

interface RuleOptions {
  readonly config: RuleConfig;
  /** Called for each check, because users are created while the service runs. */
  readonly hasOneUser: () => Promise<boolean>;
  readonly now?: () => number;
}

/** Whether the number of users decides, and not the configuration alone. */
export function dependsOnUsers({ allowPrivateAddresses, onLoopback, publicUrl }: RuleConfig): boolean {
  return allowPrivateAddresses === undefined && onLoopback && publicUrl === undefined;
}

/** The rule, whose result is at most a second old. Rejects if `hasOneUser` does. */
export function createPrivateAddressRule({ config, hasOneUser, now = () => performance.now() }: RuleOptions) {
  let known = { answer: false, until: Number.NEGATIVE_INFINITY };

  return async (): Promise<PrivateAccess> => {
    if (!dependsOnUsers(config)) return config.allowPrivateAddresses ?? false;
    const at = now();
    if (at >= known.until) known = { answer: await hasOneUser(), until: at + rememberedMs };
    return known.answer;
  };
}

/**
 * Explains why local models do not work and what to do. Undefined if they work, or if the operator has configured this
 * explicitly. Rejects if `hasOneUser` does.
 */
export async function findPrivateAddressNote({
  config,
  hasOneUser,
}: Omit<RuleOptions, 'now'>): Promise<string | undefined> {
  const { allowPrivateAddresses, onLoopback, publicUrl } = config;
  if (allowPrivateAddresses !== undefined) return undefined;
  const reason = !onLoopback
    ? 'the service listens beyond this machine'
    : publicUrl !== undefined
      ? 'the service has a public URL'
      : (await hasOneUser())
        ? undefined
        : 'there is more than one user';
  return reason === undefined
    ? undefined
    : `Local models and other private addresses are off, because ${reason}. To allow hosts: PARLEY_ALLOW_PRIVATE_ADDRESSES=127.0.0.1:11434`;
}

interface WatchOptions extends RuleOptions {
  /** Called once if private addresses become blocked while the service runs. */
  readonly onOff: (note: string) => void;
  readonly onBackgroundError: (error: Error) => void;
  readonly everyMs?: number;
}

/**
 * Checks periodically whether a second user has caused private addresses to be blocked. Returns a function that stops
 * it.
 */
export function watchPrivateAddresses(options: WatchOptions): () => Promise<void> {
  const { config, onOff, onBackgroundError, everyMs = watchEveryMs } = options;
  if (!dependsOnUsers(config)) return async () => {};
  let before: string | undefined;
  let isFirst = true;
  const look = async () => {
    const note = await findPrivateAddressNote(options);
    if (!isFirst && before === undefined && note !== undefined) onOff(note);
    isFirst = false;
    before = note;
    if (note !== undefined) void watch.stop();
  };
  const watch = repeat(look, everyMs, onBackgroundError);
  void watch.run();
  return watch.stop;
}
