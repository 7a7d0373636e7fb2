// What the gateway tells an agent that speaks every protocol of the model that it asks for: it may be another one with
// each message of the user.
import Type, { type Static } from 'typebox';
import { protocols } from '../models/protocols.ts';

/** Under the place of the gateway. */
export const currentModelPath = '/current';

/** With the value 1 an agent says by it that a request is beside the work, such as for a title. */
export const asideHeader = 'x-parley-aside';

const Tokens = Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]);

export const CurrentModel = Type.Object({
  /** As its provider names it. */
  name: Type.String(),
  protocol: Type.Enum([...protocols]),
  /** Where it is spoken, under the place of the gateway. */
  base: Type.String(),
  /** Why it cannot be asked, and what to do; null where it can. */
  fault: Type.Union([Type.String(), Type.Null()]),
  /** Tokens that it takes in, and gives out at once; null where that is not known. */
  context: Tokens,
  max_output: Tokens,
  /** Whether it sees images; null where that is not known. */
  images: Type.Union([Type.Boolean(), Type.Null()]),
});
export type CurrentModel = Static<typeof CurrentModel>;
