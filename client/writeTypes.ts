// Writes the types of the wire out, from the schemas that src/client/wire.ts names: what the library ships must not
// need the schemas, nor the package that they are made with.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly (string | null)[];
  readonly const?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
}

function commentOf({ description }: Schema): string {
  return description === undefined ? '' : `/** ${description.replaceAll('*/', '* /')} */\n`;
}

function writeObject({ properties = {}, required = [], ...schema }: Schema): string {
  const members = Object.entries(properties).map(
    ([name, member]) =>
      `${commentOf(member)}${name}${required.includes(name) ? '' : '?'}: ${writeType(member)};\n`,
  );
  if (members.length > 0) return `{\n${members.join('')}`.replaceAll('\n', '\n  ').replace(/ *$/, '}');
  if (schema.additionalProperties === false && schema.patternProperties === undefined) return '{}';
  const [value = schema.additionalProperties] = Object.values(schema.patternProperties ?? {});
  return `Record<string, ${typeof value === 'object' ? writeType(value) : 'unknown'}>`;
}

const simple: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

function writeOne(schema: Schema, type: string): string {
  if (type === 'array' && schema.items !== undefined) return `Array<${writeType(schema.items)}>`;
  const text = type === 'object' ? writeObject(schema) : simple[type];
  if (text === undefined) throw new Error(`there is no type for ${JSON.stringify(schema)}`);
  return text;
}

/** The TypeScript type of what a JSON schema accepts. Throws where it does not know how to say it. */
export function writeType(schema: Schema): string {
  const union = schema.anyOf ?? schema.oneOf;
  if (union !== undefined) return union.map(writeType).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return 'unknown';
  return types.map((type) => writeOne(schema, type)).join(' | ');
}

/** The text of a declaration file with the types that the file names. */
export async function writeWireTypes(file: string): Promise<string> {
  const source = readFileSync(file, 'utf8');
  const places = new Map<string, { path: string; name: string }>();
  for (const [, names = '', path = ''] of source.matchAll(/import type \{([^}]+)\} from '(\.[^']+)'/g))
    for (const [, name = '', local = ''] of names.matchAll(/(\w+) as (\w+)/g))
      places.set(local, { path, name });
  const texts: string[] = [];
  for (const [, type = '', local = ''] of source.matchAll(
    /^export type (\w+) = Type\.Static<typeof (\w+)>;$/gm,
  )) {
    const { path = '', name = '' } = places.get(local) ?? {};
    const module = (await import(resolve(file, '..', path))) as Record<string, Schema>;
    const schema = module[name];
    if (schema === undefined) throw new Error(`${path} has no ${name}`);
    texts.push(`${commentOf(schema)}export type ${type} = ${writeType(schema)};\n`);
  }
  return texts.join('\n');
}
