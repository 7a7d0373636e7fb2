// One use of a tool: what was done in a line, what came of it below, and the question where it needs leave.
import { memo, type ReactNode } from 'react';
import { foldBlanks } from '../../../src/text/foldBlanks.ts';
import { Icon, type IconName } from '../components/Icon.tsx';
import type { Texts } from '../texts/en.ts';
import { useTexts } from '../texts/texts.tsx';
import { CopyButton } from './content/CopyButton.tsx';
import { DiffView } from './content/DiffView.tsx';
import { Output } from './content/Output.tsx';
import { countChanges, foldDiffLines, readDiff } from './diff.ts';
import { ElapsedTime } from './ElapsedTime.tsx';
import type { Call } from './items.ts';
import { QuestionView } from './QuestionView.tsx';
import { useUnfolded } from './unfolded.ts';

const icons: Readonly<Record<Call['tool'], IconName>> = {
  run: 'terminal',
  edit: 'edit',
  read: 'file',
  browse: 'globe',
  tool: 'tool',
};

function verbOf({ tool, operation, createsFile }: Call, { items }: Texts): string {
  if (tool === 'edit' && operation === 'delete') return items.delete;
  if (tool === 'edit' && operation === 'move') return items.move;
  if (tool === 'edit' && createsFile) return items.create;
  return { run: items.command, edit: items.edit, read: items.read, browse: items.browse, tool: items.tool }[
    tool
  ];
}

function Ending({ call }: { readonly call: Call }) {
  const { items } = useTexts();
  const { outcome, exitCode, question } = call;
  if (question?.answer === 'reject') return <span className="ending bad">{items.rejected}</span>;
  if (outcome === undefined)
    return question?.answer === 'open' ? null : (
      <span className="ending">
        <span className="spinner" /> {items.running} <ElapsedTime since={call.since} />
      </span>
    );
  if (outcome === 'unfinished') return <span className="ending">{items.unfinished}</span>;
  if (call.tool === 'run' && exitCode !== undefined && exitCode > 0)
    return <span className="ending bad">{items.exit(exitCode)}</span>;
  if (outcome === 'failed') return <span className="ending bad">{items.failed}</span>;
  return (
    <span className="ending good">
      <Icon name="check" />
    </span>
  );
}

function Command({ call }: { readonly call: Call }) {
  const { items } = useTexts();
  return (
    <div className="terminal">
      <div className="command">
        <pre>{foldBlanks(call.subject, items)}</pre>
        <CopyButton text={() => call.subject} />
      </div>
      {call.output.trim() === '' ? null : <Output text={call.output} label={items.output} end />}
    </div>
  );
}

const isAsking = ({ question }: Call) => question?.answer === 'open';

function Edit({ call }: { readonly call: Call }) {
  const { items } = useTexts();
  const told = readDiff(call.diff, call.subject);
  const lines = isAsking(call) ? foldDiffLines(told, items) : told;
  return (
    <>
      {call.diff === '' ? null : <DiffView lines={lines} label={items.edit} whole={isAsking(call)} />}
      {call.output === '' ? null : <Output text={call.output} label={items.output} />}
    </>
  );
}

function Counts({ diff }: { readonly diff: string }) {
  if (diff === '') return null;
  const { added, removed } = countChanges(readDiff(diff));
  return (
    <span className="counts">
      <span className="plus">+{added}</span> <span className="minus">−{removed}</span>
    </span>
  );
}

/**
 * What others than commands and edits were given and gave; folded, for it is seldom read unless somebody must decide.
 */
function Folded({ call, children }: { readonly call: Call; readonly children: ReactNode }) {
  const { items } = useTexts();
  const [open, setOpen] = useUnfolded('call');
  const some = call.input !== '' || call.output.trim() !== '';
  if (!some || isAsking(call))
    return (
      <>
        <div className="call-head">{children}</div>
        {call.input === '' ? null : (
          <Output text={foldBlanks(call.input, items)} label={items.input} unfolded />
        )}
      </>
    );
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="call-head">{children}</summary>
      {open && call.input !== '' ? <Output text={call.input} label={items.input} /> : null}
      {open && call.output.trim() !== '' ? <Output text={call.output} label={items.output} /> : null}
    </details>
  );
}

export const CallView = memo(function CallView({ call }: { readonly call: Call }) {
  const texts = useTexts();
  const fold = (text: string) => (isAsking(call) ? foldBlanks(text, texts.items) : text);
  const head = (
    <>
      <Icon name={icons[call.tool]} />
      <span className="verb">{verbOf(call, texts)}</span>
      {call.tool === 'run' ? (
        <span className="subject quiet">{call.title === call.subject ? '' : fold(call.title)}</span>
      ) : (
        <span className="subject mono">{fold(call.subject || call.title)}</span>
      )}
      <Counts diff={call.diff} />
      <Ending call={call} />
    </>
  );
  return (
    <div className={isAsking(call) ? 'call asking' : 'call'}>
      {call.tool === 'run' || call.tool === 'edit' ? (
        <>
          <div className="call-head">{head}</div>
          {call.tool === 'run' ? <Command call={call} /> : <Edit call={call} />}
        </>
      ) : (
        <Folded call={call}>{head}</Folded>
      )}
      {isAsking(call) && call.request !== '' ? (
        <Output text={foldBlanks(call.request, texts.items)} label={texts.items.request} unfolded />
      ) : null}
      {call.question === undefined ? null : (
        <QuestionView key={call.question.event} question={call.question} />
      )}
    </div>
  );
});
