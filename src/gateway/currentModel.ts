// What an agent that speaks every protocol can ask the gateway about the current model, which may change with each
// message of the user.
import Type, { type Static } from 'typebox';
import { protocols } from '../models/protocols.ts';

/** The path below the gateway's base URL. */
export const currentModelPath = '/current';

/** An agent marks a request that is not part of its work, such as one for a title, with the value 1. */
export const sideRequestHeader = 'x-parley-aside';

const Tokens = Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]);

export const CurrentModel = Type.Object({
  /** The provider's name for the model. */
  name: Type.String(),
  protocol: Type.Enum([...protocols]),
  /** The path of the protocol below the gateway's base URL. */
  base: Type.String(),
  /** Why the model cannot be used, and what to do; null if it can. */
  fault: Type.Union([Type.String(), Type.Null()]),
  /** The context window and the longest answer, in tokens; null if unknown. */
  context: Tokens,
  max_output: Tokens,
  /** Whether the model accepts images; null if unknown. */
  images: Type.Union([Type.Boolean(), Type.Null()]),
});
export type CurrentModel = Static<typeof CurrentModel>;
