// Where a conversation begins: the message, and whatever it needs to know beside it.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import type { CreateConversation, McpConfig, Parley } from '../../../src/client/parley.ts';
import { listKey } from '../live/changes.ts';
import { ErrorCallout } from '../parts/Callout.tsx';
import { SelectField, TextArea, TextField } from '../parts/fields.tsx';
import { Icon } from '../parts/Icon.tsx';
import type { PickedImage } from '../parts/images.ts';
import { MessageBox } from '../parts/MessageBox.tsx';
import { useDraft } from '../session/drafts.ts';
import { useParley } from '../session/session.tsx';
import { useSettings, useSettingsUpdate } from '../session/settings.ts';
import { sendKeys } from '../shell/HelpDialog.tsx';
import { useShortcuts } from '../shell/shortcuts.ts';
import { faultsAt } from '../texts/errors.ts';
import { useTexts } from '../texts/texts.tsx';

interface Draft {
  readonly message: string;
  readonly images: readonly PickedImage[];
  readonly repository: string;
  readonly branch: string;
  readonly instructions: string;
  readonly mcp: string;
  /** Undefined: that of the settings. */
  readonly agent: string | undefined;
  readonly open: boolean;
  /** Sent with every try, so that however many arrive there is one conversation. */
  readonly idempotencyKey: string;
}

const empty: Draft = {
  message: '',
  images: [],
  repository: '',
  branch: '',
  instructions: '',
  mcp: '',
  agent: undefined,
  open: false,
  idempotencyKey: '',
};

/** Names of the built-in agent that older clients use. */
const builtinNames: ReadonlySet<string> = new Set(['', 'CodeActAgent', 'builtin']);

function agentValue(name: string | null | undefined): string {
  return builtinNames.has(name ?? '') ? '' : (name ?? '');
}

/** Undefined where it is no JSON. */
function readMcp(text: string): McpConfig | null | undefined {
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text) as McpConfig;
  } catch {
    return undefined;
  }
}

function toRequest(draft: Draft, mcp: McpConfig | null): CreateConversation {
  const optional = (text: string) => (text.trim() === '' ? null : text.trim());
  return {
    initial_user_msg: draft.message.trim() === '' ? null : draft.message,
    image_urls: draft.images.length === 0 ? null : draft.images.map(({ url }) => url),
    repository: optional(draft.repository),
    selected_branch: optional(draft.branch),
    conversation_instructions: optional(draft.instructions),
    mcp_config: mcp,
  };
}

function useAgents(parley: Parley) {
  const { home } = useTexts();
  const { data: names = [] } = useQuery({
    queryKey: ['options', 'agents'],
    queryFn: ({ signal }) => parley.options.agents({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return [
    { value: '', label: home.builtin },
    ...names.filter((name) => !builtinNames.has(name)).map((name) => ({ value: name, label: name })),
  ];
}

function useCreation(draft: Draft, clear: () => void) {
  const parley = useParley();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const settings = useSettings().data;
  const update = useSettingsUpdate();
  return useMutation({
    mutationFn: async (mcp: McpConfig | null) => {
      const agent = draft.agent;
      if (agent !== undefined && agent !== agentValue(settings?.agent))
        await update.mutateAsync({ agent: agent === '' ? null : agent });
      return parley.conversations.create(toRequest(draft, mcp), { idempotencyKey: draft.idempotencyKey });
    },
    onSuccess: ({ conversation_id: id }) => {
      clear();
      void queries.invalidateQueries({ queryKey: listKey });
      go(`/conversations/${encodeURIComponent(id)}`);
    },
  });
}

interface MoreProps {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly error: unknown;
  readonly mcpFault: string | undefined;
}

function MoreOptions({ draft, change, error, mcpFault }: MoreProps) {
  const { home } = useTexts();
  const parley = useParley();
  const settings = useSettings().data;
  const agents = useAgents(parley);
  return (
    <div className="more">
      <SelectField
        label={home.agent}
        hint={home.agentHint}
        value={draft.agent ?? agentValue(settings?.agent)}
        options={agents}
        onChange={(agent) => change({ agent })}
        fault={faultsAt(error, 'agent')}
      />
      <TextArea
        label={home.instructions}
        hint={home.instructionsHint}
        value={draft.instructions}
        onChange={(instructions) => change({ instructions })}
        fault={faultsAt(error, 'conversation_instructions')}
      />
      <TextArea
        label={home.mcp}
        hint={home.mcpHint}
        mono
        value={draft.mcp}
        placeholder={'{"shttp_servers": [{"url": "https://…"}]}'}
        onChange={(mcp) => change({ mcp })}
        fault={mcpFault ?? faultsAt(error, 'mcp_config')}
      />
    </div>
  );
}

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

export function Composer() {
  const { home } = useTexts();
  const { draft, change, clear } = useDraft<Draft>('home', empty, ['images']);
  const [mcpFault, setMcpFault] = useState<string>();
  const creation = useCreation(draft, clear);
  const box = useRef<HTMLTextAreaElement>(null);
  useShortcuts(
    useMemo(() => ({ create: () => box.current?.focus(), write: () => box.current?.focus() }), []),
  );
  const ready = draft.message.trim() !== '' || draft.images.length > 0;

  /** What is sent is another request from here on. */
  function edit(part: Partial<Draft>) {
    change({ ...part, idempotencyKey: newKey() });
  }

  function send() {
    const mcp = readMcp(draft.mcp);
    setMcpFault(mcp === undefined ? home.mcpFault : undefined);
    if (mcp === undefined) return change({ open: true });
    if (ready && !creation.isPending) creation.mutate(mcp);
  }

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <MessageBox
        label={home.message}
        placeholder={home.placeholder}
        rows={4}
        box={box}
        text={draft.message}
        images={draft.images}
        onText={(message) => edit({ message })}
        onImages={(images) => edit({ images })}
        onSend={send}
      >
        <div className="end">
          <span className="quiet wide-only">
            <kbd>{sendKeys}</kbd> {home.sendHint}
          </span>
          <button type="submit" className="button primary" disabled={!ready || creation.isPending}>
            <Icon name="send" />
            {creation.isPending ? home.starting : home.start}
          </button>
        </div>
      </MessageBox>
      <div className="where">
        <TextField
          label={home.repository}
          placeholder={home.repositoryHint}
          value={draft.repository}
          onChange={(repository) => edit({ repository })}
          fault={faultsAt(creation.error, 'repository')}
        />
        <TextField
          label={home.branch}
          placeholder={home.branchHint}
          value={draft.branch}
          onChange={(branch) => edit({ branch })}
          fault={faultsAt(creation.error, 'selected_branch')}
        />
        <button
          type="button"
          className="button plain"
          aria-expanded={draft.open}
          onClick={() => change({ open: !draft.open })}
        >
          <Icon name="chevron" />
          {home.more}
        </button>
      </div>
      {draft.open ? (
        <MoreOptions draft={draft} change={edit} error={creation.error} mcpFault={mcpFault} />
      ) : null}
      <ErrorCallout error={creation.error} kept />
    </form>
  );
}
