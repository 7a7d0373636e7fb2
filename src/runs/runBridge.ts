// The bridge of a run: the only way out of its sandbox. It adds the user's keys to requests outside of it.

import { createBodies } from '../bridge/bodies.ts';
import { type Bridge, type BridgeHandler, createBridge } from '../bridge/bridge.ts';
import { createForgeTools } from '../bridge/forge/tools.ts';
import { createGitHandler, type GitHandler } from '../bridge/git.ts';
import { createMcpHandler } from '../bridge/mcp.ts';
import { createMcpServer, ownToolsName } from '../bridge/mcpServer.ts';
import { errorEvent, notice } from '../events/shapes.ts';
import type { RunGateway } from '../gateway/runGateway.ts';
import type { GitRemote } from '../git/remote.ts';
import { listRemotes } from '../mcp/remotes.ts';
import { createLimits, type RunLimits } from './modelLimits.ts';
import type { RunContext, RunDependencies } from './runContext.ts';

export interface RunBridge {
  readonly git: GitHandler | undefined;
  readonly hasOwnTools: boolean;
  readonly limits: RunLimits;
  readonly gateway: RunGateway;
  readonly bridge: Bridge;
  close(): Promise<void>;
}

export async function openRunBridge(
  dependencies: RunDependencies,
  context: RunContext,
  remote: GitRemote | undefined,
): Promise<RunBridge> {
  const { conversation, inputs, recorder, masking, faults } = context;
  const { allowPrivate } = dependencies;
  const token = (remote && (await inputs.gitToken(remote.provider))) || null;
  const git = remote && createGitHandler({ remote, token, allowPrivate });
  const selectedBranch = conversation.branch;
  const tools =
    remote === undefined || token === null
      ? []
      : createForgeTools({ remote, token, allowPrivate, selectedBranch });
  const limits = createLimits();
  const bodies = createBodies();
  const gateway = await dependencies.openGateway({
    runId: context.runId,
    conversation,
    inputs,
    bodies,
    onNotice: (sentence, isFault) =>
      faults.watch(() => recorder.add([isFault ? errorEvent('MODEL', sentence) : notice(sentence)])),
    onLimit: limits.meet,
    parentSpan: context.trace.current,
  });
  const remotes = listRemotes(inputs.mcp);
  const { searchUrl: operatorUrl } = dependencies;
  const handlers: Record<string, BridgeHandler> = {
    mcp: createMcpHandler({ remotes, outgoing: { allowPrivate }, operatorUrl, bodies }),
    model: gateway.handle,
  };
  if (git !== undefined) handlers['git'] = git.handle;
  const hasOwnTools = tools.length > 0;
  if (hasOwnTools) handlers[ownToolsName] = createMcpServer({ name: ownToolsName, tools, bodies });
  const bridge = createBridge({ handlers, egress: dependencies.createEgress() });
  masking.hide(bridge.token);
  if (token !== null) masking.hide(token);
  const close = async () => {
    await bridge.close();
    await gateway.close();
  };
  return { git, hasOwnTools, limits, gateway, bridge, close };
}
