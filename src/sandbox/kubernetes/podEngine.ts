// The Kubernetes sandbox: each conversation has a pod, in which the supervisor starts all its programs.
import { fileURLToPath } from 'node:url';
import { programFile } from '../../process/program.ts';
import { entryArgv, withVariablePrefix } from '../entryScript.ts';
import type {
  OpenSandbox,
  RemoteEngine,
  SandboxFiles,
  SandboxNeeds,
  SandboxProcess,
  SandboxProgram,
  SandboxSpec,
} from '../sandbox.ts';
import { contains, sandboxPaths } from '../sandboxPaths.ts';
import { ClusterError, untilReady } from './api.ts';
import { attach } from './attach.ts';
import { connectToPod, type PodConnection } from './podConnection.ts';
import type { AcquiredPod, PodOwner, PodSource } from './podSource.ts';
import { createPodSources, type PodSourcesOptions } from './podSources.ts';
import {
  containerName,
  conversationLabels,
  keyLabel,
  labelOf,
  newPodName,
  podOf,
  processLabel,
  specLabel,
} from './podSpec.ts';
import { createPods, type Pods } from './pods.ts';
import { bridgePort, imageFolder, type ProgramRequest } from './protocol.ts';
import { findLivingPod } from './takeover.ts';
import { createVolumes, type Volume, type VolumeOptions, type Volumes } from './volumes.ts';

const { workspace, home } = sandboxPaths;
/** Younger pods are not removed as orphans, because their worker may not have registered yet. */
const orphanMsMin = 60_000;
/** The supervisor may not have noticed yet that the earlier worker is gone. */
const takeoverAttempts = 2;
/** The files of Parley on this machine, which the image has in its own folder. */
const programs = fileURLToPath(programFile('.')).replace(/\/$/, '');

/** A path of this machine, as it is in the image. */
function inImage(path: string, node: string): string {
  if (path === process.execPath) return node;
  if (!path.startsWith('/') || !contains(programs, path)) return path;
  return `${imageFolder}${path.slice(programs.length)}`.replace(/\.ts$/, '.js');
}

function requestOf(spec: SandboxSpec, program: SandboxProgram, node: string): ProgramRequest {
  const env = { HOME: home, USER: 'agent', TMPDIR: '/tmp', ...program.env };
  const [command, ...args] = program.argv.map((word) => inImage(word, node));
  const argv = [command ?? '', ...args] as const;
  // The cluster limits memory and processes. All pods of a node have the same user.
  const limits = { limitAddressSpace: false, programs: program.programs ?? '' };
  const entry = entryArgv(spec, { argv, ...limits }, { env, way: 'none', processesMax: 'unlimited' });
  return {
    argv: entry as [string, ...string[]],
    env: withVariablePrefix(env),
    cwd: program.cwd ?? workspace,
  };
}

interface OpenPod {
  readonly connection: PodConnection;
  readonly files: SandboxFiles;
  /** Deletes the pod. */
  remove(): Promise<void>;
}

interface PodSandboxNeeds extends Omit<SandboxNeeds, 'exclusive'> {
  readonly pod: OpenPod;
  /** Whether the pod ends with this sandbox. */
  readonly isOwner: boolean;
}

function sandboxIn({
  pod,
  spec,
  bridge,
  onStart,
  isHeld = () => true,
  isOwner,
}: PodSandboxNeeds): OpenSandbox {
  const { connection } = pod;
  const living = new Set<SandboxProcess>();
  let isClosed = false;

  async function start(program: SandboxProgram): Promise<SandboxProcess> {
    if (isClosed || !isHeld()) throw new Error('the sandbox is closed');
    const since = performance.now();
    const report = (outcome: 'started' | 'failed') =>
      onStart?.({ engine: 'kubernetes', outcome, ms: performance.now() - since });
    try {
      const started = await connection.start(requestOf(spec, program, connection.node));
      living.add(started);
      void started.ended.then(() => living.delete(started));
      report('started');
      if (isClosed) void started.kill();
      return started;
    } catch (error) {
      report('failed');
      throw error;
    }
  }

  return {
    paths: sandboxPaths,
    bridge: bridge && { origin: `http://127.0.0.1:${bridgePort}`, token: bridge.token },
    start,
    pids: () => [],
    lost: connection.lost,
    files: pod.files,
    close: async ({ keepFiles = false } = {}) => {
      isClosed = true;
      if (isOwner && !keepFiles) return pod.remove();
      await Promise.all([...living].map((one) => one.kill()));
      if (isOwner) connection.sweep();
    },
  };
}

