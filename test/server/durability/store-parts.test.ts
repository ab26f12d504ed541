// Small decisions about the store of a daemon: its flags, the login file, the note of the state directory, which process holds a lock.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { hasProcessEnded, processIdentity } from '../../../server/daemon/process-identity.ts';
import { etcdSettings, parseLogin, readStoreFlags } from '../../../server/daemon/stores/store-choice.ts';
import { olderThanNoted } from '../../../server/daemon/stores/store-note.ts';

test('a login file is one line USER:PASSWORD, and a wrong one is not shown', () => {
  expect(parseLogin('gantry:se:cret\n', 'f')).toEqual({ user: 'gantry', password: 'se:cret' });
  for (const wrong of ['', 'secret', ':secret', 'secret:', 'a:secret\nb:c\n']) {
    expect(() => parseLogin(wrong, '/etc/login')).toThrow(
      new Error('--store-login: /etc/login must hold one line USER:PASSWORD'),
    );
  }
});

test.each([
  [{ 'store-ca': '/none' }, '--store-ca, --store-cert, --store-key and --store-login need --store'],
  [{ store: 'etcd://a', 'store-cert': 'x' }, '--store-cert and --store-key belong together'],
])('the flags %j are refused', (flags, why) => {
  expect(() => readStoreFlags(flags)).toThrow(why);
});

test('a file of a flag that cannot be read is named', async () => {
  const choice = { address: 'etcd://127.0.0.1:1', login: '/none' };
  await expect(etcdSettings(choice)).rejects.toThrow('--store-login: cannot read /none');
});

const noted = { storeUuid: 'a', epoch: 2, rev: 100 };
test.each([
  ['the same store further on', { storeUuid: 'a', epoch: 2, rev: 150 }, undefined],
  ['a later restore', { storeUuid: 'b', epoch: 3, rev: 1 }, undefined],
  ['an older copy', { storeUuid: 'a', epoch: 2, rev: 99 }, 'it is an older copy'],
  ['another store', { storeUuid: 'b', epoch: 2, rev: 900 }, 'not a later restore of it'],
])('a host that has noted its store meets %s', (_what, found, why) => {
  const answer = olderThanNoted(noted, found);
  if (why === undefined) expect(answer).toBeUndefined();
  else expect(answer).toContain(why);
});

test('an ended process, and a later one with its pid, are distinguished from a running one', async () => {
  const mine = processIdentity();
  expect(hasProcessEnded(mine)).toBe(false);
  const child = spawn('sleep', ['60']);
  const [boot, namespace, , started] = mine.split('/');
  // The pid of the child with the start time of this process: an earlier process with that pid.
  expect(hasProcessEnded([boot, namespace, child.pid, started].join('/'))).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(hasProcessEnded([boot, namespace, child.pid, started].join('/'))).toBe(true);
  expect(hasProcessEnded(['another-boot', namespace, child.pid, started].join('/'))).toBe(false);
  expect(hasProcessEnded('')).toBe(false);
});
