// Finds the cgroups in which the service may create others: its own, if it may divide it. Both versions of the kernel's
// interface are supported.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

type Controller = 'memory' | 'pids';

/** A folder in which cgroups can be created, and what they can limit. */
export interface CgroupParent {
  readonly version: 1 | 2;
  readonly folder: string;
  readonly controllers: readonly Controller[];
}

/** What the kernel reports about cgroups; tests use other values. */
export interface CgroupSources {
  readonly own: string;
  readonly mounts: string;
  readonly uid: number;
}

const known: readonly Controller[] = ['memory', 'pids'];
/** With `DelegateSubgroup=parley-service` in the service's unit, the operator delegates the parent group to us. */
const serviceGroup = 'parley-service';

const controllersIn = (text: string): Controller[] => {
  const names = text.trim().split(/[\s,]+/);
  return known.filter((name) => names.includes(name));
};

interface Mount {
  readonly version: 1 | 2;
  readonly root: string;
  readonly folder: string;
  readonly controllers: readonly Controller[];
}

function mountsIn(text: string): Mount[] {
  return text.split('\n').flatMap((line): Mount[] => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', folder = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    if (type === 'cgroup2') return [{ version: 2, root, folder, controllers: [] }];
    if (type !== 'cgroup') return [];
    return [{ version: 1, root, folder, controllers: controllersIn(options) }];
  });
}

/** The path of our own group in a hierarchy. Version 2 has no controller names there. */
function ownPath(text: string, { version, controllers }: Mount): string | undefined {
  for (const line of text.split('\n')) {
    const [, names = '', ...path] = line.split(':');
    const fits =
      version === 2 ? names === '' : controllersIn(names).some((name) => controllers.includes(name));
    if (fits && path.length > 0) return path.join(':');
  }
  return undefined;
}

/**
 * Root can write everywhere, but a group may still belong to whoever started the service. So it must be the top of what
 * is visible here, belong to the user of the service, or be named.
 */
function isOurs(folder: string, atTop: boolean, uid: number): boolean {
  return atTop || (uid !== 0 && statSync(folder).uid === uid);
}

/** A group of version 2 can delegate controllers only while it has no processes, so ours moves to a subgroup. */
function delegateControllers(folder: string, controllers: readonly Controller[]): void {
  const enable = () =>
    writeFileSync(join(folder, 'cgroup.subtree_control'), controllers.map((name) => `+${name}`).join(' '));
  try {
    enable();
  } catch {
    const processIds = readFileSync(join(folder, 'cgroup.procs'), 'utf8').trim();
    if (processIds !== String(process.pid)) throw new Error('others are in the group');
    mkdirSync(join(folder, serviceGroup), { recursive: true });
    writeFileSync(join(folder, serviceGroup, 'cgroup.procs'), String(process.pid));
    enable();
  }
}

function parentOf(mount: Mount, own: string, uid: number): CgroupParent | undefined {
  const below = relative(mount.root, own);
  if (below.startsWith('..')) return undefined;
  const folder = join(mount.folder, below);
  if (mount.version === 1)
    return isOurs(folder, below === '', uid)
      ? { version: 1, folder, controllers: mount.controllers }
      : undefined;
  const named = basename(folder) === serviceGroup;
  if (!named && !isOurs(folder, below === '', uid)) return undefined;
  const place = named ? dirname(folder) : folder;
  const controllers = controllersIn(readFileSync(join(place, 'cgroup.controllers'), 'utf8'));
  if (controllers.length === 0) return undefined;
  delegateControllers(place, controllers);
  return { version: 2, folder: place, controllers };
}

/** Returns all candidates; none of them was tried yet. */
export function findCgroupParents({ own, mounts, uid }: CgroupSources): CgroupParent[] {
  return mountsIn(mounts).flatMap((mount) => {
    if (mount.version === 1 && mount.controllers.length === 0) return [];
    const path = ownPath(own, mount);
    try {
      const place = path === undefined ? undefined : parentOf(mount, path, uid);
      return place === undefined ? [] : [place];
    } catch {
      return [];
    }
  });
}