interface PodEngineOptions extends Omit<PodSourcesOptions, 'pods'> {
  /** Undefined if files go with their pod. */
  readonly volumes: VolumeOptions | undefined;
}

/** Ends the pods that earlier runs of the conversation have left. */
async function removeEarlier(source: PodSource, pods: Pods, spec: SandboxSpec): Promise<void> {
  const labels = conversationLabels(spec);
  if (labels === undefined) return;
  const owners = await source.list(labels);
  const unlabelled = await Promise.all(owners.map((owner) => owner.findPod?.()));
  // A pod whose owner stays would be created again.
  await Promise.all(owners.map((owner) => owner.remove()));
  const left = (await pods.list(labels)).map(({ metadata }) => metadata);
  const kept = left.filter(({ deletionTimestamp }) => deletionTimestamp === undefined);
  await Promise.all(kept.map(({ name }) => pods.remove(name)));
  const names = [...left.map(({ name }) => name), ...unlabelled.filter((name) => name !== undefined)];
  await Promise.all(names.map(pods.untilGone));
}

function filesIn(pod: string, volume: Volume | undefined, isNewPod: boolean): SandboxFiles {
  return volume === undefined
    ? { id: `pod/${pod}`, areNew: isNewPod, isVolume: false }
    : { id: volume.id, areNew: false, isVolume: true };
}

/** Adds the reason to the error if the pod could not start because of its volume. */
async function explainVolume(volumes: Volumes, volume: Volume, error: unknown): Promise<unknown> {
  if (!(error instanceof ClusterError)) return error;
  const fault = await volumes.findFault(volume);
  return fault === undefined ? error : new ClusterError(`${error.message}; ${fault}`, error.status);
}

