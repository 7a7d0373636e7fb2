// The result of checking an MCP server: its tools, or why it cannot be reached.
import type { CheckedServer } from '../../../../src/client/parley.ts';
import { Icon } from '../../components/Icon.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';

interface CheckResultProps {
  readonly checking: boolean;
  readonly result: CheckedServer | undefined;
}

/** Always rendered, so that screen readers announce its changes. */
export function CheckResult({ checking, result }: CheckResultProps) {
  const { tools: texts } = useSettingsTexts();
  return (
    <div role="status" className="check-result">
      {checking ? (
        <p className="muted">
          <span className="spinner" /> {texts.checking}
        </p>
      ) : null}
      {result === undefined || checking ? null : <Outcome result={result} />}
    </div>
  );
}

function Outcome({ result: { status, tools = [], reason } }: { readonly result: CheckedServer }) {
  const { tools: texts } = useSettingsTexts();
  if (status === 'not_checked')
    return (
      <p className="muted">
        <Icon name="info" /> {texts.notChecked}: {reason}
      </p>
    );
  if (status === 'failed')
    return (
      <p className="bad">
        <Icon name="alert" /> {texts.failed}: {reason}
      </p>
    );
  return (
    <>
      <p className="good">
        <Icon name="check" /> {texts.ok}: {tools.length === 0 ? texts.noTools : texts.tools(tools.length)}
      </p>
      {tools.length === 0 ? null : (
        <ul className="tags">
          {tools.map((tool) => (
            <li key={tool}>
              <code>{tool}</code>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
