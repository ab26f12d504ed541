// Each room has a page for those who work in it: at most one page, with every sub-folder and only files that exist.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesBelow } from '../support/markdown.ts';

const root = resolve(import.meta.dirname, '../..');
const lineLength = 140;
const pageLines = 60;

/** Folders that hold what is generated, or what belongs to the page above. */
const notRooms = /\/(docs|schema-json|node_modules)$/;
const within = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${folder}/${entry.name}`)
    .filter((path) => !(notRooms.test(path) && path.startsWith('provider/')) && !path.endsWith('/node_modules'));

const tops = ['server', 'reconciler', 'provider', 'test'];
const rooms = ['packaging', ...tops, ...[...tops, 'server/drivers', 'server/services'].flatMap(within)];
const pages = [...new Set([...rooms, ...tops.flatMap((top) => deepPages(top))])].sort();

/** Sub-rooms that have a page of their own although they need none. */
function deepPages(top: string): readonly string[] {
  return filesBelow(join(root, top))
    .filter((file) => file.endsWith('/README.md'))
    .map((file) => file.slice(root.length + 1, -'/README.md'.length))
    .filter((path) => !path.startsWith('provider/docs'));
}

const pageOf = (room: string): string => readFileSync(join(root, room, 'README.md'), 'utf8');

describe('the README of a room', () => {
  test('is there', () => {
    expect(rooms.filter((room) => !existsSync(join(root, room, 'README.md')))).toEqual([]);
  });

  test.each(pages)('%s is at most one page', (room) => {
    const lines = pageOf(room)
      .split('\n')
      .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / lineLength)), 0);
    expect(lines).toBeLessThanOrEqual(pageLines);
  });

  test.each(pages)('%s names each of its folders', (room) => {
    const text = pageOf(room);
    const unnamed = readdirSync(join(root, room))
      .filter((name) => name !== 'node_modules' && statSync(join(root, room, name)).isDirectory())
      .filter((name) => !text.includes(`${name}/`) && !text.includes(`\`${name}\``));
    expect(unnamed).toEqual([]);
  });

  test.each(pages)('%s names only files that exist', (room) => {
    const below = filesBelow(join(root, room));
    const all = tops.flatMap((top) => filesBelow(join(root, top)));
    const missing = [...pageOf(room).matchAll(/`([\w./-]+\.(?:ts|mjs))`/g)]
      .map((match) => match[1] ?? '')
      .filter((name) => {
        const known = name.includes('/') ? all : below;
        return !known.some((path) => path.endsWith(`/${name.replace(/^(\.\.\/)+/, '')}`));
      });
    expect(missing).toEqual([]);
  });
});
