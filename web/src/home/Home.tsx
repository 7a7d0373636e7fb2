// The home screen: the form for a new conversation. The list of conversations is beside it.
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { Callout } from '../components/Callout.tsx';
import { visibleLine } from '../components/visibleText.ts';
import { isBuiltin } from '../session/agentNames.ts';
import { useMissingKey } from '../session/providerKeys.ts';
import { useSettings } from '../session/settings.ts';
import { useTexts } from '../texts/texts.tsx';
import { Composer } from './Composer.tsx';

/** Only the built-in agent needs a model and its key in the settings; other agents may bring their own. */
function ModelHint() {
  const { home } = useTexts();
  const { data: settings } = useSettings();
  const provider = useMissingKey()('');
  if (settings === undefined || !isBuiltin(settings.agent)) return null;
  const { llm_model: model } = settings;
  if (model !== null && provider === undefined) return null;
  return (
    <Callout kind="warning">
      {model === null ? home.noModel : home.noKey(visibleLine(model), provider ?? '')}{' '}
      <Link href="/settings/model">{model === null ? home.setModel : home.setKey}</Link>
    </Callout>
  );
}

function deletedTitle(): string | undefined {
  const { deleted } = (history.state ?? {}) as { readonly deleted?: unknown };
  return typeof deleted === 'string' ? visibleLine(deleted) : undefined;
}

/** Confirms once which conversation was just deleted. */
function DeletedNotice() {
  const { home } = useTexts();
  const [title] = useState(deletedTitle);
  useEffect(() => {
    if (title !== undefined) history.replaceState(null, '');
  }, [title]);
  return (
    <p className={title === undefined ? 'visually-hidden' : 'muted'} role="status">
      {title === undefined ? '' : home.deleted(title)}
    </p>
  );
}

export function Home() {
  const { home } = useTexts();
  return (
    <div className="home">
      <h1>{home.title}</h1>
      <DeletedNotice />
      <ModelHint />
      <Composer />
    </div>
  );
}
