// The release before this version, taken from the Git history, for tests that run both on one database.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectDir } from './program.ts';

const installMs = 5 * 60_000;
const archiveBytesMax = 256 * 1024 * 1024;

export interface PreviousRelease {
  readonly tag: string;
  /** What Node runs. */
  readonly main: string;
  remove(): void;
}

/** The newest tag before this version, or why there is none. */
export function findPreviousTag(): { readonly tag: string } | { readonly reason: string } {
  try {
    // The parent, because this version may have a tag of its own.
    const tag = execFileSync('git', ['describe', '--tags', '--abbrev=0', 'HEAD^'], {
      cwd: projectDir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return { tag: tag.trim() };
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string };
    return { reason: `no earlier release is known: ${stderr.trim() || message}` };
  }
}

/** The dependencies of the release: those that are here if they are the same, or what npm installs. */
function installInto(folder: string): void {
  const lock = 'package-lock.json';
  const isSame = readFileSync(join(folder, lock), 'utf8') === readFileSync(join(projectDir, lock), 'utf8');
  if (isSame) {
    symlinkSync(join(projectDir, 'node_modules'), join(folder, 'node_modules'));
    return;
  }
  // Without its build: Node runs the sources.
  execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    timeout: installMs,
    stdio: 'pipe',
  });
}

/** Unpacks the release outside of this folder, and installs what it needs. */
export function prepareRelease(tag: string): PreviousRelease {
  const folder = mkdtempSync(join(tmpdir(), 'parley-release-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const archive = join(folder, 'release.tar');
    writeFileSync(
      archive,
      execFileSync('git', ['archive', '--format=tar', tag], { cwd: projectDir, maxBuffer: archiveBytesMax }),
    );
    execFileSync('tar', ['-xf', archive, '-C', folder]);
    installInto(folder);
    const main = join(folder, 'src/main.ts');
    if (!existsSync(main)) throw new Error(`${tag} has no src/main.ts`);
    return { tag, main, remove };
  } catch (error) {
    remove();
    throw error;
  }
}
