// What a program that reads the archives of strangers may still do.
import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { confined, confinement } from '../../../server/lib/confined.ts';

const isConfining = confined(['true']).length > confinement.length;
if (!isConfining) console.log('skipped: confined programs: this user may not confine (root is needed)');

describe.skipIf(!isConfining)('a confined program', () => {
  const run = (...argv: readonly string[]): string => {
    const [file = '', ...args] = confined(argv);
    return execFileSync(file, args, { encoding: 'utf8' });
  };

  test('has no network', () => {
    const interfaces = run('cat', '/proc/net/dev')
      .split('\n')
      .slice(2)
      .filter((line) => line !== '');
    expect(interfaces.map((line) => line.trim().split(':')[0])).toEqual(['lo']);
    const reached = spawnSync('bash', ['-c', `exec ${confinement.join(' ')} bash -c 'echo > /dev/tcp/127.0.0.1/1'`], {
      encoding: 'utf8',
    });
    expect(reached.stderr).toContain('Network is unreachable');
  });

  test('has the capabilities that files need and no others, and gets no more', () => {
    const status = run('cat', '/proc/self/status');
    // chown, dac_override, dac_read_search, fowner, fsetid, sys_admin (for trusted.* attributes), mknod, setfcap.
    const mask = [0, 1, 2, 3, 4, 21, 27, 31]
      .reduce((sum, bit) => sum + 2 ** bit, 0)
      .toString(16)
      .padStart(16, '0');
    for (const kind of ['CapPrm', 'CapEff', 'CapBnd']) expect(status).toContain(`${kind}:\t${mask}`);
    expect(status).toMatch(/NoNewPrivs:\t1/);
  });

  test('has at most 4 GiB of memory and writes no core', () => {
    const limits = run('cat', '/proc/self/limits');
    expect(limits).toMatch(/Max data size +4294967296 +4294967296/);
    expect(limits).toMatch(/Max core file size +0 +0/);
  });

  test('starts also after the process gave its rights up, and is confined again once it has them back', () => {
    const nobody = 65534;
    run('true');
    process.seteuid?.(nobody);
    try {
      expect(run('id', '-u')).toBe(`${nobody}\n`);
    } finally {
      process.seteuid?.(0);
    }
    expect(run('cat', '/proc/self/status')).toMatch(/NoNewPrivs:\t1/);
  });
});
