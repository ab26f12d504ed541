// Pages of the objects of a set, by host and address.
import { compareText } from '../../core/text/listing-order.ts';
import type { ObjectPage, ObjectSummary } from '../contract/index.ts';
import type { ObjectQuery } from '../controller.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

interface WithObjects {
  readonly name: string;
  readonly objects: ReadonlyMap<string, ObjectSummary>;
}

const keyOf = ({ host, address }: ObjectSummary): string => `${host} ${address}`;

/** `after` is a place in the order, so that the object that was there may be gone. */
export function pageOf(
  hosts: readonly WithObjects[],
  { host, status, after = '', limit = 1000 }: ObjectQuery,
): ObjectPage {
  const all = hosts
    .filter(({ name }) => host === undefined || name === host)
    .flatMap(({ objects }) => [...objects.values()])
    .filter((object) => status === undefined || object.status === status);
  const left = all
    .map((object) => ({ key: keyOf(object), object }))
    .filter(({ key }) => key > after)
    .sort((one, other) => compareText(one.key, other.key));
  const page = left.slice(0, limit);
  const next = left.length > limit ? page.at(-1)?.key : undefined;
  return { objects: page.map(({ object }) => object), total: all.length, ...withoutUndefined({ next }) };
}
