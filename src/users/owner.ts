// Names that have a meaning of their own.

/** The user that exists from the start. It can be disabled, but neither renamed nor removed. */
export const ownerName = 'owner';

/** Owns the operator's default settings. Nobody can choose the name. */
export const defaultsName = '#defaults';

/** The name of a user whose data is being or was deleted. Nobody can choose it. */
export function purgedName(userId: number): string {
  return `#${userId}`;
}

/** Whether the name belongs to nobody: to the defaults, or to a user who was deleted. */
export function isReservedName(name: string): boolean {
  return name.startsWith('#');
}
