// For the tests of a block a daemon on the simulation, empty when each begins, and for each a Terraform with it, whose provider is
// this process.
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { TestDaemon } from '../daemons/daemon.ts';
import { useDaemon } from '../daemons/emptied.ts';
import { serveHere, Terraform, type Attached } from './terraform.ts';

export interface TerraformWorld {
  readonly attached: Attached;
  readonly daemon: TestDaemon;
  readonly terraform: Terraform;
}

/** Called in the block; `give` gets each test's own before that begins. */
export function useTerraform(give: (world: TerraformWorld) => void): void {
  let attached: Attached | undefined;
  let daemon: TestDaemon | undefined;
  beforeAll(async () => void (attached = await serveHere()));
  afterAll(() => attached?.stop());
  useDaemon((given) => void (daemon = given));
  beforeEach(() => {
    if (attached === undefined || daemon === undefined) throw new Error('the provider or the daemon does not serve');
    give({ attached, daemon, terraform: new Terraform(attached, { address: `unix://${daemon.socketPath}` }) });
  });
}
