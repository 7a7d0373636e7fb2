// The agents of a service, as clients see them.
import Type from 'typebox';

export const AgentInfo = Type.Object(
  {
    id: Type.String({ description: 'The value for `agent`.' }),
    name: Type.String({ description: 'The name for people.' }),
    installed: Type.Union([Type.Boolean(), Type.Null()], {
      description:
        'Whether the agent can run on the machine of this process. Null if this process runs no conversations.',
    }),
    version: Type.Union([Type.String(), Type.Null()], {
      description: 'The installed version, if it is known.',
    }),
    asks: Type.Union([Type.Enum(['all', 'commands', 'nothing']), Type.Null()], {
      description: 'What it asks approval for, whatever a repository contains. Null if that is not known.',
    }),
    install: Type.Union([Type.String(), Type.Null()], {
      description: 'The command with which the operator installs it.',
    }),
    missing: Type.Union([Type.String(), Type.Null()], {
      description: 'Why it cannot run, and what to do. Null if it is installed.',
    }),
  },
  { $id: 'AgentInfo', additionalProperties: false },
);
export type AgentInfo = Type.Static<typeof AgentInfo>;

export const AgentList = Type.Object(
  { agents: Type.Array(AgentInfo) },
  { $id: 'AgentList', additionalProperties: false },
);
export type AgentList = Type.Static<typeof AgentList>;
