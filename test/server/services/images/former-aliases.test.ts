// Aliases with a % of releases without projects: after a start they are in the default project, and can be deleted there.
import { expect, test } from 'vitest';
import { Records } from '../../../../server/records/records.ts';
import { Aliases } from '../../../../server/services/images/aliases.ts';
import { adoptFormerAliases } from '../../../../server/services/images/former-aliases.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';

const alias = (target: string) => ({ v: 1, description: '', target }) as const;

test('an alias of a project that is not there is one of the default project, those of projects stay', async () => {
  const records = await Records.open(openMemoryStore());
  await records.commit((changes) => {
    changes.put('projects', 'web', {
      v: 1,
      description: '',
      config: { 'features.images': 'true' },
      lifecycle: 'ready',
    });
    changes.put('aliases', 'web%debian', alias('a'));
    changes.put('aliases', '100%debian', alias('b'));
    changes.put('aliases', 'plain', alias('c'));
  });
  const warnings: string[] = [];
  const log = { warn: (line: string) => void warnings.push(line) };
  await adoptFormerAliases({ records, log });
  expect(warnings).toEqual([expect.stringMatching(/^The image alias 100%debian has a % in its name/)]);
  const aliases = new Aliases({ records } as ConstructorParameters<typeof Aliases>[0]);
  expect(aliases.list('default').map(({ name, target }) => [name, target])).toEqual([
    ['100%debian', 'b'],
    ['plain', 'c'],
  ]);
  expect(aliases.list('web').map(({ name }) => name)).toEqual(['debian']);
  await adoptFormerAliases({ records, log });
  expect(warnings).toHaveLength(1);
});
