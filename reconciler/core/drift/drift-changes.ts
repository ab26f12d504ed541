// Compares two drift reports: differences that appeared or changed, and those that disappeared. Pure.
import type { DriftDifference, DriftObject, DriftReport } from './drift.ts';
import type { Address } from '../documents/document.ts';

export interface DriftNews {
  /** Only the differences that are new or changed. */
  readonly appeared: readonly DriftObject[];
  readonly resolved: readonly { readonly address: Address; readonly paths: readonly string[] }[];
}

/** `before` undefined: everything is new. */
export function driftNews(before: DriftReport | undefined, after: DriftReport): DriftNews {
  const old = keysOf(before);
  const now = keysOf(after);
  const appeared = after.objects.flatMap((object): DriftObject[] => {
    const differences = object.differences.filter((one) => old.get(keyOf(object.address, one.path)) !== textOf(one));
    return differences.length === 0 ? [] : [{ ...object, differences }];
  });
  const resolved = (before?.objects ?? []).flatMap(({ address, differences }) => {
    const paths = differences.map(({ path }) => path).filter((path) => !now.has(keyOf(address, path)));
    return paths.length === 0 ? [] : [{ address, paths }];
  });
  return { appeared, resolved };
}

const keyOf = (address: Address, path: string): string => `${address}\0${path}`;

const textOf = ({ live, declared, cause }: DriftDifference): string => JSON.stringify([live, declared, cause]);

const keysOf = (report: DriftReport | undefined): ReadonlyMap<string, string> =>
  new Map(
    (report?.objects ?? []).flatMap(({ address, differences }) =>
      differences.map((one) => [keyOf(address, one.path), textOf(one)] as const),
    ),
  );