export function createPodEngine(options: PodEngineOptions): RemoteEngine & { readonly pods: Pods } {
  const { api, namespace, onBackgroundError } = options;
  const pods = createPods(api, namespace);
  const source = createPodSources({ ...options, pods });
  const volumes = options.volumes && createVolumes(api, namespace, options.volumes);
  /** By the workspace of their conversation. */
  const open = new Map<string, OpenPod>();
  /** What this process has acquired and not removed. */
  const names = new Set<string>();
  /** The pods that were lost but live, in which the next run can go on. */
  const left = new Set<string>();

  async function connect(
    { podName: name, uid, findEnd }: AcquiredPod,
    { bridge, isHeld = () => true }: SandboxNeeds,
  ): Promise<PodConnection> {
    return connectToPod({
      open: (events) => attach(api, { namespace, pod: name, container: containerName, ...events }),
      onBridge: bridge?.accept,
      isHeld,
      hasEnded: () => pods.hasEnded(name, uid),
      explain: async (said, hasBrokenProtocol) => {
        const [{ why, hasExceeded, isAlive }, end] = await Promise.all([
          pods.explain(name, uid),
          findEnd?.(),
        ]);
        const details = said === '' ? '' : ` (${said.replace(/\.+$/, '')})`;
        // Whoever has ended it on purpose does not want another one.
        const isFinal = hasExceeded || hasBrokenProtocol || end !== undefined;
        // A pod that has an owner is never taken over.
        if (isAlive && !isFinal && findEnd === undefined) left.add(name);
        const sentence = `The pod of the conversation was lost: ${end ?? why}${details}.`;
        return { sentence, isOwnFault: isFinal };
      },
    });
  }

  /** Rejects if the supervisor does not answer. The pod is left then. */
  async function openIn(
    asked: SandboxNeeds,
    name: string,
    acquired: AcquiredPod,
    files: SandboxFiles,
  ): Promise<OpenSandbox> {
    const { spec, bridge, onStart, isHeld = () => true } = asked;
    const { podName, remove } = acquired;
    const connection = await connect(acquired, asked);
    const pod: OpenPod = {
      connection,
      files,
      remove: async () => {
        if (open.get(spec.workspace) === pod) open.delete(spec.workspace);
        connection.close();
        // Another run may have taken it over.
        if (!left.delete(podName) && isHeld()) await remove().catch(onBackgroundError);
        names.delete(name);
      },
    };
    open.set(spec.workspace, pod);
    return sandboxIn({ pod, spec, bridge, onStart, isHeld, isOwner: true });
  }

  /** Goes on in the pod that an earlier run has left. Undefined if there is none that fits and answers. */
  async function takeOver(asked: SandboxNeeds): Promise<OpenSandbox | undefined> {
    const { spec, isHeld = () => true } = asked;
    const labels = conversationLabels(spec);
    if (labels === undefined || spec.conversation === undefined) return undefined;
    const volume = await volumes?.find(spec.conversation);
    if (volumes !== undefined && volume === undefined) return undefined;
    const wanted = podOf('', spec, options, volume?.claim).metadata.labels[specLabel];
    const { metadata } = findLivingPod(await pods.list(labels), wanted) ?? {};
    if (metadata === undefined || !isHeld()) return undefined;
    const { name, uid } = metadata;
    names.add(name);
    const acquired = { podName: name, uid, remove: () => pods.remove(name) };
    for (let attempt = 0; attempt < takeoverAttempts && isHeld(); attempt++) {
      const opened = await openIn(asked, name, acquired, filesIn(name, volume, false)).catch(() => undefined);
      if (opened !== undefined) return opened;
      if (!left.delete(name)) break;
    }
    names.delete(name);
    return undefined;
  }

  /** Whether no living process uses it. */
  function isOrphan({ name, metadata }: PodOwner, alive: ReadonlySet<string>): boolean {
    const owner = metadata.labels?.[processLabel] ?? '';
    const ageMs = Date.now() - Date.parse(metadata.creationTimestamp ?? '');
    const isOurs = owner === labelOf(options.processId);
    const isUsed = isOurs ? names.has(name) : [...alive].some((id) => labelOf(id) === owner);
    return !isUsed && ageMs > orphanMsMin && metadata.deletionTimestamp === undefined;
  }

  return {
    kind: 'kubernetes',
    pods,
    volumes,
    removeOrphans: async (alive, findActive = async () => new Set()) => {
      const keyOf = ({ metadata }: PodOwner) => Number(metadata.labels?.[keyLabel] ?? 0);
      const found = (await source.list({})).filter((owner) => isOrphan(owner, alive));
      const active = await findActive(found.map(keyOf));
      const orphans = found.filter((owner) => !active.has(keyOf(owner)));
      await Promise.all(orphans.map((owner) => owner.remove()));
    },
    paths: () => sandboxPaths,
    join: (spec) => {
      const pod = open.get(spec.workspace);
      return pod && sandboxIn({ pod, spec, isOwner: false });
    },
    open: async (asked) => {
      const { spec, exclusive = false, isHeld = () => true } = asked;
      await untilReady(api, isHeld);
      const taken = exclusive ? await takeOver(asked) : undefined;
      if (taken !== undefined) return taken;
      if (exclusive) await removeEarlier(source, pods, spec);
      if (!isHeld()) throw new Error('the conversation belongs to another run');
      const volume = spec.conversation && (await volumes?.open(spec.conversation));
      const name = newPodName(spec);
      names.add(name);
      const acquired = await source.acquire(name, spec, volume?.claim).catch(async (error: unknown) => {
        names.delete(name);
        throw volumes && volume ? await explainVolume(volumes, volume, error) : error;
      });
      const files = filesIn(acquired.podName, volume, true);
      try {
        return await openIn(asked, name, acquired, files);
      } catch (error) {
        await acquired.remove().catch(onBackgroundError);
        names.delete(name);
        throw error;
      }
    },
  };
}
