// The user that exists from the start.
export const ownerName = 'owner';
