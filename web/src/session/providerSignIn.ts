// Signing in with an OpenID Connect provider. The browser leaves for the provider and comes back with a code. Only the tab
// that left has the secret that makes the code worth something.
import { createParley, type SignedIn } from '../../../src/client/parley.ts';
import { tabStorage } from './tabStorage.ts';

const storageKey = 'parley.signIn';
/** Where the provider sends people back to. */
const answerPath = '/sign-in';

/** What the provider sent back, and the secret of this tab, if the sign-in began here. */
export interface ProviderAnswer {
  readonly secret: string | undefined;
  readonly query: string;
}

interface Departure {
  readonly secret: string;
  /** The screen to return to. */
  readonly path: string;
}

/** Needs no API key. */
export const publicClient = createParley({ url: '' });

function readDeparture(): Partial<Departure> {
  try {
    return JSON.parse(tabStorage.get(storageKey) ?? '{}') as Partial<Departure>;
  } catch {
    return {};
  }
}

/** A path of the web UI, and never another origin. */
export function safePath(path: unknown): string {
  return typeof path === 'string' && /^\/(?![/\\])/.test(path) && path !== answerPath ? path : '/';
}

/** Leaves for the provider. Throws if the service cannot start the sign-in. */
export async function leaveForProvider(): Promise<void> {
  const { authorization_url: url, secret } = await publicClient.signIn.start();
  const departure: Departure = { secret, path: location.pathname };
  tabStorage.set(storageKey, JSON.stringify(departure));
  location.assign(url);
}

function readAnswer(): ProviderAnswer | undefined {
  if (location.pathname !== answerPath) return undefined;
  const query = location.search.slice(1);
  const { secret, path } = readDeparture();
  tabStorage.remove(storageKey);
  history.replaceState(history.state, '', safePath(path));
  return query === '' ? undefined : { secret, query };
}

let taken: { readonly answer: ProviderAnswer | undefined } | undefined;

/** Removes the answer from the URL, so that the code is in no history. */
export function takeProviderAnswer(): ProviderAnswer | undefined {
  taken ??= { answer: readAnswer() };
  return taken.answer;
}

let finishing: Promise<SignedIn> | undefined;

/** Exchanges the answer of this tab for a session, once. */
export function finishSignIn({ secret, query }: ProviderAnswer): Promise<SignedIn> {
  // Without the secret of this tab, the service refuses the answer.
  finishing ??= publicClient.signIn.finish({ secret: secret ?? 'none', query });
  return finishing;
}
