// The keys of a cluster: which are valid in each phase of a change, who follows when, and for whom they are sealed.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type KeyMember, nextKeyStep } from '../../../server/membership/keys/key-plan.ts';
import {
  compareStates,
  keyPhases,
  type KeyState,
  newGeneration,
  nextPhase,
  nextState,
  type Progress,
  trustedIn,
  usedIn,
} from '../../../server/membership/keys/keyring.ts';
import { openKeyring, sealKeyring, withShare } from '../../../server/membership/keys/seal.ts';
import { generationOf, isPlainKey, openValue, sealValue } from '../../../server/membership/keys/vault.ts';
import { makeEtcdCertificates } from '../../../server/membership/etcd/certificates.ts';
import { changedKeys } from '../../../server/services/cluster/keys/next-keys.ts';
import { seededRandom } from '../../support/random.ts';
import { makePair } from '../../support/daemons/tls.ts';
import { isLongRun } from '../../support/left-out.ts';

const pairOf = (name: string) => makePair(name, { subjectAltNames: [name], usage: 'peer', curve: 'P-256' });

describe('keys that are sealed', () => {
  test('can be opened by each member they are for, and by no other, nor under the number of another', async () => {
    const [one, two, removed, late] = await Promise.all(['one', 'two', 'removed', 'late'].map(pairOf));
    if (one === undefined || two === undefined || removed === undefined || late === undefined) throw new Error('four');
    const keyring = [newGeneration(1), newGeneration(2)];
    const sealed = sealKeyring(keyring, [
      { number: 1, certificate: one.certPem },
      { number: 2, certificate: two.certPem },
    ]);
    expect(openKeyring(sealed, { number: 1, keyPem: one.keyPem })).toEqual(keyring);
    expect(openKeyring(sealed, { number: 2, keyPem: two.keyPem })).toEqual(keyring);
    for (const number of [1, 2, 3]) expect(openKeyring(sealed, { number, keyPem: removed.keyPem })).toBeUndefined();
    expect(openKeyring(sealed, { number: 2, keyPem: one.keyPem })).toBeUndefined();
    const more = withShare(sealed, { number: 2, keyPem: two.keyPem }, { number: 4, certificate: late.certPem });
    expect(openKeyring(more, { number: 4, keyPem: late.keyPem })).toEqual(keyring);
    expect(openKeyring(more, { number: 1, keyPem: one.keyPem })).toEqual(keyring);
  });

  test('new keys after a removal are unknown to the removed member, and older ones go once nothing needs them', async () => {
    const one = await pairOf('one');
    const receivers = [{ number: 1, certificate: one.certPem }];
    const first = [newGeneration(1)];
    const open = (document: ReturnType<typeof changedKeys>) => openKeyring(document, { number: 1, keyPem: one.keyPem });
    const begun = {
      v: 1 as const,
      generation: 1,
      phase: 'done' as const,
      trusted: [1],
      shown: 1,
      ...sealKeyring(first, receivers),
    };
    const second = changedKeys({ ...begun, rewritten: true }, first, receivers);
    expect(open(second)?.map(({ generation }) => generation)).toEqual([1, 2]);
    expect(open(second)?.[1]?.data).not.toBe(first[0]?.data);
    expect(open(second)?.[1]?.authority).not.toBe(first[0]?.authority);
    const done = { ...second, phase: 'done' as const, trusted: [2], shown: 2 };
    const kept = changedKeys(done, open(second) ?? [], receivers);
    expect(open(kept)?.map(({ generation }) => generation)).toEqual([1, 2, 3]);
    const third = changedKeys({ ...done, rewritten: true }, open(second) ?? [], receivers);
    // A late write may have used the first one after all values were encrypted again: this change encrypts that again, too.
    expect(open(third)?.map(({ generation }) => generation)).toEqual([1, 2, 3]);
    const after = { ...third, phase: 'done' as const, trusted: [3], shown: 3, rewritten: true };
    const gone = changedKeys(after, open(third) ?? [], receivers);
    expect(open(gone)?.map(({ generation }) => generation)).toEqual([2, 3, 4]);
  });
});

