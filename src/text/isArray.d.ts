// TypeScript declares that `Array.isArray` returns `any[]` for a value of unknown type, which would turn off the checks
// of its items. Here the items are unknown, too.
interface ArrayConstructor {
  isArray(value: unknown): value is unknown[];
}
