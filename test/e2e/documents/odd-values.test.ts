// A second plan is empty for every spelling of a value: every key and property of the tables with every unusual valid spelling, on the
// simulation and on a stock LXD. Values that a server refuses are not applied, and only they may be in the second plan.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { network, openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';
import { isLongRun } from '../../support/left-out.ts';
import { oddConfig, oddDevices } from '../../support/odd-values.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';

const profiles = [
  ...oddConfig().map(({ key, text }) => ({ key, text, body: `config: { ${key}: ${text} }` })),
  ...oddDevices().map(({ key, text, device }) => ({
    key,
    text,
    body: `devices: { odd: ${device.replace('NETWORK', network)} }`,
  })),
].map((one, index) => ({ ...one, name: `odd-${index}` }));

const defaults =
  '{ images.auto_update_cached: "TRUE", images.auto_update_interval: "06", core.https_allowed_credentials: off, images.compression_algorithm: gzip }';

const others = `kind: server_config
config: { images.auto_update_interval: 016, core.proxy_ignore_hosts: "a.b, c.d ", user.odd: "x\\n", images.auto_update_cached: "FALSE", images.remote_cache_expiry: "+9" }
---
kind: storage_pool
name: odd
driver: dir
description: "  spaces  "
config: { rsync.bwlimit: "1MB", user.empty: "", user.number: 1.50, user.lines: "trailing \\n\\n" }
---
kind: storage_volume
name: odd
pool: odd
description: 5
config: { user.lines: "a\\nb\\n", user.none: null, security.unmapped: "YES" }
---
kind: network
name: NET
description: "漢字\\n"
config:
  ipv4.address: SUBNET.1/24
  ipv4.nat: "Yes"
  ipv6.address: "FD42:0000:0000:0AAA::1/64"
  ipv6.nat: "1"
  bridge.hwaddr: "00:16:3E:AA:BB:CC"
  dns.domain: ""
  raw.dnsmasq: "# hello\\n\\n"
  ipv4.dhcp.ranges: "SUBNET.10-SUBNET.20, SUBNET.30-SUBNET.40"
  ipv4.routes: "10.251.7.0/25,10.251.7.128/25"
  ipv6.routes: "FD43:0:0:51::/64"
  user.x: "TRUE"
  bridge.mtu: 1400
  ipv4.dhcp.expiry: 1h
---
kind: profile
name: odd
description: "line 1\\nline 2\\n"
devices: { eth0: { type: nic, nictype: bridged, parent: NET, hwaddr: "00:16:3E:AA:BB:DD", ipv4.address: SUBNET.99 } }
---
kind: container
name: odd
description: |
  Two lines,
  and an end
architecture: amd64
profiles: []
source: { type: none }
state: stopped
ephemeral: "No"
config: { limits.memory: "512MiB", user.a: "TRUE ", environment.EMPTY: "", boot.autostart: On, limits.cpu: 0-0 }
devices:
  root: { type: disk, path: /, pool: odd, size: null }
`;

/** `config:` without a value remains when all entries are commented out. */
const nothing = `kind: storage_pool
name: empty
driver: dir
description: null
config:
---
kind: profile
name: empty
description: ~
config: { user.a: null, environment.X: ~, user.b: "" }
devices: { gone: null }
labels:
manage:
---
kind: container
name: empty
description: ""
profiles: null
source: { type: none }
state: stopped
config:
files:
exec:
devices: { root: { type: disk, path: /, pool: empty, size: null }, eth9: null }
`;

