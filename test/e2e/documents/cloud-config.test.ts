// Cloud-init seeds written as maps: the server gets deterministic text, and only its meaning is compared.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { containerWith, openBench, profileWith, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';

const seed = (key: string, packages: string): string => `config:
  ${key}:
    packages: [${packages}]
    users:
      - name: anna
        lock_passwd: "no"
    write_files:
      - { path: /etc/motd, permissions: "0644", content: "$HOME is yours\\n" }
`;

describe.each(await benchHosts('seeds', 'sim', 'lxd'))('on %s', (host) => {
  let bench: Bench;
  const key = 'cloud-init.user-data';
  const live = async (): Promise<string> =>
    ((await bench.get('/1.0/containers/c1')) as { config: Record<string, string> }).config[key] ?? '';
  beforeAll(async () => {
    bench = await openBench(host);
  });
  afterAll(() => bench.close());

  test('a map becomes a cloud-init text, and the next plan is empty', async () => {
    bench.parts = { ...bench.parts, container: containerWith(`state: stopped\n${seed(key, 'curl, git')}`) };
    await bench.settle();
    const text = await live();
    expect(text.startsWith('#cloud-config\n')).toBe(true);
    // As cloud-init parses it: YAML 1.1, where a bare no is false and a bare 0644 a number.
    expect(parse(text, { version: '1.1' })).toEqual({
      packages: ['curl', 'git'],
      users: [{ name: 'anna', lock_passwd: 'no' }],
      write_files: [{ path: '/etc/motd', permissions: '0644', content: '$HOME is yours\n' }],
    });
  });

  test('the layout of a stored text is ignored, its content is compared, and the plan shows only paths', async () => {
    const other = `#cloud-config\n# by hand\nusers: [{lock_passwd: 'no', name: anna}]\npackages: [ curl, git ]\nwrite_files:\n- content: "$HOME is yours\\n"\n  path: /etc/motd\n  permissions: '0644'\n`;
    expect((await bench.daemon.call('PATCH', '/1.0/containers/c1', { config: { [key]: other } })).status).toBeLessThan(
      300,
    );
    await bench.expectSettled();
    expect((await bench.gantry('drift')).code).toBe(0);
    bench.parts = { ...bench.parts, container: containerWith(`state: stopped\n${seed(key, 'curl, vim')}`) };
    const plan = await bench.gantry('plan');
    expect(plan.stdout).toContain('# in it packages.1');
    expect(plan.stdout).not.toMatch(/vim|anna/);
    await bench.settle();
    expect(await live()).toContain('vim');
  });

  test('a seed written as text is compared letter by letter', async () => {
    const own = (note: string): string =>
      containerWith(`state: stopped\nconfig:\n  ${key}: |\n    #cloud-config\n    # ${note}\n    packages: [curl]\n`);
    bench.parts = { ...bench.parts, container: own('one') };
    await bench.settle();
    bench.parts = { ...bench.parts, container: own('two') };
    expect((await bench.gantry('plan', '--detailed-exitcode')).code).toBe(2);
    await bench.apply();
  });

  test('maps are valid in profiles, may have secrets, and are refused for other keys', async () => {
    const plain = 'cloud-init.network-config';
    bench.parts = {
      ...bench.parts,
      profile: profileWith('').replace(
        'config: {',
        `config: { ${plain}: {version: 2, ethernets: {eth0: {dhcp4: true}}}, ${key}: {users: [{name: a, passwd: {from_env: SEED_PW}}]},`,
      ),
    };
    const without = await bench.gantry('plan');
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('SEED_PW')]);
    bench.parts = { ...bench.parts, container: containerWith('state: stopped\nconfig: { user.note: {a: b} }\n') };
    expect((await bench.gantry('plan')).stderr).toContain('config.user.note');
  });
});
