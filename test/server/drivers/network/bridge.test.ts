// Real bridges: the conformance suite, and what only a real host shows. Skipped, with the reason, where bridges cannot be made.
import { describe, test } from 'vitest';
import { bridgeAvailable } from '../../../../server/drivers/network/bridge.ts';
import { networkConformance } from '../../../conformance/network.ts';
import { makeBridgeHarness } from '../../../support/drivers/network-bridge.ts';

const available = await bridgeAvailable();
if (available.ok) {
  networkConformance('bridge networks', () => makeBridgeHarness());
} else {
  console.log(`bridge networks skipped: ${available.reason}`);
  describe.skip(`bridge networks (${available.reason})`, () => {
    test('needs a host that can make bridges', () => {});
  });
}
