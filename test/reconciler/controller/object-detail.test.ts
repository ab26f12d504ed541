// The values of an object as the page shows them: declared secrets are hidden wherever the host repeats them.
import { expect, test } from 'vitest';
import type { Document } from '../../../reconciler/core/documents/document.ts';
import { comparison } from '../../../reconciler/controller/sets/object-detail.ts';

test('a secret is in neither value, nor what profiles add to the live one', () => {
  const values = { config: { 'environment.DB': 'open sesame', 'user.note': 'shown' } };
  const document = { values, secrets: ['config.environment.DB'] } as unknown as Document;
  const live = {
    ...values,
    expanded_config: { ...values.config, 'environment.MAIL': 'of a profile' },
    expanded_devices: { eth0: { type: 'nic', 'user.word': 'of a profile' } },
  };
  const shown = { config: { 'environment.DB': '(secret)', 'user.note': 'shown' } };
  expect(comparison(document, live, undefined)).toEqual({ desired: shown, live: shown, differences: [] });
});

test('a container that is stopped and should run differs in its state', () => {
  const document = { values: { profiles: ['web'] }, secrets: [] } as unknown as Document;
  const change = { changes: [], ignored: [], secrets: [], power: 'start' } as const;
  expect(comparison(document, { name: 'web', status: 'Stopped' }, change).differences).toEqual([
    { path: 'state', desired: 'running', live: 'stopped', effect: 'live', isSecret: false },
  ]);
  // A restart belongs to the fields that need it, and a new container is started because it is new.
  expect(comparison(document, { status: 'Running' }, { ...change, power: 'restart' }).differences).toEqual([]);
  expect(comparison(document, undefined, change).differences).toEqual([]);
});
