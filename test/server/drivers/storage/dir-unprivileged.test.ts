// The dir storage driver of a daemon that is not root: the suite of all drivers, as another user when the tests run as root.
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { storageConformance } from '../../../conformance/storage.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';
import { openDirFixture } from '../../../support/drivers/storage-dir.ts';

const nobody = 65534;
const isRoot = process.getuid?.() === 0;
const why = busyboxMissing();

if (why === undefined) {
  beforeAll(() => {
    if (!isRoot) return;
    process.setegid?.(nobody);
    process.seteuid?.(nobody);
  });
  afterAll(() => {
    if (!isRoot) return;
    process.seteuid?.(0);
    process.setegid?.(0);
  });
  test('programs that are started here have no rights of root', () => {
    const status = execFileSync('cat', ['/proc/self/status'], { encoding: 'utf8' });
    expect(/^CapEff:\s*(\w+)/m.exec(status)?.[1]).toMatch(/^0+$/);
  });
  storageConformance('dir, not as root', () => openDirFixture('ignore'));
} else {
  console.log(`skipped: the dir driver without root: ${why}`);
  test.skip('the dir driver without root', () => {});
}
