// The approval modes that the user can choose for one conversation.
import { useTexts } from '../texts/texts.tsx';
import type { ApprovalMode } from './approvalModes.ts';
import { useSettings } from './settings.ts';

interface ApprovalChoice {
  readonly value: ApprovalMode;
  readonly label: string;
}

/** The first one is what the settings say now. */
export function useApprovalChoices(): readonly ApprovalChoice[] {
  const { home } = useTexts();
  const isOn = useSettings().data?.confirmation_mode === true;
  return [
    { value: '', label: home.approvalDefault(isOn ? home.approvalOn : home.approvalOff) },
    { value: 'on', label: home.approvalOn },
    { value: 'off', label: home.approvalOff },
  ];
}
