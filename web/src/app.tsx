// Which screen is at which path. Those that are not seen first are loaded when they are asked for.
import { type ReactNode, Suspense } from 'react';
import { Link, Redirect, Route, Switch } from 'wouter';
import { Home } from './home/Home.tsx';
import { Loading } from './parts/Callout.tsx';
import { Catch } from './parts/Catch.tsx';
import { screen } from './parts/screen.tsx';
import { SignIn } from './session/SignIn.tsx';
import { DoorProvider, SessionProvider, useDoor } from './session/session.tsx';
import { Shell } from './shell/Shell.tsx';
import { TextsProvider, useTexts } from './texts/texts.tsx';

/** After the first screen, before anybody has read it. */
const idleMs = 300;

const Conversation = screen(() => import('./conversation/Conversation.tsx'));
const SettingsScreen = screen(() => import('./settings/SettingsScreen.tsx'));

/** Loads what a path needs before it is shown, so that no placeholder flickers; and the rest once there is time. */
export async function loadScreens(path: string): Promise<void> {
  if (path.startsWith('/conversations/')) await Conversation.load();
  else if (path.startsWith('/settings')) await SettingsScreen.load();
  setTimeout(() => void Promise.all([Conversation.load(), SettingsScreen.load()]).catch(() => {}), idleMs);
}

function NotFound() {
  const { shell } = useTexts();
  return (
    <div className="empty">
      <h1>{shell.notFound}</h1>
      <Link href="/">{shell.toHome}</Link>
    </div>
  );
}

function Broken() {
  const { shell } = useTexts();
  return (
    <div className="empty" role="alert">
      <h1>{shell.broken}</h1>
      <button type="button" className="button" onClick={() => location.reload()}>
        {shell.reload}
      </button>
    </div>
  );
}

function Screens() {
  const { shell } = useTexts();
  return (
    <Suspense fallback={<Loading>{shell.loading}</Loading>}>
      <Switch>
        <Route path="/">
          <Home />
        </Route>
        <Route path="/conversations/:id">
          {({ id }) => <Conversation.Component key={id} id={decodeURIComponent(id)} />}
        </Route>
        <Route path="/settings">
          <Redirect to="/settings/model" replace />
        </Route>
        <Route path="/settings/:section">
          {({ section }) => <SettingsScreen.Component section={section} />}
        </Route>
        <Route>
          <NotFound />
        </Route>
      </Switch>
    </Suspense>
  );
}

function Inside({ children }: { readonly children: ReactNode }) {
  const { key } = useDoor();
  if (key === undefined) return <SignIn />;
  return (
    <SessionProvider key={key} apiKey={key}>
      {children}
    </SessionProvider>
  );
}

export function App() {
  return (
    <TextsProvider>
      <DoorProvider>
        <Catch fallback={<Broken />}>
          <Inside>
            <Shell>
              <Catch fallback={<Broken />}>
                <Screens />
              </Catch>
            </Shell>
          </Inside>
        </Catch>
      </DoorProvider>
    </TextsProvider>
  );
}