describe.each(await benchHosts('odd values', 'sim', 'lxd'))('on %s', (host) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(host);
  });
  afterAll(() => bench.close());
  const gantry = (verb: string, path: string, ...more: readonly string[]): Promise<CliRun> =>
    cli([verb, path, '--host', `unix://${bench.daemon.socketPath}`, '--set', 'odd', ...more]);

  test('unusual spellings in the other kinds are no change either', async () => {
    const path = join(bench.dir, 'others.yaml');
    const subnet = freeSubnet();
    writeFileSync(path, others.replaceAll('SUBNET', subnet).replaceAll('NET', `odd${network}`.slice(0, 15)));
    const run = await gantry('apply', path, '--auto-approve');
    expect(run.code, run.stderr).toBe(0);
    const again = await gantry('plan', path, '--detailed-exitcode');
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('No changes')]);
    // Servers omit defaults in any spelling; then the values change back.
    writeFileSync(
      path,
      `kind: server_config
config: ${defaults}
`,
    );
    const made = await gantry('apply', path, '--auto-approve');
    expect(made.code, made.stderr).toBe(0);
    expect((await gantry('plan', path, '--detailed-exitcode')).stdout).toContain('No changes');
  });

  test('an empty value is empty, in every spelling and place', async () => {
    const path = join(bench.dir, 'nothing.yaml');
    writeFileSync(path, nothing);
    expect((await gantry('apply', path, '--auto-approve')).code).toBe(0);
    expect((await gantry('plan', path, '--detailed-exitcode')).stdout).toContain('No changes');
    writeFileSync(path, nothing.replaceAll(/description:.*/g, 'description: here'));
    expect((await gantry('apply', path, '--auto-approve')).code).toBe(0);
    writeFileSync(path, nothing);
    const back = await gantry('plan', path);
    expect(back.stdout.match(/description = "here" -> ""/g)).toHaveLength(3);
    expect((await gantry('apply', path, '--auto-approve')).code).toBe(0);
    expect((await gantry('plan', path, '--detailed-exitcode')).stdout).toContain('No changes');
  });

  test('values that only look alike are a change', async () => {
    const path = join(bench.dir, 'alike.yaml');
    const profile = (seed: string, pattern: string, source: string): string =>
      `kind: profile\nname: alike\nconfig: { ${host === 'lxd' ? 'cloud-init' : 'user'}.user-data: ${seed}, snapshots.pattern: ${pattern} }\n` +
      `devices: { a: { type: disk, source: ${source}, path: /a } }\n`;
    const first = profile('"#!/bin/sh\\necho a, b\\n"', '"1"', '/tmp');
    const others = [
      profile('"#!/bin/sh\\necho a,b\\n"', '"1"', '/tmp'),
      profile('"#!/bin/sh\\necho a, b"', '"1"', '/tmp'),
      profile('"#!/bin/sh\\necho a, b\\n"', '"01"', '/tmp'),
      profile('"#!/bin/sh\\necho a, b\\n"', '"on"', '/tmp'),
      profile('"#!/bin/sh\\necho a, b\\n"', '"1"', '/tmp/'),
    ];
    writeFileSync(path, first);
    const made = await gantry('apply', path, '--auto-approve');
    expect(made.code, made.stderr).toBe(0);
    for (const other of others) {
      writeFileSync(path, other);
      expect((await gantry('plan', path, '--detailed-exitcode')).code, other).toBe(2);
    }
    writeFileSync(path, first);
    expect((await gantry('plan', path, '--detailed-exitcode')).code).toBe(0);
  });

  // Last: with some hundred profiles LXD takes seconds for each list of them.
  test('every spelling of every key of profiles is no change after the apply', async () => {
    // LXD takes seconds for each list of hundreds of profiles: it gets one spelling of each key in the usual run.
    const isFirst = ({ key }: { key: string }, index: number): boolean =>
      profiles.findIndex((one) => one.key === key) === index;
    const tried = host === 'lxd' && !isLongRun ? profiles.filter(isFirst) : profiles;
    expect(tried.length).toBeGreaterThan(host === 'lxd' ? 60 : 200);
    const path = join(bench.dir, 'odd.yaml');
    writeFileSync(path, tried.map(({ name, body }) => `kind: profile\nname: ${name}\n${body}\n`).join('---\n'));
    const run = await gantry('apply', path, '--auto-approve', '--parallelism', '16');
    const failed = new Set([...run.stderr.matchAll(/^Error: cannot create profile\/(\S+)/gm)].map(([, name]) => name));
    expect(run.code, run.stderr.slice(-2000)).toBe(failed.size > 0 ? 1 : 0);
    // LXD has rules of its own; gantryd accepts everything in the tables.
    if (host === 'sim') expect([...failed]).toEqual([]);
    expect(failed.size).toBeLessThan(tried.length / 20);
    const plan = await gantry('plan', path, '--json');
    const changed = plan.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; change?: { resource: { resource_name: string } } })
      .flatMap(({ change }) => (change === undefined ? [] : [change.resource.resource_name]));
    const wrong = tried.filter(({ name }) => changed.includes(name) && !failed.has(name));
    expect(wrong.map(({ body }) => body)).toEqual([]);
  });
});
