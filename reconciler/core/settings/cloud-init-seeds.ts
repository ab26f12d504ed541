// Seeds of a first boot (cloud-init): which config keys hold them, and what must be true of a server for the newer ones. What
// they say is YAML, which the core cannot read: comparing them comes with the input of a plan.
import { isNewerSeed } from '../../../server/api/container/cloud-init-seed-keys.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';
import { mapOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';

/**
 * Where two texts of a seed differ, as dotted paths; empty: they say the same. undefined: the declared one is no map that was made
 * text by us, so each letter counts.
 */
export type CompareSeeds = (key: string, live: string, declared: string) => readonly string[] | undefined;

/** Servers without the extension `cloud_init` have the `user.*` forms of these keys only. */
export function seedProblems(documents: readonly Document[], observed: Observed): readonly Diagnostic[] {
  if (observed.server.extensions.includes('cloud_init')) return [];
  return documents.flatMap(({ kind, address, values, location }) =>
    kind !== 'container' && kind !== 'profile'
      ? []
      : Object.keys(mapOf(values['config']))
          .filter(isNewerSeed)
          .map((key): Diagnostic => ({
            severity: 'error',
            code: 'not-served',
            address,
            path: `config.${key}`,
            message: `config.${key} is not known to this server: it does not know the API extension cloud_init`,
            remedy: `write user.${key.slice('cloud-init.'.length)}, which cloud-init reads too`,
            ...location,
          })),
  );
}
