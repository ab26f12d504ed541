// The tables of nftables that the daemon has on its host: what becomes of them when others remove them, and when nft fails.
import { expect, test, vi } from 'vitest';
import { countRules, NftTables, removal } from '../../../server/drivers/nft-tables.ts';

/** A kernel that knows which tables there are. */
function world() {
  const there = new Set<string>();
  const lines: string[] = [];
  const state: { fails: boolean; hangs?: Promise<void> } = { fails: false };
  const apply = async (rules: string): Promise<void> => {
    await state.hangs;
    if (state.fails) throw new Error('the kernel is busy');
    for (const [, verb, table = ''] of rules.matchAll(/^(add|delete|make) table (\S+ \S+)$/gm))
      if (verb === 'delete') there.delete(table);
      else there.add(table);
  };
  const note = (text: string): void => void lines.push(text);
  const log = { debug: note, info: note, warn: note, error: note };
  const open = () => new NftTables(log, { apply, list: async () => new Map([...there].map((table) => [table, 0])) });
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

test('rules and elements are counted in the commands of a change, in a whole table, and in a list of nft', () => {
  const commands = [
    'bridge a entering iifname vmap @ports',
    'bridge a nic drop',
    'bridge a nic accept',
    'bridge a old drop',
  ];
  const written = [
    ...commands.map((rule) => `add rule ${rule}`),
    'flush chain bridge a entering',
    'add rule bridge a entering drop',
    'delete chain bridge a old',
    'add element bridge a ports { "x" : jump nic }',
    'delete element bridge a ports { "x" : jump nic }',
    'add element bridge a ports { "x" : jump nic }',
    'table inet b {',
    '  chain in {',
    '    type filter hook input priority 0; policy accept;',
    '    udp dport { 53, 67 } accept',
    '  }',
    '}',
  ];
  const list =
    'table inet b {\n\tset s {\n\t\ttype ifname\n\t\telements = { "x",\n\t\t\t     "y" : jump nic }\n\t}\n\n\tchain in {\n\t\ttype filter hook input priority filter; policy accept;\n\t\tdrop\n\t}\n}\ntable inet c {\n}\n';
  expect([...countRules(written.join('\n'))]).toEqual([
    ['bridge a', 4],
    ['inet b', 1],
  ]);
  expect([...countRules(list)]).toEqual([
    ['inet b', 3],
    ['inet c', 0],
  ]);
});

test('a change that waited a minute for others, which hung, fails', async () => {
  let [now, end] = [0, (): void => {}];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  try {
    const { tables, state } = world();
    state.hangs = new Promise<void>((resolve) => (end = resolve));
    const first = tables.set('the rules of a', ['inet a'], '');
    const second = tables.set('the rules of b', ['inet b'], '').catch((error: unknown) => error);
    now += 61_000;
    end();
    await first;
    expect(await second).toMatchObject({
      message: 'the rules of b',
      cause: new Error('earlier changes by nft took 61 s'),
    });
    await tables.set('the rules of c', ['inet c'], '');
  } finally {
    clock.mockRestore();
  }
});
