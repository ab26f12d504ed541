// A volume that was copied: the new name of its origin is no reason to make it again, with its data lost.
import { expect, test } from 'vitest';
import { ClientError } from '../../../server/client/client-error.ts';
import type { Link } from '../../../provider/connection/link.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import type { AnyResource } from '../../../provider/framework/provider.ts';
import type { ValueMap } from '../../../provider/framework/value.ts';
import { storageVolume } from '../../../provider/resources/storage/storage-volume.ts';

/** A server with these volumes in the pool `fast`, as `project/name`. */
const linkTo = (volumes: readonly string[]): Link => {
  const clientIn = (project: string): object => ({
    inProject: clientIn,
    http: {
      send: async ({ path }: { readonly path: string }) => {
        if (volumes.includes(`${project}/${path.split('/').at(-1)}`)) return { metadata: {} };
        throw new ClientError('notFound', 'not found', { status: 404 });
      },
    },
  });
  const link = {
    client: clientIn('default'),
    server: { api_extensions: [], environment: {} },
    activity: { hasWritten: false },
    reach: { remotes: [], isSamePlace: async () => true },
  };
  return link as unknown as Link;
};

async function replaced(volumes: readonly string[], project: string | null): Promise<boolean> {
  const resource: AnyResource<Link> = storageVolume;
  const nothing = Object.fromEntries(Object.keys(resource.attributes).map((name) => [name, null]));
  const copyOf = (name: string): ValueMap => ({
    ...nothing,
    pool: 'fast',
    name: 'copy',
    config: {},
    description: '',
    source: { pool: null, name, project },
  });
  const explain = (what: string, error: unknown) => [failure(what, String(error))];
  const deps = { resource, client: linkTo(volumes), explain };
  const plan = await planResource(deps, { config: copyOf('new'), prior: copyOf('old'), isImported: false });
  expect(plan.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return plan.replace.length > 0;
}

test.each([
  ['its own project', null, 'default'],
  ['another project', 'team', 'team'],
])(
  'A copy from %s stays while no volume has the new name there, and is made again from one that has',
  async (_what, project, where) => {
    expect(await replaced(['other/new'], project)).toBe(false);
    expect(await replaced([`${where}/new`], project)).toBe(true);
  },
);
