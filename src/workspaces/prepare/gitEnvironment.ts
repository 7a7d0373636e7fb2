// The environment in which git runs inside a sandbox. Nothing of it is written to a file or an argv, so that nothing of it
// outlives the run.

import { type GitRemote, sshUrls } from '../../git/remote.ts';
import type { OpenSandbox } from '../../sandbox/openSandbox.ts';

export interface GitIdentity {
  readonly name: string;
  readonly email: string;
}

type Environment = Readonly<Record<string, string>>;
type Config = readonly (readonly [key: string, value: string])[];

const defaultIdentity: GitIdentity = { name: 'parley', email: 'parley@localhost' };

/** The identity of the settings, with defaults for what is not set. */
export function identityOf(name: string | null, email: string | null): GitIdentity {
  return { name: name || defaultIdentity.name, email: email || defaultIdentity.email };
}

interface GitConnection {
  readonly bridge: OpenSandbox['bridge'];
  readonly remote: GitRemote | undefined;
  readonly identity: GitIdentity;
}

/** The repository keeps its true URL; this is how git comes to it by the bridge. */
function routeConfig({ origin, token }: NonNullable<OpenSandbox['bridge']>, remote: GitRemote): Config {
  const proxy = `${origin}/git/`;
  const target = `url.${proxy}${remote.path}.git.insteadOf`;
  return [
    ...[remote.url, ...sshUrls(remote)].map((url) => [target, url] as const),
    [`http.${proxy}.extraHeader`, `Authorization: Bearer ${token}`],
    [`http.${proxy}.followRedirects`, 'false'],
    // The bridge itself, whatever proxy there is for other servers.
    [`http.${proxy}.proxy`, ''],
  ];
}

function commonConfig({ bridge, remote, identity }: GitConnection): Config {
  return [
    ['user.name', identity.name],
    ['user.email', identity.email],
    ['init.defaultBranch', 'main'],
    ['push.autoSetupRemote', 'true'],
    // The owner of the workspace may have another number inside.
    ['safe.directory', '*'],
    ...(bridge === undefined || remote === undefined ? [] : routeConfig(bridge, remote)),
  ];
}

function toEnvironment(config: Config): Environment {
  const variables: Record<string, string> = { GIT_CONFIG_COUNT: String(config.length) };
  for (const [i, [key, value]] of config.entries()) {
    variables[`GIT_CONFIG_KEY_${i}`] = key;
    variables[`GIT_CONFIG_VALUE_${i}`] = value;
  }
  return variables;
}

const always: Environment = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'true',
  // The bridge has no way to large files.
  GIT_LFS_SKIP_SMUDGE: '1',
};

/** For the agent and what it starts: `git push origin my-branch` works, and the user's token is nowhere inside. */
export function gitEnvironment(place: GitConnection): Environment {
  return { ...always, ...toEnvironment(commonConfig(place)) };
}

/** Nothing of a repository is run, and nothing but the bridge is reached, while the service itself uses git. */
const strictConfig: Config = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  ['core.sshCommand', 'false'],
  ['credential.helper', ''],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['filter.lfs.smudge', ''],
  ['filter.lfs.process', ''],
  ['filter.lfs.required', 'false'],
  ['transfer.fsckObjects', 'true'],
  // Old faults of harmless tools, which many good repositories have.
  ['fetch.fsck.badTimezone', 'ignore'],
  ['fetch.fsck.missingSpaceBeforeDate', 'ignore'],
  ['fetch.fsck.zeroPaddedFilemode', 'ignore'],
  // Packs are mapped in pieces: whole, a large one would take more address space than there may be.
  ['core.packedGitWindowSize', '32m'],
  ['core.packedGitLimit', '256m'],
  // Nothing stays behind and works on.
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.detachedHead', 'false'],
];

export function strictGitEnvironment(place: GitConnection): Environment {
  return {
    ...always,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ALLOW_PROTOCOL: 'http',
    // What it says is read.
    LC_ALL: 'C',
    ...toEnvironment([...commonConfig(place), ...strictConfig]),
  };
}
