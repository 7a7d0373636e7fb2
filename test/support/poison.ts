// Loaded into a service by a test (`node --import`): makes it meet errors that nobody catches, wherever it parses JSON
// with a certain word in it. The product has no switch for that.

/** In what an agent tells: the error belongs to its run. */
const inRun = /"session\/update".*poison-the-run/s;
/** In a request of a client. */
const elsewhere = /^\{"initial_user_msg":"poison-the-service"/;

const parse = JSON.parse;
JSON.parse = (text: string, reviver?: Parameters<typeof parse>[1]) => {
  if (inRun.test(text) || elsewhere.test(text))
    setImmediate(() => {
      throw new Error('a test poisoned this');
    });
  return parse(text, reviver);
};
