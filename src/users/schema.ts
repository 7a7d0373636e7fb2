// Names of users, as commands and the API accept them.
import Type from 'typebox';
import { text } from '../validation/schema.ts';

const userNamePattern = '^[A-Za-z0-9][A-Za-z0-9._@-]*$';

export const UserName = text({
  bytesMax: 128,
  lengthMin: 1,
  pattern: userNamePattern,
  patternText: 'begin with a letter or digit, and consist of letters, digits and ._@-',
  description: 'Letters, digits and ._@- only.',
});

/** The path parameter of routes below /api/users/{name}. */
export const userParam = Type.String({ maxLength: 128, description: 'Name of the user.' });
export const UserParams = Type.Object({ name: userParam });
