// The documentation in provider/docs equals the output of the generator.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { gantryProvider } from '../../provider/gantry.ts';
import { renderDocs } from '../../provider/packaging/docs.ts';
import { example, exampleFiles } from '../support/terraform/examples.ts';

const folder = fileURLToPath(new URL('../../provider/docs', import.meta.url));
const provider = gantryProvider({ env: {}, log() {} });
const pages = renderDocs(provider, example);

describe('the documentation of the provider', () => {
  test('Every page of the documentation is up to date (UPDATE=1 rewrites it)', () => {
    if (process.env['UPDATE'] === '1') {
      rmSync(folder, { recursive: true, force: true });
      for (const [name, text] of pages) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        writeFileSync(join(folder, name), text);
      }
    }
    const found = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
    expect(found.sort()).toEqual([...pages.keys()].sort());
    for (const [name, text] of pages) expect(readFileSync(join(folder, name), 'utf8'), name).toBe(text);
  });

  test('The examples lie where registries look for them, each used by a page, with the import of each resource', () => {
    const used = new Set<string>();
    renderDocs(provider, (path) => {
      used.add(path);
      return example(path);
    });
    const imports = exampleFiles().filter((path) => path.endsWith('/import.sh'));
    expect([...used, ...imports].sort()).toEqual([...exampleFiles()].sort());
    for (const { typeName, importing } of provider.resources.filter((each) => each.importing.example !== ''))
      expect(example(`resources/${typeName}/import.sh`)).toBe(
        `terraform import ${typeName}.example '${importing.example}'\n`,
      );
  });

  test('The documentation has an example and an explanation of every attribute', () => {
    for (const [name, text] of pages) {
      expect(text, name).toMatch(/## Example\n\n```terraform\n\S/);
      expect(text, name).not.toMatch(/undefined|\(\) /);
    }
    expect(pages.get('resources/container.md')).toContain('Nested Schema for `wait_for`');
  });
});
