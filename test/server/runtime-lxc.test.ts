// The LXC runtime on real containers: the common suite.
import { describe, it } from 'vitest';
import { runtimeConformance } from '../conformance/runtime.ts';
import { lxcHarness, lxcTestsMissing } from '../support/runtime-lxc-harness.ts';

const missing = await lxcTestsMissing();
if (missing === undefined) {
  runtimeConformance('the LXC runtime', async () => lxcHarness('a'));
} else {
  console.log(`skipped: the LXC runtime: ${missing}`);
  describe.skip(`the LXC runtime (${missing})`, () => it('needs a host that can run LXC', () => {}));
}
