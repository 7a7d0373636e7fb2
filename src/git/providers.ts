// The git providers that the API knows, shared by settings, secrets and conversations.
export const gitProviders = ['github', 'gitlab', 'bitbucket', 'enterprise_sso'] as const;
export type GitProvider = (typeof gitProviders)[number];
