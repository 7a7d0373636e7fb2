// Whether the browser runs on the machine of the service, where the user can read its files.

/** `hostname` as in `location`. Other names below localhost may resolve to other machines. */
export function isThisMachine(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}
