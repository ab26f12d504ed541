// Which copies in pools are restored: decisions without a disk.
import { describe, expect, test } from 'vitest';
import type { ContainerDocument, PoolDocument } from '../../../../server/records/documents.ts';
import { fileOf, readCopy, type CopiedRecord } from '../../../../server/services/recovery/copied-records.ts';
import { planRecovery, type Here, type PoolContent } from '../../../../server/services/recovery/plan-recovery.ts';
import { containerRecord } from '../../../support/fakes/records.ts';

const pool: PoolDocument = { v: 1, description: '', driver: 'dir', config: {}, lifecycle: 'ready' };
const container = (uuid: string, more: Partial<ContainerDocument> = {}): ContainerDocument =>
  containerRecord({ uuid, ...more });
const content = (copies: readonly CopiedRecord[], more: Partial<PoolContent> = {}): PoolContent => ({
  pool: 'p',
  copies: copies.map((record) => ({ record, writtenMs: 1 })),
  containers: new Map([['c', ['s']]]),
  custom: new Map(),
  ...more,
});
const here = (...records: readonly CopiedRecord[]): Here => ({
  get: (kind, name) => records.find((record) => record.kind === kind && record.name === name)?.document as never,
  nameOf: () => undefined,
  images: new Set(),
  backups: new Set(),
});
const c: CopiedRecord = { kind: 'containers', name: 'c', document: container('1') };

describe('recovery', () => {
  test('skips a container whose name another one has, and says so', () => {
    const other: CopiedRecord = { kind: 'containers', name: 'c', document: container('2') };
    const plan = planRecovery([content([c])], here(other));
    expect(plan).toMatchObject({ puts: [], kept: [{ name: 'c', reason: 'another one has its name now' }] });
  });

  test('restores no container without its volume', () => {
    const plan = planRecovery([content([c], { containers: new Map() })], here());
    expect(plan).toMatchObject({ puts: [], kept: [{ name: 'c', reason: 'its volume in the pool p is gone' }] });
  });

  test('ignores the copy that a move between pools left behind', () => {
    const moved: CopiedRecord = { kind: 'containers', name: 'c', document: container('1', { pool: 'q' }) };
    const plan = planRecovery([content([moved])], here());
    expect(plan).toMatchObject({ puts: [], kept: [], unknown: [{ pool: 'p', name: 'c', isKnown: false }] });
  });

  test('takes the newest of several copies', () => {
    const old: CopiedRecord = { kind: 'pools', name: 'x', document: pool };
    const recent: CopiedRecord = { kind: 'pools', name: 'x', document: { ...pool, description: 'new' } };
    const two = [
      { ...content([]), copies: [{ record: recent, writtenMs: 2 }] },
      { ...content([]), pool: 'q', copies: [{ record: old, writtenMs: 1 }] },
    ];
    expect(planRecovery(two, here()).puts).toEqual([recent]);
  });

  test('keeps a profile that differs from its copy, unless it is the default of a new server', () => {
    const copy: CopiedRecord = {
      kind: 'profiles',
      name: 'default',
      document: { v: 1, description: '', config: { a: '1' }, devices: {} },
    };
    const fresh: CopiedRecord = {
      kind: 'profiles',
      name: 'default',
      document: { v: 1, description: 'Default', config: {}, devices: {} },
    };
    const own: CopiedRecord = {
      kind: 'profiles',
      name: 'default',
      document: { v: 1, description: '', config: { b: '1' }, devices: {} },
    };
    expect(planRecovery([content([copy])], here(fresh)).puts).toEqual([copy]);
    expect(planRecovery([content([copy])], here(own))).toMatchObject({ puts: [], kept: [{ name: 'default' }] });
  });

  test('lists snapshots of a known volume without a copy', () => {
    expect(planRecovery([content([c])], here()).unknown).toEqual([
      { pool: 'p', type: 'container', name: 'c', snapshots: ['s'], isKnown: true },
    ]);
  });
});

describe('the file of a copy', () => {
  test('has a name that is safe and not too long, whatever the record is called', () => {
    for (const name of ['p%c1', '1234/snap', '..', 'ü'.repeat(300), 'a\nb'])
      expect(fileOf(name)).toMatch(/^[!-~]{1,210}$/);
    expect(new Set(['a/b', 'a%2Fb', 'a%b'].map(fileOf)).size).toBe(3);
    expect(fileOf('../../x')).not.toContain('/');
  });

  test('is refused when it was cut short, or a newer release wrote it', () => {
    expect(() => readCopy('pools', '{"name":"p","docu')).toThrow();
    expect(() => readCopy('pools', '{"name":"p","document":{"v":99}}')).toThrow('version 99');
  });
});
