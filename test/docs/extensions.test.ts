// Every extension that a server advertises is built and shown by a test, and nothing else is in the table of extensions.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { extensionRows } from '../../docs/generate/extension-rows.ts';
import {
  extensions,
  lxdExtensions,
  lxdNames,
  servedExtensions,
  unservedExtensions,
} from '../../server/api/server/extensions.ts';

const names = Object.keys(extensionRows);
const contractName = (real: string): string => Object.entries(lxdNames).find(([, name]) => name === real)?.[0] ?? real;

describe('the table of extensions', () => {
  test('has a row for each extension that is advertised in either dialect, and no other row', () => {
    const advertised = new Set([...servedExtensions, ...lxdExtensions.map(contractName)]);
    expect([...advertised].filter((name) => !names.includes(name))).toEqual([]);
    expect(names.filter((name) => !advertised.has(name))).toEqual([]);
  });

  test('names files that are there, and a test that mentions the feature', () => {
    const wrong = Object.entries(extensionRows).flatMap(([name, [source, shownBy, word]]) => {
      const missing = [`server/${source}`, `test/${shownBy}`].filter((path) => !existsSync(path));
      if (missing.length > 0) return [`${name}: no ${missing.join(', ')}`];
      if (!/\.test\.ts$|^conformance\/|^hosts\/suite\//.test(shownBy)) return [`${name}: test/${shownBy} is no test`];
      return readFileSync(`test/${shownBy}`, 'utf8').includes(word)
        ? []
        : [`${name}: test/${shownBy} does not mention ${word}`];
    });
    expect(wrong).toEqual([]);
  });

  test('leaves out, with a reason, only names of the contract', () => {
    for (const [name, reason] of Object.entries(unservedExtensions)) {
      expect(extensions, name).toContain(name);
      expect(servedExtensions, name).not.toContain(name);
      expect(lxdExtensions.map(contractName), name).not.toContain(name);
      expect(reason, name).toMatch(/\w+ \w+/);
    }
    expect(servedExtensions.length + Object.keys(unservedExtensions).length).toBe(extensions.length);
  });
});
