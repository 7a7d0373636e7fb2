// The first screen: what is to be done, and what was.
import { Link } from 'wouter';
import { Callout } from '../parts/Callout.tsx';
import { isBuiltin } from '../session/agents.ts';
import { useSettings } from '../session/settings.ts';
import { useTexts } from '../texts/texts.tsx';
import { Composer } from './Composer.tsx';
import { ConversationList } from './ConversationList.tsx';

/** The built-in agent needs a model; the others may have one of their own. */
function ModelHint() {
  const { home } = useTexts();
  const { data: settings } = useSettings();
  if (settings === undefined || settings.llm_model !== null || !isBuiltin(settings.agent)) return null;
  return (
    <Callout kind="warning">
      {home.noModel} <Link href="/settings/model">{home.setModel}</Link>
    </Callout>
  );
}

export function Home() {
  const { home } = useTexts();
  return (
    <div className="home">
      <h1>{home.title}</h1>
      <ModelHint />
      <Composer />
      <ConversationList />
    </div>
  );
}
