// Writes openapi.json, the description that the service gives of itself: `npm run openapi`.
import { writeFileSync } from 'node:fs';
import { startService } from './service.ts';

const service = await startService({});
const { text } = await service.ask('/openapi.json');
writeFileSync(new URL('../../openapi.json', import.meta.url), text);
await service.stop();
