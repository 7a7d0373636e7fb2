// An ACP extension for notices of the agent to the user, such as about an MCP server that cannot be used. Other clients
// show them as thoughts.
import { isObject } from '../../text/foreignText.ts';
import type { Params } from './peer.ts';

/** The field in `_meta` of a thought. */
const noticeField = 'parley/notice';

export const asNotice = { _meta: { [noticeField]: true } } as const;

export function isNotice({ sessionUpdate, _meta: meta }: Params): boolean {
  return sessionUpdate === 'agent_thought_chunk' && isObject(meta) && meta[noticeField] === true;
}
