// The response of operations that return nothing but success.
import Type from 'typebox';

export const Message = Type.Object(
  { message: Type.String() },
  { $id: 'Message', additionalProperties: false },
);
