// The location of the program's own files for a service inside a test: the build of `test/run.ts`. See useBuild.ts.
// Only the programs that it starts are elsewhere.
export * from '../../src/process/program.ts';

const root = new URL('../../dist-test/', import.meta.url);

export function programFile(path: string): URL {
  return new URL(path.replace(/\.ts$/, '.js'), root);
}
