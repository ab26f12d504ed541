// Revisions that a set takes from its source, when the source goes back and when the state cannot be stored.
import { mkdir, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SetConfig } from '../../../reconciler/controller/config/config.ts';
import { sealWith } from '../../../reconciler/controller/sets/digest-key.ts';
import type { HostTarget } from '../../../reconciler/controller/sets/on-host/host-target.ts';
import type { SetOnHost } from '../../../reconciler/controller/sets/on-host/set-on-host.ts';
import type { Rollouts } from '../../../reconciler/controller/sets/rollouts.ts';
import { SetRevisions } from '../../../reconciler/controller/sets/set-revisions.ts';
import { StoredSet } from '../../../reconciler/controller/sets/stored-set.ts';
import type { Source } from '../../../reconciler/controller/sources/source.ts';
import { tempFolder } from '../../support/temp-folder.ts';

async function begun(isActive = () => true, term?: () => AbortSignal) {
  const folder = tempFolder('gantry-revisions-');
  const stored = new StoredSet(folder, 'web', { seal: sealWith('k'.repeat(43)), term });
  await stored.load();
  const host = { name: 'h1', target: undefined as HostTarget | undefined };
  const link = { host: { name: 'h1', address: 'unix:///x', groups: [], labels: {}, vars: {} } };
  const hosts = [Object.assign(host, { link })] as unknown as readonly SetOnHost[];
  const started: string[] = [];
  const start: Rollouts['start'] = (revision, loaded) => {
    started.push(revision);
    const own = loaded.hosts.get('h1');
    if (own !== undefined) host.target = { revision, loaded: own, secrets: loaded.secrets };
    return undefined;
  };
  const checkout = async (revision: string) => {
    const dir = await mkdtemp(join(folder, 'files-'));
    const kind = revision.startsWith('bad') ? 'nonsense' : 'profile';
    await writeFile(join(dir, 'set.yaml'), `kind: ${kind}\nname: p\ndescription: ${revision}\n`);
    return { dir };
  };
  const refused: string[] = [];
  const revisions = new SetRevisions({
    config: { name: 'web', path: '.', variables: {}, hosts: [] } as unknown as SetConfig,
    source: { checkout } as unknown as Source,
    stored,
    hosts,
    rollouts: { start, stop: () => {}, isStopped: false },
    isActive,
    seal: sealWith('k'.repeat(43)),
    onRefused: (revision) => void refused.push(revision),
    onError: () => {},
    onWarning: () => {},
    nowMs: () => 0,
  });
  const offer = (revision: string): Promise<void> =>
    revisions.offer({ revision, at: '2026-01-01T00:00:00Z' }, new AbortController().signal);
  return { folder, stored, revisions, started, refused, offer };
}

test('a source that goes back from a broken revision to the one in force has no problems any more', async () => {
  const { revisions, started, refused, offer } = await begun();
  await offer('r0');
  await offer('bad1');
  expect(revisions.problems).not.toEqual([]);
  await offer('r0');
  expect([revisions.problems, started]).toEqual([[], ['r0']]);
  await offer('bad1');
  expect(refused).toEqual(['bad1', 'bad1']);
});

test('a revision whose state cannot be stored is taken as soon as it can', async () => {
  const { folder, revisions, stored, started, offer } = await begun();
  await offer('r0');
  const obstacle = join(folder, 'sets/web/state.json');
  await rm(obstacle);
  await mkdir(obstacle);
  await expect(offer('r1')).rejects.toThrow('it is a folder');
  await expect(offer('r1')).rejects.toThrow('it is a folder');
  await revisions.idle();
  expect([stored.wanted, started]).toEqual(['r0', ['r0', 'r0', 'r0']]);
  await rmdir(obstacle);
  await offer('r1');
  await offer('r1');
  expect([started, stored.wanted]).toEqual([['r0', 'r0', 'r0', 'r1'], 'r1']);
});

test('the end of a rollback brings back the revision in force when the newest one is broken', async () => {
  const { revisions, stored, started, refused, offer } = await begun();
  const { signal } = new AbortController();
  await offer('r0');
  await offer('r1');
  await revisions.rollback({ revision: 'r0', reason: 'trouble', by: 'ann' }, signal);
  await offer('bad2');
  await revisions.unpin('ann', signal);
  expect([started, refused, stored.wanted]).toEqual([['r0', 'r1', 'r0', 'r1'], ['bad2'], 'r1']);
});

