// `gantry drift --watch --hosts`: watches every host and prints changes as they come, until Ctrl-C or the end of --for.
import type { RunOnHosts } from '../../hosts/choose-hosts.ts';
import { watchHost, watchTimes } from './drift-watch.ts';
import type { DriftOptions } from './planning-verbs.ts';
import { endOf } from '../../watch/watch-times.ts';
import { worstCode } from '../../hosts/each-host.ts';
import { stayingContext } from '../../hosts/host-context.ts';
import { loadHosts } from '../../hosts/load-hosts.ts';
import { keepConnected } from '../../hosts/keep-connected.ts';

export const watchFleet: RunOnHosts<DriftOptions> = async (context, fleet, args) => {
  const { intervalMs, limitMs } = watchTimes(context.options);
  const loaded = (await loadHosts(context, fleet, args)).filter(({ isUnselected }) => !isUnselected);
  const end = endOf(context, limitMs);
  const codes = await Promise.all(
    loaded.map((one) => {
      const own = stayingContext(context, one.context, one.host, context.options.output === 'json');
      const wanted = { args, loaded: one.loaded, intervalMs };
      const until = AbortSignal.any([end]);
      return keepConnected(own, until, (client) => watchHost(own, client, wanted, until));
    }),
  );
  return worstCode(codes);
};
