// A tool call: its action in one line, its result below, and its approval request if it has one.
import { memo, type ReactNode, useMemo } from 'react';
import { foldBlanks } from '../../../../src/text/foldBlanks.ts';
import { Code } from '../../code/Code.tsx';
import { Icon, type IconName } from '../../components/Icon.tsx';
import type { Texts } from '../../texts/en.ts';
import { useTexts } from '../../texts/texts.tsx';
import { ApprovalRequestView } from '../approval/ApprovalRequestView.tsx';
import { CopyButton } from '../content/CopyButton.tsx';
import { DiffView } from '../content/DiffView.tsx';
import { countChanges, foldDiffLines, readDiff } from '../content/diff.ts';
import { useItemFlag } from '../content/itemFlags.ts';
import { Output } from '../content/Output.tsx';
import type { Call } from '../items.ts';
import { ElapsedTime } from './ElapsedTime.tsx';

const needsApproval = ({ approval }: Call) => approval?.answer === 'open';

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

function Outcome({ call }: { readonly call: Call }) {
  const { items } = useTexts();
  const { outcome, exitCode, approval } = call;
  if (approval?.answer === 'reject') return <span className="outcome bad">{items.rejected}</span>;
  if (outcome === undefined)
    return needsApproval(call) ? null : (
      <span className="outcome">
        <span className="spinner" /> {items.running} <ElapsedTime since={call.since} />
      </span>
    );
  if (outcome === 'unfinished') return <span className="outcome">{items.unfinished}</span>;
  if (call.tool === 'run' && exitCode !== undefined && exitCode > 0)
    return <span className="outcome bad">{items.exit(exitCode)}</span>;
  if (outcome === 'failed') return <span className="outcome bad">{items.failed}</span>;
  return (
    <span className="outcome good">
      <Icon name="check" />
    </span>
  );
}

function Command({ call }: { readonly call: Call }) {
  const { items } = useTexts();
  return (
    <div className="terminal">
      <div className="command">
        <pre>
          {needsApproval(call) ? (
            foldBlanks(call.subject, items)
          ) : (
            <Code text={foldBlanks(call.subject, items)} language="bash" />
          )}
        </pre>
        <CopyButton text={() => call.subject} />
      </div>
      {call.output.trim() === '' ? null : <Output text={call.output} label={items.output} end />}
    </div>
  );
}

function Edit({ call }: { readonly call: Call }) {
  const { items } = useTexts();
  const isFolded = needsApproval(call);
  const lines = useMemo(() => {
    const all = readDiff(call.diff, call.subject);
    return isFolded ? foldDiffLines(all, items) : all;
  }, [call.diff, call.subject, isFolded, items]);
  return (
    <>
      {call.diff === '' ? null : (
        <DiffView lines={lines} label={items.edit} path={call.subject} expanded={isFolded} />
      )}
      {call.output === '' ? null : <Output text={call.output} label={items.output} />}
    </>
  );
}

function LineCounts({ diff }: { readonly diff: string }) {
  if (diff === '') return null;
  const { added, removed } = countChanges(readDiff(diff));
  return (
    <span className="counts">
      <span className="plus">+{added}</span> <span className="minus">−{removed}</span>
    </span>
  );
}

/** What is known of the language of a call's output. */
function hintOf({ tool, subject, output }: Call): { path?: string; language?: string } {
  if (tool === 'read') return { path: subject };
  return /^\s*[[{]/.test(output) ? { language: 'json' } : {};
}

/** The input and output of other tools. Users seldom read them, so they are collapsed unless they need approval. */
function CollapsibleCall({ call, children }: { readonly call: Call; readonly children: ReactNode }) {
  const { items } = useTexts();
  const [open, setOpen] = useItemFlag('call');
  const hasContent = call.input !== '' || call.output.trim() !== '';
  if (!hasContent || needsApproval(call))
    return (
      <>
        <div className="call-head">{children}</div>
        {call.input === '' ? null : (
          <Output text={foldBlanks(call.input, items)} label={items.input} expanded />
        )}
      </>
    );
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="call-head">{children}</summary>
      {open && call.input !== '' ? <Output text={call.input} label={items.input} language="json" /> : null}
      {open && call.output.trim() !== '' ? (
        <Output text={call.output} label={items.output} {...hintOf(call)} />
      ) : null}
    </details>
  );
}

export const CallView = memo(function CallView({ call }: { readonly call: Call }) {
  const texts = useTexts();
  const fold = (text: string) => (needsApproval(call) ? foldBlanks(text, texts.items) : text);
  const head = (
    <>
      <Icon name={icons[call.tool]} />
      <span className="verb">{verbOf(call, texts)}</span>
      {call.tool === 'run' ? (
        <span className="subject muted">{call.title === call.subject ? '' : fold(call.title)}</span>
      ) : (
        <span className="subject mono">{fold(call.subject || call.title)}</span>
      )}
      <LineCounts diff={call.diff} />
      <Outcome call={call} />
    </>
  );
  return (
    <div className={needsApproval(call) ? 'call needs-approval' : 'call'}>
      {call.tool === 'run' || call.tool === 'edit' ? (
        <>
          <div className="call-head">{head}</div>
          {call.tool === 'run' ? <Command call={call} /> : <Edit call={call} />}
        </>
      ) : (
        <CollapsibleCall call={call}>{head}</CollapsibleCall>
      )}
      {needsApproval(call) && call.approvalDetails !== '' ? (
        <Output
          text={foldBlanks(call.approvalDetails, texts.items)}
          label={texts.items.approvalDetails}
          expanded
        />
      ) : null}
      {call.approval === undefined ? null : (
        <ApprovalRequestView key={call.approval.event} request={call.approval} />
      )}
    </div>
  );
});
