// A dynamic import of a CommonJS package has only its default export in the bundle, whatever Node finds in the package itself.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const pattern = /(?:const (\{[^}]*\}) = )?(\(?)await import\('([@a-z][^':]*)'\)(\)\.default)?/g;

interface Manifest {
  readonly type?: string;
  readonly module?: string;
  readonly exports?: unknown;
}

function isModule(name: string): boolean {
  const found = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as Manifest;
  return found.type === 'module' || JSON.stringify(found.exports ?? '').includes('"import"');
}

test('names of a CommonJS package are taken from its default export', () => {
  const files = ['server', 'reconciler'].flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
      .map((name) => join(room, name)),
  );
  const seen = new Set<string>();
  const wrong = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].flatMap(([, names = '', , name = '', isDefault]) => {
      seen.add(name);
      const isFine = isModule(name) || isDefault !== undefined || names.includes('default:');
      return isFine ? [] : [`${file}: ${names} of ${name}`];
    }),
  );
  expect([...seen]).toEqual(expect.arrayContaining(['undici', '@fastify/busboy', 'openid-client']));
  expect(wrong).toEqual([]);
});
