// The agent, the model and the approval mode of one conversation, which take precedence over the settings of its user.
import Type from 'typebox';
import { modelNameFault } from '../../models/names.ts';
import { checked, kib, nullableText, orNull } from '../../validation/schema.ts';

const agentBytesMax = kib;
const modelBytesMax = 4 * kib;

/** Optional fields of requests. Null and an empty string mean the settings. */
export const choiceFields = {
  agent: Type.Optional(
    nullableText({
      bytesMax: agentBytesMax,
      description: 'The agent of this conversation, such as claude; see /api/options/agents.',
    }),
  ),
  llm_model: Type.Optional(
    checked(
      nullableText({
        bytesMax: modelBytesMax,
        description: 'The model of this conversation, such as openai/gpt-5; see /api/options/models.',
      }),
      modelNameFault,
    ),
  ),
  confirmation_mode: Type.Optional(
    orNull(Type.Boolean(), {
      description: 'Whether you have to approve what the agent of this conversation does.',
    }),
  ),
};
