// The model APIs that agents speak, shared by their profiles, the gateway and the built-in agent.
export const protocols = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const;
export type Protocol = (typeof protocols)[number];

/** The path of each protocol below the gateway's base URL, without what clients append themselves. */
export const protocolBases: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/openai/v1',
  'openai-responses': '/openai/v1',
  anthropic: '/anthropic',
  gemini: '/gemini',
};