describe('a value of the store', () => {
  const data = Buffer.alloc(32, 7);
  const value = Buffer.from('{"v":1,"secret":"trust-me"}');

  test('is read again under its own key only, and only as it was written', () => {
    const sealed = sealValue('/server/config', value, 3, data);
    expect(Buffer.from(sealed).toString('latin1')).not.toContain('trust-me');
    expect([generationOf(sealed), generationOf(value)]).toEqual([3, undefined]);
    expect(Buffer.from(openValue('/server/config', sealed, data))).toEqual(value);
    expect(() => openValue('/server/other', sealed, data)).toThrow();
    const changed = Uint8Array.from(sealed);
    changed[30] = (changed[30] ?? 0) ^ 1;
    expect(() => openValue('/server/config', changed, data)).toThrow();
  });

  test('is stored in plain text only for presence, reserved names, and already sealed keys', () => {
    for (const key of ['/signals/present/1', '/names/containers/a', '/uses/pools/a', '/clusterKeys/current'])
      expect([key, isPlainKey(key)]).toEqual([key, true]);
    for (const key of [
      '/server/config',
      '/cluster/config',
      '/member/2/containers/a',
      '/joinTokens/x',
      '/certificates/f',
    ])
      expect([key, isPlainKey(key)]).toEqual([key, false]);
  });
});

describe('the authorities of the etcds', () => {
  test('sign for a change in which each end trusts both, and the former one is worthless afterwards', async () => {
    const [former, next] = [newGeneration(1), newGeneration(2)];
    const issuers = [former, next].map(({ generation, authority: keyPem }) => ({ generation, keyPem }));
    const [old, young] = issuers;
    if (old === undefined || young === undefined) throw new Error('two');
    const member = { name: 'a', hosts: ['10.0.0.1'] };
    const during = await makeEtcdCertificates({ trusted: issuers, shown: old }, member, new Date());
    const after = await makeEtcdCertificates({ trusted: [young], shown: young }, member, new Date());
    const authorities = (pem: string) =>
      pem.split(/(?<=-----END CERTIFICATE-----\n)/).map((each) => new X509Certificate(each));
    const isTrusted = (certPem: string, caPem: string) =>
      authorities(caPem).some((ca) => {
        const certificate = new X509Certificate(certPem);
        return certificate.checkIssued(ca) && certificate.verify(ca.publicKey);
      });
    expect(isTrusted(during.certPem, during.caPem)).toBe(true);
    expect(isTrusted(after.certPem, during.caPem)).toBe(true);
    expect(isTrusted(during.certPem, after.caPem)).toBe(false);
    // TLS looks an authority up by its name.
    expect(new Set(authorities(during.caPem).map(({ subject }) => subject)).size).toBe(2);
    expect(new X509Certificate(after.certPem).checkPrivateKey(createPrivateKey(after.keyPem))).toBe(true);
  });
});

/** A member as a model: the last state that it has followed determines what it trusts and shows. */
interface Model {
  readonly number: number;
  followed: KeyState;
  isPresent: boolean;
  isRemoved: boolean;
}

