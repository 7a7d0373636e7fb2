// Validates the URL of a server, for schemas and options. It has few imports, because small commands read options as
// well.

/** Returns the end of a sentence, or undefined if it is valid. */
export function urlFault(value: string, keyField = 'api_key'): string | undefined {
  const url = /^(https?|wss?):\/\//i.test(value) && !/[\s\p{Cc}]/u.test(value) ? URL.parse(value) : null;
  if (url === null || url.hostname === '') return 'must be an http, https, ws or wss URL with a host';
  if (url.username !== '' || url.password !== '')
    return `must not contain a user name or password; use ${keyField}`;
  return undefined;
}
