// The engine and the images that all tests of this folder share. They run in one process.
import { spawnSync } from 'node:child_process';
import { after } from 'node:test';
import { type DockerEngine, findMissingEngine, startDockerEngine } from '../support/dockerEngine.ts';
import { buildParleyImage, importBase, inFolder } from '../support/dockerImages.ts';
import { runNpm } from '../support/npm.ts';
import { projectDir } from '../support/program.ts';

const reasonCharsMax = 300;

function findMissing(): string | false {
  const missing = findMissingEngine();
  if (missing !== false) return missing;
  return spawnSync('mmdebstrap', ['--version']).status === 0 ? false : 'mmdebstrap is not installed';
}

const reasonOf = (what: string, error: unknown) =>
  `${what}: ${String((error as { stderr?: string }).stderr || error).trim()}`.slice(0, reasonCharsMax);

/** Returns the reason if no engine can run here, or if Debian's packages cannot be reached. */
async function startEngine(): Promise<DockerEngine | string> {
  let engine: DockerEngine;
  try {
    engine = await startDockerEngine();
  } catch (error) {
    return reasonOf('no Docker engine can run here', error);
  }
  after(() => engine.stop());
  try {
    await importBase(engine);
  } catch (error) {
    return reasonOf('there is no base image', error);
  }
  return engine;
}

/** What fails from here on is our fault. */
async function start(): Promise<DockerEngine | string> {
  const missing = findMissing();
  if (missing !== false) return missing;
  return inFolder(async (folder) => {
    const packing = runNpm(['pack', `--pack-destination=${folder}`, projectDir]);
    const [engine] = await Promise.all([startEngine(), packing]);
    if (typeof engine === 'string') return engine;
    await buildParleyImage(engine, folder);
    // The service reads it as people set it.
    process.env['DOCKER_HOST'] = engine.host;
    return engine;
  });
}

const started = await start();

/** The reason to skip all tests with an engine, or false. */
export const skip = typeof started === 'string' && started;

/** Throws if the tests must be skipped. */
export function engine(): DockerEngine {
  if (typeof started === 'string') throw new Error(started);
  return started;
}
