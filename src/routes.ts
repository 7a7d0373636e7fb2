// The routes of a process: all of them, or only the health checks if it only runs conversations.
import type { Logger } from 'pino';
import { accountRoutes } from './accounts/routes.ts';
import { acpPath, acpRoutes } from './acp/routes.ts';
import { agentRoutes } from './agents/routes.ts';
import { budgetRoutes } from './budgets/routes.ts';
import { type Config, trustsProxy } from './config.ts';
import { cancellationRoutes } from './conversations/cancel/routes.ts';
import { confirmationRoutes } from './conversations/confirm/routes.ts';
import { conversationRoutes } from './conversations/create/routes.ts';
import { feedbackRoutes } from './conversations/feedback/routes.ts';
import { forkRoutes } from './conversations/fork/routes.ts';
import { lifecycleRoutes } from './conversations/lifecycle/routes.ts';
import { listingRoutes } from './conversations/list/routes.ts';
import { searchRoutes } from './conversations/search/routes.ts';
import { usageRoutes } from './conversations/usage/routes.ts';
import type { Database } from './db/transaction.ts';
import { eventRoutes } from './events/routes.ts';
import { referenceRoutes } from './http/apiDocs/routes.ts';
import { diagnosticsRoutes } from './http/diagnostics.ts';
import { healthRoutes } from './http/health.ts';
import { pageRoutes } from './http/page.ts';
import { createReachability, processRoute } from './http/reachability.ts';
import type { Server } from './http/routeTable.ts';
import { type CreatedServer, createServer } from './http/server.ts';
import { keyRoutes } from './keys/routes.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { metricsRoutes } from './metrics/routes.ts';
import { builtFile } from './process/program.ts';
import { version } from './process/version.ts';
import { providerKeyRoutes } from './providerKeys/routes.ts';
import { repositoryRoutes } from './repositories/routes.ts';
import { secretRoutes } from './secrets/routes.ts';
import type { Services } from './services.ts';
import { defaultsRoutes } from './settings/defaultsRoutes.ts';
import { optionRoutes } from './settings/optionRoutes.ts';
import { fastSettingsRoute, settingsRoutes } from './settings/routes.ts';
import { identityRoutes } from './signIn/identityRoutes.ts';
import { signInRoutes } from './signIn/routes.ts';
import { sessionRoutes } from './signIn/sessionRoutes.ts';
import { v0Routes } from './v0/routes.ts';
import { socketPath } from './v0/socketRoutes.ts';
import { v0UploadRoutes } from './v0/uploadRoutes.ts';
import { webhookRoutes } from './webhooks/routes.ts';
import { workspaceRoutes } from './workspaces/read/routes.ts';
import { uploadRoutes } from './workspaces/write/routes.ts';

interface RoutesOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly databaseKind: Database['kind'];
  readonly checkWritable: () => Promise<void>;
  readonly services: Services;
  readonly isStopping: () => boolean;
  /** The public URL of the service. */
  readonly address: () => string;
}

function apiRoutes(app: Server, services: Services, config: Config): void {
  settingsRoutes(app, services.settings);
  defaultsRoutes(app, services.defaults, services.settings);
  secretRoutes(app, services.secrets);
  providerKeyRoutes(app, services.providerKeys);
  repositoryRoutes(app, services.repositories);
  mcpRoutes(app, services.mcpCheck);
  optionRoutes(app, { agents: services.agentNames, models: services.models, withAliases: config.v0 });
  agentRoutes(app, services.agents);
  conversationRoutes(app, services.conversations);
  confirmationRoutes(app, services.confirmations);
  cancellationRoutes(app, services.cancellations);
  lifecycleRoutes(app, services.lifecycle);
  forkRoutes(app, services.forks);
  listingRoutes(app, services.listing, config.publicUrl);
  searchRoutes(app, services.search);
  eventRoutes(app, services.events);
  usageRoutes(app, services.usages);
  feedbackRoutes(app, services.feedback);
  keyRoutes(app, services.keys);
  accountRoutes(app, services.accounts);
  signInRoutes(app, { signIn: services.signIn, sharing: services.nodes.sharing });
  sessionRoutes(app, services.sessions);
  identityRoutes(app, services.identities);
  budgetRoutes(app, services.budgets);
  webhookRoutes(app, services.webhooks);
}

export function createRoutedServer(options: RoutesOptions): Pick<CreatedServer, 'app' | 'openAnswers'> {
  const { config, logger, databaseKind, checkWritable, services, isStopping, address } = options;
  const answers = config.role !== 'worker';
  const { app, routes, openAnswers, failures } = createServer({
    config,
    logger,
    authenticate: services.keys.authenticate,
    authenticateAnonymous: services.keys.authenticateAnonymous,
    requestRates: services.rates.requests,
    sharing: services.nodes.sharing,
    verifyNode: services.nodes.verify,
    forNodesOnly: !answers,
    upgradePaths: answers ? [acpPath, ...(config.v0 ? [socketPath] : [])] : [],
    isStopping,
    metrics: services.metrics,
    tracing: services.tracing,
    // The fast lane does not know the client's address behind a proxy.
    ...(answers && !config.accessLog ? { fastRoute: fastSettingsRoute(services.settings) } : {}),
  });
  if (answers) apiRoutes(app, services, config);
  if (answers) metricsRoutes(app, services.metrics);
  if (answers)
    diagnosticsRoutes(app, {
      trustsProxy: trustsProxy(config.trustProxy),
      listProcesses: services.nodes.list,
      measure: createReachability({ processId: services.nodes.processId, readAt: services.readAt }),
    });
  if (answers) acpRoutes(app, { version, onBackgroundError: services.onBackgroundError });
  if (answers && config.v0) v0Routes(app, services, failures);
  processRoute(app, services.nodes.processId);
  // Other processes use the workspaces of a worker.
  workspaceRoutes(app, services.workspaces, services.passOnReading);
  uploadRoutes(app, services.uploads, services.passOn);
  if (config.v0) v0UploadRoutes(app, services.uploads, services.passOn);
  healthRoutes(app, {
    version,
    role: config.role,
    databaseKind,
    describeSandbox: services.runtime.describeSandbox,
    isStopping,
    checkWritable,
  });
  if (!answers) return { app, openAnswers };
  referenceRoutes(app, routes, { version, address });
  pageRoutes(app, builtFile('web/'));
  return { app, openAnswers };
}
