// What programs inside must be told so that they use the bridge for all that they ask of other servers.

/** The variables that most programs honour. Those that do not have no network. */
export function bridgeEnvironment({
  origin,
  token,
}: {
  origin: string;
  token: string;
}): Record<string, string> {
  const proxy = new URL(origin);
  proxy.username = 'run';
  proxy.password = token;
  const url = proxy.href.replace(/\/$/, '');
  // What is on the loopback inside is there or nowhere: the bridge itself, and servers that the agent starts.
  const direct = 'localhost,127.0.0.1,::1';
  return {
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    ALL_PROXY: url,
    http_proxy: url,
    https_proxy: url,
    all_proxy: url,
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: '1',
  };
}
