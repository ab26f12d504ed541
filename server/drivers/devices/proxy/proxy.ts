// Device type proxy: connections forwarded between host and container. Keeping them open is the work of Proxies.
import { nothing, type DeviceContext, type DeviceRun, type DeviceType } from '../device.ts';
import { planProxy } from './proxy-plan.ts';

export const proxyDevice: DeviceType = {
  start: async ({ device, properties }: DeviceContext): Promise<DeviceRun> => ({
    ...nothing,
    proxies: [planProxy(device, properties)],
  }),
};
