// The environment of a run: the chosen agent, the open bridge and sandbox, and the prepared workspace.

import { existsSync } from 'node:fs';
import { decide, type Policy } from '../agents/acp/permissions.ts';
import { type Choice as AgentChoice, chooseAgent } from '../agents/choose.ts';
import type { Profile } from '../agents/profileSchema.ts';
import { bridgeEnvironment } from '../bridge/environment.ts';
import type { GitHandler } from '../bridge/git.ts';
import { errorEvent, notice } from '../events/shapes.ts';
import type { RunGateway } from '../gateway/runGateway.ts';
import { findRemote, type GitRemote } from '../git/remote.ts';
import type { Chosen, Choice as SandboxChoice } from '../sandbox/choose.ts';
import { findDiskFault, watchDisk } from '../sandbox/diskWatch.ts';
import { type OpenSandbox, openSandbox } from '../sandbox/openSandbox.ts';
import { watchRemoteDisk } from '../sandbox/remoteDiskWatch.ts';
import { isRemote, type SandboxEngine, type SandboxLoss } from '../sandbox/sandbox.ts';
import { appliedText } from '../workspaces/prepare/applyPatch.ts';
import { emptyFiles } from '../workspaces/prepare/emptyFiles.ts';
import type { ConversationFolders } from '../workspaces/prepare/folders.ts';
import { gitEnvironment, identityOf } from '../workspaces/prepare/gitEnvironment.ts';
import { prepareWorkspace, type Restored } from '../workspaces/prepare/prepare.ts';
import { snapshotReadable } from '../workspaces/snapshots/program.ts';
import type { StoredSnapshot } from '../workspaces/snapshots/service.ts';
import { policyOf } from './approvals/policies.ts';
import type { RunInputs } from './inputs.ts';
import { hadRemoteFiles, hasKeptFiles, wereOnVolume } from './keptFiles.ts';
import type { RunLimits } from './modelLimits.ts';
import { openRunBridge } from './runBridge.ts';
import type { RunContext, RunDependencies } from './runContext.ts';
import { NextRun, RunEnd } from './runEnd.ts';
import { openRunFolder } from './runFolder.ts';
import { restoredNotice } from './snapshotNotices.ts';

export interface RunEnvironment {
  readonly sandbox: OpenSandbox;
  readonly agent: Exclude<AgentChoice, { missing: string }>;
  /** Whether the bridge offers tools of the service itself. */
  readonly hasOwnTools: boolean;
  /** Every command and write needs approval, whatever the settings say. */
  readonly confirmAlways: boolean;
  /** Environment variables of the agent and of everything that it starts. */
  readonly variables: Readonly<Record<string, string>>;
  /** Starts a turn: model requests are counted from here. */
  beginTurn(): Promise<void>;
  /** Throws if a limit was reached. */
  endTurn(): void;
  /** What the conversation has used of its model so far. */
  readonly metrics: RunGateway['metrics'];
  /** The limits on model requests and their cost. */
  readonly limits: RunLimits;
  /** The workspace and the home were empty, and no earlier run is remembered in them unless they were restored. */
  readonly isNew?: boolean;
  /** Their files are those of the last run, whatever machine that was on. */
  readonly isKept?: boolean;
  /** Present if the workspace and home were to be restored from a snapshot. */
  readonly restored?: Restored | undefined;
  /** Rejects when the workspace has become too large, the disk too full, or the machine of the sandbox is lost. */
  readonly full: Promise<never>;
  /** Ends everything of the run before it settles. Its files stay. */
  close(): Promise<void>;
  /** Gives up what is left of a sandbox on another machine, with its files. */
  release?(): Promise<void>;
}

/** A conversation keeps the agent of its first session, whatever the settings say later. */
async function chooseRunAgent(
  { profiles, agentsDir }: RunDependencies,
  { conversation, inputs }: RunContext,
  isInImage: boolean,
) {
  const kept = conversation.agent;
  const choice = await chooseAgent(profiles, kept ?? inputs.settings.agent, { agentsDir, isInImage });
  if (choice.missing === undefined) return choice;
  // The sentence about what is missing may end with a command.
  const why = kept === null ? '' : 'This conversation keeps its agent until you choose another one for it. ';
  throw new RunEnd('agent_missing', `${why}${choice.missing}`);
}

