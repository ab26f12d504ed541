// Digests of values with secrets: sealed with a key beside the state directory, and those of older versions or of another key.
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { SetConfig } from '../../../reconciler/controller/config/config.ts';
import { readConfig } from '../../../reconciler/controller/config/read-config.ts';
import { stateOfHook, withAfterSync, withHook } from '../../../reconciler/controller/decide/hooks.ts';
import { sealedState, type SetState } from '../../../reconciler/controller/decide/set-state.ts';
import { digestSealIn, sealWith } from '../../../reconciler/controller/sets/digest-key.ts';
import { loadRevision, sealed } from '../../../reconciler/controller/sets/load-revision.ts';
import { StoredSet } from '../../../reconciler/controller/sets/stored-set.ts';
import type { VaultSecrets } from '../../../reconciler/manifest/secrets/vault-secrets.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let folder: string;
beforeEach(() => void (folder = tempFolder('gantry-seal-')));

const one = sealWith('a'.repeat(43));
const other = sealWith('b'.repeat(43));
const plain = (letter: string): string => letter.repeat(64);
const at = '2026-01-01T00:00:00Z';
const state = (text: string, secrets: string): SetState => ({
  earlier: [],
  given: { h1: 'r1' },
  hosts: { h1: { revision: 'r1', text, at } },
  hooks: { revision: `r1 ${secrets}`, ran: { 'beforeSync/a@h1': 'done' }, afterSync: 'done' },
});

test('all processes that share the file have one key, which only its owner may read', async () => {
  const file = join(folder, 'new/state.key');
  const found = await Promise.all(Array.from({ length: 5 }, () => digestSealIn(file)));
  expect(new Set(found.map(({ seal, problem }) => `${seal.of('x')} ${problem}`)).size).toBe(1);
  expect([found[0]?.problem, statSync(file).mode & 0o777]).toEqual([undefined, 0o600]);
  expect((await digestSealIn(file)).seal.of('x')).toBe(found[0]?.seal.of('x'));
});

test('a damaged key is refused, and one that cannot be stored ends with the process and is reported', async () => {
  writeFileSync(join(folder, 'short'), 'abc');
  await expect(digestSealIn(join(folder, 'short'))).rejects.toThrow('short is damaged: restore it, or delete it');
  const { seal, problem } = await digestSealIn('/sys/none/state.key');
  expect(problem).toContain('/sys/none/state.key cannot be written');
  expect(seal.isOwn(seal.of('x'))).toBe(true);
});

test('a key in the state directory is refused', async () => {
  mkdirSync(join(folder, 'm'));
  const written = (key: string): string =>
    `controller: { stateDir: state, stateKey: ${key} }\nhosts: { file: h.yaml }\nsources: [{ name: s, directory: { path: m } }]\nsets: [{ name: w, source: s }]\n`;
  const read = async (key: string) => {
    writeFileSync(join(folder, 'gantry.yaml'), written(key));
    return readConfig(join(folder, 'gantry.yaml'));
  };
  expect((await read('state/key')).diagnostics.map(({ message }) => message)).toEqual([
    expect.stringContaining('is in stateDir'),
  ]);
  expect((await read('keys/state')).config?.stateKey).toBe(join(folder, 'keys/state'));
});

test('sealed digests are equal for equal digests of one key only', () => {
  expect(one.of(plain('1'))).toBe(one.of(plain('1')));
  expect(new Set([one.of(plain('1')), one.of(plain('2')), other.of(plain('1')), plain('1')]).size).toBe(4);
  expect([one.isOwn(one.of('x')), one.isOwn(other.of('x')), one.isOwn(plain('1'))]).toEqual([true, false, false]);
});

test('digests of an older version stay equal to what they were equal to', () => {
  const sealedNow = sealedState(state(plain('1'), plain('2')), one);
  expect(sealedNow).toEqual({ state: state(one.of(plain('1')), one.of(plain('2'))), isForeign: false });
  expect(sealedState(sealedNow.state, one)).toEqual(sealedNow);
  expect(sealedState({ earlier: [], hosts: {}, given: {} }, one).isForeign).toBe(false);
});

test('hooks that ran for digests of another key count as run, and the digests of the new key take over', () => {
  const { state: found, isForeign } = sealedState(state(other.of(plain('1')), other.of(plain('2'))), one);
  expect([isForeign, found.hosts['h1']?.text]).toEqual([true, other.of(plain('1'))]);
  const key = `r1 ${one.of(plain('3'))}`;
  expect(stateOfHook(found.hooks, key, 'beforeSync/a@h1')).toBe('done');
  expect(stateOfHook(found.hooks, `r2 ${one.of(plain('3'))}`, 'beforeSync/a@h1')).toBeUndefined();
  const next = withHook(withAfterSync(found.hooks, key, 'due'), key, 'afterSync/b@h1', 'done');
  expect(next).toEqual({
    revision: key,
    ran: { 'beforeSync/a@h1': 'done', 'afterSync/b@h1': 'done' },
    afterSync: 'due',
  });
  expect(stateOfHook(next, `r1 ${one.of(plain('4'))}`, 'beforeSync/a@h1')).toBeUndefined();
});

test('a set writes its state again only when the digests were not sealed', async () => {
  const file = join(folder, 'sets/web/state.json');
  mkdirSync(join(folder, 'sets/web'), { recursive: true });
  writeFileSync(file, JSON.stringify(state(plain('1'), plain('2'))));
  const stored = new StoredSet(folder, 'web', { seal: one });
  await stored.load();
  expect(await readFile(file, 'utf8')).toContain(plain('1'));
  await stored.renew();
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(state(one.of(plain('1')), one.of(plain('2'))));
  const { ino } = statSync(file);
  await stored.load();
  await stored.renew();
  expect([statSync(file).ino, stored.isForeign]).toEqual([ino, false]);
});

test('the digests of a revision change with its secrets, except that of the documents as written', async () => {
  writeFileSync(join(folder, 'a.yaml'), 'kind: profile\nname: web\nconfig: { user.pin: { from_vault: "kv/a#pin" } }\n');
  const hosts = [{ name: 'h1', address: 'unix:///h1', labels: {}, groups: [], vars: {} }];
  const load = (pin: string) => {
    const seen = new Map<string, string>();
    const read = async (reference: string) => (seen.set(reference, pin), pin);
    const vault = { reading: () => ({ read, seen }) } as unknown as VaultSecrets;
    const config = { path: '', variables: {} } as unknown as SetConfig;
    return loadRevision(folder, config, hosts, new AbortController().signal, vault);
  };
  const [before, after] = [await load('1234'), await load('4321')];
  const of = (revision: typeof before) => revision.hosts.get('h1');
  expect([before.problems, of(before)?.asWritten]).toEqual([[], of(after)?.asWritten]);
  expect(of(before)?.text).not.toBe(of(after)?.text);
  const closed = sealed(before, one);
  expect([of(closed)?.text, closed.secrets]).toEqual([one.of(of(before)?.text ?? ''), one.of(before.secrets ?? '')]);
  expect([of(closed)?.asWritten, of(closed)?.loaded]).toEqual([of(before)?.asWritten, of(before)?.loaded]);
});
