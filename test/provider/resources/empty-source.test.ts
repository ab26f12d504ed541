// The validation of files whose local path is empty, which a plan would try to open.
import { expect, test } from 'vitest';
import { validateAttributes } from '../../../provider/framework/validate.ts';
import { container } from '../../../provider/resources/container/container.ts';
import { containerFile } from '../../../provider/resources/container/container-file-resource.ts';

test('An empty path of a local file is refused at its place', () => {
  const facts = { writeOnlyAllowed: true };
  const file = { container: 'web', path: '/a', source: '' };
  const web = { name: 'web', files: { '/a': { source: '' } } };
  const found = [
    ...validateAttributes(containerFile.attributes, file, facts),
    ...validateAttributes(container.attributes, web, facts),
  ];
  expect(found).toMatchObject([
    { detail: 'source must not be empty.', path: [{ attribute: 'source' }] },
    {
      detail: 'files["/a"].source must not be empty.',
      path: [{ attribute: 'files' }, { key: '/a' }, { attribute: 'source' }],
    },
  ]);
});
