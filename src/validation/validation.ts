// Compiles TypeBox schemas. Errors say which path is wrong in plain words, and never quote the value.
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import System from 'typebox/system';
import { type AppError, type Detail, invalid } from '../errors.ts';
import { patternRule } from './schema.ts';

const detailsMax = 20;
/** A union reports several errors, so more are collected than shown. */
const errorsMax = 100;
const segmentMax = 64;

System.Settings.Set({ maxErrors: errorsMax });

/** `/mcp_config/sse_servers/0/url` as people write it: `mcp_config.sse_servers[0].url`. */
export function readablePath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~').slice(0, segmentMax))
    .reduce((path, s) => (/^\d+$/.test(s) ? `${path}[${s}]` : path === '' ? s : `${path}.${s}`), '');
}

type ValidationError = TLocalizedValidationError;

function unionPath(error: ValidationError): string | undefined {
  return /^(.*?\/anyOf)\/\d+/.exec(error.schemaPath)?.[1];
}

/** Merges the errors of all values of a union into one. */
function anyOfConstants(error: ValidationError, constants: readonly ValidationError[]): ValidationError {
  const allowedValues = constants.map(({ params }) => (params as { allowedValue: unknown }).allowedValue);
  return { ...error, keyword: 'enum', params: { allowedValues } } as ValidationError;
}

/** Keeps only the errors of the union branch whose type fits. If none fits, it lists the accepted types. */
function withoutOtherBranches(errors: readonly ValidationError[]): ValidationError[] {
  return errors.flatMap((error) => {
    const union = unionPath(error);
    if (union === undefined) return error.keyword === 'anyOf' ? [] : [error];
    const anyOf = errors.find(
      (e) => e.keyword === 'anyOf' && union === `${e.schemaPath}/anyOf` && inside(error, e),
    );
    if (anyOf === undefined) return [error];
    const siblings = errors.filter((e) => unionPath(e) === union && inside(e, anyOf));
    const misfits = siblings.filter((e) => e.keyword === 'type' && e.instancePath === anyOf.instancePath);
    const branch = (e: ValidationError) => e.schemaPath.slice(union.length).split('/')[1];
    const misfit = new Set(misfits.map(branch));
    const constants = siblings.filter(
      (e) => e.keyword === 'const' && e.instancePath === anyOf.instancePath && !misfit.has(branch(e)),
    );
    if (constants.length > 1 && constants.includes(error))
      return error === constants[0] ? [anyOfConstants(error, constants)] : [];
    if (siblings.some((e) => !misfit.has(branch(e)))) return misfit.has(branch(error)) ? [] : [error];
    if (error !== misfits[0]) return [];
    const types = misfits.flatMap((e) => (e.params as { type: string | string[] }).type);
    return [{ ...error, params: { type: types } } as ValidationError];
  });
}

function inside(error: ValidationError, outer: ValidationError): boolean {
  return `${error.instancePath}/`.startsWith(`${outer.instancePath}/`);
}

const words: Readonly<Record<string, string>> = {
  string: 'a string',
  object: 'an object',
  array: 'a list',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
};

function sentence(error: ValidationError): string {
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'type':
      return `must be ${[params['type']]
        .flat()
        .map((type) => words[String(type)] ?? String(type))
        .join(' or ')}`;
    case 'enum':
      return `must be one of ${(params['allowedValues'] as unknown[]).map(String).join(', ')}`;
    case 'const':
      return `must be ${String(params['allowedValue'])}`;
    case 'boolean':
      return 'is not a known field';
    case 'pattern':
      return `must ${patternRule(String(params['pattern']))}`;
    case 'maxLength':
      return `must be at most ${params['limit']} characters`;
    case 'minLength':
      return params['limit'] === 1 ? 'must not be empty' : `must be at least ${params['limit']} characters`;
    case 'maxItems':
      return `must have at most ${params['limit']} entries`;
    case 'maxProperties':
      return `must have at most ${params['limit']} fields`;
    case 'minProperties':
      return params['limit'] === 1
        ? 'must have at least one field'
        : `must have at least ${params['limit']} fields`;
    case 'minimum':
      return `must be at least ${params['limit']}`;
    case 'maximum':
      return `must be at most ${params['limit']}`;
    default:
      return error.message;
  }
}

function toDetails(error: ValidationError): Detail[] {
  const path = readablePath(error.instancePath);
  // Every unknown field and every invalid name is reported in an error of its own.
  if (error.keyword === 'additionalProperties' || error.keyword === 'propertyNames') return [];
  if (error.keyword === 'required') {
    const missing = (error.params as { requiredProperties: string[] }).requiredProperties;
    return missing.map((name) => ({ path: path === '' ? name : `${path}.${name}`, message: 'is required' }));
  }
  return [{ path: path === '' ? 'body' : path, message: sentence(error) }];
}

export function describeFaults(errors: readonly ValidationError[]): Detail[] {
  return withoutOtherBranches(errors).flatMap(toDetails).slice(0, detailsMax);
}

type Check = (value: unknown) => AppError | undefined;

const checks = new WeakMap<TSchema, Check>();

/**
 * A check that returns the faults of a value, or undefined if there are none. It is compiled once per schema, on its
 * first use, because a start needs few of them.
 */
export function compileCheck(schema: TSchema): Check {
  const known = checks.get(schema);
  if (known !== undefined) return known;
  let compiled: ReturnType<typeof Compile> | undefined;
  const check: Check = (value) => {
    compiled ??= Compile(schema);
    return compiled.Check(value) ? undefined : invalid(describeFaults(compiled.Errors(value)));
  };
  checks.set(schema, check);
  return check;
}

/** Fastify's validator: nothing is coerced or removed. */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema }) => {
  const check = compileCheck(schema);
  return (value: unknown) => {
    const error = check(value);
    return error === undefined ? { value } : { error };
  };
};
