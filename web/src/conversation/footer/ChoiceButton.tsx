// Shows the agent and the model of the conversation beside the message box, and opens the dialog that changes them.
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import { Icon } from '../../components/Icon.tsx';
import { visibleLine } from '../../components/visibleText.ts';
import { agentValue } from '../../session/agentNames.ts';
import { useSettings } from '../../session/settings.ts';
import { useTexts } from '../../texts/texts.tsx';

interface ChoiceButtonProps {
  readonly info: ConversationInfo;
  readonly onClick: () => void;
}

export function ChoiceButton({ info, onClick }: ChoiceButtonProps) {
  const { conversation, home } = useTexts();
  const settings = useSettings().data;
  const agent = agentValue(info.agent ?? settings?.agent ?? null) || home.builtin;
  const model = info.llm_model ?? settings?.llm_model;
  const shown = [agent, model].filter(Boolean).join(' · ');
  return (
    <button
      type="button"
      className="button plain choice"
      title={conversation.choose}
      aria-label={`${conversation.choose}: ${shown}`}
      onClick={onClick}
    >
      <Icon name="gear" />
      <span className="button-text">{visibleLine(shown)}</span>
    </button>
  );
}
