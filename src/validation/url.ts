// What is wrong with the URL of a server, for schemas and options alike: small, for small commands read options, too.

/** The end of a sentence, or undefined. */
export function urlFault(value: string, keyMember = 'api_key'): string | undefined {
  const url = /^(https?|wss?):\/\//i.test(value) && !/[\s\p{Cc}]/u.test(value) ? URL.parse(value) : null;
  if (url === null || url.hostname === '') return 'must be an http, https, ws or wss URL with a host';
  if (url.username !== '' || url.password !== '')
    return `must not contain a user name or password; use ${keyMember}`;
  return undefined;
}
