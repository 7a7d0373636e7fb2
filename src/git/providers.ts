// The supported git providers, shared by settings, secrets and conversations.
export const gitProviders = ['github', 'gitlab', 'bitbucket', 'enterprise_sso'] as const;
export type GitProvider = (typeof gitProviders)[number];
