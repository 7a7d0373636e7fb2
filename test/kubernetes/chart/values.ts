// Values with which the chart is rendered and installed in tests.
import type { Values } from '../../support/chart.ts';

/** What nobody can do without. */
export const required = {
  image: { repository: 'registry.example.com/parley' },
  secret: { name: 'parley' },
  sandbox: { image: 'registry.example.com/parley-agent:1' },
};

const withSandbox = (sandbox: Values): Values => ({
  ...required,
  sandbox: { ...required.sandbox, ...sandbox },
});

/** With pods that run in advance. */
export const withWarmPool = withSandbox({ agentSandbox: true, warmPool: { replicas: 3 } });

export const cases: Readonly<Record<string, Values>> = {
  'only what is required': required,
  'a namespace for conversations': withSandbox({
    namespace: 'parley-agents',
    createNamespace: true,
    runtimeClass: 'gvisor',
    quota: { pods: '100', 'limits.memory': '400Gi' },
  }),
  volumes: withSandbox({ volumes: { size: '10Gi', storageClass: 'fast' } }),
  'a warm pool': withWarmPool,
  'a warm pool beside plain pods, with another limit': {
    ...withSandbox({ runtimeClass: 'gvisor', warmPool: { replicas: 1 } }),
    config: { PARLEY_WORKSPACE_MB: 2_500 },
  },
  'everything that can be switched on': {
    ...withSandbox({ namespace: 'elsewhere' }),
    fullnameOverride: 'agents',
    image: { repository: 'registry.example.com/parley', tag: '1.2.3', pullPolicy: 'Always' },
    imagePullSecrets: ['registry'],
    snapshots: 's3://bucket/prefix',
    config: { PARLEY_LOG_LEVEL: 'debug', PARLEY_RATE_LIMIT: 50, PARLEY_V0: false },
    extraEnv: [{ name: 'AWS_SECRET_ACCESS_KEY', valueFrom: { secretKeyRef: { name: 's3', key: 'secret' } } }],
    api: {
      replicas: 3,
      drainSeconds: 25,
      podAnnotations: { team: 'agents' },
      nodeSelector: { pool: 'web' },
      tolerations: [{ key: 'web', operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
    },
    podDisruptionBudget: { maxUnavailable: '50%' },
    service: { type: 'NodePort', port: 8080, annotations: { a: 'b' } },
    ingress: {
      enabled: true,
      className: 'nginx',
      host: 'parley.example.com',
      tlsSecret: 'parley-tls',
      annotations: { 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' },
    },
    metrics: { enabled: true },
    serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/x' } },
  },
  'everything that can be switched off': {
    ...withSandbox({ networkPolicy: false }),
    podDisruptionBudget: { enabled: false },
    migration: { enabled: false },
    serviceAccount: { existing: 'mine' },
    trustProxy: '',
  },
};

/** What is refused, and what the message names. */
export const refusals: Readonly<Record<string, readonly [Values, RegExp]>> = {
  'no image': [{ ...required, image: {} }, /image\.repository is required/],
  'no Secret': [{ ...required, secret: {} }, /secret\.name is required/],
  'no image for agents': [{ ...required, sandbox: {} }, /sandbox\.image is required/],
  'an ingress without a host': [{ ...required, ingress: { enabled: true } }, /ingress\.host is required/],
  'to create the namespace of the release': [
    withSandbox({ createNamespace: true }),
    /createNamespace needs a sandbox\.namespace/,
  ],
  'a warm pool of pods that need volumes': [
    withSandbox({ warmPool: { replicas: 1 }, volumes: { size: '1Gi' } }),
    /warmPool cannot be used with sandbox\.volumes/,
  ],
  'an unknown value': [{ ...required, worker: { slot: 3 } }, /worker/],
  'a wrong type': [{ ...required, api: { replicas: 'two' } }, /\/api\/replicas/],
  'a size that is none': [withSandbox({ volumes: { size: '10 GB' } }), /volumes/],
  'an option in lower case': [{ ...required, config: { parley_v0: '1' } }, /config/],
  'a URL with a path': [{ ...required, publicUrl: 'https://example.com/parley' }, /publicUrl/],
};
