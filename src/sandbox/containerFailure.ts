// Explains in one sentence why a container could not be started, from what the engine's client printed.

/** The exit code of `docker run` if the engine itself failed; other codes are those of the program. */
const engineFailureCode = 125;
const shownCharsMax = 300;

interface Ended {
  readonly code: number | null;
  readonly stderr: Buffer;
}

/** Undefined if the container was started. */
export function containerFailure({ code, stderr }: Ended): string | undefined {
  if (code !== engineFailureCode) return undefined;
  const text = stderr.toString();
  const [, said] = /^docker: (?:Error response from daemon: )?(.*?)\.?$/m.exec(text) ?? [];
  if (said === undefined) return undefined;
  const [, image] = /^Unable to find image '([^']*)' locally$/m.exec(text) ?? [];
  const what =
    image === undefined ? 'The container' : `A container of ${image}, which is not on this machine,`;
  const why = said.replace(/\p{Cc}/gu, ' ').slice(0, shownCharsMax);
  return `${what} could not be started: ${why}.`;
}
