// Compares a value with a shape of the contract, which has types in place of values.

type Shape = string | readonly Shape[] | { readonly [name: string]: Shape };

function typeOf(value: unknown): string {
  return value === null ? 'null' : typeof value;
}

/** Returns where the value differs from the shape; undefined if it does not. */
export function findDifference(value: unknown, shape: Shape, path = 'body'): string | undefined {
  if (typeof shape === 'string')
    return shape === 'any' || typeOf(value) === shape
      ? undefined
      : `${path} is ${typeOf(value)}, not ${shape}`;
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return `${path} is no list`;
    const differences = value.map((one, i) => findDifference(one, shape[0] as Shape, `${path}[${i}]`));
    return differences.find((difference) => difference !== undefined);
  }
  const fields = shape as { readonly [name: string]: Shape };
  if (fields['anyOf'] !== undefined) {
    const options = fields['anyOf'] as readonly Shape[];
    const fits = options.some((option) => findDifference(value, option, path) === undefined);
    return fits ? undefined : `${path} is ${typeOf(value)}, not one of ${options.join(', ')}`;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${path} is no object`;
  return findFieldDifference(value as Record<string, unknown>, fields, path);
}

function findFieldDifference(
  value: Readonly<Record<string, unknown>>,
  { '*': others, ...fields }: { readonly [name: string]: Shape },
  path: string,
): string | undefined {
  for (const [name, shape] of Object.entries(fields)) {
    if (!(name in value)) return `${path}.${name} is missing`;
    const difference = findDifference(value[name], shape, `${path}.${name}`);
    if (difference !== undefined) return difference;
  }
  const unknown = Object.keys(value).filter((name) => !(name in fields));
  if (others === undefined)
    return unknown.length === 0 ? undefined : `${path}.${unknown[0]} is not in the contract`;
  return unknown
    .map((name) => findDifference(value[name], others, `${path}.${name}`))
    .find((difference) => difference !== undefined);
}
