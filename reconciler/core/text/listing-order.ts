// The order in which objects are listed: by kind in the order of creation, then by name in code-unit order.
import { kindNames, type KindName } from '../../../server/api/kinds.ts';

const rank = new Map<string, number>(kindNames.map((kind, index) => [kind, index]));

export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function compareObjects(
  a: { readonly kind: KindName; readonly name: string },
  b: { readonly kind: KindName; readonly name: string },
): number {
  return (rank.get(a.kind) ?? 0) - (rank.get(b.kind) ?? 0) || compareText(a.name, b.name);
}
