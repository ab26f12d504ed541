// Refuses what the LXC runtime would refuse.
import { type HostFacts, readLimits } from '../cgroup/limits.ts';
import type { RunConfig } from '../driver.ts';
import { parseCpus, pickCpus } from '../cgroup/cpu-limits.ts';
import { renderLxcConfig } from '../lxc/config.ts';

export function checkLimits(config: Readonly<Record<string, string>>, host: HostFacts): void {
  readLimits(config, host, pickCpus(parseCpus(config['limits.cpu'] ?? ''), host.onlineCpus));
}

export function checkRun(run: RunConfig, host: HostFacts): void {
  checkLimits(run.config, host);
  renderLxcConfig(run, {
    postStopHook: 'true',
    cgroup: { monitor: 'm', pivot: 'p', container: 'c' },
    cgroup1: [],
    cgroup2: [],
    seccompProfile: undefined,
    apparmorLabel: undefined,
    lxcfsFiles: [],
  });
}
