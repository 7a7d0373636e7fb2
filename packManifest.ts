// `npm pack` packs the build, which contains most libraries. The manifest in the package names only those that the build
// leaves out, so that nobody installs the others or the tools that built it. npm packs the file that is on disk, so
// `npm pack` replaces it for a moment: `node packManifest.ts shorten`, then `node packManifest.ts restore`.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { unbundled } from './buildService.ts';

const manifestFile = 'package.json';
const fullManifestFile = 'package.full.json';
/** The Node that runs npm. Parley itself runs on the one among its optional dependencies. */
const npmNode = '>=18';

/** What only a clone needs. */
const ofRepository: ReadonlySet<string> = new Set(['scripts', 'devDependencies', 'allowScripts']);

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** The manifest of the package, from the manifest of the repository. */
function shortened(manifest: Manifest): Manifest {
  const kept = Object.fromEntries(Object.entries(manifest).filter(([field]) => !ofRepository.has(field)));
  const dependencies = Object.fromEntries(
    Object.entries(manifest.dependencies).filter(([name]) => unbundled.includes(name)),
  );
  return { ...kept, engines: { node: npmNode }, dependencies };
}

function restore(): void {
  if (existsSync(fullManifestFile)) renameSync(fullManifestFile, manifestFile);
}

function shorten(): void {
  // An earlier `npm pack` may have been interrupted.
  restore();
  const text = readFileSync(manifestFile, 'utf8');
  writeFileSync(fullManifestFile, text);
  writeFileSync(manifestFile, `${JSON.stringify(shortened(JSON.parse(text)), null, 2)}\n`);
}

if (process.argv[2] === 'shorten') shorten();
else restore();
