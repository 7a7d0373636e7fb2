// Lists the objects of a kind, page by page.
import type { Api } from './api.ts';
import { managedBy } from './podSpec.ts';

const pageMax = '500';
/** A server that always has another page is not asked for ever. */
const pagesMax = 200;

interface Page<One> {
  readonly items: readonly One[];
  /** `continue` is there if there are more. */
  readonly metadata?: { readonly continue?: string };
}

const selectorOf = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');

/** Those of Parley with these labels. `folder` is the path of all objects of the kind in the namespace. */
export async function listObjects<One>(
  api: Api,
  folder: string,
  labels: Readonly<Record<string, string>>,
): Promise<readonly One[]> {
  const labelSelector = selectorOf({ ...managedBy, ...labels });
  const found: One[] = [];
  let rest = '';
  for (let page = 0; page < pagesMax; page++) {
    const query = { labelSelector, limit: pageMax, ...(rest && { continue: rest }) };
    const { items, metadata } = await api.call<Page<One>>({ path: folder, query });
    found.push(...items);
    rest = metadata?.continue ?? '';
    if (rest === '') break;
  }
  return found;
}
