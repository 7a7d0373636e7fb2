// What a bell can ring for: a conversation whose log has grown, a user who has news.

export function conversationTopic(key: number): string {
  return `c${key}`;
}

export function userTopic(userId: number): string {
  return `u${userId}`;
}
