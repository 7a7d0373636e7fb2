// What a bell can ring for: a conversation whose log has grown, a user who has news, work for the workers.

export function conversationTopic(key: number): string {
  return `c${key}`;
}

export function userTopic(userId: number): string {
  return `u${userId}`;
}

/** A conversation waits for a worker, or a worker has room for one. */
export const workTopic = 'w';

function numberAfter(letter: string, topic: string): number | undefined {
  return topic.startsWith(letter) ? Number(topic.slice(letter.length)) : undefined;
}

/** The conversation of a topic, where it is one of a conversation. */
export function conversationOf(topic: string): number | undefined {
  return numberAfter('c', topic);
}

export function userOf(topic: string): number | undefined {
  return numberAfter('u', topic);
}