function acceptSandbox(choice: SandboxChoice, { id, name }: Profile): Chosen {
  if ('refusal' in choice) throw new RunEnd('no_sandbox', choice.refusal);
  if (choice.builtInOnly && id !== 'builtin')
    throw new RunEnd('no_sandbox', `Without a sandbox only the built-in agent may run, not ${name}.`);
  return choice;
}

/** Throws if the user has to approve actions and the agent is not known to ask for approval. */
function refuseUnaskingAgent({ id, name, asks }: Profile, policy: Policy): void {
  const needed = (['medium', 'high'] as const).filter((risk) => decide(policy, risk) === 'ask');
  if (needed.length === 0 || asks === 'all' || (asks === 'commands' && !needed.includes('medium'))) return;
  const why = {
    nothing: `${name} does not ask before it acts, or a repository can make it not ask`,
    commands: `${name} asks before it runs commands, but not before it changes files`,
    unknown: `It is not known whether ${name} asks before it acts`,
  }[asks ?? 'unknown'];
  const remedy =
    asks === undefined
      ? `Try it with "parley agents test ${id} --confirm"; the operator can then set "asks" in its profile. `
      : '';
  throw new RunEnd(
    'unconfirmed_action',
    `${why}, so it is not started while confirmation_mode is on. ${remedy}Turn confirmation_mode off, or start a conversation with another agent.`,
  );
}

function chooseImage({ images }: RunDependencies, { settings }: RunInputs): string | null {
  const asked = settings.sandbox_runtime_container_image;
  if (asked === null || asked === '') return null;
  if (!images.includes(asked))
    throw new RunEnd(
      'no_sandbox',
      'The image in your settings (sandbox_runtime_container_image) is not among those that the operator allows.',
    );
  return asked;
}

function findRunRemote(
  { gitHosts }: RunDependencies,
  { conversation, inputs }: RunContext,
): GitRemote | undefined {
  const { repository } = conversation;
  if (repository === null) return undefined;
  const { provider, userHosts } = inputs;
  const found = findRemote({ repository, provider, userHosts, gitHosts });
  if ('fault' in found) throw new RunEnd('workspace_error', found.fault);
  return found.remote;
}

interface WorkspaceNeeds {
  readonly sandbox: OpenSandbox;
  readonly folders: ConversationFolders;
  readonly remote: GitRemote | undefined;
  readonly git: GitHandler | undefined;
  readonly setupRefusal: string | undefined;
  readonly snapshot: StoredSnapshot | undefined;
  readonly isNew: boolean;
  readonly environment: Readonly<Record<string, string>>;
}

async function prepare(
  { conversation, inputs, recorder, faults, masking, signal }: RunContext,
  needs: WorkspaceNeeds,
): Promise<Restored | undefined> {
  const { git, ...rest } = needs;
  const { git_user_name: name, git_user_email: email } = inputs.settings;
  const prepared = await prepareWorkspace({
    ...rest,
    branch: conversation.branch,
    loadPatch: inputs.loadPatch,
    identity: identityOf(name, email),
    ...(git === undefined ? {} : { hostFault: git.fault }),
    hide: masking.text,
    onProgress: (text) =>
      faults.watch(() => recorder.step({ runtimeStatus: `STATUS$SETTING_UP_WORKSPACE: ${text}` })),
    signal,
  });
  if (prepared.outcome === 'failed') throw new RunEnd('workspace_error', prepared.sentence);
  const { restored } = prepared;
  if (restored !== undefined) await recorder.add([restoredNotice(restored)]);
  if (prepared.applied !== undefined) await recorder.add([notice(appliedText(prepared.applied))]);
  if (prepared.setupFailure !== undefined) {
    const { sentence, output } = prepared.setupFailure;
    await recorder.add([errorEvent('SETUP_SCRIPT', `${sentence}\n${output}`)]);
  }
  return restored;
}

/** Whether the files on this machine are not those of the last run. */
function needsSnapshot(
  { nodeId }: RunDependencies,
  { conversation, snapshot }: RunContext,
  engine: SandboxEngine,
  { readyMark }: ConversationFolders,
): boolean {
  if (isRemote(engine)) return snapshot !== undefined;
  // If no agent has run yet, every complete workspace is like any other.
  const isHere = (conversation.workspace_node ?? nodeId) === nodeId;
  return snapshot !== undefined && !(isHere && existsSync(readyMark));
}

