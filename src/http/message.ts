// The answer of operations that have nothing more to say than that they were done.
import Type from 'typebox';

export const Message = Type.Object(
  { message: Type.String() },
  { $id: 'Message', additionalProperties: false },
);
