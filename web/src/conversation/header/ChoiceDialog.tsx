// The dialog that changes the agent, the model and the approval mode of a conversation.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import { ErrorCallout } from '../../components/Callout.tsx';
import { Dialog } from '../../components/Dialog.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { infoKey } from '../../live/conversationLists.ts';
import { agentName, agentValue } from '../../session/agentNames.ts';
import { useAgentChoices } from '../../session/agents.ts';
import { useApprovalChoices } from '../../session/approvalChoices.ts';
import { type ApprovalMode, approvalModeOf, confirmationMode } from '../../session/approvalModes.ts';
import { useModelNames } from '../../session/models.ts';
import { useParley } from '../../session/session.tsx';
import { useSettings } from '../../session/settings.ts';
import { fieldErrorAt, isOnlyAt } from '../../texts/errors.ts';
import { useTexts } from '../../texts/texts.tsx';

interface ChoiceDialogProps {
  readonly info: ConversationInfo;
  readonly onClose: () => void;
}

function useChoice({ info, onClose }: ChoiceDialogProps) {
  const parley = useParley();
  const queries = useQueryClient();
  const settings = useSettings().data;
  const id = info.conversation_id;
  const before = {
    agent: agentValue(info.agent ?? settings?.agent ?? null),
    model: info.llm_model ?? '',
    approval: approvalModeOf(info.confirmation_mode),
  };
  const [edited, setEdited] = useState<Partial<typeof before>>({});
  const { agent, model, approval } = { ...before, ...edited };
  const save = useMutation({
    // Only what was edited is sent, because the settings may have changed since.
    mutationFn: () =>
      parley.conversations.update(id, {
        ...(agent === before.agent ? {} : { agent: agentName(agent) }),
        ...(model.trim() === before.model ? {} : { llm_model: model.trim() === '' ? null : model.trim() }),
        ...(approval === before.approval ? {} : { confirmation_mode: confirmationMode(approval) }),
      }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: infoKey(id) });
      onClose();
    },
  });
  const isChanged = agent !== before.agent || model.trim() !== before.model || approval !== before.approval;
  const edit = (part: typeof edited) => setEdited({ ...edited, ...part });
  return { agent, model, approval, isChanged, edit, save };
}

export function ChoiceDialog(props: ChoiceDialogProps) {
  const { conversation, home, shell } = useTexts();
  const settings = useSettings().data;
  const { agent, model, approval, isChanged, edit, save } = useChoice(props);
  const modes = useApprovalChoices();
  const { choices, missingHint } = useAgentChoices();
  const models = useModelNames();
  return (
    <Dialog
      title={conversation.choose}
      onClose={props.onClose}
      footer={
        <>
          <button type="button" className="button" onClick={props.onClose}>
            {shell.cancel}
          </button>
          <button
            type="submit"
            form="choice"
            className="button primary"
            disabled={save.isPending || !isChanged}
          >
            {conversation.save}
          </button>
        </>
      }
    >
      <form
        id="choice"
        className="choice-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!save.isPending && isChanged) save.mutate();
        }}
      >
        <p className="muted">{conversation.chooseLead}</p>
        <SelectField
          label={home.agent}
          hint={missingHint(agent)}
          value={agent}
          options={choices}
          onChange={(value) => edit({ agent: value })}
          error={fieldErrorAt(save.error, 'agent')}
        />
        <TextField
          label={home.model}
          hint={home.modelHint}
          mono
          value={model}
          placeholder={settings?.llm_model ?? ''}
          suggestions={models}
          onChange={(value) => edit({ model: value })}
          error={fieldErrorAt(save.error, 'llm_model')}
        />
        <SelectField
          label={home.approval}
          value={approval}
          options={modes}
          onChange={(value) => edit({ approval: value as ApprovalMode })}
        />
        {isOnlyAt(save.error, ['agent', 'llm_model']) ? null : <ErrorCallout error={save.error} />}
      </form>
    </Dialog>
  );
}
