// Compiled only: the types of openapi-typescript say what requests and responses hold.
import type { components, paths } from './generated/types.ts';

type Created = paths['/api/conversations']['post']['responses'][200]['content']['application/json'];
type Settings = components['schemas']['Settings'];

export function idOf(created: Created): string {
  return created.conversation_id;
}

export function modelOf({ llm_model }: Settings): string | null {
  return llm_model;
}

export function wrong(created: Created): number {
  // @ts-expect-error: an id is a string, and not something that fits any type.
  return created.conversation_id;
}
