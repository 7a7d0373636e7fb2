// An ACP extension by which the agent tells the user something that is not part of its work, such as an MCP server that
// cannot be used. Other clients show it as a thought.
import { isObject } from '../../text/foreignText.ts';
import type { Params } from './peer.ts';

/** The field in `_meta` of a thought. */
const noticeMember = 'parley/notice';

export const asNotice = { _meta: { [noticeMember]: true } } as const;

export function isNotice({ sessionUpdate, _meta: meta }: Params): boolean {
  return sessionUpdate === 'agent_thought_chunk' && isObject(meta) && meta[noticeMember] === true;
}