describe('a change of keys', () => {
  const first: KeyState = { generation: 1, phase: 'done', trusted: [1], shown: 1 };
  const membersOf = (models: readonly Model[]): KeyMember[] =>
    models
      .filter(({ isRemoved }) => !isRemoved)
      .map(({ number, isPresent, followed }) => ({ number, isPresent, followed, runsEtcd: true }));

  test('members that run an etcd follow one at a time, others at once; the first one advances when all have', () => {
    const wanted: KeyState = { generation: 2, phase: 'trust', trusted: [1], shown: 1 };
    const member = (number: number, followed: Progress, more: Partial<KeyMember> = {}): KeyMember => ({
      number,
      isPresent: true,
      followed,
      runsEtcd: true,
      ...more,
    });
    const stepOf = (here: number, members: readonly KeyMember[]) =>
      nextKeyStep(wanted, members.find(({ number }) => number === here)?.followed, members, here);
    const none = [member(1, first), member(2, first), member(3, first, { runsEtcd: false })];
    expect([1, 2, 3].map((here) => stepOf(here, none))).toEqual(['follow', 'wait', 'follow']);
    const some = [member(1, wanted), member(2, first), member(3, wanted, { runsEtcd: false })];
    expect([1, 2, 3].map((here) => stepOf(here, some))).toEqual(['wait', 'follow', 'wait']);
    const all = [member(1, wanted), member(2, wanted), member(3, first, { isPresent: false })];
    expect([1, 2].map((here) => stepOf(here, all))).toEqual(['advance', 'wait']);
    const done: KeyState = { ...wanted, phase: 'done', trusted: [2], shown: 2 };
    expect(nextKeyStep(done, done, [member(1, done), member(2, done)], 1)).toBe('rest');
    expect(nextKeyStep(done, first, [member(1, done)], 2)).toBe('rest');
  });

  test('over random deaths, returns and removals the present members always trust each other, and end on the newest keys', () => {
    for (let seed = 1; seed <= (isLongRun ? 300 : 100); seed += 1) {
      const chance = seededRandom(seed);
      const random = (): number => chance.next();
      const models: Model[] = [1, 2, 3, 4, 5].map((number) => ({
        number,
        followed: first,
        isPresent: true,
        isRemoved: false,
      }));
      const there = () => models.filter(({ isPresent, isRemoved }) => isPresent && !isRemoved);
      let wanted = first;
      const step = (model: Model): boolean => {
        const next = nextKeyStep(wanted, model.followed, membersOf(models), model.number);
        if (next === 'follow') model.followed = wanted;
        else if (next === 'advance') {
          const phase = nextPhase(wanted);
          const { generation } = wanted;
          wanted = { ...wanted, phase, ...(phase === 'done' ? { trusted: [generation], shown: generation } : {}) };
        } else return false;
        return true;
      };
      const check = (): void => {
        for (const a of there())
          for (const b of there())
            expect([seed, a.followed, b.followed, trustedIn(a.followed).includes(usedIn(b.followed))]).toEqual([
              seed,
              a.followed,
              b.followed,
              true,
            ]);
      };
      for (let round = 0; round < 60; round += 1) {
        const model = models[Math.floor(random() * models.length)];
        if (model === undefined || model.isRemoved) continue;
        const dice = random();
        if (dice < 0.06 && there().length > 2) {
          model.isRemoved = true;
          wanted = nextState(wanted);
        } else if (dice < 0.16 && there().length > 2) model.isPresent = false;
        else if (dice < 0.3 && !model.isPresent) {
          // It asks the others before it runs.
          model.followed = wanted;
          model.isPresent = true;
        } else if (model.isPresent) step(model);
        check();
      }
      for (let isMoving = true; isMoving;) isMoving = there().map(step).includes(true);
      for (const { followed } of there()) expect([seed, followed]).toEqual([seed, wanted]);
      expect(wanted.phase).toBe('done');
    }
  });

  test('a change begun during another one trusts every authority that members may still show', () => {
    const trust = nextState(first);
    const again = nextState({ ...trust, phase: 'show' });
    expect([again.generation, trustedIn(again), usedIn(again)]).toEqual([3, [1, 2, 3], 2]);
    expect(keyPhases.map((phase) => nextPhase({ generation: 2, phase }))).toEqual(['show', 'drop', 'done', 'done']);
    expect(compareStates(trust, first)).toBeGreaterThan(0);
    expect(compareStates({ ...trust, phase: 'drop' }, { ...trust, phase: 'show' })).toBeGreaterThan(0);
  });
});
