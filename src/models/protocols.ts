// The model APIs that agents speak, shared by their profiles, the gateway and the built-in agent.
export const protocols = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const;
export type Protocol = (typeof protocols)[number];

/** Where each is spoken, under the place of the gateway. What clients of it add themselves is left out. */
export const protocolBases: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/openai/v1',
  'openai-responses': '/openai/v1',
  anthropic: '/anthropic',
  gemini: '/gemini',
};
