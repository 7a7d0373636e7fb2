// The settings screen: the navigation and the selected section.
import { Link } from 'wouter';
import { Callout, ErrorCallout, Loading } from '../components/Callout.tsx';
import { useSettings } from '../session/settings.ts';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useTexts } from '../texts/texts.tsx';
import { UnsavedChangesGuard } from './form/unsavedChanges.tsx';
import { sections } from './sections.ts';

function SectionContent({ section }: { readonly section: string }) {
  const texts = useTexts();
  const { data, error, refetch } = useSettings();
  const found = sections.find(({ id }) => id === section);
  if (found === undefined)
    return (
      <div className="section">
        <Callout kind="warning">{texts.settings.missing}</Callout>
      </div>
    );
  if (data !== undefined) return <found.Component key={found.id} settings={data} />;
  if (error === null) return <Loading>{texts.shell.loading}</Loading>;
  return (
    <div className="section">
      <Callout kind="warning">{texts.settings.failed}</Callout>
      <ErrorCallout error={error} onRetry={() => void refetch()} />
    </div>
  );
}

export function SettingsScreen({ section }: { readonly section: string }) {
  const { settings: texts } = useTexts();
  const sectionTexts = useSettingsTexts();
  return (
    <UnsavedChangesGuard>
      <div className="settings">
        <h1>{texts.title}</h1>
        <nav aria-label={texts.sections}>
          <ul>
            {sections.map(({ id, title }) => (
              <li key={id}>
                <Link href={`/settings/${id}`} aria-current={id === section ? 'page' : undefined}>
                  {title(sectionTexts)}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className="selected-section">
          <SectionContent section={section} />
        </div>
      </div>
    </UnsavedChangesGuard>
  );
}
