// An update of an agent as it arrives. Only the fields below have been validated.

export interface SessionUpdate {
  readonly sessionUpdate: string;
  readonly [field: string]: unknown;
}
