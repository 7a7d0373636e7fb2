// Preloaded into agents that hand a dispatcher of the undici that they bring to the fetch of Node, whose undici is a newer
// one and fails with it. What a dispatcher is wanted for, the proxy, is in the environment, which Node heeds itself.
const { fetch } = globalThis;
globalThis.fetch = (input, init) => fetch(input, init && { ...init, dispatcher: undefined });

// For this program alone, not for those that it starts.
delete process.env.NODE_OPTIONS;
