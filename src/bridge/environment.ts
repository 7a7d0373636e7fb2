// The environment variables that make programs inside use the bridge as their proxy.

/** The variables that most programs support. Other programs have no network. */
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
  // Servers on the loopback interface inside are reached directly: the bridge itself, and those that the agent starts.
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
