// For each test of a block a daemon on the simulation and a Terraform with it, whose provider is this process.
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { makeDaemon, type TestDaemon } from '../daemons/daemon.ts';
import { serveHere, Terraform, type Attached } from './terraform.ts';

export interface TerraformWorld {
  readonly attached: Attached;
  readonly daemon: TestDaemon;
  readonly terraform: Terraform;
}

/** Called in the block; `give` gets each test's own before that begins. */
export function useTerraform(give: (world: TerraformWorld) => void): void {
  let attached: Attached | undefined;
  let world: TerraformWorld | undefined;
  beforeAll(async () => {
    attached = await serveHere();
  });
  afterAll(() => attached?.stop());
  beforeEach(async () => {
    if (attached === undefined) throw new Error('the provider does not serve');
    const daemon = await makeDaemon();
    world = { attached, daemon, terraform: new Terraform(attached, { address: `unix://${daemon.socketPath}` }) };
    give(world);
  });
  afterEach(() => world?.daemon.cleanUp());
}
