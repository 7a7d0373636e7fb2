// Facts about the service, links to its docs, and the button to sign out.
import { useQuery } from '@tanstack/react-query';
import type { ServerInfo } from '../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../components/Callout.tsx';
import { visibleLine } from '../components/visibleText.ts';
import { useParley, useSession } from '../session/session.tsx';
import { useMe } from '../session/settings.ts';
import type { SettingsTexts } from '../texts/settings/en.ts';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useLocale } from '../texts/texts.tsx';
import { fullText } from '../texts/time.ts';
import { Card } from './form/Section.tsx';

type Labels = Readonly<Record<string, string>>;

function sandboxText(sandbox: string | null, about: SettingsTexts['about']): string {
  return sandbox === null ? about.noSandbox : ((about.sandboxes as Labels)[sandbox] ?? sandbox);
}

function limitsText({ memory, processes }: ServerInfo['limits'], about: SettingsTexts['about']): string {
  if (memory && processes) return about.limitTexts.both;
  if (memory) return about.limitTexts.memory;
  return processes ? about.limitTexts.processes : about.limitTexts.none;
}

/** `fetchedAt` is when the service reported its uptime. */
function Facts({ info, fetchedAt }: { readonly info: ServerInfo; readonly fetchedAt: number }) {
  const { about } = useSettingsTexts();
  const { language } = useLocale();
  const since = new Date(fetchedAt - info.uptime * 1_000).toISOString();
  const facts: readonly [string, string][] = [
    [about.version, info.version],
    [about.sandbox, sandboxText(info.sandbox, about)],
    [about.limits, limitsText(info.limits, about)],
    [about.database, (about.databases as Labels)[info.database] ?? info.database],
    [about.uptime, fullText(since, language)],
  ];
  return (
    <dl className="facts-list">
      {facts.map(([name, fact]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{fact}</dd>
        </div>
      ))}
    </dl>
  );
}

export function AboutSection() {
  const { about } = useSettingsTexts();
  const { texts } = useLocale();
  const parley = useParley();
  const { signOut } = useSession();
  const { data: me } = useMe();
  const { data, dataUpdatedAt, error, refetch } = useQuery({
    queryKey: ['server'],
    queryFn: ({ signal }) => parley.server.info({ signal }),
  });
  return (
    <>
      <Card title={about.title} lead={about.lead}>
        {data === undefined && error === null ? <Loading>{texts.shell.loading}</Loading> : null}
        <ErrorCallout error={error} onRetry={() => void refetch()} />
        {data === undefined ? null : <Facts info={data} fetchedAt={dataUpdatedAt} />}
        <ul className="links" aria-label={about.more}>
          <li>
            <a href="/docs">{about.reference}</a>
          </li>
          <li>
            <a href="/openapi.json">{about.openapi}</a>
          </li>
        </ul>
      </Card>
      <Card title={about.session} lead={about.sessionText} part>
        {me === undefined ? null : (
          <p>{texts.signIn.signedInAs(visibleLine(me.user), visibleLine(me.key_name))}</p>
        )}
        <div className="row">
          <button type="button" className="button" onClick={signOut}>
            {texts.shell.signOut}
          </button>
        </div>
      </Card>
    </>
  );
}
