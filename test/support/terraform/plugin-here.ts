// Serves a provider inside this process, as the plugin would: no start, no TLS, no installation.
import type { AnyProvider } from '../../../provider/framework/provider.ts';
import { ProviderServer } from '../../../provider/framework/server.ts';
import { cookie, startPlugin, type RunningPlugin } from '../../../provider/wire/plugin.ts';
import { providerMethods } from '../../../provider/wire/rpcs.ts';

export async function pluginHere(provider: AnyProvider<object>): Promise<RunningPlugin> {
  const server = new ProviderServer(provider);
  return await startPlugin({
    methods: providerMethods(server),
    env: { [cookie.name]: cookie.value },
    log() {},
    print() {},
    close: () => server.close(),
    exit() {},
    parentPid: () => process.ppid,
    now: () => new Date(),
  });
}

/** How Terraform finds it: part of TF_REATTACH_PROVIDERS. */
export const reattached = (source: string, { socketPath }: Pick<RunningPlugin, 'socketPath'>): object => ({
  [source]: {
    Protocol: 'grpc',
    ProtocolVersion: 6,
    Pid: process.pid,
    Test: true,
    Addr: { Network: 'unix', String: socketPath },
  },
});
