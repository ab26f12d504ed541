// Device type proxy: connections forwarded between host and container. Proxies keeps them open.
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import { nothing, type DeviceContext, type DeviceRun, type DeviceHandler } from '../device.ts';
import { planProxy, type ProxyRun } from './proxy-plan.ts';

const forwards = (device: string, properties: ConfigMap): readonly ProxyRun[] => [planProxy(device, properties)];

export const proxyDevice: DeviceHandler = {
  forwards,
  start: async ({ device, properties }: DeviceContext): Promise<DeviceRun> => ({
    ...nothing,
    proxies: forwards(device, properties),
  }),
};
