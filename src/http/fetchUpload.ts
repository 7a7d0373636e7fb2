// Fetches files that wait on another node for a conversation that this process runs.
import type { Principal } from '../keys/principal.ts';
import { unreachable } from '../nodes/service.ts';
import type { UploadTarget } from '../workspaces/write/service.ts';
import { discardBody, type ReadFrom } from './passOn.ts';

/** The run acts for the user of the conversation. */
function principalOf({ userId, id }: UploadTarget): Principal {
  return {
    userId,
    userName: '',
    keyId: 'run',
    keyName: 'run',
    via: 'session',
    scopes: new Set(['conversations:write']),
    expiresAt: Number.POSITIVE_INFINITY,
    acceptsBearer: false,
    conversationId: id,
  };
}

export function createUploadFetch(readFrom: ReadFrom, nextId: () => string) {
  /** Undefined if the node no longer has the files. */
  return async (target: UploadTarget, upload: { readonly id: string; readonly nodeId: string }) => {
    const url = `/api/conversations/${encodeURIComponent(target.id)}/uploads/${upload.id}`;
    const { statusCode, body } = await readFrom(upload.nodeId, url, principalOf(target), nextId());
    if (statusCode === 200) return body as AsyncIterable<Buffer>;
    discardBody(body);
    if (statusCode === 404) return undefined;
    throw unreachable(new Error(`it returned ${statusCode}`));
  };
}
