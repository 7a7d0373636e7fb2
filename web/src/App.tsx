// The routes of the web UI. All screens are in one bundle: a tab that is open for days could not load another one, which
// an update may have removed.
import type { ReactNode } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { ErrorBoundary } from './components/ErrorBoundary.tsx';
import { Home } from './home/Home.tsx';
import { Layout } from './layout/Layout.tsx';
import { ConversationScreen } from './panes/ConversationScreen.tsx';
import { FinishSignIn } from './session/ProviderButton.tsx';
import { ReplaceKeyDialog } from './session/ReplaceKeyDialog.tsx';
import { SignInForm } from './session/SignInForm.tsx';
import { SessionProvider, SignInProvider, useSignIn } from './session/session.tsx';
import { SettingsScreen } from './settings/SettingsScreen.tsx';
import { TextsProvider, useTexts } from './texts/texts.tsx';

function NotFound() {
  const { shell } = useTexts();
  return (
    <div className="empty">
      <h1>{shell.notFound}</h1>
      <Link href="/">{shell.toHome}</Link>
    </div>
  );
}

function CrashMessage() {
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
      <Route path="/new">
        <Home />
      </Route>
      <Route path="/conversations/:id">
        <ConversationScreen />
      </Route>
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

function SafeScreens() {
  const [path] = useLocation();
  return (
    <ErrorBoundary resetKey={path} fallback={<CrashMessage />}>
      <Screens />
    </ErrorBoundary>
  );
}

function RequireSignIn({ children }: { readonly children: ReactNode }) {
  const { key, keyToCheck, offeredKey, answer } = useSignIn();
  if (key === undefined && keyToCheck !== undefined) return null;
  if (key === undefined && answer !== undefined) return <FinishSignIn answer={answer} />;
  if (key === undefined) return offeredKey === undefined ? <SignInForm /> : <ReplaceKeyDialog />;
  return (
    <>
      <SessionProvider key={key} apiKey={key}>
        {children}
      </SessionProvider>
      <ReplaceKeyDialog />
    </>
  );
}

export function App() {
  return (
    <TextsProvider>
      <ErrorBoundary fallback={<CrashMessage />}>
        <SignInProvider>
          <RequireSignIn>
            <Layout>
              <SafeScreens />
            </Layout>
          </RequireSignIn>
        </SignInProvider>
      </ErrorBoundary>
    </TextsProvider>
  );
}
