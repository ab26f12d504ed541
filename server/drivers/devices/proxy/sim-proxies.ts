// Proxy devices of simulated containers: recorded and checked for conflicts, without listening.
import { driverErrors } from '../../driver-error.ts';
import type { ProxyKeeper } from './proxies.ts';
import { endpointText, type ProxyRun } from './proxy-plan.ts';

export class SimProxies implements ProxyKeeper {
  readonly #open = new Map<string, Map<string, ProxyRun>>();

  of(container: string): Readonly<Record<string, ProxyRun>> {
    return Object.fromEntries(this.#open.get(container) ?? []);
  }

  async open(container: string, run: ProxyRun): Promise<void> {
    await this.close(container, run.device);
    for (const [other, devices] of this.#open) {
      for (const taken of devices.values()) {
        const isSameSide =
          taken.bind === 'host' ? run.bind === 'host' : run.bind === 'container' && other === container;
        const clash = isSameSide
          ? taken.forwards.find(({ listen }) => listensOn(run, endpointText(listen)))
          : undefined;
        if (clash === undefined) continue;
        const reason = new Error(`${endpointText(clash.listen)} belongs to the device ${taken.device} of ${other}`);
        throw driverErrors.failed(`proxy ${run.device}`, reason);
      }
    }
    const devices = this.#open.get(container) ?? new Map<string, ProxyRun>();
    this.#open.set(container, devices.set(run.device, run));
  }

  async close(container: string, device: string): Promise<void> {
    this.#open.get(container)?.delete(device);
  }

  async closeAll(container: string): Promise<void> {
    this.#open.delete(container);
  }

  async sweep(): Promise<void> {}

  async release(): Promise<void> {
    this.#open.clear();
  }
}

const listensOn = (run: ProxyRun, address: string): boolean =>
  run.forwards.some(({ listen }) => endpointText(listen) === address);