/** Refuses to start if the disk is nearly full, because the run would be stopped soon. */
async function refuseFullDisk({ folders, disk }: RunDependencies): Promise<void> {
  const fault = await findDiskFault(await folders.ensureTop(), disk);
  if (fault !== undefined) throw new RunEnd('workspace_error', fault);
}

/** Rejects once, with the reason, when the folders have become too large or the disk too full. */
function watchDiskSpace(
  { disk, workspaceSizes }: RunDependencies,
  runId: string,
  { sandbox, folders }: { readonly sandbox: OpenSandbox; readonly folders: readonly string[] | 'elsewhere' },
) {
  const full = Promise.withResolvers<never>();
  full.promise.catch(() => {
    // The promise may be awaited later, so the rejection is not unhandled.
  });
  const onFull = (sentence: string) => full.reject(new RunEnd('workspace_error', sentence));
  const onBytes = (bytes: number) => workspaceSizes.set(runId, bytes);
  const watched = { ...disk, onBytes, onFull };
  // A volume has a size of its own.
  const stopWatching =
    folders === 'elsewhere'
      ? watchRemoteDisk({
          ...watched,
          sandbox,
          ...(sandbox.files?.isVolume && { bytesMax: Number.POSITIVE_INFINITY }),
        })
      : watchDisk({ ...watched, folders, pids: sandbox.pids });
  const stop = () => {
    stopWatching();
    workspaceSizes.delete(runId);
  };
  return { full: full.promise, stop };
}

/** Rejects when the sandbox is lost. The next run begins in a new one, unless the programs in it were the cause. */
async function endOnLoss(lost: Promise<SandboxLoss>): Promise<never> {
  const { sentence, isOwnFault } = await lost;
  if (isOwnFault) throw new RunEnd('no_sandbox', sentence);
  throw new NextRun(`${sentence} The conversation continues in a new one.`);
}

/** Tells the user if files are lost: those that are in no snapshot were deleted with the sandbox of the last run. */
async function noteLostFiles({ nodeId }: RunDependencies, { conversation, snapshot, recorder }: RunContext) {
  const wereRemote = hadRemoteFiles(conversation);
  if ((conversation.workspace_node !== nodeId && !wereRemote) || snapshot !== undefined) return;
  const gone = wereOnVolume(conversation) ? 'volume' : 'pod';
  const sentence = `The ${gone} of this conversation is gone, and there is no snapshot of its files:`;
  await recorder.add([notice(`${sentence} changes that were not pushed are lost.`)]);
}

/** Throws RunEnd if files are left that nobody knows. */
async function clearFiles(sandbox: OpenSandbox, { signal }: RunContext): Promise<void> {
  if (sandbox.files?.areNew !== false || (await emptyFiles(sandbox, signal))) return;
  throw new RunEnd('workspace_error', 'What an earlier run has left could not be removed.');
}

function variablesOf(sandbox: OpenSandbox, remote: GitRemote | undefined, inputs: RunInputs) {
  const { git_user_name: name, git_user_email: email } = inputs.settings;
  return {
    ...inputs.customSecrets,
    ...(sandbox.bridge === undefined ? {} : bridgeEnvironment(sandbox.bridge)),
    ...gitEnvironment({ bridge: sandbox.bridge, remote, identity: identityOf(name, email) }),
  };
}

/** The setup script of a repository must not run without approval if the user wants to approve actions. */
function setupRefusalOf(confirmAlways: boolean, { settings }: RunInputs): string | undefined {
  if (confirmAlways) return 'no sandbox would confine it';
  return settings.confirmation_mode === true
    ? 'confirmation_mode is on; ask the agent to run it, and it will ask you'
    : undefined;
}

