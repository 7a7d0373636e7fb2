// Topics of notifications: the log of a conversation, its files, the changes of a user, work for the workers, and the
// processes of the cluster.

export function conversationTopic(key: number): string {
  return `c${key}`;
}

/** The user has changed files of a conversation. */
export function filesTopic(key: number): string {
  return `f${key}`;
}

export function userTopic(userId: number): string {
  return `u${userId}`;
}

/** A process has joined the cluster or is leaving it. */
export const nodesTopic = 'n';

/** A conversation waits for a worker, or a worker has a free slot. */
export const workTopic = 'w';

function numberAfter(letter: string, topic: string): number | undefined {
  return topic.startsWith(letter) ? Number(topic.slice(letter.length)) : undefined;
}

/** The conversation of a topic; undefined for other topics. */
export function conversationOf(topic: string): number | undefined {
  return numberAfter('c', topic);
}

/** The conversation whose files a topic is about; undefined for other topics. */
export function filesOf(topic: string): number | undefined {
  return numberAfter('f', topic);
}

export function userOf(topic: string): number | undefined {
  return numberAfter('u', topic);
}
