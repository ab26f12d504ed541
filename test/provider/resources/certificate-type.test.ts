// Another type of a certificate: gantryd refuses to change it, so that the plan replaces the certificate; LXD changes it.
import { expect, test } from 'vitest';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import type { ValueMap } from '../../../provider/framework/value.ts';
import { certificate } from '../../../provider/resources/certificate.ts';
import { makeClient } from '../../support/daemons/tls.ts';

test.each([
  ['gantry', [[{ attribute: 'type' }]]],
  ['lxd', []],
])('Another type of a certificate on %s replaces %j', async (server, expected) => {
  const nothing = Object.fromEntries(Object.keys(certificate.attributes).map((name) => [name, null]));
  const written = { ...nothing, name: 'ci', certificate: (await makeClient('ci')).certPem };
  const prior: ValueMap = { ...written, type: 'client', restricted: false, fingerprint: 'f' };
  const link = { server: { environment: { server } }, reach: { isSamePlace: async () => true, placeOf: () => '' } };
  const deps = { resource: certificate, client: { ...link }, explain: () => [] };
  const given = { config: { ...written, type: 'metrics' }, prior, isImported: false, takenBy: undefined };
  const { replace } = await planResource(deps as unknown as Parameters<typeof planResource>[0], given);
  expect(replace).toEqual(expected);
});
