// Writes deploy/seccomp.json, the seccomp profile for containers of the service: `npm run seccomp`.
import { writeFileSync } from 'node:fs';
import { createContainerProfile } from '../../src/sandbox/seccomp/containerProfile.ts';

const file = new URL('../../deploy/seccomp.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(createContainerProfile(), null, 2)}\n`);
