// The model usage of a conversation.

import type { Database } from '../../db/transaction.ts';
import type { Principal } from '../../keys/principal.ts';
import { conversationName, noConversation } from '../id.ts';
import type { Usage } from './schema.ts';
import { toUsage } from './shape.ts';
import { findUsage } from './store.ts';

export type Usages = ReturnType<typeof createUsages>;

export function createUsages({ database }: { database: Database }) {
  return {
    get: async (principal: Principal, id: string): Promise<Usage> => {
      const found = await database.run(findUsage, conversationName(principal, id));
      if (found === undefined) throw noConversation();
      return toUsage(found);
    },
  };
}
