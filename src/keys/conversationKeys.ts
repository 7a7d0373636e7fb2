// API keys for single conversations. They are derived from the key of the sender by a MAC, so that nothing is stored.
import type { Database } from '../db/transaction.ts';
import type { Vault } from '../encryption/vault.ts';
import {
  formatConversationCredential,
  isConversationCredential,
  parseConversationCredential,
  sameHash,
} from './credentials.ts';
import type { Principal } from './principal.ts';
import { findConversationKey } from './store.ts';

interface SourceKey {
  readonly hash: Buffer;
  readonly principals: { readonly session: Principal };
}

interface ConversationKeysOptions {
  readonly database: Database;
  readonly vault: Pick<Vault, 'mac'>;
  /** Finds a key that is neither revoked nor expired. */
  readonly findGood: (keyId: string) => Promise<SourceKey | undefined>;
}

interface Conversation {
  /** The internal key, which a new conversation with the same id does not have. */
  readonly key: number;
  readonly id: string;
}

export function createConversationKeys({ database, vault, findGood }: ConversationKeysOptions) {
  /** The hash binds it to the API key, so that a new key with the same id does not revive it. */
  function macOf({ principals, hash }: SourceKey, conversationKey: number): string {
    const { keyId, userId } = principals.session;
    return vault.mac('conversation-key', [keyId, hash.toString('hex'), userId, conversationKey].join('\0'));
  }

  async function verify(text: string): Promise<Principal | undefined> {
    const sent = parseConversationCredential(text);
    const key = sent && (await findGood(sent.keyId));
    if (sent === undefined || key === undefined) return undefined;
    const principal = key.principals.session;
    const { conversationId } = sent;
    const found = await database.run(findConversationKey, { userId: principal.userId, id: conversationId });
    if (found === undefined) return undefined;
    const isSame = sameHash(Buffer.from(sent.mac), Buffer.from(macOf(key, found)));
    return isSame ? { ...principal, conversationId } : undefined;
  }

  /**
   * Returns a function that creates keys. They have the scopes of the sender's key and are valid as long as that key and
   * the conversation exist.
   */
  async function of({ keyId }: Principal): Promise<(conversation: Conversation) => string | null> {
    const source = await findGood(keyId);
    if (source === undefined) return () => null;
    return ({ key, id: conversationId }) =>
      formatConversationCredential({ keyId, conversationId, mac: macOf(source, key) });
  }

  return {
    /** The principal of a credential, which is limited to one conversation; undefined if it is not valid. */
    authenticate: (text: string) => (isConversationCredential(text) ? verify(text) : undefined),
    of,
  };
}
