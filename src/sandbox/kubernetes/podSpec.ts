// The specification of a pod for one conversation. Nothing secret is in it: variables and keys of a run are sent over
// the connection, and only to programs that need them.
import { createHash, randomBytes } from 'node:crypto';
import { version } from '../../process/version.ts';
import { mib } from '../../validation/schema.ts';
import { limitsOf, sharedMemoryBytesMax, temporaryBytesMax } from '../limits.ts';
import type { SandboxConversation, SandboxSpec } from '../sandbox.ts';
import { sandboxPaths } from '../sandboxPaths.ts';
import { protocolVersion, supervisorFile, warmVariable } from './protocol.ts';

export interface PodOptions {
  readonly namespace: string;
  readonly image: string;
  readonly runtimeClass: string | undefined;
  /** Identifies the worker process. */
  readonly processId: string;
  /** The limit on the size of workspace and home together. */
  readonly filesBytesMax: number;
}

export const managedBy = { 'app.kubernetes.io/managed-by': 'parley' } as const;
export const processLabel = 'parley.dev/process';
export const conversationLabel = 'parley.dev/conversation';
export const userLabel = 'parley.dev/user';
export const keyLabel = 'parley.dev/conversation-key';
/** A hash of everything that a run wants of its pod. */
export const specLabel = 'parley.dev/spec';
export const containerName = 'agent';

const user = 1_000;
const nameCharsMax = 50;
const labelPattern = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
/** What each pod asks the scheduler for. It may use more, up to its limits, where there is room. */
const requests = { cpu: '100m', memory: '256Mi', 'ephemeral-storage': '64Mi' };
/** For logs, which hold what the supervisor has sent. */
const logBytesMax = 128 * mib;
/**
 * What the volume may hold beyond the limit on files. Parley counts them and ends the run with a sentence; the kubelet, which
 * evicts the pod, is for programs that write faster than they are counted.
 */
const evictionFactor = 1.25;
const evictionSlackBytes = 256 * mib;
const processorsDefault = 2;

/** Ids of conversations may be longer than labels, and have other characters. */
export function labelOf(text: string): string {
  return labelPattern.test(text) ? text : createHash('sha256').update(text).digest('hex').slice(0, 40);
}

export function newPodName({ name }: SandboxSpec): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9-]/g, '-');
  return `parley-${plain.slice(0, nameCharsMax)}-${randomBytes(3).toString('hex')}`;
}

/** The labels by which the pods of a conversation are found. Undefined if the sandbox belongs to none. */
export function conversationLabels({
  conversation,
}: Pick<SandboxSpec, 'conversation'>): Record<string, string> | undefined {
  return conversation && labelsOfConversation(conversation);
}

export function labelsOfConversation({ id, userId }: SandboxConversation): Record<string, string> {
  return { [conversationLabel]: labelOf(id), [userLabel]: String(userId) };
}

/** Process 1 is a shell, which takes care of processes that lost their parent. It ends with the supervisor. */
const command = ['/bin/sh', '-c', `node ${supervisorFile}; exit $?`];

/** What of a sandbox its pod depends on. */
type PodNeeds = Pick<SandboxSpec, 'resourceFactor' | 'image' | 'conversation'>;

/** `claim` is the PersistentVolumeClaim with its files. Without one, they go with the pod. */
export function podOf(name: string, spec: PodNeeds, options: PodOptions, claim?: string) {
  const { image, runtimeClass, processId, filesBytesMax } = options;
  const { memoryBytesMax } = limitsOf(spec);
  const volumeBytesMax = Math.round(filesBytesMax * evictionFactor) + evictionSlackBytes;
  const storage = (claim === undefined ? volumeBytesMax : 0) + temporaryBytesMax + logBytesMax;
  const limits = {
    memory: String(memoryBytesMax),
    cpu: String(processorsDefault * spec.resourceFactor),
    'ephemeral-storage': String(storage),
  };
  const podSpec = {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 1,
    hostname: 'parley',
    ...(runtimeClass === undefined ? {} : { runtimeClassName: runtimeClass }),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      fsGroup: user,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: containerName,
        image: spec.image ?? image,
        imagePullPolicy: 'IfNotPresent',
        command,
        workingDir: sandboxPaths.workspace,
        env: [
          { name: 'PARLEY_POD', value: '1' },
          { name: 'HOME', value: sandboxPaths.home },
        ],
        stdin: true,
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: { requests, limits },
        volumeMounts: [
          { name: 'files', mountPath: sandboxPaths.workspace, subPath: 'workspace' },
          { name: 'files', mountPath: sandboxPaths.home, subPath: 'home' },
          { name: 'temporary', mountPath: '/tmp' },
          { name: 'shared-memory', mountPath: '/dev/shm' },
        ],
      },
    ],
    volumes: [
      claim === undefined
        ? { name: 'files', emptyDir: { sizeLimit: String(volumeBytesMax) } }
        : { name: 'files', persistentVolumeClaim: { claimName: claim } },
      { name: 'temporary', emptyDir: { sizeLimit: String(temporaryBytesMax) } },
      { name: 'shared-memory', emptyDir: { medium: 'Memory', sizeLimit: String(sharedMemoryBytesMax) } },
    ],
  };
  const hash = createHash('sha256').update(JSON.stringify([version, protocolVersion, podSpec]));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: {
        ...managedBy,
        [processLabel]: labelOf(processId),
        ...conversationLabels(spec),
        ...(spec.conversation && { [keyLabel]: String(spec.conversation.key) }),
        [specLabel]: hash.digest('hex').slice(0, 40),
      },
    },
    spec: podSpec,
  };
}

const defaultNeeds: PodNeeds = { resourceFactor: 1, image: null };

/** Whether a pod that was created in advance will do. */
export function isDefault({ image, resourceFactor }: PodNeeds, options: PodOptions): boolean {
  return (image === null || image === options.image) && resourceFactor === defaultNeeds.resourceFactor;
}

/** The specification of pods that are created in advance: the default one, whose supervisor waits for its worker. */
export function warmPodSpec(options: PodOptions): object {
  const { spec } = podOf('', defaultNeeds, options);
  const env = [{ name: warmVariable, value: '1' }];
  return {
    ...spec,
    containers: spec.containers.map((one) => ({ ...one, env: [...one.env, ...env] })),
  };
}
