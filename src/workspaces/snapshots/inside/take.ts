// The program that takes a snapshot. It runs in a sandbox with the workspace as its working directory, reads one request
// from standard input, and writes the sections of the snapshot to standard output.
import { createReadStream, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openFile, Refused } from '../../read/inside/contained.ts';
import { withoutPipes } from '../../read/inside/pipes.ts';
import { hasRepository } from '../../read/inside/repository.ts';
import { type Budget, createBudget, TooLarge } from './budget.ts';
import { createSectionWriter, type SectionWriter } from './pieces.ts';
import { type RepositoryContents, readRepository } from './repository.ts';
import type { Manifest, RepositoryState, Section, Summary, TakeRefusal, TakeRequest } from './sections.ts';
import { archive } from './tar.ts';
import { type Picker, pick, pickTree } from './tree.ts';

/** Folders in the home that programs fill again by themselves. */
const caches = new Set([
  '.cache',
  '.npm',
  '.yarn/berry/cache',
  '.cargo/registry',
  '.gradle/caches',
  '.m2/repository',
]);
/** Stored in another form, or of no use to the next machine. */
const gitParts = new Set(['objects', 'refs', 'packed-refs', 'HEAD', 'index']);

const isLock = (name: string) => name.endsWith('.lock');

interface Context {
  readonly root: string;
  readonly request: TakeRequest;
  readonly budget: Budget;
  readonly writer: SectionWriter;
}

/** All names are found before the first byte, so that what was found is what is counted. */
async function writeArchive(
  { writer }: Context,
  section: Section,
  root: string,
  names: Iterable<string>,
): Promise<void> {
  const list = [...names];
  if (list.length > 0) await writer.write(section, archive(root, list));
}

async function writeIndex({ root, writer, budget }: Context): Promise<void> {
  const fd = openFile(join(root, '.git/index'));
  if (fd === undefined) return;
  await writer.write('index', createReadStream('', { fd }), budget.need);
}

function* pickChanged(root: string, names: readonly string[], picker: Picker): Generator<string> {
  for (const name of names)
    if (name.endsWith('/')) {
      const folder = name.slice(0, -1);
      if (pick(root, folder, picker) === undefined) continue;
      yield folder;
      yield* pickTree(root, folder, picker);
    } else if (pick(root, name, picker) !== undefined) yield name;
}

async function writeRepository(context: Context, contents: RepositoryContents): Promise<RepositoryState> {
  const { root, budget, writer } = context;
  if (contents.pack !== undefined) await writer.write('pack', contents.pack, budget.need);
  await writeIndex(context);
  const git = pickTree(
    join(root, '.git'),
    '',
    { budget, label: '.git/' },
    (name) => gitParts.has(name) || isLock(name),
  );
  await writeArchive(context, 'git', join(root, '.git'), git);
  await writeArchive(context, 'files', root, pickChanged(root, contents.changed, { budget, label: '' }));
  return contents.state;
}

/** Undefined if Git cannot tell what is in the repository: then all files are stored. */
async function findContents({ root, request }: Context): Promise<RepositoryContents | undefined> {
  if (!hasRepository(root, '.')) return undefined;
  try {
    return await readRepository(root, request.hasRemote, request.limits);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return undefined;
  }
}

async function take(context: Context): Promise<Manifest> {
  const { root, request, budget } = context;
  const contents = await findContents(context);
  const repository = contents === undefined ? null : await writeRepository(context, contents);
  if (repository === null)
    await writeArchive(context, 'files', root, pickTree(root, '', { budget, label: '' }));
  const home = pickTree(request.home, '', { budget, label: '~/' }, (name) => caches.has(name));
  await writeArchive(context, 'home', request.home, home);
  return { repository };
}

async function* inOnePiece(value: unknown): AsyncGenerator<Buffer> {
  yield Buffer.from(JSON.stringify(value));
}

const request = JSON.parse(await text(process.stdin)) as TakeRequest;
const root = realpathSync(process.cwd());
const writer = createSectionWriter(process.stdout);
const budget = createBudget(request.limits);
try {
  const manifest = await withoutPipes(root, () => take({ root, request, budget, writer }));
  await writer.write('manifest', inOnePiece(manifest));
  const summary: Summary = { hasRepository: manifest.repository !== null, ...budget.report() };
  await writer.end('end', JSON.stringify(summary));
} catch (error) {
  if (!(error instanceof TooLarge)) throw error;
  await writer.end('refused', 'too_large' satisfies TakeRefusal);
}
