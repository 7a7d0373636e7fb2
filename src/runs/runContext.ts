// What a run can use: what all runs of a process share, and what belongs to this run.
import type { Profile } from '../agents/profileSchema.ts';
import type { Bodies } from '../bridge/bodies.ts';
import type { Egress } from '../bridge/bridge.ts';
import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import type { LivePartials } from '../events/partials/livePartials.ts';
import type { RunPartials } from '../events/partials/runPartials.ts';
import type { RunGateway } from '../gateway/runGateway.ts';
import type { ModelLimit } from '../gateway/usage/meter.ts';
import type { GitHosts } from '../git/hosts.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import type { Clock } from '../process/clock.ts';
import type { Cgroups } from '../sandbox/cgroups.ts';
import type { SandboxPlan } from '../sandbox/choose.ts';
import type { DiskShortage } from '../sandbox/diskShortage.ts';
import type { DiskLimits } from '../sandbox/diskWatch.ts';
import type { OnSandboxStart } from '../sandbox/openSandbox.ts';
import type { ProcessRecords } from '../sandbox/processRecords.ts';
import type { Span } from '../tracing/tracing.ts';
import type { Folders } from '../workspaces/prepare/folders.ts';
import type { LocalFolders } from '../workspaces/prepare/localFolders.ts';
import type { Snapshots, StoredSnapshot } from '../workspaces/snapshots/service.ts';
import type { Delivery, UploadTarget } from '../workspaces/write/service.ts';
import type { Notifier } from './approvals/notifyCommand.ts';
import type { RunInputs } from './inputs.ts';
import type { Masking } from './masking.ts';
import type { Recorder } from './recorder.ts';
import type { RunFaults } from './runFaults.ts';
import type { RunTrace } from './runTrace.ts';

/** Puts files that were uploaded before the conversation was running into its workspace. */
export type DeliverUploads = (target: UploadTarget) => Promise<Delivery>;

/** What the runs of a process share. */
export interface RunDependencies {
  readonly clock: Clock;
  /** The id of this machine's data folder. */
  readonly nodeId: string;
  readonly folders: Folders;
  readonly localFolders: LocalFolders;
  readonly deliverUploads: DeliverUploads;
  /** Undefined if the operator has configured no store for them. */
  readonly snapshots: Snapshots | undefined;
  readonly profiles: readonly Profile[];
  /** Agents that were installed into the data folder. */
  readonly agentsDir: string;
  readonly sandboxes: Pick<SandboxPlan, 'choose'>;
  readonly cgroups: Cgroups | undefined;
  readonly records: ProcessRecords;
  readonly onSandboxStart?: OnSandboxStart | undefined;
  readonly gitHosts: GitHosts;
  /** The MCP server for web search that the operator configured. */
  readonly searchUrl: string | undefined;
  /** The container images that users may choose. The first is the default. */
  readonly images: readonly string[];
  readonly disk: DiskLimits & { readonly shortage: DiskShortage };
  /** What the folders of each run held when they were last counted, by run id. */
  readonly workspaceSizes: Map<string, number>;
  readonly allowPrivate: AllowPrivate;
  readonly createEgress: () => Egress;
  /** Shows what a run writes before it is in the log. */
  readonly livePartials: LivePartials;
  /** Reports approval requests to the command of the operator; undefined if there is none. */
  readonly notifier: Notifier | undefined;
  /** Answers the model requests of a run. */
  readonly openGateway: (needs: GatewayNeeds) => Promise<RunGateway>;
}

export interface GatewayNeeds {
  readonly runId: string;
  readonly conversation: ClaimedConversation;
  readonly inputs: RunInputs;
  /** The request bodies that the bridge buffers for the run. */
  readonly bodies: Bodies;
  readonly onNotice: (sentence: string, isFault: boolean) => void;
  readonly onLimit: (limit: ModelLimit, sentence?: string) => void;
  /** What model requests are a part of, if traces are recorded. */
  readonly parentSpan: () => Span | undefined;
}

export interface RunContext {
  readonly runId: string;
  readonly conversation: ClaimedConversation;
  readonly inputs: RunInputs;
  readonly recorder: Recorder;
  readonly masking: Masking;
  readonly texts: RunPartials;
  readonly faults: RunFaults;
  readonly signal: AbortSignal;
  readonly isHeld: () => boolean;
  readonly trace: RunTrace;
  /** The last snapshot of the files, if there is one. */
  readonly snapshot: StoredSnapshot | undefined;
}
