// Terraform hides a value from a sensitive variable only where the configuration has it, so that copies of such values are sensitive.
import { expect, test } from 'vitest';
import { gantryProvider } from '../../../provider/gantry.ts';

const { resources } = gantryProvider({ env: {}, log() {} });

test('Every copy of a config in a state is sensitive', () => {
  const copies = resources.flatMap(({ typeName, attributes }) =>
    Object.entries(attributes)
      .filter(([name, { computed }]) => computed === true && name.endsWith('_config'))
      .map(([name, { sensitive }]) => [`${typeName}.${name}`, sensitive]),
  );
  expect(copies).toEqual([
    ['gantry_container.expanded_config', true],
    ['gantry_network.effective_config', true],
    ['gantry_project.effective_config', true],
    ['gantry_storage_pool.effective_config', true],
    ['gantry_storage_volume.effective_config', true],
  ]);
});

test('No resource has two sensitive attributes: Terraform 1.11 would see a change at each of its refreshes', () => {
  const counts = resources.map(({ attributes }) => Object.values(attributes).filter((each) => each.sensitive).length);
  expect(Math.max(...counts)).toBe(1);
});
