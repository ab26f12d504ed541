// Every config key of a network and every property of a nic has a row in its page: its effect, whether a change is live, and the test that shows it.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { networkKeyTests, nicPropertyTests } from '../../docs/generate/network-tests.ts';
import { deviceSchemas } from '../../server/api/devices/index.ts';
import { networkConfigKeys } from '../../server/api/network/network-config.ts';

const tables = [
  ['docs/keys/network.md', networkConfigKeys.map(({ key }) => key), networkKeyTests],
  ['docs/devices/nic.md', Object.keys(deviceSchemas.nic.properties), nicPropertyTests],
] as const;

/** As code names it: in quotes, or as a plain name before a colon. */
function mentions(text: string, key: string): boolean {
  const escaped = key.replaceAll(/[.*]/g, (char) => (char === '*' ? '[\\w.]+' : `\\${char}`)).replace('NAME', '\\w+');
  const named = key.startsWith('tunnel.NAME.') ? `|\\b${key.slice('tunnel.NAME.'.length)}:` : '';
  return new RegExp(`['"\`]${escaped}['"\`]|\\b${escaped}:${named}`).test(text);
}

describe.each(tables)('%s', (page, keys, tests) => {
  const rows = new Map(
    readFileSync(page, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const key = /^\| `([^`]+)` \|/.exec(line)?.[1];
        return key === undefined
          ? []
          : [
              [
                key,
                line
                  .replaceAll('\\|', '')
                  .split('|')
                  .slice(1, -1)
                  .map((cell) => cell.trim()),
              ] as const,
            ];
      }),
  );

  test('has a row for each key of the schema, and no other row', () => {
    expect([...rows.keys()].sort()).toEqual(keys.toSorted());
    expect(Object.keys(tests).sort()).toEqual(keys.toSorted());
  });

  test('says of each key what it does, when a change takes effect, and which test shows it', () => {
    for (const [key, cells] of rows) {
      const [change = '', effect = '', shownBy = ''] = cells.slice(-3);
      expect(['live', 'restart', 'recreate'], key).toContain(change);
      expect(effect, key).toMatch(/\w+ \w+/);
      expect(shownBy, key).toBe(`\`test/${tests[key]}\``);
    }
  });

  test('names tests that are there and name the key', () => {
    const wrong = Object.entries(tests).flatMap(([key, file]) => {
      if (!existsSync(`test/${file}`)) return [`${key}: no test/${file}`];
      return mentions(readFileSync(`test/${file}`, 'utf8'), key) ? [] : [`${key}: test/${file} does not name it`];
    });
    expect(wrong).toEqual([]);
  });
});
