// The tables of nftables that the daemon has on its host: what becomes of them when others remove them, and when nft fails.
import { expect, test } from 'vitest';
import { NftTables, removal } from '../../../server/drivers/nft-tables.ts';

/** A kernel that knows which tables there are. */
function world() {
  const there = new Set<string>();
  const lines: string[] = [];
  const state = { fails: false };
  const apply = async (rules: string): Promise<void> => {
    if (state.fails) throw new Error('the kernel is busy');
    for (const [, verb, table = ''] of rules.matchAll(/^(add|delete|make) table (\S+ \S+)$/gm))
      if (verb === 'delete') there.delete(table);
      else there.add(table);
  };
  const note = (text: string): void => void lines.push(text);
  const log = { debug: note, info: note, warn: note, error: note };
  const open = () => new NftTables(log, { apply, list: async () => new Set(there) });
  return { there, lines, state, open, tables: open() };
}
const make = (...tables: readonly string[]): string => tables.map((table) => `make table ${table}\n`).join('');

test('tables that others removed are set again, those with one text at once; removed ones and those of others are left alone', async () => {
  const { there, lines, tables } = world();
  await tables.set('a', ['inet a'], make('inet a'));
  await tables.set('b', ['bridge b', 'inet b'], make('bridge b', 'inet b'));
  await tables.set('c', ['inet c'], make('inet c'));
  await tables.remove('c', ['inet c']);
  there.add('inet foreign');
  await tables.look();
  expect(lines).toEqual([]);
  there.clear();
  await tables.look();
  await tables.look();
  expect([...there]).toEqual(['inet a', 'bridge b', 'inet b']);
  expect(lines).toEqual([
    'The rules of nftables in inet a were missing, and are set again',
    'The rules of nftables in bridge b, inet b were missing, and are set again',
  ]);
});

test('a change that fails says what and why, and is not kept', async () => {
  const { there, state, tables } = world();
  state.fails = true;
  const failure = await tables.set('the rules of a', ['inet a'], make('inet a')).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'Failed', message: 'the rules of a', cause: new Error('the kernel is busy') });
  state.fails = false;
  await tables.look();
  expect([...there]).toEqual([]);
});

test('tables that cannot be set again are an error in the log each time, until they can', async () => {
  const { there, lines, state, tables } = world();
  await tables.set('a', ['inet a'], make('inet a'));
  there.clear();
  state.fails = true;
  await tables.look();
  state.fails = false;
  await tables.look();
  expect([...there]).toEqual(['inet a']);
  expect(lines).toEqual([
    'The rules of nftables in inet a are missing: the kernel is busy',
    'The rules of nftables in inet a were missing, and are set again',
  ]);
});

test('a sweep removes tables of an earlier daemon by their prefix, but those that were set since', async () => {
  const { there, open, tables } = world();
  for (const name of ['gantry_x_1', 'gantry_x_2', 'gantry_y_1'])
    await tables.set(name, [`inet ${name}`], make(`inet ${name}`));
  const next = open();
  await next.set('1', ['inet gantry_x_1'], removal(['inet gantry_x_1']) + make('inet gantry_x_1'));
  await next.sweep('gantry_x_');
  expect([...there].toSorted()).toEqual(['inet gantry_x_1', 'inet gantry_y_1']);
});
