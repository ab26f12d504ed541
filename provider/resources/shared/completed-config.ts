// Shared by networks, projects, storage pools and volumes: a description, and a config that the server completes.
import { textMap, type TextMap } from '../../framework/attribute.ts';
import type { ValueMap } from '../../framework/value.ts';
import { isFulfilled, sameMap, writtenMap, type MapRules } from './config-maps.ts';
import { conflicting, type Edit } from './write.ts';

interface Described {
  readonly description: string | null;
  readonly config: TextMap | null;
}

export const completedConfigAttribute = (doc: string, rules: MapRules) =>
  textMap({
    doc,
    default: {},
    same: (before: TextMap, after: TextMap) => sameMap(before, after, rules),
    fulfilled: (after: TextMap, prior: ValueMap, isImported: boolean) => isFulfilled(after, prior, rules, isImported),
  });

const without = (config: TextMap, isLeftOut: (key: string) => boolean): Record<string, string> =>
  Object.fromEntries(Object.entries(config).filter(([key]) => !isLeftOut(key)));
const withoutFilledIn = (config: TextMap | null, rules: MapRules): TextMap => without(config ?? {}, rules.isComputed);

/**
 * Changes both to the planned values; `read` returns them as the state would hold them. `keeps`: values that the server fills in stay when
 * the configuration leaves their keys out, although the state has them, or has them from an import. `isApart`: keys that this write omits.
 */
export const describedChange = <O extends { readonly config: TextMap }, S extends Described>(
  { prior, planned }: { readonly prior: S; readonly planned: S },
  rules: MapRules,
  read: (live: O, state: S) => Described,
  {
    keeps = false,
    isApart = () => false,
  }: { readonly keeps?: boolean; readonly isApart?: (key: string) => boolean } = {},
): Pick<
  Edit<O, { readonly description: string; readonly config: Record<string, string> }>,
  'body' | 'changedSince'
> => ({
  changedSince: (live) =>
    conflicting<Described>({ prior, planned }, (state) => read(live, state as S), ['description', 'config']),
  body: (live) => ({
    description: planned.description ?? '',
    config: without(
      writtenMap(live.config, planned.config, keeps ? withoutFilledIn(prior.config, rules) : prior.config, rules),
      isApart,
    ),
  }),
});
