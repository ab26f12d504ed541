// The description of a container in its backup.
import { expect, test } from 'vitest';
import type { Container } from '../../../../../server/api/container/container.ts';
import type { PoolDocument } from '../../../../../server/records/documents.ts';
import { parseIndex, renderIndex } from '../../../../../server/services/transfer/backups/index-yaml.ts';

test('a backup of files records owners as the container sees them, one of a stream as on the disk', async () => {
  const map = '[{"Isuid":true,"Isgid":true,"Hostid":1000000,"Nsid":0,"Maprange":65536}]';
  const container = {
    name: 'c',
    architecture: 'x86_64',
    config: { 'volatile.last_state.idmap': map },
    devices: {},
    profiles: [],
  } as unknown as Container;
  const document = { driver: 'zfs', config: {}, description: '' } as unknown as PoolDocument;
  const ownersIn = async (optimized: boolean): Promise<string | undefined> => {
    const { index } = await renderIndex({
      container,
      project: 'default',
      snapshots: [],
      pool: { name: 'p', document },
      written: undefined,
      writtenOf: new Map(),
      profiles: [],
      optimized,
    });
    return (await parseIndex(index)).parts?.container.config['volatile.last_state.idmap'];
  };
  expect([await ownersIn(false), await ownersIn(true)]).toEqual(['[]', map]);
});
