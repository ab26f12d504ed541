// Device type proxy: connections forwarded between host and container. Keeping them open is the work of Proxies.
import { nothing, type DeviceContext, type DeviceRun, type DeviceHandler } from '../device.ts';
import { planProxy } from './proxy-plan.ts';

export const proxyDevice: DeviceHandler = {
  start: async ({ device, properties }: DeviceContext): Promise<DeviceRun> => ({
    ...nothing,
    proxies: [planProxy(device, properties)],
  }),
};
