// The first screen: what is to be done, and what was.
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { Callout } from '../parts/Callout.tsx';
import { visibleLine } from '../parts/visibleText.ts';
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

function deletedTitle(): string | undefined {
  const { deleted } = (history.state ?? {}) as { readonly deleted?: unknown };
  return typeof deleted === 'string' ? visibleLine(deleted) : undefined;
}

/** Says, once, which conversation somebody has just deleted. */
function Deleted() {
  const { home } = useTexts();
  const [title] = useState(deletedTitle);
  useEffect(() => {
    if (title !== undefined) history.replaceState(null, '');
  }, [title]);
  return (
    <p className={title === undefined ? 'hidden' : 'quiet'} role="status">
      {title === undefined ? '' : home.deleted(title)}
    </p>
  );
}

export function Home() {
  const { home } = useTexts();
  return (
    <div className="home">
      <h1>{home.title}</h1>
      <Deleted />
      <ModelHint />
      <Composer />
      <ConversationList />
    </div>
  );
}