test('the end of a rollback does not bring back a revision that was withdrawn', async () => {
  const { revisions, stored, started, offer } = await begun();
  const { signal } = new AbortController();
  await offer('r0');
  await stored.noteGood('r0');
  await offer('r1');
  await revisions.goBack('r1');
  await revisions.rollback({ revision: 'r0', reason: 'trouble', by: 'ann' }, signal);
  await revisions.unpin('ann', signal);
  await offer('r1');
  expect([started, stored.wanted, stored.state.withdrawn]).toEqual([['r0', 'r1', 'r0', 'r0'], 'r0', 'r1']);
  await offer('r2');
  expect(stored.wanted).toBe('r2');
});

test('a revision that comes while a rollback is read waits for the end of the rollback', async () => {
  const { revisions, stored, started, offer } = await begun();
  const { signal } = new AbortController();
  await offer('r0');
  await offer('r1');
  const back = revisions.rollback({ revision: 'r0', reason: 'trouble', by: 'ann' }, signal);
  await Promise.all([back, offer('r2')]);
  expect([started, stored.wanted]).toEqual([['r0', 'r1', 'r0'], 'r0']);
  await revisions.unpin('ann', signal);
  expect([started, stored.wanted]).toEqual([['r0', 'r1', 'r0', 'r2'], 'r2']);
});

test('a rollback that cannot be stored holds nothing, and the revision in force is rolled out again', async () => {
  const { folder, revisions, stored, started, offer } = await begun();
  const { signal } = new AbortController();
  await offer('r0');
  await offer('r1');
  const obstacle = join(folder, 'sets/web/state.json');
  await rm(obstacle);
  await mkdir(obstacle);
  const order = { revision: 'r0', reason: 'trouble', by: 'ann' };
  await expect(revisions.rollback(order, signal)).rejects.toThrow('it is a folder');
  await revisions.idle();
  expect([stored.state.pin, started]).toEqual([undefined, ['r0', 'r1', 'r1']]);
  await rmdir(obstacle);
  await revisions.rollback(order, signal);
  await rm(obstacle);
  await mkdir(obstacle);
  await expect(revisions.unpin('ann', signal)).rejects.toThrow('it is a folder');
  await revisions.idle();
  expect([stored.wanted, started]).toEqual(['r0', ['r0', 'r1', 'r1', 'r0', 'r0']]);
  await rmdir(obstacle);
  await revisions.unpin('ann', signal);
  expect([stored.wanted, started.at(-1)]).toEqual(['r1', 'r1']);
});

test('a controller that is not active ends no rollback', async () => {
  let isActive = true;
  const { revisions, stored, started, offer } = await begun(() => isActive);
  const { signal } = new AbortController();
  await offer('r0');
  await offer('r1');
  await revisions.rollback({ revision: 'r0', reason: 'trouble', by: 'ann' }, signal);
  isActive = false;
  await revisions.unpin('ann', signal).catch(() => undefined);
  isActive = true;
  await offer('r1');
  const isHeld = stored.state.pin !== undefined;
  expect([isHeld, started.at(-1)]).toEqual([true, 'r0']);
});

test('a revision that came while another controller was active is taken before hosts are compared again', async () => {
  let isActive = true;
  const { revisions, started, offer } = await begun(() => isActive);
  await offer('r0');
  isActive = false;
  await offer('r1');
  await revisions.catchUp(new AbortController().signal);
  expect(started).toEqual(['r0', 'r1']);
});

test('a controller that lost its lease while it read a revision does not write over the state of its successor', async () => {
  let term = new AbortController();
  const { folder, stored, offer } = await begun(undefined, () => term.signal);
  await offer('r0');
  const late = expect(offer('r1')).rejects.toThrow('the lease is lost');
  term.abort(new Error('the lease is lost'));
  const successor = new StoredSet(folder, 'web');
  await successor.load();
  await successor.advance({ revision: 'r2', at: '' });
  await late;
  expect(stored.wanted).toBe('r0');
  term = new AbortController();
  await expect(stored.noteGiven(['h1'], 'r1')).rejects.toThrow('the state is read again');
  await stored.load();
  expect(stored.wanted).toBe('r2');
  await offer('r3');
  await successor.load();
  expect(successor.wanted).toBe('r3');
});
