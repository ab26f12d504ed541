// The JSON Schema of manifests: editors accept what the loader accepts, and show what it refuses.
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { kindNames } from '../../../server/api/kinds.ts';
import { documentSchema } from '../../../server/api/documents/document-schema.ts';
import { manifestSchema } from '../../../server/api/documents/manifest-schema.ts';
import { expectGolden } from '../../support/golden.ts';

const ajv = new Ajv({ strict: false, allErrors: true });
const accepts = ajv.compile(manifestSchema());

test.each([
  { kind: 'vars', vars: { A: 1, B: null } },
  { kind: 'vars', vars: { A: 2 }, patch: true },
  { kind: 'profile', name: 'p', labels: { app: 'web', rank: 1 }, manage: { hosts: ['web*', '@dbs', 'role=web'] } },
  {
    kind: 'hosts',
    groups: { webs: null },
    hosts: [{ name: 'a', address: 'unix:///a', groups: ['webs'], vars: { N: 1 } }],
  },
  { kind: 'network', name: 'web0', type: 'bridge', config: { 'ipv4.nat': true, 'ipv6.address': null } },
  {
    kind: 'profile',
    name: 'p',
    config: { 'limits.cpu': 2 },
    devices: { eth0: null, root: { type: 'disk', path: '/', pool: 'x' } },
  },
  { kind: 'storage_pool', name: 'fast', driver: 'dir', config: {} },
  { kind: 'image', name: 'i', file: 'i.tar', aliases: ['a', { name: 'b', description: 'c' }], public: true },
  { kind: 'image_alias', name: 'a', target: 'i' },
  {
    kind: 'container',
    name: 'c',
    profiles: [],
    state: 'stopped',
    source: { type: 'image', alias: 'a' },
    manage: { wait: ['running', { ipv4: 'eth0', timeout: '60s' }], timeout: 5 },
  },
  {
    kind: 'container',
    name: 'c',
    manage: {
      wait: ['ipv6', { exec: ['true', 5] }, { tcp: 80 }, { tcp: 'web:80' }, { file: '/x' }, { cloud_init: true }],
    },
  },
])('%j is a manifest', (value) => {
  expect(accepts(value), JSON.stringify(accepts.errors)).toBe(true);
});

test.each([
  { kind: 'contaner', name: 'c' },
  { kind: 'container' },
  { kind: 'container', name: 'c', status: 'Running' },
  { kind: 'container', name: 'c', expanded_config: {} },
  { kind: 'container', name: 'c', manage: { disruption: 'maybe' } },
  { kind: 'container', name: 'c', manage: { mode: 'exactly' } },
  { kind: 'container', name: 'c', manage: { wait: [{ exec: ['true'], tcp: 80 }] } },
  { kind: 'container', name: 'c', manage: { wait: [{ tcp: 'web' }] } },
  { kind: 'container', name: 'c', manage: { wait: [{ timeout: 5 }] } },
  { kind: 'profile', name: 'p', config: { a: [] } },
  { kind: 'storage_pool', name: 'fast' },
  { kind: 'hosts', hosts: [] },
  { kind: 'hosts', hosts: [{ name: 'a' }] },
])('%j is no manifest', (value) => {
  expect(accepts(value)).toBe(false);
});

test('every kind has a schema with a description of each member', () => {
  for (const kind of kindNames) {
    const properties = documentSchema(kind)['properties'] as Record<string, unknown>;
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(['kind', 'name', 'manage']));
  }
  expectGolden('plan/manifest-schema.json', `${JSON.stringify(manifestSchema(), null, 2)}\n`);
});
