// The same on a stock LXD server, which ignores some arguments of creations and breaks under changes of one container in parallel.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../../../support/hosts/stock-lxd.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';
import { buildBusyboxImage } from '../../../support/images/busybox.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../../support/terraform/terraform.ts';
import { expectEveryArgumentSettled } from './settled.ts';

const missing = terraformMissing('every argument on a stock LXD server') ?? busyboxMissing() ?? stockLxdMissing();
if (missing !== undefined) console.log(`skipped: every argument on a stock LXD server, since ${missing}`);

describe.skipIf(missing !== undefined)('every argument on a stock LXD server', { timeout: 300_000 }, () => {
  let attached: Attached;
  let lxd: StockLxd;

  beforeAll(async () => {
    attached = await serveHere();
    lxd = await startStockLxd();
  });
  afterAll(async () => {
    attached?.stop();
    await lxd?.cleanUp();
  });

  test('The plan after an apply is empty, an import changes nothing on the server, and then the plan is empty again', async () => {
    const terraform = new Terraform(attached, { address: `unix://${lxd.socketPath}` });
    const { metadataPath: image } = await buildBusyboxImage(join(terraform.dir, 'image'));
    const differing = { image, bridge: 'gtea0', subnet: '10.177.0' };
    await expectEveryArgumentSettled({ terraform, server: lxd, differing });
    await terraform.destroy();
  });
});
