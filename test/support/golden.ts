// Compares a text with a stored one under test/golden; with UPDATE=1 it is rewritten.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

export function expectGolden(name: string, text: string): void {
  const path = fileURLToPath(new URL(`../golden/${name}`, import.meta.url));
  if (process.env['UPDATE'] === '1') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  expect(text, `${name}; UPDATE=1 rewrites it`).toBe(readFileSync(path, 'utf8'));
}
