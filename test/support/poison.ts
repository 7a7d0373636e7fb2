// Loaded into a service by a test (`node --import`): causes uncaught errors where it reads or writes JSON with certain
// keywords. The product has no switch for this.

/** A prompt of an agent: the error belongs to its run, and occurs again if the turn is resumed. */
const inRun = /"session\/prompt".*"text":"(poison-the-run|You were interrupted)/s;
/** A request of a client. */
const elsewhere = /^\{"initial_user_msg":"poison-the-service"/;

function poison(): void {
  setImmediate(() => {
    throw new Error('a test poisoned this');
  });
}

const { parse, stringify } = JSON;
JSON.parse = (text: string, reviver?: Parameters<typeof parse>[1]) => {
  if (elsewhere.test(text)) poison();
  return parse(text, reviver);
};
JSON.stringify = ((...args: Parameters<typeof stringify>) => {
  const text = stringify(...args);
  if (inRun.test(text)) poison();
  return text;
}) as typeof stringify;
