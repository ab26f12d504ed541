// The source of an imported or moved container: an import knows only an image, so another source in the configuration is no reason to
// make the container again.
import { expect, test } from 'vitest';
import { ClientError } from '../../../server/client/client-error.ts';
import type { Link } from '../../../provider/connection/link.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import type { AnyResource } from '../../../provider/framework/provider.ts';
import { unknownValue, type ValueMap } from '../../../provider/framework/value.ts';
import { container } from '../../../provider/resources/container/container.ts';

const resource: AnyResource<Link> = container;
const explain = (what: string, error: unknown) => [failure(what, String(error))];
const attributes = Object.fromEntries(Object.keys(resource.attributes).map((name) => [name, null]));
const [base, newer] = ['a'.repeat(64), 'b'.repeat(64)];

const sourceNames =
  'type alias fingerprint server protocol certificate mode source snapshot container_only file allow_host_access sha256';
const source = (given: ValueMap): ValueMap => ({
  ...Object.fromEntries(sourceNames.split(' ').map((name) => [name, null])),
  ...given,
});

/** The alias `debian` names a newer image than the one of the container, which the server no longer has. */
const client = {
  get: async (kind: string, name: string) => {
    if (kind === 'image_alias' && name === 'debian') return { metadata: { name, target: newer } };
    throw new ClientError('notFound', 'not found', { status: 404 });
  },
  http: { send: async () => ({ metadata: {} }) },
};
const link = {
  client,
  server: { api_extensions: [], environment: {} },
  activity: { hasWritten: false },
  reach: { remotes: [], isSamePlace: async () => true },
} as unknown as Link;

async function planned(before: ValueMap, after: ValueMap, isImported: boolean) {
  const own = { name: 'web', description: '', ephemeral: false, config: {}, devices: {}, architecture: 'x86_64' };
  const shown = { profiles: ['default'], source: source(before), running: true, status: 'Running' };
  const prior = { ...attributes, ...own, ...shown };
  const config = { ...attributes, name: 'web', source: source(after) };
  const plan = await planResource({ resource, client: link, explain }, { config, prior, isImported });
  return { replace: plan.replace, said: plan.diagnostics.map(({ summary }) => summary) };
}

const kept = { replace: [], said: ['The container web stays as it is'] };
const replaced = { replace: [[{ attribute: 'source' }]], said: [] };
const guess = { type: 'image', fingerprint: base };

test.each([
  ['an alias that names another image by now', { type: 'image', alias: 'debian' }],
  ['an alias of another server', { type: 'image', server: 'https://images.example', alias: 'debian' }],
  ['a copy', { type: 'copy', source: 'template' }],
  ['no image', { type: 'none' }],
  ['an image that is known only after apply', { type: 'image', fingerprint: unknownValue }],
])('An imported container is kept when its configuration has %s', async (_what, after) => {
  expect(await planned(guess, after, true)).toEqual(kept);
  expect(await planned(guess, after, false)).toEqual(replaced);
});

test('An imported container is kept with a warning when its configuration has an alias that does not exist', async () => {
  expect(await planned(guess, { type: 'image', alias: 'debain' }, true)).toEqual(kept);
});

test('An imported container is replaced when its configuration names the fingerprint of another image', async () => {
  expect(await planned(guess, { type: 'image', fingerprint: newer }, true)).toEqual(replaced);
});

test('An imported container is replaced when its id said another source', async () => {
  const said = { type: 'image', alias: 'alpine' };
  expect(await planned(said, { type: 'image', alias: 'debian' }, true)).toEqual(replaced);
});
