// The way out of the cell of a run: its bridge, with all that adds keys of the user to what goes out.
import { errorEvent, notice } from '../events/shapes.ts';
import type { RunGateway } from '../gateway/runGateway.ts';
import { listRemotes } from '../mcp/remotes.ts';
import { createBodies } from './bridge/bodies.ts';
import { type Bridge, type BridgeHandler, createBridge } from './bridge/bridge.ts';
import { createGitHandler, type GitHandler } from './bridge/git.ts';
import { createMcpHandler } from './bridge/mcp.ts';
import { createToolServer, ownToolsName } from './bridge/toolServer.ts';
import { createForgeTools } from './forge/tools.ts';
import { createLimits, type RunLimits } from './modelLimits.ts';
import type { PlaceParts, RunScene } from './runPlace.ts';
import type { GitRemote } from './workspace/remote.ts';

export interface RunWay {
  readonly git: GitHandler | undefined;
  readonly hasOwnTools: boolean;
  readonly limits: RunLimits;
  readonly gateway: RunGateway;
  readonly bridge: Bridge;
  close(): Promise<void>;
}

export async function openWay(
  parts: PlaceParts,
  scene: RunScene,
  remote: GitRemote | undefined,
): Promise<RunWay> {
  const { conversation, inputs, recorder, masking, faults } = scene;
  const { allowPrivate } = parts;
  const token = (remote && (await inputs.gitToken(remote.provider))) || null;
  const git = remote && createGitHandler({ remote, token, allowPrivate });
  const selectedBranch = conversation.branch;
  const tools =
    remote === undefined || token === null
      ? []
      : createForgeTools({ remote, token, allowPrivate, selectedBranch });
  const limits = createLimits();
  const bodies = createBodies();
  const gateway = await parts.openGateway({
    conversation,
    inputs,
    bodies,
    onNotice: (sentence, isFault) =>
      faults.watch(() => recorder.add([isFault ? errorEvent('MODEL', sentence) : notice(sentence)])),
    onLimit: limits.meet,
  });
  const remotes = listRemotes(inputs.mcp);
  const { searchUrl: operatorUrl } = parts;
  const handlers: Record<string, BridgeHandler> = {
    mcp: createMcpHandler({ remotes, outgoing: { allowPrivate }, operatorUrl, bodies }),
    model: gateway.handle,
  };
  if (git !== undefined) handlers['git'] = git.handle;
  const hasOwnTools = tools.length > 0;
  if (hasOwnTools) handlers[ownToolsName] = createToolServer({ name: ownToolsName, tools, bodies });
  const bridge = createBridge({ handlers, egress: parts.createEgress() });
  masking.hide(bridge.token);
  if (token !== null) masking.hide(token);
  const close = async () => {
    await bridge.close();
    await gateway.close();
  };
  return { git, hasOwnTools, limits, gateway, bridge, close };
}
