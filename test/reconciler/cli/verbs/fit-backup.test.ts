// The index of a backup of LXD is changed so that another server can take the container; the files stay as they are.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { fitBackup } from '../../../../reconciler/cli/verbs/moving/fit-backup.ts';
import { collect } from '../../../support/daemons/daemon.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const index = `name: c
backend: dir
config:
  container:
    name: c
    description: of long ago
    config: {user.a: "1", linux.sysctl.x: "1"}
    devices: {eth0: {type: nic, network: lxdbr0}}
  pool: {name: default}
`;

function tarOf(name: string): Buffer {
  const dir = tempFolder('gfit-');
  mkdirSync(join(dir, 'backup/container'), { recursive: true });
  writeFileSync(join(dir, name), index);
  writeFileSync(join(dir, 'backup/container/file'), 'x'.repeat(5000));
  return execFileSync('tar', ['-c', name, 'backup/container'], { cwd: dir });
}

const move = { devices: { eth0: { type: 'nic', nictype: 'bridged', parent: 'lxdbr0' } }, drops: ['linux.sysctl.x'] };
const inPieces = (whole: Buffer, size: number): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.subarray(at * size, at * size + size)),
  );

test.each([100, 512, 700, 1_000_000])(
  'the index gets the devices and loses the keys, in pieces of %i bytes',
  async (size) => {
    const fitted = await collect(fitBackup(inPieces(tarOf('backup/index.yaml'), size), move));
    const dir = tempFolder('gfit-');
    writeFileSync(join(dir, 'fitted.tar'), fitted);
    execFileSync('tar', ['-xf', 'fitted.tar'], { cwd: dir });
    expect(JSON.parse(readFileSync(join(dir, 'backup/index.yaml'), 'utf8'))).toEqual({
      name: 'c',
      backend: 'dir',
      config: {
        container: { name: 'c', description: 'of long ago', config: { 'user.a': '1' }, devices: move.devices },
        pool: { name: 'default' },
      },
    });
    expect(readFileSync(join(dir, 'backup/container/file'), 'utf8')).toBe('x'.repeat(5000));
  },
);

test('a truncated backup, or one that does not begin with its index, is refused', async () => {
  await expect(collect(fitBackup(inPieces(tarOf('backup/other'), 512), move))).rejects.toThrow(
    /it begins with "backup\/other"/,
  );
  const cut = tarOf('backup/index.yaml').subarray(0, 600);
  await expect(collect(fitBackup(inPieces(cut, 512), move))).rejects.toThrow('it ends too early');
});
