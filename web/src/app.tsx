// Which screen is at which path. All of them come in one file: a tab that is open for days asks for no other, which may
// be gone by then.
import type { ReactNode } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { Conversation } from './conversation/Conversation.tsx';
import { Home } from './home/Home.tsx';
import { Catch } from './parts/Catch.tsx';
import { OtherKey } from './session/OtherKey.tsx';
import { SignIn } from './session/SignIn.tsx';
import { DoorProvider, SessionProvider, useDoor } from './session/session.tsx';
import { SettingsScreen } from './settings/SettingsScreen.tsx';
import { Shell } from './shell/Shell.tsx';
import { TextsProvider, useTexts } from './texts/texts.tsx';

/** Ids may hold a colon, which some write as %3A. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
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
  return (
    <Switch>
      <Route path="/">
        <Home />
      </Route>
      <Route path="/conversations/:id">{({ id }) => <Conversation key={id} id={decoded(id)} />}</Route>
      <Route path="/settings">
        <Redirect to="/settings/model" replace />
      </Route>
      <Route path="/settings/:section">{({ section }) => <SettingsScreen section={section} />}</Route>
      <Route>
        <NotFound />
      </Route>
    </Switch>
  );
}

function CaughtScreens() {
  const [path] = useLocation();
  return (
    <Catch shown={path} fallback={<Broken />}>
      <Screens />
    </Catch>
  );
}

function Inside({ children }: { readonly children: ReactNode }) {
  const { key, checking, offered } = useDoor();
  if (key === undefined && checking !== undefined) return null;
  if (key === undefined) return offered === undefined ? <SignIn /> : <OtherKey />;
  return (
    <>
      <SessionProvider key={key} sessionKey={key}>
        {children}
      </SessionProvider>
      <OtherKey />
    </>
  );
}

export function App() {
  return (
    <TextsProvider>
      <Catch fallback={<Broken />}>
        <DoorProvider>
          <Inside>
            <Shell>
              <CaughtScreens />
            </Shell>
          </Inside>
        </DoorProvider>
      </Catch>
    </TextsProvider>
  );
}
