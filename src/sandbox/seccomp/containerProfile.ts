// The seccomp profile for a container in which the service itself runs, and starts bubblewrap: `npm run seccomp` writes
// it to deploy/seccomp.json. The default profile of container engines forbids namespaces, without which bubblewrap
// cannot work. Agents get the stricter filter in addition.
import { families, refusedCalls, refusedTerminalRequests } from './calls.ts';

/** What bubblewrap does before it starts a program. */
const bubblewrapCalls: ReadonlySet<string> = new Set([
  'mount',
  'umount2',
  'pivot_root',
  'unshare',
  'sethostname',
]);

const eperm = 1;
const eafnosupport = 97;

interface Argument {
  readonly index: number;
  readonly value: number;
  readonly op: 'SCMP_CMP_EQ' | 'SCMP_CMP_GT';
}

interface Rule {
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ERRNO';
  readonly errnoRet: number;
  readonly args?: readonly Argument[];
}

function refuse(names: readonly string[], errnoRet: number, args?: readonly Argument[]): Rule {
  return { names, action: 'SCMP_ACT_ERRNO', errnoRet, ...(args === undefined ? {} : { args }) };
}

/** A profile cannot say "none of these", so each family is refused, and all above the last allowed one at once. */
function socketRules(): Rule[] {
  const allowed: readonly number[] = Object.values(families);
  const last = Math.max(...allowed);
  const refused = Array.from({ length: last }, (_, family) => family).filter(
    (family) => family > 0 && !allowed.includes(family),
  );
  const rule = (op: Argument['op'], value: number) =>
    refuse(['socket', 'socketpair'], eafnosupport, [{ index: 0, value, op }]);
  return [...refused.map((family) => rule('SCMP_CMP_EQ', family)), rule('SCMP_CMP_GT', last)];
}

/** In the form of container engines. Programs of other architectures than the machine's cannot run. */
export function createContainerProfile(): object {
  const refused = Object.values(refusedCalls)
    .flat()
    .map(([name]) => name)
    .filter((name) => !bubblewrapCalls.has(name));
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    archMap: [
      { architecture: 'SCMP_ARCH_X86_64', subArchitectures: [] },
      { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: [] },
    ],
    syscalls: [
      refuse(refused, eperm),
      ...socketRules(),
      ...refusedTerminalRequests.map((value) =>
        refuse(['ioctl'], eperm, [{ index: 1, value, op: 'SCMP_CMP_EQ' }]),
      ),
    ],
  };
}
