// The approval mode of one conversation, as forms hold it.

/** Empty means what the settings say. */
export type ApprovalMode = '' | 'on' | 'off';

export function approvalModeOf(confirms: boolean | null | undefined): ApprovalMode {
  return confirms == null ? '' : confirms ? 'on' : 'off';
}

/** The value of `confirmation_mode` in a request. */
export function confirmationMode(mode: ApprovalMode): boolean | null {
  return mode === '' ? null : mode === 'on';
}
