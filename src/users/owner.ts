// The user that exists from the beginning.
export const ownerName = 'owner';
