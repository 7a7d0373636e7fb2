// The environment of git in a sandbox. None of it is written to a file or an argv, so that none of it outlives the run.

import { type GitRemote, sshUrls } from '../../git/remote.ts';
import type { OpenSandbox } from '../../sandbox/openSandbox.ts';

export interface GitIdentity {
  readonly name: string;
  readonly email: string;
}

type Environment = Readonly<Record<string, string>>;
type Config = readonly (readonly [key: string, value: string])[];

const defaultIdentity: GitIdentity = { name: 'parley', email: 'parley@localhost' };

/** The git identity from the settings, with defaults. */
export function identityOf(name: string | null, email: string | null): GitIdentity {
  return { name: name || defaultIdentity.name, email: email || defaultIdentity.email };
}

interface GitConnection {
  readonly bridge: OpenSandbox['bridge'];
  readonly remote: GitRemote | undefined;
  readonly identity: GitIdentity;
}

/** The repository keeps its real URL, which git rewrites to that of the bridge. */
function routeConfig({ origin, token }: NonNullable<OpenSandbox['bridge']>, remote: GitRemote): Config {
  const proxy = `${origin}/git/`;
  const target = `url.${proxy}${remote.path}.git.insteadOf`;
  return [
    ...[remote.url, ...sshUrls(remote)].map((url) => [target, url] as const),
    [`http.${proxy}.extraHeader`, `Authorization: Bearer ${token}`],
    [`http.${proxy}.followRedirects`, 'false'],
    // The bridge is reached without the proxy.
    [`http.${proxy}.proxy`, ''],
  ];
}

function commonConfig({ bridge, remote, identity }: GitConnection): Config {
  return [
    ['user.name', identity.name],
    ['user.email', identity.email],
    ['init.defaultBranch', 'main'],
    ['push.autoSetupRemote', 'true'],
    // The owner of the workspace may have another uid inside.
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
  // The bridge does not support LFS.
  GIT_LFS_SKIP_SMUDGE: '1',
};

/** For the agent and its programs: `git push origin my-branch` works, and the user's access token is nowhere inside. */
export function gitEnvironment(place: GitConnection): Environment {
  return { ...always, ...toEnvironment(commonConfig(place)) };
}

/** While the service itself uses git, nothing of a repository is executed, and only the bridge can be reached. */
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
  // Old, harmless defects that many repositories have.
  ['fetch.fsck.badTimezone', 'ignore'],
  ['fetch.fsck.missingSpaceBeforeDate', 'ignore'],
  ['fetch.fsck.zeroPaddedFilemode', 'ignore'],
  // Packs are mapped in parts, because a large one could exceed the limit of the address space.
  ['core.packedGitWindowSize', '32m'],
  ['core.packedGitLimit', '256m'],
  // No background process may stay.
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.detachedHead', 'false'],
];

export function strictGitEnvironment(place: GitConnection): Environment {
  return {
    ...always,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ALLOW_PROTOCOL: 'http',
    // The output is parsed.
    LC_ALL: 'C',
    ...toEnvironment([...commonConfig(place), ...strictConfig]),
  };
}