/** Throws RunEnd if something is missing or refused. Nothing is left open then. */
export async function openRunEnvironment(
  dependencies: RunDependencies,
  context: RunContext,
): Promise<RunEnvironment> {
  const { runId, conversation, inputs, faults, signal, isHeld, trace } = context;
  const choice = await dependencies.sandboxes.choose();
  const isElsewhere = 'engine' in choice && isRemote(choice.engine);
  const agent = await chooseRunAgent(dependencies, context, isElsewhere);
  const { engine, confirmAlways } = acceptSandbox(choice, agent.profile);
  refuseUnaskingAgent(agent.profile, policyOf(inputs.settings, confirmAlways));
  const image = chooseImage(dependencies, inputs);
  const remote = findRunRemote(dependencies, context);
  const { key, user_id: userId, id } = conversation;
  await refuseFullDisk(dependencies);
  const folders = await dependencies.folders.open(key, { userId, id });
  const {
    git,
    hasOwnTools,
    limits,
    gateway,
    bridge,
    close: closeBridge,
  } = await openRunBridge(dependencies, context, remote);
  const needed = needsSnapshot(dependencies, context, engine, folders) ? context.snapshot : undefined;
  const folder = await openRunFolder(dependencies, context, engine, folders).catch(async (error: unknown) => {
    await closeBridge();
    throw error;
  });
  const { home } = folders;
  const { workspace, readOnly } = folder;
  const { cgroups, records, onSandboxStart } = dependencies;
  const resourceFactor = inputs.settings.remote_runtime_resource_factor ?? 1;
  const readable = [...agent.found.readable, ...(needed === undefined ? [] : snapshotReadable)];
  const open = () =>
    openSandbox({
      engine,
      spec: {
        name: runId,
        workspace,
        readOnly,
        home,
        readable,
        resourceFactor,
        image,
        conversation: { key, userId, id },
      },
      bridge,
      cgroups,
      records,
      onStart: onSandboxStart,
      exclusive: true,
      isHeld,
    });
  const sandbox = await trace.part('open sandbox', open).catch(async (error: Error) => {
    folder.release();
    await closeBridge();
    throw new RunEnd('no_sandbox', `The sandbox could not be opened: ${error.message}.`);
  });
  const isKept = hasKeptFiles(conversation, sandbox);
  const isNew = isElsewhere && !isKept;
  const snapshot = isKept ? undefined : needed;
  // How large a local folder is, is the business of its user.
  const ownFolders = folder.isLocal ? [home] : [workspace, home];
  const room = watchDiskSpace(dependencies, runId, { sandbox, folders: isNew ? 'elsewhere' : ownFolders });
  // After the lease was lost, another run may already use the workspace.
  const closeSandbox = () => sandbox.close({ atOnce: signal.reason === 'lost', keepFiles: true });
  const close = async () => {
    room.stop();
    await closeSandbox();
    folder.release();
    await closeBridge();
  };
  const release = isElsewhere ? () => sandbox.close() : undefined;
  const lost = sandbox.lost === undefined ? [] : [endOnLoss(sandbox.lost)];
  const full = Promise.race([room.full, ...lost]);
  full.catch(() => {
    // The promise may be awaited later, so the rejection is not unhandled.
  });
  const variables = variablesOf(sandbox, remote, inputs);
  // A clone or setup script must not outlive the run.
  const abort = () => faults.watch(closeSandbox);
  signal.addEventListener('abort', abort, { once: true });
  let restored: Restored | undefined;
  try {
    const setupRefusal = setupRefusalOf(confirmAlways, inputs);
    const needs = { sandbox, folders, remote, git, setupRefusal, snapshot, isNew, environment: variables };
    if (isNew || (!isKept && hadRemoteFiles(conversation))) await noteLostFiles(dependencies, context);
    const fill = async () => {
      await clearFiles(sandbox, context);
      return prepare(context, needs);
    };
    // Nothing in a local folder is prepared: its user has done that.
    if (!folder.isLocal && !isKept)
      restored = await trace.part('prepare workspace', () => Promise.race([fill(), full]));
  } catch (error) {
    await close();
    await release?.();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
  const { beginTurn, metrics } = gateway;
  const endTurn = () => {
    gateway.endTurn();
    limits.check();
  };
  const turns = { beginTurn, endTurn, metrics, limits };
  return {
    ...{
      sandbox,
      agent,
      hasOwnTools,
      confirmAlways,
      variables,
      ...turns,
      isNew,
      isKept,
      restored,
      full,
      close,
    },
    ...(release && { release }),
  };
}
