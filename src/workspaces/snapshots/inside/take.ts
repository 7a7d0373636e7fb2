// The program that takes a snapshot. It runs in a sandbox with the workspace as its working directory, reads one request
// from standard input, and writes the sections of the snapshot to standard output.
import { createReadStream, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openFile, Refused } from '../../read/inside/contained.ts';
import { withoutPipes } from '../../read/inside/pipes.ts';
import { hasRepository } from '../../read/inside/repository.ts';
import { type Budget, createBudget, type Entry, TooLarge } from './budget.ts';
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

/** The repository was changed while it was copied. */
class Changed extends Error {}

const isLock = (name: string) => name.endsWith('.lock');

interface Context {
  readonly root: string;
  readonly request: TakeRequest;
  readonly budget: Budget;
  readonly writer: SectionWriter;
}

interface Archive {
  readonly section: Section;
  readonly root: string;
  /** Precedes names that are shown. */
  readonly label: string;
}

/** All names are found before the first byte, so that what was found is what is counted. */
async function writeArchive(
  { writer, budget }: Context,
  { section, root, label }: Archive,
  entries: (picker: Picker) => Iterable<Entry>,
): Promise<void> {
  const list = budget.fit(label, [...entries({ budget, label })]).map(({ name }) => name);
  if (list.length > 0) await writer.write(section, archive(root, list));
}

async function writeIndex({ root, writer, budget }: Context): Promise<void> {
  const fd = openFile(join(root, '.git/index'));
  if (fd === undefined) return;
  await writer.write('index', createReadStream('', { fd }), budget.need);
}

function* pickChanged(root: string, names: readonly string[], picker: Picker): Generator<Entry> {
  for (const name of names) {
    const isFolder = name.endsWith('/');
    const picked = pick(root, isFolder ? name.slice(0, -1) : name, picker);
    if (picked === undefined) continue;
    yield picked;
    if (isFolder) yield* pickTree(root, picked.name, picker);
  }
}

async function writeRepository(context: Context, contents: RepositoryContents): Promise<RepositoryState> {
  const { root, budget, writer } = context;
  if (contents.pack !== undefined) await writer.write('pack', contents.pack, budget.need);
  await writeIndex(context);
  if (await contents.hasNewIndex()) throw new Changed();
  const git = { section: 'git', root: join(root, '.git'), label: '.git/' } as const;
  const isSkipped = (name: string) => gitParts.has(name) || isLock(name);
  await writeArchive(context, git, (picker) => pickTree(git.root, '', picker, isSkipped));
  const files = { section: 'files', root, label: '' } as const;
  await writeArchive(context, files, (picker) => pickChanged(root, contents.changed, picker));
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
  const { root, request } = context;
  const contents = await findContents(context);
  const repository = contents === undefined ? null : await writeRepository(context, contents);
  if (repository === null)
    await writeArchive(context, { section: 'files', root, label: '' }, (picker) =>
      pickTree(root, '', picker),
    );
  const { home } = request;
  if (home !== null)
    await writeArchive(context, { section: 'home', root: home, label: '~/' }, (picker) =>
      pickTree(home, '', picker, (name) => caches.has(name)),
    );
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
  if (!(error instanceof TooLarge || error instanceof Changed)) throw error;
  const refusal: TakeRefusal = error instanceof TooLarge ? 'too_large' : 'changed';
  await writer.end('refused', refusal);
}
