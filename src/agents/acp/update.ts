// What an agent tells of a session, as it comes in: nobody has checked more of it than is said here.

export interface SessionUpdate {
  readonly sessionUpdate: string;
  readonly [member: string]: unknown;
}
