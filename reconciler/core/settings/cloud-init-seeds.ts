// Seeds of cloud-init for the first boot: the extension that newer keys need, and their comparison. Seeds are YAML, which the core
// cannot read, so the caller passes the function that compares them.
import { isNewerSeed } from '../../../server/api/container/cloud-init-seed-keys.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';
import { mapOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';

/**
 * The differences of two seeds as dotted paths; empty: equivalent. Undefined: the declared seed is not a map, so the texts are
 * compared.
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
            message: `config.${key} is unknown to this server: it lacks the API extension cloud_init`,
            remedy: `write user.${key.slice('cloud-init.'.length)}, which cloud-init reads too`,
            ...location,
          })),
  );
}
