// A refresh keeps the written spelling of a value while it means what the server has.
import { expect, test } from 'vitest';
import { isSameMode, type ContainerState } from '../../../provider/resources/container/container-attributes.ts';
import { containerFile } from '../../../provider/resources/container/container-file-resource.ts';
import { container } from '../../../provider/resources/container/container.ts';
import { putContainer, readContainer } from '../../../provider/resources/container/container-state.ts';
import { shownExpiry } from '../../../provider/resources/shared/snapshot-expiry.ts';
import { liveContainer } from '../../support/fakes/worlds.ts';

test.each([
  ['2030-01-31T12:00:00Z', '2030-01-31T13:00:00+01:00', '2030-01-31T13:00:00+01:00'],
  ['2030-01-31T12:00:00Z', '2031-01-31T13:00:00+01:00', '2030-01-31T12:00:00Z'],
  ['2030-01-31T12:00:00Z', null, '2030-01-31T12:00:00Z'],
  ['0001-01-01T00:00:00Z', '2030-01-31T12:00:00Z', null],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
])('The expiry %s with %s in the state reads as %s', (live, before, expected) =>
  expect(shownExpiry(live, before)).toBe(expected),
);

test('Another word for the architecture stays in the state, and the server gets its own', () => {
  const nothing = Object.fromEntries(Object.keys(container.attributes).map((name) => [name, null]));
  const state = (architecture: string | null) =>
    ({ ...nothing, name: 'web', architecture, config: {} }) as unknown as ContainerState;
  const live = liveContainer('web', { architecture: 'x86_64' });
  const read = (before: string | null) => readContainer(live, state(before)).architecture;
  expect([read('amd64'), read('i686'), read(null)]).toEqual(['amd64', 'x86_64', 'x86_64']);
  expect(putContainer(state('amd64'), state('amd64'), live).architecture).toBe('x86_64');
});

test('File modes with and without a leading zero are equal', () => {
  expect([isSameMode('600', '0600'), isSameMode('600', '0640')]).toEqual([true, false]);
  expect(containerFile.attributes.mode?.same?.('600', '0600')).toBe(true);
  expect(container.attributes.files?.nested?.attributes.mode?.same?.('600', '0600')).toBe(true);
});
